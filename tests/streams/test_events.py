"""Events for devices without a driver, or without events."""

from __future__ import annotations

import ctypes

import pytest

import interchange as ix
from interchange._streams.events import recorded_event_of, wait_for_foreign_event
from interchange._streams.pending import pending_work_of

CALL = "f()"
WORD = ctypes.c_void_p(64)  # a handle that is never dereferenced


def array_of(device, stream=None):
    """Return an Array on the given device."""
    return ix.from_pointer(4096, (4,), "uint8", device=device, stream=stream, owner=WORD)


def refusal(function, *args):
    """Return the error that a call raises."""
    with pytest.raises((ix.ExchangeError, ix.StreamError)) as caught:
        function(*args, CALL)
    return caught.value


@pytest.mark.parametrize("device", ["cuda:0", "cuda_managed", "cuda_host", "rocm:0", "rocm_host"])
@pytest.mark.usefixtures("no_driver")
def test_an_event_without_a_driver_is_refused(device):
    """The error has the missing package, and what the producer can do."""
    address = ctypes.addressof(WORD)
    error = refusal(wait_for_foreign_event, array_of(device), address, None, None)

    assert error.rule == "ARROW-DEVICE-2"
    assert device in str(error)
    assert "0x40" in str(error)
    assert "stream=-1" in str(error)


@pytest.mark.parametrize("device", ["cpu", "opencl:0", "metal:0"])
def test_an_event_of_a_device_without_events_is_refused(device):
    """The type of the event is unknown, so its address is not read."""
    error = refusal(wait_for_foreign_event, array_of(device), 8, None, None)

    assert error.rule == "ARROW-DEVICE-2"
    assert "sync_event, at 0x8" in str(error)
    assert "`stream=-1`" in str(error)


@pytest.mark.parametrize("device", ["cpu", "opencl:0", "metal:0"])
@pytest.mark.parametrize("stream", [None, 1, 7])
def test_a_stream_says_nothing_where_there_are_none(device, stream):
    """As in DLPack, producers on such devices receive no stream."""
    array = array_of(device)
    wait_for_foreign_event(array, 0, stream, None, CALL)

    assert array.device == device
    assert pending_work_of(array) is None


@pytest.mark.parametrize("device", ["cpu", "opencl:0", "metal:0"])
def test_who_has_waited_says_so(device):
    """With -1 the event is not used, on any device."""
    array = array_of(device)
    wait_for_foreign_event(array, ctypes.addressof(WORD), -1, None, CALL)

    assert pending_work_of(array) is None


@pytest.mark.parametrize("device", ["cuda:0", "cuda_managed", "rocm:0"])
@pytest.mark.usefixtures("no_driver")
def test_no_driver_is_needed_without_an_event(device):
    """The memory is ready on every stream."""
    array = array_of(device)
    wait_for_foreign_event(array, 0, None, None, CALL)

    assert array.__cuda_array_interface__["stream"] == 1


@pytest.mark.usefixtures("no_driver")
def test_no_driver_is_needed_for_no_sync():
    """No wait is made."""
    array = array_of("cuda:0")
    wait_for_foreign_event(array, ctypes.addressof(WORD), -1, None, CALL)

    assert array.__cuda_array_interface__["stream"] is None


@pytest.mark.usefixtures("no_driver")
def test_pending_work_without_a_driver_cannot_be_recorded():
    """The error has the missing package, and what the user can do."""
    error = refusal(recorded_event_of, [array_of("cuda:0", stream=7)])

    assert error.rule == "ARROW-DEVICE-3"
    assert "stream=7" in str(error)


@pytest.mark.parametrize("device", ["cpu", "cuda:0", "cuda_host", "metal:0"])
@pytest.mark.usefixtures("no_driver")
def test_no_driver_is_needed_where_nothing_is_pending(device):
    """No event is recorded."""
    assert recorded_event_of([array_of(device)], CALL) is None
