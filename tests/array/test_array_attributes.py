"""The attributes of an Array, and its behaviour as a Python object."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
from hypothesis import given

import interchange as ix
from interchange.testing import producers
from interchange.testing.strategies import sources

HANDLE_DEVICES = ["opencl:0", "vulkan:1", "metal:0"]


def packed(count=6):
    """Return an array of 4-bit integers that share bytes."""
    block = bytearray(range(count))
    address = ix.from_buffer(block).ptr
    return ix.from_pointer(address, (count,), "uint4", owner=block)


# ---------------------------------------------------------------- the class


def test_the_class_makes_no_arrays():
    """The class cannot be called: Arrays are created by the import functions."""
    with pytest.raises(ix.ArgumentError) as caught:
        ix.Array((2, 3), "float32")

    assert caught.value.rule == "IX-ARGUMENT-1"
    assert "`from_pointer`" in caught.value.hint


def test_an_array_has_no_room_for_other_attributes():
    """A misspelt assignment is an error, not a new attribute."""
    with pytest.raises(AttributeError):
        ix.from_buffer(b"abc").readOnly = True


@pytest.mark.parametrize(
    "name",
    ["shape", "strides", "dtype", "device", "ptr", "readonly", "owner", "ndim", "size", "nbytes"],
)
def test_what_an_array_says_cannot_be_assigned(name):
    """The attributes of an Array are read-only, since the description is shared."""
    with pytest.raises(AttributeError):
        setattr(ix.from_buffer(b"abc"), name, None)


def test_arrays_are_no_keys():
    """Arrays compare by element, as the standard requires, and therefore have no hash."""
    with pytest.raises(TypeError, match="unhashable"):
        hash(ix.from_buffer(b"abc"))


def test_arrays_can_be_referred_to_weakly():
    """Arrays have weak references, so that caches need not keep them alive."""
    a = ix.from_buffer(bytearray(3))
    alive = weakref.ref(a)

    del a
    gc.collect()

    assert alive() is None


# ---------------------------------------------------------------- attributes


@given(sources())
def test_attributes_say_what_the_producer_said(source):
    """Shape, element type, device and address are those of the struct."""
    array = ix.from_dlpack(source)

    said = source.said
    code, bits, _ = said.dtype
    assert (array.shape, array.ndim) == (said.shape, len(said.shape))
    assert (array.dtype.code, array.dtype.bits) == (code, bits)
    assert array.device is ix.Device(*said.device)
    assert array.ptr == (said.data + said.byte_offset if array.size else 0)
    assert array.nbytes == array.size * array.itemsize == len(source.values()) * (bits // 8)
    assert array.byte_offset == 0
    assert array.owner is source


def test_strides_are_available_in_elements_and_in_bytes():
    """Strides of elements below 8 bits cannot be expressed in bytes."""
    array = ix.asarray(np.zeros((4, 6), "f8")[::2, ::-1])

    assert (array.strides, array.strides_in_bytes) == ((12, -1), (96, -8))
    with pytest.raises(ix.UnsupportedDTypeError, match="DLP-DTYPE-5"):
        _ = packed().strides_in_bytes


@pytest.mark.parametrize(
    ("flags", "generation", "expected"),
    [(0, "versioned", False), (1, "versioned", True), (2, "versioned", False), (0, "legacy", None)],
)
def test_readonly_is_what_the_capsule_can_say(flags, generation, expected):
    """Read-only, writable, or unknown where the struct has no place for the flag."""
    source = producers.host().but(flags=flags, generation=generation)

    assert ix.from_dlpack(source).readonly is expected


@pytest.mark.parametrize("order", ["K", "A", "c", "", None, 1, ["C"]], ids=repr)
@pytest.mark.parametrize("method", ["is_contiguous", "contiguous", "copy"])
def test_an_order_is_c_or_f(method, order):
    """An order other than "C" and "F" is refused."""
    call = getattr(ix.from_buffer(b"abc"), method)

    with pytest.raises(ix.ArgumentError, match="IX-ARGUMENT-1"):
        call(order=order)


# ---------------------------------------------------------------- length and iteration


def test_length_and_iteration_are_those_of_the_first_axis():
    """The length is the first extent, and iteration yields views, or nothing."""
    array = ix.asarray(np.arange(6, dtype="i8").reshape(2, 3))

    rows = list(array)

    assert len(array) == 2
    assert [row.tolist() for row in rows] == [[0, 1, 2], [3, 4, 5]]
    assert [row.ptr - array.ptr for row in rows] == [0, 24]
    assert list(ix.asarray(np.zeros((0, 3)))) == []
    assert np.iterable(ix.asarray(np.zeros((0, 3))))


@pytest.mark.parametrize("call", [len, iter])
def test_a_scalar_has_no_length_and_cannot_be_iterated(call):
    """`len` and `iter` of a 0-dimensional array refuse at once, as ``np.iterable`` expects."""
    array = ix.asarray(np.array(3.0))
    with pytest.raises(TypeError, match=rf"^{call.__name__}\(\): an array without axes.*IX-AXES-2"):
        call(array)
    assert not np.iterable(array)


@pytest.mark.parametrize("value", [0, 1, 2.5])
def test_one_element_has_a_truth_value(value):
    """The truth value of a one-element array is that of its element."""
    assert bool(ix.asarray(np.array(value))) is bool(value)


@pytest.mark.parametrize("shape", [(0,), (1,), (2,), (2, 3)])
def test_the_truth_value_of_other_arrays_is_ambiguous(shape):
    """The truth value of any other array is ambiguous."""
    with pytest.raises(ValueError, match="IX-ELEMENT-1"):
        bool(ix.asarray(np.ones(shape)))


@pytest.mark.parametrize(("value", "spec"), [(2.5, ".3f"), (-7, "+05d"), (True, "d"), (1j, ".1f")])
def test_a_scalar_takes_the_formats_of_its_element(value, spec):
    """A 0-dimensional array accepts the format specifiers of its element, as in f-strings."""
    assert format(ix.asarray(np.array(value)), spec) == format(value, spec)


@pytest.mark.parametrize("value", [np.float32(0.1), np.int8(3), np.bool_(1), np.complex64(1j)])
def test_a_scalar_without_a_format_is_written_as_numpy_writes_it(value):
    """Without a format specifier a 0-dimensional array is formatted as NumPy formats it."""
    array = ix.asarray(np.asarray(value))

    assert f"{array}" == str(array) == str(value)
    assert repr(array).startswith("Array(shape=()")


@pytest.mark.parametrize(
    "array",
    [
        ix.asarray(np.ones((1,))),
        ix.asarray(np.ones((2, 0))),
        ix.from_pointer(8, (), "float32", device="cuda:0"),
        ix.from_pointer(8, (), "float32x2"),
        ix.from_pointer(8, (), "int4"),
    ],
    ids=["one-element", "empty", "device", "lanes", "packed"],
)
def test_what_is_no_number_that_can_be_read_is_written_as_its_repr(array):
    """An array without readable numbers is formatted as its repr, so that logging never fails."""
    assert f"{array}" == str(array) == repr(array)


@pytest.mark.parametrize("shape", [(1,), (3,), (0,)])
def test_an_array_with_axes_takes_no_format(shape):
    """An array with axes accepts no format specifier, as in NumPy."""
    with pytest.raises(TypeError, match=r"format\(\.\.\., '\.3f'\).*IX-ELEMENT-1"):
        format(ix.asarray(np.ones(shape)), ".3f")


@pytest.mark.filterwarnings("default")  # NumPy below 2.3 warns of a dtype that is not its own
def test_numpy_finds_the_dtype_of_an_array():
    """NumPy finds the dtype of an Array that is passed as dtype, as JAX does; NumPy 2.3 refuses."""
    array = ix.asarray(np.ones(2, np.float32))

    if np.__version__.startswith("2.3."):  # takes only dtypes of its own class
        with pytest.raises(ValueError, match="not a valid dtype instance"):
            np.dtype(array)
    else:
        assert np.result_type(array) == np.dtype(array) == np.float32


# ---------------------------------------------------------------- one element, all elements


@pytest.mark.parametrize("shape", [(), (1,), (1, 1, 1)])
def test_item_is_the_one_element(shape):
    """`item` returns the only element as a number, for any shape, and `tolist` without axes."""
    array = ix.asarray(np.full(shape, 2.5))

    assert array.item() == 2.5
    assert shape or array.tolist() == 2.5


@pytest.mark.parametrize("shape", [(0,), (2,), (1, 2)])
def test_item_needs_exactly_one_element(shape):
    """`item` of an array with several elements is refused."""
    with pytest.raises(ix.ViewError, match="IX-ELEMENT-2"):
        ix.asarray(np.zeros(shape)).item()


@pytest.mark.parametrize(
    ("dtype", "kind"), [("?", bool), ("u1", int), ("i8", int), ("f2", float), ("c8", complex)]
)
def test_elements_come_as_python_numbers(dtype, kind):
    """Elements are returned as Python numbers, not as scalars of a library."""
    array = ix.asarray(np.ones(2, dtype))

    assert [type(element) for element in array.tolist()] == [kind, kind]
    assert type(array[0].item()) is kind


@pytest.mark.parametrize(
    ("dtype", "method"),
    [
        *((dtype, method) for dtype in ("opaque64", "float32x2") for method in ("tolist", "item")),
        *(("uint4", method) for method in ("tolist", "__array__", "as_memoryview")),
    ],
)
def test_elements_without_a_numpy_dtype_have_no_numbers(dtype, method):
    """Elements that NumPy lacks, and packed ones, are refused with the reason."""
    block = bytearray(8)
    array = ix.from_pointer(ix.from_buffer(block).ptr, (1,), dtype, owner=block)

    rule = "DLP-DTYPE|BUF-FORMAT-2" if dtype == "uint4" else "DLP-DTYPE-4"
    with pytest.raises(ix.UnsupportedDTypeError, match=rule):
        getattr(array, method)()


# ---------------------------------------------------------------- handles


@pytest.mark.parametrize("device", HANDLE_DEVICES)
def test_a_handle_keeps_its_offset_apart(device):
    """The offset of a view is kept apart from an opaque handle, which is no address."""
    array = ix.from_pointer(0xABC, (4, 6), "float32", device=device)

    view = array[1:, ::-2]

    assert (array.ptr, array.byte_offset) == (0xABC, 0)
    assert (view.ptr, view.byte_offset) == (0xABC, (6 + 5) * 4)
    assert view[1].byte_offset == (6 + 5 + 6) * 4


@pytest.mark.parametrize("device", HANDLE_DEVICES)
def test_a_handle_goes_out_and_comes_back_with_its_offset(device):
    """The struct has a field for it."""
    view = ix.from_pointer(0xABC, (6,), "float32", device=device)[2:]

    again = ix.from_dlpack(ix.to_capsule(view, max_version=(1, 3)))

    assert (again.ptr, again.byte_offset, again.device) == (0xABC, 8, view.device)


@pytest.mark.parametrize("generation", ["versioned", "legacy"])
def test_an_imported_handle_keeps_its_offset_apart(generation):
    """An imported handle keeps the offset that it had."""
    source = producers.host().but(device=(4, 0), data=0xABC, byte_offset=16, generation=generation)

    array = ix.from_dlpack(source)

    assert (array.ptr, array.byte_offset, array[1].byte_offset) == (0xABC, 16, 16 + 12)
