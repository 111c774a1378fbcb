"""Mutants of consumers of Arrow that skip a validation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from interchange.abi import BrokenRule
from interchange.abi.arrow_formats import decode_metadata

from ._honest_arrow_consumer import (
    ArrowConsumer,
    arrow_consumer_mutant,
    changed,
    honest_arrow_consumer,
)
from .model import mutant

if TYPE_CHECKING:
    from interchange_conformance.probes.arrow_structs import Node, Type
    from interchange_conformance.subject import Subject


@arrow_consumer_mutant("arrow_capsules_of_other_names_are_refused", step="name_of")
def ignores_names(_: Any, __: Any, due: Any) -> Any:
    """It accepts capsules with any name."""
    return due


@arrow_consumer_mutant("arrow_capsules_of_other_names_are_refused", step="name_of")
def takes_names_that_begin_right(consumer: ArrowConsumer, capsule: Any, due: bytes) -> bytes | None:
    """It accepts capsules whose name has the right prefix."""
    found = ArrowConsumer.name_of(consumer, capsule, due)
    return due if (found or b"").startswith(due) else found


@mutant("what_is_no_pair_of_capsules_is_refused", counterpart=honest_arrow_consumer)
def takes_nothing_for_no_elements() -> Subject:
    """It accepts None instead of capsules as a column without elements."""

    def take(consumer: ArrowConsumer, x: Any) -> Any:
        try:
            return ArrowConsumer.take(consumer, x)
        except TypeError as error:
            if not str(error).startswith("None"):
                raise
            return None

    def read(consumer: ArrowConsumer, taken: Any) -> list[Any]:
        return [] if taken is None else ArrowConsumer.read(consumer, taken)

    return changed(take=take, read=read)


@mutant("formats_of_no_type_are_refused", counterpart=honest_arrow_consumer)
def reads_the_first_letter() -> Subject:
    """It only compares the first letter of a format."""

    def format_of(consumer: ArrowConsumer, kind: Type) -> str:
        return ArrowConsumer.format_of(consumer, kind)[:1] or "f"

    def read(consumer: ArrowConsumer, kind: Type, node: Node) -> list[Any]:
        first = (kind.format or b"")[:1] or b"f"
        return ArrowConsumer.elements(consumer, kind._replace(format=first), node)

    return changed(format_of=format_of, elements=read)


@arrow_consumer_mutant("structs_that_their_format_does_not_fit_are_refused", step="check_buffers")
def counts_no_buffers(*_: object) -> None:
    """It does not check the number of buffers."""


@arrow_consumer_mutant("structs_that_their_format_does_not_fit_are_refused", step="check_children")
def counts_no_children(*_: object) -> None:
    """It does not check the number of children."""


@mutant("metadata_of_negative_lengths_are_refused", counterpart=honest_arrow_consumer)
def reads_metadata_backwards() -> Subject:
    """It accepts metadata with negative lengths as a column without elements."""

    def check_metadata(_: ArrowConsumer, kind: Type) -> None:
        try:
            decode_metadata(kind.metadata or 0)
        except BrokenRule:
            _wrong.add(kind.address)

    def read(consumer: ArrowConsumer, kind: Type, node: Node) -> list[Any]:
        found = ArrowConsumer.elements(consumer, kind, node)
        return found if kind.address not in _wrong else []

    return changed(check_metadata=check_metadata, elements=read)


_wrong: set[int] = set()


@arrow_consumer_mutant("negative_lengths_are_refused", step="check_lengths")
def looks_at_no_lengths(*_: object) -> None:
    """It treats a negative length as 0."""


@arrow_consumer_mutant("children_that_are_too_short_are_refused", step="check_child")
def trusts_children(*_: object) -> None:
    """It does not compare the length of a child with what its parent needs."""


@arrow_consumer_mutant("offsets_that_are_no_ranges_are_refused", step="check_offsets")
def trusts_offsets(*_: object) -> None:
    """It does not compare the offsets of lists."""


@arrow_consumer_mutant(
    "arrays_without_memory_are_refused", step="elements", check_memory=lambda *_: None
)
def takes_null_for_zeros(consumer: ArrowConsumer, kind: Type, node: Node) -> list[Any]:
    """It treats a NULL buffer as zeros."""
    if None in node.buffers[1:] or not node.buffers:
        return [0] * node.length
    return ArrowConsumer.elements(consumer, kind, node)
