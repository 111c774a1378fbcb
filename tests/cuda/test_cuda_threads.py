"""The per-thread default streams of two threads are different streams."""

from __future__ import annotations

import ctypes
import threading

import pytest

import interchange as ix

pytestmark = [pytest.mark.emulated, pytest.mark.gpu]


def in_thread(work):
    """Return the result of a function in a new thread, or raise its exception."""
    found = []

    def run():
        try:
            found.append((work(), None))
        except BaseException as error:  # noqa: BLE001 - raised again below
            found.append((None, error))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    result, error = found[0]
    if error is not None:
        raise error
    return result


@pytest.mark.parametrize("way", ["__dlpack__", "record", "borrow"])
def test_work_on_the_per_thread_stream_of_another_thread_is_waited_for(cuda, produce, way):
    """Stream 2 differs in each thread: the legacy stream covers those of all threads."""
    producer, target = produce(2), cuda.pinned()
    array = ix.from_cai(producer)
    producer.write(7)

    def take():
        cuda("cuCtxSetCurrent", cuda.contexts[0])
        stream = 2
        if way == "__dlpack__":
            taken = array.__dlpack__(stream=stream, max_version=(1, 1))
        elif way == "record":
            taken = stream = array.__cuda_array_interface__["stream"]
        else:
            taken = ix.borrow(array, stream=stream)
            taken.__enter__()
        cuda.copy(target, producer.ptr, stream)
        cuda("cuStreamSynchronize", stream)
        return taken

    in_thread(take)

    assert set(ctypes.string_at(target, producer.size)) == {7}


def test_a_loan_may_end_in_another_thread(cuda, produce):
    """Executors do this: work on the stream of the first thread is waited for."""
    producer = produce(cuda.stream())
    loan = ix.borrow(producer, stream=2, writable=True)
    array = loan.__enter__()
    cuda.fill(array.ptr, 5, 2)

    in_thread(lambda: loan.__exit__(None, None, None))
    target = cuda.pinned()
    cuda.copy(target, producer.ptr, producer.published)
    cuda.synchronize()

    assert set(ctypes.string_at(target, producer.size)) == {5}


def test_a_thread_without_a_context_can_take_memory(cuda, produce):
    """A worker that never used CUDA imports, orders and releases memory (P25, P28)."""
    producer, stream = produce(cuda.stream()), cuda.stream()

    def take():
        array = ix.from_cai(producer, stream=stream)
        capsule = ix.from_cai(producer).__dlpack__(stream=1, max_version=(1, 1))
        return array.shape, type(capsule).__name__

    assert in_thread(take) == ((producer.size,), "PyCapsule")


def test_threads_order_at_the_same_time(cuda, produce):
    """Two threads never use the same event at once."""
    producers = [produce(cuda.stream()) for _ in range(4)]
    streams = [cuda.stream() for _ in producers]
    targets = [cuda.pinned() for _ in producers]

    def work(i):
        cuda("cuCtxSetCurrent", cuda.contexts[0])
        for value in range(1, 60):
            producers[i].write(value)
            with ix.borrow(producers[i], stream=streams[i]) as array:
                cuda.copy(targets[i], array.ptr, streams[i])

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    cuda.synchronize()

    assert [set(ctypes.string_at(t, 4096)) for t in targets] == [{59}] * 4
