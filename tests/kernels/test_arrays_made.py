"""Arrays and events of `interchange.cuda`: refused arguments, and when an array gets its type."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import interchange as ix
from interchange import cuda
from interchange.cuda import int32, void
from interchange_conformance.emucuda.gates import Gate

from .comparing import run_in_threads

pytestmark = pytest.mark.interop


@pytest.mark.usefixtures("where")
@pytest.mark.parametrize("shape", [2**62, (2**40, 2**40), (2**61,)])
def test_an_array_larger_than_all_addresses_is_refused(shape):
    """The error is not an internal exception of Python."""
    with pytest.raises(ix.ArgumentError, match=r"\[IX-ARGUMENT-1\]"):
        cuda.device_array(shape, "float64")


def test_a_type_that_no_kernel_knows_is_refused_on_the_host(monkeypatch):
    """NumPy cannot allocate it."""
    monkeypatch.setattr("interchange.cuda.arrays.find_driver", lambda _: None)
    with pytest.raises(ix.UnsupportedDTypeError, match=r"\[CPY-NPM-1\]"):
        cuda.device_array(3, "float8_e4m3fn")


@cuda.jit(void(int32[::1]))
def number(x):
    i = cuda.grid(1)
    if i < len(x):
        x[i] = i


@pytest.mark.usefixtures("where")
def test_an_array_without_a_type_takes_that_of_the_signature():
    """Launch sizes are computed from the shape, which settles no type."""
    x = cuda.device_array((16,))
    number[x.ndim, max(x.size, len(x), x.shape[0])](x)

    assert (str(x.dtype), x.to_device("cpu").tolist()) == ("int32", list(range(16)))


@pytest.mark.usefixtures("where")
def test_two_threads_settle_one_array():
    """Otherwise each thread would write to a different array."""
    wrong = 0
    for _ in range(50):
        x = cuda.device_array(4)
        found = []
        start = threading.Barrier(4)

        def settle(_, x=x, found=found, start=start):
            start.wait()
            found.append(x.settled("float32").ptr)

        run_in_threads(4, settle)
        wrong += len(set(found)) != 1
    assert wrong == 0


@pytest.mark.usefixtures("where")
def test_the_time_to_what_is_no_event_is_refused():
    """The error has the rule."""
    event = cuda.event()
    event.record()
    with pytest.raises(ix.ArgumentError, match=r"\[CPY-EVENT-1\]"):
        event.elapsed_time(None)


@pytest.mark.emulated
@pytest.mark.gpu
@pytest.mark.usefixtures("cuda_driver")
def test_the_time_to_an_event_that_was_not_reached_is_refused():
    """The error asks the caller to synchronise first."""
    stream = cuda.stream()
    x = cuda.to_device(np.zeros(4, "i4"), stream=stream)
    number[1, 4, stream](x)
    first, second = cuda.event(), cuda.event()
    first.record(stream)
    stream.synchronize()
    with Gate(stream):
        number[1, 4, stream](x)
        second.record(stream)
        with pytest.raises(ix.ArgumentError, match="synchronize") as caught:
            first.elapsed_time(second)
    assert caught.value.rule == "CPY-EVENT-1"
