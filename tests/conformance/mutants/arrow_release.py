"""Mutants of Arrow's release callbacks.

Source: the checks of the same name.
"""

from __future__ import annotations

import weakref
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from interchange.abi.arrow import ARROW_SCHEMA
from interchange_conformance.zoo.arrow import make_schema

from ._honest_arrow_producer import changed, honest_arrow_producer, saying
from .model import mutant

if TYPE_CHECKING:
    from interchange_conformance.subject import Subject
    from interchange_conformance.zoo.arrow import Chunk

    from ._honest_arrow_producer import HonestColumn


@mutant("release_marks_the_struct_released", twin=honest_arrow_producer)
def leaves_release_in_schemas() -> Subject:
    """The callback of its schemas does not set release to NULL."""
    return saying(lambda x: x.but(field={"sets_release": False}))


@mutant("release_marks_the_struct_released", twin=honest_arrow_producer)
def leaves_release_in_streams() -> Subject:
    """The callback of its streams does not set release to NULL."""
    return saying(lambda x: x.but(flow={"sets_release": False}))


def _data_of(chunk: Chunk) -> tuple[int, int] | None:
    """Return the address and the size [bytes] of the data of a chunk."""
    blocks = [one for one in chunk.memory if one is not None]
    return (blocks[-1].address, blocks[-1].size) if blocks and blocks[-1].size else None


def _spoiling(chunk: Chunk) -> Chunk:
    """Return a chunk whose release overwrites its memory."""
    below = tuple(None if child is None else _spoiling(child) for child in chunk.children)
    return replace(chunk, spoils=_data_of(chunk), children=below)


@mutant("exports_are_released_by_themselves", twin=honest_arrow_producer)
def gives_memory_back_with_the_first_release() -> Subject:
    """The first release frees the memory of all its exports."""

    def change(x: HonestColumn) -> HonestColumn:
        x.chunks = tuple(map(_spoiling, x.chunks))
        return x

    return saying(change)


@mutant("memory_stays_until_it_is_released", twin=honest_arrow_producer)
def memory_that_goes_with_the_column() -> Subject:
    """Its memory is freed with the column object of the library."""

    def change(x: HonestColumn) -> HonestColumn:
        blocks = [one for chunk in x.chunks for one in chunk.memory if one is not None]
        weakref.finalize(x, _spoil, blocks)
        return x

    return saying(change)


def _spoil(blocks: list[Any]) -> None:
    """Overwrite memory."""
    for block in blocks:
        block.view()[:] = bytes([0xA5]) * block.size


_never_freed: list[Any] = []


@mutant("release_gives_memory_back", twin=honest_arrow_producer)
def never_lets_go_of_memory() -> Subject:
    """Its release callbacks mark structs as released, and keep the memory."""

    def change(x: HonestColumn) -> HonestColumn:
        _never_freed.append(x.chunks)
        return x

    return saying(change)


@mutant("release_releases_what_is_below", twin=honest_arrow_producer)
def forgets_children_of_schemas() -> Subject:
    """The callback of its schemas does not release children."""
    return saying(lambda x: x.but(field={"releases_below": False}))


@mutant("release_releases_what_is_below", twin=honest_arrow_producer)
def forgets_children_of_arrays() -> Subject:
    """The callback of its arrays does not release children."""
    return saying(lambda x: x.but(chunk={"releases_below": False}))


@mutant("children_that_were_moved_out_live_on", twin=honest_arrow_producer)
def parents_own_the_memory() -> Subject:
    """The callback of a parent frees the memory of its children, moved out or not."""

    def change(x: HonestColumn) -> HonestColumn:
        x.chunks = tuple(map(_with_its_child, x.chunks))
        return x

    return saying(change)


def _with_its_child(chunk: Chunk) -> Chunk:
    """Return a chunk whose release overwrites the memory of its child."""
    child = chunk.children[0] if chunk.children else None
    return chunk if child is None else replace(chunk, spoils=_data_of(child))


@mutant("children_that_were_moved_out_live_on", twin=honest_arrow_producer)
def children_live_as_long_as_the_schema() -> Subject:
    """The memory of children is freed with the schema that was exported with their parent."""

    def schema(x: HonestColumn) -> Any:
        (chunk, *_) = x.chunks
        loan = make_schema(x.field)
        child = chunk.children[0] if chunk.children else None
        loan.spoil(None if child is None else _data_of(child))
        return x._capsule(loan, x.answers.schema_name, ARROW_SCHEMA)

    return changed(_schema=schema)
