"""CUDA fixtures for tests: streams, memory, gates and producers, on the chosen driver.

Source: CUDA driver API.  Nothing here calls the emulated driver's own functions, so that the same
tests run on a GPU (``--cuda=real``).
"""

from __future__ import annotations

import contextlib
import ctypes
from typing import TYPE_CHECKING, Any

import pytest

from interchange_conformance.emucuda.gates import Gate

if TYPE_CHECKING:
    from collections.abc import Iterator

SIZE = 4096  # of a producer's memory [bytes]


class StreamObject:
    """A stream of a library, by its handle."""

    def __init__(self, handle: int) -> None:
        self.handle = handle

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.handle


class Owner:
    """An owner of memory that can be referred to weakly."""


class Cuda:
    """The driver, with errors raised as exceptions; all resources are freed at the end."""

    Owner = Owner

    def __init__(self, api: Any) -> None:
        self.api = api
        self._undo: list[Any] = []
        self("cuInit", 0)
        self.contexts = [
            int(self("cuDevicePrimaryCtxRetain", i)) for i in range(self("cuDeviceGetCount"))
        ]
        self("cuCtxSetCurrent", self.contexts[0])
        self._seen = self.pinned()  # before any gate, since an allocation synchronises

    def __call__(self, name: str, *args: Any) -> Any:
        """Call the driver; return its result."""
        error, *answer = getattr(self.api, name)(*args)
        assert not error, f"{name}{args}: {error.name}"
        return answer[0] if len(answer) == 1 else answer

    def stream(self, *, blocking: bool = False) -> int:
        """Return a new stream."""
        stream = int(self("cuStreamCreate", 0 if blocking else 1))
        self._undo.append(("cuStreamDestroy", stream))
        return stream

    def stream_object(self) -> StreamObject:
        """Return a new stream as an object of a library."""
        return StreamObject(self.stream())

    def memory(self, nbytes: int = SIZE, value: int = 0) -> int:
        """Return the address of new device memory, every byte `value`."""
        ptr = int(self("cuMemAlloc", nbytes))
        self._undo.append(("cuMemFree", ptr))
        self("cuMemsetD8", ptr, value, nbytes)
        self("cuCtxSynchronize")
        return ptr

    def managed(self, nbytes: int = SIZE) -> int:
        """Return the address of new managed memory."""
        ptr = int(self("cuMemAllocManaged", nbytes, 1))
        self._undo.append(("cuMemFree", ptr))
        return ptr

    def pinned(self, nbytes: int = SIZE) -> int:
        """Return the address of new page-locked memory, every byte 0."""
        ptr = int(self("cuMemHostAlloc", nbytes, 0))
        self._undo.append(("cuMemFreeHost", ptr))
        ctypes.memset(ptr, 0, nbytes)
        return ptr

    def fill(self, ptr: int, value: int, stream: int, nbytes: int = SIZE) -> None:
        """Enqueue a write of every byte."""
        self("cuMemsetD8Async", ptr, value, nbytes, stream)

    def copy(self, target: int, source: int, stream: int, nbytes: int = SIZE) -> None:
        """Enqueue a copy."""
        self("cuMemcpyAsync", target, source, nbytes, stream)

    def fill_behind_gate(self, ptr: int, value: int, stream: int) -> Gate:
        """Hold a stream, and enqueue a write of every byte on it; return the gate."""
        shut = Gate(stream)
        self.fill(ptr, value, stream)
        return shut

    def read_around(self, shut: Gate, ptr: int, stream: int) -> tuple[set[int], set[int]]:
        """Enqueue a copy to the host; return the bytes there before and after a gate is opened."""
        self.copy(self._seen, ptr, stream)
        before = set(ctypes.string_at(self._seen, SIZE))
        shut.open()
        self.synchronize_all()
        return before, set(ctypes.string_at(self._seen, SIZE))

    def wait_for(self, event: Any, stream: int) -> None:
        """Make a stream wait for the event in the word at an address, as consumers of Arrow do."""
        self("cuStreamWaitEvent", stream, ctypes.c_void_p.from_address(event).value, 0)

    def record_of(self, ptr: int, stream: int | None, size: int = SIZE) -> dict[str, Any]:
        """Return a version 3 record of bytes."""
        record: dict[str, Any] = {"shape": (size,), "typestr": "|u1", "data": (ptr, False)}
        return {**record, "strides": None, "version": 3, "stream": stream}

    @contextlib.contextmanager
    def device(self, number: int) -> Iterator[None]:
        """Make a device current while the block runs; skip the test if there is no such device."""
        if len(self.contexts) <= number:
            pytest.skip("there is one device")
        self("cuCtxPushCurrent", self.contexts[number])
        try:
            yield
        finally:
            self("cuCtxPopCurrent")

    @contextlib.contextmanager
    def capture(self, stream: int, mode: int = 0) -> Iterator[None]:
        """Capture a stream while the block runs; the capture succeeds, its graph is destroyed."""
        self("cuStreamBeginCapture", stream, self.api.CUstreamCaptureMode(mode))
        try:
            yield
        finally:
            result, graph = self.api.cuStreamEndCapture(stream)
            if not result:
                self("cuGraphDestroy", graph)
        assert not result, f"the capture was invalidated: {result.name}"

    def synchronize(self) -> None:
        """Make the host wait for all work on the first device."""
        self("cuCtxSynchronize")

    def synchronize_all(self) -> None:
        """Make the host wait for all work on every device."""
        for context in self.contexts:
            self("cuCtxPushCurrent", context)
            self("cuCtxSynchronize")
            self("cuCtxPopCurrent")

    def read(self, ptr: int, nbytes: int = SIZE) -> set[int]:
        """Return the values of the bytes when all work is done."""
        self.synchronize()
        block = bytearray(nbytes)
        self(
            "cuMemcpyDtoH",
            ctypes.addressof((ctypes.c_char * nbytes).from_buffer(block)),
            ptr,
            nbytes,
        )
        return set(block)

    def close(self) -> None:
        """Free all resources."""
        self("cuCtxSetCurrent", self.contexts[0])
        self.synchronize_all()
        for name, handle in reversed(self._undo):
            self(name, handle)


