"""interchange itself: described memory, of any protocol and on any device.

Source: its API reference (``docs/api``).

The kit imports it by name, and uses public functions only.
"""

from __future__ import annotations

import ctypes
import importlib
import math
import re
import struct
from dataclasses import replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from interchange_conformance.driver.cuda import chosen, opened
from interchange_conformance.findings import CannotMakeError
from interchange_conformance.subject import DEVICES, KINDS, Kind, Subject

from ._common import one
from ._devices import lacks_driver, need_device, on, store

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Shape = tuple[int, ...]

_NAME: Final = "interchange"
_MOST_AXES: Final = 64
_DRIVER: Final = ("cuda.bindings.driver",) if chosen() != "none" and find_spec("cuda") else ()
_PRELOAD: Final = (_NAME, "numpy", *_DRIVER)  # which it would otherwise import in each child
_SIZED: Final = re.compile(r"\[([0-9]+)\]")
_LETTERS: Final = {
    "bool": "?", "int8": "b", "int16": "h", "int32": "i", "int64": "q", "uint8": "B",
    "uint16": "H", "uint32": "I", "uint64": "Q", "float16": "e", "float32": "f", "float64": "d",
}  # fmt: skip
"""Element type of a column -> format character of ``struct``."""
_NAMES: Final = {"cuda": "cuda:0", "pinned": "cuda_host"}


def _ix() -> Any:
    """Return the module interchange."""
    return importlib.import_module(_NAME)


def make(shape: Shape, dtype: str, device: str, readonly: bool) -> Any:
    """Return an Array of new memory."""
    need_device(device, tuple(DEVICES), "interchange")
    x = _array(shape, dtype, device)
    if not readonly:
        return x
    return _ix().from_pointer(x.ptr, shape, dtype, device=x.device, owner=x, readonly=True)


def _array(shape: Shape, dtype: str, device: str) -> Any:
    """Return an Array on a device."""
    x = _on_host(shape, dtype)
    if device in KINDS:
        return _ix().from_pointer(x.ptr, shape, dtype, device=device, owner=x)
    if device == "managed":
        with on(device):
            address = opened().managed(x.nbytes)
        return _ix().from_pointer(address if x.size else 0, shape, dtype, device="cuda_managed")
    return x if device == "cpu" else x.to_device(_NAMES.get(device, device))


def _on_host(shape: Shape, dtype: str) -> Any:
    """Return an Array of zeros in memory allocated by interchange."""
    ix = _ix()
    if len(shape) > _MOST_AXES:
        raise CannotMakeError("an Array has 64 axes at most")
    try:
        size = ix.from_pointer(0, (0,), dtype).itemsize
    except ix.UnsupportedDTypeError as error:
        raise CannotMakeError(str(error)) from error
    block = bytearray(math.prod(shape) * size)
    address = ix.from_buffer(block).ptr if block else 0
    return ix.from_pointer(address, shape, dtype, owner=block).copy()


def make_on(stream: int, shape: Shape, dtype: str, device: str = "cuda") -> Any:
    """Return an Array that is ready on a stream."""
    x = _array(shape, dtype, f"cuda:{opened().current_device}" if device == "cuda" else device)
    return _ix().from_pointer(x.ptr, shape, dtype, device=x.device, owner=x, stream=stream)


def take(x: Any) -> Any:
    """Import by DLPack."""
    return _ix().from_dlpack(x)


def take_on(stream: int, x: Any) -> Any:
    """Import by DLPack, for a stream."""
    return _ix().from_dlpack(x, stream=stream)


def take_cai(x: Any) -> Any:
    """Import by the CUDA Array Interface."""
    return _ix().from_cai(x)


def use_cai(x: Any, work: Callable[[int], object]) -> None:
    """Borrow the memory of an object for a stream, and release it."""
    stream = opened().stream()
    with _ix().borrow(x, stream=stream):
        work(stream)


def take_with(x: Any, copy: bool | None = None, device: str | None = None) -> Any:
    """Import by DLPack, with the standard's keywords."""
    return _ix().from_dlpack(x, copy=copy, device=device)


def take_buffer(x: Any) -> Any:
    """Import by the buffer protocol."""
    return _ix().from_buffer(x)


def take_array_interface(x: Any) -> Any:
    """Import by NumPy's array interface."""
    return _ix().from_array_interface(x)


def read(y: Any) -> list[Any]:
    """Return the elements, with those on devices copied to the host."""
    here = y.to_device("cpu") if str(y.device) != "cpu" else y
    return _flat(here.tolist(), here.ndim)


def _flat(nested: Any, depth: int) -> list[Any]:
    """Return the elements of nested lists."""
    if depth == 0:
        return [nested]
    return [leaf for one in nested for leaf in _flat(one, depth - 1)]


def write(y: Any) -> None:
    """Set the first element, if the Array is writable."""
    y.require(writable=True)
    data = one(y.dtype.name)
    if str(y.device) == "cpu":
        ctypes.memmove(y.ptr, data, len(data))
    else:
        store(y.ptr, data)


def make_arrow(
    values: Sequence[Any], dtype: str, start: int, chunks: int, stream: int | None = None
) -> Any:
    """Return a column of an Array, which has no nulls and is one chunk."""
    ix = _ix()
    name, sizes = dtype.partition("[")[0], [int(one) for one in _SIZED.findall(dtype)]
    if name == "string" or chunks > 1 or ix.core_name != "native":
        raise CannotMakeError("an Array has numbers, in one chunk; the native core exports them")
    numbers = _flat(values, 1 + len(sizes)) if None not in values else [None]
    if None in numbers:
        raise CannotMakeError("an Array has no nulls")
    if stream is not None:
        return ix.to_arrow(make_on(stream, (len(values), *sizes), name)[start:])
    block = bytearray(struct.pack(f"={len(numbers)}{_LETTERS[name]}", *numbers))
    return ix.to_arrow(ix.from_buffer(block, dtype=name, shape=(-1, *sizes))[start:])


def take_arrow(x: Any) -> Any:
    """Import by Arrow."""
    return _ix().from_arrow(x)


def read_arrow(y: Any) -> list[Any]:
    """Return the elements; those of further axes are lists."""
    return list(y.tolist())


subject: Subject = Subject(
    "interchange",
    make=make,
    take=take,
    read=read,
    write=write,
    take_with=take_with,
    take_cai=take_cai,
    use_cai=use_cai,
    take_capsule=take,
    take_buffer=take_buffer,
    take_array_interface=take_array_interface,
    make_on=make_on,
    take_on=take_on,
    make_arrow=make_arrow,
    take_arrow=take_arrow,
    read_arrow=read_arrow,
    distribution="array-interchange",
    preload=_PRELOAD,
)

kinds: tuple[Kind, ...] = (
    Kind(
        "interchange",
        subject,
        lambda x: x.ptr,
        library="interchange",
        module="interchange",
        target="interchange",
        head="inter-\nchange",
        dtype=lambda x: x.dtype.name,
        readonly=lambda x: x.readonly is not False,  # unknown counts as read-only
        order=100,
    ),
)
kinds_on_devices: tuple[Kind, ...] = (replace(kinds[0], lacks=lacks_driver, is_ordered=False),)
