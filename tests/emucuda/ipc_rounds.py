"""Rounds of two processes that share memory and an event, and may be killed; prints how they end.

Run it with the path of the driver and a number of rounds.  By ctypes: a process is forked in less
than a millisecond, and calls the driver for the first time.
"""

import collections
import contextlib
import ctypes
import os
import random
import signal
import sys
import time
from pathlib import Path

SIZE = ctypes.c_size_t(50000)  # [bytes]
ENDS = {40: "no sender", 41: "gone", 44: "other bytes"}  # exit code -> what has happened
FAILED = 45
INVALID_HANDLE = 400


class Handle(ctypes.Structure):
    """A handle of memory or of an event."""

    _fields_ = (("content", ctypes.c_char * 64),)


def leave(code):
    """End the process, if there is a code, without the interpreter's own end."""
    if code:
        os._exit(code)


def check(code):
    """End the process if a call has failed."""
    leave(FAILED if code else 0)


def start(path):
    """Return the driver and a stream, with device 0 current."""
    driver, context, stream = ctypes.CDLL(path), ctypes.c_void_p(), ctypes.c_void_p()
    check(driver.cuInit(0))
    check(driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
    check(driver.cuCtxSetCurrent(context))
    check(driver.cuStreamCreate(ctypes.byref(stream), 1))
    return driver, stream


def export(path, out, answers, how):
    """Write memory, again and again if asked to, and let the other process read it."""
    driver, stream = start(path)
    memory, event = ctypes.c_uint64(), ctypes.c_void_p()
    handles = Handle(), Handle()
    check(driver.cuMemAlloc_v2(ctypes.byref(memory), SIZE))
    check(driver.cuEventCreate(ctypes.byref(event), 6))
    check(driver.cuIpcGetMemHandle(ctypes.byref(handles[0]), memory))
    check(driver.cuIpcGetEventHandle(ctypes.byref(handles[1]), event))
    check(driver.cuMemsetD8Async(memory, 7, SIZE, stream))
    check(driver.cuEventRecord(event, stream))
    with contextlib.suppress(BrokenPipeError):
        os.write(out, b"".join(map(bytes, handles)))
    for _ in range(300 if how == "writes" else 0):
        check(driver.cuStreamWaitEvent(stream, event, 0))
        check(driver.cuMemsetD8Async(memory, 7, SIZE, stream))
        check(driver.cuEventRecord(event, stream))
    if how != "leaves":
        os.read(answers, 1)
        check(driver.cuStreamSynchronize(stream))
        check(driver.cuMemFree_v2(memory))


def consume(path, arrivals, out, how):
    """Read the memory of the other process after each record of its event."""
    driver, stream = start(path)
    content = os.read(arrivals, 128)
    leave(0 if content else 40)
    handles = [Handle.from_buffer_copy(content[at : at + 64]) for at in (0, 64)]
    memory, event = ctypes.c_uint64(), ctypes.c_void_p()
    code = driver.cuIpcOpenMemHandle_v2(ctypes.byref(memory), handles[0], 1)
    leave(41 if code == INVALID_HANDLE else FAILED if code else 0)
    code = driver.cuIpcOpenEventHandle(ctypes.byref(event), handles[1])
    leave(41 if code == INVALID_HANDLE else FAILED if code else 0)
    copy = ctypes.create_string_buffer(SIZE.value)
    for _ in range(300 if how == "writes" else 1):
        check(driver.cuStreamWaitEvent(stream, event, 0))
        check(driver.cuMemcpyDtoHAsync_v2(copy, memory, SIZE, stream))
        leave(0 if copy.raw.count(7) == SIZE.value else 44)
        check(driver.cuEventRecord(event, stream))
    check(driver.cuStreamSynchronize(stream))
    check(driver.cuIpcCloseMemHandle(memory))
    check(driver.cuEventDestroy_v2(event))
    with contextlib.suppress(BrokenPipeError):
        os.write(out, b"x")


def fork(work, *arguments, unused):
    """Return the number of a process that does some work and ends."""
    number = os.fork()
    if not number:
        for file in unused:
            os.close(file)
        work(*arguments)
        os._exit(0)
    return number


def end_of(number):
    """Return how a process has ended, within 20 seconds."""
    limit = time.monotonic() + 20
    while time.monotonic() < limit:
        done, status = os.waitpid(number, os.WNOHANG)
        if done:
            code = os.waitstatus_to_exitcode(status)
            return ENDS.get(code, code)
        time.sleep(0.0002)
    os.kill(number, signal.SIGKILL)
    os.waitpid(number, 0)
    return "hangs"


def one_round(path, how, killed, delay):
    """Return how both processes have ended."""
    (arrivals, sender), (answers, answerer) = os.pipe(), os.pipe()
    exporter = fork(export, path, sender, answers, how, unused=(arrivals, answerer))
    importer = fork(consume, path, arrivals, answerer, how, unused=(sender, answers))
    for file in (arrivals, sender, answers, answerer):
        os.close(file)
    if killed != "none":
        time.sleep(delay)
    for name, number in (("exporter", exporter), ("importer", importer)):
        if killed in {name, "both"}:
            os.kill(number, signal.SIGKILL)
    return end_of(exporter), end_of(importer)


def main(path, count):
    """Print how the processes of all rounds have ended."""
    chance, ends = random.Random(1), collections.Counter()  # noqa: S311 - the same every time
    folder = Path("/dev", "shm")
    before = sorted(folder.iterdir())
    for _ in range(int(count)):
        how = chance.choice(["waits", "leaves", "writes"])
        killed = chance.choice(["none", "exporter", "importer", "both"])
        delay = chance.random() * 0.02  # [seconds]
        ends[(killed, how, *one_round(path, how, killed, delay))] += 1
    print(dict(ends))
    left = [file.name for file in folder.iterdir() if file not in before]
    return f"left in /dev/shm: {left}" if any("emucuda" in name for name in left) else None


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
