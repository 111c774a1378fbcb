"""Virtual memory, and pools of several processes, on the emulated driver."""

from __future__ import annotations

import os

import pytest

from .peers import content, descriptors

pytestmark = pytest.mark.emulated

GRAIN = 2 << 20  # [bytes]
FABRIC, POSIX = 8, 1
READ_WRITE = 3
TYPE, ACCESS, POOL = "ALLOWED_HANDLE_TYPES", "ACCESS_FLAGS", "MEMPOOL_HANDLE"


def location(driver, made, number=0):
    """Set the location of an allocation or a pool to a device."""
    made.location.type = driver.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
    made.location.id = number
    return made


def properties(cuda, *, types=POSIX, number=0):
    """Return the properties of memory for `cuMemCreate`."""
    made = location(cuda.driver, cuda.driver.CUmemAllocationProp(), number)
    made.type = cuda.driver.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
    made.requestedHandleTypes = cuda.driver.CUmemAllocationHandleType(types)
    return made


def access(cuda, address, size, *numbers, flags=READ_WRITE):
    """Let devices access memory."""
    rights = [location(cuda.driver, cuda.driver.CUmemAccessDesc(), number) for number in numbers]
    for right in rights:
        right.flags = cuda.driver.CUmemAccess_flags(flags)
    return cuda.cuMemSetAccess(address, size, rights, len(rights))


def mapped(cuda, handle, size=GRAIN, *, reserved=GRAIN):
    """Return an address at which device 0 accesses memory."""
    address = int(cuda.cuMemAddressReserve(reserved, 0, 0, 0))
    cuda.cuMemMap(address, size, 0, handle, 0)
    access(cuda, address, size, 0)
    return address


def unmap(cuda, address, size=GRAIN):
    """Undo `mapped`."""
    cuda.cuMemUnmap(address, size)
    cuda.cuMemAddressFree(address, size)


def attribute(cuda, name, address):
    """Return a pointer attribute as a number."""
    which = getattr(cuda.driver.CUpointer_attribute, f"CU_POINTER_ATTRIBUTE_{name}")
    return int(cuda.cuPointerGetAttribute(which, address))


# ---------------------------------------------------------------- virtual memory


def test_memory_has_several_addresses(cuda, streams):
    """Two mappings of one handle are the same bytes, which outlive the handle."""
    handle = cuda.cuMemCreate(GRAIN, properties(cuda), 0)
    one, two = mapped(cuda, handle), mapped(cuda, handle)
    cuda.cuMemRelease(handle)
    cuda.cuMemsetD8Async(one, 7, GRAIN, streams[0])
    cuda.cuStreamSynchronize(streams[0])
    seen = cuda.emulator.read(two + GRAIN - 4, 4)
    kept = [attribute(cuda, "MEMORY_BLOCK_ID", where) for where in (one, two)]
    unmap(cuda, one)
    again = cuda.emulator.read(two, 4)
    unmap(cuda, two)

    assert (one != two, seen, again) == (True, b"\7" * 4, b"\7" * 4)
    assert kept[0] == kept[1]


