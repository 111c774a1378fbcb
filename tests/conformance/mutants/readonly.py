"""Mutants of read-only memory: flags that are missing, lost, or set without reason."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from interchange.abi.dlpack import DLPACK_FLAG_BITMASK_READ_ONLY

from ._honest_producer import (
    Honest,
    HonestConstant,
    asks_version,
    capsule_mutant,
    honest_constants,
    honest_producer,
    patched,
    producer_mutant,
)
from .model import mutant

if TYPE_CHECKING:
    from interchange_conformance.probes.opened_capsule import OpenedCapsule
    from interchange_conformance.subject import Subject


def _forget(opened: OpenedCapsule, _: Honest) -> None:
    """Clear the read-only flag."""
    opened.managed.flags &= ~DLPACK_FLAG_BITMASK_READ_ONLY


@mutant("readonly_arrays_are_flagged", counterpart=honest_producer)
def readonly_never_flagged() -> Subject:
    """The read-only flag is never set."""
    return patched(_forget, when=asks_version)


@mutant("readonly_arrays_are_flagged", counterpart=honest_constants)
def constants_never_flagged() -> Subject:
    """Arrays that are always read-only are exported without the read-only flag."""
    return patched(_forget, when=asks_version, kind=HonestConstant, immutable=True)


@capsule_mutant(
    "writable_arrays_are_not_flagged",
    when=lambda asked: asks_version(asked) and not asked.get("copy"),
)
def everything_flagged(opened: OpenedCapsule, _: Honest) -> None:
    """The read-only flag is set for all memory of the producer."""
    opened.managed.flags |= DLPACK_FLAG_BITMASK_READ_ONLY


class _Noticing(Honest):
    """An array that knows whether it is a view, and whether it was copied."""

    is_view = is_copied = False

    def _like(self, array: Any) -> Any:
        """Return a view."""
        y = super()._like(array)
        y.is_view = True
        return y

    def capsule(self, *, versioned: bool, copy: bool) -> Any:
        """Return a capsule."""
        self.is_copied = self.is_copied or copy
        return super().capsule(versioned=versioned, copy=copy)


@capsule_mutant("views_of_readonly_arrays_are_flagged", when=asks_version, kind=_Noticing)
def flags_lost_by_views(opened: OpenedCapsule, x: Any) -> None:
    """Views of read-only arrays are exported without the flag."""
    if x.is_view:
        _forget(opened, x)


@capsule_mutant("readonly_arrays_are_flagged_every_time", when=asks_version, kind=_Noticing)
def flags_lost_after_a_copy(opened: OpenedCapsule, x: Any) -> None:
    """After a copy, the array is exported without the flag."""
    if x.is_copied:
        _forget(opened, x)


@producer_mutant("readonly_memory_is_not_handed_out_as_legacy")
class readonly_handed_out_as_legacy(Honest):
    """Read-only memory is exported as a legacy struct."""

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


@producer_mutant(
    "readonly_memory_is_not_handed_out_as_legacy", counterpart=honest_constants, immutable=True
)
class constants_handed_out_as_legacy(readonly_handed_out_as_legacy, HonestConstant):
    """Arrays that are always read-only are exported as a legacy struct."""


@producer_mutant("readonly_arrays_leave_with_a_version", step="capsule")
def readonly_refused(self: Honest, *, versioned: bool, copy: bool) -> Any:
    """Read-only arrays are refused, whatever the consumer supports."""
    if not (copy or self.array.flags.writeable):
        raise BufferError("read-only memory is not exported")
    return Honest.capsule(self, versioned=versioned, copy=copy)
