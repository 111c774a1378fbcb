"""Mutants of the fields of Arrow structs."""

from __future__ import annotations

import struct
from array import array
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from interchange_conformance.zoo.memory import Memory

from ._honest_arrow_producer import chunk_mutant, column_mutant

if TYPE_CHECKING:
    from collections.abc import Callable

    from interchange_conformance.zoo.arrow import Chunk

    from ._honest_arrow_producer import HonestColumn

_BYTE = (1, 8, 1)


@column_mutant("formats_are_of_the_grammar", formats="l")
def writes_dtypes_for_formats(x: HonestColumn) -> HonestColumn:
    """It writes the name of a dtype instead of a format."""
    return x.but(format="int64")


@column_mutant("formats_are_of_the_grammar", formats="C")
def writes_signed_for_unsigned(x: HonestColumn) -> HonestColumn:
    """It writes the format of signed bytes for unsigned ones."""
    return x.but(format="c")


@column_mutant("formats_are_of_the_grammar", formats=("tsu:",))
def writes_another_unit(x: HonestColumn) -> HonestColumn:
    """It writes milliseconds for microseconds."""
    return x.but(format="tsm:")


@column_mutant("formats_are_of_the_grammar", formats=("tsu:UTC",))
def forgets_the_time_zone(x: HonestColumn) -> HonestColumn:
    """It leaves out the time zone."""
    return x.but(format="tsu:")


@column_mutant("formats_are_of_the_grammar", formats="b")
def writes_bools_as_plain_bytes(x: HonestColumn) -> HonestColumn:
    """Its bools are bytes, without the extension that says so."""
    block = Memory(0, _BYTE, lead=32)
    chunks = tuple(
        replace(one, buffers=(one.buffers[0], block.address), memory=(*one.memory, block))
        for one in x.chunks
    )
    return type(x)(replace(x.field, format="c"), chunks, x.values)


def _with_offsets(one: Chunk, change: Callable[[int], int]) -> Chunk:
    """Return lists with other offsets."""
    block: Any = one.memory[-1]
    offsets = memoryview(block.view()).cast("i")
    offsets[:] = array("i", map(change, offsets))
    return one


@chunk_mutant("offsets_do_not_decrease", formats=("+l",))
def counts_offsets_in_bytes(one: Chunk) -> Chunk:
    """Its offsets count bytes instead of elements."""
    return _with_offsets(one, lambda end: 4 * end)


@chunk_mutant("offsets_do_not_decrease", formats=("+l",))
def writes_lengths_for_offsets(one: Chunk) -> Chunk:
    """It writes the offsets from the last list to the first."""
    return _with_offsets(one, lambda end: 1 if end == 0 else 0)


@chunk_mutant("offsets_are_not_negative", formats=("+l",))
def begins_before_the_child(one: Chunk) -> Chunk:
    """Its offsets begin at -1."""
    return _with_offsets(one, lambda end: end - 1)


@column_mutant("formats_are_of_the_grammar")
def writes_lists_without_size(x: HonestColumn) -> HonestColumn:
    """It leaves out the size of lists."""
    return x.but(format="+w") if x.field.children else x


@chunk_mutant("columns_hold_their_values")
def forgets_the_offset(one: Any) -> Any:
    """Its slices start at the beginning of the memory."""
    return replace(one, offset=0)


@chunk_mutant("columns_hold_their_values")
def drops_the_validity(one: Any) -> Any:
    """It leaves out the validity, and reports no nulls."""
    return replace(one, null_count=0, buffers=(None, *one.buffers[1:]))


@chunk_mutant("columns_hold_their_values")
def inverts_the_validity(one: Chunk) -> Chunk:
    """Its validity has a bit set for each null."""
    validity = one.memory[0] if one.memory else None
    if validity is not None:
        validity.view()[:] = bytes(0xFF ^ byte for byte in validity.view())
    return replace(one, null_count=-1)


@chunk_mutant("columns_hold_their_values", formats="b")
def writes_bools_as_bytes(one: Chunk) -> Chunk:
    """Its bools are bytes, described as bits."""
    block: Any = one.memory[-1]
    block.view()[:] = bytes([1] * block.size)
    return one


@chunk_mutant("structs_have_what_their_format_says")
def leaves_the_validity_uncounted(one: Chunk) -> Chunk:
    """It counts one buffer if there is no validity."""
    return one if one.null_count else replace(one, n_buffers=len(one.buffers) - 1)


@column_mutant("structs_have_what_their_format_says")
def has_no_child_in_the_array(x: HonestColumn) -> HonestColumn:
    """Its lists have a child in the schema only."""
    return x.but(chunk={"n_children": 0}) if x.field.children else x


@chunk_mutant("structs_have_what_their_format_says")
def has_a_dictionary_in_the_array(one: Chunk) -> Chunk:
    """Its arrays have a dictionary, but its schemas have none."""
    return replace(one, dictionary=one)


@column_mutant("metadata_are_pairs_of_bytes")
def writes_no_number_of_pairs(x: Any) -> Any:
    """It writes -1 for the number of metadata pairs."""
    return x.but(metadata=struct.pack("=i", -1))


@chunk_mutant("lengths_and_offsets_are_not_negative", formats="s")
def slices_to_the_left(one: Chunk) -> Chunk:
    """Its slices have a negative offset, with buffers that start at the first element."""
    return replace(one, offset=-1, buffers=(None, (one.buffers[1] or 0) + 2 * one.offset + 2))


@chunk_mutant("lengths_and_offsets_are_not_negative")
def counts_what_is_before(one: Any) -> Any:
    """Its slices have the length of the whole memory."""
    return replace(one, length=one.length + one.offset, offset=0)


@chunk_mutant("children_have_what_their_parents_refer_to")
def slices_the_child_too(one: Chunk) -> Chunk:
    """Its slices of lists have an offset, and a child that is sliced as well."""
    child = one.children[0] if one.children else None
    if child is None or not one.offset:
        return one
    size = child.length // (one.length + one.offset)
    return one.at((0,), length=one.length * size, offset=one.offset * size)


@chunk_mutant("buffers_are_there")
def has_nulls_without_validity(one: Any) -> Any:
    """It reports nulls, and leaves out the validity."""
    return replace(one, buffers=(None, *one.buffers[1:]))


@chunk_mutant("buffers_are_there", formats="c")
def has_no_data(one: Chunk) -> Chunk:
    """Its columns of int8 have no data buffer."""
    return replace(one, buffers=(None, None))


@chunk_mutant("elements_lie_at_multiples_of_their_size", formats="i")
def packs_its_memory(one: Chunk) -> Chunk:
    """Its int32 data start at an odd address."""
    return replace(one, buffers=(one.buffers[0], (one.buffers[1] or 0) + 1), length=0)


@chunk_mutant("null_counts_are_right")
def counts_nulls_of_the_whole(one: Chunk) -> Chunk:
    """The null_count of its slices counts the whole memory."""
    if not one.null_count:
        return one
    return replace(one, null_count=one.null_count + 1 if one.offset else one.null_count)


@column_mutant("fields_with_nulls_are_nullable")
def says_that_nothing_is_null(x: Any) -> Any:
    """Its fields are not nullable, although they contain nulls."""
    return x.but(flags=0)
