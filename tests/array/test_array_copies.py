"""Copies and moves: which of them allocate memory, and which return the same array."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import interchange as ix
from interchange.testing import producers


def refusal(error, function, *arguments, **keywords):
    """Return the rule that a call is refused by, with exactly that class."""
    with pytest.raises(error) as caught:
        function(*arguments, **keywords)
    assert type(caught.value) is error
    return caught.value.rule


def packed(shape, strides=None):
    """Return an array of 4-bit integers that share bytes, and its bytes."""
    block = bytearray(range(1, 13))
    address = ix.from_buffer(block).ptr
    return ix.from_pointer(address, shape, "uint4", strides=strides, owner=block), block


def raw(array, nbytes):
    """Return the first bytes of an array's memory."""
    return ix.from_pointer(array.ptr, (nbytes,), "uint8", owner=array).tolist()


# ---------------------------------------------------------------- copy


@pytest.mark.parametrize("flags", [0, 1])
@pytest.mark.parametrize("generation", ["versioned", "legacy"])
def test_a_copy_may_be_written_and_keeps_no_reference(flags, generation):
    """A copy is writable even if the original is not, and keeps no reference to it."""
    source = producers.host().but(flags=flags, generation=generation)

    copied = ix.from_dlpack(source).copy()

    assert (copied.readonly, source.deleter_calls) == (False, 1)
    assert copied.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]


@pytest.mark.parametrize("shape", [(0,), (3, 0, 2)])
def test_a_copy_of_nothing_is_nothing(shape):
    """An array without elements has no address."""
    copied = ix.asarray(np.zeros(shape)).copy()

    assert (copied.shape, copied.ptr, copied.tolist()) == (shape, 0, np.zeros(shape).tolist())


@pytest.mark.parametrize("dtype", ["float32x2", "opaque64"])
def test_elements_that_numpy_does_not_know_are_copied(dtype):
    """Bytes are bytes: a copy needs no meaning."""
    block = bytearray(range(48))
    array = ix.from_pointer(ix.from_buffer(block).ptr, (6,), dtype, strides=(1,), owner=block)

    copied = array[::-1].copy()

    assert copied.dtype is array.dtype
    assert bytes(raw(copied, 48)) == b"".join(
        bytes(block[8 * i : 8 * i + 8]) for i in range(5, -1, -1)
    )


@pytest.mark.parametrize(("shape", "strides", "nbytes"), [((5,), None, 3), ((1, 4), (7, 1), 2)])
def test_packed_elements_are_copied_byte_by_byte(shape, strides, nbytes):
    """An odd number of halves is rounded up; the stride of an axis of length 1 is not used."""
    array, block = packed(shape, strides)

    copied = array.copy()

    assert (copied.dtype.name, copied.nbytes, copied.readonly) == ("uint4", nbytes, False)
    assert raw(copied, nbytes) == list(block[:nbytes])


@pytest.mark.parametrize(
    ("shape", "strides", "order"), [((3, 4), (1, 3), "C"), ((3, 4), None, "F"), ((4,), (2,), "C")]
)
def test_packed_elements_are_not_rearranged(shape, strides, order):
    """A copy into another order would need addresses for them."""
    array, _ = packed(shape, strides)

    assert refusal(ix.UnsupportedDTypeError, array.copy, order=order) == "DLP-DTYPE-5"


# ---------------------------------------------------------------- the copy module


def test_copy_copy_is_another_array_on_the_same_memory():
    """A shallow copy shares memory, as for all containers."""
    array = ix.asarray(np.zeros((2, 3)))

    again = copy.copy(array)

    assert again is not array
    assert (again.ptr, again.shape, again.strides) == (array.ptr, array.shape, array.strides)
    assert (again.readonly, again.owner) == (array.readonly, array.owner)


