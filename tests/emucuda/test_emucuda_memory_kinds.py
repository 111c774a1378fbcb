"""Fills, attributes, and managed, registered and stream-ordered memory of the emulated driver."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest

pytestmark = pytest.mark.emulated

SIZE = 4096  # [bytes]
POISON = 0xDD
HOST, DEVICE = 1, 2


# ---------------------------------------------------------------- fills


@pytest.mark.parametrize(("bits", "value"), [(8, 0x12), (16, 0x1234), (32, 0x12345678)])
@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
def test_fills(cuda, streams, memory, bits, value, asynchronous):
    """Elements of 1, 2 and 4 bytes are filled, in a line and in rows."""
    end, extra = ("Async", (streams[0],)) if asynchronous else ("", ())
    element = value.to_bytes(bits // 8, "little")
    getattr(cuda, f"cuMemsetD{bits}{end}")(memory, value, 3, *extra)
    getattr(cuda, f"cuMemsetD2D{bits}{end}")(memory + 64, 32, value, 2, 3, *extra)
    cuda.cuCtxSynchronize()
    row = (element * 2).ljust(32, b"\0")

    assert cuda.emulator.read(memory, 64) == (element * 3).ljust(64, b"\0")
    assert cuda.emulator.read(memory + 64, 96) == row * 3


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("cuMemsetD32Async", (2, 1, 1)),
        ("cuMemsetD16Async", (1, 1, 1)),
        ("cuMemsetD8Async", (0, 1, SIZE + 1)),
        ("cuMemsetD8Async", (SIZE + 100, 1, 1)),
        ("cuMemsetD2D8Async", (0, 8, 1, 9, 2)),
        ("cuMemsetD2D8Async", (0, 64, 1, 8, 65)),
    ],
)
def test_fills_that_do_not_fit_are_refused(cuda, streams, memory, name, arguments):
    """Misaligned or too long fills, addresses without memory and too wide rows are refused."""
    offset, *others = arguments

    assert cuda.code(name, memory + offset, *others, streams[0]) == "INVALID_VALUE"


# ---------------------------------------------------------------- attributes


def attribute_named(cuda, name):
    """Return the pointer attribute with a name."""
    return getattr(cuda.driver.CUpointer_attribute, f"CU_POINTER_ATTRIBUTE_{name}")


def attribute(cuda, name, address):
    """Return a pointer attribute as a number, or the name of the error."""
    which = attribute_named(cuda, name)
    code, value = cuda.driver.cuPointerGetAttribute(which, address)
    return int(value) if int(code) == 0 else code.name.removeprefix("CUDA_ERROR_")


def memory_of(cuda, kind):
    """Return the address of memory of the given kind."""
    return int(
        {
            "device": lambda: cuda.cuMemAlloc(SIZE),
            "pool": lambda: cuda.cuMemAllocAsync(SIZE, 0),
            "pinned": lambda: cuda.cuMemHostAlloc(SIZE, 0),
            "managed": lambda: cuda.cuMemAllocManaged(SIZE, 1),
        }[kind]()
    )


KINDS = {  # memory type, managed, has a host pointer, has a context
    "device": (DEVICE, 0, False, True),
    "pool": (DEVICE, 0, False, False),
    "pinned": (HOST, 0, True, True),
    "managed": (DEVICE, 1, True, True),
}


@pytest.mark.parametrize("kind", KINDS)
def test_pointer_attributes(cuda, kind):
    """Attributes are the same for the first address and for one inside."""
    memory_type, managed, on_host, has_context = KINDS[kind]
    with cuda.device(1):
        context = int(cuda.cuCtxGetCurrent())
        start = memory_of(cuda, kind)
        reached = [attribute(cuda, "DEVICE_POINTER", start + place) for place in (0, SIZE - 1)]
    assert reached == [start, start + SIZE - 1]
    for address in (start, start + SIZE - 1):
        assert attribute(cuda, "MEMORY_TYPE", address) == memory_type
        assert attribute(cuda, "IS_MANAGED", address) == managed
        assert attribute(cuda, "DEVICE_ORDINAL", address) == 1
        assert attribute(cuda, "RANGE_START_ADDR", address) == start
        assert attribute(cuda, "RANGE_SIZE", address) == SIZE
        assert attribute(cuda, "MAPPED", address) == 1
        assert attribute(cuda, "HOST_POINTER", address) == (address if on_host else "INVALID_VALUE")
        assert attribute(cuda, "CONTEXT", address) == (context if has_context else 0)


def test_the_pool_of_memory_is_known(cuda):
    """The pool is NULL for memory that belongs to no pool."""
    pool = int(cuda.cuDeviceGetDefaultMemPool(0))

    assert attribute(cuda, "MEMPOOL_HANDLE", memory_of(cuda, "pool")) == pool
    assert attribute(cuda, "MEMPOOL_HANDLE", memory_of(cuda, "device")) == 0


def test_every_allocation_has_a_number_of_its_own(cuda):
    """The buffer id is never reused."""
    numbers = set()
    for _ in range(10):
        address = cuda.cuMemAlloc(64)
        numbers.add(attribute(cuda, "BUFFER_ID", address))
        cuda.cuMemFree(address)

    assert len(numbers) == 10


def test_unknown_addresses_have_no_attributes(cuda, memory):
    """One past the end, pageable, freed and NULL: one attribute is an error, several are zeros."""
    kept, pageable_address = cuda.pageable(bytes(64))
    gone = int(cuda.cuMemAlloc(64))
    cuda.cuMemFree(gone)
    names = ["MEMORY_TYPE", "IS_MANAGED", "DEVICE_POINTER", "RANGE_SIZE"]
    which = [attribute_named(cuda, name) for name in names]
    for address in (memory + SIZE, pageable_address, gone, 0):
        assert [attribute(cuda, name, address) for name in names] == ["INVALID_VALUE"] * 4
        values = cuda.cuPointerGetAttributes(len(which), which, address)
        assert list(map(int, values)) == [0, 0, 0, 0]
        assert cuda.code("cuMemGetAddressRange", address) == "NOT_FOUND"
    assert len(kept) == 64


def test_several_attributes_at_once(cuda, memory):
    """Several attributes have the same values as single ones."""
    names = ["MEMORY_TYPE", "IS_MANAGED", "DEVICE_ORDINAL", "RANGE_START_ADDR", "RANGE_SIZE"]
    which = [attribute_named(cuda, name) for name in names]
    values = cuda.cuPointerGetAttributes(len(which), which, memory + 8)

    assert list(map(int, values)) == [attribute(cuda, name, memory + 8) for name in names]


def test_the_range_of_an_allocation(cuda, memory):
    """The start and the size are returned for any address inside."""
    start, size = cuda.cuMemGetAddressRange(memory + SIZE - 1)

    assert (int(start), size) == (memory, SIZE)


# ---------------------------------------------------------------- managed and registered memory


def test_managed_memory_is_one_for_all(cuda, streams):
    """The host sees the writes of a stream after it has synchronised."""
    address = memory_of(cuda, "managed")
    cuda.cuMemsetD8Async(address, 7, SIZE, streams[0])
    cuda.cuStreamSynchronize(streams[0])

    assert ctypes.string_at(address, SIZE) == b"\7" * SIZE


def test_managed_memory_can_be_advised_and_attached(cuda, streams, memory):
    """Advice and attachment have no effect; other memory is refused."""
    address = memory_of(cuda, "managed")
    codes = [
        (
            cuda.code("cuStreamAttachMemAsync", streams[0], where, 0, 4),
            cuda.code("cuStreamAttachMemAsync", streams[0], where, SIZE, 4),
        )
        for where in (address, memory)
    ]

    assert codes == [("SUCCESS",) * 2, ("INVALID_VALUE",) * 2]


def test_registered_memory_is_pinned_until_it_is_not(cuda, streams, memory):
    """Copies of registered memory are asynchronous, and unregistering takes effect at once."""
    kept, address = cuda.pageable(bytes(SIZE))
    cuda.cuMemHostRegister(address, SIZE, 0)
    known = attribute(cuda, "MEMORY_TYPE", address + 1)
    with cuda.emulator.held(streams[0]):
        cuda.cuMemsetD8Async(memory, 7, SIZE, streams[0])
        cuda.cuMemcpyDtoHAsync(address, memory, SIZE, streams[0])
        before = ctypes.string_at(address, 1)
    cuda.cuMemHostUnregister(address)

    assert (known, before, kept.raw) == (HOST, b"\0", b"\7" * SIZE)
    assert attribute(cuda, "MEMORY_TYPE", address) == "INVALID_VALUE"


def test_registering_twice_and_unregistering_nothing(cuda):
    """Each case has a separate error."""
    kept, address = cuda.pageable(bytes(SIZE))
    cuda.cuMemHostRegister(address, SIZE, 0)
    twice = cuda.code("cuMemHostRegister", address + 8, 8, 0)
    cuda.cuMemHostUnregister(address)

    assert twice == "HOST_MEMORY_ALREADY_REGISTERED"
    assert cuda.code("cuMemHostUnregister", address) == "HOST_MEMORY_NOT_REGISTERED"
    del kept


def test_pinned_memory_has_a_device_pointer(cuda, memory):
    """The device pointer is the same address; device memory has no host pointer."""
    address = cuda.host_buffer()

    assert int(cuda.cuMemHostGetDevicePointer(address, 0)) == address
    assert cuda.code("cuMemHostGetDevicePointer", memory, 0) == "INVALID_VALUE"


def resident():
    """Return the resident memory of this process [KiB]."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1])


