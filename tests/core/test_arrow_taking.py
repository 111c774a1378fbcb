"""Both cores own Arrow structs: moved from capsules, read from streams, released once."""

from __future__ import annotations

import copy
import ctypes
import errno
import gc
import weakref

import pytest

from interchange.abi import BrokenRule, capsules
from interchange.abi.arrow import (
    ARROW_ARRAY,
    ARROW_ARRAY_STREAM,
    ARROW_CHUNK,
    ARROW_DEVICE_ARRAY,
    ARROW_DEVICE_ARRAY_STREAM,
    ARROW_RELEASE,
    ARROW_SCHEMA,
    ARROW_STRUCTS,
    ArrowArray,
)
from interchange_conformance.zoo import arrow

NAMES = list(ARROW_STRUCTS)
STREAMS = list(ARROW_CHUNK)
SOURCES = {
    ARROW_SCHEMA: lambda: arrow.numbers().as_schema(),
    ARROW_ARRAY: lambda: arrow.table(a=arrow.numbers(), b=arrow.numbers("int8")).as_array(),
    ARROW_ARRAY_STREAM: lambda: arrow.chunked(arrow.numbers(), arrow.numbers()).as_stream(),
    ARROW_DEVICE_ARRAY: lambda: arrow.numbers().as_device_array(),
    ARROW_DEVICE_ARRAY_STREAM: lambda: arrow.chunked(arrow.numbers()).as_device_stream(),
}
METHODS = {
    ARROW_SCHEMA: "__arrow_c_schema__",
    ARROW_ARRAY: "__arrow_c_array__",
    ARROW_ARRAY_STREAM: "__arrow_c_stream__",
    ARROW_DEVICE_ARRAY: "__arrow_c_device_array__",
    ARROW_DEVICE_ARRAY_STREAM: "__arrow_c_device_stream__",
}


def capsule_of(source, name):
    """Return the capsule of that name which a source gives."""
    given = getattr(source, METHODS[name])()
    return given[1] if isinstance(given, tuple) else given


def lent(name, **changes):
    """Return a capsule, and the counters of its struct."""
    source = SOURCES[name]().but(**changes)
    capsule = capsule_of(source, name)
    return capsule, source.loans[-1]


def part_of(name):
    """Return what describes the struct in a source."""
    return "flow" if name in STREAMS else "field" if name == ARROW_SCHEMA else "chunk"


def bytes_at(address, name):
    """Return the contents of a struct, except for its release callback."""
    whole = ctypes.string_at(address, ctypes.sizeof(ARROW_STRUCTS[name]))
    at = ARROW_RELEASE[name]
    return whole[:at] + whole[at + 8 :]


def refusal(core, capsule, name=ARROW_ARRAY):
    """Return class, rule and message of a refusal."""
    try:
        core.take_arrow(capsule, name)
    except BrokenRule as error:  # whose frames do not keep the capsule
        return type(error), error.rule, str(error)
    return None


# ---------------------------------------------------------------- capsules


@pytest.mark.parametrize("name", NAMES)
def test_a_struct_is_moved(core, name):
    """The owner has the struct's contents, and leaves a released struct behind (ARROW-CAP-2)."""
    capsule, loan = lent(name)
    said = bytes_at(loan.address, name)
    owner = core.take_arrow(capsule, name)

    assert (bytes_at(owner.address, name), loan.moved, owner.address != loan.address) == (
        said,
        True,
        True,
    )


@pytest.mark.parametrize("name", NAMES)
def test_what_was_taken_is_released_by_its_owner(core, name):
    """Once, with its owner; a second consumer gets ARROW-RELEASE-3 and releases nothing."""
    capsule, loan = lent(name)
    owner = core.take_arrow(capsule, name)
    said = refusal(core, capsule, name)[1]
    del capsule
    held = loan.releases, loan.destroyed
    del owner

    assert (said, held, loan.releases, loan.without_gil) == ("ARROW-RELEASE-3", (0, True), 1, 0)


