"""The emulated CUDA runtime library: programs that call ``cuda*`` functions."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from interchange_conformance.emucuda import Settings, build, build_runtime
from interchange_conformance.emucuda.building import find_compiler

from .programs import CLEAN, PYTHON, launch

pytestmark = pytest.mark.emulated

COMMON = """
import ctypes, os, sys
from ctypes import byref, c_int, c_size_t, c_uint, c_void_p

rt = ctypes.CDLL(os.environ["RUNTIME"])
rt.cudaGetErrorName.restype = rt.cudaGetErrorString.restype = ctypes.c_char_p

def check(code):
    if code:
        sys.exit(rt.cudaGetErrorName(code).decode())

def pointer():
    made = c_void_p()
    check(rt.cudaMalloc(byref(made), c_size_t(64)))
    return made

def stream():
    made = c_void_p()
    check(rt.cudaStreamCreateWithFlags(byref(made), c_uint(1)))
    return made

def event():
    made = c_void_p()
    check(rt.cudaEventCreateWithFlags(byref(made), c_uint(6)))
    return made

"""


@pytest.fixture(scope="module")
def runtime(need):
    """Return the library."""
    need("cuda.bindings.driver")
    return build_runtime()


def run(runtime, program, *words, **environment):
    """Run a Python program on the runtime library, and return its output."""
    base = {**CLEAN, "RUNTIME": str(runtime), "ALL": COMMON + program, **environment}
    done = subprocess.run(
        [PYTHON, "-c", COMMON + program, *words],
        env=Settings().environment(build(), base, runtime),
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_copies_in_every_direction(runtime):
    """Bytes go to the device and back, by the kind and by the address, in rows as well."""
    out = run(runtime, COPIES)

    assert out == ["07", "07", "09", "0908", "ok"]


COPIES = """
x, y, s = pointer(), pointer(), stream()
host, back = ctypes.create_string_buffer(b"\\7" * 64), ctypes.create_string_buffer(64)
check(rt.cudaMemcpy(x, host, c_size_t(64), 1))
check(rt.cudaMemcpyAsync(y, x, c_size_t(64), 3, s))
check(rt.cudaStreamSynchronize(s))
check(rt.cudaMemcpy(back, y, c_size_t(64), 2))
print(back.raw[:1].hex())
check(rt.cudaMemcpy(back, x, c_size_t(64), 4))
print(back.raw[63:].hex())
check(rt.cudaMemset(x, 9, c_size_t(64)))
check(rt.cudaDeviceSynchronize())
check(rt.cudaMemcpyAsync(back, x, c_size_t(64), 2, s))
print(back.raw[:1].hex())
check(rt.cudaMemset2D(x, c_size_t(8), 8, c_size_t(4), c_size_t(8)))
check(rt.cudaMemcpy2D(back, c_size_t(4), ctypes.c_void_p(x.value + 3), c_size_t(8), c_size_t(2),
                      c_size_t(8), 2))
print(back.raw[1:2].hex() + back.raw[:1].hex())
for memory in (x, y, None):
    check(rt.cudaFree(memory))
print("ok")
"""


def test_devices_errors_and_attributes(runtime):
    """Each thread has its device; the last error is kept until it is read."""
    out = run(runtime, DEVICES)

    assert out == [
        "2",
        "0",
        "1",
        "1",
        "16",
        "cudaErrorInvalidDevice",
        "101",
        "101",
        "0",
        "2",
        "1",
        "0",
    ]


DEVICES = """
import threading
number, value = c_int(), c_int()
check(rt.cudaGetDeviceCount(byref(number)))
print(number.value)
check(rt.cudaGetDevice(byref(value)))
print(value.value)
check(rt.cudaSetDevice(1))
check(rt.cudaGetDevice(byref(value)))
print(value.value)
check(rt.cudaDeviceCanAccessPeer(byref(value), 1, 0))
print(value.value)
check(rt.cudaDeviceGetAttribute(byref(value), 16, 0))
print(value.value)
print(rt.cudaGetErrorName(rt.cudaSetDevice(99)).decode())
print(rt.cudaPeekAtLastError(), rt.cudaGetLastError(), rt.cudaGetLastError())

class Attributes(ctypes.Structure):
    _fields_ = [("type", c_int), ("device", c_int), ("where", c_void_p), ("host", c_void_p)]

found, room = Attributes(), ctypes.create_string_buffer(256)
def describe(address):
    check(rt.cudaPointerGetAttributes(room, address))
    return Attributes.from_buffer_copy(room)

