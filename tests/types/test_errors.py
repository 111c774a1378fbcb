"""Errors: their message, their classes, and copies and pickles of both."""

from __future__ import annotations

import copy
import pickle
from array import array
from collections import deque

import pytest
from hypothesis import given, strategies as st

import interchange
from interchange._types import errors
from interchange._types.errors import InterchangeError, error_for, explain, refuse_record, show
from interchange.abi import RULES, BrokenRule

BASES = {  # design: what each error is for those who catch Python's own
    "ExchangeError": (BufferError,),
    "UnsupportedDTypeError": (interchange.ExchangeError, BufferError),
    "UnsupportedDeviceError": (interchange.ExchangeError, BufferError),
    "VersionError": (interchange.ExchangeError, BufferError),
    "ReadOnlyError": (interchange.ExchangeError, BufferError, ValueError),
    "ConsumedCapsuleError": (interchange.ExchangeError, BufferError, ValueError),
    "CopyNeededError": (interchange.ExchangeError, BufferError, ValueError),
    "NoProtocolError": (TypeError, AttributeError),
    "StreamError": (ValueError,),
    "BackendUnavailableError": (NotImplementedError,),
    "DriverUnavailableError": (
        interchange.BackendUnavailableError,
        interchange.ExchangeError,
        BufferError,
        NotImplementedError,
    ),
    "OutOfDeviceMemoryError": (interchange.ExchangeError, BufferError, MemoryError),
    "ArgumentError": (TypeError,),
    "ViewError": (ValueError,),
    "AxesError": (ValueError, AttributeError),
    "MixedDevicesError": (ValueError,),
    "OutOfBoundsError": (IndexError,),
    "ContractError": (ValueError,),
}
BUILTINS = (
    *(AttributeError, BufferError, IndexError, MemoryError),
    *(NotImplementedError, TypeError, ValueError),
)


every_class = pytest.mark.parametrize("name", BASES)
every_rule = pytest.mark.parametrize("rule", RULES)


def test_the_table_has_every_public_error():
    """Every public error class is in the table."""
    public = {
        name
        for name in interchange.__all__
        if isinstance(getattr(interchange, name), type)
        and issubclass(getattr(interchange, name), Exception)
    }

    assert public == {*BASES, "InterchangeError"}


@every_class
def test_errors_have_the_documented_bases_and_no_others(name):
    """Each class has its bases, none is a TypeError without need, and all are of the package."""
    cls = getattr(interchange, name)

    found = {base for base in BUILTINS if issubclass(cls, base)}

    assert issubclass(cls, InterchangeError)
    assert all(issubclass(cls, base) for base in BASES[name])
    assert found == {base for base in BUILTINS if any(issubclass(b, base) for b in BASES[name])}
    assert {cls.__module__, InterchangeError.__module__} == {"interchange"}


@every_class
def test_the_message_has_call_value_rule_fix_and_id(name):
    """The message has the five parts in order, which programs need not parse.

    `way_out` is an alias of `hint` for one release, of errors and of rules.
    """
    error = getattr(interchange, name)("f()", "x=3 is odd", "IX-VIEW-1", "halve it")
    rule = RULES["IX-VIEW-1"]

    assert str(error) == f"f(): x=3 is odd; {rule.text}; halve it [IX-VIEW-1]"
    assert (error.call, error.what) == ("f()", "x=3 is odd")
    assert (error.rule, error.hint) == ("IX-VIEW-1", "halve it")
    assert (error.way_out, rule.way_out) == ("halve it", rule.hint)


@every_class
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("hint", [None, "halve it"])
def test_pickles_and_copies_keep_message_and_parts(name, protocol, hint):
    """An error that was copied, or pickled in another process, has the same message and parts."""
    error = getattr(interchange, name)("f()", "x=3 is odd", "DLP-RO-3", hint)

    for again in (pickle.loads(pickle.dumps(error, protocol)), copy.copy(error)):
        assert type(again) is type(error)
        assert (str(again), vars(again)) == (str(error), vars(error))


@every_rule
def test_every_rule_can_be_cited_and_has_an_error(rule):
    """The rule's own text and fix make a whole message, and an error that keeps the parts."""
    error = error_for("f()", "x", rule)

    assert explain("f()", "x", rule) == f"f(): x; {RULES[rule].text}; {RULES[rule].hint} [{rule}]"
    assert (error.rule, error.hint) == (rule, RULES[rule].hint)
    assert isinstance(error, (interchange.ExchangeError, interchange.StreamError))


