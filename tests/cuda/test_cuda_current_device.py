"""Producers that only know the stream of the current device are called with theirs current."""

from __future__ import annotations

import ctypes
import threading
from types import SimpleNamespace

import pytest

import interchange as ix
from interchange import Device
from interchange._functions import targets
from interchange._streams.driver import driver_of

pytestmark = [pytest.mark.emulated, pytest.mark.gpu]

SIZE = 4096
LATER = 0.05  # delay before a stream that the host may wait for continues [seconds]
AWAY, HOME = 0, 1  # the current device, and that of the memory


def current_device(cuda):
    """Return the current device."""
    return cuda.contexts.index(int(cuda("cuCtxGetCurrent")))


class OnCurrentStream:
    """An array of a library that orders and publishes the current stream of the current device."""

    def __init__(self, cuda):
        self.cuda = cuda
        self.streams = []
        for device in (0, 1):
            with cuda.device(device):
                self.streams.append(cuda.stream())
        with cuda.device(HOME):
            self.ptr = cuda.memory()
        self.asked_on = []
        self.error = None

    def stream(self):
        """Return the current stream; record the device that was current."""
        self.asked_on.append(current_device(self.cuda))
        if self.error is not None:
            raise self.error
        return self.streams[self.asked_on[-1]]

    def write(self, value):
        """Enqueue a write on the stream of the array's own device."""
        with self.cuda.device(HOME):
            self.cuda.fill(self.ptr, value, self.streams[HOME])

    @property
    def array(self):
        return ix.from_pointer(self.ptr, (SIZE,), "uint8", device=f"cuda:{HOME}", owner=self)


class LikeCuPy(OnCurrentStream):
    """An array with DLPack."""

    def __dlpack_device__(self):
        return (2, HOME)

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        mine, event = self.stream(), self.cuda("cuEventCreate", 2)
        self.cuda("cuEventRecord", event, mine)
        self.cuda("cuStreamWaitEvent", stream, event, 0)
        self.cuda("cuEventDestroy", event)
        return self.array.__dlpack__(stream=-1, max_version=max_version)


class OfRecords(OnCurrentStream):
    """An array with the CUDA Array Interface."""

    @property
    def __cuda_array_interface__(self):
        record = self.array.__cuda_array_interface__
        return {**record, "stream": self.stream()}


@pytest.fixture
def two(cuda):
    """Return the driver with two devices, the first one current."""
    if len(cuda.contexts) < 2:
        pytest.skip("there is one device")
    return cuda


ONE_PROTOCOL = {
    "cuda.as_cuda_array": OfRecords,
    "from_cai": OfRecords,
    "from_dlpack": LikeCuPy,
    "xp.from_dlpack": LikeCuPy,
}
"""Functions that accept only one of the protocols."""


def exported(x, *, stream):
    """Return a capsule of an Array over a producer's memory."""
    return ix.asarray(x).__dlpack__(stream=stream, max_version=(1, 1))


@pytest.mark.parametrize("kind", [LikeCuPy, OfRecords])
def test_a_consumer_waits_for_the_producers_device_whichever_is_current(
    two, gate, taking_stream, kind
):
    """The event or the published stream is that of its work (DLP-DEV-8)."""
    if ONE_PROTOCOL.get(taking_stream.name.partition(",")[0], kind) is kind:
        waits_for_the_producer(two, gate, taking_stream, kind)


@pytest.mark.parametrize("kind", [LikeCuPy, OfRecords])
def test_an_export_waits_for_the_producers_device_whichever_is_current(two, gate, kind):
    """An Array that was imported without a stream waits as well."""
    waits_for_the_producer(two, gate, exported, kind)


def waits_for_the_producer(two, gate, take, kind):
    """Assert that the result of a function is read after the producer's work, on its device."""
    producer = kind(two)
    with two.device(HOME):
        stream = two.stream()
    shut = gate(producer.streams[HOME])
    producer.write(7)

    taken = take(producer, stream=stream)
    with two.device(HOME):
        assert two.read_around(shut, producer.ptr, stream) == ({0}, {7})
    assert current_device(two) == AWAY
    del taken


class OfManaged(LikeCuPy):
    """An array of managed memory, whose device id has no meaning."""

    def __init__(self, cuda):
        super().__init__(cuda)
        with cuda.device(HOME):
            self.ptr = cuda.managed()
        ctypes.memset(self.ptr, 0, SIZE)
        self.answers = 99

    def __dlpack_device__(self):
        return (13, 0)

    @property
    def array(self):
        return ix.from_pointer(self.ptr, (SIZE,), "uint8", device="cuda_managed", owner=self)

    def __dlpack__(self, **keywords):
        if not self.answers:
            raise KeyError("asked again")
        self.answers -= 1
        keywords = {"stream": None, **keywords}
        return super().__dlpack__(**keywords)


