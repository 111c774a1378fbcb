"""What the tests of the emulated driver stand on: its calls, with their errors as names."""

from __future__ import annotations

import contextlib
import ctypes
import time

import pytest

PREFIX = "CUDA_ERROR_"


class Calls:
    """The calls of cuda.bindings.driver: ``name(...)`` succeeds, ``code(name, ...)`` need not.

    Parameters
    ----------
    driver : module
        cuda.bindings.driver.
    emulator : Emulator
        The driver behind it.
    """

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
        """Return a call that has to succeed, and gives its result without the code."""
        if not name.startswith("cu"):
            raise AttributeError(name)

        def call(*arguments):
            code, *results = getattr(self.driver, name)(*arguments)
            assert int(code) == 0, f"{name}: {code}"
            return results[0] if len(results) == 1 else tuple(results) or None

        return call

    def code(self, name, *arguments):
        """Return the name of a call's error, or ``"SUCCESS"``."""
        code = getattr(self.driver, name)(*arguments)[0]
        return code.name.removeprefix(PREFIX).removeprefix("CUDA_")

    def stream(self, *, blocking=False):
        """Return a new stream."""
        return self.cuStreamCreate(0 if blocking else 1)

    def event(self):
        """Return a new event, without a clock."""
        return self.cuEventCreate(self.driver.CUevent_flags.CU_EVENT_DISABLE_TIMING)

    def memory(self, nbytes=4096):
        """Return the address of device memory that is all zero, and that nobody has touched."""
        address = self.cuMemAlloc(nbytes)
        self.cuMemsetD8(address, 0, nbytes)
        self.cuCtxSynchronize()
        return int(address)

    def order(self, earlier, later):
        """Let one stream wait for another."""
        event = self.event()
        self.cuEventRecord(event, earlier)
        self.cuStreamWaitEvent(later, event, 0)
        self.cuEventDestroy(event)

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
        """Wait, but not for ever, until something holds, and say whether it does."""
        end = time.monotonic() + seconds
        while not condition() and time.monotonic() < end:
            time.sleep(0.001)
        return condition()


@pytest.fixture
def cuda(emulator, need):
    """Return the calls of the emulated driver; device 0 is current.

    What a test leaves goes with the context, unless another test's library holds that too.
    """
    need("cuda.bindings.driver")
    from cuda.bindings import driver

    driver.cuInit(0)
    calls = Calls(driver, emulator)
    calls.cuCtxSetCurrent(calls.context)
    yield calls
    emulator.reset()  # opens gates: what they held would be waited for
    for number in calls.retained:
        calls.cuDevicePrimaryCtxRelease(number)
    calls.cuCtxSetCurrent(None)


@pytest.fixture
def streams(cuda):
    """Return two streams that wait for nobody."""
    return cuda.stream(), cuda.stream()


@pytest.fixture
def memory(cuda):
    """Return the address of device memory: 4096 bytes, all zero."""
    return cuda.memory()