def test_freed_page_locked_memory_takes_no_pages(cuda):
    """It holds 0xDD, and each block that is held back takes much less than a page of 4 KiB."""

    def round_trip():
        address = cuda.host_buffer()
        ctypes.memset(address, 1, SIZE)
        cuda.cuMemFreeHost(address)
        return address

    address = round_trip()
    before = resident()
    for _ in range(1000):
        round_trip()

    assert cuda.emulator.read(address, SIZE) == bytes([POISON]) * SIZE
    assert resident() - before < 1000


# ---------------------------------------------------------------- stream-ordered memory


def test_stream_ordered_memory_is_freed_in_its_place(cuda, streams):
    """The memory is freed when the stream reaches the free; the address is unknown at once."""
    stream, _ = streams
    address = int(cuda.cuMemAllocAsync(SIZE, stream))
    cuda.cuMemsetD8Async(address, 7, SIZE, stream)
    cuda.cuStreamSynchronize(stream)
    with cuda.emulator.held(stream):
        cuda.cuMemFreeAsync(address, stream)
        before = cuda.emulator.read(address, 1), attribute(cuda, "MEMORY_TYPE", address)
        again = cuda.code("cuMemFreeAsync", address, stream)
    cuda.cuStreamSynchronize(stream)

    assert (before, again) == ((b"\7", "INVALID_VALUE"), "INVALID_VALUE")
    assert cuda.emulator.read(address, 1) == bytes([POISON])