IN_ORDER = {
    "a stream": (lambda x, s: ix.from_dlpack(x, stream=s), None),
    "a default stream": (lambda x, _: ix.from_dlpack(x, stream=1), 1),
    "no stream": (lambda x, _: ix.from_dlpack(x), 1),
    "asarray": (lambda x, s: ix.asarray(x).__dlpack__(stream=s, max_version=(1, 1)), None),
    "one that answers once": (lambda x, s: ix.from_dlpack(x, stream=s), None),
}


@pytest.mark.parametrize("way", IN_ORDER)
def test_managed_memory_is_asked_for_on_its_device_too(two, gate, way):
    """The address gives the device; a consumer's default stream is that of the current device."""
    (take, named), producer, target = IN_ORDER[way], OfManaged(two), two.pinned()
    if way == "one that answers once":
        producer.answers = 1
    stream = two.stream() if named is None else named
    shut = gate(producer.streams[HOME])
    producer.write(7)
    timer = threading.Timer(LATER, shut.open)  # the host waits for a producer that is called once
    timer.start()

    taken = take(producer, stream)
    two.copy(target, producer.ptr, stream)
    timer.join()
    two.synchronize_all()

    assert set(ctypes.string_at(target, SIZE)) == {7}
    assert current_device(two) == AWAY
    del taken


@pytest.mark.parametrize("wish", [{"copy": True}, {"device": "cpu"}, {"device": "cuda:0"}])
def test_copies_of_managed_memory_are_made_after_its_own_device(two, gate, wish):
    """A producer would copy at once if it were called with another device current."""
    producer = OfManaged(two)
    shut = gate(producer.streams[HOME])
    producer.write(7)
    timer = threading.Timer(LATER, shut.open)
    timer.start()

    found = ix.from_dlpack(producer, **wish)
    timer.join()

    assert set(found.to_device("cpu").tolist()) == {7}


def test_managed_memory_on_the_current_device_is_asked_for_once(two):
    """The device is already known."""
    producer = OfManaged(two)
    with two.device(HOME):
        ix.from_dlpack(producer)

    assert producer.asked_on == [HOME]


@pytest.mark.parametrize("kind", [LikeCuPy, OfRecords])
def test_the_users_device_is_current_again_when_a_producer_raises(two, kind):
    """The device is restored after every exception; a record is refused when it is read."""
    producer = kind(two)
    take = ix.from_dlpack
    if kind is OfRecords:
        array = ix.from_cai(producer)
        take = lambda _: array.__dlpack__(stream=1, max_version=(1, 1))  # noqa: E731
    producer.error = KeyError("the producer's own")

    with pytest.raises(KeyError, match="the producer's own"):
        take(producer)

    assert producer.asked_on[-1] == HOME
    assert current_device(two) == AWAY


def test_the_way_back_is_to_the_stream_of_the_producers_device(two, gate):
    """At the end of a loan the record is read with this device current."""
    producer = OfRecords(two)
    with two.device(HOME):
        stream = two.stream()

    with ix.borrow(producer, stream=stream, writable=True):
        shut = gate(stream)
        with two.device(HOME):
            two.fill(producer.ptr, 9, stream)
    with two.device(HOME):
        assert two.read_around(shut, producer.ptr, producer.streams[HOME]) == ({0}, {9})


def test_a_record_is_read_once_more_where_another_device_was_current(two):
    """Only its address gives the device; if it is current, the record is read once."""
    producer = OfRecords(two)
    ix.from_cai(producer)
    away = list(producer.asked_on)
    producer.asked_on.clear()
    with two.device(HOME):
        ix.from_cai(producer)

    assert (away, producer.asked_on) == ([AWAY, HOME], [HOME])


def test_a_record_that_is_not_to_be_waited_for_is_read_once(two):
    """With sync=False the stream is not used."""
    producer = OfRecords(two)
    ix.from_cai(producer, sync=False)

    assert producer.asked_on == [AWAY]


def test_a_record_that_describes_other_memory_on_its_device_is_refused(two):
    """The stream would belong to other memory (CAI-DATA-5)."""
    producer = OfRecords(two)
    elsewhere = producer.ptr
    with two.device(HOME):
        addresses = iter([elsewhere, two.memory()])

    class Changing(OfRecords):
        @property
        def __cuda_array_interface__(self):
            self.ptr = next(addresses)
            return super().__cuda_array_interface__

    producer.__class__ = Changing
    with pytest.raises(ix.ExchangeError, match="CAI-DATA-5"):
        ix.from_cai(producer)

    assert current_device(two) == AWAY


