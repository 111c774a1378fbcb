"""Memory that the rounds of sharing.py share: on the host, and on the emulated CUDA driver."""

import gc
import mmap
import os
import re
import secrets
import sys
import tempfile
import time
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path

import interchange as ix

LEAKED = 43  # exit code
SIZE = 3 * mmap.PAGESIZE
FIRST = 100  # where the array starts [bytes]
SHAPE, STRIDES = (40, 3), (-200, 5)
LAST = FIRST + 39 * 200
"""The byte of the first element: rows are in descending order."""
OURS = f"sharing-test-{os.environ.setdefault('SHARING_RUN', secrets.token_hex(8))}-"
NAMES = re.compile("interchange|emucuda")
SHM = Path("/dev", "shm")
GRAIN = 1 << 21  # of virtual memory [bytes]


def values(seed):
    return [[(seed + 7 * i + j) % 251 for j in range(SHAPE[1])] for i in range(SHAPE[0])]


def content(seed):
    found = bytearray(SIZE)
    for i, row in enumerate(values(seed)):
        for j, value in enumerate(row):
            found[LAST - 200 * i + 5 * j] = value
    return found


# ---------------------------------------------------------------- host


def mapped_file():
    with tempfile.TemporaryFile() as file:
        file.truncate(SIZE)
        return mmap.mmap(file.fileno(), SIZE), None


def shared_memory():
    block = SharedMemory(f"{OURS}{secrets.token_hex(8)}", create=True, size=SIZE)
    block.unlink()
    BLOCKS.append(block)

    def close():
        BLOCKS.remove(block)
        block.close()

    return block.buf, close


def memfd():
    descriptor = os.memfd_create("test")
    os.ftruncate(descriptor, SIZE)
    block = mmap.mmap(descriptor, SIZE)
    os.close(descriptor)
    return block, None


BLOCKS = []
"""Blocks of shared memory whose arrays live: a block closes itself when it dies."""
HOST = {"mmap": mapped_file, "shm": shared_memory, "memfd": memfd}


def on_host(memory, seed):
    """Return an Array of the values, and what frees its memory."""
    block, close = HOST[memory]()
    view = memoryview(block)
    view[:] = content(seed)
    whole = ix.from_buffer(view)
    x = ix.from_pointer(whole.ptr + LAST, SHAPE, "uint8", strides=STRIDES, owner=whole)
    return x, close


# ---------------------------------------------------------------- device


class Driver:
    """The emulated driver, with device 0 current."""

    def __init__(self):
        from interchange_conformance.emucuda import load

        self.emulator = load()
        from cuda.bindings import driver

        self.api = driver
        self("cuInit", 0)
        self("cuCtxSetCurrent", self("cuDevicePrimaryCtxRetain", 0))

    def __call__(self, name, *arguments):
        code, *found = getattr(self.api, name)(*arguments)
        assert not int(code), f"{name}: {code!r}"
        return found[0] if found else None


def plain(driver):
    address = int(driver("cuMemAlloc", SIZE))
    return address, lambda: driver("cuMemFree", address)


def pool(driver):
    api = driver.api
    wanted = api.CUmemPoolProps()
    wanted.allocType = api.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
    wanted.handleTypes = descriptor_kind(api)
    wanted.location.type = api.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
    made, stream = driver("cuMemPoolCreate", wanted), driver("cuStreamCreate", 1)
    address = int(driver("cuMemAllocFromPoolAsync", SIZE, made, stream))
    driver("cuStreamSynchronize", stream)

    def free():
        driver("cuMemFreeAsync", address, stream)
        driver("cuStreamSynchronize", stream)
        driver("cuStreamDestroy", stream)
        driver("cuMemPoolDestroy", made)

    return address, free


def descriptor_kind(api):
    return api.CUmemAllocationHandleType.CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR


def virtual(driver):
    api = driver.api
    wanted = api.CUmemAllocationProp()
    wanted.type = api.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
    wanted.location.type = api.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
    wanted.requestedHandleTypes = descriptor_kind(api)
    memory, address = (
        driver("cuMemCreate", GRAIN, wanted, 0),
        int(driver("cuMemAddressReserve", GRAIN, 0, 0, 0)),
    )
    driver("cuMemMap", address, GRAIN, 0, memory, 0)
    driver("cuMemRelease", memory)
    access = api.CUmemAccessDesc()
    access.location.type = api.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
    access.flags = api.CUmemAccess_flags.CU_MEM_ACCESS_FLAGS_PROT_READWRITE
    driver("cuMemSetAccess", address, GRAIN, [access], 1)

    def free():
        driver("cuMemUnmap", address, GRAIN)
        driver("cuMemAddressFree", address, GRAIN)

    return address, free


def managed(driver):
    address = int(driver("cuMemAllocManaged", SIZE, 1))
    return address, lambda: driver("cuMemFree", address)


def pinned(driver):
    address = int(driver("cuMemHostAlloc", SIZE, 0))
    return address, lambda: driver("cuMemFreeHost", address)


DEVICE = {
    "cuMalloc": (plain, "cuda:0"),
    "pool": (pool, "cuda:0"),
    "virtual": (virtual, "cuda:0"),
    "managed": (managed, (13, 0)),
    "pinned": (pinned, (3, 0)),
}
REFUSED = ("managed", "pinned")
"""Memory without a handle, which is shared as a copy on the host."""


class Owner:
    """An owner of memory."""


def on_device(memory, driver, seed):
    """Return an Array of the values, and what frees its memory."""
    make, device = DEVICE[memory]
    address, free = make(driver)
    driver("cuMemcpyHtoD", address, bytes(content(seed)), SIZE)
    driver("cuCtxSynchronize")
    given = {"strides": STRIDES, "device": device, "owner": Owner()}
    return ix.from_pointer(address + LAST, SHAPE, "uint8", **given), free


# ---------------------------------------------------------------- what is left


def descriptors():
    return sorted(os.listdir("/proc/self/fd"))


def in_shared_memory():
    """Return the files in shared memory of interchange and of the driver.

    A block of a process that was killed before it removed the name is deleted.
    """
    for each in SHM.iterdir():
        if each.name.startswith(OURS):
            each.unlink(missing_ok=True)
    return sorted(each.name for each in SHM.iterdir() if NAMES.search(each.name))


class Resources:
    """What a process holds, compared with what it held before.

    `memory`: the memory that it shares or opens.
    """

    def __init__(self, memory):
        self.driver = Driver() if memory in DEVICE else None
        self._memory = memory
        self._warm()
        self._before = self._held()

    def make(self, seed):
        if self.driver is None:
            return on_host(self._memory, seed)
        return on_device(self._memory, self.driver, seed)

    def share(self, x):
        """Return a handle; memory that has none is refused, and then copied."""
        if self._memory not in REFUSED:
            return ix.share(x)
        try:
            ix.share(x)
        except ix.UnsupportedDeviceError as error:
            assert error.rule == "IX-SHARE-7", error.rule  # noqa: PT017 - not a test of pytest
            return ix.share(x, copy=True)
        raise AssertionError(f"{self._memory} memory was shared")

    def _warm(self):
        """Let the process open what it opens once."""
        ix.open_shared(ix.share(b"x", copy=True))
        x, free = self.make(0)
        handle = self.share(x)
        again = ix.open_shared(handle)
        ix.copyto(again[:1, :1], b"\1")
        again.to_device("cpu").tolist()
        del x, handle, again
        gc.collect()
        if free is not None:
            free()

    def _held(self):
        if self.driver is None:
            with open("/proc/self/maps") as lines:
                return len(descriptors()), sum(line.split()[1][3] == "s" for line in lines)
        return len(descriptors()), self.driver.emulator.live()

    def check_released(self):
        """End the process if it holds more than before; fail if the race detector has reports."""
        gc.collect()
        deadline = time.monotonic() + 10
        while (held := self._held()) != self._before and time.monotonic() < deadline:
            time.sleep(0.001)
        if held != self._before:
            print(f"{self._before} before, {held} now", file=sys.stderr)
            sys.exit(LEAKED)
        if self.driver is not None:
            reports = self.driver.emulator.reports()
            assert not reports, reports
