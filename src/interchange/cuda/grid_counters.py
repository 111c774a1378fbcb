"""Words in the memory of GPUs at which the blocks of a grid count, when they wait for each other.

Source: CUDA C++ Programming Guide, "Grid Synchronization"; CUDA driver API, cuStreamGetId.  Two
grids that run at the same time must not share a word, and those on one stream do not run at the
same time.  The handle does not identify a stream: that of the per-thread default stream is one
number in all threads, and that of a destroyed stream, whose work may still run, is used again.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Final

from interchange._array.allocations import allocate

from .streams import DeviceStream

if TYPE_CHECKING:
    from interchange._array.allocations import Allocation

_SIZE: Final = 4096  # of an allocation, which is never freed [bytes]
_DISTANCE: Final = 32  # of words: a sector of the cache, so that grids do not disturb each other
_NON_BLOCKING: Final = 1  # CU_STREAM_NON_BLOCKING


class GridCounters:
    """Words of all streams on which grids with a barrier were launched; 0 at first."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Start again, in a forked process."""
        self._lock = threading.RLock()  # an allocation may call finalisers
        self._of_streams: dict[tuple[int, int], int] = {}  # (context, id of the stream) -> address
        self._unused: dict[int, list[int]] = {}  # by GPU
        self._memory: list[Allocation] = []

    def word_for(self, driver: Any, stream: int, ordinal: int, call: str) -> int:
        """Return the address of the word for a launch.

        A launch that a stream captures gets its own: the graph may run beside the stream.
        """
        with driver.on_stream(stream, ordinal, call) as context:
            error, number = driver.api.cuStreamGetId(stream)
            driver.check(error, "cuStreamGetId", call)
            is_captured = driver.is_capturing(stream, call)
            key, home = (context, int(number)), driver.current_device(call)
            with self._lock:
                known = self._of_streams.get(key)
                if known is not None and not is_captured:
                    return known
                word = self._take(driver, home, call)
                if not is_captured:
                    self._of_streams[key] = word
                return word

    def _take(self, driver: Any, ordinal: int, call: str) -> int:
        """Return a word that no stream has."""
        unused = self._unused.setdefault(ordinal, [])
        if not unused:
            memory = allocate(driver, _SIZE, ordinal, call)
            _clear(driver, memory, ordinal, call)
            self._memory.append(memory)
            unused += range(memory.ptr, memory.ptr + _SIZE, _DISTANCE)
        return unused.pop()


def _clear(driver: Any, memory: Allocation, ordinal: int, call: str) -> None:
    """Set new memory to 0, on a stream that takes part in no capture and waits for no other."""
    stream = DeviceStream(driver, ordinal, call, flags=_NON_BLOCKING)
    with driver.on_stream(stream.handle, ordinal, call), driver.unnoticed():
        (error,) = driver.api.cuMemsetD8Async(memory.ptr, 0, _SIZE, stream.handle)
        driver.check(error, "cuMemsetD8Async", call)
        driver.synchronize(stream.handle, ordinal, call)
