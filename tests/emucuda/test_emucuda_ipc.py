"""Memory and events of another process: the functions ``cuIpc*`` of the emulated driver."""

from __future__ import annotations

import ctypes
import gc
import time
from pathlib import Path

import pytest

from .peers import content, descriptors

pytestmark = pytest.mark.emulated

SIZE = 4096  # [bytes]
LAZY = 1  # CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS
SHARED = 2 | 4  # CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS


def opened(cuda, peer, address):
    """Open memory of this process in another one, where its address is `at`."""
    handle = content(cuda.cuIpcGetMemHandle(address))
    return peer("at = cu.cuIpcOpenMemHandle(memory_handle(h), 1)", h=handle)


# ---------------------------------------------------------------- memory


def test_memory_is_the_same_in_both_processes(cuda, peer, memory):
    """Either process sees the bytes that the other has written."""
    cuda.cuMemsetD8(memory, 7, SIZE)
    cuda.cuCtxSynchronize()
    opened(cuda, peer, memory)
    seen = peer("emulator.read(at, 4096)")
    peer("cu.cuMemsetD8(at, 9, 4096); cu.cuCtxSynchronize(); cu.cuIpcCloseMemHandle(at)")

    assert seen == b"\7" * SIZE
    assert cuda.emulator.read(memory, SIZE) == b"\x09" * SIZE


def test_the_handle_names_the_allocation(cuda, peer):
    """An address inside gives the handle of the whole, and of nothing beside it."""
    addresses = [int(cuda.cuMemAlloc(1000)) for _ in range(3)]
    for value, address in enumerate(addresses):
        cuda.cuMemsetD8(address, value, 1000)
    cuda.cuCtxSynchronize()
    whole = content(cuda.cuIpcGetMemHandle(addresses[1]))
    inside = content(cuda.cuIpcGetMemHandle(addresses[1] + 100))
    opened(cuda, peer, addresses[1])
    seen = peer("(emulator.read(at, 1000), code('cuMemsetD8', at, 0, 1001))")
    start, size = peer("cu.cuMemGetAddressRange(at)")
    peer("cu.cuIpcCloseMemHandle(at)")

    assert (whole == inside, len(whole)) == (True, 64)
    assert seen == (b"\1" * 1000, "INVALID_VALUE")
    assert (start, size) == (peer("at"), 1000)


def test_memory_that_is_open_is_opened_once(cuda, peer, memory):
    """The second time gives the same address, and the memory stays until it is closed as often."""
    opened(cuda, peer, memory)
    first = peer("at")
    opened(cuda, peer, memory)
    codes = peer("[code('cuIpcCloseMemHandle', at) for _ in range(3)]")

    assert peer("at") == first
    assert codes == ["SUCCESS", "SUCCESS", "INVALID_VALUE"]


def test_handles_that_cannot_be_opened(cuda, peer, memory):
    """In the exporting process; damaged; of freed memory; with another flag."""
    handle = cuda.cuIpcGetMemHandle(memory)
    damaged = bytearray(content(handle))
    damaged[40] ^= 1
    gone = cuda.cuMemAlloc(64)
    freed = content(cuda.cuIpcGetMemHandle(gone))
    cuda.cuMemFree(gone)

    def code(text, flags=LAZY):
        return peer(f"code('cuIpcOpenMemHandle', memory_handle(h), {flags})", h=bytes(text))

    assert cuda.code("cuIpcOpenMemHandle", handle, LAZY) == "INVALID_CONTEXT"
    assert [code(damaged), code(freed), code(bytes(64))] == ["INVALID_HANDLE"] * 3
    assert code(content(handle), flags=0) == "INVALID_VALUE"


def test_memory_without_a_handle(cuda, streams, memory):
    """Managed, page-locked, pool, and unknown memory have none."""
    kept, pageable = cuda.pageable(bytes(64))
    refused = {
        "managed": cuda.cuMemAllocManaged(SIZE, 1),
        "pinned": cuda.host_buffer(),
        "pool": cuda.cuMemAllocAsync(SIZE, streams[0]),
        "pageable": pageable,
        "beyond": memory + SIZE,
    }
    codes = {name: cuda.code("cuIpcGetMemHandle", address) for name, address in refused.items()}
    which = cuda.driver.CUpointer_attribute.CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE
    capable = [
        bool(cuda.cuPointerGetAttribute(which, where)) for where in (memory, refused["managed"])
    ]

    assert codes == dict.fromkeys(refused, "INVALID_VALUE")
    assert capable == [True, False]
    del kept


