"""`to_arrow` with masks, names, flags, metadata, and what is not one array of numbers."""

from __future__ import annotations

import gc
import weakref

import ml_dtypes
import numpy as np
import pytest

import interchange as ix
from interchange._protocols.arrow.representations import metadata_of, read_field
from interchange.abi import capsules
from interchange.abi.arrow import ARROW_ARRAY, ARROW_SCHEMA, ArrowArray

pytestmark = pytest.mark.skipif(ix.core_name != "native", reason="the ctypes core refuses")


def field_of(exported, requested=None):
    """Return the type that is exported, with a requested one."""
    capsule = exported.__arrow_c_array__(requested)[0]
    return read_field(capsules.capsule_pointer(capsule, ARROW_SCHEMA))


def nulls_of(exported):
    """Return the numbers of nulls of a column and of its children, from the outermost inwards."""
    _, capsule = exported.__arrow_c_array__()
    node = ArrowArray.from_address(capsules.capsule_pointer(capsule, ARROW_ARRAY))
    found = [node.null_count]
    while node.n_children:
        node = node.children[0].contents
        found.append(node.null_count)
    return found


def back(x, **keywords):
    """Return data and mask of an export as lists."""
    data, mask = ix.from_arrow(ix.to_arrow(x, **keywords), nulls="separate")
    return data.tolist(), mask.tolist()


# ---------------------------------------------------------------- nulls

MASK = np.array([True, False, True, False, False, True])


@pytest.mark.parametrize("kind", ["column", "tensor"])
def test_nulls_are_of_rows_or_of_elements(kind):
    """The mask that comes back is the one that was passed; so is the level of the nulls."""
    x = (
        np.arange(24).reshape(3, 4, 2).transpose(0, 2, 1)
        if kind == "tensor"
        else np.ones((3, 2, 4))
    )
    rows, elements = MASK[:3], np.arange(24).reshape(3, 2, 4) % 5 > 0

    assert nulls_of(ix.to_arrow(x, kind=kind, mask=rows))[:2] == [1, 0]
    assert (
        back(x, kind=kind, mask=rows)[1] == np.broadcast_to(rows[:, None, None], x.shape).tolist()
    )
    assert nulls_of(ix.to_arrow(x, kind=kind, mask=elements))[-1] == 5
    assert back(x, kind=kind, mask=elements) == (x.tolist(), elements.tolist())


def test_masks_of_from_arrow_are_taken_back():
    """A mask that repeats bytes along the lists makes null lists again."""
    column = ix.to_arrow(np.ones((3, 2)), mask=MASK[:3])
    data, mask = ix.from_arrow(column, nulls="separate")

    assert mask.strides == (1, 0)
    assert nulls_of(ix.to_arrow(data, mask=mask)) == [1, 0]


def test_masks_may_be_strided_and_of_any_library():
    """Masks are copied into bits; without nulls there is no bitmap."""
    x = np.arange(3)

    assert back(x, mask=np.repeat(MASK[:3], 2)[::2])[1] == MASK[:3].tolist()
    assert back(x, mask=ix.asarray(MASK[:3]))[1] == MASK[:3].tolist()
    assert nulls_of(ix.to_arrow(x, mask=np.ones(3, bool))) == [0]


@pytest.mark.parametrize(
    ("mask", "error"),
    [
        (np.ones(2, bool), ix.ViewError),
        (np.ones((3, 2, 1), bool), ix.ViewError),
        (np.ones(3, "u1"), ix.UnsupportedDTypeError),
        (np.ones((), bool), ix.ViewError),
    ],
)
def test_masks_are_refused_by_their_rule(mask, error):
    """Masks of another shape or dtype are refused."""
    with pytest.raises(error) as caught:
        ix.to_arrow(np.ones((3, 2)), mask=mask)
    assert caught.value.rule == "ARROW-OUT-4"


@pytest.mark.parametrize(
    ("x", "keywords"),
    [
        (np.ones(6), {"mask": MASK}),
        (np.ones((3, 2)), {"mask": MASK.reshape(3, 2)}),
        (np.array(["NaT"], "M8[s]"), {}),
    ],
)
def test_nulls_need_a_nullable_field(x, keywords):
    """``nullable=False`` refuses nulls of rows and of elements, also those of NaT."""
    with pytest.raises(ix.ExchangeError) as caught:
        ix.to_arrow(x, nullable=False, **keywords)
    assert caught.value.rule == "ARROW-OUT-5"


