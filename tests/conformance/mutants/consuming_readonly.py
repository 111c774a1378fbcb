"""Consumers that lose the read-only flag, or refuse it unnecessarily.

Source: the rules DLP-RO-1, DLP-RO-2 and DLP-RO-3.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from interchange.abi.dlpack import DLPACK_FLAG_BITMASK_READ_ONLY

from ._honest_consumer import Array, Consumer, consumer_mutant


def _writable(y: Array) -> Array:
    """Return an array without its flags."""
    return Array(y.consumer, replace(y.said, flags=0), y.owner)


@consumer_mutant("read_only_arrays_are_taken", step="flags_of")
def refuses_read_only_arrays(consumer: Consumer, managed: Any) -> int:
    """It refuses arrays with the flag READ_ONLY."""
    found = Consumer.flags_of(consumer, managed)
    if found:
        raise BufferError("read-only")
    return found


@consumer_mutant("read_only_memory_is_not_written", step="write")
def writes_read_only_memory(consumer: Any, y: Any) -> Any:
    """It writes memory with the flag READ_ONLY."""
    return Consumer.write(consumer, _writable(y))


@consumer_mutant("writable_memory_stays_writable", step="flags_of")
def makes_everything_read_only(*_: object) -> Any:
    """It makes all arrays read-only."""
    return DLPACK_FLAG_BITMASK_READ_ONLY


@consumer_mutant("the_read_only_flag_is_handed_on")
class drops_the_flag(Consumer):
    """It exports read-only memory without the flag."""

    forgets_versioned = True

    def hand_on(self, y: Array, *, versioned: bool) -> Any:
        """Return a capsule of an array's memory."""
        forgets = versioned == self.forgets_versioned
        return super().hand_on(_writable(y) if forgets else y, versioned=versioned)


@consumer_mutant("read_only_arrays_do_not_leave_as_legacy")
class hands_read_only_memory_on_as_legacy(drops_the_flag):
    """It exports read-only memory as the legacy struct, which has no flags."""

    forgets_versioned = False