@pytest.mark.parametrize(
    ("flags", "generation", "expected"), [(1, "versioned", True), (0, "legacy", None)]
)
def test_copy_copy_keeps_what_may_be_written(flags, generation, expected):
    """Read-only and unknown survive."""
    source = producers.host().but(flags=flags, generation=generation)

    assert copy.copy(ix.from_dlpack(source)).readonly is expected


def test_deepcopy_has_its_own_memory():
    """A deep copy shares no memory, and works within containers."""
    memory = np.arange(6.0).reshape(2, 3)

    again = copy.deepcopy({"x": [ix.asarray(memory)]})["x"][0]
    memory[...] = 0

    assert again.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]


# ---------------------------------------------------------------- devices


@pytest.mark.parametrize(
    ("source", "device"),
    [
        *(("cpu", device) for device in ("cpu", "cpu:0", (1, 0), ix.Device(1))),
        *((device, device) for device in ("cuda:0", "rocm:1")),
    ],
    ids=repr,
)
def test_moving_to_where_it_is_returns_the_array_itself(source, device):
    """An array on the device is returned itself, also on devices that are not present."""
    array = ix.from_pointer(0xDEAD000, (3,), "float32", device=source)

    assert array.to_device(device) is array
    assert source == "cpu" or array.to_device(device, stream=7) is array


@pytest.mark.parametrize("device", ["cuda_host:0", "rocm_host:0"])
def test_page_locked_memory_is_on_the_host_too(device):
    """Page-locked memory moves to the CPU without a copy and keeps its attributes."""
    memory = np.arange(3.0)
    array = ix.from_pointer(
        memory.ctypes.data, (3,), "float64", device=device, readonly=True, owner=memory
    )

    moved = array.to_device("cpu")

    assert (moved.ptr, str(moved.device), moved.readonly) == (array.ptr, "cpu", True)
    assert moved.owner is memory
    assert moved.tolist() == [0.0, 1.0, 2.0]


@pytest.mark.usefixtures("no_driver")
@pytest.mark.parametrize(
    ("source", "target"),
    [("cpu", "cuda:0"), ("cuda:0", "cpu"), ("cuda:0", "cuda:1"), ("cpu", "cuda_host:0")],
)
def test_without_a_driver_nothing_is_moved(source, target):
    """Without a driver the error says what is missing and how to install it."""
    array = ix.from_pointer(0xDEAD000, (3,), "float32", device=source)

    with pytest.raises(ix.DriverUnavailableError, match="IX-DRIVER-1"):
        array.to_device(target)


@pytest.mark.parametrize(
    ("source", "target"),
    [("cpu", "cpu:1"), ("cpu", "opencl:0"), ("metal:0", "cpu"), ("cuda:0", "rocm:0")],
)
def test_other_moves_are_refused(source, target):
    """No driver copies between these devices; the error says which library does."""
    array = ix.from_pointer(0xDEAD000, (3,), "float32", device=source)

    with pytest.raises(ix.UnsupportedDeviceError) as caught:
        array.to_device(target)

    assert caught.value.rule == "DLP-DEV-6"
    assert f"from {ix.Device.of(source)} to {ix.Device.of(target)}" in caught.value.what
    fix = "'cpu', which is the whole host" if target == "cpu:1" else "library that owns the device"
    assert fix in caught.value.hint


@pytest.mark.parametrize(
    ("arguments", "error", "rule"),
    [
        ({"device": "gpu"}, ix.UnsupportedDeviceError, "DLP-DEV-1"),
        ({"device": None}, ix.ArgumentError, "IX-ARGUMENT-1"),
        ({"device": "cpu", "stream": "7"}, ix.StreamError, "DLP-STREAM-4"),
    ],
    ids=str,
)
def test_what_is_no_device_or_no_stream_is_refused(arguments, error, rule):
    """Misspelt devices are unknown ones; a stream must be valid even if nothing is ordered."""
    device = arguments.pop("device")

    assert refusal(error, ix.asarray(np.zeros(3)).to_device, device, **arguments) == rule
