"""Device memory for tests of copies: allocations, streams and bytes, on whichever driver there is.

Source: CUDA driver API.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import interchange as ix
from interchange._streams.cuda import CudaDriver
from interchange._streams.driver import driver_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Waits:
    """The waits between streams, in their order, without those that are to be omitted.

    `made`: pairs of a producer and the consumer that waits for it.
    `is_omitted`: whether a wait is left out, by its place and its pair.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.made: list[tuple[int, int]] = []
        self.is_omitted: Callable[[int, tuple[int, int]], bool] = lambda *_: False
        order = CudaDriver.order

        def ordered(driver: Any, producer: int, consumer: int, *args: Any, **options: Any) -> None:
            place, pair = len(self.made), (producer, consumer)
            self.made.append(pair)
            if not self.is_omitted(place, pair):
                order(driver, producer, consumer, *args, **options)

        monkeypatch.setattr(CudaDriver, "order", ordered)

    def omit(self, omitted: int) -> None:
        """Count the waits from the start, and leave out the one at a place."""
        self.made.clear()
        self.is_omitted = lambda place, _: place == omitted


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> Waits:
    """Return the waits between streams, which a test may omit."""
    return Waits(monkeypatch)


class Owner:
    """Owns device memory, and frees it on its own stream without waiting when it is collected."""

    def __init__(self, cuda: Machine, nbytes: int, stream: int) -> None:
        self.cuda = cuda
        self.stream = stream
        self.ptr = int(cuda("cuMemAllocAsync", nbytes, stream))

    def __del__(self) -> None:
        self.cuda("cuMemFreeAsync", self.ptr, self.stream)


class Machine:
    """The driver, with errors raised; its allocations are freed at the end."""

    def __init__(self, api: Any) -> None:
        self.api = api
        self._undo: list[tuple[str, int]] = []
        self("cuInit", 0)
        count = self("cuDeviceGetCount")
        self.contexts = [int(self("cuDevicePrimaryCtxRetain", i)) for i in range(count)]
        self("cuCtxSetCurrent", self.contexts[0])

    def __call__(self, name: str, *args: Any) -> Any:
        """Call the driver and return its result."""
        error, *answer = getattr(self.api, name)(*args)
        assert not error, f"{name}{args}: {error.name}"
        return answer[0] if len(answer) == 1 else answer

    def stream(self, device: int = 0) -> int:
        """Return a fresh stream that no default stream waits for."""
        with self.current(device):
            stream = int(self("cuStreamCreate", 1))
        self._undo.append(("cuStreamDestroy", stream))
        return stream

    @contextmanager
    def current(self, device: int) -> Iterator[None]:
        """Make a device current."""
        self("cuCtxPushCurrent", self.contexts[device])
        yield
        self("cuCtxPopCurrent")

    def memory(self, elements: np.ndarray) -> int:
        """Return the address of device memory with the bytes of an ndarray."""
        ptr = int(self("cuMemAlloc", max(elements.nbytes, 1)))
        self._undo.append(("cuMemFree", ptr))
        if elements.nbytes:
            self("cuMemcpyHtoD", ptr, elements.ctypes.data, elements.nbytes)
        return ptr

    def managed(self, nbytes: int) -> int:
        """Return the address of managed memory."""
        ptr = int(self("cuMemAllocManaged", nbytes, 1))
        self._undo.append(("cuMemFree", ptr))
        return ptr

    def pinned(self, nbytes: int) -> int:
        """Return the address of page-locked memory."""
        ptr = int(self("cuMemHostAlloc", nbytes, 0))
        self._undo.append(("cuMemFreeHost", ptr))
        return ptr

    def owner(self, nbytes: int, stream: int) -> Owner:
        """Return an owner of device memory that is freed on `stream` with the owner."""
        return Owner(self, nbytes, stream)

    def read(self, ptr: int, nbytes: int) -> bytes:
        """Return bytes of device memory, when all work on every device is done."""
        self.synchronize()
        block = np.empty(nbytes, np.uint8)
        if nbytes:
            self("cuMemcpyDtoH", block.ctypes.data, ptr, nbytes)
        return block.tobytes()

    def synchronize(self) -> None:
        """Wait on the host for all work."""
        for device in range(len(self.contexts)):
            with self.current(device):
                self("cuCtxSynchronize")

    def close(self) -> None:
        """Release everything."""
        self("cuCtxSetCurrent", self.contexts[0])
        self.synchronize()
        for name, handle in reversed(self._undo):
            self(name, handle)


@pytest.fixture
def machine(request: pytest.FixtureRequest) -> Any:
    """Return the driver, the first device current."""
    request.getfixturevalue("cuda_driver")
    api = pytest.importorskip("cuda.bindings.driver", reason="cuda-python is not installed")
    found = Machine(api)
    for ordinal in range(len(found.contexts)):  # created once, before any test counts streams
        driver_of(ix.Device("cuda", ordinal), "test").lasting_stream(ordinal, "test")
    yield found
    found.close()
