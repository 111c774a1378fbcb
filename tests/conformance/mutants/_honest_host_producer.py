"""Honest producers of host memory without DLPack: buffers, records, and arrays with both.

Source: PEP 3118; NumPy array interface, version 3.  They need no array library.
"""

from __future__ import annotations

import ctypes
import sys
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any, Final

from interchange_conformance.findings import CannotMakeError
from interchange_conformance.subject import Subject
from interchange_conformance.zoo.hosts import Interfaced, kept, view
from interchange_conformance.zoo.memory import ELEMENTS, c_strides, itemsize

from .model import mutant

if TYPE_CHECKING:
    from collections.abc import Callable

    Ints = tuple[int, ...]
    Change = Callable[[dict[str, Any]], dict[str, Any]]

NATIVE: Final = "<" if sys.byteorder == "little" else ">"
_LETTERS: Final = {
    "bool": "?",
    "int8": "b",
    "int16": "h",
    "int32": "i",
    "int64": "q",
    "uint8": "B",
    "uint16": "H",
    "uint32": "I",
    "uint64": "Q",
    "float16": "e",
    "float32": "f",
    "float64": "d",
    "complex64": "Zf",
    "complex128": "Zd",
    "bfloat16": "2s",
    "float8_e4m3fn": "s",
    "float8_e5m2": "s",
}
_KINDS: Final = {"b": "b", "i": "i", "u": "u", "f": "f", "c": "c"}
_CTYPES: Final = {"float32": ctypes.c_float, "float64": ctypes.c_double, "int32": ctypes.c_int32}


def _same(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the argument unchanged."""
    return fields


def _checked(dtype: str, device: str) -> int:
    """Return the size of an element [bytes], if the element type is supported."""
    if device != "cpu" or dtype not in _LETTERS:
        raise CannotMakeError(f"there is no {dtype} on {device}")
    return itemsize(ELEMENTS[dtype])


def buffers(change: Change = _same) -> Subject:
    """Return a producer of buffers with changed fields (of `zoo.hosts.view`, and ``dtype``)."""

    def make(shape: Ints, dtype: str, device: str, readonly: bool) -> memoryview:
        size = _checked(dtype, device)
        fields = {
            "address": kept(bytes(prod(shape) * size)),
            "shape": shape,
            "strides": tuple(size * step for step in c_strides(shape)),
            "letters": _LETTERS[dtype],
            "itemsize": size,
            "readonly": readonly,
            "dtype": dtype,
        }
        said = change(fields)
        said.pop("dtype")
        return view(**said)

    return Subject("buffers", make=make)


def records(change: Change = _same) -> Subject:
    """Return a producer of objects whose record is changed."""

    def make(shape: Ints, dtype: str, device: str, readonly: bool) -> Interfaced:
        size = _checked(dtype, device)
        if _LETTERS[dtype].endswith("s"):
            raise CannotMakeError(f"{dtype} has no typestr")
        order = NATIVE if size > 1 else "|"
        fields = {
            "shape": shape,
            "typestr": f"{order}{_KINDS[dtype[0]]}{size}",
            "data": (kept(bytes(prod(shape) * size)), readonly),
            "strides": None,
            "version": 3,
        }
        return Interfaced(**change(fields))

    return Subject("records", make=make)


def arrays(change: Change = _same) -> Subject:
    """Return a producer of arrays of ctypes, with a buffer, whose record is changed."""

    def make(shape: Ints, dtype: str, device: str, readonly: bool) -> Any:
        _checked(dtype, device)
        if readonly or dtype not in _CTYPES or not prod(shape) or not shape:
            raise CannotMakeError("ctypes has no such arrays")
        kind: Any = _CTYPES[dtype]
        for extent in reversed(shape):
            kind = kind * extent
        letter = {"float32": "f4", "float64": "f8", "int32": "i4"}[dtype]

        def record(x: Any) -> dict[str, Any]:
            return change({
                "shape": shape,
                "typestr": f"{NATIVE}{letter}",
                "data": (ctypes.addressof(x), False),
                "strides": None,
                "version": 3,
            })  # fmt: skip

        return type("Array", (kind,), {"__array_interface__": property(record)})()

    return Subject("arrays of ctypes", make=make)


buffer_mutant = partial(mutant, counterpart=buffers, build=buffers)
record_mutant = partial(mutant, counterpart=records, build=records)
array_mutant = partial(mutant, counterpart=arrays, build=arrays)
