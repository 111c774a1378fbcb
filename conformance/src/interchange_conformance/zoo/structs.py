"""Managed tensors with given fields, valid or not, which count how often they are released.

Source: dlpack.h 1.3.  No callback is a Python function (DLP-LIFE-4): the deleter is a function of
the C library, which counts in the first bytes of the struct (`counting`).  These belong to
``version`` in the versioned struct and to ``data`` in the legacy one; no other byte changes.
Structs are never freed, so that a second call is counted and does not crash; a consumer that reads
a struct after its release finds it changed.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from interchange.abi import capsules
from interchange.abi.dlpack import (
    DLPACK_VERSION,
    DLDataType,
    DLDevice,
    DLManagedTensor,
    DLManagedTensorVersioned,
    DLPackVersion,
    DLTensor,
)

from .counting import COUNTED, COUNTING_DELETER, MOST, calls_between, number_at

if TYPE_CHECKING:
    from .memory import Element, Ints, Memory

Destructor = Literal["held", "numpy"] | None

_INT64_POINTER: Final = ctypes.POINTER(ctypes.c_int64)


_CONTEXT: Final = ctypes.create_string_buffer(64)
CONTEXT: Final[int] = ctypes.addressof(_CONTEXT)
"""The target of ``manager_ctx``: zeros, kept until the process exits."""


@dataclass(frozen=True)
class Description:
    """The fields of a struct, valid or not.

    Attributes
    ----------
    shape : tuple[int, ...], int or None
        Extents [elements]; None for NULL, an int for a pointer of that value.
    strides : tuple[int, ...], int or None
        Strides [elements]; None for NULL, an int for a pointer of that value.
    ndim : int or None
        Number of axes; None for the length of `shape`.
    dtype : tuple[int, int, int]
        Code, bits and lanes.
    device : tuple[int, int]
        Type and id.
    data : int or None
        The address, or None for NULL.
    byte_offset : int
        Added to `data` [bytes].
    flags : int
        Flag bits; ignored in the legacy struct.
    version : tuple[int, int]
        Major and minor; ignored in the legacy struct.
    manager_ctx : int or None
        Address of the producer's private data, zeros by default; None for NULL, which is valid,
        too.
    deleter : bool
        Whether there is a deleter; False for NULL.
    """

    shape: Ints | int | None = ()
    strides: Ints | int | None = ()
    ndim: int | None = None
    dtype: Element = (2, 32, 1)
    device: tuple[int, int] = (1, 0)
    data: int | None = None
    byte_offset: int = 0
    flags: int = 0
    version: tuple[int, int] = DLPACK_VERSION
    manager_ctx: int | None = CONTEXT
    deleter: bool = True

    @property
    def axes(self) -> int:
        """The value of the struct's ``ndim``."""
        if self.ndim is not None:
            return self.ndim
        return len(self.shape) if isinstance(self.shape, tuple) else 0


def _vector(value: Ints | int | None) -> tuple[Any, Any]:
    """Return the array that holds `value`, if it needs one, and the pointer to store."""
    if not isinstance(value, tuple):
        return None, ctypes.cast(ctypes.c_void_p(value), _INT64_POINTER)
    array = (ctypes.c_int64 * len(value))(*value)
    return array, ctypes.cast(array, _INT64_POINTER)


def _check_fit(said: Description, tensor: DLTensor) -> None:
    """Refuse a value that does not fit its C field and would be truncated."""
    device, dtype = tensor.device, tensor.dtype
    for field, meant, held in (
        ("ndim", said.axes, tensor.ndim),
        ("device", said.device, (device.device_type, device.device_id)),
        ("dtype", said.dtype, (dtype.code, dtype.bits, dtype.lanes)),
        ("data", said.data, tensor.data),
        ("byte_offset", said.byte_offset, tensor.byte_offset),
    ):
        if meant != held:
            raise ValueError(f"{field}={meant} does not fit: the struct would say {held}")


def _bytes_of(struct: ctypes.Structure, name: str) -> bytes:
    """Return the bytes of a field of a struct."""
    field = getattr(type(struct), name)
    return ctypes.string_at(ctypes.addressof(struct) + field.offset, field.size)


