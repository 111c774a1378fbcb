"""Memory of `empty` on devices, and of allocators: who makes it, when it goes back, and errors."""

from __future__ import annotations

import importlib
import sys
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest

import interchange as ix
from interchange._streams.driver import driver_of

pytestmark = [pytest.mark.emulated, pytest.mark.usefixtures("machine")]

SIZE = 4096


class Buffer:
    """Memory of a pool."""

    def __init__(self, pool, ptr, size):
        self.pool, self.handle, self.size = pool, ptr, size

    def close(self):
        """Return it, which must happen once."""
        self.pool.machine("cuMemFree", self.handle)
        self.pool.live.remove(self)


class Pool:
    """An allocator in the form of cuda.core, which counts what it made."""

    def __init__(self, machine, *, less=0, error=None):
        self.machine, self.less, self.error = machine, less, error
        self.live, self.streams = [], []

    def allocate(self, size, *, stream):
        """Return a buffer of some size."""
        if self.error is not None:
            raise self.error
        self.streams.append(stream.__cuda_stream__()[1])
        buffer = Buffer(self, int(self.machine("cuMemAlloc", size)), size - self.less)
        self.live.append(buffer)
        return buffer


class Fixed:
    """An allocator that returns the same object each time."""

    def __init__(self, buffer):
        self.buffer = buffer

    def allocate(self, *_, **__):
        """Return it."""
        return self.buffer


class PositionalPool(Pool):
    """An allocator that takes the stream by position."""

    def allocate(self, size, stream, /):
        """Return a buffer."""
        return Pool.allocate(self, size, stream=stream)


class AddressPool(Pool):
    """An allocator in the form of RMM's memory resources: addresses, and ``deallocate``."""

    def allocate(self, size, stream):
        """Return an address."""
        return Pool.allocate(self, size, stream=stream).handle

    def deallocate(self, ptr, size, stream):
        """Take it back, which must happen once."""
        (found,) = (one for one in self.live if (one.handle, one.size) == (ptr, size))
        self.streams.append(stream.handle)
        found.close()


class NamedAddressPool(AddressPool):
    """The same in the form of cuda.core, with the stream by name."""

    def allocate(self, size, *, stream):
        """Return an address."""
        return AddressPool.allocate(self, size, stream)

    def deallocate(self, ptr, size, *, stream):
        """Take it back."""
        AddressPool.deallocate(self, ptr, size, stream)


class StreamBuffer(Buffer):
    """Memory that is returned on a stream: by default on the one that it was allocated on."""

    def close(self, stream=None):
        """Return it, in the order of a stream."""
        stream = self.pool.streams[0] if stream is None else stream.handle
        self.pool.machine("cuMemFreeAsync", self.handle, stream)
        self.pool.live.remove(self)


class StreamPool(Pool):
    """An allocator whose memory is taken and returned in the order of streams."""

    def allocate(self, size, *, stream):
        """Return a buffer."""
        self.streams.append(stream.handle)
        ptr = int(self.machine("cuMemAllocAsync", size, stream.handle))
        buffer = StreamBuffer(self, ptr, size)
        self.live.append(buffer)
        return buffer


@pytest.fixture
def use():
    """Return a function that sets an allocator until the test ends."""
    yield lambda pool, device="cuda:0": ix.set_allocator(device, pool)
    for ordinal in range(2):
        ix.set_allocator(f"cuda:{ordinal}", None)


@pytest.mark.parametrize("device", ["cuda:0", "cuda:1", "cuda_host", "cuda_managed"])
def test_new_memory_is_where_it_was_asked_for(device):
    """A device, page-locked memory, or managed memory, and it is freed."""
    driver = driver_of(ix.Device("cuda"), "test")
    x = ix.empty((4, 5), "float32", device=device)
    place = driver.pointer_attributes(x.ptr, "test")

    assert x.device == ix.Device(device)
    assert place.type == x.device.type
    assert device in {"cuda_host", "cuda_managed"} or place.ordinal == x.device.id
    ix.copyto(x, np.ones((4, 5), np.float32))
    assert np.asarray(x.to_device("cpu")).tolist() == [[1.0] * 5] * 4
    ptr = x.ptr
    del x
    assert driver.pointer_attributes(ptr, "test") is None


