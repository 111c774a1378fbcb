"""Code shared by the records of both array interfaces: element types, strides, plain elements.

Source: NumPy array interface, version 3; CUDA Array Interface, version 3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from interchange._types.dtypes import DType, from_typestr
from interchange._types.errors import ArgumentError, ExchangeError, UnsupportedDTypeError, show
from interchange._types.layout import Layout, strides_in_elements
from interchange.abi import parse_record, parse_typestr
from interchange.abi.rules import BrokenRule

if TYPE_CHECKING:
    from interchange.abi import InterfaceRecord


def layout_of(
    shape: tuple[int, ...], steps: tuple[int, ...] | None, itemsize: int, call: str
) -> Layout:
    """Return the layout of a shape and byte strides."""
    if steps is None:
        return Layout(shape)
    strides = strides_in_elements(shape, steps, itemsize)
    if strides is None:
        what = f"byte strides {steps} with elements of {itemsize} bytes"
        raise ExchangeError(call, what, "DLP-STRIDES-3")
    return Layout(shape, strides)


def parse_with_hint(raw: Any, hint: Any, call: str) -> InterfaceRecord:
    """Read a record; for a type string outside the grammar the hint is used: a dtype, or None."""
    try:
        return parse_record(raw)
    except BrokenRule as broken:
        if broken.rule != "CAI-TYPESTR-1" or hint is None:
            raise
        try:
            itemsize = DType.of(hint, call).itemsize
        except ArgumentError:
            raise broken from None
        return parse_record({**raw, "typestr": f"|V{itemsize}", "descr": None})


def dtype_of(record: InterfaceRecord, hint: Any, call: str) -> DType:
    """Return the element type; `hint`, a dtype or None, is used if the typestr is ambiguous."""
    try:
        return from_typestr(record.typestr, call)
    except UnsupportedDTypeError as error:
        if error.rule != "CAI-TYPESTR-2" or hint is None:
            raise
    found = DType.of(hint, call)
    if found.itemsize != record.typestr.itemsize or found.is_packed:
        what = f"typestr {str(record.typestr)!r} with dtype {show(hint)}"
        raise UnsupportedDTypeError(call, what, "CAI-TYPESTR-2")
    return found


def is_plain(record: InterfaceRecord) -> bool:
    """Whether ``descr`` adds nothing to the typestr; the name of a field is ignored."""
    if record.descr is None:
        return True
    try:
        ((_, typestr),) = record.descr
        return parse_typestr(typestr) == record.typestr
    except (TypeError, ValueError):  # BrokenRule is a ValueError
        return False
