"""cuda.bindings and interchange: raw addresses and raw streams, imported and exported."""

from __future__ import annotations

import ctypes
import weakref

import numpy as np
import pytest

import interchange as ix

pytestmark = [pytest.mark.clients, pytest.mark.emulated]

SLOW = 0.005  # before each operation of a stream [seconds]


def describe(bindings, ptr, **options):
    """Return an Array of bytes at an address."""
    return ix.from_pointer(ptr, (bindings.size,), "uint8", device="cuda:0", **options)


def as_runtime_stream(handle):
    """Return a stream as an object of the runtime's bindings."""
    runtime = pytest.importorskip("cuda.bindings.runtime", reason="cuda-bindings has no runtime")
    return runtime.cudaStream_t(int(handle))


FORMS = {
    "CUstream": lambda stream: stream,
    "cudaStream_t": as_runtime_stream,
    "int": int,
    "c_void_p": lambda stream: ctypes.c_void_p(int(stream)),
    "NumPy": lambda stream: np.uint64(int(stream)),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_stream_is_taken_in_every_form(bindings, form):
    """Every form is accepted from a producer and from a consumer."""
    stream = bindings.stream()
    named = FORMS[form](stream)
    array = describe(bindings, bindings.memory(), stream=named)

    view = ix.to_cai(describe(bindings, bindings.memory()), stream=named)

    assert array.__cuda_array_interface__["stream"] == int(stream)
    assert view.__cuda_array_interface__["stream"] == int(stream)


@pytest.mark.parametrize("number", [1, 2])
def test_default_streams_are_their_numbers(bindings, emulator, number):
    """The legacy and the per-thread default stream are those of the current context."""
    emulator.delay(number, SLOW)
    ptr = bindings.memory()
    bindings.fill(ptr, 7, number)
    stream = bindings.stream()

    array = ix.from_dlpack(describe(bindings, ptr, stream=number), stream=stream)
    found = bindings.read_on(array.ptr, stream)
    emulator.delay(number, 0)

    assert set(found) == {7}


def test_a_null_stream_object_is_the_default(bindings):
    """``CUstream(0)`` is the default stream, as in the driver; the int 0 is refused."""
    null = bindings.api.CUstream(0)
    array = describe(bindings, bindings.memory(), stream=null)

    assert array.__cuda_array_interface__["stream"] == 1
    with pytest.raises(ix.StreamError) as caught:
        describe(bindings, bindings.memory(), stream=0)
    assert caught.value.rule == "DLP-STREAM-2"


def test_a_destroyed_stream_is_refused(bindings):
    """The error of the wait has the rule, and no resources are left."""
    stream = bindings("cuStreamCreate", 1)
    array = describe(bindings, bindings.memory(), stream=int(stream))
    bindings("cuStreamDestroy", stream)

    with pytest.raises(ix.StreamError) as caught:
        array.__dlpack__(stream=int(bindings.stream()))

    assert caught.value.rule == "DLP-STREAM-7"


def test_a_view_tells_a_pitched_copy_where_rows_are(bindings):
    """``cuMemcpy2DAsync`` accepts the address and the strides of a view."""
    host = np.arange(24, dtype="u1").reshape(4, 6)
    array = ix.from_pointer(bindings.upload(host.tobytes()), (4, 6), "uint8", device="cuda:0")
    view = array[1:3, 2:5]
    target = bindings.pinned(6)
    copy = bindings.api.CUDA_MEMCPY2D()
    copy.srcMemoryType = copy.dstMemoryType = bindings.api.CUmemorytype.CU_MEMORYTYPE_UNIFIED
    copy.srcDevice, copy.srcPitch = view.ptr, view.strides_in_bytes[0]
    copy.dstDevice, copy.dstPitch = target, 3
    copy.WidthInBytes, copy.Height = 3, 2

    bindings("cuMemcpy2DAsync", copy, bindings.stream())
    bindings.synchronize()

    assert list(ctypes.string_at(target, 6)) == host[1:3, 2:5].ravel().tolist()


def test_an_event_on_the_published_stream_is_enough(bindings, emulator):
    """A manual consumer records on the record's stream and waits on its own."""
    theirs, ours = bindings.stream(), bindings.stream()
    emulator.delay(theirs, SLOW)
    ptr = bindings.memory()
    bindings.fill(ptr, 7, theirs)
    record = describe(bindings, ptr, stream=theirs).__cuda_array_interface__

    event = bindings("cuEventCreate", 2)
    bindings("cuEventRecord", event, record["stream"])
    bindings("cuStreamWaitEvent", ours, event, 0)
    found = bindings.read_on(record["data"][0], ours)
    bindings("cuEventDestroy", event)

    assert set(found) == {7}


def test_memory_of_a_pool_is_given_back_on_its_stream(bindings, emulator):
    """An owner that calls ``cuMemFreeAsync`` is freed with the last view."""
    stream = bindings.stream()
    ptr = int(bindings("cuMemAllocAsync", bindings.size, stream))

    class Block:
        def __del__(self):
            bindings("cuMemFreeAsync", ptr, stream)

    before = emulator.live().device
    array = describe(bindings, ptr, owner=Block(), stream=stream)
    bindings.fill(array.ptr, 7, stream)
    view = ix.from_dlpack(array, stream=stream)[::2]
    del array
    bindings.synchronize()
    meanwhile = emulator.live().device
    del view
    bindings.synchronize()

    assert (meanwhile, emulator.live().device) == (before, before - 1)


def test_an_object_with_a_record_is_kept(bindings, make_record):
    """The object owns the memory, and its stream."""
    x = make_record(bindings.memory(), None)
    gone = weakref.ref(x)
    array = ix.from_cai(x)

    del x
    alive = gone() is not None
    del array

    assert (alive, gone()) == (True, None)


@pytest.mark.parametrize("readonly", [False, True])
def test_a_record_says_whether_memory_may_be_written(bindings, make_record, readonly):
    """The Array exports the flag in every protocol."""
    ptr = bindings.memory()

    array = ix.asarray(make_record(ptr, None, data=(ptr, readonly)))

    assert array.readonly is readonly
    assert array.__cuda_array_interface__["data"] == (ptr, readonly)
    assert ix.from_dlpack(array.__dlpack__(max_version=(1, 1))).readonly is readonly