@pytest.mark.parametrize("forgets", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_an_owner_releases_once(core, name, forgets):
    """However often it is asked, and if its callback leaves release as it is (ARROW-RELEASE-1)."""
    capsule, loan = lent(name, **({part_of(name): {"sets_release": False}} if forgets else {}))
    owner = core.take_arrow(capsule, name)
    other = owner
    owner.release()
    first = loan.releases
    other.release()
    del owner, other, capsule

    assert (first, loan.releases) == (1, 1)


@pytest.mark.parametrize("name", NAMES)
def test_a_struct_that_was_never_there_is_refused(core, name):
    """A struct whose release is NULL from the start is refused."""
    capsule, loan = lent(name, **{part_of(name): {"release": False}})

    assert (refusal(core, capsule, name)[1], loan.releases) == ("ARROW-RELEASE-3", 0)


@pytest.mark.parametrize("wanted", NAMES)
@pytest.mark.parametrize("name", NAMES)
def test_a_capsule_of_another_name_is_refused(core, name, wanted):
    """A capsule of another name keeps its struct, which its destructor releases (ARROW-CAP-1)."""
    capsule, loan = lent(name)
    if name == wanted:
        core.take_arrow(capsule, name)
        expected = 1
    else:
        assert refusal(core, capsule, wanted)[1] == "ARROW-CAP-1"
        expected = 0
    held = loan.releases
    del capsule

    assert (held, loan.releases) == (expected, 1)


@pytest.mark.parametrize(
    "thing",
    [
        None,
        3,
        b"arrow_array",
        object,
        [],
        capsules.new_capsule(ctypes.addressof(capsules.anchor), None, None),
        capsules.new_capsule(ctypes.addressof(capsules.anchor), b"", None),
        capsules.new_capsule(ctypes.addressof(capsules.anchor), capsules.VERSIONED, None),
    ],
)
def test_what_is_no_such_capsule_is_refused_alike(cores, thing):
    """Both cores refuse with the same class, rule and message."""
    readable, native = (refusal(core, thing) for core in cores.values())

    assert (readable[:2], native) == ((BrokenRule, "ARROW-CAP-1"), readable)


def test_what_was_taken_is_refused_alike(cores):
    """Both cores refuse a consumed capsule with the same class, rule and message."""
    said = []
    for first in cores.values():
        capsule, _ = lent(ARROW_ARRAY)
        owner = first.take_arrow(capsule, ARROW_ARRAY)
        said += [refusal(core, capsule) for core in cores.values()]
        del owner

    assert len(set(said)) == 1


def test_a_child_that_was_moved_out_lives_on(core):
    """Releasing the owner releases the children that are still there (ARROW-RELEASE-2)."""
    capsule, loan = lent(ARROW_ARRAY)
    owner = core.take_arrow(capsule, ARROW_ARRAY)
    child = ArrowArray.from_address(owner.address).children[0].contents
    moved = ArrowArray.from_buffer_copy(child)
    child.release = None
    first, second = loan.below
    del owner
    held = first.releases, second.releases
    capsules.deleter_at(moved.release)(ctypes.addressof(moved))

    assert (held, first.releases, second.releases) == ((0, 1), 1, 1)


# ---------------------------------------------------------------- owners


@pytest.mark.parametrize("name", NAMES)
def test_an_exception_in_flight_is_put_aside(core, name):
    """A callback does not see it, and it arrives."""
    capsule, loan = lent(name)

    def fail(*_):
        raise LookupError

    with pytest.raises(LookupError):
        fail(core.take_arrow(capsule, name), fail())

    assert (loan.releases, loan.in_flight) == (1, 0)


@pytest.mark.parametrize("name", NAMES)
def test_an_empty_owner_releases_nothing(core, name):
    """An empty owner has an all-zero struct and releases nothing."""
    owner = core.new_arrow(name)
    owner.release()

    assert not any(ctypes.string_at(owner.address, ctypes.sizeof(ARROW_STRUCTS[name])))


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_an_owner_is_not_copied(core, copied):
    """Two owners would release one struct; nor does the collector traverse an owner."""
    capsule, loan = lent(ARROW_ARRAY)
    owner = core.take_arrow(capsule, ARROW_ARRAY)
    assert not gc.is_tracked(owner)
    with pytest.raises(TypeError):
        copied(owner)
    del owner

    assert loan.releases == 1


def test_what_reads_in_a_cycle_still_finds_the_memory(core):
    """A finaliser in garbage that refers to an owner runs before the release."""
    capsule, loan = lent(ARROW_ARRAY)
    length, seen = loan.struct.length, []

    class Reader:
        def __del__(self):
            seen.append((loan.releases, ArrowArray.from_address(self.owner.address).length))

    reader = Reader()
    reader.owner, reader.itself = core.take_arrow(capsule, ARROW_ARRAY), reader
    alive = weakref.ref(reader)
    del reader
    gc.collect()

    assert (alive(), seen, loan.releases) == (None, [(0, length)], 1)


# ---------------------------------------------------------------- streams


def open_stream(core, name=ARROW_ARRAY_STREAM, **flow):
    """Return an owned stream, its counters, and its source."""
    source = SOURCES[name]().but(**flow)
    return core.take_arrow(capsule_of(source, name), name), source.loans[-1], source


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_gives_its_chunks_in_turn(core, name):
    """A stream fills an owner with each chunk; the end is a released struct."""
    stream, loan, source = open_stream(core, name)
    schema, chunks = core.new_arrow(ARROW_SCHEMA), []
    codes = [core.call_stream(stream, "schema", schema)]
    for _ in range(len(source.chunks) + 1):
        chunks.append(core.new_arrow(ARROW_CHUNK[name]))
        codes.append(core.call_stream(stream, "next", chunks[-1]))
    said = [ArrowArray.from_address(chunk.address).length for chunk in chunks]
    held = source.counts
    del schema, chunks, stream

    assert said == [chunk.length for chunk in source.chunks] + [0]
    assert (set(codes), set(held), source.counts) == ({0}, {0}, source.due)
    assert loan.stray_calls == 0


@pytest.mark.parametrize("what", ["schema", "next"])
@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_that_fails_says_why(core, name, what):
    """The errno is returned, and the owner is left empty (ARROW-STREAM-1)."""
    flow = {f"{what}_error": errno.EIO, "message": "no r\xe4d".encode("latin-1")}
    stream, loan, _ = open_stream(core, name, **flow)
    given = ARROW_SCHEMA if what == "schema" else ARROW_CHUNK[name]
    out = core.new_arrow(given)
    code = core.call_stream(stream, what, out)

    assert (code, core.stream_error(stream)) == (errno.EIO, "no r\N{REPLACEMENT CHARACTER}d")
    assert (loan.error_calls, loan.stray_calls) == (1, 0)
    assert not any(ctypes.string_at(out.address, ctypes.sizeof(ARROW_STRUCTS[given])))


@pytest.mark.parametrize("flow", [{"message": None}, {"has_get_last_error": False}])
def test_a_stream_may_say_nothing(core, flow):
    """The message of a stream, or its function, may be NULL."""
    stream, _, _ = open_stream(core, next_error=errno.EIO, **flow)
    core.call_stream(stream, "next", core.new_arrow(ARROW_ARRAY))

    assert core.stream_error(stream) is None


@pytest.mark.parametrize("name", STREAMS)
def test_what_an_owner_had_is_released_when_more_comes(core, name):
    """Filling an owner again releases its struct, also if the call fails."""
    stream, loan, _ = open_stream(core, name, next_error=errno.EIO, fails_at=1)
    out = core.new_arrow(ARROW_CHUNK[name])
    codes = [core.call_stream(stream, "next", out)]
    held = [one.releases for one in loan.given]
    codes.append(core.call_stream(stream, "next", out))

    assert (codes, held) == ([0, errno.EIO], [0])
    assert [one.releases for one in loan.given] == [1]


def failure(core, case):
    """Return class and message of an error."""
    with pytest.raises((BrokenRule, TypeError)) as caught:
        call(core, case)
    return type(caught.value), str(caught.value)


def released_stream(core, _=None):
    """Return the owner of a stream that was released."""
    stream, _, _ = open_stream(core)
    stream.release()
    return stream


def of(name, **flow):
    """Return a function that returns a stream."""
    return lambda core: open_stream(core, name, **flow)[0]


def empty(name):
    """Return a function that returns an empty owner."""
    return lambda core: core.new_arrow(name)


HOST, DEVICE = of(ARROW_ARRAY_STREAM), of(ARROW_DEVICE_ARRAY_STREAM)
WRONG = {
    "released": (released_stream, "next", ARROW_ARRAY),
    "empty": (empty(ARROW_ARRAY_STREAM), "next", ARROW_ARRAY),
    "released, asked why": (released_stream, None, None),
    "no get_schema": (of(ARROW_ARRAY_STREAM, has_get_schema=False), "schema", ARROW_SCHEMA),
    "no get_next": (
        of(ARROW_DEVICE_ARRAY_STREAM, has_get_next=False), "next", ARROW_DEVICE_ARRAY,
    ),
    "a chunk for a schema": (HOST, "schema", ARROW_ARRAY),
    "a schema for a chunk": (HOST, "next", ARROW_SCHEMA),
    "a chunk of a device": (HOST, "next", ARROW_DEVICE_ARRAY),
    "a chunk of the host": (DEVICE, "next", ARROW_ARRAY),
    "no stream": (empty(ARROW_ARRAY), "next", ARROW_ARRAY),
    "no stream, asked why": (empty(ARROW_SCHEMA), None, None),
}  # fmt: skip
"""How a stream is made, what it is asked for (None: for the error), and the struct to fill."""


def call(core, case):
    """Make a wrong call."""
    make, what, out = WRONG[case]
    if what is None:
        return core.stream_error(make(core))
    return core.call_stream(make(core), what, core.new_arrow(out))


@pytest.mark.parametrize("case", WRONG)
def test_a_call_that_cannot_be_made_is_refused_alike(cores, case):
    """Both cores refuse with the same class and message."""
    readable, native = (failure(core, case) for core in cores.values())

    assert native == readable


@pytest.mark.parametrize(
    ("case", "rule"),
    [
        *((case, "ARROW-RELEASE-3") for case in ("released", "empty")),
        *((case, "ARROW-STREAM-1") for case in ("no get_schema", "no get_next")),
    ],
)
def test_a_stream_that_cannot_be_called_names_the_rule(core, case, rule):
    """A stream that cannot be called is refused by a rule and does not crash."""
    with pytest.raises(BrokenRule, match=rule):
        call(core, case)


@pytest.mark.isolated
@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_is_called_without_the_gil(run_isolated, core_env, name):
    """A stream is called without the GIL: it may be slow, or need other Python threads."""
    script = f"""
import ctypes
from interchange import _core
from interchange.abi import capsules
from interchange.abi.arrow import ARROW_CHUNK, ARROW_SCHEMA, ARROW_STRUCTS
name = {name!r}
library = ctypes.PyDLL(None)
check = ctypes.cast(library.PyGILState_Check, ctypes.c_void_p).value
release = ctypes.cast(library.Py_IsInitialized, ctypes.c_void_p).value  # does nothing
struct = ARROW_STRUCTS[name](
    get_schema=check, get_next=check, get_last_error=check, release=release
)
kept = capsules.static_name(name)
stream = _core.take_arrow(capsules.new_capsule(ctypes.addressof(struct), kept, None), kept)
print(library.PyGILState_Check())
print(_core.call_stream(stream, "schema", _core.new_arrow(ARROW_SCHEMA)))
print(_core.call_stream(stream, "next", _core.new_arrow(ARROW_CHUNK[name])))
print(_core.stream_error(stream))
"""
    assert run_isolated(script, env=core_env).split() == ["1", "0", "0", "None"]


# ---------------------------------------------------------------- loading on demand


@pytest.mark.isolated
def test_what_is_for_arrow_is_loaded_when_it_is_asked_for(run_isolated, core_env):
    """The modules for Arrow are loaded on first use, and other names raise AttributeError."""
    script = """
import sys
import interchange
from interchange import _core
def is_loaded():
    return "interchange.abi.arrow" in sys.modules
before = is_loaded()
for module in (_core, _core.chosen):
    print(all(hasattr(module, name) for name in ("take_arrow", "make_arrow", "ArrowOwner")))
    print(hasattr(module, "take_arrows"))
try:
    _core.take_arrow(3, b"arrow_array")
except ValueError as error:
    print(error.rule, before, is_loaded())
"""
    said = run_isolated(script, env=core_env).splitlines()

    assert said == ["True", "False"] * 2 + ["ARROW-CAP-1 False True"]
