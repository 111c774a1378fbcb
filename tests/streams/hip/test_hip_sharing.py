"""Memory of ROCm devices in another process, by the functions of HIP that are named hipIpc."""

from __future__ import annotations

import gc
import os
import pickle
import subprocess
import sys
import time

import pytest

import interchange as ix
from interchange._protocols.sharing import device_memory
from interchange._streams import _hip_library as library

pytestmark = pytest.mark.emulated

SIZE = 256  # [bytes], of an allocation
PROGRAM = """
import gc, pickle, sys
from interchange_conformance import emucuda
emulator = emucuda.load()
import interchange as ix
handle = pickle.load(sys.stdin.buffer)
y, z = ix.open_shared(handle), ix.open_shared(handle)
assert y.ptr == z.ptr
print(str(y.device), y.shape, emulator.read(y.ptr, 2)[0])
del y, z
gc.collect()
print(emulator.reports())
"""


def opened_elsewhere(handle):
    """Return what another process prints that opens a handle."""
    sent = pickle.dumps(handle)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], input=sent, capture_output=True, timeout=100, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode().splitlines()


def test_memory_is_opened_in_another_process(rocm):
    """Its stream waits for work that was pending; the memory is kept while it is open."""
    stream, address = rocm.stream(), rocm.memory()
    rocm.emulator.fill(stream, address, SIZE, 7)
    x = ix.from_pointer(address, SIZE, "uint8", device="rocm:0", stream=stream)
    handle = ix.share(x[16:])
    assert os.environ[library.VARIABLE]
    assert opened_elsewhere(handle) == [f"rocm:0 ({SIZE - 16},) 7", "[]"]
    del x, handle
    gc.collect()
    deadline = time.monotonic() + 10
    while device_memory._exported and time.monotonic() < deadline:
        time.sleep(0.002)
    assert not device_memory._exported


def test_a_runtime_without_the_functions_is_refused(rocm, monkeypatch):
    """The error names the function."""
    x = ix.from_pointer(rocm.memory(), SIZE, "uint8", device="rocm:0")
    real = device_memory.Interprocess._function

    def without(self, name, call):
        return real(self, f"{name}Missing" if "Ipc" in name else name, call)

    monkeypatch.setattr(device_memory.Interprocess, "_function", without)
    with pytest.raises(ix.UnsupportedDeviceError, match="IX-SHARE-7") as caught:
        ix.share(x)
    assert "hipIpcGetMemHandle" in str(caught.value)
