"""Memory of the emulated driver: allocation, copies, attributes and freeing."""

from __future__ import annotations

import ctypes
import itertools
import signal

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from .programs import ON_DRIVER

pytestmark = pytest.mark.emulated

SIZE = 4096  # [bytes]
FRESH, POISON = 0xCB, 0xDD
HOST, DEVICE = 1, 2


# ---------------------------------------------------------------- allocation and freeing


def test_new_memory_is_not_zero(cuda):
    """Programs cannot rely on the contents of new memory."""
    address = int(cuda.cuMemAlloc(SIZE))

    assert cuda.emulator.read(address, SIZE) == bytes([FRESH]) * SIZE


def test_freed_memory_is_overwritten_and_not_used_again_at_once(cuda):
    """A read after the free finds a recognisable pattern."""
    address = int(cuda.cuMemAlloc(SIZE))
    cuda.cuMemFree(address)

    assert cuda.emulator.read(address, SIZE) == bytes([POISON]) * SIZE
    assert int(cuda.cuMemAlloc(SIZE)) != address


def test_what_was_not_allocated_cannot_be_freed(cuda, memory):
    """Addresses inside, outside, of pinned memory and freed before are refused."""
    address = int(cuda.cuMemAlloc(SIZE))
    cuda.cuMemFree(address)
    host = cuda.host_buffer()

    for wrong in (memory + 1, 64, address, host):
        assert cuda.code("cuMemFree", wrong) == "INVALID_VALUE"
    assert cuda.code("cuMemFreeHost", memory) == "INVALID_VALUE"
    assert cuda.code("cuMemFree", 0) == "SUCCESS"


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("cuMemAlloc", (0,)),
        ("cuMemAllocManaged", (0, 1)),
        ("cuMemAllocManaged", (64, 0)),
        ("cuMemHostAlloc", (0, 0)),
        ("cuMemHostAlloc", (64, 64)),
        ("cuMemAllocAsync", (0, 0)),
        ("cuMemAllocPitch", (64, 4, 3)),
    ],
)
def test_nonsense_is_refused(cuda, name, arguments):
    """Sizes of 0, unknown flags and elements of 3 bytes are refused."""
    assert cuda.code(name, *arguments) == "INVALID_VALUE"


def test_too_much_memory_is_refused(cuda):
    """More memory than the device has is CUDA_ERROR_OUT_OF_MEMORY."""
    _, total = cuda.cuMemGetInfo()

    assert cuda.code("cuMemAlloc", total + 1) == "OUT_OF_MEMORY"
    assert cuda.code("cuMemAlloc", 2**63) == "OUT_OF_MEMORY"


def test_memory_in_use_is_counted(cuda, emulator):
    """Memory is counted in bytes for each kind."""
    before, (free, _) = emulator.live(), cuda.cuMemGetInfo()
    made = cuda.cuMemAlloc(1000)
    host, managed = cuda.cuMemHostAlloc(64, 0), cuda.cuMemAllocManaged(64, 1)
    during, (less, _) = emulator.live(), cuda.cuMemGetInfo()
    cuda.cuMemFree(made)
    cuda.cuMemFreeHost(host)
    cuda.cuMemFree(managed)

    assert [b - a for a, b in zip(before, during, strict=True)] == [1, 1, 1, 0, 0, 1000, 0]
    assert free - less == 1000
    assert emulator.live() == before


def test_addresses_come_back_after_quarantine(run_isolated):
    """A program that allocates repeatedly does not run out of addresses."""
    out = run_isolated(
        f"""{ON_DRIVER}
seen = []
for _ in range(100):
    seen.append(int(d.cuMemAlloc(4096)[1]))
    d.cuMemFree(seen[-1])
print(len(set(seen)) < 10, all(a != b for a, b in zip(seen, seen[1:])))
""",
        env={"EMUCUDA_QUARANTINE": "16384"},
    )

    assert out == "True True\n"


def test_the_host_cannot_follow_device_addresses_in_protect_mode(run_child):
    """Access from the host crashes; the copies of the driver and the alias work."""
    done = run_child(
        f"""{ON_DRIVER}
import ctypes
address = int(d.cuMemAlloc(64)[1])
d.cuMemcpyHtoD(address, b"7" * 64, 64)
out = bytearray(64)
d.cuMemcpyDtoH(out, address, 64)
print(out[:3], emulator.read(address, 3), emulator.alias(address) != address, flush=True)
ctypes.string_at(address, 1)
print("not reached")
""",
        env={"EMUCUDA_PROTECT": "1"},
    )

    assert done.stdout == "bytearray(b'777') b'777' True\n"
    assert done.returncode == -signal.SIGSEGV


