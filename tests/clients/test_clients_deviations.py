"""Deviations of clients from the rules: each row of the table about devices is reproduced.

If a test fails here, a client has changed: then its row and its releases change as well.
"""

from __future__ import annotations

import numpy as np
import pytest

import interchange as ix
from interchange._types.library import all_deviations

pytestmark = [pytest.mark.clients, pytest.mark.emulated]

of_stream_0 = pytest.mark.filterwarnings("ignore:__int__ returned non-int:DeprecationWarning")
"""Numba converts its stream to a number in a way that Python deprecates."""
SLOW = 0.005  # before each operation of a stream [seconds]


@pytest.fixture
def buffer(cuda_core, bindings):
    """Return a buffer of cuda.core, and the stream on which it was allocated."""
    stream = cuda_core.device.create_stream()
    found = cuda_core.device.allocate(bindings.size, stream=stream)
    stream.sync()
    return found, stream


def test_the_rows_of_clients_are_here():
    """Every row about these clients has the release that the tests below use."""
    rows = [row for row in all_deviations() if row.library in {"cuda.core", "numba"}]

    assert {row.releases for row in rows} == {"1.2.2", "numba-cuda 0.30.4"}


# ---------------------------------------------------------------- cuda.core


@pytest.mark.parametrize("kind", ["buffer", "view"])
@pytest.mark.parametrize("stream", [None, 1, 2, 0, "own"], ids=str)
def test_cuda_core_exports_without_a_wait(cuda_core, bindings, emulator, buffer, kind, stream):
    """For every ``stream``, 0 included: a buffer and a view track no work (DLP-STREAM-6)."""
    x, theirs = buffer
    if kind == "view":
        x = cuda_core.View.from_buffer(x, (bindings.size,), dtype=np.dtype("u1"))
    handle = int(bindings.stream()) if stream == "own" else stream
    emulator.delay(theirs.handle, SLOW)
    buffer[0].fill(7, stream=theirs)

    with emulator.trace() as trace:
        x.__dlpack__(stream=handle, max_version=(1, 0))

    assert {"cuEventRecord", "cuStreamWaitEvent", "cuStreamSynchronize"} & set(trace.names) == set()


def test_interchange_refuses_stream_0_before_it_asks(buffer):
    """The workaround: the stream is refused before a producer sees it."""
    with pytest.raises(ix.StreamError) as caught:
        ix.from_dlpack(buffer[0], stream=0)

    assert caught.value.rule == "DLP-STREAM-2"


def test_cuda_core_sends_streams_to_page_locked_memory(cuda_core, bindings):
    """-1 and other numbers are passed (DLP-STREAM-1); `convert` drops the number."""
    locked = ix.from_pointer(bindings.pinned(), (4,), "float32", device="cuda_host")

    with pytest.raises(ix.StreamError) as caught:
        cuda_core.View.from_dlpack(locked, stream_ptr=-1)

    assert caught.value.rule == "DLP-STREAM-1"
    assert ix.convert(locked, "cuda.core").ptr == locked.ptr


@pytest.mark.parametrize("stream", [0, -1])
def test_cuda_core_asserts_on_bad_streams(cuda_core, bindings, make_record, stream):
    """A record with stream 0 (CAI-STREAM-1) fails an assertion; interchange refuses it by rule."""
    record = make_record(bindings.memory(), stream)

    with pytest.raises(AssertionError):
        cuda_core.View.from_cuda_array_interface(record, stream_ptr=int(bindings.stream()))
    with pytest.raises(ix.StreamError) as caught:
        ix.from_cai(record)

    assert caught.value.rule == "CAI-STREAM-1"


