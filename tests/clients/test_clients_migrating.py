"""The guides for migrating from numba's `as_cuda_array` and cuda.core's `StridedMemoryView`.

Both versions of each function run on the emulated driver, and differ as the tables state.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import interchange as ix

pytestmark = [pytest.mark.clients, pytest.mark.emulated]

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples" / "migrating"
SLOW = 0.005  # before each operation of a stream [seconds]
WAITS = {"cuStreamSynchronize", "cuEventSynchronize", "cuCtxSynchronize"}  # of the host


def load(name):
    """Return a version of an example."""
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class OnlyDLPack:
    """An array of a library without the CUDA Array Interface."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **keywords):
        return self.array.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def rule_of(call, *args):
    """Return the rule of the error that a call raises, or its class."""
    with pytest.raises(Exception) as caught:
        call(*args)
    return getattr(caught.value, "rule", type(caught.value).__name__)


# ---------------------------------------------------------------- numba


@pytest.fixture
def snapshots(numba):  # noqa: ARG001 - the examples need it
    """Return both versions of `snapshot`."""
    return load("as_cuda_array_before").snapshot, load("as_cuda_array_after").snapshot


@pytest.fixture
def arrays(numba, bindings):
    """Return arrays of two producers of bytes, 7 and 0, their streams, and another stream."""
    streams = [numba.stream() for _ in range(3)]
    x, out = (
        numba.to_device(np.full(bindings.size, value, "u1"), stream=stream)
        for value, stream in zip((7, 0), streams, strict=False)
    )
    bindings.synchronize()
    return x, out, *streams


def fill(emulator, x, stream, value):
    """Enqueue a write of the producer."""
    emulator.fill(stream, ix.asarray(x).ptr, x.size, value, "kernel")


@pytest.mark.parametrize("version", [0, 1], ids=["before", "after"])
def test_snapshots_are_equal(snapshots, arrays, bindings, emulator, version):
    """Both versions copy what the producer wrote before; only numba lets the host wait."""
    x, out, theirs, _, stream = arrays
    emulator.delay(theirs, SLOW)
    fill(emulator, x, theirs, 8)

    with emulator.trace() as trace:
        snapshots[version](x, out, stream)

    assert bool(WAITS & set(trace.names)) is (version == 0)
    bindings.synchronize()
    assert set(out.copy_to_host().tolist()) == {8}


@pytest.mark.parametrize("version", [0, 1], ids=["before", "after"])
def test_the_next_write_of_the_producer(snapshots, arrays, bindings, emulator, version):
    """It is a race with the copy before, and waits for the copy after."""
    x, out, theirs, _, stream = arrays
    emulator.delay(stream, SLOW)

    snapshots[version](x, out, stream)
    fill(emulator, x, theirs, 9)
    bindings.synchronize()

    if version == 0:
        emulator.expect_reports(match=r"\(WAR\)")
    else:
        assert set(out.copy_to_host().tolist()) == {7}


def test_arguments_of_snapshot(snapshots, arrays, bindings):
    """Arrays with DLPack only, read-only memory, and host memory."""
    before, after = snapshots
    x, out, theirs, _, stream = arrays
    dlpack = OnlyDLPack(ix.asarray(x))
    constant = ix.from_pointer(
        bindings.memory(), (bindings.size,), "uint8", device="cuda:0", readonly=True, stream=theirs
    )

    assert rule_of(before, dlpack, out, stream) == "TypeError"
    after(dlpack, out, stream)
    before(x, constant, stream)
    bindings.synchronize()
    assert set(constant.to_device("cpu").tobytes()) == {7}
    assert rule_of(after, x, constant, stream) == "DLP-RO-3"
    assert rule_of(before, np.zeros(4, "u1"), out, stream) == "TypeError"
    with pytest.raises(ix.ContractError, match=r"to_device") as caught:
        after(np.zeros(4, "u1"), out, stream)
    assert caught.value.rule == "IX-REQUIRE-1"


@pytest.mark.filterwarnings("ignore:__int__ returned non-int:DeprecationWarning")
def test_default_streams_and_absent_ones(numba, snapshots, arrays, emulator):
    """Stream 0 is refused, and a producer without a stream lets the host wait afterwards."""
    _, out, _, _, stream = arrays
    zero = numba.device_array(out.size, "u1", stream=numba.default_stream())
    absent = numba.device_array(out.size, "u1")

    assert rule_of(snapshots[1], zero, out, stream) == "CAI-STREAM-1"
    with emulator.trace() as trace:
        snapshots[1](absent, out, stream)
    assert set(trace.names) & WAITS


