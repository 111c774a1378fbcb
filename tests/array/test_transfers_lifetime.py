"""Lifetime of memory that a stream copies from, and when it is freed."""

from __future__ import annotations

import gc
import itertools
import weakref

import numpy as np
import pytest

import interchange as ix
from interchange._streams.driver import driver_of

pytestmark = [pytest.mark.emulated, pytest.mark.usefixtures("machine")]

SIZE = 4096
SLOW = 0.02  # [seconds]; duration of an operation on a slow stream


def filled(value):
    """Return the contents of memory that was filled."""
    return bytes([value]) * SIZE


@pytest.fixture
def foreign(machine, emulator):
    """Return a function that creates an Array whose owner frees memory without waiting."""

    def make(stream=None):
        stream = stream or machine.stream()
        owner = machine.owner(SIZE, stream)
        emulator.fill(stream, owner.ptr, SIZE, 7)
        array = ix.from_pointer(
            owner.ptr, (SIZE,), "uint8", device="cuda", stream=stream, owner=owner
        )
        return array, weakref.ref(owner)

    return make


@pytest.fixture
def refuse(monkeypatch):
    """Return a function that makes a method of the driver fail from some call on."""
    driver = driver_of(ix.Device(2), "test")

    def make(method, first=1, error=None):
        count = itertools.count(1)
        work = getattr(driver, method)

        def refusing(*arguments, **named):
            if next(count) >= first:
                raise error or ix.ExchangeError("test", "refused", "IX-DRIVER-2")
            return work(*arguments, **named)

        monkeypatch.setattr(driver, method, refusing)

    return make


COPIES = {
    "a copy": lambda array: array.copy(),
    "a copy of rows": lambda array: array.reshape((64, 64))[::2].copy(),
    "a copy that the host puts in order": lambda array: array[::-1].copy(),
    "on another device": lambda array: array.to_device("cuda:1"),
    "of rows on another device": lambda array: array.reshape((64, 64))[::2].to_device("cuda:1"),
    "on the host": lambda array: array.to_device("cpu"),
    "in page-locked memory": lambda array: array.to_device("cuda_host"),
}
every = pytest.mark.parametrize("copy", COPIES)


# ---------------------------------------------------------------- while the copy runs


@every
def test_the_source_may_be_dropped_before_the_copy_has_run(machine, emulator, foreign, copy):
    """Memory of another library stays until then."""
    producer, stream = machine.stream(), machine.stream()
    array, _ = foreign(producer)
    array = ix.from_dlpack(array, stream=stream)
    emulator.delay(stream, SLOW)

    copied = COPIES[copy](array)
    del array

    if copied.device.is_host_accessible:
        assert np.asarray(copied).tobytes() == filled(7)[: copied.nbytes]
    else:
        assert machine.read(copied.ptr, copied.nbytes) == filled(7)[: copied.nbytes]


@pytest.mark.parametrize("target", ["cuda:0", "cuda:1"])
def test_memory_of_ours_may_be_dropped_before_the_copy_has_run(machine, emulator, target):
    """Dropped memory of ours is freed when the work on it is done, on any device."""
    array = ix.asarray(np.full(SIZE, 7, np.uint8)).to_device("cuda", stream=machine.stream())
    stream = machine.stream(1)
    emulator.delay(stream if target == "cuda:1" else array._pending_work.stream, SLOW)

    copied = array.copy() if target == "cuda:0" else array.to_device(target, stream=stream)
    del array

    assert machine.read(copied.ptr, SIZE) == filled(7)


@every
def test_the_copy_may_be_dropped_before_it_was_made(machine, emulator, foreign, copy):
    """No freed memory is read or written."""
    stream = machine.stream()
    array, owner = foreign(stream)
    emulator.delay(stream, SLOW)

    COPIES[copy](array)
    del array

    assert owner() is None
    machine.synchronize()


def test_a_copy_lets_its_source_go_last(machine, emulator, foreign):
    """Freeing a copy waits for its completion; only then may its source be freed."""
    stream = machine.stream()
    array, owner = foreign(stream)
    copied = array.copy()
    del array

    with emulator.trace() as trace:
        assert owner() is not None
        del copied

    assert [name for name in trace.names if name.startswith("cuMemFree")] == [
        "cuMemFree",
        "cuMemFreeAsync",
    ]
    assert owner() is None


