"""`convert` on devices: which library receives the memory, on which stream, and what is copied."""

from __future__ import annotations

import weakref

import pytest

import interchange as ix
from interchange._functions import targets

MINE = "library_of_this_test"


def refusal(error, *arguments, **keywords):
    """Return the error that a call is refused with, exactly of that class."""
    with pytest.raises(error) as caught:
        ix.convert(*arguments, **keywords)
    assert type(caught.value) is error
    assert str(caught.value).startswith("convert(): ")
    return caught.value


@pytest.fixture
def change(monkeypatch):
    """Return what changes the row of that library."""

    def change_row(**options):
        row = targets.TARGETS[MINE]._replace(**options)
        monkeypatch.setitem(targets.TARGETS, MINE, row)

    return change_row


class Emulated:
    """The first device of the driver, current."""

    def __init__(self):
        self.api = pytest.importorskip("cuda.bindings.driver", reason="no cuda-bindings")
        self.undo = []
        self("cuInit", 0)
        self("cuCtxSetCurrent", self("cuDevicePrimaryCtxRetain", 0))

    def __call__(self, name, *args):
        error, *answer = getattr(self.api, name)(*args)
        assert not error, f"{name}{args}: {error.name}"
        return answer[0] if answer else None

    def stream(self):
        stream = int(self("cuStreamCreate", 1))
        self.undo.append(("cuStreamDestroy", stream))
        return stream

    def memory(self, nbytes):
        ptr = int(self("cuMemAlloc", nbytes))
        self.undo.append(("cuMemFree", ptr))
        return ptr

    def close(self):
        self("cuCtxSynchronize")
        for name, handle in reversed(self.undo):
            self(name, handle)


@pytest.fixture
def device(emulator):  # noqa: ARG001 - it brings the driver
    """The first device of the emulated driver; its allocations are freed at the end."""
    found = Emulated()
    yield found
    found.close()


def on_device(ptr=4096, **options):
    """Return an Array of 6 numbers at an invalid device address, which is never dereferenced."""
    return ix.from_pointer(ptr, (2, 3), "float32", device="cuda:0", **options)


# ---------------------------------------------------------------- where libraries have arrays


@pytest.mark.parametrize("name", [name for name, row in ix.TARGETS.items() if row.memory != "any"])
def test_memory_is_not_handed_to_a_library_of_other_devices(name):
    """A library has arrays on the host, on devices, or on any; the error says how to move them."""
    where = ix.TARGETS[name].memory
    x, place, kind, rule = {
        "host": (on_device(), "cuda:0", "the host", "DLP-DEV-6"),
        "device": (bytearray(3), "cpu", "devices", "IX-CONVERT-2"),
    }[where]
    error = refusal(ix.UnsupportedDeviceError, x, name)

    assert error.rule == rule
    assert error.what == f"{name} has arrays on {kind} only, and the memory is on {place}"
    assert "pass `copy=True`" in error.hint


def test_memory_that_the_host_reaches_is_shared_as_the_hosts(library, change):
    """A library of the host gets the CPU's name of page-locked memory."""
    change(memory="host")
    block = bytearray(24)
    source = ix.from_buffer(block)
    locked = ix.from_pointer(source.ptr, (24,), "uint8", device="cuda_host", owner=block)

    ix.convert(locked, MINE)

    (array,) = library.given
    assert (str(array.device), array.ptr, array.readonly) == ("cpu", source.ptr, False)


@pytest.mark.parametrize("stream", [7, 1, -1])
def test_a_library_gets_memory_that_is_ready_on_the_stream_that_is_named(library, stream):
    """Without pending work there is no wait; the stream -1 asserts this."""
    ix.convert(on_device(), MINE, stream=stream)

    (array,) = library.given
    published = array.__cuda_array_interface__["stream"]
    assert published == (None if stream == -1 else stream)


class Stream:
    """A stream object."""

    def __cuda_stream__(self):
        return (0, 7)


