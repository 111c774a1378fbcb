"""Memory that a driver allocates: how it is freed, and what is kept alive until then.

Source: CUDA driver API, Memory Management; Python's gc module.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
from typing import TYPE_CHECKING, Any

from interchange._streams.completion import poll
from interchange.abi import capsules

if TYPE_CHECKING:
    from collections.abc import Callable

    from interchange._streams.driver import Driver


class Allocation:
    """One allocation of a driver, freed by `release` or when this object is destroyed.

    The collector must not see it: it would call the finaliser of one in garbage before those of
    other objects there, which may still read the memory.  So it refers to nothing that could refer
    back.

    Attributes
    ----------
    ptr : int
        The first address; 0 when it is given back.
    ordinal : int
        The device whose memory it is, or by which page-locked memory was made.
    """

    __slots__ = ("_driver", "_pinned", "_process", "ordinal", "ptr")

    ptr: int
    ordinal: int
    _driver: Driver
    _pinned: bool
    _process: int  # a forked child must leave its parent's memory alone

    def __del__(
        self, _process: Any = os.getpid, _suppress: Any = contextlib.suppress
    ) -> None:  # defaults, since globals may be gone
        ptr = self.ptr
        if ptr and self._process == _process():
            self.ptr = 0
            with _suppress(Exception):  # at exit the driver's own globals may be gone
                self._driver.free(ptr, self.ordinal, self._pinned)

    release = __del__


def _own(
    driver: Driver,
    allocate: Callable[[int, int, str], int],
    nbytes: int,
    ordinal: int,
    call: str,
    *,
    pinned: bool = False,
    _cell: Any = ctypes.py_object,
    _hide: Any = capsules.fast_hide_from_collector,
) -> Allocation:
    """Return a fresh allocation; the object is there first, so that nothing can come between."""
    poll()
    allocation = object.__new__(Allocation)
    allocation.ptr = 0
    allocation.ordinal = ordinal
    allocation._driver = driver
    allocation._pinned = pinned
    allocation._process = os.getpid()
    _hide(_cell(allocation))
    allocation.ptr = allocate(nbytes, ordinal, call)
    return allocation


def allocate(driver: Driver, nbytes: int, ordinal: int, call: str) -> Allocation:
    """Return fresh memory of a device.

    Parameters
    ----------
    driver : Driver
        The driver of the device.
    nbytes : int
        Size, not 0 [bytes].
    ordinal : int
        Which device.
    call : str
        Named in errors.
    """
    return _own(driver, driver.allocate, nbytes, ordinal, call)


def allocate_pinned(driver: Driver, nbytes: int, ordinal: int, call: str) -> Allocation:
    """Return fresh page-locked host memory, as `allocate`."""
    return _own(driver, driver.allocate_pinned, nbytes, ordinal, call, pinned=True)


def allocate_managed(driver: Driver, nbytes: int, ordinal: int, call: str) -> Allocation:
    """Return fresh managed memory, as `allocate`."""
    return _own(driver, driver.allocate_managed, nbytes, ordinal, call)


class CopyInProgress:
    """The owner of a copy's memory, which keeps the source alive until the copy is complete.

    Nobody else may refer to the allocation: the source goes last, when giving back the allocation
    has waited for the copy.

    The collector must not see a copy.  It would call the finaliser of a source in garbage, which
    frees the memory, while the stream still reads there.  So the source is no garbage before the
    copy was made, of which `completion.poll` tells: the source may be in a cycle with the copy.

    Parameters
    ----------
    allocation : Allocation
        The copy's own memory.
    source : object
        What keeps the memory alive that the copy is made from.
    """

    __slots__ = ("__weakref__", "_allocation", "_source")  # cleared in this order, by their names

    def __init__(
        self,
        allocation: Allocation,
        source: object,
        *,
        _cell: Any = ctypes.py_object,
        _hide: Any = capsules.fast_hide_from_collector,
    ) -> None:
        self._allocation = allocation
        self._source = source
        _hide(_cell(self))

    def on_done(self) -> None:
        """Note that the copy was made: its source may go."""
        self._source = None


def allocation_of(keep: object) -> Allocation | None:
    """Return the allocation among what keeps memory alive, if it is one of ours."""
    if isinstance(keep, CopyInProgress):
        return keep._allocation
    return keep if isinstance(keep, Allocation) else None
