"""`inspect` of Arrow: types, chunks and nulls of columns; streams and capsules are left unread."""

from __future__ import annotations

import gc

import pytest

import interchange as ix
from interchange.abi.arrow import ARROW_ARRAY, ARROW_SCHEMA
from interchange_conformance.zoo import arrow

pytestmark = pytest.mark.usefixtures("arrow_zoo")


def part_of(source):
    """Return the report on a producer's Arrow export, which is its only part."""
    (part,) = ix.inspect(source).parts
    gc.collect()
    assert source.counts == source.due
    return part


@pytest.mark.parametrize(
    ("make", "fields"),
    [
        (lambda: arrow.numbers("int64", nulls=[1]),
         {"type": "int64", "nullable": "True", "array": "int64 (n,)", "chunks": "1",
          "length": "6", "nulls": "1", "device": "cpu"}),
        (lambda: arrow.numbers().but(null_count=-1), {"nulls": "not counted"}),
        (arrow.lists, {"type": "fixed_size_list[3] of float32", "array": "float32 (n, 3)"}),
        (arrow.dictionary, {"type": "dictionary of int32 indices", "array": "int32 (n,)"}),
        (arrow.texts, {"type": "string", "array": "none: ARROW-TYPE-1"}),
        (lambda: arrow.table(a=arrow.numbers(length=4), b=arrow.texts()),
         {"type": "struct of 'a': float32, 'b': string", "length": "4"}),
        (lambda: arrow.numbers().but(name="x"), {"name": "'x'"}),
    ],
)  # fmt: skip
def test_a_column_is_described(make, fields):
    """Type, array, chunks, length, nulls and device are reported, and no rule is broken."""
    report = part_of(make())

    assert {name: report.fields[name] for name in fields} == fields
    assert report.ok


def test_a_stream_is_not_consumed():
    """Of a producer without a length only the schema is requested, if it has a method for it."""
    source = arrow.chunked(arrow.numbers(), arrow.numbers()).as_everything()
    reader = arrow.chunked(arrow.numbers(), arrow.numbers()).as_stream()

    assert part_of(reader).fields == {"chunks": "not read: they can be read once"}
    assert (reader.log, len(source.log)) == ([], 0)


@pytest.mark.parametrize("name", ["format-null", "released-array", "child-too-short"])
def test_a_malformed_column_is_reported_by_its_rule(name):
    """A struct that breaks a rule is a finding, and everything is released."""
    case = arrow.zoo()[name]

    report = part_of(case.make())

    assert [finding.rule for finding in report.findings] == [case.rule]


def test_a_capsule_is_left_unconsumed():
    """The capsules of a schema and an array are described where they are."""
    source = arrow.numbers("int64")
    schema, array = source.__arrow_c_array__()

    reports = ix.inspect(schema), ix.inspect(array)

    assert reports[0].kind == f"capsule {ARROW_SCHEMA.decode()!r}"
    assert reports[0].values == {"type": "int64", "nullable": True}
    assert reports[1].kind == f"capsule {ARROW_ARRAY.decode()!r}"
    assert (reports[1].values["length"], source.alive) == (6, 2)
    assert ix.from_arrow((schema, array)).size == 6
    assert [one.rule for one in ix.inspect(schema).findings] == ["ARROW-RELEASE-3"]


def test_an_error_of_the_producer_is_reported():
    """What the method raises is shown."""
    report = part_of(arrow.numbers().but(raises=RuntimeError("no memory")))

    assert "no memory" in report.fields["capsule"]
