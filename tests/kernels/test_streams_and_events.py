"""Streams, events and arrays for kernels: on the CPU without a driver, and on a driver."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import interchange as ix
from interchange import cuda
from interchange.cuda.streams import DeviceStream


def test_whether_there_is_a_gpu_is_told(where):
    """Without a GPU, all objects are on the CPU."""
    assert cuda.is_available() == (where == "device")


def test_an_event_is_reached_when_the_work_before_it_is(where):  # noqa: ARG001 - as everywhere
    """The time since another event is available then."""
    stream, first, second = cuda.stream(), cuda.event(), cuda.event()
    first.record(stream)
    second.record(stream)
    second.wait(cuda.stream())
    second.synchronize()
    stream.synchronize()

    assert first.query()
    assert second.query()
    assert first.elapsed_time(second) >= 0
    assert cuda.event_elapsed_time(first, second) == first.elapsed_time(second)
    for events in ((first, 1), (1, second)):
        with pytest.raises(ix.ArgumentError, match=r"1 is not an event.*\[CPY-EVENT-1\]"):
            cuda.event_elapsed_time(*events)


def test_the_time_of_an_event_that_was_not_recorded_is_refused(where):  # noqa: ARG001
    """The event has no time."""
    recorded = cuda.event()
    recorded.record()
    with pytest.raises(ix.ArgumentError, match=r"\[CPY-EVENT-1\]"):
        recorded.elapsed_time(cuda.event())


def test_an_event_without_time_is_refused_where_time_is_asked_for(cuda_driver):  # noqa: ARG001
    """Such an event is cheaper to record."""
    first, second = cuda.event(timing=False), cuda.event(timing=False)
    first.record()
    second.record()
    second.synchronize()
    with pytest.raises(ix.ArgumentError, match=r"\[CPY-EVENT-1\]"):
        first.elapsed_time(second)


@pytest.mark.parametrize("stream", ["text", -1, 1.5, object()])
@pytest.mark.parametrize("call", ["record", "wait"])
def test_what_is_no_stream_is_refused(where, call, stream):  # noqa: ARG001 - as everywhere
    """The rules are those of all streams."""
    with pytest.raises(ix.StreamError):
        getattr(cuda.event(), call)(stream)


def test_a_stream_implements_the_stream_protocol(cuda_driver):  # noqa: ARG001 - it is loaded
    """The stream implements ``__cuda_stream__`` as in cuda.core."""
    stream = cuda.stream()

    assert stream.__cuda_stream__() == (0, stream.handle)
    assert ix.from_dlpack(cuda.device_array(4, "f4", stream=stream), stream=stream).shape == (4,)


def test_an_array_names_its_stream_and_keeps_it(cuda_driver):  # noqa: ARG001 - it is loaded
    """The stream lives as long as a consumer may wait for it."""
    stream = cuda.stream()
    handle = stream.handle
    array = cuda.device_array(4, "f4", stream=stream)
    del stream
    gc.collect()

    assert array.__cuda_array_interface__["stream"] == handle
    assert any(isinstance(each, DeviceStream) for each in gc.get_objects())


@pytest.mark.emulated
def test_streams_events_and_arrays_are_given_back(emulator):
    """The resources are freed with the objects."""
    cuda.device_array(4, "f4", stream=cuda.stream()), cuda.event()
    gc.collect()
    before = emulator.live()
    for _ in range(100):
        cuda.to_device(np.zeros(4), stream=cuda.stream())
        cuda.event().record()
    gc.collect()
    cuda.synchronize()

    after = emulator.live()
    assert (after.streams, after.device) == (before.streams, before.device)


SHAPES = {"an int": 3, "a tuple": (2, 3), "a list": [4], "no axes": (), "no elements": (0, 3)}


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_fresh_array_has_the_shape_and_order_that_were_asked_for(where, shape, order):
    """This holds on every device."""
    given = SHAPES[shape]
    array = cuda.device_array(given, np.float32, order)
    sizes = (given,) if isinstance(given, int) else tuple(given)

    assert (array.shape, str(array.dtype)) == (sizes, "float32")
    assert array.is_contiguous(order)
    assert (str(array.device) == "cpu") == (where == "CPU")


@pytest.mark.parametrize(
    "arguments", [(-1,), ((2, -1),), ("3",), (1.5,), (None,), ((2, 3), "f4", "K")]
)
def test_a_shape_or_order_that_is_none_is_refused(where, arguments):  # noqa: ARG001
    """The arguments are checked before the allocation."""
    with pytest.raises(ix.ArgumentError, match=r"\[IX-ARGUMENT-1\]"):
        cuda.device_array(*arguments)


@pytest.mark.parametrize("dtype", ["float32", "f4", np.float32, np.dtype("f4"), cuda.float32])
def test_an_element_type_may_be_named_in_every_way(where, dtype):  # noqa: ARG001
    """Types of NumPy, of kernels, and names are accepted."""
    assert str(cuda.device_array(3, dtype).dtype) == "float32"


def test_an_element_type_that_is_none_is_refused(where):  # noqa: ARG001 - as everywhere
    """The error has its name."""
    with pytest.raises(ix.UnsupportedDTypeError, match="no such type"):
        cuda.device_array(3, "no such type")


def test_a_copy_on_the_device_is_another_array(where):  # noqa: ARG001 - as everywhere
    """Host arrays and device arrays can be copied."""
    x = np.arange(6.0)
    first = cuda.to_device(x)
    second = cuda.to_device(first)

    assert len({first.ptr, second.ptr, ix.asarray(x).ptr}) == 3
    assert np.asarray(second.to_device("cpu")).tolist() == x.tolist()


def test_a_view_of_another_librarys_array_is_the_same_memory(cuda_driver):  # noqa: ARG001
    """The object and the dict are accepted; the object is kept alive."""
    there = cuda.to_device(np.arange(4))
    view = ix.to_cai(there)

    assert cuda.as_cuda_array(view).ptr == there.ptr
    record = view.__cuda_array_interface__
    assert cuda.from_cuda_array_interface(record, owner=there).ptr == there.ptr


def test_an_untyped_array_is_used_like_any_array(where):  # noqa: ARG001 - as everywhere
    """Its first use makes it float64."""
    x = cuda.device_array(4)

    assert repr(x) == "<untyped array of shape (4,)>"
    assert len(x) == 4
    assert str(ix.asarray(x).dtype) == "float64"
    assert x[1:].shape == (3,)
    assert ix.asarray(x).ptr == x.ptr
