"""Consumers of Arrow: the elements they read, the structs they move and release.

Source: the Arrow C data interface, Release callback semantics for consumers; Moving an array;
PyCapsule interface, Lifetime Semantics.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

from interchange.abi.arrow import ARROW_SCHEMA
from interchange_conformance.findings import Found, NotApplicable, expect, note
from interchange_conformance.probes.arrow_importing import WAYS, Import, ways
from interchange_conformance.probes.under_test import collect
from interchange_conformance.registry import area
from interchange_conformance.zoo import arrow

from ._arrow import CAPSULE, DATA, DEVICE, STREAM

if TYPE_CHECKING:
    from collections.abc import Callable

    from interchange_conformance.probes.arrow_importing import Way
    from interchange_conformance.probes.under_test import ArrowConsumerUnderTest
    from interchange_conformance.registry import Decorator

    Make = Callable[[], arrow.Source]

check: Decorator = area("arrow")

_BY: Final = {kind: kind for kind in WAYS}
"""Cases of checks that run for each kind of import."""
_CONSUMERS: Final = f"{DATA}, Release callback semantics for consumers"

_READ: Final[dict[str, Make]] = {
    **{name: functools.partial(arrow.numbers, name) for name in (
        "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
        "float32", "float64",
    )},
    "no-elements": lambda: arrow.numbers(length=0),
    "offset": lambda: arrow.numbers(offset=3),
    "nulls": lambda: arrow.numbers(nulls=[1, 4]),
    "nulls-with-offset": lambda: arrow.numbers(nulls=[0, 5], offset=3),
    "nulls-not-counted": lambda: arrow.numbers(nulls=[1, 4]).but(null_count=-1),
    "only-nulls": lambda: arrow.numbers(nulls=range(6)),
    "no-nulls-not-counted": lambda: arrow.numbers().but(null_count=-1),
    "validity-without-nulls": lambda: arrow.numbers(nulls=[1]).but(
        null_count=0, offset=2, length=4, values=(2, 3, 4, 5)
    ),
    "bools": arrow.bools,
    "bools-with-offset": lambda: arrow.bools(offset=3),
    "bools-with-nulls": lambda: arrow.bools(offset=9, nulls=[2]),
    "strings": arrow.texts,
    "lists": arrow.lists,
    "lists-with-offset": lambda: arrow.lists(offset=2),
    "lists-with-child-offset": lambda: arrow.lists(child_offset=5),
    "lists-with-nulls": lambda: arrow.lists(nulls=[1], child_nulls=[0]).but(
        values=((None, 1, 2), None, (6, 7, 8), (9, 10, 11))
    ),
    "lists-in-lists": lambda: arrow.lists("int16", (3, 2, 4), offset=1),
    "lists-of-any-length": arrow.ragged,
    "lists-of-any-length-with-offset": lambda: arrow.ragged((1, 2, 0, 3), offset=1, first=2),
    "lists-of-any-length-with-nulls": lambda: arrow.ragged(nulls=[1]),
    "lists-of-one-length": lambda: arrow.ragged((3, 3)),
    "large-lists": lambda: arrow.ragged(kind="+L"),
    "views-of-lists": lambda: arrow.ragged(kind="+vl"),
    "bytes-of-bools": arrow.bytes_of_bool,
    "dates": lambda: arrow.times("tdD"),
    "timestamps": lambda: arrow.times("tsu:"),
    "timestamps-of-seconds": lambda: arrow.times("tss:", nulls=[1]),
    "timestamps-of-a-zone": lambda: arrow.times("tsm:UTC"),
    "durations": lambda: arrow.times("tDu"),
    "dictionary": arrow.dictionary,
    "name-null": lambda: arrow.numbers().but(name=None),
    "metadata": lambda: arrow.numbers().but(metadata=arrow.extension("unknown.name")),
    "unknown-flags": lambda: arrow.numbers().but(flags=2**40),
}  # fmt: skip
"""Legal columns, which a consumer must read correctly or refuse."""


def _listed(values: Any) -> Any:
    """Return nested tuples as lists."""
    return [_listed(one) for one in values] if isinstance(values, tuple | list) else values


def _way(consumer: ArrowConsumerUnderTest, kind: str) -> Way:
    """Return the import of a kind."""
    return ways(consumer, kind)[0]


@check("ARROW-FORMAT-1", source=f"{DATA}, Structure definitions", cases=_READ)
def columns_are_read_right(arrow_consumer: ArrowConsumerUnderTest, case: Make) -> None:
    """A valid column is read correctly, or refused.

    Add the offset to every buffer, bitmaps included, and to the elements of lists; read the
    validity unless null_count is 0; raise for unsupported types.
    """
    refusals = []
    found = ways(arrow_consumer, "array", "stream")
    for way in found:
        source = case()
        due = _listed(source.values)
        done = Import(arrow_consumer, way.of(source))
        if done.values is None:
            refusals.append(f"by {way}, it {done}")
            continue
        expect(_listed(done.values) == due, f"by {way}, a column of {due!s:.200} {done}")
    if len(refusals) == len(found):
        raise NotApplicable("; ".join(refusals))


# ---------------------------------------------------------------- released once, not earlier


@check("ARROW-RELEASE-1", source=_CONSUMERS, cases=_BY)
def what_was_taken_is_released_once(arrow_consumer: ArrowConsumerUnderTest, case: str) -> None:
    """Each imported struct is released once when it is no longer used, schema and stream included.

    Call release of the base structs that you moved out, once, when you no longer need them.
    """
    done = Import(arrow_consumer, _way(arrow_consumer, case).of(arrow.lists()))
    if done.error is not None:
        done = Import(arrow_consumer, _way(arrow_consumer, case).of(arrow.numbers()))
    source = done.source
    found = done.counts()

    words = f"with no reference left, structs were released {found} times"
    expect(found == source.due, f"{words}, due: {source.due}")


@check("ARROW-RELEASE-1", source=_CONSUMERS, cases=_BY)
def memory_is_not_read_after_its_release(arrow_consumer: ArrowConsumerUnderTest, case: str) -> None:
    """Memory is released after its last use, or copied before.

    Keep the struct as long as an array uses its memory.
    """
    way, due = _way(arrow_consumer, case), list(arrow.numbers("int32").values)
    done = Import(arrow_consumer, _new_each_time(lambda: way.of(_spoiling())), reads=False)
    if done.error is not None:
        raise NotApplicable(f"it {done}")
    collect()
    note("reading what was taken, again")
    found = arrow_consumer.values(done.taken)

    expect(found == due, f"{due} was read as {found} after it was taken")


def _spoiling() -> arrow.Source:
    """Return a column whose memory is overwritten by its release."""
    plain = arrow.numbers("int32")
    address = plain.chunks[0].buffers[1] or 0
    return plain.but(spoils=(address, 24))


def _new_each_time(make: Make) -> Any:
    """Return a producer that answers each request with new memory."""
    first = make()
    made = [first]

    def answer(name: str, keywords: dict[str, Any]) -> Any:
        made.append(make())
        return getattr(made[-1], name)(**keywords)

    methods = [name for name in dir(first) if name.startswith("__arrow_c_")]
    return type("NewEachTime", (), {
        name: lambda _, requested_schema=None, name=name, **more: answer(
            name, {"requested_schema": requested_schema, **more}
        )
        for name in methods
    })()  # fmt: skip


_REFUSED: Final = {
    name: case
    for name, case in arrow.zoo().items()
    if name in {"format-unknown", "format-empty"}
    or (name.startswith("stream-fails") and "negative" not in name)
}


@check("ARROW-RELEASE-1", source=_CONSUMERS, cases=_REFUSED)
def what_is_refused_is_released_once(
    arrow_consumer: ArrowConsumerUnderTest, case: arrow.ArrowCase
) -> None:
    """Each struct of a refused column is released once.

    Release on every error path what you moved out, and leave the rest to the destructor of the
    capsule.
    """
    source = case.make()
    kind = next(one for one in WAYS if hasattr(source, f"__arrow_c_{one.replace('-', '_')}__"))
    if _way(arrow_consumer, kind).in_table:
        raise NotApplicable("it takes tables alone")
    done = Import(arrow_consumer, source)
    if done.error is None:
        raise NotApplicable(f"it {done}")
    told = str(done)
    found = done.counts()

    words = f"a column {told}; then structs were released {found} times"
    expect(found == source.due, f"{words}, due: {source.due}")


@check("ARROW-RELEASE-2", source=_CONSUMERS, cases=_BY)
def children_are_left_to_their_parents(arrow_consumer: ArrowConsumerUnderTest, case: str) -> None:
    """Children are released once, by the callback of their parent or where they were moved to.

    Call release of base structs only; the producer releases the children.
    """
    done = Import(arrow_consumer, _way(arrow_consumer, case).of(arrow.lists()))
    if done.error is not None:
        raise NotApplicable(f"it {done}")
    source = done.source
    done.counts()

    below = [one.releases for loan in source.given for one in loan.below]
    expect(all(count == 1 for count in below), f"children were released {below} times")


# ---------------------------------------------------------------- moved, and released once


class _Holding:
    """An object that keeps references to the results of a producer."""

    def __init__(self) -> None:
        self.found: list[Any] = []

    def __call__(self, found: Any) -> Any:
        self.found.append(found)
        return found


@check("ARROW-CAP-2", source=f"{CAPSULE}, Lifetime Semantics; {DATA}, Moving an array",
       severity="SHOULD", cases=_BY)  # fmt: skip
def structs_are_moved_out_of_their_capsules(
    arrow_consumer: ArrowConsumerUnderTest, case: str
) -> None:
    """Structs are moved out of their capsules, and the struct in the capsule is marked released.

    Copy the struct, and set release to NULL in the capsule's struct: otherwise it is released or
    imported a second time.
    """
    holding = _Holding()
    source = _way(arrow_consumer, case).of(arrow.numbers()).but(answer=holding)
    done = Import(arrow_consumer, source)
    if done.error is not None:
        raise NotApplicable(f"it {done}")

    data = [one for one in source.loans if one.name != ARROW_SCHEMA]
    words = f"{data[0].name.decode()} was read, and is not marked released in its capsule"
    expect(any(one.marked for one in data), words)


@check("ARROW-RELEASE-3", source=f"{CAPSULE}, Lifetime Semantics: consumed only once", cases=_BY)
def capsules_that_were_consumed_are_refused(
    arrow_consumer: ArrowConsumerUnderTest, case: str
) -> None:
    """A capsule whose struct was already moved out is refused.

    Check release before you read anything else, and raise if it is NULL.
    """
    holding = _Holding()
    way = _way(arrow_consumer, case)
    source = way.of(arrow.numbers()).but(answer=holding)
    first = Import(arrow_consumer, source)
    given = holding.found[-1]
    if first.error is not None or not all(one.marked for one in source.loans):
        raise NotApplicable("it leaves structs in their capsules")
    again = way.of(arrow.numbers()).but(answer=lambda _: given)
    second = Import(arrow_consumer, again)

    expect(second.error is not None, f"a capsule that was consumed {second}")


_RELEASED: Final = {
    name: case for name, case in arrow.zoo().items()
    if case.rule == "ARROW-RELEASE-3" and "child" not in name and name != "taken-before"
}  # fmt: skip


@check("ARROW-RELEASE-3", source=f"{DATA}, Released structure", severity="SHOULD",
       cases=_RELEASED)  # fmt: skip
def released_structs_are_refused(
    arrow_consumer: ArrowConsumerUnderTest, case: arrow.ArrowCase
) -> None:
    """A struct whose release is NULL is refused.

    Check release before you read anything else, and raise if it is NULL: the other fields are
    undefined.
    """
    source = case.make()
    kind = next(one for one in WAYS if hasattr(source, f"__arrow_c_{one.replace('-', '_')}__"))
    _way(arrow_consumer, kind)
    done = Import(arrow_consumer, source)

    expect(done.error is not None, f"a released struct {done}")


# ---------------------------------------------------------------- streams


@check("ARROW-STREAM-2", source=f"{STREAM}, ArrowArrayStream.get_next",
       cases={f"{kind}-{count}": (kind, count) for kind in ("stream", "device-stream")
              for count in (0, 1, 2, 5)})  # fmt: skip
def streams_are_read_to_their_end(
    arrow_consumer: ArrowConsumerUnderTest, case: tuple[str, int]
) -> None:
    """All chunks of a stream are read, until it returns a released array.

    Check release of the result of get_next, and stop if it is NULL; a chunk without elements is not
    the end.
    """
    kind, count = case
    way = _way(arrow_consumer, kind)
    parts = [arrow.numbers("int64", length) for length in (2, 0, 3, 1, 4)[:count]]
    source = way.of(arrow.chunked(*(parts or [arrow.numbers("int64", 0)])))
    source.chunks = source.chunks[:count]
    due = [value for part in parts for value in part.values]
    done = Import(arrow_consumer, source)
    if done.error is not None:
        raise NotApplicable(f"it {done}")

    expect(done.values == due, f"a stream of {count} chunks, {due}, {done}")


_FAILING: Final = {
    "for-its-schema": {"schema_error": 22},
    "at-once": {"next_error": 5},
    "in-the-middle": {"next_error": 5, "fails_at": 1},
    "at-its-end": {"next_error": 5, "fails_at": 2},
    "without-words": {"next_error": 12, "message": None},
    "with-odd-words": {"next_error": 5, "message": b"\xff\xfe no UTF-8"},
}


@check("ARROW-STREAM-1", source=f"{STREAM}, Error codes", cases=_FAILING)
def errors_of_streams_are_raised(
    arrow_consumer: ArrowConsumerUnderTest, case: dict[str, Any]
) -> None:
    """A stream that fails raises an error, and is not imported as a shorter column.

    Check the return values of get_schema and get_next, and raise if they are not 0.
    """
    way = _way(arrow_consumer, "stream")
    source = way.of(arrow.chunked(arrow.numbers(), arrow.numbers())).but(**case)
    done = Import(arrow_consumer, source)

    expect(done.error is not None, f"a stream that fails {done}")


@check("ARROW-STREAM-1", source=f"{STREAM}, get_last_error", severity="SHOULD",
       cases={name: _FAILING[name] for name in ("for-its-schema", "at-once", "in-the-middle")}
       )  # fmt: skip
def words_of_streams_are_told(arrow_consumer: ArrowConsumerUnderTest, case: dict[str, Any]) -> None:
    """The error of a failed stream includes the stream's own message.

    Call get_last_error, and include the message that it returns.
    """
    way = _way(arrow_consumer, "stream")
    source = way.of(arrow.chunked(arrow.numbers(), arrow.numbers())).but(**case)
    done = Import(arrow_consumer, source)
    if done.error is None:
        raise NotApplicable("it raises nothing")

    expect("the producer says why" in str(done.error), f"it {done}")


@check("ARROW-STREAM-1", source=f"{STREAM}, ArrowArrayStream",
       cases={"honest": {}, "failing": {"next_error": 5, "fails_at": 1}})  # fmt: skip
def streams_are_not_called_out_of_turn(
    arrow_consumer: ArrowConsumerUnderTest, case: dict[str, Any]
) -> None:
    """No callback of a released stream is called, and get_last_error only after an error.

    Release the stream after its last chunk, and do not call it again.
    """
    way = _way(arrow_consumer, "stream")
    source = way.of(arrow.chunked(arrow.numbers(), arrow.numbers())).but(**case)
    done = Import(arrow_consumer, source)
    done.counts()

    stray = sum(one.stray_calls for one in source.streams)
    expect(not stray, f"callbacks of the stream were called out of turn {stray} times")


# ---------------------------------------------------------------- devices

_ELSEWHERE: Final = {
    "cuda": (2, 0),
    "vulkan": (7, 0),
    "rocm": (10, 0),
    "unknown": (99, 0),
    "zero": (0, 0),
    "negative": (-1, 0),
}


@check("ARROW-DEVICE-1", source=f"{DEVICE}, ArrowDeviceType",
       cases={f"{kind}-{name}": (kind, place) for kind in ("device-array", "device-stream")
              for name, place in _ELSEWHERE.items()})  # fmt: skip
def memory_of_devices_is_not_read_by_the_host(
    arrow_consumer: ArrowConsumerUnderTest, case: tuple[str, tuple[int, int]]
) -> None:
    """Device memory is not read as host memory.

    Check device_type before you dereference a pointer, and refuse types that you cannot access.
    """
    kind, place = case
    way = _way(arrow_consumer, kind)
    source = way.of(arrow.numbers()).but(place=arrow.Place(*place))
    done = Import(arrow_consumer, source)

    read = done.values is not None and done.values == list(arrow.numbers().values)
    expect(not read, f"memory of device {place} {done}")


@check("ARROW-DEVICE-1", source=f"{CAPSULE}, Device Support: consumers are encouraged",
       severity="QUIRK", cases={kind: kind for kind in WAYS if kind.startswith("device")}
       )  # fmt: skip
def host_memory_is_taken_by_methods_of_devices(
    arrow_consumer: ArrowConsumerUnderTest, case: str
) -> None:
    """A host column that has only a device method is imported, too.

    Call __arrow_c_device_array__ if there is no __arrow_c_array__, and check device_type.
    """
    ways(arrow_consumer)
    try:
        ways(arrow_consumer, case)
    except NotApplicable as reason:
        raise Found(str(reason)) from reason