def test_memory_that_was_opened_is_not_handed_on(cuda, peer, memory):
    """It can neither be exported nor freed as memory of the process."""
    opened(cuda, peer, memory)
    codes = peer("[code('cuIpcGetMemHandle', at), code('cuMemFree', at)]")
    peer("cu.cuIpcCloseMemHandle(at)")

    assert codes == ["INVALID_VALUE"] * 2
    assert cuda.code("cuIpcCloseMemHandle", memory) == "INVALID_VALUE"


def test_one_context_per_device_opens_memory(cuda, peer, memory):
    """Another context of the same device is refused; one of another device is not."""
    handle = content(cuda.cuIpcGetMemHandle(memory))
    opened(cuda, peer, memory)
    peer("other = cu.cuCtxCreate(None, 0, 0)")
    same = peer("code('cuIpcOpenMemHandle', memory_handle(h), 1)", h=handle)
    peer("cu.cuCtxDestroy(other); cu.cuIpcCloseMemHandle(at)")
    peer("cu.cuCtxPushCurrent(cu.cuDevicePrimaryCtxRetain(1))")
    peer("at = cu.cuIpcOpenMemHandle(memory_handle(h), 1)")
    ordinal = peer("cu.cuPointerGetAttribute(d.CUpointer_attribute(9), at)")
    peer("cu.cuIpcCloseMemHandle(at); cu.cuDevicePrimaryCtxRelease(1); cu.cuCtxPopCurrent()")

    assert (same, ordinal) == ("INVALID_CONTEXT", 0)


# ---------------------------------------------------------------- events


def test_a_stream_waits_for_an_event_of_another_process(cuda, peer, streams, memory):
    """The work of the other process runs after that before the record."""
    event = cuda.cuEventCreate(SHARED)
    handle = content(cuda.cuIpcGetEventHandle(event))
    opened(cuda, peer, memory)
    peer("event = cu.cuIpcOpenEventHandle(event_handle(e))", e=handle)
    with cuda.emulator.held(streams[0]):
        cuda.cuMemsetD8Async(memory, 7, SIZE, streams[0])
        cuda.cuEventRecord(event, streams[0])
        peer("cu.cuStreamWaitEvent(stream, event, 0); copy = bytearray(1)")
        peer("pinned = cu.cuMemHostAlloc(1, 0); cu.cuMemcpyDtoHAsync(pinned, at, 1, stream)")
        before = peer("(emulator.pending(stream), code('cuEventQuery', event))")
    peer("cu.cuStreamSynchronize(stream)")
    after = peer("(ctypes.string_at(pinned, 1), code('cuEventQuery', event))")
    peer("cu.cuMemFreeHost(pinned); cu.cuEventDestroy(event); cu.cuIpcCloseMemHandle(at)")

    assert (before, after) == ((2, "NOT_READY"), (b"\7", "SUCCESS"))


def test_an_event_is_recorded_by_either_process(cuda, peer, streams, memory):
    """A record of the importing process is waited for by the stream and the host of the other."""
    stream, _ = streams
    event = cuda.cuEventCreate(SHARED)
    opened(cuda, peer, memory)
    peer(
        "event = cu.cuIpcOpenEventHandle(event_handle(e))",
        e=content(cuda.cuIpcGetEventHandle(event)),
    )
    cuda.cuEventRecord(event, stream)
    peer("emulator.hold(stream); cu.cuMemsetD8Async(at, 5, 4096, stream)")
    peer("cu.cuEventRecord(event, stream)")
    cuda.cuStreamWaitEvent(stream, event, 0)
    before = cuda.code("cuEventQuery", event), cuda.emulator.pending(stream)
    peer("emulator.release(stream)")
    cuda.cuEventSynchronize(event)
    cuda.cuStreamSynchronize(stream)
    peer("cu.cuStreamSynchronize(stream); cu.cuEventDestroy(event); cu.cuIpcCloseMemHandle(at)")

    assert before == ("NOT_READY", 1)
    assert cuda.first_byte(memory) == 5


def test_a_wait_is_for_the_record_of_its_time(cuda, peer, streams):
    """A later record does not delay a stream that waits already."""
    event = cuda.cuEventCreate(SHARED)
    handle = content(cuda.cuIpcGetEventHandle(event))
    peer("event = cu.cuIpcOpenEventHandle(event_handle(e))", e=handle)
    never = peer("cu.cuStreamWaitEvent(stream, event, 0), emulator.pending(stream)")[1]
    cuda.emulator.hold(streams[0])
    cuda.emulator.hold(streams[1])
    cuda.cuEventRecord(event, streams[0])
    peer("cu.cuStreamWaitEvent(stream, event, 0)")
    cuda.cuEventRecord(event, streams[1])
    cuda.emulator.release(streams[0])
    peer("cu.cuStreamSynchronize(stream)")
    after = peer("(code('cuEventQuery', event), emulator.pending(stream))")
    cuda.emulator.release(streams[1])
    peer("cu.cuEventDestroy(event)")

    assert (never, after) == (0, ("NOT_READY", 0))


