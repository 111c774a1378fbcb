"""Array-interface records of foreign objects: odd values violate rules, mappings are accepted."""

from __future__ import annotations

import weakref
from collections import ChainMap, UserDict
from types import MappingProxyType

import pytest
from hypothesis import given, strategies as st

from interchange.abi import BrokenRule, cai
from interchange.abi.cai import parse_record, parse_typestr
from interchange.abi.memory import ADDRESS_END

GOOD = {
    "shape": (2, 3),
    "typestr": "<f4",
    "data": (4096, False),
    "strides": (12, 4),
    "version": 3,
    "stream": None,
}


@pytest.fixture(params=["new", "met before"], autouse=True)
def _met(request):
    """Parse a good record first, or nothing: caching must not change a verdict."""
    cai._forms.clear()
    if request.param == "met before":
        parse_record(GOOD)


def broken(record):
    """Return the rule that a record violates; the message is short."""
    with pytest.raises(BrokenRule) as caught:
        parse_record(record)
    assert len(str(caught.value)) < 300
    return caught.value.rule


class Odd:
    """An object that raises an unexpected error for every operation."""

    def __repr__(self):
        raise RuntimeError("repr")

    def __hash__(self):
        raise RuntimeError("hash")

    def __eq__(self, other):
        raise RuntimeError("eq")

    def __bool__(self):
        raise RuntimeError("bool")

    def __index__(self):
        raise RuntimeError("index")

    __int__ = __index__


def running_out(error):
    """Return a number whose methods all raise an error, as at the end of the stack."""

    def fail(_):
        raise error

    return type("RunningOut", (), dict.fromkeys(("__index__", "__int__", "__bool__"), fail))()


@pytest.mark.parametrize("error", [RecursionError("deep"), MemoryError("full")], ids=repr)
@pytest.mark.parametrize(
    "entry",
    [
        {"shape": "it"},
        {"strides": "it"},
        {"version": "it"},
        {"stream": "it"},
        {"data": ("it", False)},
        {"data": (4096, "it")},
    ],
    ids=str,
)
def test_an_interpreter_without_room_is_no_broken_rule(entry, error):
    """A full stack or a lack of memory is not reported as a violation by the record."""
    it = running_out(error)
    ((key, value),) = entry.items()
    whole = {"data": value, "stream": it, "version": it}.get(key, (it, it))
    if key == "data":
        whole = tuple(it if part == "it" else part for part in value)

    with pytest.raises(type(error)) as caught:
        parse_record({**GOOD, key: whole})

    assert caught.value is error


class Deep(dict):
    """A record that is read when the stack is exhausted."""

    def __contains__(self, key):
        raise RecursionError


def test_a_record_that_cannot_be_asked_what_it_lacks_lacks_nothing():
    """A stack overflow while the record is read is raised, and no rule violation is reported."""
    with pytest.raises(RecursionError):
        parse_record(Deep())


class Vector:
    """Several numbers in one, as an ndarray: without a truth value, and no index."""

    def __bool__(self):
        raise ValueError("ambiguous")

    def __index__(self):
        raise TypeError("only scalars")

    __int__ = __index__


class Elsewhere(int):
    """An integer that converts to a different number."""

    def __int__(self):
        return 4096

    __index__ = __int__


def dead():
    """Return a proxy whose object is gone; even reading its class raises."""
    return weakref.proxy(Vector())


HUGE = 10**5000  # too long to be written in decimals
NUMBERS = {
    "huge": lambda: HUGE,
    "huge and negative": lambda: -HUGE,
    "class": lambda: int,
    "odd": Odd,
    "vector": Vector,
    "dead": dead,
}
every_number = pytest.mark.parametrize("number", NUMBERS)
RULES = {
    "shape": "CAI-SHAPE-1",
    "strides": "CAI-STRIDES-1",
    "data": "CAI-DATA-1",
    "typestr": "CAI-TYPESTR-1",
    "version": "CAI-VER-1",
    "stream": "CAI-STREAM-1",
}


