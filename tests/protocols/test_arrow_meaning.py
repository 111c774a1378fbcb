"""`from_arrow(x, meaning=True)` and `Meaning`: what the numbers of a column stand for."""

from __future__ import annotations

import copy
import gc
import pickle

import pytest

import interchange as ix
from interchange.abi.arrow_formats import encode_metadata
from interchange_conformance.zoo import arrow
from interchange_conformance.zoo.arrow.columns import extension

pytestmark = pytest.mark.usefixtures("arrow_zoo")
UNITS = {"kind": "timestamp", "unit": "us", "timezone": "UTC", "type": "timestamp[us, UTC]"}
TENSOR = '{"shape": [2, 3], "permutation": [1, 0], "dim_names": ["h", "w"]}'
METADATA = {b"unit": b"metre"}


def integers(form, size=8):
    """Return a column of integers with another format."""
    return arrow.numbers(f"int{8 * size}").but(format=form)


ROWS = {
    "number": (arrow.numbers, {"kind": "number", "type": "float32", "unit": None}),
    "bool": (arrow.bools, {"kind": "bool"}),
    "timestamp": (lambda: integers("tsu:UTC"), UNITS),
    "local": (lambda: integers("tsn:"), {"unit": "ns", "timezone": None}),
    "date": (lambda: integers("tdD", 4), {"kind": "date", "unit": "D"}),
    "date64": (lambda: integers("tdm"), {"kind": "date", "unit": "ms"}),
    "time": (lambda: integers("tts", 4), {"kind": "time", "unit": "s"}),
    "duration": (lambda: integers("tDm"), {"kind": "duration", "unit": "ms"}),
    "months": (lambda: integers("tiM", 4), {"kind": "interval", "unit": None}),
    "decimal": (lambda: integers("d:18,-2,64"), {"kind": "decimal", "precision": 18, "scale": -2}),
    "bytes": (lambda: arrow.numbers("uint8").but(format="w:1"), {"kind": "bytes"}),
    "dictionary": (arrow.dictionary, {"kind": "dictionary", "ordered": False}),
    "ordered": (lambda: arrow.dictionary().but(flags=3), {"ordered": True}),
    "extension": (
        lambda: arrow.numbers().but(metadata=extension("my.metres", "m")),
        {"kind": "extension", "extension": "my.metres", "extension_metadata": b"m", "metadata": {}},
    ),
    "tensor": (
        lambda: arrow.tensors(parameters=TENSOR),
        {"kind": "tensor", "extension": "arrow.fixed_shape_tensor", "dim_names": ("w", "h")},
    ),
    "named": (
        lambda: arrow.numbers().but(name="x", flags=0, metadata=encode_metadata(METADATA.items())),
        {"name": "x", "nullable": False, "metadata": METADATA},
    ),
    "listed": (lambda: arrow.lists("int64").at((0,), format="tsu:UTC").but(name="x"),
               {**UNITS, "name": "x", "nullable": True}),
    "table": (lambda: arrow.table(day=integers("tdD", 4)), {"kind": "date", "name": "day"}),
    "stream": (lambda: integers("tdD", 4).as_stream(), {"kind": "date"}),
}  # fmt: skip
"""Name -> a producer, and parts of its meaning."""


def meaning_of(source, **keywords):
    """Return the meaning of a column."""
    return ix.from_arrow(source, meaning=True, **keywords)[-1]


@pytest.mark.parametrize("name", ROWS)
def test_a_meaning_has_the_parts_of_the_type(name):
    """Units, time zones, scales, names and flags are those of the type; the data is the storage."""
    make, parts = ROWS[name]
    source = make()

    data, meaning = ix.from_arrow(source, meaning=True)

    assert {part: getattr(meaning, part) for part in parts} == parts
    assert data.dtype == meaning.dtype
    assert repr(meaning).startswith(f"Meaning({meaning.kind!r}")
    del data, meaning
    gc.collect()
    assert source.counts == source.due


@pytest.mark.parametrize("name", ROWS)
def test_a_meaning_is_a_value(name):
    """It equals that of the same type, has its hash, can be copied and pickled, and is frozen."""
    make, _ = ROWS[name]
    meaning, same = meaning_of(make()), meaning_of(make())

    assert (meaning, hash(meaning)) == (same, hash(same))
    assert meaning != meaning_of(integers("tsu:Asia/Tokyo"))
    assert meaning != "timestamp"
    with pytest.raises(AttributeError):
        meaning.unit = "ns"
    if meaning.categories is None:
        assert pickle.loads(pickle.dumps(meaning)) == copy.deepcopy(meaning) == meaning
    else:
        with pytest.raises(TypeError, match="memory"):
            pickle.dumps(meaning)


