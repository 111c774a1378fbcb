"""Tables and struct columns: fields by name, as a dict of values, one value, or one array."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import interchange as ix
from interchange_conformance.zoo import arrow

pytestmark = pytest.mark.usefixtures("arrow_zoo")

KINDS = ("as_array", "as_stream", "as_device_array", "as_device_stream")


def table(*, length=4, offset=0, **more):
    """Return a table of two columns of numbers, one of lists, and others."""
    rows = length + offset
    columns = {
        "x": arrow.numbers("float32", rows),
        "y": arrow.numbers("float32", rows, offset=1),
        "e": arrow.lists("float32", (rows, 3)),
    }
    return arrow.table(length=length, offset=offset, **columns, **more)


def refused(x, **keywords):
    """Return the error by which an import is refused."""
    with pytest.raises(ix.InterchangeError) as caught:
        ix.from_arrow(x, **keywords)
    return caught.value


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("offset", [0, 2])
def test_fields_are_shared_in_the_order_requested(kind, offset):
    """The values are views of the columns' memory, and the first keeps all of it alive."""
    source = getattr(table(offset=offset), kind)()
    found = ix.from_arrow(source, columns=["e", "x"])
    x, _, e = source.chunks[0].children
    starts = x.buffers[1] + 4 * offset, e.children[0].buffers[1] + 12 * offset

    assert list(found) == ["e", "x"]
    assert found["x"].tolist() == [row["x"] for row in source.values]
    assert found["e"].tolist() == [list(row["e"]) for row in source.values]
    assert (found["x"].ptr, found["e"].ptr) == starts
    assert all(value.readonly for value in found.values())
    del found["e"]
    gc.collect()
    assert source.alive == 1
    del found
    assert source.counts == source.due


def test_true_is_all_fields_and_column_is_one_value():
    """`columns=True` returns all fields, and `column` the value of one."""
    source = table()

    assert list(ix.from_arrow(source, columns=True)) == ["x", "y", "e"]
    assert ix.from_arrow(source, column="y").tolist() == [1, 2, 3, 4]
    assert ix.from_arrow(source, column="y", copy=True).readonly is False


def test_a_struct_below_a_table_is_a_dict():
    """A struct is a dict of the values of its fields, with the nulls of the struct in each."""
    below = arrow.table(u=arrow.numbers("int16", 4), v=arrow.numbers("int8", 4))
    bits = np.array([0b1101], np.uint8)
    nulls = {"buffers": (bits.ctypes.data,), "null_count": 1, "memory": (bits,)}
    source = arrow.table(s=below.but(chunk=nulls), x=arrow.numbers("int8", 4))
    found = ix.from_arrow(source, columns=True, nulls="separate")
    error = refused(source, columns=True)

    assert [list(found), list(found["s"])] == [["s", "x"], ["u", "v"]]
    assert [one.tolist() for one in found["s"]["u"]] == [[0, 1, 2, 3], [True, False, True, True]]
    assert found["x"][1].tolist() == [True] * 4
    del found
    assert (error.rule, error.what) == (
        "ARROW-NULL-2",
        "column 's': column 'u': the column has nulls: 1 in 4 elements",
    )
    assert source.counts == source.due