@every_number
@pytest.mark.parametrize("key", RULES)
def test_a_strange_entry_breaks_its_rule(key, number):
    """An entry that raises when it is read or shown violates the rule of that entry."""
    assert broken({**GOOD, key: NUMBERS[number]()}) == RULES[key]


@every_number
@pytest.mark.parametrize("kind", [tuple, list])
@pytest.mark.parametrize(("key", "other"), [("shape", 3), ("strides", 4), ("data", False)], ids=str)
def test_a_strange_number_breaks_its_rule(key, other, kind, number):
    """A strange number next to a good one violates the rule of its entry."""
    assert broken({**GOOD, key: kind([NUMBERS[number](), other])}) == RULES[key]


@pytest.mark.parametrize(
    ("key", "value"),
    [("shape", 6), ("strides", (1.5,)), ("data", "xy"), ("typestr", 4), ("version", "3")],
)
def test_what_is_wrong_is_shown(key, value):
    """The message shows the entry by its name, with the value that was passed."""
    with pytest.raises(BrokenRule) as caught:
        parse_record({**GOOD, key: value})

    assert caught.value.what == f"{key} is {value!r}"


@pytest.mark.parametrize(
    ("key", "value", "rule"),
    [
        *((key, "9" * 10**6, rule) for key, rule in RULES.items()),
        ("strides", (4,) * 1000, "CAI-STRIDES-2"),
        *(("data", (4096, flag()), "CAI-DATA-1") for flag in (Odd, Vector, dead)),
    ],
    ids=[*RULES, "many strides", *("odd flag", "vector", "dead")],
)
def test_a_long_or_unreadable_value_breaks_its_rule(key, value, rule):
    """The message shortens a long value; a read-only flag has a truth value."""
    assert broken({**GOOD, key: value}) == rule


@pytest.mark.parametrize("digits", [10, 4300, 5000])
def test_a_size_ends_after_nine_digits(digits):
    """A longer one is refused, and not written out in full."""
    with pytest.raises(BrokenRule) as caught:
        parse_typestr(f"<V{'9' * digits}")

    assert caught.value.rule == "CAI-TYPESTR-1"
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("stream", [0, -1, 2**64, 2**70, HUGE], ids=hex)
@pytest.mark.parametrize("kind", [int, Elsewhere])
def test_what_is_no_handle_is_refused(kind, stream):
    """A handle is an address, and 0 is ambiguous."""
    assert broken({**GOOD, "stream": kind(stream)}) == "CAI-STREAM-1"


@pytest.mark.parametrize("stream", [1, 2, 3, 2**63, 2**64 - 1])
def test_every_stream_of_64_bits_is_taken(stream):
    """Handles up to the end of the address space are accepted."""
    assert parse_record({**GOOD, "stream": stream}).stream == stream


@given(st.integers(1, ADDRESS_END - 1))
def test_a_subclassed_int_counts_by_its_own_value(number):
    """A subclass of int counts by its int value, not by what it converts to."""
    record = {**GOOD, "data": (Elsewhere(number), 0), "stream": Elsewhere(number)}
    found = parse_record(record)

    assert (found.ptr, found.stream) == (number, number)
    assert {type(found.ptr), type(found.stream)} == {int}


# ---------------------------------------------------------------- records that are not dicts


@pytest.mark.parametrize("kind", [UserDict, MappingProxyType, ChainMap])
@pytest.mark.parametrize("left_out", [(), ("strides", "stream"), ("version", "stream")], ids=str)
def test_a_mapping_is_as_good_as_a_dict(kind, left_out):
    """Versions 0 and 1 did not insist on a dict; an empty mapping lacks every key."""
    record = {key: value for key, value in GOOD.items() if key not in left_out}

    assert parse_record(kind(record)) == parse_record(record)
    with pytest.raises(BrokenRule, match="'shape', 'typestr', 'data'"):
        parse_record(kind({}))


class Lazy(UserDict):
    """A mapping that computes its entries when they are read."""

    def __getitem__(self, key):
        raise RuntimeError("freed")


def test_an_error_of_the_records_own_comes_through():
    """An error raised while the record is produced reaches the caller."""
    with pytest.raises(RuntimeError, match="freed"):
        parse_record(Lazy(GOOD))
