"""Exports as Arrow on the emulated driver: events are neither leaked nor destroyed early."""

from __future__ import annotations

import ctypes
import gc
import threading

import pytest

import interchange as ix
from interchange._functions import arrow_out
from interchange.abi import capsule_pointer
from interchange.abi.arrow import ARROW_DEVICE_ARRAY, ArrowDeviceArray

pytestmark = [
    pytest.mark.emulated,
    pytest.mark.skipif(ix.core_name != "native", reason="exports are the native core's"),
]

SIZE = 4096  # [bytes], of memory
METHODS = ("__arrow_c_device_array__", "__arrow_c_device_stream__")


@pytest.fixture
def busy(cuda):
    """Return an Array with pending work on a stream."""
    array = ix.from_pointer(cuda.memory(), (SIZE,), "uint8", device="cuda:0", stream=cuda.stream())
    ix.to_arrow(array)
    return array


def only(export, method=METHODS[0]):
    """Return a producer with one method of an export."""
    return type("Only", (), {method: lambda _: getattr(export, method)()})()


def struct_of(capsule):
    """Return the struct of a capsule without consuming the capsule."""
    return ArrowDeviceArray.from_address(capsule_pointer(capsule, ARROW_DEVICE_ARRAY))


def write_and_hand_over(cuda, emulator):
    """Write on one stream, export, and read on another stream, which waits for the event."""
    producer, stream, memory = cuda.stream(), cuda.stream(), cuda.memory()
    array = ix.from_pointer(memory, (SIZE,), "uint8", device="cuda:0", stream=producer)
    emulator.fill(producer, memory, SIZE, 7)
    _schema, capsule = ix.to_arrow(array).__arrow_c_device_array__()
    event = struct_of(capsule).sync_event
    if event:
        cuda("cuStreamWaitEvent", stream, ctypes.c_void_p.from_address(event).value, 0)
    emulator.annotate(stream, memory, SIZE, write=False)


def test_who_waits_for_the_event_reads_after_the_write(cuda, emulator):
    """The detector reports nothing."""
    write_and_hand_over(cuda, emulator)

    assert emulator.reports() == []


def test_an_export_that_records_no_event_is_caught(cuda, emulator, monkeypatch):
    """Only the event keeps the order, so the detector reports the race."""
    monkeypatch.setattr(arrow_out, "recorded_event_of", lambda *_: None)
    write_and_hand_over(cuda, emulator)

    assert len(emulator.expect_reports(match="RAW")) == 1


@pytest.mark.parametrize("method", METHODS)
def test_an_event_lives_as_long_as_the_export(emulator, busy, method):
    """The release callback destroys the event, even if the Array is freed before."""
    before = emulator.live().events
    capsules = getattr(ix.to_arrow(busy), method)()
    gc.collect()
    during = emulator.live().events
    del capsules

    assert (during - before, emulator.live().events - before) == (1, 0)


@pytest.mark.parametrize("method", METHODS)
def test_an_event_lives_as_long_as_what_was_taken(emulator, busy, method):
    """The event is kept while a consumer holds the struct, and its Array is freed last."""
    export = ix.to_arrow(busy)
    before = emulator.live().events
    back = ix.from_arrow(only(export, method))
    view = back[::2]
    during = emulator.live().events
    del back, view

    assert (during - before, emulator.live().events - before) == (1, 0)


def test_release_may_come_from_any_thread(emulator, busy):
    """The release callback may run in a thread without the GIL and without a context."""
    before = emulator.live().events
    _schema, capsule = ix.to_arrow(busy).__arrow_c_device_array__()
    struct = struct_of(capsule)
    release = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(struct.array.release)
    thread = threading.Thread(target=release, args=(ctypes.addressof(struct),))
    thread.start()
    thread.join()

    assert (struct.array.release, emulator.live().events) == (None, before)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("taken", [False, True])
def test_exports_leave_nothing_on_the_driver(cuda, emulator, busy, method, taken):
    """A hundred exports, consumed or not, leave no event and no memory."""
    export = ix.to_arrow({"x": busy, "y": busy.copy()})
    one = only(export, method)
    single = ix.to_arrow(busy)
    other = only(single, method)

    def cycle(count):
        for _ in range(count):
            getattr(export, method)()
            if taken:
                ix.from_arrow(other, stream=1)
                with pytest.raises(ix.InterchangeError):  # a table cannot be an Array
                    ix.from_arrow(one)
        gc.collect()

    cycle(1)
    before = emulator.live()
    cycle(100)
    cuda.synchronize()

    assert emulator.live() == before


def test_threads_hand_over_side_by_side(cuda, emulator, busy):
    """Threads without a context export and import concurrently, and no resources are left."""
    export, failed = ix.to_arrow(busy), []
    streams = [cuda.stream() for _ in range(4)]
    ix.from_arrow(only(export), stream=streams[0])
    before = emulator.live()

    def hand_over(stream):
        try:
            for _ in range(50):
                ix.from_arrow(only(export), stream=stream)
        except BaseException as error:  # noqa: BLE001 - a thread has no other way to tell
            failed.append(error)

    threads = [threading.Thread(target=hand_over, args=(stream,)) for stream in streams]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failed == []
    assert emulator.live() == before


def test_a_refused_export_leaves_no_event(emulator, busy, monkeypatch):
    """The core fails to create a capsule, and the event is destroyed."""

    def refuse(*_):
        raise MemoryError

    monkeypatch.setattr(arrow_out._core, "make_arrow", refuse)
    before = emulator.live().events
    with pytest.raises(MemoryError):
        ix.to_arrow(busy).__arrow_c_device_array__()

    assert emulator.live().events == before
