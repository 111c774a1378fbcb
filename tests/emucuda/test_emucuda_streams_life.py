"""Lifetime of streams, host functions, contexts and processes of the emulated driver."""

from __future__ import annotations

import ctypes
import threading
from pathlib import Path

import pytest

from .programs import ON_DRIVER

pytestmark = pytest.mark.emulated

SIZE = 4096  # [bytes]
LEGACY, PER_THREAD = 1, 2
UNKNOWN = 0x5EC0DEADBEE0


# ---------------------------------------------------------------- lifetime


@pytest.mark.parametrize("synchronised", [False, True])
def test_work_of_a_destroyed_stream_is_done(cuda, memory, synchronised):
    """Destroying a stream returns at once; its work still runs, and its context waits for it."""
    stream = cuda.stream()
    cuda.emulator.delay(stream, 0.02)
    cuda.cuMemsetD8Async(memory, 7, SIZE, stream)
    cuda.cuStreamDestroy(stream)
    before = cuda.first_byte(memory)
    if synchronised:
        cuda.cuCtxSynchronize()

    assert before == 0
    assert cuda.soon(lambda: cuda.first_byte(memory) == 7, seconds=0 if synchronised else 20)


def thread_count():
    """Return the number of threads of this process."""
    return len(list(Path("/proc/self/task").iterdir()))


def test_threads_of_destroyed_streams_end(cuda):
    """A hundred streams that executed work leave no threads behind."""
    before = thread_count()
    for _ in range(100):
        stream = cuda.stream()
        cuda.emulator.annotate(stream, 0, 0, write=False)
        cuda.cuStreamDestroy(stream)
    cuda.cuCtxSynchronize()

    assert cuda.soon(lambda: thread_count() <= before)


def test_per_thread_streams_go_with_their_threads(cuda, memory):
    """A hundred threads that used their per-thread streams leave no worker behind."""
    before = thread_count()

    def work():
        cuda.cuMemsetD8Async(memory, 7, SIZE, PER_THREAD)
        cuda.cuStreamSynchronize(PER_THREAD)

    for _ in range(100):
        cuda.in_thread(work)

    assert cuda.soon(lambda: thread_count() <= before)


