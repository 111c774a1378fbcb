"""The driver of ROCm, on HIP functions that the emulated CUDA driver carries out."""

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
    """The driver under test, and the functions of HIP that the tests need beside it."""

    def __init__(self, shim, emulator):
        self.emulator = emulator
        self.driver = open_driver(CALL)
        self.runtime = ctypes.CDLL(str(shim))
        self._streams = []
        self._memory = []

    def do(self, function, *args):
        """Call a function of the runtime, which is to go well."""
        assert (function, getattr(self.runtime, function)(*args)) == (function, 0)

    @contextlib.contextmanager
    def device(self, ordinal):
        """Make a device current for the test's own calls."""
        before = self.driver.current_device(CALL)
        self.do("hipSetDevice", ordinal)
        yield
        self.do("hipSetDevice", before)

    def stream(self, device=0, flags=NON_BLOCKING):
        """Return the handle of a fresh stream."""
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
        """Return the address of fresh memory."""
        make = self.driver.allocate_pinned if pinned else self.driver.allocate
        found = make(size, device, CALL)
        self._memory.append((found, device, pinned))
        return found

    @contextlib.contextmanager
    def capture(self, *streams):
        """Let streams capture one graph each, which is to end well."""
        for stream in streams:
            self.do("hipStreamBeginCapture", c_void_p(stream), THREAD_LOCAL)
        yield
        for stream in streams:
            graph = c_void_p()
            self.do("hipStreamEndCapture", c_void_p(stream), byref(graph))

    def last_error(self):
        """Return what the runtime keeps of the thread's last error."""
        return self.runtime.hipPeekAtLastError()

    def events(self):
        """Return how many events there are."""
        return self.emulator.live().events

    @contextlib.contextmanager
    def calls(self):
        """Give the names of the driver calls that say who waits, while the block runs."""
        names = []
        with self.emulator.trace() as trace:
            yield names
        names += [name for name in trace.names if name in WAITS]

    def close(self):
        """Give back what the test has made."""
        self.driver.synchronize_device(0, CALL)
        self.driver.synchronize_device(1, CALL)
        for stream in tuple(self._streams):
            self.destroy(stream)
        for found in self._memory:
            self.driver.free(*found)


@pytest.fixture(scope="session")
def build_runtime(tmp_path_factory):
    """Return a function that builds the runtime, to be known to the loader by a name."""

    def build_named(name):
        made = tmp_path_factory.mktemp("hip") / name
        source = Path(__file__).with_name("hip_shim.c")
        words = [*find_compiler(), *OPTIONS, f"-I{find_header().parent}", f"-Wl,-soname,{name}"]
        subprocess.run([*words, "-o", str(made), str(source), str(build())], check=True)
        return made

    return build_named


@pytest.fixture(scope="session")
def shim(build_runtime):
    """Build the runtime under a name that no test of this process finds later."""
    return build_runtime("libhip_shim.so")


@pytest.fixture
def rocm(emulator, request, monkeypatch):
    """Give the driver, with streams and memory that are gone when the test is."""
    shim = request.getfixturevalue("shim")  # not before it is known that there is an emulator
    monkeypatch.setenv(library.VARIABLE, str(shim))
    found = Rocm(shim, emulator)
    yield found
    found.close()


@pytest.fixture(params=VERSIONS)
def rocm_of_each_version(request, rocm):
    """Give the driver once per numbering of memory types."""
    rocm.runtime.shim_set_version(request.param)
    rocm.driver = open_driver(CALL)
    yield rocm
    rocm.runtime.shim_set_version(VERSIONS[2])
