"""Mutants of consumers of Arrow that skip a validation.

Source: the checks of the same name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from interchange.abi import BrokenRule
from interchange.abi.arrow_formats import decode_metadata

from ._honest_arrow_consumer import ArrowConsumer, changed, honest_arrow_consumer
from .model import mutant

if TYPE_CHECKING:
    from interchange_conformance.probes.arrow_structs import Node, Type
    from interchange_conformance.subject import Subject


@mutant("arrow_capsules_of_other_names_are_refused", twin=honest_arrow_consumer)
def ignores_names() -> Subject:
    """It accepts capsules with any name."""
    return changed(name_of=lambda _, __, due: due)


@mutant("arrow_capsules_of_other_names_are_refused", twin=honest_arrow_consumer)
def takes_names_that_begin_right() -> Subject:
    """It accepts capsules whose name has the right prefix."""

    def name_of(consumer: ArrowConsumer, capsule: Any, due: bytes) -> bytes | None:
        found = ArrowConsumer.name_of(consumer, capsule, due)
        return due if (found or b"").startswith(due) else found

    return changed(name_of=name_of)


@mutant("what_is_no_pair_of_capsules_is_refused", twin=honest_arrow_consumer)
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


@mutant("formats_of_no_type_are_refused", twin=honest_arrow_consumer)
def reads_the_first_letter() -> Subject:
    """It only compares the first letter of a format."""

    def format_of(consumer: ArrowConsumer, kind: Type) -> str:
        return ArrowConsumer.format_of(consumer, kind)[:1] or "f"

    def read(consumer: ArrowConsumer, kind: Type, node: Node) -> list[Any]:
        first = (kind.format or b"")[:1] or b"f"
        return ArrowConsumer.elements(consumer, kind._replace(format=first), node)

    return changed(format_of=format_of, elements=read)


@mutant("structs_that_their_format_does_not_fit_are_refused", twin=honest_arrow_consumer)
def counts_no_buffers() -> Subject:
    """It does not check the number of buffers."""
    return changed(check_buffers=lambda *_: None)


@mutant("structs_that_their_format_does_not_fit_are_refused", twin=honest_arrow_consumer)
def counts_no_children() -> Subject:
    """It does not check the number of children."""
    return changed(check_children=lambda *_: None)


@mutant("metadata_of_negative_lengths_are_refused", twin=honest_arrow_consumer)
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


@mutant("negative_lengths_are_refused", twin=honest_arrow_consumer)
def looks_at_no_lengths() -> Subject:
    """It treats a negative length as 0."""
    return changed(check_lengths=lambda *_: None)


@mutant("children_that_are_too_short_are_refused", twin=honest_arrow_consumer)
def trusts_children() -> Subject:
    """It does not compare the length of a child with what its parent needs."""
    return changed(check_child=lambda *_: None)


@mutant("arrays_without_memory_are_refused", twin=honest_arrow_consumer)
def takes_null_for_zeros() -> Subject:
    """It treats a NULL buffer as zeros."""

    def read(consumer: ArrowConsumer, kind: Type, node: Node) -> list[Any]:
        if None in node.buffers[1:] or not node.buffers:
            return [0] * node.length
        return ArrowConsumer.elements(consumer, kind, node)

    return changed(check_memory=lambda *_: None, elements=read)