def resident():
    """Return the resident memory of this process [KiB]."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmRSS:")[2].split()[0])


def round_trip(cuda, memory, stream):
    """Create one resource of each kind, use it, and free it."""
    address = cuda.cuMemAlloc(SIZE)
    other, event = cuda.stream(), cuda.event()
    cuda.cuMemcpyDtoDAsync(address, memory, SIZE, other)
    cuda.cuEventRecord(event, other)
    cuda.cuStreamWaitEvent(stream, event, 0)
    cuda.cuMemsetD8Async(address, 1, SIZE, stream)
    cuda.cuEventDestroy(event)
    cuda.cuStreamDestroy(other)
    cuda.cuMemFree(address)


@pytest.mark.slow
def test_ten_thousand_round_trips_leave_nothing_behind(cuda, emulator, streams, memory):
    """No memory, stream, event or thread is left, and the process does not grow."""
    for _ in range(5000):  # until quarantine is full
        round_trip(cuda, memory, streams[0])
    before, live, threads = resident(), emulator.live(), thread_count()
    for _ in range(10_000):
        round_trip(cuda, memory, streams[0])

    assert emulator.live() == live
    assert resident() - before < 2000  # [KiB]
    assert cuda.soon(lambda: thread_count() <= threads)
    assert emulator.reports() == []


# ---------------------------------------------------------------- host functions


def test_a_host_function_runs_in_its_place(cuda, streams, semaphore):
    """It runs after earlier work and before later work of the stream."""
    stream, _ = streams
    with cuda.emulator.held(stream):
        cuda.host_function(stream, semaphore.libc.sem_post, semaphore.address)
        before = semaphore.value
    cuda.cuStreamSynchronize(stream)

    assert (before, semaphore.value) == (0, 1)


def test_a_host_function_that_blocks_stops_its_stream_only(cuda, streams, memory, semaphore):
    """The driver continues to serve other threads."""
    blocked, free = streams
    cuda.host_function(blocked, semaphore.libc.sem_wait, semaphore.address)
    cuda.cuMemsetD8Async(memory, 7, 1, blocked)
    cuda.cuMemsetD8Async(memory + 1, 8, 1, free)
    cuda.cuStreamSynchronize(free)
    before = cuda.emulator.read(memory, 2), cuda.code("cuStreamQuery", blocked)
    semaphore.post()
    cuda.cuStreamSynchronize(blocked)

    assert before == (b"\0\10", "NOT_READY")
    assert cuda.emulator.read(memory, 2) == b"\7\10"


def test_a_host_function_may_not_call_the_driver(cuda, emulator, streams):
    """The call returns CUDA_ERROR_NOT_PERMITTED and does nothing."""
    count = ctypes.c_int(-1)
    call = ctypes.CDLL(str(emulator.library)).cuDeviceGetCount
    cuda.host_function(streams[0], call, ctypes.addressof(count))
    cuda.cuStreamSynchronize(streams[0])

    assert count.value == -1


# ---------------------------------------------------------------- contexts


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("cuStreamCreate", (0,)),
        ("cuEventCreate", (0,)),
        ("cuMemAlloc", (1,)),
        ("cuCtxSynchronize", ()),
        ("cuCtxGetDevice", ()),
        ("cuStreamSynchronize", (0,)),
        ("cuStreamSynchronize", (PER_THREAD,)),
        ("cuCtxPopCurrent", ()),
    ],
)
def test_a_thread_without_a_context_is_told_so(cuda, name, arguments):
    """The calls return CUDA_ERROR_INVALID_CONTEXT."""
    codes = []
    thread = threading.Thread(target=lambda: codes.append(cuda.code(name, *arguments)))
    thread.start()
    thread.join()

    assert codes == ["INVALID_CONTEXT"]


def test_contexts_form_a_stack(cuda):
    """Contexts are pushed, popped, and replaced at the top of the stack."""
    first = int(cuda.context)
    second = int(cuda.retain(1))
    cuda.cuCtxPushCurrent(second)
    inner = int(cuda.cuCtxGetCurrent()), int(cuda.cuCtxGetDevice())
    popped = int(cuda.cuCtxPopCurrent())
    outer = int(cuda.cuCtxGetCurrent())
    cuda.cuCtxSetCurrent(second)
    replaced = int(cuda.cuCtxPopCurrent())

    assert inner == (second, 1)
    assert (popped, outer, replaced) == (second, first, second)
    assert int(cuda.cuCtxGetCurrent()) == 0


@pytest.mark.parametrize("handle", [UNKNOWN, 1])
@pytest.mark.parametrize("name", ["cuCtxSetCurrent", "cuCtxPushCurrent", "cuCtxDestroy"])
def test_an_invalid_context_is_refused(cuda, name, handle):
    """The calls return CUDA_ERROR_INVALID_CONTEXT."""
    assert cuda.code(name, handle) == "INVALID_CONTEXT"


def test_a_primary_context_has_to_be_retained(run_isolated):
    """A primary context is inactive before it is retained and after its last release."""
    out = run_isolated("""
from interchange_conformance.emucuda import load
load()
from cuda.bindings import driver as d

