"""The tables of the requirements of each ``stream`` value agree with the checks in the code."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st
from stream_duties import DUTIES

import interchange as ix
from interchange._streams.rules import check_stream
from interchange.abi import RULES, BrokenRule, DLDeviceType, parse_record

*OF_DLPACK, OF_CAI = DUTIES
DUTY_OF_DLPACK = [
    pytest.param(kind, row, id=f"{kind.name} {row.value}")
    for table in OF_DLPACK
    for kind in table.devices
    for row in table.rows
]
EVERY_DUTY = [
    pytest.param(row, id=f"{table.title}: {row.value}") for table in DUTIES for row in table.rows
]


@pytest.mark.parametrize(("kind", "row"), DUTY_OF_DLPACK)
def test_a_row_of_dlpack_says_what_is_done(kind, row):
    """Legal values are accepted, and others are refused by the rule that the row cites."""
    device = ix.Device(kind)

    refusals = {refusal_or_none(example, device) for example in row.examples}

    assert refusals == ({None} if row.is_legal else {row.rule})


def refusal_or_none(stream, device):
    """Return the rule by which a stream is refused, or None if it is accepted."""
    try:
        check_stream(stream, device, "f()")
    except ix.StreamError as error:
        return error.rule
    return None


@pytest.mark.parametrize("row", OF_CAI.rows, ids=lambda row: row.value)
def test_a_row_of_the_array_interface_says_what_is_done(row):
    """Legal values are accepted, and others are refused by the rule that the row cites."""
    refusals = {refusal_of_record(example) for example in row.examples}

    assert refusals == ({None} if row.is_legal else {row.rule})


def refusal_of_record(stream):
    """Return the rule that a record with a stream is refused by, or None where it is read."""
    record = {"shape": (1,), "typestr": "<f4", "data": (4096, False), "version": 3}
    try:
        parse_record({**record, "stream": stream})
    except BrokenRule as broken:
        return broken.rule
    return None


def test_the_tables_of_dlpack_are_for_every_device():
    """Each device type is in one of the tables of DLPack."""
    listed = [kind for table in OF_DLPACK for kind in table.devices]

    assert sorted(listed) == sorted(DLDeviceType)


@pytest.mark.parametrize("table", OF_DLPACK, ids=lambda table: table.title)
def test_each_number_is_in_one_row_at_most(table):
    """No example of one row is an example of another."""
    examples = [example for row in table.rows for example in row.examples]

    assert len(examples) == len(set(examples))


@pytest.mark.parametrize("table", OF_DLPACK[:3], ids=lambda table: table.title)
@given(stream=st.one_of(st.none(), st.integers(-(2**65), 2**65), st.integers(-3, 4)))
def test_the_ranges_of_a_table_leave_no_gap(table, stream):
    """Every value is in the range of a row, and is handled like the ends of the range."""
    numbers = [(row, [e for e in row.examples if e is not None]) for row in table.rows]
    found = [
        row
        for row, ends in numbers
        if (stream is None and None in row.examples)
        or (stream is not None and ends and within(stream, row, ends))
    ]

    assert [row.is_legal for row in found] == [
        refusal_or_none(stream, ix.Device(table.devices[0])) is None
    ]


def within(stream, row, ends):
    """Whether a number is in the range of a row; < and >= denote open ranges."""
    if row.value.startswith("<"):
        return stream <= max(ends)
    if row.value.startswith(">="):
        return stream >= min(ends)
    return min(ends) <= stream <= max(ends)


@pytest.mark.parametrize("row", EVERY_DUTY)
def test_a_duty_has_a_text(row):
    """Meaning, both sides and a rule of the book, without a full stop: they are table cells."""
    words = row.meaning, row.producer, row.consumer

    assert all(text and text == text.strip().rstrip(".") for text in words)
    assert row.rule in RULES