def test_older_records(numba, snapshots, arrays, bindings, make_record, emulator):
    """Records of version 2 name no stream: the legacy default stream is waited for."""
    _, out, _, _, stream = arrays
    x = make_record(bindings.memory(), None, version=2)

    with emulator.trace() as trace:
        snapshots[0](x, out, stream)
    waits = [call.args["stream"] for call in trace.calls if call.name in WAITS]
    assert waits == [int(out.stream)]
    assert "cuStreamWaitEvent" not in trace.names
    bindings.synchronize()
    with emulator.trace() as trace:
        snapshots[1](x, out, stream)
    assert "cuStreamWaitEvent" in trace.names
    assert int(numba.legacy_default_stream()) == 1


# ---------------------------------------------------------------- cuda.core


@pytest.fixture
def clears(cuda_core):  # noqa: ARG001 - the examples need it
    """Return both versions of `clear`."""
    names = "strided_memory_view_before", "strided_memory_view_after"
    return [load(name).clear for name in names]


@pytest.fixture
def made(bindings):
    """Return a function that describes device memory of bytes, all 7: 4 x 4 int8."""

    def make(stream, **changes):
        ptr = bindings.memory(16, 7)
        return ix.from_pointer(ptr, (4, 4), "int8", device="cuda:0", stream=stream, **changes)

    return make


@pytest.mark.parametrize("version", [0, 1], ids=["before", "after"])
def test_clears_are_equal(clears, made, bindings, cuda_core, emulator, version):
    """Both versions clear after the producer's write."""
    theirs, stream = bindings.stream(), cuda_core.device.create_stream()
    x = made(theirs)
    emulator.delay(theirs, SLOW)
    bindings.fill(x.ptr, 9, theirs, x.nbytes)

    clears[version](x, stream)

    assert set(bindings.read_on(x.ptr, stream.handle, 16)) == {0}


@pytest.mark.parametrize("version", [0, 1], ids=["before", "after"])
def test_the_next_write_waits_for_the_memset(clears, made, bindings, cuda_core, emulator, version):
    """It is a race before, and ordered after."""
    theirs, stream = bindings.stream(), cuda_core.device.create_stream()
    x = made(theirs)
    emulator.delay(int(stream.handle), SLOW)

    clears[version](x, stream)
    bindings.fill(x.ptr, 9, theirs, x.nbytes)
    bindings.synchronize()

    if version == 0:
        emulator.expect_reports(match=r"\(WAW\)")
    else:
        assert set(emulator.read(x.ptr, 16)) == {9}


def test_memory_that_must_not_be_cleared(clears, made, bindings, cuda_core, emulator):
    """Read-only memory, and elements outside of a strided array: only ours refuses."""
    theirs, stream = bindings.stream(), cuda_core.device.create_stream()
    constant = made(theirs, readonly=True)
    column = made(theirs)[:, 0]

    assert rule_of(clears[1], constant, stream) == "DLP-RO-3"
    assert rule_of(clears[1], column, stream) == "IX-REQUIRE-1"
    for x in (constant, column):
        clears[0](x, stream)
    bindings.synchronize()
    assert set(emulator.read(constant.ptr, 16)) == {0}
    assert emulator.read(column.ptr, 5) == b"\0\0\0\0\7"  # not every fourth


def test_a_view_and_an_array_agree(made, bindings, cuda_core, make_record):
    """The attributes in the table; the view has no strides for records in C order."""
    theirs = bindings.stream()
    x = made(theirs)
    view = cuda_core.View.from_any_interface(x, stream_ptr=-1)
    record = cuda_core.View.from_cuda_array_interface(make_record(x.ptr, None, 16), stream_ptr=-1)

    assert (view.ptr, view.shape, view.size) == (x.ptr, x.shape, x.size)
    assert (view.strides or x.strides, x.strides) == ((4, 1), (4, 1))
    assert record.strides is None
    assert x.dtype == "int8"
    assert view.dtype == np.dtype("int8")
    assert cuda_core.View.from_dlpack(x.T, stream_ptr=-1).strides == x.T.strides
    assert rule_of(cuda_core.View.from_any_interface, bytearray(4), -1) == "BufferError"


def test_clear_takes_keywords_and_refuses_the_host(clears, made, bindings, cuda_core):
    """Names apply to keyword arguments; the contract requires device memory."""
    stream = cuda_core.device.create_stream()
    x = made(bindings.stream())

    clears[1](stream=stream, x=x)
    with pytest.raises(Exception):  # noqa: B017 - positions do not
        clears[0](stream=stream, x=x)

    assert set(bindings.read_on(x.ptr, stream.handle, 16)) == {0}
    assert rule_of(clears[1], bytearray(4), stream) == "IX-REQUIRE-1"