print(d.cuDeviceGetCount()[0].name, d.cuStreamSynchronize(0)[0].name)
d.cuInit(0)
print(d.cuDevicePrimaryCtxGetState(0)[1:], d.cuDevicePrimaryCtxRelease(0)[0].name)
context = d.cuDevicePrimaryCtxRetain(0)[1]
print(d.cuCtxSetCurrent(context)[0].name, d.cuDevicePrimaryCtxGetState(0)[1:])
stream = d.cuStreamCreate(0)[1]
d.cuDevicePrimaryCtxRelease(0)
print(d.cuStreamSynchronize(stream)[0].name, d.cuCtxSetCurrent(context)[0].name)
again = d.cuDevicePrimaryCtxRetain(0)[1]
d.cuCtxSetCurrent(again)
print(int(again) == int(context), d.cuStreamSynchronize(stream)[0].name)
""")

    assert out.splitlines() == [
        "CUDA_ERROR_NOT_INITIALIZED CUDA_ERROR_NOT_INITIALIZED",
        "(0, 0) CUDA_ERROR_INVALID_CONTEXT",
        "CUDA_SUCCESS (0, 1)",
        "CUDA_ERROR_CONTEXT_IS_DESTROYED CUDA_ERROR_INVALID_CONTEXT",
        "True CUDA_ERROR_INVALID_HANDLE",
    ]


def test_a_context_of_its_own(cuda, emulator):
    """A created context is current, and its streams are destroyed with it."""
    made = cuda.cuCtxCreate(None, 0, 0)
    current = int(cuda.cuCtxGetCurrent()) == int(made)
    stream, event, address = cuda.stream(), cuda.event(), cuda.cuMemAlloc(64)
    strange = cuda.code("cuEventRecord", event, stream)
    during = emulator.live()
    cuda.cuCtxDestroy(made)

    assert (current, strange) == (True, "SUCCESS")
    assert (during.contexts, emulator.live().contexts) == (1, 0)
    assert int(cuda.cuCtxGetCurrent()) == int(cuda.context)
    assert cuda.code("cuStreamSynchronize", stream) == "INVALID_HANDLE"
    assert cuda.code("cuEventQuery", event) == "INVALID_HANDLE"
    assert cuda.code("cuMemFree", address) == "INVALID_VALUE"


def test_the_legacy_stream_is_the_current_contexts(cuda, memory):
    """Each context has a legacy stream, and these do not wait for each other."""
    with cuda.emulator.held(LEGACY):
        cuda.emulator.annotate(LEGACY, memory, 1, write=False)
        made = cuda.cuCtxCreate(None, 0, 0)
        cuda.emulator.annotate(LEGACY, memory, 1, write=False)
        theirs = cuda.soon(lambda: cuda.emulator.pending(LEGACY) == 0)
        cuda.cuCtxDestroy(made)
        ours = cuda.emulator.pending(LEGACY)

    assert (theirs, ours) == (True, 1)


def test_a_primary_context_is_not_destroyed(cuda):
    """A primary context is released instead."""
    assert cuda.code("cuCtxDestroy", cuda.context) == "INVALID_CONTEXT"


@pytest.mark.parametrize("number", [-1, 2, 99])
@pytest.mark.parametrize(
    "name", ["cuDeviceGet", "cuDevicePrimaryCtxRetain", "cuDeviceGetDefaultMemPool"]
)
def test_a_missing_device_is_refused(cuda, name, number):
    """The calls return CUDA_ERROR_INVALID_DEVICE."""
    assert cuda.code(name, number) == "INVALID_DEVICE"


# ---------------------------------------------------------------- processes


def test_a_child_of_a_fork_has_no_driver(run_isolated):
    """CUDA cannot be used in the child, and the parent continues."""
    out = run_isolated(f"""{ON_DRIVER}
import os
stream = d.cuStreamCreate(0)[1]
memory = d.cuMemAlloc(64)[1]
d.cuMemsetD8Async(memory, 1, 64, stream)
if not os.fork():
    calls = (d.cuInit, 0), (d.cuStreamSynchronize, stream), (d.cuMemFree, memory), (d.cuMemAlloc, 1)
    print({{call(argument)[0].name for call, argument in calls}}, flush=True)
    os._exit(0)
os.wait()
print(d.cuStreamSynchronize(stream)[0].name, d.cuMemFree(memory)[0].name)
""")

    assert out.splitlines() == ["{'CUDA_ERROR_NOT_INITIALIZED'}", "CUDA_SUCCESS CUDA_SUCCESS"]


@pytest.mark.parametrize("exiting", ["pass", "sys.exit(0)", "raise SystemExit"])
def test_a_process_ends_while_streams_work(run_isolated, exiting):
    """A held stream, a delayed one and an endless host function neither hang nor crash the exit."""
    out = run_isolated(f"""{ON_DRIVER}
import ctypes, sys
held, delayed, blocked = (d.cuStreamCreate(1)[1] for _ in range(3))
memory = [d.cuMemAlloc(64)[1] for _ in range(3)]
emulator.hold(held)
emulator.delay(delayed, 60)
libc = ctypes.CDLL(None)
libc.calloc.restype = ctypes.c_void_p
semaphore = ctypes.c_void_p(libc.calloc(1, 64))  # in use until the process ends
libc.sem_init(semaphore, 0, 0)
launch = ctypes.CDLL(str(emulator.library)).cuLaunchHostFunc
launch(ctypes.c_void_p(int(blocked)), libc.sem_wait, semaphore)
for stream, address in zip((held, delayed, blocked), memory):
    assert d.cuMemsetD8Async(address, 1, 64, stream)[0] == 0
print("end", flush=True)
{exiting}
""")

    assert out == "end\n"
