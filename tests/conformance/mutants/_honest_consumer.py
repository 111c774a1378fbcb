"""An honest consumer of DLPack: it accepts legal input, refuses the rest, and releases once.

Source: dlpack.h 1.3; DLPack Python specification; array API standard 2025.12, ``from_dlpack``.
It
consists of simple steps that a mutant can replace one at a time (`changed`), and needs no array
library.  Memory that it exports by DLPack is kept until `Consumer.sweep` finds it released.
"""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import math
import struct
import threading
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from interchange.abi import capsules
from interchange.abi.dlpack import (
    DLPACK_FLAG_BITMASK_READ_ONLY,
    DLPACK_VERSION,
    DLDeviceType,
    DLManagedTensor,
    DLManagedTensorVersioned,
)
from interchange_conformance.subject import Subject
from interchange_conformance.zoo.memory import c_strides, reach
from interchange_conformance.zoo.structs import Description, Loan

from .model import mutant, replacing

if TYPE_CHECKING:
    from collections.abc import Callable

    Ints = tuple[int, ...]
    Element = tuple[int, int, int]
    Device = tuple[int, int]
    Keywords = dict[str, Any]

HOST_TYPES: Final = frozenset({
    DLDeviceType.kDLCPU, DLDeviceType.kDLCUDAHost, DLDeviceType.kDLROCMHost,
    DLDeviceType.kDLCUDAManaged,
})  # fmt: skip
"""Types of memory that the host can access."""
EVERY_TYPE: Final = frozenset(DLDeviceType)
"""Types of memory that a consumer may describe without accessing it."""

FORMATS: Final[dict[Element, str]] = {
    (6, 8, 1): "?",
    (0, 8, 1): "b",
    (0, 16, 1): "h",
    (0, 32, 1): "i",
    (0, 64, 1): "q",
    (1, 8, 1): "B",
    (1, 16, 1): "H",
    (1, 32, 1): "I",
    (1, 64, 1): "Q",
    (2, 16, 1): "e",
    (2, 32, 1): "f",
    (2, 64, 1): "d",
    (4, 16, 1): "H",  # the upper half of a float32
    (5, 64, 1): "ff",
    (5, 128, 1): "dd",
}
"""Element type -> how ``struct`` writes one."""
BFLOAT16: Final = (4, 16, 1)

MOST_AXES: Final = 64
_WITH_STREAMS: Final = {DLDeviceType.kDLCUDA: 1, DLDeviceType.kDLROCM: 0}
_HOST: Final = (1, 0)
_MOST: Final = 2**63 - 1
_END: Final = 2**64


def itemsize(element: Element) -> int:
    """Return the size of an element [bytes]."""
    return element[1] * element[2] // 8


def decode(data: bytes, element: Element) -> Any:
    """Return the number in the bytes of an element."""
    numbers = struct.unpack(f"={FORMATS[element]}", data)
    if element == BFLOAT16:
        return struct.unpack("=f", struct.pack("=I", numbers[0] << 16))[0]
    return complex(*numbers) if len(numbers) == 2 else numbers[0]


def encode(number: int, element: Element) -> bytes:
    """Return the bytes of an element with a small number."""
    if element == BFLOAT16:
        return struct.pack("=H", struct.unpack("=I", struct.pack("=f", number))[0] >> 16)
    parts = (number, 0)[: len(FORMATS[element])]
    return struct.pack(f"={FORMATS[element]}", *parts)


class Owner:
    """A claimed struct: its deleter is called once, at the latest with the last reference."""

    def __init__(self, address: int, deleter: int | None) -> None:
        self.address, self.deleter = address, deleter

    def release(self, _call: Callable[[int], Any] = capsules.deleter_at) -> None:
        """Call the deleter, unless it is NULL or has run."""
        deleter, self.deleter = self.deleter, None
        if deleter:
            _call(deleter)(self.address)

    def __del__(self) -> None:
        self.release()


