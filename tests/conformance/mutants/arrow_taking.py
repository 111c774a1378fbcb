"""Mutants of consumers of Arrow: reading, moving and releasing."""

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

from ._honest_arrow_consumer import (
    ArrowConsumer,
    Owned,
    Taken,
    arrow_consumer_mutant,
    changed,
    honest_arrow_consumer,
)
from .model import mutant

if TYPE_CHECKING:
    from interchange_conformance.probes.arrow_structs import Node, Type
    from interchange_conformance.subject import Subject

_kept: Final[list[Any]] = []


@arrow_consumer_mutant("columns_are_read_right", step="elements")
def ignores_offsets(_: Any, kind: Any, node: Any) -> Any:
    """It reads from the start of the buffers."""
    return elements(kind, node._replace(offset=0))


@arrow_consumer_mutant("columns_are_read_right", step="elements")
def ignores_the_validity(_: ArrowConsumer, kind: Type, node: Node) -> list[Any]:
    """It reads nulls as numbers."""
    return elements(kind, node._replace(buffers=(None, *node.buffers[1:])))


@arrow_consumer_mutant("columns_are_read_right", step="elements")
def takes_minus_one_for_no_nulls(_: ArrowConsumer, kind: Type, node: Node) -> list[Any]:
    """It treats a null_count of -1 as 0."""
    if node.null_count < 0:
        node = node._replace(buffers=(None, *node.buffers[1:]))
    return elements(kind, node)


@arrow_consumer_mutant("columns_are_read_right", step="elements")
def reads_another_unit(_: ArrowConsumer, kind: Type, node: Node) -> list[Any]:
    """It reads seconds as milliseconds."""
    return elements(kind._replace(format=kind.format and kind.format.replace(b"tss", b"tsm")), node)


@arrow_consumer_mutant("columns_are_read_right", step="elements")
def drops_time_zones(_: ArrowConsumer, kind: Type, node: Node) -> list[Any]:
    """It reads timestamps of a zone as local ones."""
    return elements(kind._replace(format=kind.format and kind.format.replace(b"UTC", b"")), node)


@arrow_consumer_mutant("columns_are_read_right", step="elements")
def reads_64_bits_as_32(_: ArrowConsumer, kind: Type, node: Node) -> list[Any]:
    """It reads the offsets of large lists as if they had 32 bits."""
    return elements(kind._replace(format=b"+l") if kind.format == b"+L" else kind, node)


@arrow_consumer_mutant("columns_are_read_right", step="elements")
def ignores_dictionaries(_: ArrowConsumer, kind: Type, node: Node) -> list[Any]:
    """It reads the indices of a dictionary as elements."""
    return elements(kind._replace(dictionary=None), node)


@arrow_consumer_mutant("what_was_taken_is_released_once", step="taken")
def never_releases_schemas(
    _: ArrowConsumer, kind: Type, nodes: list[Node], owners: list[Owned]
) -> Taken:
    """It releases arrays and streams, but no schemas."""
    _kept.extend(owner for owner in owners if owner.name == ARROW_SCHEMA)
    return Taken(kind, nodes, owners)


@arrow_consumer_mutant("what_was_taken_is_released_once", step="finish")
def never_releases_streams(_: Any, stream: Any) -> Any:
    """It drops a stream without releasing it."""
    return _kept.append(stream)


@arrow_consumer_mutant(
    "what_was_taken_is_released_once",
    "structs_are_moved_out_of_their_capsules",
    step="take",
    mark=lambda *_: None,
)
def copies_structs_and_marks_nothing(consumer: ArrowConsumer, x: Any) -> Taken:
    """It copies structs out of capsules, and leaves the originals unchanged."""
    found = ArrowConsumer.take(consumer, x)
    _kept.append(found) if _has_been_seen(x) else None
    return found


def _has_been_seen(x: Any) -> bool:
    """Return whether a producer was called twice."""
    return len(getattr(x, "log", ())) > 1


@arrow_consumer_mutant("memory_is_not_read_after_its_release", step="taken")
def releases_at_once(_: ArrowConsumer, kind: Type, nodes: list[Node], owners: list[Owned]) -> Taken:
    """It releases the array as soon as it has read the addresses."""
    for owner in owners:
        owner.release()
    return Taken(kind, nodes, [])


@arrow_consumer_mutant("what_is_refused_is_released_once", step="understand")
def leaks_what_it_refuses(consumer: ArrowConsumer, owners: list[Owned]) -> Taken:
    """It does not release structs that it refuses."""
    try:
        return ArrowConsumer.understand(consumer, owners)
    except Exception:
        _kept.extend(owners)
        raise


@arrow_consumer_mutant("children_are_left_to_their_parents", step="understand")
def releases_children_too(consumer: ArrowConsumer, owners: list[Owned]) -> Taken:
    """It releases children without marking their structs as released."""
    found = ArrowConsumer.understand(consumer, owners)
    for node in found.chunks:
        for child in node.children:
            if child is not None:
                _release_and_forget(child.address)
    return found


