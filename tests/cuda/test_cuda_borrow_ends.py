"""The end of `borrow`: earlier users of the memory wait, whether they named a stream or not."""

from __future__ import annotations

import gc

import pytest

import interchange as ix

pytestmark = [pytest.mark.emulated, pytest.mark.gpu]


class Dlpack:
    """A producer with pending work on a stream that DLPack cannot express."""

    def __init__(self, cuda, stream):
        self.cuda, self.stream, self.ptr, self.size = cuda, stream, cuda.memory(), 4096

    def write(self, value):
        """Enqueue a write."""
        self.cuda.fill(self.ptr, value, self.stream)

    def __dlpack_device__(self):
        return (2, 0)

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        array = ix.from_pointer(
            self.ptr, (self.size,), "uint8", device="cuda:0", stream=self.stream, owner=self
        )
        return array.__dlpack__(stream=stream, max_version=max_version)


WAYS = {
    "itself": lambda x, _: x,
    "from_dlpack": lambda x, _: ix.from_dlpack(x),
    "from_dlpack(stream)": lambda x, s: ix.from_dlpack(x, stream=s),
    "asarray": lambda x, _: ix.asarray(x),
    "a view": lambda x, _: ix.from_dlpack(x)[10:],
}


@pytest.mark.parametrize("way", WAYS)
def test_a_dlpack_producer_finds_its_memory_done(cuda, way):
    """The producer named no stream, so the host waits, by whichever protocol it was imported."""
    producer, stream = Dlpack(cuda, cuda.stream()), cuda.stream()
    with ix.borrow(WAYS[way](producer, cuda.stream()), stream=stream, writable=True) as array:
        cuda.fill(array.ptr, 1, stream, array.size)
    producer.write(2)

    assert cuda.read(producer.ptr) == {2}


@pytest.mark.parametrize("way", ["from_cai", "from_cai(stream)", "from_dlpack of it"])
def test_a_producer_that_names_its_stream_waits_itself(cuda, produce, way):
    """The producer's stream waits, and so does one on which the memory was ready in between."""
    producer, stream, between = produce(cuda.stream()), cuda.stream(), cuda.stream()
    array = {
        "from_cai": lambda: ix.from_cai(producer),
        "from_cai(stream)": lambda: ix.from_cai(producer, stream=between),
        "from_dlpack of it": lambda: ix.from_dlpack(ix.from_cai(producer), stream=between),
    }[way]()
    with ix.borrow(array, stream=stream, writable=True) as lent:
        shut = cuda.fill_behind_gate(lent.ptr, 1, stream)
    cuda.fill(producer.ptr, 2, between if "stream" in way or "dlpack" in way else stream, 2048)
    cuda.fill(producer.ptr + 2048, 3, producer.published, 2048)
    shut.open()

    assert cuda.read(producer.ptr) == {2, 3}


def test_a_producer_lives_until_it_was_served(cuda):
    """A producer that only the loan keeps alive frees its memory in its stream, after our work."""

    class Temporary:
        def __init__(self):
            self.stream = int(cuda("cuStreamCreate", 1))
            self.ptr = int(cuda("cuMemAllocAsync", 4096, self.stream))

        @property
        def __cuda_array_interface__(self):
            return cuda.record_of(self.ptr, self.stream)

        def __del__(self):
            cuda.api.cuMemFreeAsync(self.ptr, self.stream)
            cuda.api.cuStreamDestroy(self.stream)

    stream = cuda.stream()
    with ix.borrow(Temporary(), stream=stream, writable=True) as array:
        cuda.fill(array.ptr, 2, stream)
        del array
        gc.collect()

    cuda.synchronize()


def test_where_an_order_fails_the_host_waits(emulator, cuda, produce):
    """If the producer's stream is destroyed, the work is done when the error is raised."""
    own = int(cuda("cuStreamCreate", 1))
    producer, stream = produce(own), cuda.stream()
    loan = ix.borrow(producer, stream=stream, writable=True)
    array = loan.__enter__()
    emulator.delay(stream, 0.02)
    cuda.fill(array.ptr, 1, stream)
    cuda("cuStreamDestroy", own)
    with pytest.raises(ix.StreamError) as caught:
        loan.__exit__(None, None, None)

    assert (caught.value.rule, emulator.pending(stream)) == ("DLP-STREAM-7", 0)