@pytest.mark.parametrize("version", [0, 1, 2])
def test_cuda_core_refuses_old_records(cuda_core, bindings, make_record, version):
    """Below version 3 (CAI-VER-1); `to_cai` converts them to version 3."""
    record = make_record(bindings.memory(), None, version=version)

    with pytest.raises(BufferError, match="v3 or above"):
        cuda_core.View.from_cuda_array_interface(record, stream_ptr=1)
    view = cuda_core.View.from_cuda_array_interface(ix.to_cai(record), stream_ptr=1)

    assert view.ptr == record.__cuda_array_interface__["data"][0]


def test_cuda_core_makes_void_of_bfloat16(cuda_core, bindings):
    """The record has a void type (CAI-TYPESTR-2); `convert` uses DLPack."""
    pytest.importorskip("ml_dtypes", reason="bfloat16 takes ml_dtypes")
    array = ix.from_pointer(bindings.memory(), (4,), "bfloat16", device="cuda:0")

    view = cuda_core.View.from_cuda_array_interface(ix.to_cai(array), stream_ptr=1)

    assert view.dtype.kind == "V"
    assert view.dtype.name != "bfloat16"
    assert ix.convert(array, "cuda.core").dtype.name == "bfloat16"


# ---------------------------------------------------------------- numba-cuda


def test_numba_has_no_dlpack(numba):
    """Numba neither exports nor imports DLPack (DLP-NEG-1): the record is used."""
    x = numba.device_array(4, "f4")

    assert not hasattr(x, "__dlpack__")
    assert not hasattr(numba, "from_dlpack")
    assert ix.convert(ix.asarray(x), "numba").shape == (4,)


@of_stream_0
def test_numba_publishes_stream_0(numba):
    """The record of `default_stream` (CAI-STREAM-1) is refused; the legacy stream is the fix."""
    x = numba.device_array(4, "f4", stream=numba.default_stream())
    y = numba.device_array(4, "f4", stream=numba.legacy_default_stream())

    with pytest.raises(ix.StreamError) as caught:
        ix.asarray(x)

    assert x.__cuda_array_interface__["stream"] == 0
    assert caught.value.rule == "CAI-STREAM-1"
    assert ix.asarray(y).__cuda_array_interface__["stream"] == 1


@pytest.mark.parametrize("remedy", [False, True], ids=["as it is", "record with stream 1"])
def test_numba_publishes_none_for_the_legacy_stream(numba, bindings, emulator, remedy):
    """Work launched without a stream is pending there (CAI-STREAM-2): a race with other streams."""
    x = numba.device_array(bindings.size, "u1")
    record = x.__cuda_array_interface__
    emulator.delay(1, SLOW)
    emulator.fill(0, record["data"][0], bindings.size, 7, "kernel")
    array = ix.from_cai({**record, "stream": 1}, owner=x) if remedy else ix.from_cai(x)

    stream = int(bindings.stream())
    ready = ix.from_dlpack(array, stream=stream)
    found = bindings.read_on(ready.ptr, stream)
    emulator.delay(1, 0)

    assert record["stream"] is None
    if remedy:
        assert set(found) == {7}
    else:
        emulator.expect_reports(match="kernel on the legacy stream")


def test_numba_tells_no_stride_of_0(numba, bindings, make_record):
    """The record of an array that repeats a row claims C order (CAI-STRIDES-1)."""
    record = make_record(bindings.memory(), None, shape=(3, 4), typestr="<f4", strides=(0, 4))
    x = numba.as_cuda_array(record)

    assert x.strides == (0, 4)
    assert x.__cuda_array_interface__["strides"] is None
    assert ix.from_cai(record).strides == (0, 1)
    assert ix.from_cai(x).strides == (0, 1)


@pytest.mark.parametrize(
    ("make", "device"), [("managed_array", "cuda_managed:0"), ("mapped_array", "cuda_host:0")]
)
def test_numba_says_that_managed_memory_is_on_the_cpu(numba, bindings, emulator, make, device):
    """DLPack then orders nothing (DLP-STREAM-9); `asarray` uses the record."""
    x = getattr(numba, make)(bindings.size, "u1")

    assert x.__dlpack_device__() == (1, 0)
    assert str(ix.from_dlpack(x).device) == "cpu"
    assert str(ix.asarray(x).device) == str(ix.from_cai(x).device) == device
    assert emulator.reports() == []


