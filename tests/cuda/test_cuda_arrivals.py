"""Imports by DLPack: the stream on which the memory is ready."""

from __future__ import annotations

import ctypes

import pytest

import interchange as ix

pytestmark = [pytest.mark.emulated, pytest.mark.gpu]

SIZE = 4096


@pytest.fixture
def memory(cuda):
    """Return the address of memory with pending work on a stream, and this stream."""
    return cuda.memory(), cuda.stream()


def export(memory, device="cuda:0", **keywords):
    """Return a capsule of memory with pending work."""
    ptr, stream = memory
    array = ix.from_pointer(ptr, (SIZE,), "uint8", device=device, stream=stream)
    return array.__dlpack__(**keywords)


def test_a_producer_without_the_keyword_is_ready_on_the_default_stream(cuda, memory):
    """A producer without ``stream=`` is ready on the default stream, so our stream waits for it."""

    class NoStream:
        def __dlpack_device__(self):
            return (2, 0)

        def __dlpack__(self, *, max_version=None):
            return export(memory, max_version=max_version)

    ptr, own = memory
    stream = cuda.stream()
    shut = cuda.fill_behind_gate(ptr, 1, own)
    array = ix.from_dlpack(NoStream(), stream=stream)

    assert cuda.read_around(shut, ptr, stream) == ({0}, {1})
    assert array.__cuda_array_interface__["stream"] == stream


def test_a_capsule_is_believed_about_its_device(cuda, memory):
    """The capsule says CUDA, not page-locked memory: no stream was sent, and the import orders."""

    class SaysPinned:
        def __dlpack_device__(self):
            return (3, 0)

        def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
            return export(memory, stream=stream, max_version=max_version)

    ptr, own = memory
    stream = cuda.stream()
    shut = cuda.fill_behind_gate(ptr, 1, own)
    array = ix.from_dlpack(SaysPinned(), stream=stream)

    assert array.device == "cuda:0"
    assert cuda.read_around(shut, ptr, stream) == ({0}, {1})


@pytest.mark.parametrize("keywords", ["named", "any"])
def test_a_producer_that_does_not_move_is_moved_after_its_work(cuda, memory, keywords):
    """The producer shares device memory for ``dl_device`` of the host: the copy waits first."""

    def share(_, *, stream=None, max_version=None):
        return export(memory, stream=stream, max_version=max_version)

    def refuse(_, **keywords):
        if keywords.pop("dl_device", None):
            raise BufferError("not here")
        keywords.pop("copy", None)
        return export(memory, **keywords)

    methods = {"__dlpack__": share if keywords == "named" else refuse}
    methods["__dlpack_device__"] = lambda _: (2, 0)
    producer = type("Producer", (), methods)()
    ptr, own = memory
    cuda.fill(ptr, 1, own)

    assert set(ix.from_dlpack(producer, device="cpu", stream=cuda.stream()).tolist()) == {1}


@pytest.mark.parametrize("stream", [0, -2, 2**64, 10**30])
def test_a_capsule_is_not_consumed_by_a_wrong_argument(cuda, memory, stream):
    """The capsule can be imported afterwards."""
    capsule = export(memory, stream=-1, max_version=(1, 1))
    with pytest.raises(ix.StreamError):
        ix.from_dlpack(capsule, stream=stream)

    assert ix.from_dlpack(capsule, stream=1).shape == (SIZE,)
    assert cuda is not None


def test_numpy_reads_managed_memory_after_the_work(cuda, produce):
    """NumPy treats managed memory as host memory, and names no stream (P66)."""
    import threading

    import numpy as np

    producer = produce(cuda.stream())
    producer.ptr = cuda.managed()
    ctypes.memset(producer.ptr, 0, SIZE)
    shut = producer.write_behind_gate(7)
    timer = threading.Timer(0.05, shut.open)
    timer.start()
    values = set(np.from_dlpack(ix.from_cai(producer)).tolist())
    timer.join()

    assert values == {7}


@pytest.mark.parametrize("stream", [None, 1])
def test_the_host_waits_for_managed_memory_that_no_stream_is_named_for(emulator, cuda, stream):
    """A host consumer names no stream (DLP-STREAM-9); if it names one, the stream waits."""
    own = cuda.stream()
    array = ix.from_pointer(
        cuda.managed(), (SIZE,), "uint8", device="cuda_managed", stream=own, owner=cuda
    )
    with emulator.trace() as trace:
        capsule = array.__dlpack__(stream=stream, max_version=(1, 1))

    assert ("cuStreamSynchronize" in trace.names) is (stream is None)
    assert ("cuStreamWaitEvent" in trace.names) is (stream is not None)
    del capsule


