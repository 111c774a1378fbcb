"""Mutants of read-only memory: flags that are missing, lost, or set without reason.

Source: the checks of the same name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from interchange.abi.dlpack import DLPACK_FLAG_BITMASK_READ_ONLY

from ._honest_producer import (
    Honest,
    HonestConstant,
    asks_version,
    honest_constants,
    honest_producer,
    patched,
    producer_of,
)
from .model import mutant

if TYPE_CHECKING:
    from interchange_conformance.probes.opened_capsule import OpenedCapsule
    from interchange_conformance.subject import Subject


def _forget(opened: OpenedCapsule, _: Honest) -> None:
    """Clear the read-only flag."""
    opened.managed.flags &= ~DLPACK_FLAG_BITMASK_READ_ONLY


@mutant("readonly_arrays_are_flagged", twin=honest_producer)
def readonly_never_flagged() -> Subject:
    """The read-only flag is never set."""
    return patched(_forget, when=asks_version)


@mutant("readonly_arrays_are_flagged", twin=honest_constants)
def constants_never_flagged() -> Subject:
    """Arrays that are always read-only are exported without the read-only flag."""
    return patched(_forget, when=asks_version, kind=HonestConstant, immutable=True)


@mutant("writable_arrays_are_not_flagged", twin=honest_producer)
def everything_flagged() -> Subject:
    """The read-only flag is set for all memory of the producer."""

    def patch(opened: OpenedCapsule, _: Honest) -> None:
        opened.managed.flags |= DLPACK_FLAG_BITMASK_READ_ONLY

    return patched(patch, when=lambda asked: asks_version(asked) and not asked.get("copy"))


@mutant("views_of_readonly_arrays_are_flagged", twin=honest_producer)
def flags_lost_by_views() -> Subject:
    """Views of read-only arrays are exported without the flag."""

    class Forgetful(Honest):
        """An array whose views lose the flag."""

        view_of_another = False

        def _like(self, array: Any) -> Any:
            """Return a view."""
            y = super()._like(array)
            y.view_of_another = True
            return y

    def patch(opened: OpenedCapsule, x: Any) -> None:
        if x.view_of_another:
            _forget(opened, x)

    return patched(patch, when=asks_version, kind=Forgetful)


@mutant("readonly_arrays_are_flagged_every_time", twin=honest_producer)
def flags_lost_after_a_copy() -> Subject:
    """After a copy, the array is exported without the flag."""

    class Changed(Honest):
        """An array that clears its flag when it is copied."""

        copied = False

        def capsule(self, *, versioned: bool, copy: bool) -> Any:
            """Return a capsule."""
            self.copied = self.copied or copy
            return super().capsule(versioned=versioned, copy=copy)

    def patch(opened: OpenedCapsule, x: Any) -> None:
        if x.copied:
            _forget(opened, x)

    return patched(patch, when=asks_version, kind=Changed)


class _Careless(Honest):
    """An array that exports read-only memory as a legacy struct."""

    def capsule(self, *, versioned: bool, copy: bool) -> Any:
        """Return a capsule."""
        flags = self.array.flags
        if versioned or copy or flags.writeable or not flags.owndata:
            return super().capsule(versioned=versioned, copy=copy)
        flags.writeable = True
        try:
            return super().capsule(versioned=versioned, copy=copy)
        finally:
            flags.writeable = False


@mutant("readonly_memory_is_not_handed_out_as_legacy", twin=honest_producer)
def readonly_handed_out_as_legacy() -> Subject:
    """Read-only memory is exported as a legacy struct."""
    return producer_of(_Careless)


@mutant("readonly_memory_is_not_handed_out_as_legacy", twin=honest_constants)
def constants_handed_out_as_legacy() -> Subject:
    """Arrays that are always read-only are exported as a legacy struct."""

    class Constant(_Careless, HonestConstant):
        """A read-only array that ignores the limits of old consumers."""

    return producer_of(Constant, immutable=True)


@mutant("readonly_arrays_leave_with_a_version", twin=honest_producer)
def readonly_refused() -> Subject:
    """Read-only arrays are refused, whatever the consumer supports."""

    class Guarded(Honest):
        """An array that is exported only while it is writable."""

        def capsule(self, *, versioned: bool, copy: bool) -> Any:
            """Return a capsule."""
            if not (copy or self.array.flags.writeable):
                raise BufferError("read-only memory is not exported")
            return super().capsule(versioned=versioned, copy=copy)

    return producer_of(Guarded)
