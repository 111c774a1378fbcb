"""Mutants of the fields of Arrow structs.

Source: the checks of the same name.
"""

from __future__ import annotations

import struct
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ._honest_arrow_producer import honest_arrow_producer, saying
from .model import mutant

if TYPE_CHECKING:
    from collections.abc import Callable

    from interchange_conformance.subject import Subject
    from interchange_conformance.zoo.arrow import Chunk

    from ._honest_arrow_producer import HonestColumn


def _where(condition: Callable[[HonestColumn], object], **changes: Any) -> Subject:
    """Return a producer that changes the structs of some columns."""
    return saying(lambda x: x.but(**changes) if condition(x) else x)


def _chunks(change: Callable[[Chunk], Chunk]) -> Subject:
    """Return a producer whose chunks are changed."""

    def changed(x: HonestColumn) -> HonestColumn:
        x.chunks = tuple(map(change, x.chunks))
        return x

    return saying(changed)


def _is(*formats: str) -> Callable[[HonestColumn], bool]:
    """Return a function that returns whether a column has one of some formats."""
    return lambda x: x.field.format in formats


@mutant("formats_are_of_the_grammar", twin=honest_arrow_producer)
def writes_dtypes_for_formats() -> Subject:
    """It writes the name of a dtype instead of a format."""
    return _where(_is("l"), format="int64")


@mutant("formats_are_of_the_grammar", twin=honest_arrow_producer)
def writes_signed_for_unsigned() -> Subject:
    """It writes the format of signed bytes for unsigned ones."""
    return _where(_is("C"), format="c")


@mutant("formats_are_of_the_grammar", twin=honest_arrow_producer)
def writes_lists_without_size() -> Subject:
    """It leaves out the size of lists."""
    return _where(lambda x: str(x.field.format).startswith("+w"), format="+w")


@mutant("columns_hold_their_values", twin=honest_arrow_producer)
def forgets_the_offset() -> Subject:
    """Its slices start at the beginning of the memory."""
    return _chunks(lambda one: replace(one, offset=0))


@mutant("columns_hold_their_values", twin=honest_arrow_producer)
def drops_the_validity() -> Subject:
    """It leaves out the validity, and reports no nulls."""
    return _chunks(lambda one: replace(one, null_count=0, buffers=(None, *one.buffers[1:])))


@mutant("columns_hold_their_values", twin=honest_arrow_producer)
def inverts_the_validity() -> Subject:
    """Its validity has a bit set for each null."""

    def change(one: Chunk) -> Chunk:
        validity = one.memory[0] if one.memory else None
        if validity is not None:
            validity.view()[:] = bytes(0xFF ^ byte for byte in validity.view())
        return replace(one, null_count=-1)

    return _chunks(change)


@mutant("columns_hold_their_values", twin=honest_arrow_producer)
def writes_bools_as_bytes() -> Subject:
    """Its bools are bytes, described as bits."""

    def change(x: HonestColumn) -> HonestColumn:
        if x.field.format == "b":
            for chunk in x.chunks:
                block = chunk.memory[-1]
                block.view()[:] = bytes([1] * block.size)
        return x

    return saying(change)


@mutant("structs_have_what_their_format_says", twin=honest_arrow_producer)
def leaves_the_validity_uncounted() -> Subject:
    """It counts one buffer if there is no validity."""

    def change(one: Chunk) -> Chunk:
        return one if one.null_count else replace(one, n_buffers=len(one.buffers) - 1)

    return _chunks(change)


@mutant("structs_have_what_their_format_says", twin=honest_arrow_producer)
def has_no_child_in_the_array() -> Subject:
    """Its lists have a child in the schema only."""
    return _where(lambda x: x.field.children, chunk={"n_children": 0})


@mutant("structs_have_what_their_format_says", twin=honest_arrow_producer)
def has_a_dictionary_in_the_array() -> Subject:
    """Its arrays have a dictionary, but its schemas have none."""

    def change(x: HonestColumn) -> HonestColumn:
        x.chunks = tuple(replace(one, dictionary=one) for one in x.chunks)
        return x

    return saying(change)


@mutant("metadata_are_pairs_of_bytes", twin=honest_arrow_producer)
def writes_no_number_of_pairs() -> Subject:
    """It writes -1 for the number of metadata pairs."""
    return saying(lambda x: x.but(metadata=struct.pack("=i", -1)))


@mutant("lengths_and_offsets_are_not_negative", twin=honest_arrow_producer)
def slices_to_the_left() -> Subject:
    """Its slices have a negative offset, with buffers that start at the first element."""

    def change(x: HonestColumn) -> HonestColumn:
        if x.field.format == "s":
            x.chunks = tuple(
                replace(one, offset=-1, buffers=(None, (one.buffers[1] or 0) + 2 * one.offset + 2))
                for one in x.chunks
            )
        return x

    return saying(change)


@mutant("lengths_and_offsets_are_not_negative", twin=honest_arrow_producer)
def counts_what_is_before() -> Subject:
    """Its slices have the length of the whole memory."""
    return _chunks(lambda one: replace(one, length=one.length + one.offset, offset=0))


@mutant("children_have_what_their_parents_refer_to", twin=honest_arrow_producer)
def slices_the_child_too() -> Subject:
    """Its slices of lists have an offset, and a child that is sliced as well."""

    def change(one: Chunk) -> Chunk:
        child = one.children[0] if one.children else None
        if child is None or not one.offset:
            return one
        size = child.length // (one.length + one.offset)
        return one.at((0,), length=one.length * size, offset=one.offset * size)

    return _chunks(change)


@mutant("buffers_are_there", twin=honest_arrow_producer)
def has_nulls_without_validity() -> Subject:
    """It reports nulls, and leaves out the validity."""
    return _chunks(lambda one: replace(one, buffers=(None, *one.buffers[1:])))


@mutant("buffers_are_there", twin=honest_arrow_producer)
def has_no_data() -> Subject:
    """Its columns of int8 have no data buffer."""

    def change(x: HonestColumn) -> HonestColumn:
        if x.field.format == "c":
            x.chunks = tuple(replace(one, buffers=(None, None)) for one in x.chunks)
        return x

    return saying(change)


@mutant("elements_lie_at_multiples_of_their_size", twin=honest_arrow_producer)
def packs_its_memory() -> Subject:
    """Its int32 data start at an odd address."""

    def change(x: HonestColumn) -> HonestColumn:
        if x.field.format == "i":
            x.chunks = tuple(
                replace(one, buffers=(one.buffers[0], (one.buffers[1] or 0) + 1), length=0)
                for one in x.chunks
            )
        return x

    return saying(change)


@mutant("null_counts_are_right", twin=honest_arrow_producer)
def counts_nulls_of_the_whole() -> Subject:
    """The null_count of its slices counts the whole memory."""

    def change(one: Chunk) -> Chunk:
        if not one.null_count:
            return one
        return replace(one, null_count=one.null_count + 1 if one.offset else one.null_count)

    return _chunks(change)


@mutant("fields_with_nulls_are_nullable", twin=honest_arrow_producer)
def says_that_nothing_is_null() -> Subject:
    """Its fields are not nullable, although they contain nulls."""
    return saying(lambda x: x.but(flags=0))
