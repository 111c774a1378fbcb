"""Mutants of consumers of Arrow: reading, moving and releasing.

Source: the checks of the same name.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Final

from interchange.abi.arrow import (
    ARROW_ARRAY,
    ARROW_CHUNK,
    ARROW_RELEASE,
    ARROW_SCHEMA,
    ARROW_STRUCTS,
)
from interchange_conformance.probes.arrow_structs import elements
from interchange_conformance.probes.opened_arrow import call_release, pointer_in, release_at

from ._honest_arrow_consumer import ArrowConsumer, Owned, Taken, changed, honest_arrow_consumer
from .model import mutant

if TYPE_CHECKING:
    from interchange_conformance.probes.arrow_structs import Node, Type
    from interchange_conformance.subject import Subject

_kept: Final[list[Any]] = []


@mutant("columns_are_read_right", twin=honest_arrow_consumer)
def ignores_offsets() -> Subject:
    """It reads from the start of the buffers."""
    return changed(elements=lambda _, kind, node: elements(kind, node._replace(offset=0)))


@mutant("columns_are_read_right", twin=honest_arrow_consumer)
def ignores_the_validity() -> Subject:
    """It reads nulls as numbers."""

    def read(_: ArrowConsumer, kind: Type, node: Node) -> list[Any]:
        return elements(kind, node._replace(buffers=(None, *node.buffers[1:])))

    return changed(elements=read)


@mutant("columns_are_read_right", twin=honest_arrow_consumer)
def takes_minus_one_for_no_nulls() -> Subject:
    """It treats a null_count of -1 as 0."""

    def read(_: ArrowConsumer, kind: Type, node: Node) -> list[Any]:
        if node.null_count < 0:
            node = node._replace(buffers=(None, *node.buffers[1:]))
        return elements(kind, node)

    return changed(elements=read)


@mutant("columns_are_read_right", twin=honest_arrow_consumer)
def ignores_dictionaries() -> Subject:
    """It reads the indices of a dictionary as elements."""

    def read(_: ArrowConsumer, kind: Type, node: Node) -> list[Any]:
        return elements(kind._replace(dictionary=None), node)

    return changed(elements=read)


@mutant("what_was_taken_is_released_once", twin=honest_arrow_consumer)
def never_releases_schemas() -> Subject:
    """It releases arrays and streams, but no schemas."""

    def taken(_: ArrowConsumer, kind: Type, nodes: list[Node], owners: list[Owned]) -> Taken:
        _kept.extend(owner for owner in owners if owner.name == ARROW_SCHEMA)
        return Taken(kind, nodes, owners)

    return changed(taken=taken)


@mutant("what_was_taken_is_released_once", twin=honest_arrow_consumer)
def never_releases_streams() -> Subject:
    """It drops a stream without releasing it."""
    return changed(finish=lambda _, stream: _kept.append(stream))


@mutant("what_was_taken_is_released_once", "structs_are_moved_out_of_their_capsules",
        twin=honest_arrow_consumer)  # fmt: skip
def copies_structs_and_marks_nothing() -> Subject:
    """It copies structs out of capsules, and leaves the originals unchanged."""

    def take(consumer: ArrowConsumer, x: Any) -> Taken:
        found = ArrowConsumer.take(consumer, x)
        _kept.append(found) if _has_been_seen(x) else None
        return found

    return changed(mark=lambda *_: None, take=take)


def _has_been_seen(x: Any) -> bool:
    """Return whether a producer was called twice."""
    return len(getattr(x, "log", ())) > 1


@mutant("memory_is_not_read_after_its_release", twin=honest_arrow_consumer)
def releases_at_once() -> Subject:
    """It releases the array as soon as it has read the addresses."""

    def taken(_: ArrowConsumer, kind: Type, nodes: list[Node], owners: list[Owned]) -> Taken:
        for owner in owners:
            owner.release()
        return Taken(kind, nodes, [])

    return changed(taken=taken)


@mutant("what_is_refused_is_released_once", twin=honest_arrow_consumer)
def leaks_what_it_refuses() -> Subject:
    """It does not release structs that it refuses."""

    def understand(consumer: ArrowConsumer, owners: list[Owned]) -> Taken:
        try:
            return ArrowConsumer.understand(consumer, owners)
        except Exception:
            _kept.extend(owners)
            raise

    return changed(understand=understand)


@mutant("children_are_left_to_their_parents", twin=honest_arrow_consumer)
def releases_children_too() -> Subject:
    """It releases children without marking their structs as released."""

    def understand(consumer: ArrowConsumer, owners: list[Owned]) -> Taken:
        found = ArrowConsumer.understand(consumer, owners)
        for node in found.chunks:
            for child in node.children:
                if child is not None:
                    _release_and_forget(child.address)
        return found

    return changed(understand=understand)


def _release_and_forget(address: int) -> None:
    """Call the callback of an array, and restore it."""
    before = release_at(ARROW_ARRAY, address)
    call_release(ARROW_ARRAY, address)
    _write_release(address, before)


def _write_release(address: int, callback: int | None) -> None:
    """Set the callback of an array."""
    ctypes.c_void_p.from_address(address + ARROW_RELEASE[ARROW_ARRAY]).value = callback


@mutant("structs_are_moved_out_of_their_capsules", twin=honest_arrow_consumer)
def leaves_structs_in_their_capsules() -> Subject:
    """It reads structs in place, and keeps the capsules."""

    def take(consumer: ArrowConsumer, x: Any) -> Taken:
        for method, names in consumer.methods:
            if hasattr(x, method):
                given = consumer.capsules_of(consumer.ask(x, method), names)
                owners: list[Any] = [
                    _InPlace(one, name) for one, name in zip(given, names, strict=True)
                ]
                return consumer.understand(owners)
        raise TypeError("no method")

    return changed(take=take)


class _InPlace:
    """A struct that stays in its capsule."""

    def __init__(self, capsule: Any, name: bytes) -> None:
        self.capsule, self.name = capsule, name
        self.address = pointer_in(capsule)
        self.struct = ARROW_STRUCTS[name].from_address(self.address)


@mutant("capsules_that_were_consumed_are_refused", twin=honest_arrow_consumer)
def takes_empty_structs_for_empty_columns() -> Subject:
    """It treats a released array as one without elements."""

    def take(consumer: ArrowConsumer, x: Any) -> Any:
        try:
            return ArrowConsumer.take(consumer, x)
        except ValueError as error:
            if "released" not in str(error):
                raise
            return None

    def read(consumer: ArrowConsumer, taken: Any) -> list[Any]:
        return [] if taken is None else ArrowConsumer.read(consumer, taken)

    return changed(take=take, read=read)


@mutant("released_structs_are_refused", twin=honest_arrow_consumer)
def reads_released_arrays() -> Subject:
    """It does not check the release callback."""

    def check_array(consumer: ArrowConsumer, kind: Type, node: Node) -> None:
        ArrowConsumer.check_array(consumer, kind, node._replace(released=False))

    def check_type(consumer: ArrowConsumer, kind: Type) -> None:
        ArrowConsumer.check_type(consumer, kind._replace(released=False))

    return changed(check_alive=lambda *_: None, check_array=check_array, check_type=check_type)


# ---------------------------------------------------------------- streams


@mutant("streams_are_read_to_their_end", twin=honest_arrow_consumer)
def stops_at_empty_chunks() -> Subject:
    """It treats a chunk without elements as the end of a stream."""

    def is_end(consumer: ArrowConsumer, chunk: Owned) -> bool:
        length = getattr(chunk.struct, "array", chunk.struct).length
        return ArrowConsumer.is_end(consumer, chunk) or not length

    return changed(is_end=is_end)


@mutant("streams_are_read_to_their_end", twin=honest_arrow_consumer)
def reads_one_chunk() -> Subject:
    """It reads only the first chunk of a stream."""

    def pull(consumer: ArrowConsumer, stream: Owned) -> list[Owned]:
        return ArrowConsumer.pull(consumer, stream)[:2]

    return changed(pull=pull)


@mutant("errors_of_streams_are_raised", twin=honest_arrow_consumer)
def takes_errors_for_the_end() -> Subject:
    """It treats an error of a stream as its end."""

    def call(consumer: ArrowConsumer, stream: Owned, function: str, out: Owned) -> None:
        try:
            ArrowConsumer.call(consumer, stream, function, out)
        except OSError:
            if function == "get_schema":
                raise

    return changed(call=call)


@mutant("words_of_streams_are_told", twin=honest_arrow_consumer)
def tells_numbers_alone() -> Subject:
    """It raises with the error number, and without the message of the stream."""
    return changed(words=lambda *_: "")


@mutant("streams_are_not_called_out_of_turn", twin=honest_arrow_consumer)
def asks_for_words_where_nothing_failed() -> Subject:
    """It requests the error message whether a call failed or not."""

    def call(consumer: ArrowConsumer, stream: Owned, function: str, out: Owned) -> None:
        ArrowConsumer.call(consumer, stream, function, out)
        consumer.words(stream)

    return changed(call=call)


@mutant("streams_are_not_called_out_of_turn", twin=honest_arrow_consumer)
def asks_released_streams() -> Subject:
    """It releases a stream, and requests another chunk."""

    def finish(consumer: ArrowConsumer, stream: Owned) -> None:
        stream.release()
        consumer.call(stream, "get_next", Owned(ARROW_CHUNK[stream.name]))

    return changed(finish=finish)


# ---------------------------------------------------------------- devices


@mutant("memory_of_devices_is_not_read_by_the_host", twin=honest_arrow_consumer)
def reads_memory_of_devices() -> Subject:
    """It dereferences pointers to device memory."""
    return changed(check_place=lambda *_: None)


@mutant("memory_of_devices_is_not_read_by_the_host", twin=honest_arrow_consumer)
def takes_zero_for_the_host() -> Subject:
    """It treats device type 0 as the host."""

    def check_place(consumer: ArrowConsumer, chunk: Owned) -> None:
        if getattr(chunk.struct, "device_type", 1):
            ArrowConsumer.check_place(consumer, chunk)

    return changed(check_place=check_place)


@mutant("host_memory_is_taken_by_methods_of_devices", twin=honest_arrow_consumer)
def knows_no_devices() -> Subject:
    """It only uses the methods for host memory."""
    return changed(methods=ArrowConsumer.methods[:2])
