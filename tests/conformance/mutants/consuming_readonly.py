"""Consumers that lose the read-only flag, or refuse it unnecessarily.

Source: the rules DLP-RO-1, DLP-RO-2 and DLP-RO-3.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from interchange.abi.dlpack import DLPACK_FLAG_BITMASK_READ_ONLY

from ._honest_consumer import Array, Consumer, changed, honest, subject_of
from .model import mutant

if TYPE_CHECKING:
    from interchange_conformance.subject import Subject


def _writable(y: Array) -> Array:
    """Return an array without its flags."""
    return Array(y.consumer, replace(y.said, flags=0), y.owner)


def _no_flag(consumer: Consumer, managed: Any) -> int:
    """Return the flags, which must be 0."""
    found = Consumer.flags_of(consumer, managed)
    if found:
        raise BufferError("read-only")
    return found


@mutant("read_only_arrays_are_taken", twin=honest)
def refuses_read_only_arrays() -> Subject:
    """It refuses arrays with the flag READ_ONLY."""
    return changed(flags_of=_no_flag)


@mutant("read_only_memory_is_not_written", twin=honest)
def writes_read_only_memory() -> Subject:
    """It writes memory with the flag READ_ONLY."""
    return changed(write=lambda consumer, y: Consumer.write(consumer, _writable(y)))


@mutant("writable_memory_stays_writable", twin=honest)
def makes_everything_read_only() -> Subject:
    """It makes all arrays read-only."""
    return changed(flags_of=lambda *_: DLPACK_FLAG_BITMASK_READ_ONLY)


class _Forgetful(Consumer):
    """A consumer that loses the flag when it exports memory.

    Parameters
    ----------
    versioned : bool
        Whether it does so in the versioned struct, or in the legacy one.
    """

    def __init__(self, *, versioned: bool) -> None:
        super().__init__()
        self.forgets = versioned

    def hand_on(self, y: Array, *, versioned: bool) -> Any:
        """Return a capsule of an array's memory."""
        forgets = versioned == self.forgets
        return super().hand_on(_writable(y) if forgets else y, versioned=versioned)


@mutant("the_read_only_flag_is_handed_on", twin=honest)
def drops_the_flag() -> Subject:
    """It exports read-only memory without the flag."""
    return subject_of(_Forgetful(versioned=True))


@mutant("read_only_arrays_do_not_leave_as_legacy", twin=honest)
def hands_read_only_memory_on_as_legacy() -> Subject:
    """It exports read-only memory as the legacy struct, which has no flags."""
    return subject_of(_Forgetful(versioned=False))