# ---------------------------------------------------------------- one-dimensional copies


def test_a_pageable_source_is_staged_at_the_call(cuda, streams, memory):
    """The caller may change the source at once."""
    stream, _ = streams
    source, address = cuda.pageable(b"\7" * SIZE)
    with cuda.emulator.held(stream):
        cuda.cuMemcpyHtoDAsync(memory, address, SIZE, stream)
        source.raw = b"\x08" * SIZE
        before = cuda.emulator.read(memory, 1)
    cuda.cuStreamSynchronize(stream)

    assert (before, cuda.emulator.read(memory, SIZE)) == (b"\0", b"\7" * SIZE)


def test_a_copy_to_pageable_memory_is_done_at_return(cuda, streams, memory):
    """The copy is done at return, however long it takes."""
    stream, _ = streams
    target, address = cuda.pageable(bytes(SIZE))
    cuda.emulator.delay(stream, 0.02)
    cuda.cuMemsetD8Async(memory, 7, SIZE, stream)
    cuda.cuMemcpyDtoHAsync(address, memory, SIZE, stream)

    assert target.raw == b"\7" * SIZE


def test_pinned_memory_is_copied_asynchronously(cuda, streams, memory):
    """Source and target are accessed when the copy runs, in both directions."""
    stream, _ = streams
    source, target = cuda.host_buffer(), cuda.host_buffer()
    ctypes.memset(source, 1, SIZE)
    ctypes.memset(target, 0, SIZE)
    with cuda.emulator.held(stream):
        cuda.cuMemcpyHtoDAsync(memory, source, SIZE, stream)
        cuda.cuMemcpyDtoHAsync(target, memory, SIZE, stream)
        ctypes.memset(source, 7, SIZE)
        before = ctypes.string_at(target, 1)
    cuda.cuStreamSynchronize(stream)

    assert (before, ctypes.string_at(target, SIZE)) == (b"\0", b"\7" * SIZE)


def test_a_copy_from_host_to_host_is_done_at_return(cuda, streams):
    """The copy is synchronous even if both are pinned and the call is asynchronous."""
    stream, _ = streams
    source, target = cuda.host_buffer(), cuda.host_buffer()
    ctypes.memset(source, 7, SIZE)
    cuda.emulator.delay(stream, 0.02)
    cuda.cuMemcpyAsync(target, source, SIZE, stream)

    assert ctypes.string_at(target, SIZE) == b"\7" * SIZE


def test_a_synchronous_copy_to_the_host_waits_for_blocking_streams(cuda, memory):
    """The copy runs in the legacy stream."""
    stream = cuda.stream(blocking=True)
    target, address = cuda.pageable(bytes(SIZE))
    cuda.emulator.delay(stream, 0.02)
    cuda.cuMemsetD8Async(memory, 7, SIZE, stream)
    cuda.cuMemcpyDtoH(address, memory, SIZE)

    assert target.raw == b"\7" * SIZE


def test_a_synchronous_copy_within_devices_does_not_wait(cuda, memory):
    """The call returns before the copy is done."""
    with cuda.emulator.held(1):
        cuda.cuMemcpyDtoD(memory, memory + 64, 64)

        assert cuda.emulator.pending(1) == 1


def test_devices_copy_from_each_other(cuda, streams, memory):
    """Devices share one address space."""
    cuda.cuMemsetD8Async(memory, 7, SIZE, streams[0])
    cuda.cuStreamSynchronize(streams[0])
    with cuda.device(1):
        theirs, context = int(cuda.cuMemAlloc(SIZE)), cuda.cuCtxGetCurrent()
    cuda.cuMemcpyPeerAsync(theirs, context, memory, cuda.context, SIZE, streams[0])
    cuda.cuStreamSynchronize(streams[0])

    assert cuda.emulator.read(theirs, SIZE) == b"\7" * SIZE


@pytest.mark.parametrize("name", ["cuMemcpyAsync", "cuMemcpyDtoDAsync"])
@pytest.mark.parametrize(
    "spans",
    [
        (0, 2048, 2049),
        (2048, 0, 2049),
        (0, 1, 2),
        (1, 0, 2),
        (0, 0, 1),
        (4096, 0, 1),
        (-1, 8, 1),
    ],
)
def test_copies_that_overlap_or_reach_out_are_refused(cuda, streams, memory, name, spans):
    """The call returns CUDA_ERROR_INVALID_VALUE, and nothing is copied."""
    target, source, nbytes = spans
    code = cuda.code(name, memory + target, memory + source, nbytes, streams[0])

    assert code == "INVALID_VALUE"
    assert cuda.emulator.pending(streams[0]) == 0


