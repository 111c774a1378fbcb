"""nanobind: arrays of a small extension, which is compiled when it is first used.

Source: https://nanobind.readthedocs.io/en/latest/ndarray.html

nanobind has no element access in Python: elements are read at the address that it reports.
"""

from __future__ import annotations

import ctypes
import importlib
from typing import TYPE_CHECKING, Any

from interchange_conformance.findings import CannotMakeError, NotApplicable
from interchange_conformance.subject import Subject
from interchange_conformance.zoo import ELEMENTS

from ._common import elements, one
from ._devices import need_device

if TYPE_CHECKING:
    Shape = tuple[int, ...]

_NAMES = {element: name for name, element in ELEMENTS.items()}


def _extension() -> Any:
    """Return the extension."""
    return importlib.import_module(f"{__package__}._nanobind_build").extension


def make(shape: Shape, dtype: str, device: str, readonly: bool) -> Any:
    """Return an array."""
    need_device(device, ("cpu",), "the extension")
    if dtype not in ELEMENTS or ELEMENTS[dtype][1] < 8:
        raise CannotMakeError(f"the extension makes no {dtype}")
    made = _extension().make_read_only if readonly else _extension().make
    return made(list(shape), ELEMENTS[dtype])


def take(x: Any) -> Any:
    """Import by DLPack, the buffer protocol, or another protocol that nanobind supports."""
    return _extension().take(x)


def read(y: Any) -> list[Any]:
    """Return the elements."""
    address, shape, strides, element, kind, _ = _extension().describe(y)
    if kind != 1:
        raise NotApplicable(f"the memory is on a device of type {kind}")
    if element not in _NAMES:
        raise BufferError(f"unsupported elements of code, bits, lanes {element}")
    return elements(address, shape, strides, _NAMES[element])


def write(y: Any) -> None:
    """Set the first element, if nanobind passes the array as writable."""
    address, _, _, element, _, writable = _extension().describe(y)
    if not writable:
        raise TypeError("nanobind gave it to a function that only reads")
    value = one(_NAMES[element])
    ctypes.memmove(address, value, len(value))


subject: Subject = Subject(
    "nanobind",
    make=make,
    take=take,
    read=read,
    write=write,
    take_buffer=take,
    distribution="nanobind",
    preload=("nanobind", f"{__package__}._nanobind_build"),
)
