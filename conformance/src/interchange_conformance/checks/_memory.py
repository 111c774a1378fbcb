"""Measurements of memory: the size used by the process, from the allocator or the kernel.

Source: glibc manual, ``mallinfo2``; Linux, ``proc_pid_smaps``; CPython, ``sys.getallocatedblocks``.
"""

from __future__ import annotations

import ctypes
import sys
import time
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from interchange_conformance.findings import NotApplicable
from interchange_conformance.probes.under_test import collect

from ._exports import newest

if TYPE_CHECKING:
    from collections.abc import Callable

    from interchange_conformance.probes.under_test import (
        ArrowProducerUnderTest,
        ProducerUnderTest,
    )

    Producer = ArrowProducerUnderTest | ProducerUnderTest
    Meter = Callable[[], int]

BLOCK: Final = 2**22
"""Size of an array that is large enough to be detected [bytes]."""
_SEEN: Final = 2**16  # smallest size that is detected [bytes]
_ROUNDS: Final = 16
_TRIES: Final = 5
_PATIENCE: Final = 0.02  # until other threads have finished their allocations [seconds]


class _MallocInfo(ctypes.Structure):
    """The C ``struct mallinfo2``."""

    _fields_ = tuple(
        (name, ctypes.c_size_t)
        for name in ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks",
                     "uordblks", "fordblks", "keepcost")
    )  # fmt: skip


@lru_cache(maxsize=1)
def _mallinfo() -> Callable[[], _MallocInfo] | None:
    """Return glibc's ``mallinfo2``, or None."""
    function = getattr(ctypes.CDLL(None), "mallinfo2", None)
    if function is not None:
        function.restype = _MallocInfo
    return function


def allocated() -> int:
    """Return the size of all malloc allocations [bytes]; 0 if unknown."""
    ask = _mallinfo()
    if ask is None:
        return 0
    info = ask()
    return int(info.uordblks + info.hblkhd)


def resident() -> int:
    """Return the physical memory of the process [bytes]; 0 if unknown."""
    try:
        lines = Path("/proc/self/smaps_rollup").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Rss:"))


def blocks() -> int:
    """Return the number of CPython's small blocks in use; malloc sees only arenas."""
    return sys.getallocatedblocks()


METERS: Final[tuple[Meter, ...]] = (allocated, resident)


def touch(producer: ProducerUnderTest, x: object) -> None:
    """Write to all memory of an array, so that the kernel provides its pages."""
    found = newest(producer, x)
    if not (found.readonly or producer.subject.immutable) and found.data:
        ctypes.memset(found.first, 1, found.nbytes)


def meter_for(producer: ProducerUnderTest) -> Meter:
    """Return a measurement that detects the arrays of a library.

    Raises `NotApplicable`: none does, for example because the library uses its own allocator.
    """
    form = producer.block(BLOCK)
    if form.nbytes < _SEEN:
        raise NotApplicable(f"arrays of {form.nbytes} bytes are too small to be seen")
    touch(producer, producer.make(*form))  # objects that are made only once are made now
    for turn in range(_TRIES):
        if turn:
            time.sleep(_PATIENCE)  # the library's own threads may be freeing memory
        _settle(producer)
        found = _seeing(producer)
        if found is not None:
            return found
    words = f"an array of {form.nbytes} bytes more is seen neither by malloc nor by the kernel"
    raise NotApplicable(words)


def _seeing(producer: ProducerUnderTest) -> Meter | None:
    """Return the first measurement that detects a new array."""
    form = producer.block(BLOCK)
    size = form.nbytes
    before = [meter() for meter in METERS]
    x = producer.make(*form)
    touch(producer, x)
    for meter, start in zip(METERS, before, strict=True):
        if size // 2 < meter() - start < size * 2:
            return meter
    return None


def _settle(producer: Producer) -> None:
    """Release unreferenced objects, including the library's caches."""
    collect()
    producer.subject.release()


def references_gained(x: object, act: Callable[[], object], times: int = 3) -> int:
    """Return how many more references an object has after calls, the first of which is not counted.

    A library makes its permanent allocations in its first call.
    """
    act()
    before = sys.getrefcount(x)
    for _ in range(times):
        act()
    collect()
    return sys.getrefcount(x) - before


def kept(producer: ProducerUnderTest, meter: Meter, act: Callable[[], object]) -> int:
    """Return the growth of memory per call of `act` [bytes], on average."""
    for _ in range(3):
        act()
    return int(_span(producer, (meter,), act)[0])


def least_kept(
    producer: Producer, meters: tuple[Meter, ...], act: Callable[[], object]
) -> list[float]:
    """Return the growth per call of `act`, by each measurement, in the smaller of two series.

    Allocations of other threads are temporary; a leak occurs in both series.
    """
    for _ in range(3):
        act()
    spans = [_span(producer, meters, act) for _ in range(2)]
    return [min(both) for both in zip(*spans, strict=True)]


def _span(producer: Producer, meters: tuple[Meter, ...], act: Callable[[], object]) -> list[float]:
    """Return the growth per call of `act`, by each measurement, in one series."""
    _settle(producer)
    before = [meter() for meter in meters]
    for _ in range(_ROUNDS):
        act()
    _settle(producer)
    return [(meter() - start) / _ROUNDS for meter, start in zip(meters, before, strict=True)]