class Loan:
    """One exported struct, and its state.

    Parameters
    ----------
    said : Description
        The fields of the struct.
    memory : Memory or None
        Kept alive as long as the struct, until the process exits.
    versioned : bool
        Which of the two structs is made.

    Attributes
    ----------
    managed : DLManagedTensor or DLManagedTensorVersioned
        The struct.
    address : int
        Address of the struct.
    """

    __slots__ = (
        "_as_made",
        "_capsule",
        "_start",
        "_vectors",
        "address",
        "managed",
        "memory",
        "said",
    )

    memory: Memory | None
    said: Description

    managed: DLManagedTensor | DLManagedTensorVersioned

    def __init__(self, said: Description, memory: Memory | None, *, versioned: bool) -> None:
        shape, shape_pointer = _vector(said.shape)
        strides, strides_pointer = _vector(said.strides)
        tensor = DLTensor(
            data=said.data,
            device=DLDevice(*said.device),
            ndim=said.axes,
            dtype=DLDataType(*said.dtype),
            shape=shape_pointer,
            strides=strides_pointer,
            byte_offset=said.byte_offset,
        )
        _check_fit(said, tensor)
        deleter = COUNTING_DELETER if said.deleter else None
        if versioned:
            version = DLPackVersion(*said.version)
            self.managed = DLManagedTensorVersioned(
                version, said.manager_ctx, deleter, said.flags, tensor
            )
        else:
            self.managed = DLManagedTensor(tensor, said.manager_ctx, deleter)
        self.said, self.memory = said, memory
        self._vectors = (shape, strides)
        self._capsule: Any = None
        self.address: int = ctypes.addressof(self.managed)
        self._start = number_at(self.address)
        self._as_made = self._parts()
        _loans.append(self)

    def _calls(self) -> int | None:
        """Return the number of deleter calls, or None if the counter was overwritten."""
        calls = calls_between(self._start, number_at(self.address))
        return calls if calls <= MOST else None

    def _parts(self) -> dict[str, bytes]:
        """Return the bytes of each field and vector; for the counter, whether it is intact."""
        tensor, parts = self.managed.dl_tensor, {}
        for place in (self.managed, tensor):
            for name, *_ in place._fields_:
                parts[name] = _bytes_of(place, name)
        del parts["dl_tensor"]
        counted = "version" if "version" in parts else "data"
        parts[counted] = parts[counted][COUNTED:] + bytes([self._calls() is None])
        for name, vector in zip(("*shape", "*strides"), self._vectors, strict=True):
            parts[name] = b"" if vector is None else bytes(vector)
        return parts

    @property
    def rewritten(self) -> list[str]:
        """Names of the fields that were changed; with a star for the contents of a vector."""
        now = self._parts()
        return [name for name, made in self._as_made.items() if now[name] != made]

    @property
    def deleter_calls(self) -> int:
        """Number of deleter calls of this struct.

        They are counted in the first bytes of the struct: 0 if these were overwritten, which
        `rewritten` reports.
        """
        self._settle()
        return self._calls() or 0

    @property
    def alive(self) -> bool:
        """Whether the deleter has not run yet."""
        return self.deleter_calls == 0

    @property
    def name(self) -> bytes | None:
        """The present name of the capsule, or None if the capsule is not held."""
        held = self._capsule
        return None if held is None else capsules.capsule_name(held)

    @property
    def destructor_cleared(self) -> bool | None:
        """Whether the consumer set the destructor to NULL; None if the capsule is not held."""
        held = self._capsule
        return None if held is None else capsules.capsule_destructor(held) is None

    def offer(self, name: bytes | None, destructor: Destructor) -> Any:
        """Return a capsule of this struct.

        Parameters
        ----------
        name : bytes or None
            Name of the capsule; never freed.
        destructor : {"held", "numpy"} or None
            ``"held"``: a reference to the capsule is kept, and when `deleter_calls` is read and no
            other reference is left, the destructor is emulated.  ``"numpy"``: NumPy's native
            destructor; no reference is kept.  None: no destructor (NULL); no reference is kept.
        """
        if name is not None:
            capsules.increase_reference(name)  # DLP-CAP-4
        function = _DESTRUCTORS[destructor](isinstance(self.managed, DLManagedTensorVersioned))
        capsule = capsules.new_capsule(self.address, name, function)
        if destructor == "held":
            self._capsule = capsule
        return capsule

    def _settle(self) -> None:
        """Emulate the destructor once no other reference is left (DLP-LIFE-2)."""
        with _settling:
            if self._capsule is None or sys.getrefcount(self._capsule) > _HELD_ALONE:
                return
            name = capsules.capsule_name(self._capsule)
            kept = capsules.capsule_destructor(self._capsule) is not None  # a consumer may clear it
            capsules.set_capsule_destructor(self._capsule, None)
            self._capsule = None
            if kept and self.managed.deleter and not (name or b"").startswith(b"used_"):
                capsules.deleter_at(self.managed.deleter)(self.address)


_settling: Final = threading.Lock()
_loans: Final[list[Loan]] = []
# Views may outlive this module: the memory they reference must exist when they die at exit.
capsules.increase_reference(_loans)


class _Holder:
    """An object that references a capsule as a `Loan` does."""

    __slots__ = ("_capsule",)

    def __init__(self) -> None:
        self._capsule = capsules.new_capsule(ctypes.addressof(capsules.anchor), None, None)

    def references(self) -> int:
        """Return the value of ``sys.getrefcount`` if no other reference to the capsule is left."""
        return sys.getrefcount(self._capsule)


_HELD_ALONE: Final = _Holder().references()


def _marker(_: bool) -> int:
    """Serve as a destructor for the consumer to set to NULL.  It never runs."""
    return COUNTING_DELETER


def _numpy_destructor(versioned: bool) -> int:
    """Return NumPy's destructor, which calls the deleter of the struct."""
    import numpy as np

    example = np.zeros(1).__dlpack__(max_version=(1, 0) if versioned else None)
    return int(capsules.capsule_destructor(example))


_DESTRUCTORS: Final[dict[Destructor, Any]] = {
    "held": _marker,
    "numpy": _numpy_destructor,
    None: lambda _: None,
}


class Claim:
    """A minimal consumer that consumes a capsule strictly by the rules.

    Parameters
    ----------
    capsule : object
        An unused capsule of either generation.

    Attributes
    ----------
    address : int
        Address of the struct.
    managed : DLManagedTensor or DLManagedTensorVersioned
        The struct, owned by this object until `release`.
    """

    __slots__ = ("address", "managed")

    managed: DLManagedTensor | DLManagedTensorVersioned

    def __init__(self, capsule: object) -> None:
        name = capsules.capsule_name(capsule)
        struct = DLManagedTensorVersioned if name == capsules.VERSIONED else DLManagedTensor
        self.address: int = int(capsules.capsule_pointer(capsule, name))
        capsules.rename_capsule(capsule, capsules.USED_NAME[name])
        capsules.set_capsule_destructor(capsule, None)
        self.managed = struct.from_address(self.address)

    def release(self) -> None:
        """Call the deleter, if there is one."""
        if self.managed.deleter:
            capsules.deleter_at(self.managed.deleter)(self.address)