def test_a_mask_of_lists_of_one_element_is_that_of_the_elements():
    """Only a stride of 0 makes it that of the rows, as in the masks of `from_arrow`."""
    x, mask = np.ones((6, 1)), MASK.reshape(6, 1)

    assert nulls_of(ix.to_arrow(x, mask=mask)) == [0, 3]
    repeated = ix.from_pointer(MASK.ctypes.data, (6, 1), "bool", strides=(1, 0), owner=MASK)
    assert nulls_of(ix.to_arrow(x, mask=repeated)) == [3, 0]


# ---------------------------------------------------------------- names


def test_a_field_has_name_flag_and_metadata():
    """The field has what was passed; without it, no name, the flag, and no metadata."""
    field = field_of(ix.to_arrow(np.ones(3), name="a", nullable=False, metadata={"k": b"v"}))
    plain = field_of(ix.to_arrow(np.ones(3)))

    assert (field.name, field.flags, metadata_of(field)) == ("a", 0, {b"k": b"v"})
    assert (plain.name, plain.flags, plain.metadata) == ("", 2, None)


def test_a_table_has_options_by_column():
    """Metadata that are no dict of a column are those of the table."""
    x = {"a": np.ones(3), "b": MASK[:3]}
    exported = ix.to_arrow(
        x, mask={"a": MASK[:3]}, nullable={"b": False}, metadata={"k": "v", "b": {"x": "y"}}
    )
    field = field_of(exported)

    assert metadata_of(field) == {b"k": b"v"}
    assert [(child.name, child.flags, metadata_of(child)) for child in field.children] == [
        ("a", 2, {}),
        ("b", 0, {b"x": b"y"}),
    ]
    assert nulls_of(exported) == [0, 1]


def test_a_flag_for_a_table_is_that_of_all_columns():
    """``nullable=False`` for a table refuses nulls in any column, and no field has the flag."""
    x = {"a": np.ones(6), "b": np.ones(6)}
    field = field_of(ix.to_arrow(x, nullable=False))

    assert [child.flags for child in field.children] == [0, 0]
    with pytest.raises(ix.ExchangeError, match="ARROW-OUT-5"):
        ix.to_arrow(x, mask={"b": MASK}, nullable=False)


@pytest.mark.parametrize(
    "keywords",
    [
        {"name": "a\0b"},
        {"name": 1},
        {"nullable": 1},
        {"metadata": [("k", "v")]},
        {"metadata": {"k": 1}},
        {"bools": "bit"},
    ],
)
def test_options_are_refused_by_name(keywords):
    """Arguments of other types are refused."""
    with pytest.raises(ix.ArgumentError, match="IX-ARGUMENT-1"):
        ix.to_arrow(np.ones(3), **keywords)


def test_options_of_no_column_are_refused():
    """Options by column name columns of the table, once for each."""
    for what in ({"mask": {"b": MASK}}, {"nullable": {"b": True}}, {"metadata": {"b": {}}}):
        with pytest.raises(ix.ArgumentError, match=r"'b'; .*name columns of the table: 'a'"):
            ix.to_arrow({"a": np.ones(6)}, **what)


def test_metadata_of_the_type_are_not_replaced():
    """The keys of an extension type are taken."""
    with pytest.raises(ix.ArgumentError, match="IX-ARGUMENT-1"):
        ix.to_arrow(np.ones((2, 2)), kind="tensor", metadata={"ARROW:extension:name": "x"})


# ---------------------------------------------------------------- elements of NumPy


@pytest.mark.parametrize(
    ("dtype", "text"),
    [("M8[s]", "tss:"), ("M8[ns]", "tsn:"), ("m8[ms]", "tDm"), ("m8[us]", "tDu"), ("M8[D]", "tdD")],
)
def test_times_are_times(dtype, text):
    """Units are kept, memory is shared unless days become 32 bits, and NaT is null."""
    x = np.array([5, 7, -3], "i8").view(dtype)
    exported = ix.to_arrow(x)

    data = ix.from_arrow(exported, storage=True)
    assert field_of(exported).format == text
    assert data.tolist() == [5, 7, -3]
    assert (data.ptr == x.ctypes.data) is (text != "tdD")
    x[1] = "NaT"
    assert nulls_of(ix.to_arrow(x)) == [1]
    assert nulls_of(ix.to_arrow(x, mask=np.array([False, True, True]))) == [2]


