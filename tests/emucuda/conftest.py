"""Fixtures for the tests of the emulated driver: its calls and the names of their errors."""

from __future__ import annotations

import contextlib
import ctypes
import threading
import time

import pytest

from .host_kernels import AXPY, HostKernels, compiled
from .peers import Peer

PREFIX = "CUDA_ERROR_"


class Calls:
    """Calls of cuda.bindings.driver: ``name(...)`` must succeed; ``code(name, ...)`` may fail."""

    def __init__(self, driver, emulator):
        self.driver = driver
        self.emulator = emulator
        self.retained = []
        self.context = self.retain(0)

    def retain(self, number):
        """Return the primary context of a device, retained until the test is over."""
        self.retained.append(number)
        return self.cuDevicePrimaryCtxRetain(number)

    def __getattr__(self, name):
        """Return a call that must succeed and that returns its result without the code."""
        if not name.startswith("cu"):
            raise AttributeError(name)

        def call(*arguments):
            code, *results = getattr(self.driver, name)(*arguments)
            assert int(code) == 0, f"{name}: {code}"
            return results[0] if len(results) == 1 else tuple(results) or None

        return call

    def code(self, name, *arguments):
        """Return the name of the error of a call, or ``"SUCCESS"``."""
        code = getattr(self.driver, name)(*arguments)[0]
        return code.name.removeprefix(PREFIX).removeprefix("CUDA_")

    def stream(self, *, blocking=False):
        """Return a new stream."""
        return self.cuStreamCreate(0 if blocking else 1)

    def event(self):
        """Return a new event without timing."""
        return self.cuEventCreate(self.driver.CUevent_flags.CU_EVENT_DISABLE_TIMING)

    def memory(self, nbytes=4096):
        """Return the address of zeroed device memory without pending work."""
        address = self.cuMemAlloc(nbytes)
        self.cuMemsetD8(address, 0, nbytes)
        self.cuCtxSynchronize()
        return int(address)

    def order(self, earlier, later):
        """Make one stream wait for another."""
        event = self.event()
        self.cuEventRecord(event, earlier)
        self.cuStreamWaitEvent(later, event, 0)
        self.cuEventDestroy(event)

    def first_byte(self, address):
        """Return the first byte of memory, regardless of pending work."""
        return self.emulator.read(address, 1)[0]

    def host_buffer(self, nbytes=4096):
        """Return the address of pinned memory."""
        return int(self.cuMemHostAlloc(nbytes, 0))

    @staticmethod
    def pageable(content):
        """Return host memory that the driver does not know, and its address."""
        made = ctypes.create_string_buffer(bytes(content), len(content))
        return made, ctypes.addressof(made)

    def _on_device(self, copy, target, source, pitch):
        """Fill in the ends of a copy of rows on the device."""
        copy.srcMemoryType = copy.dstMemoryType = self.driver.CUmemorytype.CU_MEMORYTYPE_DEVICE
        copy.srcDevice, copy.dstDevice = source, target
        copy.srcPitch = copy.dstPitch = pitch
        return copy

    def columns(self, target, source, *, first, width=8, pitch=64, rows=64, stream):
        """Copy `width` bytes of each row, `first` bytes from its beginning, on the device."""
        copy = self._on_device(self.driver.CUDA_MEMCPY2D(), target, source, pitch)
        copy.srcXInBytes = copy.dstXInBytes = first
        copy.WidthInBytes, copy.Height = width, rows
        self.cuMemcpy2DAsync(copy, stream)

    def planes(self, target, source, *, plane, rows=(0, 8), stream):
        """Copy some rows of one of eight planes (8 rows of 64 bytes each), on the device."""
        copy = self._on_device(self.driver.CUDA_MEMCPY3D(), target, source, 64)
        copy.srcHeight = copy.dstHeight = 8
        copy.srcZ = copy.dstZ = plane
        copy.srcY = copy.dstY = rows[0]
        copy.WidthInBytes, copy.Height, copy.Depth = 32, rows[1] - rows[0], 2
        self.cuMemcpy3DAsync(copy, stream)

    def in_thread(self, work):
        """Return the result of a function in another host thread, with the same context current."""
        results = []

        def run():
            self.cuCtxSetCurrent(self.context)
            results.append(work())

        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
        return results[0]

    def begin(self, stream, mode=0):
        """Begin a capture, in global mode by default."""
        self.cuStreamBeginCapture(stream, self.driver.CUstreamCaptureMode(mode))

    def instantiated(self, stream, work):
        """Capture what `work` enqueues in a stream; return the executable graph."""
        self.begin(stream)
        work()
        return self.cuGraphInstantiate(self.cuStreamEndCapture(stream), 0)

    def status(self, stream):
        """Return a stream's capture status as a number."""
        return int(self.cuStreamIsCapturing(stream))

    def end(self, stream):
        """End a capture and return the name of the error, and whether there is a graph."""
        code, graph = self.driver.cuStreamEndCapture(stream)
        name = code.name.removeprefix(PREFIX).removeprefix("CUDA_")
        return name, bool(int(graph or 0))

    def captured(self, work):
        """Capture what `work` enqueues in two streams, forked and joined; instantiate the graph."""
        origin, branch = self.stream(), self.stream()
        self.begin(origin, 2)
        self.order(origin, branch)
        work(origin, branch)
        self.order(branch, origin)
        return self.cuGraphInstantiate(self.cuStreamEndCapture(origin), 0)

    @contextlib.contextmanager
    def device(self, number):
        """Make the primary context of a device current while the block runs."""
        self.cuCtxPushCurrent(self.retain(number))
        try:
            yield
        finally:
            self.cuCtxPopCurrent()

    def host_function(self, stream, function, argument):
        """Enqueue a C function, with an address as argument.

        By ctypes: cuda.bindings 13.4 holds the GIL while the function runs, and frees its own
        argument after the first call.
        """
        launch = ctypes.CDLL(str(self.emulator.library)).cuLaunchHostFunc
        assert launch(ctypes.c_void_p(int(stream)), function, ctypes.c_void_p(argument)) == 0

    @staticmethod
    def soon(condition, seconds=20):
        """Wait for a limited time until a condition holds, and return whether it does."""
        end = time.monotonic() + seconds
        while not condition() and time.monotonic() < end:
            time.sleep(0.001)
        return condition()