def test_events_without_a_handle(cuda, peer):
    """Without the flag, opened, or in the process that made it; and a damaged handle."""
    event = cuda.cuEventCreate(SHARED)
    handle = cuda.cuIpcGetEventHandle(event)
    peer("event = cu.cuIpcOpenEventHandle(event_handle(e))", e=content(handle))
    opened_event = peer("code('cuIpcGetEventHandle', event)")
    peer("cu.cuEventDestroy(event)")
    damaged = peer("code('cuIpcOpenEventHandle', event_handle(e))", e=bytes(64))
    cuda.cuEventDestroy(event)
    gone = peer("code('cuIpcOpenEventHandle', event_handle(e))", e=content(handle))

    assert cuda.code("cuIpcGetEventHandle", cuda.event()) == "INVALID_HANDLE"
    assert (opened_event, damaged, gone) == ("INVALID_HANDLE",) * 3
    assert cuda.code("cuIpcOpenEventHandle", handle) == "INVALID_CONTEXT"
    assert cuda.code("cuEventCreate", 4) == "INVALID_VALUE"


# ---------------------------------------------------------------- the end of a process


def test_memory_of_a_process_that_was_killed_stays_readable(cuda, victim):
    """What is open here stays mapped; the handle cannot be opened any more."""
    victim("at = cu.cuMemAlloc(4096); cu.cuMemsetD8(at, 7, 4096); cu.cuCtxSynchronize()")
    text = victim("content(cu.cuIpcGetMemHandle(at))")
    handle = cuda.driver.CUipcMemHandle()
    ctypes.memmove(handle.getPtr(), text, 64)
    address = int(cuda.cuIpcOpenMemHandle(handle, LAZY))
    victim.kill()
    seen = cuda.emulator.read(address, 4)
    cuda.cuMemsetD8(address, 8, 16)
    cuda.cuIpcCloseMemHandle(address)

    assert seen == b"\7" * 4
    assert cuda.code("cuIpcOpenMemHandle", handle, LAZY) == "INVALID_HANDLE"


def test_nothing_waits_for_a_process_that_was_killed(cuda, victim, streams):
    """A stream and the host that wait for its event go on."""
    victim("event = cu.cuEventCreate(6); emulator.hold(stream)")
    text = victim("content(cu.cuIpcGetEventHandle(event))")
    handle = cuda.driver.CUipcEventHandle()
    ctypes.memmove(handle.getPtr(), text, 64)
    event = cuda.cuIpcOpenEventHandle(handle)
    victim("cu.cuMemAllocAsync(64, stream); cu.cuEventRecord(event, stream)")
    cuda.cuStreamWaitEvent(streams[0], event, 0)
    waiting = cuda.emulator.pending(streams[0]), cuda.code("cuEventQuery", event)
    victim.kill()
    start = time.monotonic()
    cuda.cuStreamSynchronize(streams[0])
    cuda.cuEventSynchronize(event)

    assert waiting == (1, "NOT_READY")
    assert time.monotonic() - start < 5


def test_an_importer_that_was_killed_holds_nothing(cuda, victim, memory):
    """The owner frees the memory, and its addresses are used again."""
    opened(cuda, victim, memory)
    event = cuda.cuEventCreate(SHARED)
    victim(
        "e = cu.cuIpcOpenEventHandle(event_handle(e))", e=content(cuda.cuIpcGetEventHandle(event))
    )
    victim.kill()
    before = cuda.emulator.live().device
    cuda.cuMemFree(memory)
    cuda.cuEventDestroy(event)

    assert cuda.emulator.live().device == before - 1


def test_many_rounds_leave_nothing(cuda, peer):
    """Descriptors, files in /dev/shm and live objects are as before."""

    def round_trip():
        address, event = cuda.cuMemAlloc(SIZE), cuda.cuEventCreate(SHARED)
        handles = content(cuda.cuIpcGetMemHandle(address)), content(cuda.cuIpcGetEventHandle(event))
        peer(
            "at = cu.cuIpcOpenMemHandle(memory_handle(h), 1);"
            "event = cu.cuIpcOpenEventHandle(event_handle(e));"
            "cu.cuIpcCloseMemHandle(at); cu.cuEventDestroy(event)",
            h=handles[0],
            e=handles[1],
        )
        cuda.cuMemFree(address)
        cuda.cuEventDestroy(event)

    def state():
        gc.collect()
        files = sorted(path.name for path in Path("/dev", "shm").iterdir())
        there = peer("(len(os.listdir('/proc/self/fd')), tuple(emulator.live()))")
        return descriptors(), files, tuple(cuda.emulator.live()), there

    round_trip()
    before = state()
    for _ in range(50):
        round_trip()

    assert state() == before
