"""Fixtures for tests of real clients: cuda.bindings, cuda.core and numba-cuda.

Source: the clients' own documentation.  All three run on the emulated driver, which replaces
their kernels by `Emulator.fill` and `Emulator.annotate`.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import types

import pytest

SIZE = 4096  # of a producer's memory [bytes]


class Bindings:
    """The driver as in cuda.bindings; errors are raised, and all resources are freed."""

    size = SIZE

    def __init__(self, api):
        self.api = api
        self._undo = []
        self("cuInit", 0)
        self.context = self("cuDevicePrimaryCtxRetain", 0)
        self("cuCtxSetCurrent", self.context)

    def __call__(self, name, *args):
        """Call the driver; return its result."""
        error, *answer = getattr(self.api, name)(*args)
        assert not error, f"{name}{args}: {error.name}"
        return answer[0] if len(answer) == 1 else answer

    def stream(self):
        """Return a new stream that does not wait for the legacy one: a ``CUstream``."""
        stream = self("cuStreamCreate", 1)
        self._undo.append(("cuStreamDestroy", stream))
        return stream

    def memory(self, nbytes=SIZE, value=0):
        """Return the address of new device memory, every byte `value`."""
        ptr = int(self("cuMemAlloc", nbytes))
        self._undo.append(("cuMemFree", ptr))
        self("cuMemsetD8", ptr, value, nbytes)
        self("cuCtxSynchronize")
        return ptr

    def upload(self, data):
        """Return the address of new device memory with the given bytes."""
        ptr = self.memory(len(data))
        self("cuMemcpyHtoD", ptr, data, len(data))
        self("cuCtxSynchronize")
        return ptr

    def pinned(self, nbytes=SIZE):
        """Return the address of new page-locked memory, every byte 0."""
        ptr = int(self("cuMemHostAlloc", nbytes, 0))
        self._undo.append(("cuMemFreeHost", ptr))
        ctypes.memset(ptr, 0, nbytes)
        return ptr

    def fill(self, ptr, value, stream, nbytes=SIZE):
        """Enqueue a write of every byte."""
        self("cuMemsetD8Async", ptr, value, nbytes, stream)

    def read_on(self, ptr, stream, nbytes=SIZE):
        """Return the bytes that a copy on a stream reads; it waits for this stream only."""
        target = self.pinned(nbytes)
        self("cuMemcpyAsync", target, ptr, nbytes, stream)
        self("cuStreamSynchronize", stream)
        return ctypes.string_at(target, nbytes)

    def synchronize(self):
        """Make the host wait for all work on the device."""
        self("cuCtxSynchronize")

    def close(self):
        """Free all resources."""
        self("cuCtxSetCurrent", self.context)
        self("cuCtxSynchronize")
        for name, handle in reversed(self._undo):
            self(name, handle)


@pytest.fixture
def bindings(emulator, need):  # noqa: ARG001 - one brings the driver
    """Return the driver as in cuda.bindings; the first device is current.

    Garbage collection is disabled: freeing memory of an earlier test would make the host wait.
    """
    need("cuda.bindings")
    gc.disable()
    found = Bindings(importlib.import_module("cuda.bindings.driver"))
    yield found
    found.close()
    gc.enable()


@pytest.fixture
def cuda_core(bindings, need):  # noqa: ARG001 - one makes a device current
    """Return cuda.core's names, with ``device``, the first device, and ``View``, a memory view."""
    need("cuda.core")
    module = importlib.import_module("cuda.core")
    utils = importlib.import_module("cuda.core.utils")
    device = module.Device(0)
    device.set_current()
    names = {name: getattr(module, name) for name in dir(module) if not name.startswith("_")}
    return types.SimpleNamespace(**names, device=device, View=utils.StridedMemoryView)


@pytest.fixture
def numba(bindings, need):
    """Return ``numba.cuda`` of numba-cuda; its deferred deallocations run afterwards."""
    need("numba_cuda")
    module = importlib.import_module("numba.cuda")
    yield module
    bindings.synchronize()
    context = module.current_context()
    context.deallocations.clear()
    context.memory_manager.deallocations.clear()


class Owner:
    """An owner of memory with weak references."""


@pytest.fixture
def make_owner():
    """Return a function that creates owners."""
    return Owner


class Record:
    """An object with a version 3 record for memory of another owner."""

    def __init__(self, ptr, stream, size=SIZE, **entries):
        self.__cuda_array_interface__ = {
            "shape": (size,),
            "typestr": "|u1",
            "data": (ptr, False),
            "version": 3,
            "stream": stream,
            **entries,
        }


@pytest.fixture
def make_record():
    """Return a function that creates objects with the interface."""
    return Record