class Array:
    """An array over memory with a description, which an owner keeps alive."""

    def __init__(self, consumer: Consumer, said: Description, owner: Any) -> None:
        self.consumer, self.said, self.owner = consumer, said, owner

    @property
    def shape(self) -> Any:
        """Extents [elements]."""
        return self.said.shape

    @property
    def readonly(self) -> bool:
        """Whether the memory is read-only."""
        return bool(self.said.flags & DLPACK_FLAG_BITMASK_READ_ONLY)

    def __dlpack_device__(self) -> Device:
        return self.said.device

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        if stream is not None and self.said.device[0] not in _WITH_STREAMS:
            raise ValueError("stream: this memory has none")
        if copy or dl_device not in {None, self.said.device}:
            raise BufferError("this memory is handed on as it is, where it is")
        versioned = max_version is not None and max_version >= (1, 0)
        return self.consumer.hand_on(self, versioned=versioned)


class Consumer:
    """The steps of an import from some device types; `explicit` sends every keyword."""

    claiming: Any = threading.Lock()

    def __init__(
        self, types: frozenset[DLDeviceType] = HOST_TYPES, *, explicit: bool = False
    ) -> None:
        self.types, self.explicit = types, explicit
        self.lent: list[tuple[Loan, Any]] = []

    # ------------------------------------------------------------ asking

    def take(self, x: Any, **wanted: Any) -> Array:
        """Return an array over the memory of `x`; `wanted` may have ``copy``, and ``device``."""
        target = wanted.pop("device", None)
        method = self.method_of(x)
        device = self.device_of(x)
        if target is None or device == _HOST:
            self.check_device(device)
        keywords = self.keywords(device, wanted)
        return self.take_capsule(self.ask(method, self.placed(keywords, device, target)))

    def placed(self, keywords: Keywords, device: Device, target: str | None) -> Keywords:
        """Return the keywords of a request for memory on a device."""
        if target is None or device == _HOST:
            return keywords
        if target != "cpu":
            raise ValueError(f"device={target!r} is not known here")
        return {**keywords, "dl_device": _HOST} | ({"stream": None} if "stream" in keywords else {})

    def method_of(self, x: Any) -> Any:
        """Return the method that returns capsules."""
        return x.__dlpack__

    def device_of(self, x: Any) -> Device:
        """Return the device that a producer reports."""
        said = x.__dlpack_device__()
        pair = isinstance(said, tuple) and len(said) == 2
        if not pair or not all(isinstance(n, int) and not isinstance(n, bool) for n in said):
            raise BufferError(f"__dlpack_device__() returned {said!r}")
        return int(said[0]), int(said[1])

    def keywords(self, device: Device, wanted: Keywords) -> Keywords:
        """Return the keywords of a request to a producer."""
        keywords: dict[str, Any] = {"max_version": DLPACK_VERSION}
        if self.explicit:
            keywords.update(stream=None, dl_device=None, copy=None)
        if device[0] == DLDeviceType.kDLCUDAManaged:
            keywords["dl_device"] = _HOST  # a reader without a driver cannot wait (DLP-STREAM-9)
        if device[0] in _WITH_STREAMS:
            keywords["stream"] = _WITH_STREAMS[DLDeviceType(device[0])]
        return keywords | wanted

    def ask(self, method: Any, keywords: Keywords) -> Any:
        """Request a capsule, with fewer keywords if the producer does not know them."""
        with contextlib.suppress(TypeError):
            return method(**keywords)
        if keywords.get("copy") is not None:
            raise BufferError("this producer knows no copy=")
        if "stream" in keywords:
            with contextlib.suppress(TypeError):
                return method(stream=keywords["stream"])
        return method()

    # ------------------------------------------------------------ consuming

    def take_capsule(self, capsule: Any) -> Array:
        """Return an array over the memory of a capsule."""
        with self.claiming:  # DLP-CAP-2: only one of two threads succeeds
            name = self.name_of(capsule)
            address = self.pointer_of(capsule)
            self.mark(capsule, name)
        owner = self.own(address, name)
        try:
            return self.understand(owner, name)
        except Exception:
            self.give_up(owner)
            raise

    def name_of(self, capsule: Any) -> bytes:
        """Return the name of a capsule that can be consumed."""
        if type(capsule) is not capsules.PyCapsule:
            raise TypeError(f"__dlpack__() returned {type(capsule).__name__}, and no capsule")
        name: bytes | None = capsules.capsule_name(capsule)
        if name not in capsules.USED_NAME:
            raise ValueError(f"the capsule is named {name!r}: consumed, or no tensor")
        return name

    def pointer_of(self, capsule: Any) -> int:
        """Return the address in a capsule."""
        return int(capsules.capsule_pointer(capsule, capsules.capsule_name(capsule)))

    def mark(self, capsule: Any, name: bytes) -> None:
        """Mark a capsule as consumed, so that its destructor has no effect."""
        capsules.rename_capsule(capsule, capsules.USED_NAME[name])
        capsules.set_capsule_destructor(capsule, None)

    def struct_at(self, address: int, name: bytes) -> Any:
        """Return the struct in a capsule of that name."""
        kind = DLManagedTensorVersioned if name == capsules.VERSIONED else DLManagedTensor
        return kind.from_address(address)

    def own(self, address: int, name: bytes) -> Owner:
        """Return the owner of a struct."""
        return Owner(address, self.struct_at(address, name).deleter)

    def give_up(self, owner: Owner) -> None:
        """Release a tensor that is refused."""
        owner.release()

    # ------------------------------------------------------------ understanding

    def understand(self, owner: Owner, name: bytes) -> Array:
        """Return an array of a struct, with every field checked."""
        managed = self.struct_at(owner.address, name)
        if name == capsules.VERSIONED:
            self.check_version((managed.version.major, managed.version.minor))
        tensor = managed.dl_tensor
        device = (tensor.device.device_type, tensor.device.device_id)
        self.check_place(device)
        element = self.element_of(tensor.dtype, managed)
        self.check_axes(tensor.ndim)
        shape = self.shape_of(tensor)
        strides = self.strides_of(tensor, shape)
        first = self.first_of(tensor, shape, strides, itemsize(element))
        flags = self.flags_of(managed)
        said = Description(
            shape, strides, dtype=element, device=device, data=first or None, flags=flags
        )
        return self.array(said, owner)

    def array(self, said: Description, owner: Any) -> Array:
        """Return an array."""
        return Array(self, said, owner)

    def check_version(self, version: tuple[int, int]) -> None:
        """Refuse the struct of another major version (DLP-VER-1)."""
        if version[0] != DLPACK_VERSION[0]:
            raise BufferError(f"DLPack {version[0]}.{version[1]} is not known here")

    def check_device(self, device: Device) -> None:
        """Refuse memory that cannot be accessed (DLP-DEV-1, DLP-DEV-6)."""
        if device[0] not in self.types or device[1] < 0:
            raise BufferError(f"memory of device {device} is out of reach")

    def check_place(self, device: Device) -> None:
        """Refuse memory that cannot be accessed, whatever the producer reported (DLP-DEV-3)."""
        self.check_device(device)

    def element_of(self, dtype: Any, _managed: Any) -> Element:
        """Return the element type, if it is supported (DLP-DTYPE-1, DLP-DTYPE-2, DLP-DTYPE-5)."""
        element = (dtype.code, dtype.bits, dtype.lanes)
        if element not in FORMATS:
            raise BufferError(f"elements of code, bits, lanes {element} are not known here")
        return element

    def check_axes(self, ndim: int) -> None:
        """Refuse an invalid number of axes (DLP-SHAPE-1)."""
        if not 0 <= ndim <= MOST_AXES:
            raise BufferError(f"{ndim} axes")

    def shape_of(self, tensor: Any) -> Ints:
        """Return the extents (DLP-SHAPE-2, DLP-SHAPE-3); shape is not read without axes."""
        if tensor.ndim and not tensor.shape:
            raise BufferError("shape is NULL")
        shape = tuple(tensor.shape[axis] for axis in range(tensor.ndim))
        if min(shape, default=0) < 0:
            raise BufferError(f"the shape is {shape}")
        return shape

    def strides_of(self, tensor: Any, shape: Ints) -> Ints:
        """Return the strides (DLP-STRIDES-1), those of C order if they are NULL."""
        if not tensor.strides:
            return c_strides(shape)
        return tuple(tensor.strides[axis] for axis in range(tensor.ndim))

    def first_of(self, tensor: Any, shape: Ints, strides: Ints, size: int) -> int:
        """Return the address of the first element, with all elements in range (DLP-DATA-2)."""
        if 0 in shape:
            return 0
        first = self.address_of(tensor)
        self.check_size(shape, size)
        self.check_reach(shape, strides, size, first)
        return first

    def address_of(self, tensor: Any) -> int:
        """Return the address of the first element (DLP-DATA-1)."""
        if tensor.data is None:
            raise BufferError("data is NULL")
        if tensor.byte_offset > _MOST:
            raise BufferError(f"byte_offset is {tensor.byte_offset}")
        return int(tensor.data) + int(tensor.byte_offset)

    def check_size(self, shape: Ints, size: int) -> None:
        """Refuse more elements than possible (DLP-SHAPE-4)."""
        if math.prod(shape) * size > _MOST:
            raise BufferError(f"shape {shape} has too many elements")

    def check_reach(self, shape: Ints, strides: Ints, size: int, first: int) -> None:
        """Refuse elements outside of the address space (DLP-STRIDES-2, DLP-DATA-2)."""
        low, high = reach(shape, strides)
        if max(-low, high) * size > _MOST:
            raise BufferError(f"strides {strides} are too large")
        if first + low * size <= 0 or first + (high + 1) * size > _END:
            raise BufferError("the elements leave the address space")

    def flags_of(self, managed: Any) -> int:
        """Return the flags to keep (DLP-RO-2); unknown ones are ignored."""
        return getattr(managed, "flags", 0) & DLPACK_FLAG_BITMASK_READ_ONLY

    # ------------------------------------------------------------ using

    def read(self, y: Array) -> list[Any]:
        """Return the elements, in C order."""
        if y.said.device[0] not in HOST_TYPES:
            raise BufferError(f"the host does not reach memory of device {y.said.device}")
        size = itemsize(y.said.dtype)
        return [
            decode(ctypes.string_at(address, size), y.said.dtype) for address in self.addresses(y)
        ]

    def addresses(self, y: Array) -> list[int]:
        """Return the address of every element, in C order."""
        strides: Any = y.said.strides
        indices = itertools.product(*map(range, y.shape))
        steps = [sum(i * step for i, step in zip(index, strides, strict=True)) for index in indices]
        return [(y.said.data or 0) + step * itemsize(y.said.dtype) for step in steps]

    def write(self, y: Array) -> None:
        """Set the first element to 1, unless the memory is read-only (DLP-RO-3)."""
        if y.readonly:
            raise BufferError("the memory is read-only")
        ctypes.memmove(y.said.data or 0, encode(1, y.said.dtype), itemsize(y.said.dtype))

    def hand_on(self, y: Array, *, versioned: bool) -> Any:
        """Return a capsule of an array's memory, which is kept until the tensor is released."""
        if y.readonly and not versioned:
            raise BufferError("read-only memory needs max_version=(1, 0)")
        loan = Loan(y.said, None, versioned=versioned)
        self.lent.append((loan, y))
        return loan.offer(capsules.VERSIONED if versioned else capsules.LEGACY, "held")

    def sweep(self) -> None:
        """Drop exported arrays whose tensors are released."""
        self.lent = [(loan, y) for loan, y in self.lent if loan.alive]


def subject_of(consumer: Consumer, **more: Any) -> Subject:
    """Return the subject of a consumer."""
    return Subject(
        "honest consumer",
        take=consumer.take,
        take_with=consumer.take,
        read=consumer.read,
        write=consumer.write,
        take_capsule=consumer.take_capsule,
        release=consumer.sweep,
        **more,
    )


def changed(**steps: Any) -> Subject:
    """Return the subject of a consumer with some steps replaced, each by ``f(consumer, ...)``."""
    return subject_of(type("Changed", (Consumer,), steps)())


def honest() -> Subject:
    """Return the subject that accepts host memory."""
    return subject_of(Consumer())


def explicit() -> Subject:
    """Return the subject that sends every keyword."""
    return subject_of(Consumer(explicit=True))


consumer_mutant = partial(
    mutant, counterpart=honest, build=replacing(changed, lambda kind: subject_of(kind()))
)