def test_a_library_that_accepts_a_stream_receives_it(library, change):
    """A library that accepts a stream receives its number; another one uses its own stream."""
    received = []
    change(take_on_stream=lambda _, array, stream: received.append((array.ptr, stream)))

    ix.convert(on_device(), MINE, stream=Stream())
    ix.convert(on_device(), MINE)

    assert received == [(4096, 7)]
    assert [array.ptr for array in library.given] == [4096]


def test_the_stream_lives_as_long_as_the_array(library):
    """The Array keeps the stream object alive, as a handle alone would not (CAI-LIFE-1)."""
    stream = Stream()
    gone = weakref.ref(stream)
    ix.convert(on_device(), MINE, stream=stream)

    del stream
    alive = gone() is not None
    library.given.clear()

    assert (alive, gone()) == (True, None)


@pytest.mark.parametrize(
    ("make", "stream", "rule"),
    [
        *((on_device, stream, "DLP-STREAM-2") for stream in (0, -2, 2**64)),
        *((on_device, stream, "DLP-STREAM-4") for stream in (True, "7", 7.0)),
        *((lambda: bytearray(3), stream, "DLP-STREAM-1") for stream in (1, -1)),
    ],
)
def test_what_is_no_stream_is_refused(library, make, stream, rule):
    """An invalid stream, and any for host memory, is refused before the library is called."""
    assert refusal(ix.StreamError, make(), MINE, stream=stream).rule == rule
    assert library.given == []


def test_a_producer_is_asked_for_the_stream(library):
    """The producer orders its own work on the requested stream, and no other stream waits."""
    asked = []
    made = on_device()

    class Theirs:
        def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
            asked.append(stream)
            return made.__dlpack__(stream=-1, max_version=max_version)

        def __dlpack_device__(self):
            return (2, 0)

    ix.convert(Theirs(), MINE, stream=7)
    ix.convert(Theirs(), MINE)

    assert asked == [7, 1]
    assert len(library.given) == 2


def pending(emulator, device):
    """Return device memory that a stream is about to fill with sevens."""
    producer, ptr = device.stream(), device.memory(24)
    emulator.delay(producer, 0.005)
    emulator.fill(producer, ptr, 24, 7)
    return ix.from_pointer(ptr, (24,), "uint8", device="cuda:0", stream=producer)


@pytest.mark.emulated
@pytest.mark.parametrize("name", ["numpy", "memoryview"])
@pytest.mark.parametrize("named", [False, True], ids=["no stream", "a stream"])
def test_device_memory_reaches_the_host_as_a_copy(emulator, device, name, named):
    """Device memory is copied to the host after all work on it, on any stream."""
    array, consumer = pending(emulator, device), device.stream()

    found = ix.convert(array, name, copy=True, stream=consumer if named else None)

    assert found.tolist() == [7] * 24


@pytest.mark.emulated
@pytest.mark.usefixtures("device")
def test_host_memory_reaches_a_device_as_a_copy(library, change):
    """The current one."""
    change(memory="device")

    ix.convert(b"abc", MINE, copy=True)

    (array,) = library.given
    assert (str(array.device), array.readonly) == ("cuda:0", False)
    assert array.to_device("cpu").tolist() == [97, 98, 99]


@pytest.mark.emulated
def test_a_copy_of_device_memory_stays_on_its_device(library, emulator, device):
    """A copy on the device is made on the named stream, and the host does not wait."""
    array, consumer = pending(emulator, device), device.stream()

    with emulator.trace() as trace:
        ix.convert(array, MINE, copy=True, stream=consumer)

    (copied,) = library.given
    assert (str(copied.device), copied.ptr == array.ptr) == ("cuda:0", False)
    assert copied.__cuda_array_interface__["stream"] == consumer
    assert "cuStreamSynchronize" not in trace.names
    assert copied.to_device("cpu").tolist() == [7] * 24
