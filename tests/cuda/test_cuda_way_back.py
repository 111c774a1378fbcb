"""After work of this package on memory, earlier users wait, including the producer's stream.

Source: CUDA Array Interface, version 3, Synchronization (the consumer's duties).
"""

from __future__ import annotations

import pytest

import interchange as ix
from interchange import cuda as kernels

pytestmark = [pytest.mark.emulated, pytest.mark.gpu]

IMPORTS = {
    "from_cai": lambda p, s: ix.from_cai(p, stream=s),
    "asarray": lambda p, s: ix.asarray(p, stream=s),
    "from_dlpack": lambda p, s: ix.from_dlpack(ix.from_cai(p), stream=s),
    "twice": lambda p, s: ix.from_dlpack(ix.from_cai(p, stream=1), stream=s),
    "to_cai": lambda p, s: ix.asarray(ix.to_cai(p, stream=s)),
    "a loan that ended": lambda p, s: _lent(ix.from_cai(p, stream=s)),
}


def _lent(x):
    """Return a borrowed Array after the end of the loan."""
    with ix.borrow(x, stream=x.__cuda_array_interface__["stream"]) as loan:
        return loan


def _exported(x, stream):
    """Return the copy that an export makes."""
    capsule = x.__dlpack__(copy=True, stream=stream, max_version=(1, 0))
    return ix.from_dlpack(capsule, stream=stream)


COPIES = {
    "copy": lambda x, _: x.copy(),
    "copy on another stream": lambda x, other: x.copy(stream=other),
    "of a view": lambda x, _: x[::2].copy(),
    "in Fortran's order": lambda x, _: x.reshape((64, 64)).copy(order="F"),
    "through the host": lambda x, _: x[::-1].copy(),
    "__dlpack__": lambda x, _: _exported(x, x.__cuda_array_interface__["stream"]),
    "__dlpack__ on another stream": _exported,
    "from_dlpack": lambda x, _: ix.from_dlpack(x, copy=True),
    "asarray": lambda x, _: ix.asarray(x, copy=True),
    "asarray on another stream": lambda x, other: ix.asarray(x, copy=True, stream=other),
    "of to_cai": lambda x, _: ix.asarray(ix.to_cai(x), copy=True),
    "cuda.to_device": kernels.to_device,
    "page-locked": lambda x, _: x.to_device("cuda_host"),
}
ELSEWHERE = {
    "to_device": lambda x: x.to_device("cuda:1"),
    "to_device of a view": lambda x: x[::2].to_device("cuda:1"),
    "asarray": lambda x: ix.asarray(x, device="cuda:1"),
    "__dlpack__": lambda x: ix.from_dlpack(
        x.__dlpack__(dl_device=(2, 1), max_version=(1, 0), stream=1), stream=1
    ),
}


@pytest.mark.parametrize("way_in", IMPORTS)
@pytest.mark.parametrize("copy", COPIES)
def test_the_producer_waits_for_a_copy(cuda, produce, gate, way_in, copy):
    """The producer's next write runs after the read, though the consumer's stream is held."""
    producer, stream, other = produce(cuda.stream()), cuda.stream(), cuda.stream()
    x = IMPORTS[way_in](producer, stream)
    waits_on_host = copy in {"through the host", "page-locked"}
    held = () if waits_on_host else (gate(stream), gate(other))

    copied = COPIES[copy](x, other)
    producer.write(9)
    for shut in held:
        shut.open()
    cuda.synchronize()

    assert set(copied.to_device("cpu").tobytes()) == {0}


@pytest.mark.parametrize("copy", ELSEWHERE)
def test_the_producer_waits_for_a_move(cuda, produce, gate, copy):
    """The same applies to a copy on another device."""
    if len(cuda.contexts) < 2:
        pytest.skip("needs two devices")
    producer, stream = produce(cuda.stream()), cuda.stream()
    x = ix.from_cai(producer, stream=stream)
    shut = gate(stream)

    moved = ELSEWHERE[copy](x)
    producer.write(9)
    shut.open()
    cuda.synchronize_all()

    assert set(moved.to_device("cpu").tobytes()) == {0}


def test_a_copy_is_waited_for_by_the_next_user_of_a_copy(cuda, produce, gate):
    """The state of a copy that is done is discarded until it is read again."""
    producer, stream, consumer = produce(cuda.stream()), cuda.stream(), cuda.stream()
    x = ix.from_cai(producer).copy()
    cuda.synchronize()
    shut = gate(stream)

    copied = x.copy(stream=stream)
    taken = x.__dlpack__(stream=consumer)
    cuda.fill(x.ptr, 9, consumer)
    shut.open()
    cuda.synchronize()

    assert set(copied.to_device("cpu").tobytes()) == {0}
    del taken


def test_a_copy_does_not_follow_who_asked_for_no_order(emulator, cuda, produce):
    """With ``stream=-1`` the caller is responsible for the order: the record is not read again."""
    producer = produce(cuda.stream())
    x = ix.from_cai(producer, stream=-1)
    reads = producer.reads

    with emulator.trace() as trace:
        x.copy()

    assert producer.reads == reads
    assert "cuStreamWaitEvent" not in trace.names


def test_a_copy_that_the_producer_cannot_follow_is_refused(emulator, cuda, produce):
    """It is refused during a capture, before any work is enqueued."""
    producer, stream = produce(cuda.stream()), cuda.stream()
    x = ix.from_cai(producer, stream=stream)
    cuda("cuStreamBeginCapture", producer.published, 2)  # relaxed capture mode
    try:
        with emulator.trace() as trace, pytest.raises(ix.StreamError) as caught:
            x.copy()
    finally:
        cuda("cuStreamEndCapture", producer.published)

    assert caught.value.rule == "DLP-STREAM-8"
    assert not {"cuMemAlloc", "cuMemcpyAsync", "cuEventRecord"} & set(trace.names)


@pytest.mark.interop  # llvmlite compiles kernels
@pytest.mark.parametrize("way_in", IMPORTS)
def test_the_producer_waits_for_a_kernel(cuda, produce, way_in, gate):
    """A launch is a loan: at its end all earlier users of the memory wait."""
    producer, stream = produce(cuda.stream()), cuda.stream()
    x, out = (
        IMPORTS[way_in](producer, stream),
        kernels.device_array(producer.size, "uint8", stream=stream),
    )
    shut = gate(stream)

    _copy_bytes[1, 1, stream](x, out)
    producer.write(9)
    shut.open()
    cuda.synchronize()

    assert set(out.to_device("cpu").tobytes()) == {0}


@kernels.jit
def _copy_bytes(x, out):
    for i in range(x.size):
        out[i] = x[i]


def test_the_default_stream_waits_where_a_producer_was_told_of_none(cuda, gate):
    """The producer was assumed to use the default stream, and continues there."""
    stream, ptr = cuda.stream(), cuda.memory()
    described = ix.from_pointer(ptr, (4096,), "uint8", device="cuda:0", stream=1)

    class NoStream:
        def __dlpack_device__(self):
            return (2, 0)

        def __dlpack__(self, *, max_version=None):
            return described.__dlpack__(max_version=max_version)

    x = ix.from_dlpack(NoStream(), stream=stream)
    shut = gate(stream)
    copied = x.copy()
    cuda.fill(ptr, 9, 1)
    shut.open()
    cuda.synchronize()

    assert set(copied.to_device("cpu").tobytes()) == {0}