@pytest.fixture
def cuda(emulator, need):
    """Return the calls of the emulated driver; device 0 is current.

    The resources that a test leaves are freed with the context, unless a library of another test
    retains it too.
    """
    need("cuda.bindings.driver")
    from cuda.bindings import driver

    driver.cuInit(0)
    calls = Calls(driver, emulator)
    calls.cuCtxSetCurrent(calls.context)
    yield calls
    emulator.reset()  # opens gates, since the work behind them would be waited for
    for number in calls.retained:
        calls.cuDevicePrimaryCtxRelease(number)
    calls.cuCtxSetCurrent(None)


class Semaphore:
    """A semaphore of the C library, whose functions can be host functions."""

    libc = ctypes.CDLL(None)

    def __init__(self):
        self._block, self._value = ctypes.create_string_buffer(64), ctypes.c_int()
        self.address = ctypes.addressof(self._block)
        self.libc.sem_init(self._block, 0, 0)

    def post(self):
        """Let one waiter continue."""
        self.libc.sem_post(self._block)

    @property
    def value(self):
        """How often it may be waited for without waiting."""
        self.libc.sem_getvalue(self._block, ctypes.byref(self._value))
        return self._value.value


@pytest.fixture
def semaphore():
    """Return a semaphore whose value is 0."""
    return Semaphore()


@pytest.fixture(scope="session")
def kernel_library(tmp_path_factory):
    """Return the compiled code of the tests' kernels."""
    return compiled(tmp_path_factory.mktemp("kernels"))


@pytest.fixture
def kernels(cuda, kernel_library):
    """Return kernels whose code runs on the host."""
    return HostKernels(cuda, kernel_library)


@pytest.fixture
def axpy(kernels):
    """Return a kernel that computes ``y += a * x``."""
    return kernels.function(AXPY)


@pytest.fixture
def streams(cuda):
    """Return two streams that do not wait for other streams."""
    return cuda.stream(), cuda.stream()


@pytest.fixture
def memory(cuda):
    """Return the address of device memory: 4096 bytes, all zero."""
    return cuda.memory()


@pytest.fixture(scope="package")
def shared_peer(need):
    """Return another process on the driver, which tests use one after the other."""
    need("cuda.bindings.driver")
    peer = Peer()
    yield peer
    assert peer.close() == 0


@pytest.fixture
def peer(shared_peer):
    """Return the other process, without reports of earlier tests."""
    shared_peer("emulator.reset()")
    yield shared_peer
    assert shared_peer("emulator.unexpected_reports()") == []


@pytest.fixture
def victim(need):
    """Return a process that the test may kill."""
    need("cuda.bindings.driver")
    peer = Peer()
    yield peer
    peer.discard()
