"""Producers whose buffers and records do not describe their arrays correctly.

Source: the rules BUF-1, BUF-FORMAT-1, BUF-FORMAT-2, BUF-SUBOFFSETS-1, AI-1, AI-MASK-1 and
AI-DESCR-1.
"""

from __future__ import annotations

import struct
from math import prod
from typing import TYPE_CHECKING, Any, Final

from interchange_conformance.zoo.hosts import Interfaced, kept

from ._honest_host_producer import (
    NATIVE,
    array_mutant,
    buffer_mutant,
    record_mutant,
    records,
)
from .model import mutant

if TYPE_CHECKING:
    from interchange_conformance.subject import Subject

_FOREIGN: Final = {"<": ">", ">": "<"}[NATIVE]
_block: Final = kept(bytes(2**16))


@buffer_mutant("buffers_describe_the_array")
def gives_buffers_of_one_axis(fields: dict[str, Any]) -> dict[str, Any]:
    """It exports buffers of one axis, whatever the array has."""
    count = 1
    for extent in fields["shape"]:
        count *= extent
    return {**fields, "shape": (count,), "strides": (fields["itemsize"],)}


@buffer_mutant("formats_name_the_element_type")
def says_a_foreign_order(fields: dict[str, Any]) -> dict[str, Any]:
    """It exports another byte order than that of its elements."""
    letters = fields["letters"]
    return {**fields, "letters": letters if "s" in letters else _FOREIGN + letters}


@buffer_mutant("formats_name_the_element_type")
def says_standard_sizes_of_native_letters(fields: dict[str, Any]) -> dict[str, Any]:
    """It writes the letter of C's long after a byte order, which means 4 bytes and not 8."""
    named = fields["dtype"] == "int64"
    return {**fields, "letters": f"{NATIVE}l" if named else fields["letters"]}


@buffer_mutant("elements_without_a_format_are_no_other_numbers")
def says_that_bfloat16_is_float16(fields: dict[str, Any]) -> dict[str, Any]:
    """It exports bfloat16 with the format of float16."""
    named = fields["dtype"] == "bfloat16"
    return {**fields, "letters": "e" if named else fields["letters"]}


@buffer_mutant("read_only_arrays_give_read_only_buffers")
def gives_writable_buffers(fields: Any) -> Any:
    """It exports writable buffers of read-only arrays."""
    return {**fields, "readonly": False}


@buffer_mutant("buffers_have_no_suboffsets")
def gives_rows_that_lie_apart(fields: dict[str, Any]) -> dict[str, Any]:
    """It exports a buffer of pointers to rows."""
    shape, size = fields["shape"], fields["itemsize"]
    if len(shape) != 2 or 0 in shape:
        return fields
    rows = [fields["address"] + row * shape[1] * size for row in range(shape[0])]
    pointers = kept(struct.pack(f"{len(rows)}P", *rows))
    return {**fields, "address": pointers, "strides": (8, size), "suboffsets": (0, -1)}


@buffer_mutant("a_buffer_keeps_the_array")
def gives_the_same_memory_again(fields: Any) -> Any:
    """It uses the same memory for every array, even while there are buffers of it."""
    return {**fields, "address": _block}


@record_mutant("records_of_host_memory_describe_the_array")
def says_shape_from_last_to_first(record: Any) -> Any:
    """It exports the extents of an array in reverse order."""
    return {**record, "shape": record["shape"][::-1]}


@record_mutant("typestrs_of_host_memory_name_the_element_type")
def says_that_unsigned_numbers_are_signed(record: Any) -> Any:
    """It exports unsigned integers as signed ones."""
    return {**record, "typestr": record["typestr"].replace("u", "i")}


@record_mutant("records_of_read_only_memory_say_so")
def says_that_memory_is_writable(record: Any) -> Any:
    """It exports read-only memory as writable."""
    return {**record, "data": (record["data"][0], False)}


def _lending() -> Subject:
    """Return an honest producer whose records hold an object with a buffer, as Pillow's do."""
    return records(lambda record: {**record, "data": _lent(record, bytes)})


def _lent(record: dict[str, Any], of_readonly: type[bytes | bytearray]) -> bytes | bytearray:
    """Return the bytes of a record."""
    count = prod(record["shape"]) * int(record["typestr"][2:])
    return (of_readonly if record["data"][1] else bytearray)(count)


@record_mutant("records_of_read_only_memory_say_so", counterpart=_lending)
def exports_writable_bytes(record: Any) -> Any:
    """It exports a writable object as the data of read-only memory."""
    return {**record, "data": _lent(record, bytearray)}


@record_mutant("arrays_without_a_mask_have_none")
def says_a_mask_that_covers_nothing(record: dict[str, Any]) -> dict[str, Any]:
    """It exports a mask for every array, with all elements valid."""
    ones = (kept(b"\1" * 4096), True)
    mask = Interfaced(**{**record, "typestr": "|b1", "data": ones})
    return {**record, "mask": mask}


@array_mutant("buffer_and_record_agree")
def says_read_only_of_a_writable_buffer(record: Any) -> Any:
    """It marks memory as read-only in its record, and exports a writable buffer of it."""
    return {**record, "data": (record["data"][0], True)}


def _says_halves() -> Subject:
    """Return an honest producer whose descr splits the bytes of an element."""

    def change(record: dict[str, Any]) -> dict[str, Any]:
        half = int(record["typestr"][2:]) // 2
        if not half:
            return record
        return {**record, "descr": [("low", f"|V{half}"), ("high", "|u1", (half,))]}

    return records(change)


@mutant("descr_says_what_typestr_says", counterpart=_says_halves)
def says_fields_of_larger_elements() -> Subject:
    """It exports elements with two fields, whose sizes add up to more than an element."""
    fields = [("high", f"{NATIVE}u2"), ("low", f"{NATIVE}u4")]
    return records(lambda record: {**record, "descr": fields})


@array_mutant("buffer_and_record_agree")
def says_another_address(record: Any) -> Any:
    """It exports another address in its record than in its buffer."""
    return {**record, "data": (record["data"][0] + 4, False)}