def test_numba_forgets_read_only(numba, bindings):
    """`as_cuda_array` accepts it, and the array's record is writable (DLP-RO-3)."""
    array = ix.from_pointer(bindings.memory(), (4,), "uint8", device="cuda:0", readonly=True)

    x = numba.as_cuda_array(array)

    assert array.__cuda_array_interface__["data"][1] is True
    assert x.__cuda_array_interface__["data"][1] is False


@of_stream_0
def test_numba_takes_stream_0(numba, bindings, make_record):
    """Numba also publishes it again (CAI-STREAM-1)."""
    x = numba.as_cuda_array(make_record(bindings.memory(), 0))

    assert x.__cuda_array_interface__["stream"] == 0


@pytest.mark.parametrize("options", [{"version": 2}, {}], ids=["version 2", "sync=False"])
def test_numba_waits_for_nothing(numba, bindings, emulator, make_record, options):
    """The record cannot express pending work, or the user disables waiting (CAI-STREAM-2)."""
    stream = bindings.stream()
    emulator.delay(stream, SLOW)
    ptr = bindings.memory()
    bindings.fill(ptr, 7, stream)
    record = make_record(ptr, None if options else int(stream), **options)

    with emulator.trace() as trace:
        x = numba.as_cuda_array(record, sync=bool(options))
    other = numba.external_stream(int(bindings.stream()))
    x.copy_to_host(stream=other)

    assert "cuStreamSynchronize" not in trace.names
    emulator.expect_reports(match=r"\(RAW\)")


def test_a_record_of_version_2_is_safe_from_us(numba, bindings, emulator):
    """The workaround: the host waits before the record is returned."""
    stream = bindings.stream()
    emulator.delay(stream, SLOW)
    ptr = bindings.memory()
    bindings.fill(ptr, 7, stream)
    array = ix.from_pointer(ptr, (bindings.size,), "uint8", device="cuda:0", stream=stream)

    x = numba.as_cuda_array(ix.to_cai(array, version=2))
    other = numba.external_stream(int(bindings.stream()))

    assert set(x.copy_to_host(stream=other).tolist()) == {7}


def test_numba_makes_void_of_bfloat16(numba, bindings):
    """The record has a void type (CAI-TYPESTR-2); `convert` sets the dtype of the array."""
    pytest.importorskip("ml_dtypes", reason="bfloat16 takes ml_dtypes")
    array = ix.from_pointer(bindings.memory(), (4,), "bfloat16", device="cuda:0")

    assert numba.as_cuda_array(array).dtype.kind == "V"
    assert ix.convert(array, "numba").dtype.name == "bfloat16"


# ---------------------------------------------------------------- tvm-ffi


@pytest.mark.parametrize("taken_for", ["the legacy stream", "another"])
def test_tvm_passes_on_without_a_wait(need, bindings, emulator, taken_for):
    """The legacy stream waits, and the tensors are exported for any stream (DLP-STREAM-6)."""
    need("tvm_ffi")
    import tvm_ffi

    stream = bindings.stream()
    emulator.delay(stream, SLOW)
    ptr = bindings.memory()
    bindings.fill(ptr, 7, stream)
    array = ix.from_pointer(ptr, (bindings.size,), "uint8", device="cuda:0", stream=stream)
    tensor = tvm_ffi.from_dlpack(array)

    consumer = 1 if taken_for == "the legacy stream" else int(bindings.stream())
    found = bindings.read_on(ix.from_dlpack(tensor, stream=consumer).ptr, consumer)

    if consumer == 1:
        assert set(found) == {7}
    else:
        emulator.expect_reports(match=r"\(RAW\)")
