"""Objects with DLPack and a CUDA record, which publishes a stream and a mask."""

from __future__ import annotations

import pytest

import interchange as ix
from interchange import cuda as kernels

pytestmark = [pytest.mark.emulated, pytest.mark.gpu]

COUNT = 4096


class Both:
    """An array like CuPy's: DLPack makes the consumer's stream wait for that of the record."""

    def __init__(self, cuda, *, mask=None, version=3):
        self.stream = cuda.stream()
        self.ptr = cuda.memory(COUNT)
        self.cuda, self.mask, self.version = cuda, mask, version
        self.asked = []

    @property
    def __cuda_array_interface__(self):
        record = {"shape": (COUNT,), "typestr": "|u1", "data": (self.ptr, False)}
        record |= {"version": self.version, "mask": self.mask}
        return {**record, "stream": self.stream} if self.version == 3 else record

    def _described(self):
        return ix.from_pointer(
            self.ptr, (COUNT,), "uint8", device="cuda:0", stream=self.stream, owner=self
        )

    def __dlpack_device__(self):
        return 2, 0

    def __dlpack__(self, *, stream=None, max_version=None):
        self.asked.append(stream)
        return self._described().__dlpack__(stream=stream, max_version=max_version)


class OfTheInstance(Both):
    """The record is an attribute of the instance, not of its class."""

    __cuda_array_interface__ = None

    def __init__(self, cuda, **kwargs):
        super().__init__(cuda, **kwargs)
        record = Both.__cuda_array_interface__.fget(self)
        type(self).__cuda_array_interface__ = None
        self.__dict__["__cuda_array_interface__"] = record


PUBLISHED = {
    "to_cai": ix.to_cai,
    "asarray": ix.asarray,
}


@pytest.mark.parametrize("publish", PUBLISHED)
def test_the_stream_of_the_record_is_published(emulator, cuda, publish):
    """The published stream is the producer's; no stream waits before an export."""
    producer = Both(cuda)
    with emulator.trace() as trace:
        found = PUBLISHED[publish](producer).__cuda_array_interface__["stream"]

    assert found == producer.stream
    assert producer.asked == []
    assert not {"cuEventRecord", "cuStreamWaitEvent"} & set(trace.names)


@pytest.mark.parametrize(
    "copy", [lambda x: ix.asarray(x, copy=True), lambda x: ix.asarray(x).copy()]
)
def test_a_copy_runs_on_the_stream_of_the_record(emulator, cuda, copy):
    """The copy does not run on the default stream, which would have to wait."""
    producer = Both(cuda)
    with emulator.trace() as trace:
        copied = copy(producer)

    (stream,) = [call.args["stream"] for call in trace.calls if call.name == "cuMemcpyAsync"]
    assert stream == producer.stream
    assert producer.asked == []
    assert copied.__cuda_array_interface__["stream"] != 1


def test_a_consumer_that_keeps_its_duties_does_not_race(cuda, gate):
    """A correct consumer waits for the published stream, and makes it wait for the read."""
    producer, consumer, target = Both(cuda), cuda.stream(), cuda.pinned(COUNT)
    view = ix.to_cai(producer)
    cuda.fill(producer.ptr, 7, producer.stream, COUNT)
    shut = gate(consumer)

    with ix.borrow(ix.from_cai(view.__cuda_array_interface__), stream=consumer) as x:
        cuda.copy(target, x.ptr, consumer, COUNT)
    cuda.fill(producer.ptr, 9, producer.stream, COUNT)
    shut.open()

    assert cuda.read(target, COUNT) == {7}


COPIES = {
    "asarray": lambda x, s: ix.asarray(x, copy=True, stream=s),
    "from_dlpack": lambda x, s: ix.from_dlpack(x, copy=True, stream=s),
    "from_dlpack, copy": lambda x, s: ix.from_dlpack(x, stream=s).copy(),
    "a view": lambda x, s: ix.from_dlpack(x, stream=s)[::2].copy(),
}


@pytest.mark.parametrize("copy", COPIES)
@pytest.mark.parametrize("is_named", [False, True])
def test_the_producer_waits_for_a_copy(cuda, gate, copy, is_named):
    """The producer waits, whichever protocol was used for the import."""
    producer = Both(cuda)
    stream = cuda.stream() if is_named else None
    shut = gate(stream) if is_named else None

    copied = COPIES[copy](producer, stream)
    cuda.fill(producer.ptr, 9, producer.stream, COUNT)
    if shut is not None:
        shut.open()
    cuda.synchronize()

    assert set(copied.to_device("cpu").tobytes()) == {0}


def test_a_record_of_version_2_does_not_go_before_dlpack(cuda):
    """A record of version 2 has no stream; the DLPack producer orders the streams."""
    producer = Both(cuda, version=2)

    ix.asarray(producer)
    ix.to_cai(producer)

    assert producer.asked == [1, 1]


# ---------------------------------------------------------------- masks


@kernels.jit
def _nothing(x):
    x[0] = x[0]


def _launch(x):
    _nothing[1, 1](x)


@pytest.mark.parametrize("kind", [Both, OfTheInstance])
@pytest.mark.parametrize("version", [2, 3])
def test_a_mask_is_not_lost(cuda, taking, version, kind):
    """Every import checks the mask, which DLPack does not describe."""
    _refuses_mask(taking, kind(cuda, mask=Both(cuda), version=version))


@pytest.mark.parametrize("kind", [Both, OfTheInstance])
@pytest.mark.parametrize("version", [2, 3])
def test_a_kernel_does_not_lose_a_mask(cuda, version, kind):
    """An argument of a kernel is imported as by `asarray`."""
    _refuses_mask(_launch, kind(cuda, mask=Both(cuda), version=version))


def _refuses_mask(function, producer):
    """Assert that a function refuses an array because of its mask, before importing its memory."""
    for _ in range(2):  # the type is cached for the second call
        with pytest.raises(ix.InterchangeError) as caught:
            function(producer)

        assert caught.value.rule == "CAI-MASK-1", str(caught.value)
    assert producer.asked == []


def test_a_mask_of_an_array_of_the_host_is_not_lost(cuda):
    """A subclass of ndarray without a record is checked by its fields."""
    np = pytest.importorskip("numpy")

    class Managed(np.ndarray):
        @property
        def __cuda_array_interface__(self):
            return {"shape": (4,), "typestr": "|u1", "data": (1, False), "version": 3, "mask": self}

    x = np.zeros(4, "u1").view(Managed)
    for take in (ix.from_dlpack, ix.from_dlpack, ix.asarray, ix.asarray):
        with pytest.raises(ix.InterchangeError, match="CAI-MASK-1"):
            take(x)
    assert cuda


def test_data_and_mask_are_had_apart(cuda):
    """Data and mask are imported separately, as the error recommends."""
    producer = Both(cuda, mask=Both(cuda))

    data, mask = ix.from_cai(producer, mask="separate")

    assert (data.ptr, mask.ptr) == (producer.ptr, producer.mask.ptr)