def test_the_mask_comes_before_the_meaning():
    """With nulls="separate" there are three items."""
    data, mask, meaning = ix.from_arrow(
        arrow.numbers("int64", nulls=[1]).but(format="tDs"), nulls="separate", meaning=True
    )

    assert (mask.tolist()[:3], str(data.dtype), meaning.kind) == (
        [True, False, True],
        "int64",
        "duration",
    )


def test_categories_keep_the_column():
    """The categories export their values after everything else of the column is gone."""
    source = arrow.dictionary()
    categories = meaning_of(source).categories
    gc.collect()

    assert (len(categories), source.alive) == (2, 1)  # the schema is released
    assert repr(categories) == "Categories(string, 2 values)"
    if ix.core_name == "native":
        capsules = categories.__arrow_c_array__()
        del categories
        gc.collect()
        assert source.alive == 1
        del capsules
    else:
        del categories
    gc.collect()
    assert source.counts == source.due


def test_categories_of_other_memory_are_compared_by_contents():
    """Equal strings are equal categories, others are not."""
    first, same = meaning_of(arrow.dictionary()), meaning_of(arrow.dictionary())
    others = [arrow.dictionary(("red", "greet")), arrow.dictionary(("red",), (0,))]

    assert first == same
    assert all(first != meaning_of(other) for other in others)


def test_chunks_of_one_dictionary_are_joined():
    """Indices of equal dictionaries are joined; those of different ones are refused."""
    joined = arrow.chunked(arrow.dictionary(), arrow.dictionary()).as_stream()
    others = arrow.chunked(arrow.dictionary(), arrow.dictionary(("red", "blue"))).as_stream()

    data, meaning = ix.from_arrow(joined, meaning=True, copy=True)

    assert (data.tolist(), len(meaning.categories)) == ([0, 1, 1, 0] * 2, 2)
    with pytest.raises(ix.ExchangeError) as caught:
        ix.from_arrow(others, storage=True, copy=True)
    assert caught.value.rule == "ARROW-TYPE-3"


@pytest.mark.parametrize("wrong", [1, None, "yes"])
def test_a_meaning_is_requested_by_a_bool(wrong):
    """Other values are refused before anything is taken."""
    with pytest.raises(ix.ArgumentError, match="meaning="):
        ix.from_arrow(arrow.numbers(), meaning=wrong)


def test_each_column_of_a_table_has_a_meaning():
    """A dict has the meaning of each column; a matrix has none."""
    table = arrow.table(day=integers("tdD", 4), span=integers("tDs"))

    found = ix.from_arrow(table, columns=["span", "day"], meaning=True)

    assert [(name, one[-1].kind, one[-1].name) for name, one in found.items()] == [
        ("span", "duration", "span"),
        ("day", "date", "day"),
    ]
    with pytest.raises(ix.ArgumentError, match="axis="):
        ix.from_arrow(table, columns=True, axis=1, meaning=True)


def test_the_error_names_both_options():
    """The indices of a dictionary are had by either option, also from another call."""
    with pytest.raises(ix.UnsupportedDTypeError, match=r"`storage=True`.*`meaning=True`"):
        ix.from_arrow(arrow.dictionary())
    with pytest.raises(ix.UnsupportedDTypeError, match=r"from_arrow\(x, meaning=True\)"):
        ix.asarray(arrow.dictionary())


def test_a_meaning_of_a_type():
    """`Meaning.of` reads a schema, and equals the meaning of a column of it."""
    source = arrow.numbers("int64").but(format="tsu:UTC")

    assert ix.Meaning.of(source.as_schema()) == meaning_of(source)
    with pytest.raises(ix.ArgumentError, match="__arrow_c_schema__"):
        ix.Meaning.of("timestamp")
    with pytest.raises(ix.ArgumentError, match=r"Meaning\.of"):
        ix.Meaning()
    with pytest.raises(ix.UnsupportedDTypeError):
        ix.Meaning.of(arrow.texts().as_schema())
    with pytest.raises(ix.ExchangeError, match="ARROW-FORMAT-1"):
        ix.Meaning.of(arrow.numbers().but(format="?").as_schema())


@pytest.mark.parametrize("changes", [{"n_buffers": 2}, {"length": -1}, {"release": False}])
def test_a_malformed_dictionary_is_refused(changes):
    """The struct of the values is checked before it is kept, and everything is released."""
    source = arrow.dictionary().at(("dictionary",), chunk=changes)

    with pytest.raises(ix.ExchangeError, match="ARROW-"):
        ix.from_arrow(source, meaning=True)
    gc.collect()
    assert source.counts == source.due