@pytest.mark.parametrize(
    "x",
    [
        np.zeros(2, "M8[h]"),
        np.zeros(2, "m8[D]"),
        np.zeros(2, "M8[ps]"),
        np.zeros(2, "M8[10s]"),
        np.array([2**40], "i8").view("M8[D]"),
        np.zeros(2, "c8"),
        np.array(["a", "\N{SNOWMAN}"]),
    ],
    ids=str,
)
def test_the_fix_of_elements_without_a_type_is_accepted(x):
    """Units and days that Arrow does not have, and text, name a call that can be exported."""
    with pytest.raises(ix.UnsupportedDTypeError) as caught:
        ix.to_arrow(x)
    assert caught.value.rule == "ARROW-OUT-1"
    code = caught.value.hint.partition("`")[2].partition("`")[0]
    ix.to_arrow(eval(code, {"x": x, "np": np}))  # noqa: S307 - it is ours


@pytest.mark.filterwarnings("ignore:The 'generic' unit:DeprecationWarning")
def test_the_fix_of_times_without_a_unit_is_accepted():
    """Times without a unit, which NumPy is to drop, are told to get one."""
    test_the_fix_of_elements_without_a_type_is_accepted(np.array(["NaT"], "M8"))


def test_bytes_are_bytes():
    """Bytes of fixed width are shared with their padding."""
    x = np.array([[b"ab", b"c"], [b"", b"def"]])
    data = ix.from_arrow(ix.to_arrow(x))

    assert data.ptr == x.ctypes.data
    assert np.asarray(data).view("S3")[..., 0].tolist() == x.tolist()
    assert field_of(ix.to_arrow(x)).children[0].format == "w:3"


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu"])
def test_small_floats_come_back(name):
    """They have an extension type of fixed-size binary, and are shared in both directions."""
    x = np.arange(1, 7).reshape(3, 2).astype(getattr(ml_dtypes, name))
    exported = ix.to_arrow(x)
    data = ix.from_arrow(exported)

    element = field_of(exported).children[0]
    assert element.format == f"w:{x.itemsize}"
    assert metadata_of(element)[b"ARROW:extension:name"] == f"interchange.{name}".encode()
    assert (str(data.dtype), data.shape, data.ptr) == (name, (3, 2), x.ctypes.data)
    assert ix.from_arrow(exported, storage=True).shape == (3, 2, x.itemsize)


def test_records_are_structs():
    """Each field is copied into a column, also records within records."""
    x = np.zeros(3, [("a", "i4"), ("b", "f8", (2,)), ("c", [("d", "M8[s]")])])
    x["a"] = 1, 2, 3
    field = field_of(ix.to_arrow(x))

    assert [(child.name, child.format) for child in field.children] == [
        ("a", "i"),
        ("b", "+w:2"),
        ("c", "+s"),
    ]
    assert ix.from_arrow(ix.to_arrow({"x": x["a"].copy()})).tolist() == [1, 2, 3]
    with pytest.raises(ix.ViewError, match="ARROW-OUT-1"):
        ix.to_arrow(x.reshape(3, 1))


# ---------------------------------------------------------------- lists


@pytest.mark.parametrize(("dtype", "text"), [("i4", "+l"), ("i8", "+L")])
def test_values_and_offsets_are_lists(dtype, text):
    """Both are shared."""
    values, offsets = np.arange(6.0), np.array([0, 2, 2, 6], dtype)
    exported = ix.to_arrow((values, offsets), mask=np.array([True, False, True]))
    _, capsule = exported.__arrow_c_array__()
    node = ArrowArray.from_address(capsules.capsule_pointer(capsule, ARROW_ARRAY))

    assert field_of(exported).format == text
    assert (node.length, node.null_count) == (3, 1)
    assert node.buffers[1] == offsets.ctypes.data
    assert node.children[0].contents.buffers[1] == values.ctypes.data


def test_lists_may_be_nested_and_views():
    """Pairs within pairs are lists of lists; three arrays are views of lists; bools are bits."""
    offsets = np.array([0, 2, 3], "i4")
    nested = ix.to_arrow(((MASK, offsets), np.array([0, 1, 2])), mask=((MASK, None), MASK[:2]))
    views = ix.to_arrow((np.arange(3), offsets[:2].copy(), np.array([2, 1], "i4")))

    assert repr(nested) == "ArrowExport(large_list of list of int8, 2 rows)"
    assert nulls_of(nested) == [1, 0, 3]
    assert field_of(nested).children[0].children[0].format == "b"
    assert (field_of(views).format, repr(views)) == (
        "+vl",
        "ArrowExport(list_view of int64, 2 rows)",
    )