@pytest.mark.parametrize("name", ["cuMemcpyDtoH", "cuMemcpyHtoD", "cuMemcpyDtoD"])
def test_a_device_address_has_to_be_one(cuda, memory, name):
    """Memory unknown to the driver is refused where a device address is required."""
    kept, source = cuda.pageable(bytes(64))
    taken, target = cuda.pageable(bytes(64))

    assert cuda.code(name, target, source, 64) == "INVALID_VALUE"
    assert cuda.code("cuMemcpy", target, source, 64) == "SUCCESS"
    assert cuda.code("cuMemcpy", target, memory, 64) == "SUCCESS"
    del kept, taken


def test_copies_of_nothing_need_no_memory(cuda, streams):
    """Copies of zero bytes accept NULL."""
    assert cuda.code("cuMemcpyHtoDAsync", 0, 0, 0, streams[0]) == "SUCCESS"
    assert cuda.code("cuMemcpyDtoH", 0, 0, 0) == "SUCCESS"
    assert cuda.code("cuMemsetD8Async", 0, 0, 0, streams[0]) == "SUCCESS"


# ---------------------------------------------------------------- two- and three-dimensional copies


def pattern(nbytes):
    """Return bytes with distinct values."""
    return bytes(i * 7 % 251 for i in range(nbytes))


def describe(cuda, copy, end, place, **fields):
    """Fill in one end of a copy structure: an address and the kind of its memory."""
    address, kind = place
    setattr(copy, f"{end}MemoryType", cuda.driver.CUmemorytype(kind))
    setattr(copy, f"{end}Host" if kind == HOST else f"{end}Device", address)
    for name, value in fields.items():
        setattr(copy, f"{end}{name}", value)


@pytest.mark.parametrize("call", ["cuMemcpy2D", "cuMemcpy2DUnaligned", "cuMemcpy2DAsync"])
@pytest.mark.parametrize(("source", "target"), [*itertools.product((HOST, DEVICE), repeat=2)])
def test_two_dimensions(cuda, streams, call, source, target):
    """Every row is copied to its place, and no other byte changes."""
    width, height = 5, 4
    old, new = pattern(16 * 8), bytes([255]) * (12 * 8)
    ends = {}
    for end, kind, content in (("src", source, old), ("dst", target, new)):
        host, address = cuda.pageable(content)
        if kind == DEVICE:
            address = int(cuda.cuMemAlloc(len(content)))
            cuda.cuMemcpyHtoD(address, ctypes.addressof(host), len(content))
        ends[end] = host, address
    copy = cuda.driver.CUDA_MEMCPY2D()
    describe(cuda, copy, "src", (ends["src"][1], source), Pitch=16, XInBytes=3, Y=1)
    describe(cuda, copy, "dst", (ends["dst"][1], target), Pitch=12, XInBytes=2, Y=2)
    copy.WidthInBytes, copy.Height = width, height
    getattr(cuda, call)(*((copy, streams[0]) if call.endswith("Async") else (copy,)))
    cuda.cuCtxSynchronize()
    expected = bytearray(new)
    for y in range(height):
        start = (2 + y) * 12 + 2
        expected[start : start + width] = old[(1 + y) * 16 + 3 :][:width]

    read = cuda.emulator.read if target == DEVICE else ctypes.string_at
    assert read(ends["dst"][1], len(new)) == bytes(expected)


