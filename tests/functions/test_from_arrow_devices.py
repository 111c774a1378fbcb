"""Columns of Arrow on devices without a driver, or without events."""

from __future__ import annotations

import ctypes

import pytest

import interchange as ix
from interchange_conformance.zoo.arrow import Place, numbers

WORD = ctypes.c_void_p(64)  # an invalid handle, which is never dereferenced
EVENT = ctypes.addressof(WORD)


def refusal(source, **keywords):
    """Return the error of an import's refusal; all memory is released."""
    with pytest.raises(ix.ExchangeError) as caught:
        ix.from_arrow(source, **keywords)
    assert str(caught.value).startswith("from_arrow(): ")
    assert source.counts == source.due
    return caught.value


@pytest.mark.parametrize(
    ("place", "name"),
    [
        (Place(2, 1), "cuda:1"),
        (Place(3, -1), "cuda_host"),
        (Place(3, 0), "cuda_host"),
        (Place(4, 0), "opencl:0"),
        (Place(10, 2), "rocm:2"),
        (Place(11, -1), "rocm_host"),
        (Place(13, -1), "cuda_managed"),
        (Place(14, 0), "oneapi:0"),
        (Place(15, 0), "webgpu:0"),
        (Place(1, -1), "cpu"),
        (Place(1, 77), "cpu"),
    ],
)
@pytest.mark.usefixtures("no_driver")
def test_memory_that_is_ready_needs_no_driver(place, name):
    """Memory without an event is described in place; on the host the device id is ignored."""
    source = numbers("int32", 4).as_device_array(place)
    array = ix.from_arrow(source)

    assert (array.device, array.shape, array.ptr) == (name, (4,), source.chunks[0].buffers[1])


@pytest.mark.parametrize("device", [2, 3, 10, 11, 13])
@pytest.mark.usefixtures("no_driver")
def test_an_event_needs_a_driver(device):
    """An event needs a driver; the error says so, and what to do after waiting."""
    error = refusal(numbers().as_device_array(Place(device, 0, EVENT)))

    assert error.rule == "ARROW-DEVICE-2"
    assert "0x40" in str(error)
    assert "`stream=-1`" in str(error)


@pytest.mark.parametrize("device", [1, 4, 7, 8, 12, 14, 15])
def test_an_event_of_another_kind_is_refused(device):
    """An event of an unknown device type is refused, and the memory is not read."""
    source = numbers().as_device_array(Place(device, 0, 8))
    error = refusal(source)

    assert error.rule == "ARROW-DEVICE-2"
    assert "`stream=-1`" in error.hint
    assert ix.asarray(source, stream=-1).ptr == source.chunks[0].buffers[1]


@pytest.mark.parametrize("device", [1, 2, 3, 4, 10, 11, 13, 14])
@pytest.mark.usefixtures("no_driver")
def test_who_has_waited_needs_no_driver(device):
    """With stream -1 the event is ignored."""
    source = numbers("int32", 4).as_device_array(Place(device, 0, EVENT))

    assert ix.from_arrow(source, stream=-1).ptr == source.chunks[0].buffers[1]


def test_a_handle_has_no_elements_behind_it():
    """An element offset cannot be added to an opaque handle."""
    source = numbers("int32", 4, offset=2).as_device_array(Place(4, 0))

    assert refusal(source).rule == "ARROW-DEVICE-1"


@pytest.mark.parametrize(
    "place",
    [Place(0), Place(-1), Place(99), Place(2, -1), Place(10, -1), Place(2, 2**31), Place(3, -2)],
)
@pytest.mark.parametrize("kind", ["array", "stream"])
def test_a_device_that_does_not_exist_is_refused(place, kind):
    """Types and ids are DLPack's."""
    source = numbers().as_device_array(place)
    source = source if kind == "array" else source.as_device_stream()

    assert refusal(source).rule == "ARROW-DEVICE-1"