memory = pointer()
print(describe(memory).type, describe(memory).device, describe(room).type)
check(rt.cudaFree(memory))
"""


def test_streams_and_events_order_work(runtime):
    """Without the wait the detector reports the program."""
    env = {"RUNTIME": str(runtime), "PROGRAM": COMMON + STREAMS}
    words = ["--cudart", "--", PYTHON, "-c", "import os; exec(os.environ['PROGRAM'])"]
    right, wrong = launch(*words, WAIT="1", **env), launch(*words, WAIT="", **env)

    assert (right.returncode, right.stderr) == (0, "")
    assert wrong.returncode == 86
    assert "write after write (WAW): cuMemsetD8Async" in wrong.stderr


STREAMS = """
x, a, b, mark = pointer(), stream(), stream(), event()
check(rt.cudaMemsetAsync(x, 1, c_size_t(64), a))
check(rt.cudaEventRecord(mark, a))
if os.environ["WAIT"]:
    check(rt.cudaStreamWaitEvent(b, mark, c_uint(0)))
check(rt.cudaMemsetAsync(x, 2, c_size_t(64), b))
check(rt.cudaEventSynchronize(mark))
check(rt.cudaDeviceSynchronize())
for made in (a, b):
    check(rt.cudaStreamDestroy(made))
check(rt.cudaEventDestroy(mark))
"""


def test_pools_and_page_locked_memory(runtime):
    """Memory in stream order, from the device's pool."""
    out = run(runtime, POOLS)

    assert out == ["05", "64", "0"]


POOLS = """
s, x, pinned, pool = stream(), c_void_p(), c_void_p(), c_void_p()
used = ctypes.c_uint64()
check(rt.cudaDeviceGetDefaultMemPool(byref(pool), 0))
check(rt.cudaMallocAsync(byref(x), c_size_t(64), s))
check(rt.cudaMallocHost(byref(pinned), c_size_t(64)))
check(rt.cudaMemsetAsync(x, 5, c_size_t(64), s))
check(rt.cudaMemcpyAsync(pinned, x, c_size_t(64), 4, s))
check(rt.cudaStreamSynchronize(s))
print(ctypes.string_at(pinned, 1).hex())
check(rt.cudaMemPoolGetAttribute(pool, 7, byref(used)))
print(used.value)
check(rt.cudaFreeAsync(x, s))
check(rt.cudaStreamSynchronize(s))
check(rt.cudaFreeHost(pinned))
check(rt.cudaMemPoolGetAttribute(pool, 7, byref(used)))
print(used.value)
"""


def test_memory_and_events_of_another_process(runtime):
    """Structures of 64 bytes are passed by value, as in C."""
    out = run(runtime, PROCESSES)

    assert out == ["0707", "0"]


PROCESSES = """
import subprocess

class Handle(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_char * 64)]

memory, mark = Handle(), Handle()
if len(sys.argv) == 1:
    x, s, done = pointer(), stream(), event()
    check(rt.cudaIpcGetMemHandle(byref(memory), x))
    check(rt.cudaIpcGetEventHandle(byref(mark), done))
    check(rt.cudaMemsetAsync(x, 7, c_size_t(64), s))
    check(rt.cudaEventRecord(done, s))
    words = [sys.executable, "-c", os.environ["ALL"], bytes(memory).hex(), bytes(mark).hex()]
    print(subprocess.check_output(words, text=True))
    print(rt.cudaFree(x))
else:
    memory, mark = (Handle.from_buffer_copy(bytes.fromhex(text)) for text in sys.argv[1:])
    x, done, s = c_void_p(), c_void_p(), stream()
    back = ctypes.create_string_buffer(64)
    check(rt.cudaIpcOpenMemHandle(byref(x), memory, c_uint(1)))
    check(rt.cudaIpcOpenEventHandle(byref(done), mark))
    check(rt.cudaStreamWaitEvent(s, done, c_uint(0)))
    check(rt.cudaMemcpyAsync(back, x, c_size_t(64), 2, s))
    print(back.raw[:1].hex() + back.raw[63:].hex(), end="")
    check(rt.cudaIpcCloseMemHandle(x))
    check(rt.cudaEventDestroy(done))
"""


def test_a_program_in_c_is_linked_with_it(runtime, tmp_path):
    """The library is found by its name, as a real one."""
    source = tmp_path / "program.c"
    source.write_text(
        "int cudaMalloc(void **, unsigned long); int cudaFree(void *); int puts(const char *);\n"
        "int main(void) { void *x; int code = cudaMalloc(&x, 64); puts(code ? "
        '"error" : "memory"); return cudaFree(x); }\n',
        encoding="ascii",
    )
    words = [*find_compiler(), "-o", tmp_path / "program", source, runtime]
    subprocess.run([*words, f"-Wl,-rpath-link,{build().parent}"], check=True, timeout=100)
    shutil.copy(tmp_path / "program", tmp_path / "copy")
    done = launch("--cudart", "--", tmp_path / "copy")

    assert (done.returncode, done.stdout) == (0, "memory\n")