def test_memory_of_a_pool_survives_the_context(cuda, emulator):
    """The pool belongs to the device."""
    before = emulator.live().device
    made = cuda.cuCtxCreate(None, 0, 0)
    address = cuda.cuMemAllocAsync(SIZE, 0)
    cuda.cuCtxDestroy(made)
    after = emulator.live().device
    cuda.cuMemFreeAsync(address, 0)
    cuda.cuCtxSynchronize()

    assert (after - before, emulator.live().device) == (1, before)


def pool_of(cuda, number):
    """Return a new pool of device memory."""
    properties = cuda.driver.CUmemPoolProps()
    properties.allocType = cuda.driver.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
    properties.location.type = cuda.driver.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
    properties.location.id = number
    return cuda.cuMemPoolCreate(properties)


def test_pools_know_how_much_is_in_use(cuda, streams):
    """A pool reports its current and its peak use."""
    kinds = cuda.driver.CUmemPool_attribute
    pool = pool_of(cuda, 0)
    address = cuda.cuMemAllocFromPoolAsync(SIZE, pool, streams[0])
    during = int(cuda.cuMemPoolGetAttribute(pool, kinds.CU_MEMPOOL_ATTR_USED_MEM_CURRENT))
    cuda.cuMemFreeAsync(address, streams[0])
    after = int(cuda.cuMemPoolGetAttribute(pool, kinds.CU_MEMPOOL_ATTR_USED_MEM_CURRENT))
    most = int(cuda.cuMemPoolGetAttribute(pool, kinds.CU_MEMPOOL_ATTR_USED_MEM_HIGH))

    assert (during, after, most) == (SIZE, 0, SIZE)