def test_a_reservation_grows_by_mappings(cuda, streams):
    """Two handles side by side; each is unmapped as a whole, and copies stay within both."""
    address = int(cuda.cuMemAddressReserve(4 * GRAIN, 0, 0, 0))
    handles = [cuda.cuMemCreate(GRAIN, properties(cuda), 0) for _ in range(2)]
    for number, handle in enumerate(handles):
        cuda.cuMemMap(address + number * GRAIN, GRAIN, 0, handle, 0)
        cuda.cuMemRelease(handle)
    access(cuda, address, 2 * GRAIN, 0)
    for number in range(2):
        cuda.cuMemsetD8Async(address + number * GRAIN, number, GRAIN, streams[0])
    codes = [
        cuda.code("cuMemMap", address, GRAIN, 0, handles[0], 0),
        cuda.code("cuMemUnmap", address, GRAIN // 2),
        cuda.code("cuMemsetD8Async", address + 2 * GRAIN, 0, 1, streams[0]),
        cuda.code("cuMemAddressFree", address, 4 * GRAIN),
    ]
    cuda.cuCtxSynchronize()
    seen = [cuda.first_byte(address + number * GRAIN) for number in range(2)]
    cuda.cuMemUnmap(address, 2 * GRAIN)
    cuda.cuMemAddressFree(address, 4 * GRAIN)

    assert (codes, seen) == (["INVALID_VALUE"] * 4, [0, 1])


@pytest.fixture
def neighbours(cuda):
    """Return the address of two mappings side by side, and undo them."""
    address = int(cuda.cuMemAddressReserve(2 * GRAIN, 0, 0, 0))
    for number in range(2):
        handle = cuda.cuMemCreate(GRAIN, properties(cuda), 0)
        cuda.cuMemMap(address + number * GRAIN, GRAIN, 0, handle, 0)
        cuda.cuMemRelease(handle)
    access(cuda, address, 2 * GRAIN, 0)
    yield address
    cuda.cuCtxSynchronize()
    cuda.cuMemUnmap(address, 2 * GRAIN)
    cuda.cuMemAddressFree(address, 2 * GRAIN)


def test_copies_and_fills_cross_from_mapping_to_mapping(cuda, streams, neighbours):
    """In one dimension and in rows, as on a GPU; not beyond the last mapping."""
    edge = neighbours + GRAIN
    kept, host = cuda.pageable(bytes(range(100)))
    cuda.cuMemcpyHtoD(edge - 50, host, 100)
    found, back = cuda.pageable(bytes(100))
    cuda.cuMemcpyDtoH(back, edge - 50, 100)
    assert found.raw == kept.raw
    cuda.cuMemsetD8Async(edge - 3, 7, 6, streams[0])
    cuda.columns(neighbours, edge - 30 * 64 - 4, first=0, stream=streams[0])
    cuda.cuStreamSynchronize(streams[0])

    assert cuda.emulator.read(edge - 3, 3) + cuda.emulator.read(edge, 3) == b"\7" * 6
    assert cuda.emulator.read(neighbours + 30 * 64, 8) == b"\x2e\7\7\7\7\7\7\x35"
    assert cuda.code("cuMemcpyHtoD", edge + GRAIN - 50, host, 100) == "INVALID_VALUE"
    del kept


def test_races_are_found_in_every_mapping(cuda, streams, neighbours):
    """An access that crosses is compared with those of both; bytes next to it are others."""
    edge = neighbours + GRAIN
    cuda.cuMemsetD8Async(edge - 100, 1, 200, streams[0])
    cuda.cuMemsetD8Async(edge - 200, 2, 100, streams[1])
    cuda.cuMemsetD8Async(edge + 100, 2, 100, streams[1])
    assert cuda.emulator.reports() == []
    for where in (edge - 1, edge):
        cuda.cuMemsetD8Async(where, 3, 1, streams[1])
        cuda.emulator.expect_reports(1, "write after write")


def test_access_is_needed_to_every_mapping(cuda, neighbours):
    """A copy into two mappings is refused if the device reaches the first one alone."""
    edge = neighbours + GRAIN
    access(cuda, edge, GRAIN, 0, flags=0)
    kept, host = cuda.pageable(bytes(8))
    codes = [cuda.code("cuMemcpyHtoD", edge - size, host, 8) for size in (4, 8)]

    assert codes == ["INVALID_VALUE", "SUCCESS"]
    del kept


def test_access_is_asked_for(cuda):
    """A mapping is reached by no device until it is said so, and by those devices alone."""
    address = int(cuda.cuMemAddressReserve(GRAIN, 0, 0, 0))
    handle = cuda.cuMemCreate(GRAIN, properties(cuda), 0)
    cuda.cuMemMap(address, GRAIN, 0, handle, 0)
    kept, host = cuda.pageable(bytes(4))
    before = cuda.code("cuMemcpyHtoD", address, host, 4), attribute(cuda, ACCESS, address)
    access(cuda, address, GRAIN, 0)
    after = cuda.code("cuMemcpyHtoD", address, host, 4), attribute(cuda, ACCESS, address)
    with cuda.device(1):
        other = cuda.code("cuMemcpyHtoD", address, host, 4)
    where = cuda.driver.CUmemLocation()
    where.type, where.id = cuda.driver.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE, 0
    flags = int(cuda.cuMemGetAccess(where, address))
    cuda.cuMemRelease(handle)
    unmap(cuda, address)

    assert (before, after, other) == (("INVALID_VALUE", 0), ("SUCCESS", 3), "INVALID_VALUE")
    assert flags == READ_WRITE
    del kept


def test_the_handle_of_an_address(cuda):
    """It is the one that was mapped, and counts as another reference."""
    handle = cuda.cuMemCreate(GRAIN, properties(cuda), 0)
    address = mapped(cuda, handle)
    again = cuda.cuMemRetainAllocationHandle(address + 5)
    cuda.cuMemRelease(handle)
    left = cuda.cuMemGetAllocationPropertiesFromHandle(again).location.id
    cuda.cuMemRelease(handle)
    unmap(cuda, address)

    assert (int(again) == int(handle), left) == (True, 0)
    assert cuda.code("cuMemRelease", handle) == "INVALID_VALUE"


def test_what_memory_cannot_be_made_of(cuda):
    """Sizes between granules, fabric handles, and devices that are not there."""
    usual = properties(cuda)
    codes = [
        cuda.code("cuMemCreate", GRAIN - 1, usual, 0),
        cuda.code("cuMemCreate", GRAIN, properties(cuda, types=FABRIC), 0),
        cuda.code("cuMemCreate", GRAIN, properties(cuda, number=99), 0),
        cuda.code("cuMemAddressReserve", 100, 0, 0, 0),
    ]
    options = cuda.driver.CUmemAllocationGranularity_flags
    sizes = [int(cuda.cuMemGetAllocationGranularity(usual, option)) for option in options]

    assert codes == ["INVALID_VALUE", "NOT_SUPPORTED", "INVALID_DEVICE", "INVALID_VALUE"]
    assert sizes == [GRAIN] * 2


def test_unmapping_memory_in_use_is_reported(cuda, emulator, streams):
    """The call does not wait for the work of streams."""
    handle = cuda.cuMemCreate(GRAIN, properties(cuda), 0)
    address = mapped(cuda, handle)
    cuda.cuMemRelease(handle)
    emulator.annotate(streams[0], address, 64, write=True)
    unmap(cuda, address)
    emulator.annotate(streams[0], address, 64, write=True)

    first, second = emulator.expect_reports(count=2)
    assert "free while in use: cuMemUnmap" in first
    assert "out of bounds" in second


# ---------------------------------------------------------------- of another process


def test_memory_of_a_descriptor(cuda, peer):
    """Another process maps it; it outlives the handles and mappings of the one that made it."""
    handle = cuda.cuMemCreate(GRAIN, properties(cuda), 0)
    address = mapped(cuda, handle)
    cuda.cuMemsetD8(address, 7, GRAIN)
    cuda.cuCtxSynchronize()
    kinds = attribute(cuda, TYPE, address)
    kind = cuda.driver.CUmemAllocationHandleType.CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
    fabric = cuda.driver.CUmemAllocationHandleType.CU_MEM_HANDLE_TYPE_FABRIC
    peer.give(int(cuda.cuMemExportToShareableHandle(handle, kind, 0)))
    refused = cuda.code("cuMemExportToShareableHandle", handle, fabric, 0)
    peer("""exec('''
fd = received()
memory = cu.cuMemImportFromShareableHandle(fd, d.CUmemAllocationHandleType(1))
os.close(fd)
at = cu.cuMemAddressReserve(2 << 20, 0, 0, 0)
cu.cuMemMap(at, 2 << 20, 0, memory, 0)
cu.cuMemRelease(memory)
right = d.CUmemAccessDesc()
right.location.type = d.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
right.location.id, right.flags = 0, d.CUmemAccess_flags(3)
cu.cuMemSetAccess(at, 2 << 20, [right], 1)
''')""")
    seen = peer("emulator.read(at, 3)")
    peer("cu.cuMemsetD8(at, 8, 5); cu.cuCtxSynchronize()")
    changed = cuda.emulator.read(address, 3)
    cuda.cuMemRelease(handle)
    unmap(cuda, address)
    later = peer("emulator.read(at, 3)")
    peer("cu.cuMemUnmap(at, 2 << 20); cu.cuMemAddressFree(at, 2 << 20)")

    assert (seen, changed, later) == (b"\7" * 3, b"\x08" * 3, b"\x08" * 3)
    assert (kinds, refused) == (POSIX, "NOT_SUPPORTED")


def test_other_descriptors_are_refused(cuda):
    """Files that are no memory of the driver, closed ones, and memory without a handle type."""
    kind = cuda.driver.CUmemAllocationHandleType.CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
    file = os.memfd_create("memory")
    codes = [cuda.code("cuMemImportFromShareableHandle", number, kind) for number in (file, 9999)]
    codes += [cuda.code("cuMemPoolImportFromShareableHandle", file, kind, 0)]
    os.close(file)
    handle = cuda.cuMemCreate(GRAIN, properties(cuda, types=0), 0)
    codes += [cuda.code("cuMemExportToShareableHandle", handle, kind, 0)]
    cuda.cuMemRelease(handle)

    assert codes == ["INVALID_VALUE"] * 4


# ---------------------------------------------------------------- pools


def new_pool(cuda, *, types=POSIX, most=0):
    """Return a pool that other processes can import."""
    made = location(cuda.driver, cuda.driver.CUmemPoolProps())
    made.allocType = cuda.driver.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
    made.handleTypes = cuda.driver.CUmemAllocationHandleType(types)
    made.maxSize = most
    return cuda.cuMemPoolCreate(made)


def test_a_pool_of_another_process(cuda, peer, streams):
    """What is allocated from it is imported by its data, and freed in the stream of either."""
    pool = new_pool(cuda)
    before = descriptors(), cuda.emulator.live()
    address, other = (int(cuda.cuMemAllocFromPoolAsync(5000, pool, streams[0])) for _ in range(2))
    cuda.cuMemsetD8Async(address, 7, 5000, streams[0])
    cuda.cuMemsetD8Async(other, 9, 5000, streams[0])
    cuda.cuStreamSynchronize(streams[0])
    kind = cuda.driver.CUmemAllocationHandleType.CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
    data = content(cuda.cuMemPoolExportPointer(address))
    peer.give(int(cuda.cuMemPoolExportToShareableHandle(pool, kind, 0)))
    peer("fd = received()")
    peer("pool = cu.cuMemPoolImportFromShareableHandle(fd, d.CUmemAllocationHandleType(1), 0)")
    peer(
        "os.close(fd); at = cu.cuMemPoolImportPointer(pool, handle(d.CUmemPoolPtrExportData, x))",
        x=data,
    )
    seen = peer("emulator.read(at, 5000)")
    code = peer("code('cuMemAllocFromPoolAsync', 64, pool, stream)")
    peer("cu.cuMemsetD8Async(at, 8, 5000, stream); cu.cuMemFreeAsync(at, stream)")
    peer("cu.cuStreamSynchronize(stream)")
    changed = cuda.emulator.read(address, 3)
    for where in (address, other):
        cuda.cuMemFreeAsync(where, streams[0])
    cuda.cuStreamSynchronize(streams[0])
    freed = peer(
        "code('cuMemPoolImportPointer', pool, handle(d.CUmemPoolPtrExportData, x))", x=data
    )
    peer("cu.cuMemPoolDestroy(pool)")

    assert (seen, changed) == (b"\7" * 5000, b"\x08" * 3)
    assert (code, freed) == ("INVALID_VALUE", "INVALID_VALUE")
    assert (descriptors(), cuda.emulator.live()) == before
    cuda.cuMemPoolDestroy(pool)
    assert descriptors() == before[0] - 1


def test_what_can_be_had_of_pools(cuda, streams):
    """A pool without a handle type is not shared, and a pool has no more than its largest size."""
    closed, small = new_pool(cuda, types=0), new_pool(cuda, most=4096)
    kind = cuda.driver.CUmemAllocationHandleType.CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
    address = cuda.cuMemAllocFromPoolAsync(64, closed, streams[0])
    inside = int(cuda.cuMemAllocFromPoolAsync(4096, small, streams[0]))
    codes = [
        cuda.code("cuMemPoolExportToShareableHandle", closed, kind, 0),
        cuda.code("cuMemPoolExportPointer", address),
        cuda.code("cuMemPoolExportPointer", inside + 1),
        cuda.code("cuMemAllocFromPoolAsync", 1, small, streams[0]),
    ]
    types = [attribute(cuda, TYPE, where) for where in (address, inside)]
    for where in (address, inside):
        cuda.cuMemFreeAsync(where, streams[0])
    cuda.cuStreamSynchronize(streams[0])
    cuda.cuMemPoolDestroy(small)

    assert codes == ["INVALID_VALUE"] * 3 + ["OUT_OF_MEMORY"]
    assert types == [0, POSIX]


def test_pools_of_other_kinds_are_refused(cuda):
    """Fabric handles are not supported, as the attribute says."""
    supported = cuda.driver.CUdevice_attribute
    names = ["MEMPOOL_SUPPORTED_HANDLE_TYPES", "HANDLE_TYPE_FABRIC_SUPPORTED"]
    values = [
        int(cuda.cuDeviceGetAttribute(getattr(supported, f"CU_DEVICE_ATTRIBUTE_{name}"), 0))
        for name in names
    ]
    made = location(cuda.driver, cuda.driver.CUmemPoolProps())
    made.allocType = cuda.driver.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
    made.handleTypes = cuda.driver.CUmemAllocationHandleType(FABRIC)

    assert values == [POSIX, 0]
    assert cuda.code("cuMemPoolCreate", made) == "NOT_SUPPORTED"


def test_pool_memory_is_used_and_freed_in_order(cuda, peer, streams):
    """The importing process waits for the allocation, and the exporting one for the free there."""
    pool, kind = new_pool(cuda), cuda.driver.CUmemAllocationHandleType(POSIX)
    event = cuda.cuEventCreate(6)
    found = {}
    for ordered in (True, False):
        address = int(cuda.cuMemAllocFromPoolAsync(64, pool, streams[0]))
        cuda.cuEventRecord(event, streams[0])
        peer.give(int(cuda.cuMemPoolExportToShareableHandle(pool, kind, 0)))
        peer(
            """exec('''
fd = received()
event = cu.cuIpcOpenEventHandle(event_handle(e))
pool = cu.cuMemPoolImportFromShareableHandle(fd, d.CUmemAllocationHandleType(1), 0)
os.close(fd)
at = cu.cuMemPoolImportPointer(pool, handle(d.CUmemPoolPtrExportData, x))
if ordered:
    cu.cuStreamWaitEvent(stream, event, 0)
cu.cuMemsetD8Async(at, 1, 64, stream)
cu.cuMemFreeAsync(at, stream)
cu.cuEventRecord(event, stream)
''')""",
            x=content(cuda.cuMemPoolExportPointer(address)),
            ordered=ordered,
            e=content(cuda.cuIpcGetEventHandle(event)),
        )
        if ordered:
            cuda.cuStreamWaitEvent(streams[0], event, 0)
        cuda.cuMemFreeAsync(address, streams[0])
        found[ordered] = [cuda.emulator.reports(), peer("emulator.reports()")]
        peer("cu.cuCtxSynchronize(); cu.cuEventDestroy(event); cu.cuMemPoolDestroy(pool)")
        cuda.cuCtxSynchronize()
        peer("emulator.reset()")
    cuda.cuMemPoolDestroy(pool)
    (freed,) = cuda.emulator.expect_reports(count=1)

    assert found[True] == [[], []]
    assert "free while in use: cuMemFreeAsync on stream" in freed
    assert "use before allocation: cuMemsetD8Async" in found[False][1][0]