@pytest.mark.parametrize(
    ("rule", "cls"),
    [
        ("DLP-DTYPE-1", "UnsupportedDTypeError"),
        ("DLP-DTYPE-5", "UnsupportedDTypeError"),
        ("BUF-FORMAT-1", "UnsupportedDTypeError"),
        ("CAI-TYPESTR-2", "UnsupportedDTypeError"),
        ("CAI-STREAM-1", "StreamError"),
        ("DLP-DEV-1", "UnsupportedDeviceError"),
        ("DLP-VER-1", "VersionError"),
        ("DLP-SHAPE-3", "ExchangeError"),
        ("DLP-STRIDES-2", "ExchangeError"),
        ("CAI-DATA-1", "ExchangeError"),
    ],
)
def test_the_area_of_a_rule_gives_the_class(rule, cls):
    """Element types, devices and versions have classes of their own."""
    assert type(error_for("f()", "x", rule)) is getattr(interchange, cls)


def test_an_unknown_rule_is_a_mistake_of_ours():
    """An error without a rule cannot be created."""
    with pytest.raises(KeyError):
        errors.ExchangeError("f()", "x", "DLP-NONE-1")


def test_a_broken_record_becomes_an_error_of_its_area():
    """A rule violation found by layer 0 is raised as an error of layer 1, without a chain."""
    with pytest.raises(interchange.UnsupportedDTypeError) as caught:
        refuse_record("f()", BrokenRule("CAI-TYPESTR-1", "typestr is 'x'"))

    assert str(caught.value).startswith("f(): typestr is 'x'; ")
    assert caught.value.__cause__ is None


# ---------------------------------------------------------------- reprs of foreign objects


@given(st.one_of(st.text(), st.integers(), st.lists(st.integers())), st.integers(10, 80))
def test_a_long_repr_is_cut(value, most):
    """A long repr is shortened; a short one is shown whole."""
    text = show(value, most)

    assert len(text) <= most
    assert text == repr(value) or (text.endswith("...") and len(repr(value)) > most)


NESTED = st.recursive(
    st.one_of(
        st.integers(),
        st.text(max_size=9),
        st.binary(max_size=9),
        st.booleans(),
        st.none(),
        st.frozensets(st.integers(0, 9), max_size=3),
        st.builds(bytearray, st.binary(max_size=9)),
        st.builds(array, st.just("b"), st.lists(st.integers(0, 9), max_size=4)),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.tuples(inner),
        st.tuples(inner, inner),
        st.just(()),
        st.builds(deque, st.lists(inner, max_size=3)),
        st.dictionaries(st.integers(0, 9), inner, max_size=3),
        st.sets(st.integers(0, 9), max_size=3),
    ),
    max_leaves=6,
)


@given(NESTED)
def test_a_short_value_is_shown_as_its_repr(value):
    """Formatting in pieces does not change the repr."""
    assert show(value, 10_000) == repr(value)


class Counting:
    """Counts how often it is written."""

    written = 0

    def __repr__(self):
        Counting.written += 1
        return "x"


@pytest.mark.parametrize(
    "contain",
    [
        *(list, tuple, set, frozenset, deque, dict.fromkeys),
        lambda xs: dict(enumerate(xs)),
        lambda xs: [[[xs]]],
        lambda xs: [xs[:1000]] * 1000,
    ],
)
def test_no_more_of_a_value_is_written_than_is_shown(contain):
    """The message for a list of millions of elements is created quickly."""
    value = contain([Counting() for _ in range(10_000)])
    Counting.written = 0

    assert show(value).endswith("...")
    assert Counting.written <= 60


@pytest.mark.parametrize("value", ["x" * 200, bytes(200), bytearray(200)], ids=type)
def test_text_and_bytes_are_cut_before_they_are_written(value):
    """Text beyond the limit is not formatted."""

    class Watched(type(value)):
        asked = ()

        def __getitem__(self, part):
            Watched.asked += (part,)
            return super().__getitem__(part)

    assert show(Watched(value)).endswith("...")
    assert Watched.asked == (slice(60),)


class Unprintable:
    """An object whose repr raises."""

    def __repr__(self):
        raise RuntimeError("no")


LOOP = []
LOOP.append(LOOP)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (LOOP, "[" * 57 + "..."),
        (2**20_000, "an int of 20001 bits"),
        (-(2**20_000), "an int of 20001 bits"),
        ((1, 2**20_000), "(1, an int of 20001 bits)"),
        ((1, -(2**20_000)), "(1, an int of 20001 bits)"),
        (Unprintable(), "a Unprintable"),
    ],
    ids=["loop", "large", "negative", "in a tuple", "negative in a tuple", "raising"],
)
def test_a_value_without_a_repr_is_shown(value, shown):
    """A list within itself, ints that Python refuses to write, and a repr that raises."""
    assert show(value) == shown


@every_class
def test_an_id_stands_at_the_end_of_a_message_alone(name):
    """An error that is the reason of another is quoted without its rule and its fix."""
    inner = getattr(interchange, name)("f()", "x=3 is odd", "IX-VIEW-1")

    assert errors.reason_of(inner) == "x=3 is odd"
    assert errors.reason_of(ValueError("of a [stranger]")) == "of a [stranger]"
