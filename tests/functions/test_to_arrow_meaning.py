"""`to_arrow(x, meaning=...)`: the type of a column again, and arrays that are not its storage."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import interchange as ix
from interchange_conformance.zoo import arrow
from interchange_conformance.zoo.arrow.columns import extension

pytestmark = [
    pytest.mark.usefixtures("arrow_zoo"),
    pytest.mark.skipif(ix.core_name != "native", reason="only the native core exports to Arrow"),
]


def taken(source, **keywords):
    """Return the data of a column, and its meaning."""
    return ix.from_arrow(source, meaning=True, **keywords)


@pytest.mark.parametrize(
    "make",
    [
        arrow.numbers,
        arrow.bools,
        arrow.bytes_of_bool,
        arrow.dictionary,
        lambda: arrow.times("tsm:UTC"),
        lambda: arrow.tensors(permutation=(1, 0)),
        lambda: arrow.ragged((2, 2)),
        lambda: arrow.numbers().but(name="x", flags=0, metadata=extension("my.metres", "m")),
    ],
)
def test_a_column_has_its_meaning_again(make):
    """What is exported has the same meaning and data."""
    data, meaning = taken(make())

    again, same = taken(ix.to_arrow(data, meaning=meaning))

    assert (same, again.tolist()) == (meaning, data.tolist())


def test_the_arguments_for_name_and_metadata_go_before():
    """A name and metadata that are passed replace or extend those of the meaning."""
    data, meaning = taken(arrow.times("tdD").but(name="day"))

    export = ix.to_arrow(data, meaning=meaning, name="when", metadata={"a": "b"})

    same = taken(export)[1]
    assert (same.name, same.metadata, same.kind) == ("when", {b"a": b"b"}, "date")


def test_nulls_need_a_nullable_type():
    """A mask makes nulls, which a field that is not nullable refuses."""
    mask = np.array([True, False, True])
    for flags, rule in ((2, None), (0, "ARROW-OUT-5")):
        data, meaning = taken(arrow.times("tDu", 3).but(flags=flags))
        if rule is None:
            _, valid, _ = taken(ix.to_arrow(data, mask=mask, meaning=meaning), nulls="separate")
            assert valid.tolist() == mask.tolist()
            continue
        with pytest.raises(ix.ExchangeError) as caught:
            ix.to_arrow(data, mask=mask, meaning=meaning)
        assert caught.value.rule == rule


def test_each_column_of_a_table_has_a_meaning():
    """A dict by column; other names are refused."""
    data, meaning = taken(arrow.times("tdD", 3))

    export = ix.to_arrow({"a": data, "b": data}, meaning={"b": meaning})

    found = ix.from_arrow(export, columns=True, meaning=True)
    assert [one[1].kind for one in found.values()] == ["number", "date"]
    with pytest.raises(ix.ArgumentError, match="meaning= has 'c'"):
        ix.to_arrow({"a": data}, meaning={"c": meaning})


def test_lists_of_any_length_have_the_meaning_of_their_values():
    """Values and offsets take the meaning of the values."""
    data, meaning = taken(arrow.times("tDu", 5))
    export = ix.to_arrow((data, np.array([0, 2, 5], "i4")), meaning=meaning)

    (_, offsets), same = taken(export, ragged=True)

    assert (offsets.tolist(), same.kind, same.unit) == ([0, 2, 5], "duration", "us")


def test_an_export_keeps_the_categories():
    """The column of the categories is released after the export."""
    source = arrow.dictionary()
    export = ix.to_arrow(*taken(source)[:1], meaning=taken(source)[1])
    gc.collect()
    assert source.alive == 2  # of the data, and of the categories
    capsules = export.__arrow_c_array__()
    del export
    gc.collect()
    assert source.alive == 2
    del capsules
    gc.collect()
    assert source.counts == source.due


UTC = arrow.Field("tsu:UTC")


@pytest.mark.parametrize(
    ("x", "kind", "error", "words"),
    [
        (np.zeros(3, "f8"), UTC, ix.UnsupportedDTypeError, "is float64, .* stored as int64"),
        (np.zeros((3, 2), "i8"), UTC, ix.ViewError, r"shape \(3, 2\), .* needs \(n,\)"),
        (np.int64(3), UTC, ix.ViewError, r"needs \(n,\)"),
        (np.zeros(3, "i8"), arrow.Field("d:30,2"), ix.ViewError, r"needs \(n, 2\)"),
        (np.zeros(6, "i8")[::2], UTC, ix.CopyNeededError, r"ARROW-OUT-2"),
        (np.zeros(3, "i4"), arrow.Field("i", dictionary=arrow.Field("u")), ix.ViewError,
         "no categories"),
        ([np.zeros(3)], UTC, ix.ArgumentError, "list of arrays"),
    ],
)  # fmt: skip
def test_what_is_not_the_storage_is_refused(x, kind, error, words):
    """Another dtype, other axes, no categories (ARROW-OUT-10), gaps: with what is needed."""
    schema = arrow.numbers()._as(arrow.SchemaSource)
    schema.field = kind

    with pytest.raises(error, match=words):
        ix.to_arrow(x, meaning=schema)


def test_a_meaning_is_a_type():
    """Other values are refused."""
    with pytest.raises(ix.ArgumentError, match="__arrow_c_schema__"):
        ix.to_arrow(np.zeros(3), meaning="timestamp")
