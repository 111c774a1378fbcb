"""Mutants of Arrow's release callbacks."""

from __future__ import annotations

import weakref
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from interchange.abi.arrow import ARROW_SCHEMA
from interchange_conformance.zoo.arrow import make_schema

from ._honest_arrow_producer import arrow_producer_mutant, chunk_mutant, column_mutant

if TYPE_CHECKING:
    from interchange_conformance.zoo.arrow import Chunk

    from ._honest_arrow_producer import HonestColumn


@column_mutant("release_marks_the_struct_released")
def leaves_release_in_schemas(x: Any) -> Any:
    """The callback of its schemas does not set release to NULL."""
    return x.but(field={"sets_release": False})


@column_mutant("release_marks_the_struct_released")
def leaves_release_in_streams(x: Any) -> Any:
    """The callback of its streams does not set release to NULL."""
    return x.but(flow={"sets_release": False})


def _data_of(chunk: Chunk) -> tuple[int, int] | None:
    """Return the address and the size [bytes] of the data of a chunk."""
    blocks = [one for one in chunk.memory if one is not None]
    return (blocks[-1].address, blocks[-1].size) if blocks and blocks[-1].size else None


@chunk_mutant("exports_are_released_by_themselves")
def gives_memory_back_with_the_first_release(chunk: Chunk) -> Chunk:
    """The first release frees the memory of all its exports."""
    below = (child and gives_memory_back_with_the_first_release(child) for child in chunk.children)
    return replace(chunk, spoils=_data_of(chunk), children=tuple(below))


@column_mutant("memory_stays_until_it_is_released")
def memory_that_goes_with_the_column(x: HonestColumn) -> HonestColumn:
    """Its memory is freed with the column object of the library."""
    blocks = [one for chunk in x.chunks for one in chunk.memory if one is not None]
    weakref.finalize(x, _spoil, blocks)
    return x


def _spoil(blocks: list[Any]) -> None:
    """Overwrite memory."""
    for block in blocks:
        block.view()[:] = bytes([0xA5]) * block.size


_never_freed: list[Any] = []


@column_mutant("release_gives_memory_back")
def never_lets_go_of_memory(x: HonestColumn) -> HonestColumn:
    """Its release callbacks mark structs as released, and keep the memory."""
    _never_freed.append(x.chunks)
    return x


@column_mutant("release_releases_what_is_below")
def forgets_children_of_schemas(x: Any) -> Any:
    """The callback of its schemas does not release children."""
    return x.but(field={"releases_below": False})


@column_mutant("release_releases_what_is_below")
def forgets_children_of_arrays(x: Any) -> Any:
    """The callback of its arrays does not release children."""
    return x.but(chunk={"releases_below": False})


@chunk_mutant("children_that_were_moved_out_live_on")
def parents_own_the_memory(chunk: Chunk) -> Chunk:
    """The callback of a parent frees the memory of its children, moved out or not."""
    child = chunk.children[0] if chunk.children else None
    return chunk if child is None else replace(chunk, spoils=_data_of(child))


@arrow_producer_mutant("children_that_were_moved_out_live_on", step="_schema")
def children_live_as_long_as_the_schema(x: HonestColumn) -> Any:
    """The memory of children is freed with the schema that was exported with their parent."""
    (chunk, *_) = x.chunks
    loan = make_schema(x.field)
    child = chunk.children[0] if chunk.children else None
    loan.spoil(None if child is None else _data_of(child))
    return x._capsule(loan, x.answers.schema_name, ARROW_SCHEMA)