@pytest.mark.parametrize(
    ("x", "rule"),
    [
        ((np.ones(3), np.zeros(2, "u4")), "ARROW-OUT-6"),
        ((np.ones(3), np.zeros((2, 1), "i4")), "ARROW-OUT-6"),
        ((np.ones(3), np.zeros(0, "i4")), "ARROW-OUT-6"),
        ((np.ones(3), np.zeros(2, "i4"), np.zeros(2, "i8")), "ARROW-OUT-6"),
        ((np.ones(3), np.zeros(2, "i4"), np.zeros(3, "i4")), "ARROW-OUT-6"),
        ((np.ones(3), np.zeros(4, "i4")[::2]), "ARROW-OUT-2"),
        ((np.ones(3), np.array([-1, 2], "i4")), "ARROW-OFFSET-1"),
        ((np.ones(3), np.array([0, 2, 1], "i4")), "ARROW-OFFSET-2"),
        ((np.ones(3), np.array([0], "i4"), np.array([-1], "i4")), "ARROW-OFFSET-1"),
        ((np.ones(3), np.array([0, 4], "i4")), "ARROW-LENGTH-2"),
        ((np.ones(3),), "IX-ARGUMENT-1"),
    ],
)
def test_offsets_are_refused_by_their_rule(x, rule):
    """Offsets of another dtype, shape or number, and invalid ones."""
    with pytest.raises(ix.InterchangeError) as caught:
        ix.to_arrow(x)
    assert caught.value.rule == rule


def test_arrays_of_several_lengths_are_copied_into_one():
    """A list of arrays becomes a column of lists, or of tensors of any shape."""
    x = [np.arange(2.0), np.arange(3.0)[::-1], np.arange(0.0)]
    lists, tensors = (
        ix.to_arrow(x),
        ix.to_arrow([np.ones((2, 3)), np.ones((1, 4)).T], kind="tensor"),
    )

    assert repr(lists) == "ArrowExport(list of float64, 3 rows)"
    field = field_of(tensors)
    assert metadata_of(field)[b"ARROW:extension:name"] == b"arrow.variable_shape_tensor"
    assert [(child.name, child.format) for child in field.children] == [
        ("data", "+l"),
        ("shape", "+w:2"),
    ]


@pytest.mark.parametrize(
    "x",
    [[], [np.ones(2), np.ones(2, "f4")], [np.ones(2), np.ones((2, 2))], [np.ones((2, 2))],
     [np.ones(())]],
)  # fmt: skip
def test_lists_of_arrays_are_refused_by_their_rule(x):
    """Nothing, and arrays of several dtypes or numbers of axes."""
    with pytest.raises(ix.InterchangeError) as caught:
        ix.to_arrow(x)
    assert caught.value.rule == "ARROW-OUT-7"


# ---------------------------------------------------------------- lifetime


class Rows(np.ndarray):
    """An array that can be watched."""


def test_all_memory_is_kept_and_released_once():
    """Values, offsets and nothing of the mask are kept by the capsule."""
    arrays = [np.ones(4).view(Rows), np.array([0, 2, 4]).view(Rows), np.ones(2, bool).view(Rows)]
    watched = [weakref.ref(array) for array in arrays]
    capsule = ix.to_arrow((arrays[0], arrays[1]), mask=arrays[2]).__arrow_c_array__()
    del arrays
    gc.collect()

    alive = [ref() is not None for ref in watched]
    del capsule
    gc.collect()
    assert alive == [True, True, False]
    assert [ref() for ref in watched] == [None] * 3


def test_errors_keep_capsules_in_their_place():
    """`error.taken` has the structure of what was passed."""
    x = {"a": (np.zeros(3).__dlpack__(), np.array([0, 9])), "b": [np.zeros(2)]}
    with pytest.raises(ix.ExchangeError, match=r"error\.taken") as caught:
        ix.to_arrow(x)

    taken = caught.value.taken
    assert list(taken) == ["a", "b"]
    assert taken["a"][0].shape == (3,)
    assert repr(ix.to_arrow({"a": (taken["a"][0], np.array([0, 3])), "b": taken["b"]}))