@pytest.mark.parametrize("stream", [None, "named"])
def test_a_library_is_handed_memory_with_its_device_current(two, monkeypatch, stream):
    """Numba, for example, binds an array to the current context."""
    seen = []

    def take(_, array, *__):
        seen.append(current_device(two))
        return array

    row = targets.TARGETS["numba"]._replace(module="math", take=take, take_on_stream=take)
    monkeypatch.setitem(targets.TARGETS, "numba", row)
    array = LikeCuPy(two).array
    array._flags = 0
    with two.device(HOME):
        handle = None if stream is None else two.stream()

    ix.convert(array, "numba", stream=handle)

    assert (seen, current_device(two)) == ([HOME], AWAY)


def test_a_namespace_is_handed_memory_with_its_device_current(two):
    """`upgrade`d namespaces and `like` call from_dlpack() of a library."""
    from interchange._functions.array_apis import api_of_namespace
    from interchange._functions.native_or_copy import give

    seen = []
    xp = SimpleNamespace(
        __name__="theirs", from_dlpack=lambda _: seen.append(current_device(two)), asarray=None
    )
    array = LikeCuPy(two).array

    give(array, api_of_namespace(xp), xp, may_copy=False, call="f()")

    assert (seen, current_device(two)) == ([HOME], AWAY)


def test_inspect_asks_a_producer_on_its_device(two):
    """Some producers refuse with another device current, and would appear broken."""
    producer = LikeCuPy(two)
    producer.streams[HOME] = 1

    ix.inspect(producer)

    assert HOME in producer.asked_on


def test_a_device_that_no_driver_has_is_left_to_its_producer(two):
    """Such a producer may number its devices differently."""
    asked = []

    class Elsewhere:
        def __dlpack_device__(self):
            return (2, 99)

        def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
            asked.append(current_device(two))
            array = ix.from_pointer(0, (0,), "uint8", device="cuda:99")
            return array.__dlpack__(stream=stream, max_version=max_version)

    assert str(ix.from_dlpack(Elsewhere()).device) == "cuda:99"
    assert asked == [AWAY]


@pytest.mark.parametrize(("device", "pushes"), [(AWAY, 1), (HOME, 0)])
def test_nothing_is_pushed_where_the_device_is_current(emulator, two, device, pushes):
    """One query is made, and no context is pushed or popped."""
    producer = LikeCuPy(two)
    producer.error = BufferError("no memory today")
    refused = pytest.raises(BufferError, match="no memory today")
    with two.device(device), emulator.trace() as trace, refused:
        ix.from_dlpack(producer)

    assert trace.names.count("cuCtxPushCurrent") == pushes
    assert "cuCtxGetDevice" in trace.names


@pytest.mark.usefixtures("two")
def test_nothing_is_asked_for_memory_of_the_host(emulator):
    """Host memory has no device."""
    import numpy as np

    class OnHost:
        def __dlpack_device__(self):
            return (1, 0)

        def __dlpack__(self, **keywords):
            return np.zeros(3).__dlpack__(**keywords)

    with emulator.trace() as trace:
        ix.from_dlpack(OnHost())
        ix.from_dlpack(np.zeros(3))
        ix.convert(np.zeros(3), "numpy")

    assert trace.names == []


def test_a_machine_with_one_device_asks_for_no_current_one(emulator, two, monkeypatch):
    """There is no other device."""
    from interchange._streams.driver import driver_of

    monkeypatch.setattr(driver_of(ix.Device(2), "f()"), "_count", 1)
    producer = LikeCuPy(two)
    producer.error = BufferError("no memory today")
    with emulator.trace() as trace, pytest.raises(BufferError, match="no memory today"):
        ix.from_dlpack(producer)

    assert "cuCtxPushCurrent" not in trace.names
    assert producer.asked_on == [AWAY]


def test_the_error_for_an_absent_device_lists_those_that_are_there():
    """A device that the driver does not have is refused, with the names of those it has."""
    count = driver_of(Device.of("cuda"), "test").count_devices("test")
    names = ", ".join(f"'cuda:{number}'" for number in range(count))

    with pytest.raises(ix.ExchangeError, match="there is no device 77") as caught:
        ix.asarray(b"abc", device="cuda:77")

    assert caught.value.hint == f"pass one of {names}"
