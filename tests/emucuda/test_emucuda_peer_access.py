"""Access of kernels to memory of another device, on the emulated driver."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.emulated

SIZE = 4096  # [bytes]


@pytest.fixture
def foreign(cuda):
    """Return the address of memory of device 1; device 0 is current."""
    with cuda.device(1):
        return cuda.memory(SIZE)


def fill(cuda, stream, address):
    """Run a kernel on device 0 that writes memory, and return the first byte afterwards."""
    cuda.emulator.fill(stream, address, SIZE, 7, "kernel")
    cuda.cuStreamSynchronize(stream)
    return cuda.first_byte(address)


def test_a_foreign_access_is_reported(cuda, emulator, streams, foreign):
    """It changes nothing, and names the device that does not reach the memory."""
    seen = fill(cuda, streams[0], foreign)
    emulator.annotate(streams[0], foreign, 8, write=False, what="reader")

    written, read = emulator.expect_reports(count=2, match="foreign access")
    assert seen == 0
    assert "kernel on stream" in written
    assert "writes" in written
    assert "which device 0 does not reach" in written
    assert "reader on stream" in read


def test_peer_access_lets_kernels_reach_memory(cuda, emulator, streams, foreign):
    """It is enabled for one direction, and can be disabled again."""
    peer = cuda.retain(1)
    cuda.cuCtxEnablePeerAccess(peer, 0)
    twice = cuda.code("cuCtxEnablePeerAccess", peer, 0)
    seen = fill(cuda, streams[0], foreign)
    own = cuda.memory(SIZE)
    with cuda.device(1):
        stream = cuda.stream()
        emulator.annotate(stream, own, 8, write=True)
    emulator.expect_reports(count=1, match="which device 1 does not reach")
    cuda.cuCtxDisablePeerAccess(peer)
    fill(cuda, streams[0], foreign)
    emulator.expect_reports(count=1, match="which device 0 does not reach")

    assert (seen, twice) == (7, "PEER_ACCESS_ALREADY_ENABLED")
    assert cuda.code("cuCtxDisablePeerAccess", peer) == "PEER_ACCESS_NOT_ENABLED"


def test_copies_between_devices_need_no_peer_access(cuda, emulator, streams, foreign):
    """The driver makes them by way of the host if it has to."""
    own = cuda.memory(SIZE)
    cuda.cuMemsetD8Async(own, 5, SIZE, streams[0])
    cuda.cuMemcpyDtoDAsync(foreign, own, SIZE, streams[0])
    cuda.cuMemcpyPeerAsync(foreign, cuda.retain(1), own, cuda.context, 8, streams[0])
    cuda.cuStreamSynchronize(streams[0])

    assert (cuda.first_byte(foreign), emulator.reports()) == (5, [])


def test_memory_of_a_pool_is_reached_as_the_pool_says(cuda, emulator, streams):
    """Peer access of contexts is not what counts for pools."""
    pool = cuda.cuDeviceGetDefaultMemPool(1)
    right = cuda.driver.CUmemAccessDesc()
    right.location.type = cuda.driver.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
    right.location.id = 0
    codes = []
    for flags in (0, 3, 0):
        right.flags = cuda.driver.CUmemAccess_flags(flags)
        cuda.cuMemPoolSetAccess(pool, [right], 1)
        address = int(cuda.cuMemAllocFromPoolAsync(SIZE, pool, streams[0]))
        emulator.annotate(streams[0], address, SIZE, write=True)
        codes.append(len(emulator.unexpected_reports()))
        if codes[-1]:
            emulator.expect_reports(match="which device 0 does not reach")
        cuda.cuMemFreeAsync(address, streams[0])
    cuda.cuCtxSynchronize()

    assert codes == [1, 0, 1]