@pytest.mark.parametrize("call", ["cuMemcpy3D", "cuMemcpy3DAsync", "cuMemcpy3DPeer"])
def test_three_dimensions(cuda, streams, call):
    """Every row of every plane is copied to its place, and no other byte changes."""
    old, new = pattern(8 * 5 * 4), bytes([255]) * (10 * 3 * 4)
    source, target = int(cuda.cuMemAlloc(len(old))), int(cuda.cuMemAlloc(len(new)))
    cuda.cuMemcpyHtoD(source, old, len(old))
    cuda.cuMemcpyHtoD(target, new, len(new))
    peer = call.endswith("Peer")
    copy = cuda.driver.CUDA_MEMCPY3D_PEER() if peer else cuda.driver.CUDA_MEMCPY3D()
    if peer:
        copy.srcContext = copy.dstContext = cuda.context
    describe(cuda, copy, "src", (source, DEVICE), Pitch=8, Height=5, XInBytes=1, Y=2, Z=1)
    describe(cuda, copy, "dst", (target, DEVICE), Pitch=10, Height=3, XInBytes=4, Y=1, Z=2)
    copy.WidthInBytes, copy.Height, copy.Depth = 6, 2, 2
    getattr(cuda, call)(*((copy, streams[0]) if call.endswith("Async") else (copy,)))
    cuda.cuCtxSynchronize()
    expected = bytearray(new)
    for z, y in itertools.product(range(2), range(2)):
        start = ((2 + z) * 3 + 1 + y) * 10 + 4
        expected[start : start + 6] = old[((1 + z) * 5 + 2 + y) * 8 + 1 :][:6]

    assert cuda.emulator.read(target, len(new)) == bytes(expected)


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"srcPitch": 15}, "a row does not fit into its pitch"),
        ({"dstXInBytes": 1, "dstPitch": 16}, "nor does one that begins later"),
        ({"srcPitch": 2**31}, "beyond the largest pitch"),
        ({"Height": 65, "srcPitch": 64, "dstPitch": 16}, "out of the source"),
        ({"dstY": 200}, "out of the target"),
    ],
)
def test_rectangles_that_do_not_fit_are_refused(cuda, streams, memory, fields, why):
    """The call returns CUDA_ERROR_INVALID_VALUE, and nothing is copied."""
    target = cuda.memory()
    copy = cuda.driver.CUDA_MEMCPY2D()
    describe(cuda, copy, "src", (memory, DEVICE), Pitch=16)
    describe(cuda, copy, "dst", (target, DEVICE), Pitch=16)
    copy.WidthInBytes, copy.Height = 16, 64
    for name, value in fields.items():
        setattr(copy, name, value)

    assert cuda.code("cuMemcpy2DAsync", copy, streams[0]) == "INVALID_VALUE", why
    assert cuda.emulator.pending(streams[0]) == 0


def test_arrays_are_not_emulated(cuda, streams, memory):
    """CUDA arrays are CUDA_ERROR_NOT_SUPPORTED."""
    copy = cuda.driver.CUDA_MEMCPY2D()
    describe(cuda, copy, "src", (memory, DEVICE))
    describe(cuda, copy, "dst", (memory, 3))
    copy.WidthInBytes, copy.Height = 16, 1

    assert cuda.code("cuMemcpy2DAsync", copy, streams[0]) == "NOT_SUPPORTED"


def test_overlapping_rectangles_are_refused_and_interleaved_ones_are_not(cuda, streams, memory):
    """Rectangles overlap if they share a byte."""
    copy = cuda.driver.CUDA_MEMCPY2D()
    copy.WidthInBytes, copy.Height = 8, 64
    codes = []
    for shift in (7, 8):
        describe(cuda, copy, "src", (memory, DEVICE), Pitch=64)
        describe(cuda, copy, "dst", (memory + shift, DEVICE), Pitch=64)
        codes.append(cuda.code("cuMemcpy2DAsync", copy, streams[0]))

    assert codes == ["INVALID_VALUE", "SUCCESS"]


BOXES = st.tuples(
    st.tuples(st.integers(1, 9), st.integers(1, 4), st.integers(1, 3)),  # width, height, depth
    *[
        st.tuples(
            st.integers(0, 120),  # offset
            st.integers(0, 5),  # additional width of the pitch
            st.integers(0, 2),  # additional rows of a plane
        )
    ]
    * 2,
)


def bytes_of(shape, place):
    """Return the offsets of the bytes of a box, in order."""
    (width, height, depth), (offset, wider, more) = shape, place
    pitch, rows = width + wider, height + more
    return [
        offset + (z * rows + y) * pitch + x
        for z, y, x in itertools.product(range(depth), range(height), range(width))
    ]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(boxes=BOXES)
def test_boxes_are_copied_or_refused_byte_by_byte(cuda, boxes):
    """Copies that share a byte or exceed memory are refused; otherwise every byte is correct."""
    size = 256
    shape, *places = boxes
    source, target = (bytes_of(shape, place) for place in places)
    content = pattern(size)
    address = int(cuda.cuMemAlloc(size))
    cuda.cuMemcpyHtoD(address, content, size)
    copy = cuda.driver.CUDA_MEMCPY3D()
    for end, (offset, wider, more) in zip(("src", "dst"), places, strict=True):
        height = shape[1] + more
        describe(cuda, copy, end, (address + offset, DEVICE), Pitch=shape[0] + wider, Height=height)
    copy.WidthInBytes, copy.Height, copy.Depth = shape
    code = cuda.code("cuMemcpy3D", copy)
    cuda.cuCtxSynchronize()
    found = cuda.emulator.read(address, size)
    cuda.cuMemFree(address)
    legal = not set(source) & set(target) and max(source + target) < size
    moved = bytearray(content)
    for old, new in zip(source, target, strict=True):
        if legal:
            moved[new] = content[old]

    assert code == ("SUCCESS" if legal else "INVALID_VALUE")
    assert found == bytes(moved)
