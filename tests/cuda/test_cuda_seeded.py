"""The same transfers without their waits: the detector reports each race."""

from __future__ import annotations

import pytest

import interchange as ix

pytestmark = pytest.mark.emulated

TAKE = {
    "from_cai, __dlpack__(stream)": lambda x, s: ix.from_cai(x).__dlpack__(stream=s),
    "asarray, __dlpack__(stream)": lambda x, s: ix.asarray(x).__dlpack__(stream=s),
}


def pick(cuda, consumer):
    """Return the consumer's stream."""
    return {"another": cuda.stream(), "legacy": 1, "per-thread": 2}[consumer]


@pytest.mark.parametrize("way", TAKE)
@pytest.mark.parametrize("consumer", ["another", "legacy", "per-thread"])
@pytest.mark.parametrize("busy_on", [1, 3])
def test_a_read_without_the_wait_is_a_race(emulator, cuda, produce, way, consumer, busy_on):
    """The detector reports the read, whatever the timing."""
    read_without_the_wait(emulator, cuda, produce, TAKE[way], consumer, busy_on)


@pytest.mark.parametrize("consumer", ["another", "legacy", "per-thread"])
@pytest.mark.parametrize("busy_on", [1, 3])
def test_a_read_without_the_wait_of_a_function_is_a_race(
    emulator, cuda, produce, taking_stream, consumer, busy_on
):
    """This applies to every function that accepts a stream, and to a record."""
    if "from_dlpack" in taking_stream.name:
        return

    def take(x, stream):
        return taking_stream(x, stream=stream)

    read_without_the_wait(emulator, cuda, produce, take, consumer, busy_on)


def read_without_the_wait(emulator, cuda, produce, take, consumer, busy_on):
    """Import memory while waits have no effect, read it, and expect the report."""
    streams = [cuda.stream() for _ in range(busy_on)]
    producer = produce(*streams, published=streams[0])
    stream, target = pick(cuda, consumer), cuda.pinned()

    producer.write(7)
    with emulator.without_waits():
        taken = take(producer, stream)
    cuda.copy(target, producer.ptr, stream)
    cuda.synchronize()

    emulator.expect_reports()
    del taken


def test_a_loan_without_the_wait_on_entry_is_a_race(emulator, cuda, produce):
    """The read of the body is not ordered after the producer's write."""
    producer, stream, target = produce(cuda.stream()), cuda.stream(), cuda.pinned()

    producer.write(7)
    with emulator.without_waits(), ix.borrow(producer, stream=stream):
        cuda.copy(target, producer.ptr, stream)
    cuda.synchronize()

    emulator.expect_reports()


def test_a_loan_without_the_wait_on_exit_is_a_race(emulator, cuda, produce):
    """The producer's next write is not ordered after the read of the body."""
    producer, stream, target = produce(cuda.stream()), cuda.stream(), cuda.pinned()

    loan = ix.borrow(producer, stream=stream)
    with loan:
        cuda.copy(target, producer.ptr, stream)
        emulator_seam = emulator.without_waits()
        emulator_seam.__enter__()
    emulator_seam.__exit__(None, None, None)
    producer.write(9)
    cuda.synchronize()

    emulator.expect_reports()


def test_a_one_way_hand_over_leaves_the_way_back_open(emulator, cuda, produce):
    """DLPack cannot express that the consumer is done, which is why `borrow` exists."""
    producer, stream, target = produce(cuda.stream()), cuda.stream(), cuda.pinned()

    capsule = ix.from_cai(producer).__dlpack__(stream=stream)
    cuda.copy(target, producer.ptr, stream)
    del capsule
    producer.write(9)
    cuda.synchronize()

    emulator.expect_reports()


def test_a_producer_that_forgets_its_other_streams_is_a_race(emulator, cuda, produce):
    """No consumer can correct a wrong published stream (CAI-STREAM-2)."""
    producer, stream = produce(cuda.stream(), cuda.stream()), cuda.stream()
    target = cuda.pinned()

    producer.write(7)
    with emulator.without_waits():
        producer.__cuda_array_interface__  # noqa: B018 - its own ordering, lost
    producer.streams = producer.streams[:1]
    capsule = ix.from_cai(producer).__dlpack__(stream=stream)
    cuda.copy(target, producer.ptr, stream)
    cuda.synchronize()

    emulator.expect_reports()
    del capsule


@pytest.mark.parametrize("device", ["cuda:0", "cuda:1"])
def test_a_copy_that_the_producer_does_not_follow_is_a_race(emulator, cuda, produce, device):
    """The producer's next write is not ordered after the read on the consumer's stream."""
    producer, stream = produce(cuda.stream()), cuda.stream()
    x = ix.from_cai(producer, stream=stream)

    with emulator.without_waits():
        copied = ix.asarray(x, copy=True, device=device)
    producer.write(9)
    cuda.synchronize_all()

    emulator.expect_reports(match="write after read")
    del copied
