"""``__array__`` and ``__array_interface__``: how NumPy reads an Array."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import interchange as ix
from interchange.testing import producers


def packed():
    """Return an array of 4-bit integers that share bytes."""
    block = bytearray(4)
    return ix.from_pointer(ix.from_buffer(block).ptr, (8,), "int4", owner=block)


# ---------------------------------------------------------------- __array__


def test_asarray_shares_the_memory():
    """`numpy.asarray` shares the memory."""
    memory = np.zeros(3)

    assert np.shares_memory(np.asarray(ix.asarray(memory)), memory)


def test_the_ndarray_keeps_the_memory_alive():
    """The producer's memory is freed with the last ndarray."""
    source = producers.host()
    view = np.asarray(ix.from_dlpack(source))
    gc.collect()
    assert source.deleter_calls == 0

    del view
    gc.collect()

    assert source.deleter_calls == 1


@pytest.mark.parametrize(
    ("flags", "generation", "writable"),
    [(0, "versioned", True), (1, "versioned", False), (0, "legacy", False)],
)
def test_the_ndarray_is_writable_only_where_that_is_known(flags, generation, writable):
    """The ndarray is read-only if it is unknown whether the memory is writable."""
    source = producers.host().but(flags=flags, generation=generation)

    assert ix.from_dlpack(source).__array__().flags.writeable is writable


def test_a_dtype_is_cast_to():
    """NumPy's protocol requests a cast if one is needed."""
    array = ix.from_buffer(b"abc")

    assert array.__array__(np.float32).tolist() == [97.0, 98.0, 99.0]
    assert np.asarray(array, dtype="f4").dtype == np.float32


@pytest.mark.parametrize("dtype", [np.uint8, "u1", np.dtype("u1"), None])
def test_the_same_dtype_shares(dtype):
    """A dtype that is there already needs no copy, whether one is forbidden or not."""
    memory = np.zeros(3, "u1")
    array = ix.asarray(memory)

    for copy in (None, False):
        assert np.shares_memory(array.__array__(dtype, copy=copy), memory)


def test_a_cast_without_a_copy_is_refused():
    """copy=False refuses a cast, as a ValueError, which NumPy's own error is, in np.array."""
    with pytest.raises(ix.CopyNeededError, match="DLP-COPY-1"):
        ix.from_buffer(b"abc").__array__("f4", copy=False)
    with pytest.raises(ValueError, match="copy"):
        np.array(ix.from_buffer(b"abc"), dtype="f4", copy=False)


@pytest.mark.parametrize("dtype", [None, "u1", "f4"])
def test_copy_true_has_its_own_memory(dtype):
    """The result of copy=True is writable even if the array is not."""
    memory = np.frombuffer(b"abc", "u1")

    copied = ix.asarray(memory).__array__(dtype, copy=True)

    assert not np.shares_memory(copied, memory)
    assert copied.flags.writeable


@pytest.mark.parametrize(
    ("make", "rule"),
    [
        (packed, "DLP-DTYPE-5"),
        (lambda: ix.from_pointer(8, (1,), "float32x2"), "DLP-DTYPE-4"),
        (lambda: ix.from_pointer(8, (1,), "opaque64"), "DLP-DTYPE-4"),
    ],
    ids=["packed", "lanes", "opaque"],
)
def test_what_numpy_has_no_dtype_for_is_refused(make, rule):
    """An element type that NumPy lacks is refused with a reason, and no element is read."""
    with pytest.raises(ix.UnsupportedDTypeError, match=rule):
        np.asarray(make())


# ---------------------------------------------------------------- __array_interface__


def test_the_record_has_the_keys_of_version_3():
    """And none of the CUDA Array Interface; strides, in bytes, unless it is C-contiguous."""
    memory = np.zeros((2, 3), "f4")

    assert ix.asarray(memory).__array_interface__ == {
        "shape": (2, 3),
        "typestr": "<f4",
        "data": (memory.ctypes.data, False),
        "strides": None,
        "version": 3,
    }
    assert ix.asarray(memory[:, ::-2]).__array_interface__["strides"] == (12, -8)


@pytest.mark.parametrize("generation", ["versioned", "legacy"])
def test_the_record_says_read_only_unless_writing_is_known_to_be_allowed(generation):
    """Unknown writability is recorded as read-only, since the record cannot represent it."""
    source = producers.host().but(flags=1, generation=generation)

    assert ix.from_dlpack(source).__array_interface__["data"][1] is True


@pytest.mark.parametrize(
    "make",
    [
        packed,
        lambda: ix.from_pointer(8, (1,), "bfloat16"),
        lambda: ix.from_pointer(8, (1,), "float32x2"),
        lambda: ix.from_pointer(8, (1,), "float32", device="cuda:0"),
        lambda: ix.from_pointer(8, (1,), "float32", device="opencl:0"),
    ],
    ids=["packed", "bfloat16", "lanes", "cuda", "handle"],
)
def test_what_the_record_cannot_say_has_no_record(make):
    """`hasattr` returns False for an array without a record, and no other error is raised."""
    assert not hasattr(make(), "__array_interface__")


@pytest.mark.parametrize("device", ["cuda_host:0", "cuda_managed:0", "rocm_host:0"])
def test_what_the_host_can_read_has_a_record(device):
    """Page-locked and managed memory have addresses that the host follows."""
    memory = np.arange(3.0)
    array = ix.from_pointer(memory.ctypes.data, (3,), "float64", device=device, owner=memory)

    assert np.asarray(array).tolist() == [0.0, 1.0, 2.0]


@pytest.mark.parametrize("shape", [(0,), (3, 0)])
def test_numpy_takes_a_record_of_nothing(shape):
    """The address is not 0, which NumPy before 2.4 refuses."""
    array = ix.asarray(np.zeros(shape))

    assert array.ptr == 0
    assert array.__array_interface__["data"][0] != 0
    assert np.asarray(array).shape == shape