@pytest.mark.parametrize("way", ["__dlpack__", "from_cai", "borrow"])
def test_default_streams_of_managed_memory_are_the_current_devices(cuda, produce, way):
    """Stream 1 is a different stream while another device is current."""
    if len(cuda.contexts) < 2:
        pytest.skip("there is one device")
    producer = produce(cuda.stream())
    producer.ptr = cuda.managed()
    array = ix.from_cai(producer)
    producer.write(1)
    cuda("cuCtxSetCurrent", cuda.contexts[1])
    loan = ix.borrow(producer, stream=1, writable=True)
    taken = {
        "__dlpack__": lambda: array.__dlpack__(stream=1, max_version=(1, 1)),
        "from_cai": lambda: ix.from_cai(producer, stream=1),
        "borrow": loan.__enter__,
    }[way]()
    cuda.fill(producer.ptr, 2, 1)
    if way == "borrow":
        loan.__exit__(None, None, None)
    cuda("cuCtxSynchronize")
    cuda("cuCtxSetCurrent", cuda.contexts[0])

    assert set(ctypes.string_at(producer.ptr, SIZE)) == {2}
    assert taken is not None


def test_accepts_arrays_orders_page_locked_memory_too(cuda, produce):
    """Streams use page-locked memory, although DLPack sends no stream for it."""
    producer, stream, target = produce(cuda.stream()), cuda.stream(), cuda.memory()
    producer.ptr = cuda.pinned()

    @ix.accepts_arrays("x", stream="stream")
    def read(x, stream):
        cuda.copy(target, x.ptr, stream)

    shut = producer.write_behind_gate(5)
    read(producer, stream)
    shut.open()

    assert cuda.read(target) == {5}


def test_accepts_arrays_orders_the_per_thread_stream_of_another_thread(cuda):
    """Stream 2 is a different stream in each thread."""
    import threading

    ptr, target = cuda.memory(), cuda.pinned()
    array = ix.from_pointer(ptr, (SIZE,), "uint8", device="cuda:0", stream=2)
    cuda.fill(ptr, 8, 2)

    @ix.accepts_arrays("x", stream="stream")
    def read(x, stream):
        cuda.copy(target, x.ptr, stream)
        cuda("cuStreamSynchronize", stream)

    def work():
        cuda("cuCtxSetCurrent", cuda.contexts[0])
        read(array, 2)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()

    assert set(ctypes.string_at(target, SIZE)) == {8}


def test_a_producer_that_wants_its_device_current_is_asked_there(cuda):
    """The producer is called once, with its device current, and ours is restored (P84)."""
    if len(cuda.contexts) < 2:
        pytest.skip("there is one device")
    ptr, asked = cuda.memory(), []

    class Particular:
        def __dlpack_device__(self):
            return (2, 0)

        def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
            asked.append(int(cuda("cuCtxGetCurrent")))
            if asked[-1] != cuda.contexts[0]:
                raise BufferError("another device is current")
            array = ix.from_pointer(ptr, (SIZE,), "uint8", device="cuda:0")
            return array.__dlpack__(stream=stream, max_version=max_version)

    stream = cuda.stream()
    cuda("cuCtxSetCurrent", cuda.contexts[1])
    array = ix.from_dlpack(Particular(), stream=stream)
    current = int(cuda("cuCtxGetCurrent"))
    cuda("cuCtxSetCurrent", cuda.contexts[0])

    assert (array.ptr, asked, current) == (ptr, [cuda.contexts[0]], cuda.contexts[1])


def test_a_copy_names_the_stream_object_that_it_was_made_on(cuda):
    """The copy keeps its stream object alive (CAI: a stream outlives its publisher)."""
    import gc
    import weakref

    array = ix.from_pointer(cuda.memory(), (SIZE,), "uint8", device="cuda:0")
    stream = cuda.stream_object()
    gone, handle = weakref.ref(stream), stream.handle
    copied = ix.from_dlpack(array, stream=stream, copy=True)
    del stream
    gc.collect()

    assert copied.__cuda_array_interface__["stream"] == handle
    assert gone() is not None


@pytest.mark.parametrize("error", [BufferError, RuntimeError, NotImplementedError, ValueError])
def test_a_producer_that_cannot_move_its_memory_has_it_moved(error):
    """NumPy and other host libraries refuse ``dl_device`` with their own errors."""

    class OnTheHost:
        def __init__(self):
            self.array = ix.from_buffer(bytearray(b"abc"))

        def __dlpack_device__(self):
            return (1, 0)

        def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
            if dl_device is not None:
                raise error("unsupported device requested")
            return self.array.__dlpack__(max_version=max_version)

    for make in (OnTheHost, lambda: OnTheHost().array, lambda: bytearray(b"abc")):
        found = ix.asarray(make(), device="cuda:0")

        assert str(found.device) == "cuda:0"
        assert found.to_device("cpu").tolist() == list(b"abc")