def test_the_current_pool_is_taken_from(cuda, streams):
    """After the current pool is destroyed, the default pool is current again."""
    pool, default = pool_of(cuda, 0), cuda.cuDeviceGetDefaultMemPool(0)
    cuda.cuDeviceSetMemPool(0, pool)
    of_pool = attribute(cuda, "MEMPOOL_HANDLE", cuda.cuMemAllocAsync(64, streams[0]))
    cuda.cuMemPoolDestroy(pool)
    of_default = attribute(cuda, "MEMPOOL_HANDLE", cuda.cuMemAllocAsync(64, streams[0]))

    assert (of_pool, of_default) == (int(pool), int(default))
    assert cuda.code("cuMemAllocFromPoolAsync", 64, pool, streams[0]) == "INVALID_VALUE"
    assert cuda.code("cuMemPoolDestroy", default) == "INVALID_VALUE"


def test_memory_of_another_devices_pool_is_that_devices(cuda, streams):
    """The memory belongs to the pool's device, whatever the device of the stream."""
    address = cuda.cuMemAllocFromPoolAsync(64, pool_of(cuda, 1), streams[0])

    assert attribute(cuda, "DEVICE_ORDINAL", address) == 1
    assert cuda.code("cuDeviceSetMemPool", 0, pool_of(cuda, 1)) == "INVALID_VALUE"


# ---------------------------------------------------------------- other libraries


@pytest.mark.clients
def test_numba_and_cuda_core_run_on_it(run_isolated, need):
    """Arrays, streams, events and buffers are exchanged both ways without a report."""
    need("numba.cuda")
    need("cuda.core")
    out = run_isolated(LIBRARIES, warnings="ignore")

    assert out.splitlines() == ["[0, 1, 2, 3]", "[0, 2]", "True", "[0, 1, 2, 3]", "7", "9", "0"]


LIBRARIES = """
from interchange_conformance.emucuda import load
emulator = load()
import numpy as np
from cuda.core import Device, LegacyPinnedMemoryResource
from cuda.core.utils import StridedMemoryView
from numba import cuda

stream = cuda.stream()
array = cuda.to_device(np.arange(4), stream=stream)
stream.synchronize()
print(array.copy_to_host().tolist())
print(array[::2].copy_to_host().tolist())
start, end = cuda.event(), cuda.event()
start.record(stream)
end.record(stream)
end.synchronize()
print(start.elapsed_time(end) >= 0)
print(cuda.as_cuda_array(array, sync=True).copy_to_host(stream=stream).tolist())

device = Device(0)
device.set_current()
mine = device.create_stream()
buffer = device.allocate(64, stream=mine)
buffer.fill(7, stream=mine)
pinned = LegacyPinnedMemoryResource().allocate(64, stream=mine)
pinned.copy_from(buffer, stream=mine)
mine.sync()
print(np.from_dlpack(pinned).view("u1")[63])
other = device.create_stream()
view = StridedMemoryView.from_dlpack(buffer, stream_ptr=int(other.handle))
buffer.fill(9, stream=mine)
other.wait(mine.record())
pinned.copy_from(buffer, stream=other)
other.sync()
assert view.ptr == int(buffer.handle)
print(np.from_dlpack(pinned).view("u1")[63])
print(len(emulator.reports()))
"""