def test_what_was_lent_counts_as_before_afterwards(cuda, produce):
    """A view that outlives its loan is ordered after later work of the producer."""
    producer, stream = produce(cuda.stream()), cuda.stream()
    with ix.borrow(producer, stream=stream) as array:
        during = array.__cuda_array_interface__["stream"]
    producer.write(3)

    assert during == stream
    assert array.__cuda_array_interface__["stream"] == producer.published
    assert set(array.to_device("cpu").tolist()) == {3}


@pytest.mark.parametrize("kind", ["coroutine", "generator", "asynchronous generator"])
def test_what_runs_later_is_not_lent_to(kind):
    """The loan would end before the body of a coroutine or generator begins."""

    async def coroutine(x, s):
        return x, s

    def generator(x, s):
        yield x, s

    async def asynchronous(x, s):
        yield x, s

    function = {"coroutine": coroutine, "generator": generator}.get(kind, asynchronous)
    with pytest.raises(ix.ArgumentError, match="after it returned"):
        ix.accepts_arrays("x", stream="s", borrow=True)(function)


def test_a_record_that_cannot_be_read_leaves_dlpack(cuda):
    """`borrow` accepts every object that `asarray` accepts."""

    class Both(Dlpack):
        @property
        def __cuda_array_interface__(self):
            return {"shape": (4096,), "typestr": "|V1", "data": (self.ptr, False), "version": 3}

    producer, stream = Both(cuda, cuda.stream()), cuda.stream()
    with ix.borrow(producer, stream=stream) as array:
        assert array.dtype.name == "uint8"


def test_every_stream_in_between_is_served(cuda, produce):
    """All streams on which the memory was made ready wait at the end."""
    producer, first, second, stream = produce(cuda.stream()), *(cuda.stream() for _ in range(3))
    one = ix.from_cai(producer, stream=first)
    two = ix.from_dlpack(one, stream=second)
    with ix.borrow(two, stream=stream, writable=True) as array:
        cuda.fill(array.ptr, 1, stream)
    cuda.fill(producer.ptr, 2, first, 1024)
    cuda.fill(producer.ptr + 1024, 2, second, 1024)
    cuda.fill(producer.ptr + 2048, 2, producer.published, 2048)

    assert cuda.read(producer.ptr) == {2}


def test_a_loan_that_is_lent_on_by_its_record_goes_back_to_both(cuda, produce):
    """A loan that is exported with `to_cai` on another stream is returned to both streams."""
    producer, outer, between, inner = produce(cuda.stream()), *(cuda.stream() for _ in range(3))
    with ix.borrow(producer, stream=outer, writable=True) as array:
        view = ix.to_cai(array, stream=between)
        with ix.borrow(view, stream=inner, writable=True) as again:
            cuda.fill(again.ptr, 1, inner)
        cuda.fill(array.ptr, 2, outer)
    producer.write(3)

    assert cuda.read(producer.ptr) == {3}


def test_all_earlier_users_of_the_memory_are_waited_for(cuda, produce):
    """Work that was enqueued after the Array was made ready elsewhere is waited for as well."""
    producer, first, second, stream = produce(cuda.stream()), *(cuda.stream() for _ in range(3))
    one = ix.from_cai(producer, stream=first)
    two = ix.from_dlpack(one, stream=second)
    cuda.fill(one.ptr, 1, first, 2048)
    cuda.fill(producer.ptr + 2048, 1, producer.published, 2048)
    with ix.borrow(two, stream=stream, writable=True) as array:
        cuda.fill(array.ptr, 2, stream)

    assert cuda.read(producer.ptr) == {2}


def test_a_stream_that_is_named_for_the_way_back_is_waited_for_first(cuda, produce):
    """The named stream belongs to the producer."""
    producer, own, stream = produce(), cuda.stream(), cuda.stream()
    cuda.fill(producer.ptr, 1, own)
    with ix.borrow(producer, stream=stream, writable=True, back=own) as array:
        cuda.fill(array.ptr, 2, stream)
    cuda.fill(producer.ptr, 3, own)

    assert cuda.read(producer.ptr) == {3}


def test_both_streams_are_served_where_the_producer_names_one_and_the_borrower_another(
    cuda, produce
):
    """`back` is added to the published stream."""
    producer, own, stream = produce(cuda.stream()), cuda.stream(), cuda.stream()
    producer.write(1)
    with ix.borrow(producer, stream=stream, writable=True, back=own) as array:
        cuda.fill(array.ptr, 2, stream)
    cuda.fill(producer.ptr, 3, own, 2048)
    cuda.fill(producer.ptr + 2048, 3, producer.published, 2048)

    assert cuda.read(producer.ptr) == {3}
