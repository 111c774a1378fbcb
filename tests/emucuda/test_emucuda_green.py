"""Green contexts of the emulated driver: parts of a device, their streams, and their events."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.emulated

NON_BLOCKING, DEFAULT_STREAM = 1, 1


@pytest.fixture
def resource(cuda):
    """Return all multiprocessors of device 0."""
    kind = cuda.driver.CUdevResourceType.CU_DEV_RESOURCE_TYPE_SM
    return cuda.cuDeviceGetDevResource(0, kind)


@pytest.fixture
def green(cuda, resource):
    """Return a green context with half of the multiprocessors of device 0."""
    groups, _, _ = cuda.cuDevSmResourceSplitByCount(1, resource, 0, 8)
    description = cuda.cuDevResourceGenerateDesc(groups, 1)
    made = cuda.cuGreenCtxCreate(description, 0, DEFAULT_STREAM)
    yield made
    if cuda.emulator.live().contexts:
        cuda.cuGreenCtxDestroy(made)


def test_multiprocessors_are_split(cuda, resource):
    """Groups have whole multiples of 8, and the rest is what remains."""
    counted = int(cuda.cuDeviceGetAttribute(_processors(cuda), 0))
    groups, count, rest = cuda.cuDevSmResourceSplitByCount(1, resource, 0, 5)
    both, two, none = cuda.cuDevSmResourceSplitByCount(2, resource, 0, 8)
    fine, _, _ = cuda.cuDevSmResourceSplitByCount(1, resource, 1, 3)

    assert resource.sm.smCount == counted == 16
    assert (groups[0].sm.smCount, int(count), rest.sm.smCount) == (8, 1, 8)
    assert ([part.sm.smCount for part in both], int(two), int(none.type)) == ([8, 8], 2, 0)
    assert fine[0].sm.smCount == 4


def _processors(cuda):
    """Return the attribute with the number of multiprocessors."""
    return cuda.driver.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT


def test_descriptors_are_of_one_split(cuda, resource):
    """Parts of two splits, parts that are split again, and too many are refused."""
    first, _, rest = cuda.cuDevSmResourceSplitByCount(1, resource, 0, 8)
    second, _, _ = cuda.cuDevSmResourceSplitByCount(1, resource, 0, 8)
    cuda.cuDevResourceGenerateDesc([first[0], rest], 2)
    wrong = "INVALID_RESOURCE_CONFIGURATION"

    assert cuda.code("cuDevResourceGenerateDesc", [first[0], second[0]], 2) == wrong
    assert cuda.code("cuDevSmResourceSplitByCount", 1, first[0], 0, 8) == wrong
    assert cuda.code("cuDevSmResourceSplitByCount", 1, resource, 0, 17) == "INVALID_VALUE"


def test_a_green_context_is_current_like_others(cuda, green, memory):
    """Streams, memory, events and functions of the primary context are used in it."""
    context = cuda.cuCtxFromGreenCtx(green)
    kind = cuda.driver.CUdevResourceType.CU_DEV_RESOURCE_TYPE_SM
    part = cuda.cuCtxGetDevResource(context, kind).sm.smCount
    event = cuda.event()
    cuda.cuCtxPushCurrent(context)
    stream = cuda.stream()
    own, its = (
        cuda.cuStreamGetCtx_v2(stream) if hasattr(cuda.driver, "cuStreamGetCtx_v2") else (0, 0)
    )
    green_of_stream = int(cuda.cuStreamGetGreenCtx(stream))
    cuda.cuMemsetD8Async(memory, 7, 64, stream)
    cuda.cuEventRecord(event, stream)
    inside = int(cuda.cuMemAlloc(64))
    per_thread = cuda.code("cuMemsetD8Async", memory, 7, 64, 2)
    numbers = int(cuda.cuGreenCtxGetId(green)), int(cuda.cuGreenCtxGetId(None))
    cuda.cuCtxPopCurrent()
    cuda.cuEventSynchronize(event)
    owner = cuda.driver.CUpointer_attribute.CU_POINTER_ATTRIBUTE_CONTEXT

    assert (part, green_of_stream, per_thread) == (8, int(green), "INVALID_HANDLE")
    assert numbers[0] == numbers[1]
    assert int(cuda.cuPointerGetAttribute(owner, inside)) == int(cuda.context)
    assert int(own) == int(its) == 0 or (int(own), int(its)) == (int(cuda.context), int(green))
    assert cuda.code("cuCtxDestroy", context) == "INVALID_CONTEXT"
    cuda.cuStreamDestroy(stream)


def test_the_primary_context_waits_for_green_ones(cuda, green, emulator, memory):
    """`cuCtxSynchronize` of the primary context orders their work before what follows."""
    stream, other = cuda.cuGreenCtxStreamCreate(green, NON_BLOCKING, 0), cuda.stream()
    emulator.annotate(stream, memory, 64, write=True)
    cuda.cuCtxSynchronize()
    emulator.annotate(other, memory, 64, write=True)
    emulator.annotate(stream, memory, 64, write=True)

    emulator.expect_reports(count=1, match="WAW")
    cuda.cuStreamDestroy(stream)


def test_events_of_a_whole_green_context(cuda, green, emulator, memory):
    """A record is of all its streams, and a wait is for all, also for those made later."""
    streams = [cuda.cuGreenCtxStreamCreate(green, NON_BLOCKING, 0) for _ in range(2)]
    event, other = cuda.event(), cuda.stream()
    for number, stream in enumerate(streams):
        emulator.annotate(stream, memory + 64 * number, 64, write=True)
    cuda.cuGreenCtxRecordEvent(green, event)
    cuda.cuStreamWaitEvent(other, event, 0)
    emulator.annotate(other, memory, 128, write=True)
    cuda.cuEventRecord(event, other)
    cuda.cuGreenCtxWaitEvent(green, event)
    streams.append(cuda.cuGreenCtxStreamCreate(green, NON_BLOCKING, 0))
    for number in (0, 2):
        emulator.annotate(streams[number], memory + 64 * (number // 2), 64, write=True)
    cuda.cuCtxSynchronize()
    assert emulator.reports() == []

    for stream in streams:
        cuda.cuStreamDestroy(stream)


def test_the_event_of_a_context_is_missed_by_a_capture(cuda, green):
    """The capture is invalidated."""
    stream = cuda.cuGreenCtxStreamCreate(green, NON_BLOCKING, 0)
    cuda.begin(stream)

    assert cuda.code("cuGreenCtxRecordEvent", green, cuda.event()) == "STREAM_CAPTURE_UNSUPPORTED"
    assert cuda.end(stream) == ("STREAM_CAPTURE_INVALIDATED", False)
    cuda.cuStreamDestroy(stream)


def test_streams_of_a_destroyed_green_context(cuda, green, memory):
    """Every call with them says what has happened, and the memory stays."""
    stream = cuda.cuGreenCtxStreamCreate(green, NON_BLOCKING, 0)
    made = cuda.emulator.live().contexts
    cuda.cuGreenCtxDestroy(green)
    codes = [
        cuda.code("cuMemsetD8Async", memory, 7, 64, stream),
        cuda.code("cuStreamSynchronize", stream),
        cuda.code("cuStreamDestroy", stream),
        cuda.code("cuGreenCtxDestroy", green),
    ]

    assert codes == ["CONTEXT_IS_DESTROYED"] * 4
    assert (made, cuda.emulator.live().contexts) == (1, 0)


def test_green_contexts_that_cannot_be_made(cuda, resource):
    """The flag is required, and so are a descriptor of the device and non-blocking streams."""
    description = cuda.cuDevResourceGenerateDesc([resource], 1)
    codes = [
        cuda.code("cuGreenCtxCreate", description, 0, 0),
        cuda.code("cuGreenCtxCreate", description, 1, DEFAULT_STREAM),
        cuda.code("cuGreenCtxCreate", description, 99, DEFAULT_STREAM),
    ]
    made = cuda.cuGreenCtxCreate(description, 0, DEFAULT_STREAM)
    codes.append(cuda.code("cuGreenCtxStreamCreate", made, 0, 0))
    cuda.cuGreenCtxDestroy(made)

    assert codes == ["INVALID_VALUE", "INVALID_VALUE", "INVALID_DEVICE", "INVALID_VALUE"]