class Producer:
    """Device memory that is busy on streams; the one it publishes waits for the others first."""

    def __init__(self, cuda: Cuda, streams: list[int], published: int | None = None) -> None:
        self.cuda = cuda
        self.streams = streams
        self.published = published if published is not None else (streams[0] if streams else None)
        self.size = SIZE
        self.ptr = cuda.memory()
        self.reads = 0

    def write(self, value: int) -> None:
        """Enqueue the value in parts: one part per stream."""
        part = self.size // max(len(self.streams), 1)
        for i, stream in enumerate(self.streams):
            self.cuda.fill(self.ptr + i * part, value, stream, part)
        rest = self.size - part * len(self.streams)
        if self.streams and rest:
            self.cuda.fill(self.ptr + self.size - rest, value, self.streams[-1], rest)

    def write_behind_gate(self, value: int) -> Gate:
        """Hold the published stream, and enqueue the value; return the gate."""
        assert self.published is not None
        shut = Gate(self.published)
        self.write(value)
        return shut

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        self.reads += 1
        for stream in self.streams:
            if stream != self.published:
                event = self.cuda("cuEventCreate", 2)
                self.cuda("cuEventRecord", event, stream)
                self.cuda("cuStreamWaitEvent", self.published, event, 0)
                self.cuda("cuEventDestroy", event)
        return self.cuda.record_of(self.ptr, self.published, self.size)


@pytest.fixture
def cuda(cuda_driver: str) -> Any:  # noqa: ARG001 - it loads the driver
    """Return the driver with the first device current; all resources are freed afterwards."""
    api = pytest.importorskip("cuda.bindings.driver", reason="cuda-python is not installed")
    found = Cuda(api)
    yield found
    found.close()


@pytest.fixture
def produce(cuda: Cuda) -> Any:
    """Return a function that creates a producer which is busy on the given streams."""

    def make(*streams: int, published: int | None = None) -> Producer:
        return Producer(cuda, list(streams), published)

    return make


@pytest.fixture(scope="session")
def gate() -> type[Gate]:
    """Return a function that holds a stream until its gate is opened, on any driver."""
    return Gate


class Exporter:
    """An object with a record of any kind."""

    def __init__(self, **record: Any) -> None:
        self.record = record

    @property
    def __cuda_array_interface__(self) -> Any:
        return self.record


@pytest.fixture(scope="session")
def exporter() -> type[Exporter]:
    """Return a function that creates an object with a record."""
    return Exporter


@pytest.fixture
def record(cuda: Cuda) -> Any:
    """Return a function that creates a record of new memory; keys set to Ellipsis are left out."""

    def make(**changes: Any) -> dict[str, Any]:
        entries = {
            "shape": (4, 8),
            "typestr": "<f4",
            "data": (cuda.memory(), False),
            "strides": None,
            "version": 3,
            "stream": None,
        }
        entries.update(changes)
        return {key: entry for key, entry in entries.items() if entry is not ...}

    return make


class Event:
    """An event of a producer, recorded on a stream, and the word that contains its handle."""

    def __init__(self, cuda: Cuda, stream: int) -> None:
        self.cuda = cuda
        self.handle = int(cuda("cuEventCreate", 2))  # without timing
        cuda("cuEventRecord", self.handle, stream)
        self.word = ctypes.c_void_p(self.handle)
        self.address = ctypes.addressof(self.word)

    def destroy(self) -> None:
        """Destroy the event, even if a stream waits for it."""
        self.cuda("cuEventDestroy", self.handle)
        self.word.value = None


@pytest.fixture
def record_event(cuda: Cuda) -> Any:
    """Return a function that records an event on a stream; all events are destroyed afterwards."""
    made: list[Event] = []

    def record(stream: int) -> Event:
        made.append(Event(cuda, stream))
        return made[-1]

    yield record
    for event in made:
        if event.word.value:
            event.destroy()
