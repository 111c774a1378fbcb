"""Copies between GPUs that cannot access each other: in pieces, by way of page-locked memory.

Source: CUDA programming guide, Peer-to-Peer Memory Access; CUDA driver API, ``cuMemcpyAsync``.  Two
buffers let one piece be fetched while the one before is delivered.
"""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING, Final

from interchange.abi._records import NamedTuple

from .allocations import allocate_pinned

if TYPE_CHECKING:
    from collections.abc import Iterator

    from interchange._streams.device_driver import Driver

    from .allocations import Allocation

PIECE: Final = 2**22
"""Size of a buffer [bytes]: its copy takes ten times as long as its launch, or more."""


class Side(NamedTuple):
    """Memory on one of the two devices."""

    ptr: int
    ordinal: int


class _Relay:
    """The buffers between two devices, which are kept: locking pages is slow."""

    def __init__(self, buffers: Allocation, size: int) -> None:
        self.buffers = buffers
        self.size = size  # of each [bytes]
        self.lock = threading.Lock()  # held while a copy is enqueued


_relays: Final[dict[tuple[int, int, int], _Relay]] = {}
"""Device type, ordinals of source and target -> buffers."""


def is_relayed(
    driver: Driver, ptrs: tuple[int, int], nbytes: int, stream: tuple[int, int], call: str
) -> bool:
    """Whether a copy between devices is made here: it is long, and has no direct path.

    `ptrs`: addresses of target and source.
    `stream`: handle and device of the stream of the copy.
    """
    return nbytes > PIECE and not driver.reaches(*stream, call, *ptrs)


def relay(
    driver: Driver, target: Side, source: Side, nbytes: int, stream: tuple[int, int], call: str
) -> None:
    """Enqueue a copy between two devices, in the order of a stream; the host does not wait.

    A private stream of either device copies.

    `stream`: handle and device of the stream.
    """
    (handle, where), first, last = stream, source.ordinal, target.ordinal
    fetching, delivering = (driver.lasting_stream(one, call) for one in (first, last))
    found = _relay_of(driver, first, last, call)
    ways = ((fetching, first), (delivering, last))
    with found.lock, _draining(driver, ways, call):
        starts = range(0, nbytes, found.size)
        driver.order(handle, fetching, where, call, first)
        for number in range(len(starts) + 1):
            start = starts[number] if number < len(starts) else nbytes
            here = found.buffers.ptr + number % 2 * found.size
            there = found.buffers.ptr + (number - 1) % 2 * found.size
            if number:  # all that was fetched is there
                driver.order(fetching, delivering, first, call, last)
            if start < nbytes and number != 1:  # what was in this buffer was delivered
                driver.order(delivering, fetching, last, call, first)
            if start < nbytes:
                size = min(found.size, nbytes - start)
                driver.copy(here, source.ptr + start, size, fetching, first, call)
            if number:
                before = starts[number - 1]
                driver.copy(target.ptr + before, there, start - before, delivering, last, call)
        driver.order(delivering, handle, last, call, where)


def _relay_of(driver: Driver, first: int, last: int, call: str) -> _Relay:
    """Return the buffers between two devices."""
    key = driver.device_type, first, last
    found = _relays.get(key)
    if found is None:
        with driver.in_lasting_home(first, call):
            buffers = allocate_pinned(driver, 2 * PIECE, first, call)
        found = _relays.setdefault(key, _Relay(buffers, PIECE))  # another thread may be faster
    return found


@contextlib.contextmanager
def _draining(driver: Driver, ways: tuple[tuple[int, int], ...], call: str) -> Iterator[None]:
    """Let the host wait for streams on an error, so that no copy is left running."""
    try:
        yield
    except BaseException:
        for stream, ordinal in ways:
            with contextlib.suppress(Exception):
                driver.synchronize(stream, ordinal, call)
        raise
