"""Array-interface records: the type-string grammar, each key, and records written by us."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import example, given, strategies as st

from interchange.abi import RULES, BrokenRule, InterfaceRecord, TypeStr, cai
from interchange.abi.cai import format_record, parse_record, parse_typestr
from interchange.abi.memory import ADDRESS_END

KINDS = "tbiufcmMOSUV"
UNITS = ["[ns]", "[D]", "[25s]", "[ms/3]"]
GOOD = {"shape": (2, 3), "typestr": "<f4", "data": (4096, False), "version": 3}


@pytest.fixture(autouse=True)
def _no_remembered_forms():
    """Clear the cache of earlier tests, so that every record is checked in full."""
    cai._forms.clear()


def without(key):
    """Return the good record less one key."""
    return {name: value for name, value in GOOD.items() if name != key}


def broken(record):
    """Return the rule that a record breaks."""
    with pytest.raises(BrokenRule) as caught:
        parse_record(record)
    return caught.value.rule


class Indexable:
    """An int-like of another library."""

    def __init__(self, value):
        self.value = value

    def __index__(self):
        return self.value


# ---------------------------------------------------------------- typestr


@given(st.sampled_from("<>|"), st.sampled_from(KINDS), st.integers(0, 10**9 - 1))
def test_every_plain_typestr_comes_back(order, kind, size):
    """Parsing and writing a type string gives the same string."""
    text = f"{order}{kind}{size}"

    assert str(parse_typestr(text)) == text
    assert parse_typestr(text) == TypeStr(order, kind, size)


@given(st.sampled_from("<>|"), st.sampled_from("mM"), st.sampled_from(UNITS))
def test_every_time_keeps_its_unit(order, kind, unit):
    """A time type keeps the unit in its brackets."""
    text = f"{order}{kind}8{unit}"

    assert str(parse_typestr(text)) == text


GRAMMAR = re.compile(r"[<>|]([tbiufcSUV][0-9]{1,9}|O[0-9]{0,9}|[mM][0-9]{1,9}(\[[0-9a-zA-Z/]+\])?)")
"""NumPy writes objects without a size."""


@given(
    st.one_of(
        st.text(max_size=8),
        st.text(alphabet="<>|=tbiufcmMOSUVx0123456789[]ns \n", max_size=8),
        st.from_regex(r"[<>|][a-zA-Z][0-9]{1,2}(\[ns\])?\n?", fullmatch=True),
    )
)
@example("|O")
@example("<O[ns]")
def test_a_text_is_taken_exactly_when_the_grammar_has_it(text):
    """A string is parsed exactly if the grammar accepts it; others violate CAI-TYPESTR-1."""
    try:
        parsed = str(parse_typestr(text))
    except BrokenRule as error:
        parsed = error.rule

    inside = GRAMMAR.fullmatch(text, 0) is not None
    # A size with leading zeros is the same size.
    assert (parsed != "CAI-TYPESTR-1") == inside


@pytest.mark.parametrize(
    "text",
    ["", "f4", "<f", "<4", "=f4", "<x4", "<f4 ", " <f4", "<f4\n", "<f-4", "<f4.0", "<f4[ns]",
     "<M8[", "<M8[]", "<f\u0664", "<f4,<f4", "float32"],
)  # fmt: skip
def test_garbage_breaks_the_typestr_rule(text):
    """Near misses of the grammar are refused."""
    with pytest.raises(BrokenRule) as caught:
        parse_typestr(text)

    assert caught.value.rule == "CAI-TYPESTR-1"
    assert repr(text) in str(caught.value)


@pytest.mark.parametrize("value", [None, b"<f4", 4, float, ("<f4",), ["<f4"]], ids=repr)
def test_a_typestr_is_text(value):
    """Anything but a str is refused."""
    with pytest.raises(BrokenRule, match="CAI-TYPESTR-1"):
        parse_typestr(value)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        *(("<f4", 4), ("|b1", 1), ("<c16", 16), ("<U3", 12)),
        *(("|S3", 3), ("|V12", 12), ("|t1", 1), ("|t12", 2)),
    ],
)
def test_the_size_of_an_element(text, size):
    """Sizes are bytes, code points for U and bits for t [bytes]."""
    assert parse_typestr(text).itemsize == size


# ---------------------------------------------------------------- records


def test_a_full_record_is_read_as_it_is():
    """Every entry arrives in its field."""
    mask, descr = object(), [("", "<f4")]
    record = {**GOOD, "strides": (12, 4), "stream": 7, "mask": mask, "descr": descr}

    assert parse_record(record)._asdict() == {
        "ptr": 4096,
        "readonly": False,
        "shape": (2, 3),
        "strides": (12, 4),
        "typestr": TypeStr("<", "f", 4),
        "version": 3,
        "stream": 7,
        "mask": mask,
        "descr": descr,
    }


@pytest.mark.parametrize("key", ["shape", "typestr", "data"])
def test_a_required_key_is_missed_by_name(key):
    """A record without required keys breaks CAI-DICT-1, and the message names them."""
    with pytest.raises(BrokenRule, match=f"lacks '{key}'") as caught:
        parse_record(without(key))

    assert caught.value.rule == "CAI-DICT-1"
    with pytest.raises(BrokenRule, match="'shape', 'typestr', 'data'"):
        parse_record({})


@pytest.mark.parametrize("value", [None, 7, "text", [], (), print, set()], ids=repr)
def test_a_record_is_a_dict(value):
    """A record that is not a mapping violates CAI-DICT-1."""
    assert broken(value) == "CAI-DICT-1"


@pytest.mark.parametrize("key", ["strides", "version", "stream", "mask", "descr"])
def test_an_optional_key_may_be_absent_or_none(key):
    """Absent and None mean the same."""
    for record in (without(key), {**GOOD, key: None}):
        assert getattr(parse_record(record), key) == (0 if key == "version" else None)


WRONG = {
    "shape": {
        "CAI-SHAPE-1": [
            *(None, 6, "23", b"23", (2, -3), (2, 2**63), (2, None), (2, 3.5), (2.0, 3.0)),
            *((True, 3), (np.True_, 3), (2, float("nan")), (2, float("inf")), (2, (3,)), (2, "3")),
        ]
    },
    "strides": {
        "CAI-STRIDES-1": [
            *(4, "12", (12, None), (12, 4.5), (12, 2**63), (12, -(2**64)), (12.0, 4), (True, 4))
        ],
        "CAI-STRIDES-2": [(4,), (), (12, 4, 1)],
    },
    "data": {
        "CAI-DATA-1": [
            *(None, 4096, b"memory", (4096,), (4096, False, 0), ("4096", False), (4096.0, False)),
            *((np.True_, False), (True, False), (-1, False), (ADDRESS_END, False)),
        ]
    },
    "typestr": {"CAI-TYPESTR-1": [None, "float32", ["<f4"]]},
    "version": {"CAI-VER-1": [-1, "3", "", [], 3.0, True]},
    "stream": {"CAI-STREAM-1": [0, -1, "1", 1.0, True, 2**64, 2**70, Indexable(2**64)]},
}


@pytest.mark.parametrize(
    ("key", "value", "rule"),
    [
        (key, value, rule)
        for key, rules in WRONG.items()
        for rule, values in rules.items()
        for value in values
    ],
)
def test_a_wrong_entry_breaks_its_rule(key, value, rule):
    """Each entry of a wrong type or value, None for a required one too, breaks its own rule."""
    assert broken({**GOOD, key: value}) == rule


def outcome(record):
    """Return the record that was read, or the rule that was broken."""
    try:
        return parse_record(record)
    except BrokenRule as error:
        return error.rule


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *(("shape", value) for value in ((2.0, 3), [2, 3], (2, 3.5), (True, 3))),
        *(("version", value) for value in (3.0, None)),
        *(("strides", value) for value in ((12.0, 4), [12, 4])),
        *(("data", value) for value in (b"xy", "xy", [4096, False], {4096: 0, 0: 0})),
        *(("data", (address, False)) for address in (True, 2**64, None)),
        *(("stream", value) for value in (0, True)),
    ],
    ids=str,
)
def test_a_record_is_judged_alike_before_and_after_its_like(key, value):
    """The verdict on a record does not depend on records parsed before."""
    good = {**GOOD, "strides": (12, 4), "stream": None}
    odd = {**good, key: value}

    before = outcome(odd)
    parse_record(good)
    parse_record({**good, "shape": (1, 3)})

    assert outcome(odd) == before


class Count(int):
    """An integer type of another library."""


@pytest.mark.parametrize(
    "kind",
    [list, lambda v: tuple(map(Count, v)), lambda v: tuple(map(np.int32, v))],
    ids=["list", "subclass", "NumPy's"],
)
def test_what_equals_ints_becomes_ints(kind):
    """Lists and integral numbers are accepted and become tuples of exact ints."""
    data = (Indexable(4096), 0)
    record = parse_record({**GOOD, "shape": kind([2, 3]), "strides": kind([12, 4]), "data": data})

    assert (record.shape, record.strides, record.ptr) == ((2, 3), (12, 4), 4096)
    assert {type(n) for n in (*record.shape, *record.strides, record.ptr)} == {int}


def test_a_missing_address_is_zero():
    """None for the address of an empty array means 0."""
    assert parse_record({**GOOD, "shape": (0,), "data": (None, False)}).ptr == 0


@pytest.mark.parametrize("ptr", [0, 1, ADDRESS_END // 2 - 1, ADDRESS_END // 2, ADDRESS_END - 1])
def test_every_address_is_taken(ptr):
    """Addresses up to the end of the address space are accepted."""
    assert parse_record({**GOOD, "data": (ptr, True)})[:2] == (ptr, True)


@pytest.mark.parametrize("stream", [0, "x", 7])
@pytest.mark.parametrize("version", [0, 1, 2])
@pytest.mark.parametrize("is_known", [False, True])
def test_a_stream_is_a_key_of_version_3(version, stream, is_known):
    """Below it the key is unknown, and ignored like any other."""
    record = {**GOOD, "strides": None, "version": version}
    if is_known:
        parse_record(record)

    assert parse_record({**record, "stream": stream}).stream is None


def test_unknown_keys_are_ignored():
    """A key of a later version does no harm, and parsing does not modify the record."""
    record = {**GOOD, "colour": "red"}

    assert parse_record(record) == parse_record(GOOD)
    assert record == {**GOOD, "colour": "red"}


extents = st.lists(st.integers(0, 2**63 - 1), max_size=6)
steps = st.integers(-(2**63) + 1, 2**63 - 1)


@st.composite
def records(draw):
    """Draw any record without mask and descr, of any version."""
    shape = tuple(draw(extents))
    strides = draw(st.none() | st.tuples(*[steps] * len(shape)))
    typestr = TypeStr(
        draw(st.sampled_from("<>|")), draw(st.sampled_from(KINDS)), draw(st.integers(0, 999))
    )
    version = draw(st.integers(0, 5))
    stream = draw(st.none() | st.integers(1, 2**64 - 1)) if version >= 3 else None
    ptr, readonly = draw(st.integers(0, ADDRESS_END - 1)), draw(st.booleans())
    return InterfaceRecord(ptr, readonly, shape, strides, typestr, version, stream)


@given(records())
def test_what_is_written_is_read_back(record):
    """A written record reads as its source; ``stream`` is written only from version 3 on."""
    written = format_record(record)

    assert parse_record(written) == record
    assert ("stream" in written) == (record.version >= 3)


anything = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=4),
    st.binary(max_size=4),
    st.lists(st.one_of(st.integers(), st.none(), st.text(max_size=2)), max_size=3),
    st.lists(st.integers(-3, 5), max_size=3).map(tuple),
    st.builds(object),
)
keys = st.sampled_from(["shape", "typestr", "data", "strides", "version", "stream", "mask"])


@given(st.dictionaries(keys, anything), st.booleans())
def test_garbage_is_read_or_breaks_a_rule(record, start_from_good):
    """An arbitrary record results in a record of exact ints or in a rule violation with an id."""
    record = {**GOOD, **record} if start_from_good else record

    try:
        found = parse_record(record)
    except BrokenRule as error:
        numbers, rule = (), error.rule
    else:
        numbers, rule = (found.ptr, found.version, *found.shape), "CAI-DICT-1"

    assert {type(number) for number in numbers} <= {int}
    assert rule in RULES
    assert rule.startswith("CAI-")
