"""Memory allocated by a driver: how it is freed, and what it keeps alive until then.

Source: CUDA driver API, Memory Management; Python's gc module.
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Any

from interchange._streams.completion import poll
from interchange._streams.rules import STREAM_RULES
from interchange._types.devices import Device
from interchange.abi.capsules import hide_from_collector

from .allocators import Source, chosen, take_buffer

if TYPE_CHECKING:
    from collections.abc import Callable

    from interchange._streams.device_driver import Driver

    from .allocators import Held


class Allocation:
    """One allocation of a driver, freed by `release` or when this object is destroyed.

    The garbage collector does not track it: the collector would call the finaliser of an allocation
    in garbage before those of other objects there, which may still read the memory.  An allocation
    therefore refers to nothing that could refer back to it.
    """

    __slots__ = ("__weakref__", "_buffer", "_driver", "_pinned", "_process", "ordinal", "ptr")

    ptr: int  # the first address; 0 after it was freed
    ordinal: int  # the device that the memory is on, or that allocated the page-locked memory
    # what gives the memory back, if an allocator or a pool made it
    _buffer: Held | _PoolMemory | None
    _driver: Driver
    _pinned: bool
    _process: int  # a forked child must not free its parent's memory

    def __del__(
        self, _process: Any = os.getpid, _suppress: Any = contextlib.suppress
    ) -> None:  # bound as defaults: globals may be gone at exit
        ptr = self.ptr
        if ptr and self._process == _process():
            self.ptr = 0
            buffer, self._buffer = self._buffer, None
            with _suppress(Exception):  # the driver's own globals may be gone at exit
                if buffer is None:
                    self._driver.free(ptr, self.ordinal, self._pinned)
                else:
                    self._driver.give_back(buffer, self.ordinal)

    release = __del__

    @property
    def is_ordered(self) -> bool:
        """Whether `release_in_order` does not wait."""
        return type(self._buffer) is _PoolMemory

    def release_in_order(self, stream: int, ordinal: int, call: str) -> None:
        """Free the memory after the work on a stream, which is the last that uses it.

        The host waits for the stream if the memory is of no pool.
        """
        buffer = self._buffer
        if type(buffer) is not _PoolMemory:
            self._driver.synchronize(stream, ordinal, call)
            self.release()
            return
        buffer.free(stream, ordinal)
        self.ptr, self._buffer = 0, None


class _PoolMemory:
    """Memory of the driver's pool of a device."""

    __slots__ = ("_driver", "_ordinal", "ptr")

    def __init__(self, driver: Driver, ordinal: int) -> None:
        self.ptr = 0
        self._driver = driver
        self._ordinal = ordinal

    def free(self, stream: int, ordinal: int) -> None:
        """Free the memory after the work on a stream."""
        self._driver.free_in_order(self.ptr, ordinal, stream)

    def give_back(self, find_stream: Callable[[], int]) -> None:
        """Free the memory when the host has waited for the work on it."""
        del find_stream
        self._driver.free_unused(self.ptr)


def _own(
    driver: Driver,
    allocate: Callable[[int, int, str], int],
    nbytes: int,
    ordinal: int,
    call: str,
    *,
    pinned: bool = False,
) -> Allocation:
    """Return a new allocation; the object exists before the memory, so that none is leaked."""
    poll()
    allocation = object.__new__(Allocation)
    allocation.ptr = 0
    allocation.ordinal = ordinal
    allocation._buffer = None
    allocation._driver = driver
    allocation._pinned = pinned
    allocation._process = os.getpid()
    hide_from_collector(allocation)
    allocation.ptr = allocate(nbytes, ordinal, call)
    return allocation


def allocate(
    driver: Driver,
    nbytes: int,
    ordinal: int,
    call: str,
    stream: int | None = None,
    allocator: Any = None,
) -> Allocation:
    """Return new memory of a device, of its allocator if one is set.

    `nbytes`: size, at least 1 [bytes].
    `stream`: the stream on which the memory is used first; by default that of the standard.
    `allocator`: the allocator for this memory; by default that of the device.
    """
    source = chosen.get((driver.device_type, ordinal)) if chosen else None
    if allocator is not None:
        source = Source.of(allocator)
    if source is None:
        return _own(driver, driver.allocate, nbytes, ordinal, call)
    device = Device(driver.device_type, ordinal)
    handle = STREAM_RULES[driver.device_type].default if stream is None else stream
    allocation = _own(driver, lambda *_: 0, nbytes, ordinal, call)
    ptr, allocation._buffer = take_buffer(source, driver, nbytes, device, handle, call)
    allocation.ptr = ptr
    return allocation


def allocate_temporary(
    driver: Driver, nbytes: int, ordinal: int, call: str, stream: int
) -> Allocation:
    """Return new memory for a copy on a stream, of the driver's pool if the device has one.

    `nbytes`, `ordinal`, `stream`: as for `allocate`.  It is given back by `release_in_order`.
    """
    if (driver.device_type, ordinal) not in chosen:
        allocation = _own(driver, lambda *_: 0, nbytes, ordinal, call)
        memory = allocation._buffer = _PoolMemory(driver, ordinal)
        memory.ptr = allocation.ptr = driver.allocate_in_order(nbytes, ordinal, stream, call)
        if allocation.ptr:
            return allocation
    return allocate(driver, nbytes, ordinal, call, stream)


def allocate_pinned(driver: Driver, nbytes: int, ordinal: int, call: str) -> Allocation:
    """Return new page-locked host memory, as `allocate` does."""
    return _own(driver, driver.allocate_pinned, nbytes, ordinal, call, pinned=True)


def allocate_managed(driver: Driver, nbytes: int, ordinal: int, call: str) -> Allocation:
    """Return new managed memory, as `allocate` does."""
    return _own(driver, driver.allocate_managed, nbytes, ordinal, call)


class CopyInProgress:
    """The owner of a copy's memory, which keeps the source alive until the copy is complete.

    No other object may refer to the allocation: the source is released last, after freeing the
    allocation has waited for the copy.

    The garbage collector must not track a copy.  It would call the finaliser of a source in
    garbage, which frees the memory while the stream still reads it.  The source therefore stays
    referenced until `completion.poll` reports that the copy is complete; the source may be in a
    cycle with the copy.

    `allocation`: the copy's own memory.
    `source`: what keeps the memory of the source alive.
    """

    __slots__ = ("__weakref__", "_allocation", "_source")  # cleared in this order, by their names

    def __init__(self, allocation: Allocation, source: object) -> None:
        self._allocation = allocation
        self._source = source
        hide_from_collector(self)

    def on_done(self) -> None:
        """Note that the copy is complete: its source may be released."""
        self._source = None


def allocation_of(keep: object) -> Allocation | None:
    """Return the allocation of interchange among the owners of some memory, if there is one."""
    if isinstance(keep, CopyInProgress):
        return keep._allocation
    return keep if isinstance(keep, Allocation) else None
