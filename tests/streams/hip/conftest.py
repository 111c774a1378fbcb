"""The driver of ROCm, on HIP functions that are implemented with the emulated CUDA driver."""

from __future__ import annotations

import contextlib
import ctypes
import subprocess
from ctypes import byref, c_uint, c_void_p
from pathlib import Path

import pytest

from interchange._streams import _hip_library as library
from interchange._streams.hip import open_driver
from interchange_conformance.emucuda import build
from interchange_conformance.emucuda.building import find_compiler, find_header

CALL = "f()"
SIZE = 256  # [bytes], of an allocation
NON_BLOCKING = 1  # hipStreamNonBlocking
THREAD_LOCAL = 1  # hipStreamCaptureModeThreadLocal
VERSIONS = [50221153, 50531061, 60443483, 70051831]  # HIP_VERSION of 5.2, 5.5, 6.4 and 7.0
WAITS = {"cuEventCreate", "cuEventRecord", "cuEventDestroy_v2", "cuStreamWaitEvent"}
OPTIONS = ("-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC")


class Rocm:
    """The driver under test, and additional functions of HIP for the tests."""

    def __init__(self, shim, emulator):
        self.emulator = emulator
        self.driver = open_driver(CALL)
        self.runtime = ctypes.CDLL(str(shim))
        self._streams = []
        self._memory = []

    def do(self, function, *args):
        """Call a function of the runtime, which must succeed."""
        assert (function, getattr(self.runtime, function)(*args)) == (function, 0)

    @contextlib.contextmanager
    def device(self, ordinal):
        """Make a device current for the test's own calls."""
        before = self.driver.current_device(CALL)
        self.do("hipSetDevice", ordinal)
        yield
        self.do("hipSetDevice", before)

    def stream(self, device=0, flags=NON_BLOCKING):
        """Return the handle of a new stream."""
        found = c_void_p()
        with self.device(device):
            self.do("hipStreamCreateWithFlags", byref(found), c_uint(flags))
        self._streams.append(found.value)
        return found.value

    def destroy(self, stream):
        """Destroy a stream."""
        self._streams.remove(stream)
        self.do("hipStreamDestroy", c_void_p(stream))

    def memory(self, device=0, size=SIZE, *, pinned=False):
        """Return the address of new memory."""
        make = self.driver.allocate_pinned if pinned else self.driver.allocate
        found = make(size, device, CALL)
        self._memory.append((found, device, pinned))
        return found

    @contextlib.contextmanager
    def capture(self, *streams):
        """Capture one graph on each stream, and end the captures successfully."""
        for stream in streams:
            self.do("hipStreamBeginCapture", c_void_p(stream), THREAD_LOCAL)
        yield
        for stream in streams:
            graph = c_void_p()
            self.do("hipStreamEndCapture", c_void_p(stream), byref(graph))

    def last_error(self):
        """Return the last error that the runtime keeps for the thread."""
        return self.runtime.hipPeekAtLastError()

    def events(self):
        """Return the number of events."""
        return self.emulator.live().events

    @contextlib.contextmanager
    def calls(self):
        """Record the names of the driver calls that wait or record events while the block runs."""
        names = []
        with self.emulator.trace() as trace:
            yield names
        names += [name for name in trace.names if name in WAITS]

    def close(self):
        """Free all resources of the test."""
        self.driver.synchronize_device(0, CALL)
        self.driver.synchronize_device(1, CALL)
        for stream in tuple(self._streams):
            self.destroy(stream)
        for found in self._memory:
            self.driver.free(*found)


@pytest.fixture(scope="session")
def build_runtime(tmp_path_factory):
    """Return a function that builds the runtime under a name that the loader finds."""

    def build_named(name):
        made = tmp_path_factory.mktemp("hip") / name
        source = Path(__file__).with_name("hip_shim.c")
        words = [*find_compiler(), *OPTIONS, f"-I{find_header().parent}", f"-Wl,-soname,{name}"]
        subprocess.run([*words, "-o", str(made), str(source), str(build())], check=True)
        return made

    return build_named


@pytest.fixture(scope="session")
def shim(build_runtime):
    """Build the runtime under a name that no other test of this process finds."""
    return build_runtime("libhip_shim.so")


@pytest.fixture
def rocm(emulator, request, monkeypatch):
    """Return the driver; its streams and memory are freed after the test."""
    shim = request.getfixturevalue("shim")  # only after the emulator is known to be available
    monkeypatch.setenv(library.VARIABLE, str(shim))
    found = Rocm(shim, emulator)
    yield found
    found.close()


@pytest.fixture(params=VERSIONS)
def rocm_of_each_version(request, rocm):
    """Return the driver for each numbering of memory types."""
    rocm.runtime.shim_set_version(request.param)
    rocm.driver = open_driver(CALL)
    yield rocm
    rocm.runtime.shim_set_version(VERSIONS[2])