def test_cuda_without_a_number_is_the_current_device(machine):
    """And a number that is not there is refused with those that are."""
    with machine.current(1):
        assert ix.empty(3, "int8", device="cuda").device == "cuda:1"
        assert ix.asarray(b"abc").to_device("cuda").device == "cuda:1"
        assert ix.asarray(b"abc", device="cuda").device == "cuda:1"
        assert ix.asarray(b"abc").to_device("cuda:0").device == "cuda:0"
    assert ix.empty(3, "int8", device="cuda").device == "cuda:0"
    for call in (
        lambda: ix.empty(3, "int8", device="cuda:7"),
        lambda: ix.asarray(b"abc").to_device("cuda:7"),
    ):
        with pytest.raises(ix.ExchangeError, match="'cuda:0', 'cuda:1'"):
            call()


def test_an_array_is_ready_on_the_stream_of_its_allocation(machine, emulator):
    """Its first use on another stream waits for that one."""
    stream = machine.stream()
    x = ix.empty(SIZE, "uint8", device="cuda:0", stream=stream)
    emulator.delay(stream, 0.02)
    emulator.fill(stream, x.ptr, SIZE, 7)

    assert set(np.asarray(x.to_device("cpu", stream=machine.stream()))) == {7}


@pytest.mark.parametrize("kind", [Pool, PositionalPool])
def test_memory_of_copies_is_of_the_allocator_and_goes_back_when_its_work_is_done(
    machine, emulator, use, kind
):
    """The copy's stream is passed; the buffer is closed once, after work of any stream."""
    pool, streams = kind(machine), [machine.stream() for _ in range(2)]
    use(pool)
    x = ix.asarray(bytes([7]) * SIZE).to_device("cuda:0", stream=streams[0])
    y = x[::2].copy()
    assert [buffer.handle for buffer in pool.live] == [x.ptr, y.ptr]
    assert pool.streams == [streams[0]] * 2
    ptr = x.ptr
    x.__dlpack__(stream=streams[1])
    emulator.delay(streams[1], 0.02)
    emulator.fill(streams[1], ptr, SIZE, 1)

    del x, y

    assert pool.live == []


def test_an_allocator_of_one_call_is_used_by_it_only(machine, use):
    """The allocator of the device stays."""
    pools = [Pool(machine) for _ in range(2)]
    use(pools[0])
    x = ix.empty(SIZE, "uint8", device="cuda:0", allocator=pools[1])
    y = ix.empty(SIZE, "uint8", device="cuda:0")
    z = ix.empty(SIZE, "uint8", device="cuda:1")

    assert [len(pool.live) for pool in pools] == [1, 1]
    del x, y, z
    assert [len(pool.live) for pool in pools] == [0, 0]


@pytest.mark.parametrize("kind", [AddressPool, NamedAddressPool])
def test_addresses_go_back_by_deallocate(machine, emulator, use, kind):
    """With their size, on a stream that never captures, when the work on them is done."""
    pool, stream = kind(machine), machine.stream()
    use(pool)
    x = ix.asarray(bytes([7]) * SIZE).to_device("cuda:0", stream=stream)
    assert [(buffer.handle, buffer.size) for buffer in pool.live] == [(x.ptr, SIZE)]
    emulator.delay(stream, 0.02)
    emulator.fill(stream, x.ptr, SIZE, 1)

    del x

    assert pool.live == []
    lasting = driver_of(ix.Device("cuda"), "test").lasting_stream(0, "test")
    assert pool.streams == [stream, lasting]


@pytest.mark.parametrize("mode", [0, 1], ids=["global", "of the thread"])
@pytest.mark.parametrize("kind", [Pool, AddressPool, StreamPool])
def test_memory_goes_back_while_its_stream_captures(machine, emulator, use, kind, mode):
    """The capture stays valid, and the host waits for the work on the memory."""
    pool, stream, other = kind(machine), machine.stream(), machine.stream()
    use(pool)
    x = ix.asarray(bytes([7]) * SIZE).to_device("cuda:0", stream=stream)
    ptr = x.ptr
    x.__dlpack__(stream=other)
    emulator.delay(other, 0.02)
    emulator.fill(other, ptr, SIZE, 1)
    machine("cuStreamBeginCapture", stream, machine.api.CUstreamCaptureMode(mode))

    del x

    assert pool.live == []
    assert emulator.pending(other) == 0
    machine("cuGraphDestroy", machine("cuStreamEndCapture", stream))