def _release_and_forget(address: int) -> None:
    """Call the callback of an array, and restore it."""
    before = release_at(ARROW_ARRAY, address)
    call_release(ARROW_ARRAY, address)
    _write_release(address, before)


def _write_release(address: int, callback: int | None) -> None:
    """Set the callback of an array."""
    ctypes.c_void_p.from_address(address + ARROW_RELEASE[ARROW_ARRAY]).value = callback


@arrow_consumer_mutant("structs_are_moved_out_of_their_capsules", step="take")
def leaves_structs_in_their_capsules(consumer: ArrowConsumer, x: Any) -> Taken:
    """It reads structs in place, and keeps the capsules."""
    for method, names in consumer.methods:
        if hasattr(x, method):
            given = consumer.capsules_of(consumer.ask(x, method), names)
            owners: list[Any] = [
                _InPlace(one, name) for one, name in zip(given, names, strict=True)
            ]
            return consumer.understand(owners)
    raise TypeError("no method")


class _InPlace:
    """A struct that stays in its capsule."""

    def __init__(self, capsule: Any, name: bytes) -> None:
        self.capsule, self.name = capsule, name
        self.address = pointer_in(capsule)
        self.struct = ARROW_STRUCTS[name].from_address(self.address)


@mutant("capsules_that_were_consumed_are_refused", counterpart=honest_arrow_consumer)
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


@mutant("released_structs_are_refused", counterpart=honest_arrow_consumer)
def reads_released_arrays() -> Subject:
    """It does not check the release callback."""

    def check_array(consumer: ArrowConsumer, kind: Type, node: Node) -> None:
        ArrowConsumer.check_array(consumer, kind, node._replace(released=False))

    def check_type(consumer: ArrowConsumer, kind: Type) -> None:
        ArrowConsumer.check_type(consumer, kind._replace(released=False))

    return changed(check_alive=lambda *_: None, check_array=check_array, check_type=check_type)


# ---------------------------------------------------------------- streams


@arrow_consumer_mutant("streams_are_read_to_their_end", step="is_end")
def stops_at_empty_chunks(consumer: ArrowConsumer, chunk: Owned) -> bool:
    """It treats a chunk without elements as the end of a stream."""
    length = getattr(chunk.struct, "array", chunk.struct).length
    return ArrowConsumer.is_end(consumer, chunk) or not length


@arrow_consumer_mutant("streams_are_read_to_their_end", step="pull")
def reads_one_chunk(consumer: ArrowConsumer, stream: Owned) -> list[Owned]:
    """It reads only the first chunk of a stream."""
    return ArrowConsumer.pull(consumer, stream)[:2]


@arrow_consumer_mutant("errors_of_streams_are_raised", step="call")
def takes_errors_for_the_end(
    consumer: ArrowConsumer, stream: Owned, function: str, out: Owned
) -> None:
    """It treats an error of a stream as its end."""
    try:
        ArrowConsumer.call(consumer, stream, function, out)
    except OSError:
        if function == "get_schema":
            raise


@arrow_consumer_mutant("words_of_streams_are_told", step="words")
def tells_numbers_alone(*_: object) -> Any:
    """It raises with the error number, and without the message of the stream."""
    return ""


@arrow_consumer_mutant("streams_are_not_called_out_of_turn", step="call")
def asks_for_words_where_nothing_failed(
    consumer: ArrowConsumer, stream: Owned, function: str, out: Owned
) -> None:
    """It requests the error message whether a call failed or not."""
    ArrowConsumer.call(consumer, stream, function, out)
    consumer.words(stream)


@arrow_consumer_mutant("streams_are_not_called_out_of_turn", step="finish")
def asks_released_streams(consumer: ArrowConsumer, stream: Owned) -> None:
    """It releases a stream, and requests another chunk."""
    stream.release()
    consumer.call(stream, "get_next", Owned(ARROW_CHUNK[stream.name]))


# ---------------------------------------------------------------- devices


@arrow_consumer_mutant("memory_of_devices_is_not_read_by_the_host", step="check_place")
def reads_memory_of_devices(*_: object) -> None:
    """It dereferences pointers to device memory."""


@arrow_consumer_mutant("memory_of_devices_is_not_read_by_the_host", step="check_place")
def takes_zero_for_the_host(consumer: ArrowConsumer, chunk: Owned) -> None:
    """It treats device type 0 as the host."""
    if getattr(chunk.struct, "device_type", 1):
        ArrowConsumer.check_place(consumer, chunk)


@mutant("host_memory_is_taken_by_methods_of_devices", counterpart=honest_arrow_consumer)
def knows_no_devices() -> Subject:
    """It only uses the methods for host memory."""
    return changed(methods=ArrowConsumer.methods[:2])