@pytest.mark.parametrize("copy", ["a copy", "on the host", "in page-locked memory"])
def test_what_the_host_has_keeps_nothing(machine, foreign, copy):
    """A copy on the host is complete, and keeps no source, nor does one that was read there."""
    array, owner = foreign(machine.stream())

    copied = COPIES[copy](array)
    del array
    here = copied.to_device("cpu")

    assert owner() is None
    assert np.asarray(here).tobytes() == filled(7)


def test_copies_of_copies_keep_no_chain(machine, emulator, foreign):
    """Intermediate copies are freed as soon as no reference remains."""
    array, owner = foreign(machine.stream())
    before = emulator.live().device

    for _ in range(50):
        array = array.copy()

    assert owner() is None
    assert emulator.live().device - before == 0  # one allocation in the place of the owner's


def test_what_was_exported_outlives_the_array(machine):
    """The capsule's consumer has the memory now."""
    copied = ix.asarray(np.full(SIZE, 7, np.uint8)).to_device("cuda")

    taken = ix.from_dlpack(copied.__dlpack__(max_version=(1, 0)))
    view = copied[1:]
    del copied

    assert machine.read(taken.ptr, SIZE) == filled(7)
    assert machine.read(view.ptr, SIZE - 1) == filled(7)[1:]


# ---------------------------------------------------------------- leaks


@every
def test_many_copies_leave_nothing(machine, emulator, foreign, copy):
    """Memory, events and streams are as many as before."""
    producer, stream = machine.stream(), machine.stream()

    def once():
        array, _ = foreign(producer)
        COPIES[copy](ix.from_dlpack(array, stream=stream))

    def settle():  # so that each round needs as many events at a time
        machine.synchronize()
        gc.collect()
        machine.synchronize()

    once()
    settle()
    before = emulator.live()
    for _ in range(100):
        once()
        settle()

    assert emulator.live() == before


def test_memory_that_goes_to_and_fro_does_not_grow(emulator):
    """Neither device accumulates memory that the other freed."""
    array = ix.asarray(np.full(SIZE, 7, np.uint8)).to_device("cuda:0")
    array = array.to_device("cuda:1").to_device("cuda:0")
    before = emulator.live()

    for _ in range(50):
        array = array.to_device("cuda:1").to_device("cuda:0")

    assert emulator.live() == before
    assert np.asarray(array.to_device("cpu")).tobytes() == filled(7)


FAILING = {
    "allocate": ["a copy", "on another device", "a copy that the host puts in order"],
    "allocate_pinned": ["on the host", "in page-locked memory"],
    "copy": ["a copy", "on another device", "on the host", "a copy that the host puts in order"],
    "copy_pitched": ["a copy of rows", "of rows on another device"],
    "synchronize": ["on the host", "a copy that the host puts in order"],
}


@pytest.mark.parametrize(
    ("method", "copy"), [(method, copy) for method, names in FAILING.items() for copy in names]
)
def test_what_fails_leaves_nothing(emulator, foreign, refuse, method, copy):
    """An error of the driver reaches the caller after new memory was freed."""
    array, owner = foreign()
    before = emulator.live()

    refuse(method)
    with pytest.raises(ix.ExchangeError, match="refused") as caught:
        COPIES[copy](array)

    assert emulator.live() == before  # though the traceback still has everything
    del array, caught
    assert owner() is None


@pytest.mark.parametrize("target", ["cuda:0", "cpu"])
@pytest.mark.parametrize("first", [2, 3])
def test_pieces_that_are_on_their_way_are_waited_for_when_one_fails(
    machine, emulator, foreign, refuse, first, target
):
    """The source may be freed as soon as the error arrives."""
    stream = machine.stream()
    array, owner = foreign(stream)
    windows = array.reshape((4, 16, 64)).permute_dims((1, 0, 2))[:, ::-1]
    emulator.delay(stream, SLOW)

    refuse("copy_pitched", first)
    with emulator.trace() as trace, pytest.raises(ix.ExchangeError, match="refused"):
        windows.copy() if target == "cuda:0" else windows.to_device(target)

    assert emulator.pending(stream) == 0
    free = "cuMemFree" if target == "cuda:0" else "cuMemFreeHost"
    assert trace.names.index("cuStreamSynchronize") < trace.names.index(free)
    del array, windows
    assert owner() is None