@pytest.mark.parametrize("count", [2, 5, 40])
@pytest.mark.parametrize("axis", [0, 1])
def test_columns_are_stacked_as_numpy_stacks_them(count, axis):
    """All chunks of all columns become one array, by one copy."""
    rng = np.random.default_rng(0)
    names = [f"c{place}" for place in range(count)]
    parts = [
        arrow.table(**{name: arrow.numbers("int32", rows, offset=place) for place, name in pairs})
        for rows in (3, 20_000 // count, 1)
        for pairs in [list(enumerate(names))]
    ]
    source = arrow.chunked(*parts).as_stream()
    chosen = [names[place] for place in rng.permutation(count)]
    expected = [[row[name] for row in source.values] for name in chosen]
    found = ix.from_arrow(source, columns=chosen, axis=axis)

    np.testing.assert_array_equal(np.asarray(found), np.stack(expected, axis))
    assert found.strides == ix.asarray(np.stack(expected, axis)).strides
    assert not found.readonly
    assert source.counts == source.due


@pytest.mark.parametrize("selection", [{}, {"axis": 0}, {"axis": 1}])
def test_a_stream_for_devices_is_not_used_on_the_host(selection):
    """As for one column, whichever way the columns are copied."""
    names = ["x", "y"]
    source = table().as_array()

    found = ix.from_arrow(source, columns=names, stream=1, **selection)

    assert found.keys() == {*names} if not selection else found.size == 8


def test_lists_are_stacked_too_and_masks_likewise():
    """Elements keep their axes, and masks have the same axes as the values."""
    pair = {"a": arrow.lists("int8", (4, 3)), "b": arrow.lists("int8", (4, 3), nulls=[2])}
    data, mask = ix.from_arrow(arrow.table(**pair), columns=True, axis=1, nulls="separate")

    assert (data.shape, mask.shape) == ((4, 2, 3), (4, 2, 3))
    assert mask[:, 1, 0].tolist() == [True, True, False, True]
    assert mask[:, 0].tolist() == [[True] * 3] * 4


def test_an_empty_table_has_empty_columns():
    """No rows, and no chunks in a stream: the shapes are those of columns without rows."""
    source = table(length=0)
    none = arrow.ArraySource(source.field, ()).as_stream()

    assert ix.from_arrow(source, columns=["x", "y"], axis=1).shape == (0, 2)
    assert ix.from_arrow(none, columns=["x", "y"], axis=0).shape == (2, 0)
    assert ix.from_arrow(none, columns=["e"])["e"].shape == (0, 3)


def test_tables_of_many_fields_are_read():
    """Any number of fields: the last is found by its name."""
    fields = {f"field{place}": arrow.numbers("int8", 2, offset=place % 50) for place in range(300)}

    assert ix.from_arrow(arrow.table(**fields), column="field299").tolist() == [49, 50]


WRONG = {
    "a str": {"columns": "x"},
    "an empty list": {"columns": []},
    "no names": {"columns": ["x", 3]},
    "a set": {"columns": {"x"}},
    "False": {"columns": False},
    "two options": {"columns": ["x"], "column": "y"},
    "no name": {"column": b"x"},
    "an axis alone": {"axis": 1},
    "an axis of one": {"column": "x", "axis": 1},
    "another axis": {"columns": ["x"], "axis": 2},
    "a bool axis": {"columns": ["x"], "axis": True},
}


@pytest.mark.parametrize("keywords", WRONG.values(), ids=WRONG)
def test_wrong_arguments_are_refused_before_anything_is_taken(keywords):
    """Nothing is requested from the producer."""
    source = table()

    assert refused(source, **keywords).rule == "IX-ARGUMENT-1"
    assert source.log == []


REFUSED = {
    "missing": ({"columns": ["x", "Y"]}, "ARROW-FIELD-1", "the nearest name is `'y'`"),
    "twice requested": ({"columns": ["x", "x"]}, "ARROW-FIELD-1", "'x' is requested 2 times"),
    "other shapes": ({"columns": ["x", "e"], "axis": 1}, "ARROW-FIELD-2", "float32 of shape (3,)"),
    "copy": ({"columns": ["x", "y"], "axis": 1, "copy": False}, "ARROW-FIELD-2", "2 columns"),
    "none": ({}, "ARROW-TYPE-1", "`column='x'`"),
}


@pytest.mark.parametrize(("keywords", "rule", "words"), REFUSED.values(), ids=REFUSED)
def test_what_a_table_does_not_have_is_refused(keywords, rule, words):
    """The error says what was found, such as ARROW-FIELD-2, and the structs are released."""
    source = table()
    error = refused(source, **keywords)

    assert error.rule == rule
    assert words in str(error)
    assert source.counts == source.due


def test_names_that_are_there_twice_are_refused_if_they_are_requested():
    """A name of two fields is ambiguous; other fields can be requested."""
    source = table().at((1,), field={"name": "x"})

    assert refused(source, columns=["x"]).what == "2 fields are named 'x'"
    assert refused(source, columns=True).rule == "ARROW-FIELD-1"
    assert ix.from_arrow(source, column="e").shape == (4, 3)


def test_names_in_errors_are_clipped():
    """Long names, and many, do not make a long error."""
    fields = {f"{'n' * 500}{place}": arrow.numbers("int8", 2) for place in range(50)}
    source = arrow.table(**fields)

    assert len(str(refused(source))) < 1200
    assert "and 42 more" in refused(source, column="x").what


def test_a_column_has_no_fields():
    """Fields of numbers cannot be selected."""
    error = refused(arrow.numbers(), columns=["x"])

    assert (error.rule, error.what) == ("ARROW-FIELD-1", "the elements are float32")


def test_what_is_refused_is_kept_for_another_selection():
    """A stream that can be read once is kept by the error."""
    source = arrow.chunked(table(length=2), table(length=3)).as_stream()
    error = refused(source.__arrow_c_stream__(), columns=["z"])
    error = refused(error.taken, columns=["x"])

    assert error.rule == "ARROW-CHUNK-1"
    assert ix.from_arrow(error.taken, columns=["x"], copy=True)["x"].shape == (5,)
    del error
    assert source.counts == source.due


@pytest.mark.parametrize(
    "path", [(0,), (2,), (2, 0)], ids=["a field", "a list", "elements of a list"]
)
def test_a_broken_field_releases_all(path):
    """The structs are released once if a field that comes later is invalid."""
    source = table().at(path, length=1)
    error = refused(source, columns=["y", "e", "x"])

    assert error.rule == "ARROW-LENGTH-2"
    assert source.counts == source.due