def test_the_form_of_an_allocator_is_found_out_once(machine, use, monkeypatch):
    """Not for each allocation."""
    use(Pool(machine))
    ix.empty(SIZE, "uint8", device="cuda:0")
    monkeypatch.setattr("inspect.signature", None)
    ix.empty(SIZE, "uint8", device="cuda:0")


@pytest.mark.parametrize(
    "copy",
    [
        lambda x: x.to_device("cuda:0"),
        lambda x: ix.empty(x.shape, "int8", device="cuda:0"),
        lambda x: ix.asarray(x, device="cuda:0"),
    ],
)
def test_errors_of_the_allocator_come_through_and_nothing_leaks(machine, use, copy):
    """An exception is that of the allocator; memory that is refused goes back to it."""
    x = ix.asarray(np.ones(SIZE, np.uint8))
    use(Pool(machine, error=MemoryError("the pool is empty")))
    with pytest.raises(MemoryError, match="the pool is empty"):
        copy(x)
    other = ix.empty(SIZE, "uint8", device="cuda:1")
    small, elsewhere = Pool(machine, less=1), Fixed(SimpleNamespace(ptr=other.ptr))
    for pool in (small, elsewhere, Fixed(None)):
        use(pool)
        with pytest.raises(ix.ExchangeError, match="IX-ALLOCATOR-1"):
            copy(x)
    use(None)

    assert small.live == []


def test_memory_resources_of_cuda_core_are_accepted(use):
    """They take streams of cuda.core only."""
    core = pytest.importorskip("cuda.core")
    device = core.Device(0)
    device.set_current()
    use(device.memory_resource)
    x = ix.asarray(bytes([7]) * SIZE).to_device("cuda:0")

    assert type(x._keepalive._buffer.buffer).__name__ == "Buffer"
    assert set(np.asarray(x.to_device("cpu"))) == {7}


# ---------------------------------------------------------------- adapters


class Module:
    """A stand-in for a library that is not installed."""


@pytest.mark.parametrize("name", ["torch", "cupy", "rmm"])
def test_the_pool_of_a_library_is_named(machine, use, monkeypatch, name):
    """The adapter passes size, device and stream as the library takes them, and returns memory."""
    made, freed, stream = [], [], machine.stream()

    def alloc(size, *where):
        made.append((size, *where))
        return int(machine("cuMemAlloc", size))

    class Pointer:
        def __init__(self, size=0, stream=None):
            self.ptr = alloc(size, stream)

        def __del__(self):
            freed.append(self.ptr)
            machine("cuMemFree", self.ptr)

    module = Module()
    module.cuda = module
    module.caching_allocator_alloc = alloc
    module.caching_allocator_delete = lambda ptr: (freed.append(ptr), machine("cuMemFree", ptr))
    module.Device = module.ExternalStream = lambda number: nullcontext(made.append(number))
    module.alloc = Pointer
    module.DeviceBuffer = Pointer
    module.Stream = lambda one: one.__cuda_stream__()[1]
    for path in (name, f"{name}.pylibrmm.stream"):
        monkeypatch.setitem(sys.modules, path, module)
    real = importlib.import_module
    monkeypatch.setattr(
        importlib,
        "import_module",
        lambda path, *rest: module if path.partition(".")[0] == name else real(path, *rest),
    )
    use(name)

    x = ix.empty(SIZE, "uint8", device="cuda:0", stream=stream)

    assert (
        made
        == {
            "torch": [(SIZE, 0, stream)],
            "cupy": [0, stream, (SIZE, None)],
            "rmm": [(SIZE, stream)],
        }[name]
    )
    ptr = x.ptr
    del x
    assert freed == [ptr]