def test_an_order_that_is_refused_leaves_nothing(machine, emulator, foreign, refuse):
    """An order that is refused, before or after the copy, leaks nothing."""
    array, owner = foreign()
    stream = machine.stream()
    before = emulator.live()

    for first in (2, 1):
        refuse("order", first)
        with pytest.raises(ix.ExchangeError, match="refused"):
            array.to_device("cuda:1", stream=stream)

    assert emulator.live()._replace(events=before.events) == before  # events are used again
    del array
    assert owner() is None


def test_a_wait_that_is_refused_leaves_nothing(machine, emulator):
    """Page-locked memory is freed if it cannot be filled."""
    gone = int(machine("cuStreamCreate", 1))
    machine("cuStreamDestroy", gone)
    array = ix.from_pointer(
        machine.managed(SIZE), (SIZE,), "uint8", device="cuda_managed", stream=gone
    )
    before = emulator.live()

    with pytest.raises(ix.StreamError, match="DLP-STREAM-7") as caught:
        array.to_device("cuda_host")

    assert emulator.live() == before  # though the traceback still has everything
    del caught


def test_an_interrupt_leaves_nothing(emulator, foreign, refuse):
    """An interrupt leaks nothing and is not hidden."""
    array, _ = foreign()
    before = emulator.live()

    refuse("synchronize")
    refuse("copy", error=KeyboardInterrupt)
    with pytest.raises(KeyboardInterrupt):
        array.copy()

    assert emulator.live() == before


def test_an_allocation_that_is_too_large_is_refused(emulator):
    """An allocation that is too large is refused with the driver's error name."""
    array = ix.from_buffer(bytes(1)).broadcast_to((2**50,))
    before = emulator.live()

    with pytest.raises(ix.OutOfDeviceMemoryError, match="OUT_OF_MEMORY"):
        ix.from_pointer(array.ptr, (2**50,), "uint8", owner=array).to_device("cuda")

    assert emulator.live() == before


def test_an_address_that_the_driver_does_not_know_is_refused(emulator):
    """An address unknown to the driver is refused, so that it is not read as host memory."""
    before = emulator.live()

    for copy in COPIES.values():
        with pytest.raises(ix.UnsupportedDeviceError, match="CAI-DATA-3"):
            copy(ix.from_pointer(0xDEAD000, (SIZE,), "uint8", device="cuda"))

    assert emulator.live() == before


def test_a_finaliser_in_the_same_garbage_may_read_a_copy_on_the_host(emulator):
    """The collector calls the finaliser before the memory is freed."""
    read = []

    class Reader:
        def __init__(self, array):
            self.array = array
            self.itself = self

        def __del__(self):
            read.append(np.asarray(self.array).tobytes())

    before = emulator.live()
    Reader(ix.asarray(np.full(SIZE, 7, np.uint8)).to_device("cuda").to_device("cpu"))
    gc.collect()

    assert read == [filled(7)]
    assert emulator.live() == before


# ---------------------------------------------------------------- the end of a process

AT_EXIT = """
import sys
from interchange_conformance.emucuda import load
emulator = load()
import numpy as np
import interchange as ix

class Holder:
    pass

kept = [ix.asarray(np.arange(8.0)).to_device("cuda")]
kept += [kept[0].copy(), kept[0].to_device("cuda:1"), kept[0].to_device("cpu")]
sys.modules["kept"] = kept
cycle = Holder()
cycle.itself, cycle.array = cycle, kept[0].copy()
print(len(kept), emulator.reports())
"""

FORKED = """
import os, sys, warnings
warnings.filterwarnings("ignore", "This process .* is multi-threaded")  # a driver has threads
from interchange_conformance.emucuda import load
emulator = load()
import numpy as np
import interchange as ix
from interchange._streams.driver import driver_of

array = ix.asarray(np.arange(8.0)).to_device("cuda")
here = array.to_device("cpu")
driver = driver_of(array.device, "test")
freed = []
type(driver).free = lambda self, *arguments: freed.append(arguments)
child = os.fork()
if not child:
    del array, here
    os._exit(len(freed))
assert os.waitpid(child, 0)[1] == 0, "the child gave memory of its parent's back"
del array, here
print(len(freed))
"""


@pytest.mark.isolated
def test_copies_may_be_alive_at_exit(emulator, run_isolated):
    """Finalisers at exit work and print nothing."""
    del emulator

    assert run_isolated(AT_EXIT).strip() == "4 []"


@pytest.mark.isolated
def test_a_forked_child_leaves_the_memory_of_its_parent_alone(emulator, run_isolated):
    """The parent alone frees its memory; a forked child does not."""
    del emulator

    assert run_isolated(FORKED).strip() == "2"
