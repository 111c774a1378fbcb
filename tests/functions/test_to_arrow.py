"""`to_arrow`: each claim of its docstring, read from the structs themselves."""

from __future__ import annotations

import ctypes
import gc
import json
import weakref

import numpy as np
import pytest
from hypothesis import given, strategies as st

import interchange as ix
from interchange.abi import capsules
from interchange.abi.arrow import (
    ARROW_ARRAY,
    ARROW_DEVICE_ARRAY,
    ARROW_SCHEMA,
    ArrowArray,
    ArrowDeviceArray,
    ArrowSchema,
)
from interchange.abi.arrow_formats import NUMBERS, decode_metadata

pytestmark = pytest.mark.skipif(ix.core_name != "native", reason="the ctypes core refuses")
FORMATS = {name: text for text, name in NUMBERS.items()}


def structs_of(x, **keywords):
    """Return the structs of an export, of the type and of the memory, and what keeps them."""
    exported = ix.to_arrow(x, **keywords)
    schema, pair = exported.__arrow_c_schema__(), exported.__arrow_c_array__()
    return (
        ArrowSchema.from_address(capsules.capsule_pointer(schema, ARROW_SCHEMA)),
        ArrowArray.from_address(capsules.capsule_pointer(pair[1], ARROW_ARRAY)),
        (exported, schema, pair),
    )


def extension_of(schema):
    """Return the name of an extension type and its parameters."""
    found = decode_metadata(schema.metadata or 0)
    return found.get(b"ARROW:extension:name"), found.get(b"ARROW:extension:metadata")


# ---------------------------------------------------------------- contents of structs


@pytest.mark.parametrize("dtype", sorted(FORMATS))
def test_numbers_are_a_column(dtype):
    """Numbers have one buffer after an absent validity bitmap; nothing is copied."""
    x = np.arange(5).astype(dtype)
    schema, array, _keep = structs_of(x)

    assert ctypes.string_at(schema.format).decode() == FORMATS[dtype]
    assert (schema.n_children, extension_of(schema)) == (0, (None, None))
    assert (array.length, array.offset, array.null_count) == (5, 0, 0)
    assert (array.n_buffers, array.buffers[0], array.buffers[1]) == (2, None, x.ctypes.data)


def test_further_axes_are_lists_in_lists():
    """Further axes are fixed-size lists over the same memory."""
    x = np.arange(24, dtype="i2").reshape(2, 3, 4)
    schema, array, _keep = structs_of(x)

    formats, names, lengths = [], [], []
    while schema.n_children:
        formats.append(ctypes.string_at(schema.format))
        lengths.append((array.length, array.n_buffers, array.buffers[0]))
        schema, array = schema.children[0].contents, array.children[0].contents
        names.append(ctypes.string_at(schema.name))
    assert (formats, names) == ([b"+w:3", b"+w:4"], [b"item", b"item"])
    assert lengths == [(2, 1, None), (6, 1, None)]
    assert (array.length, array.buffers[1]) == (24, x.ctypes.data)


def test_bools_are_bits():
    """Bools are exported as bits, in new memory."""
    schema, array, _keep = structs_of(np.arange(9).reshape(3, 3) % 2 == 1)

    schema, array = schema.children[0].contents, array.children[0].contents
    assert (ctypes.string_at(schema.format), extension_of(schema)) == (b"b", (None, None))
    assert (array.length, array.null_count) == (9, 0)
    assert ctypes.string_at(array.buffers[1], 2) == bytes([0b10101010, 0])


def test_bools_are_bytes_on_request():
    """Bools are exported as the 8-bit bool extension type without a copy."""
    x = np.array([True, False, True])
    schema, array, _keep = structs_of(x, bools="bytes")

    assert (ctypes.string_at(schema.format), extension_of(schema)) == (b"c", (b"arrow.bool8", b""))
    assert array.buffers[1] == x.ctypes.data


@pytest.mark.parametrize("axes", [(0, 1, 2, 3), (0, 3, 2, 1), (0, 2, 3, 1), (0, 1, 3, 2)])
def test_tensors_have_a_permutation_of_axes(axes):
    """Tensors have axes in the order of memory; the permutation restores the array's order."""
    x = np.arange(120, dtype="f4").reshape(2, 3, 4, 5).transpose(axes)
    schema, array, _keep = structs_of(x, kind="tensor")

    name, parameters = extension_of(schema)
    said = json.loads(parameters)
    order = said.get("permutation", [0, 1, 2])
    assert (name, ctypes.string_at(schema.format)) == (b"arrow.fixed_shape_tensor", b"+w:60")
    assert said["shape"] == [3, 4, 5]
    assert tuple(said["shape"][axis] for axis in order) == x.shape[1:]
    assert ("permutation" in said) == (axes != (0, 1, 2, 3))
    assert array.children[0].contents.buffers[1] == x.ctypes.data


def test_a_table_has_a_column_for_each_name():
    """A table has its columns in order, of any types and axes."""
    rows = np.ones((3, 2))
    names = ["label", "", "\N{SNOWMAN}"]
    columns = dict(zip(names, (np.arange(3, dtype="i8"), rows, rows > 0), strict=True))
    schema, array, _keep = structs_of(columns)

    fields = [schema.children[place].contents for place in range(schema.n_children)]
    assert ctypes.string_at(schema.format) == b"+s"
    assert [ctypes.string_at(field.name).decode() for field in fields] == names
    assert [ctypes.string_at(field.format) for field in fields] == [b"l", b"+w:2", b"+w:2"]
    assert (array.length, array.n_buffers, array.n_children) == (3, 1, 3)
    assert array.children[1].contents.children[0].contents.buffers[1] == rows.ctypes.data


def test_a_table_of_tensors_has_columns_for_what_has_one_axis():
    """A table of tensors has plain columns for one-dimensional arrays."""
    schema, _, _keep = structs_of({"a": np.ones(2), "b": np.ones((2, 3))}, kind="tensor")

    names = [extension_of(schema.children[place].contents)[0] for place in range(2)]
    assert names == [None, b"arrow.fixed_shape_tensor"]


def test_a_table_without_columns():
    """Has no elements."""
    _, array, (exported, *_) = structs_of({})

    assert (array.length, array.n_children) == (0, 0)
    assert repr(exported) == "ArrowExport(a table of no columns)"


def test_the_host_is_a_device_too():
    """The host is a device with its type, no number, and no event."""
    x = np.arange(3)
    _, capsule = ix.to_arrow(x).__arrow_c_device_array__()
    struct = ArrowDeviceArray.from_address(capsules.capsule_pointer(capsule, ARROW_DEVICE_ARRAY))

    assert (struct.device_type, struct.device_id, struct.sync_event) == (1, -1, None)
    assert (struct.array.length, struct.array.buffers[1]) == (3, x.ctypes.data)


# ---------------------------------------------------------------- there and back

DTYPES = (*FORMATS, "bool")
SHAPES = st.tuples(st.integers(0, 5)) | st.lists(st.integers(0, 4), min_size=1, max_size=4).map(
    tuple
)


def drawn(data, shape):
    """Draw an array of a shape, in C order."""
    dtype = data.draw(st.sampled_from(DTYPES))
    return np.arange(int(np.prod(shape))).astype(dtype).reshape(shape)


METHODS = ("array", "stream", "device_array", "device_stream")


@given(st.data())
def test_columns_come_back(data):
    """Columns, and tables of one, are imported at the same address by each method, read-only."""
    x = drawn(data, data.draw(SHAPES))
    method = data.draw(st.sampled_from(METHODS))
    exported = ix.to_arrow(data.draw(st.sampled_from([x, {"x": x}, ix.asarray(x)])))

    found = ix.from_arrow(getattr(exported, f"__arrow_c_{method}__")())

    assert (str(found.dtype), found.shape) == (str(x.dtype), x.shape)
    assert found.tolist() == x.tolist()
    assert found.readonly is (str(x.dtype) != "bool")  # bits of bools become bytes by a copy
    assert not x.size or str(x.dtype) == "bool" or found.ptr == x.ctypes.data


@given(st.data())
def test_tensors_come_back(data):
    """Tensors are imported with their axes for every layout."""
    shape = data.draw(st.lists(st.integers(0, 4), min_size=2, max_size=5).map(tuple))
    axes = data.draw(st.permutations(range(1, len(shape))))
    x = drawn(data, shape).transpose(0, *axes)

    found = ix.from_arrow(ix.to_arrow(x, kind="tensor", bools="bytes"))

    assert (str(found.dtype), found.shape) == (str(x.dtype), x.shape)
    assert found.tolist() == x.tolist()
    assert (
        not x.size
        or (found.ptr, found.strides)
        == (
            x.ctypes.data,
            ix.asarray(x).strides,
        )
        or 1 in x.shape
    )


# ---------------------------------------------------------------- lifetime


class Owner:
    """Owns memory, and is counted."""

    def __init__(self):
        self.block = (ctypes.c_float * 6)(*range(6))


def owned():
    """Return an array, a weak reference to the owner of its memory, and its address."""
    owner = Owner()
    ptr = ctypes.addressof(owner.block)
    return ix.from_pointer(ptr, (2, 3), "float32", owner=owner), weakref.ref(owner), ptr


@pytest.mark.parametrize("method", METHODS)
def test_capsules_that_are_not_consumed_release_the_memory(method):
    """A capsule keeps the memory until it is collected."""
    array, watched, _ = owned()
    exported = ix.to_arrow(array)
    capsules_of = [getattr(exported, f"__arrow_c_{method}__")() for _ in range(3)]

    del array, exported
    alive = watched() is not None
    capsules_of.clear()
    gc.collect()

    assert (alive, watched()) == (True, None)


@pytest.mark.parametrize("method", METHODS)
def test_who_takes_a_capsule_keeps_the_memory(method):
    """A consumed capsule keeps the memory until the consumer releases it."""
    array, watched, ptr = owned()

    found = ix.from_arrow(getattr(ix.to_arrow(array), f"__arrow_c_{method}__")())
    del array
    gc.collect()

    alive = watched() is not None
    assert (alive, found.ptr) == (True, ptr)
    del found
    gc.collect()
    assert watched() is None


def test_a_schema_keeps_no_memory():
    """A schema capsule does not keep the memory."""
    array, watched, _ = owned()
    schema = ix.to_arrow(array).__arrow_c_schema__()

    del array
    gc.collect()

    assert watched() is None
    assert capsules.capsule_name(schema) == ARROW_SCHEMA


def test_each_column_of_a_table_is_kept():
    """The struct of a table keeps all of its columns."""
    made = [owned() for _ in range(3)]
    pair = ix.to_arrow({str(place): one[0] for place, one in enumerate(made)}).__arrow_c_array__()
    watched = [one[1] for one in made]
    del made
    gc.collect()

    alive = [one() is not None for one in watched]
    del pair
    gc.collect()

    assert (alive, [one() for one in watched]) == ([True] * 3, [None] * 3)
