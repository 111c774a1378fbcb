"""Mutants of copies: memory shared or copied contrary to the request, and wrong copy flags."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from interchange.abi.dlpack import (
    DLPACK_FLAG_BITMASK_IS_COPIED,
    DLPACK_FLAG_BITMASK_READ_ONLY,
)

from ._honest_producer import (
    Honest,
    asks_version,
    capsule_mutant,
    changed,
    honest_producer,
    producer_mutant,
)
from .model import mutant

if TYPE_CHECKING:
    from collections.abc import Callable

    from interchange_conformance.probes.opened_capsule import OpenedCapsule
    from interchange_conformance.subject import Subject


def _answering(answer: Callable[[dict[str, Any]], Any]) -> Subject:
    """Return a producer that uses ``answer(keywords)`` for `copy`."""

    def export(x: Honest, **keywords: Any) -> Any:
        Honest.__dlpack__(x, **keywords)  # requests that an honest array refuses are refused
        return Honest.__dlpack__(x, **{**keywords, "copy": answer(keywords)})

    return changed(__dlpack__=export)


def _asks_for_a_copy(asked: dict[str, Any]) -> bool:
    """Return whether a call requests a copy, in a struct that has the copy flag."""
    return asks_version(asked) and bool(asked.get("copy"))


@mutant("copy_false_shares_memory", counterpart=honest_producer)
def copies_despite_copy_false() -> Subject:
    """It makes a copy with copy=False."""
    return _answering(lambda asked: asked.get("copy") is not None)


@mutant("memory_is_shared_if_it_can_be", counterpart=honest_producer)
def copies_without_need() -> Subject:
    """It always copies without copy=False."""
    return _answering(lambda asked: asked.get("copy") is not False)


@mutant("copy_true_never_shares_memory", counterpart=honest_producer)
def copy_true_ignored_without_a_version() -> Subject:
    """copy=True is ignored if the consumer sends no max_version."""
    return _answering(lambda asked: bool(asked.get("copy")) and asks_version(asked))


class _Keeping(Honest):
    """An array that keeps its copy."""

    copied: Any = None

    def capsule(self, *, versioned: bool, copy: bool) -> Any:
        """Return a capsule."""
        if not copy:
            return super().capsule(versioned=versioned, copy=copy)
        self.copied = self.copied or Honest(self.array.copy(), self.element)
        return self.copied.capsule(versioned=versioned, copy=False)


@capsule_mutant("copy_true_never_shares_memory", when=_asks_for_a_copy, kind=_Keeping)
def copies_that_are_kept(opened: OpenedCapsule, _: Honest) -> None:
    """The copy is made once, and returned to all consumers that request one."""
    opened.managed.flags |= DLPACK_FLAG_BITMASK_IS_COPIED


@capsule_mutant(
    "shared_memory_is_not_called_a_copy",
    when=lambda asked: asks_version(asked) and asked.get("copy") is None,
)
def shared_memory_called_a_copy(opened: OpenedCapsule, _: Honest) -> None:
    """Shared memory has the copy flag."""
    opened.managed.flags |= DLPACK_FLAG_BITMASK_IS_COPIED


@producer_mutant("copies_are_made_on_request", step="capsule")
def copies_refused(self: Honest, *, versioned: bool, copy: bool) -> Any:
    """copy=True is refused with BufferError."""
    if copy:
        raise BufferError("copy=True is not supported")
    return Honest.capsule(self, versioned=versioned, copy=copy)


@capsule_mutant("copies_are_flagged", when=asks_version)
def copies_without_flag(opened: OpenedCapsule, _: Honest) -> None:
    """Copies do not have the copy flag."""
    opened.managed.flags &= ~DLPACK_FLAG_BITMASK_IS_COPIED


@capsule_mutant("copies_may_be_written", when=_asks_for_a_copy)
def copies_flagged_readonly(opened: OpenedCapsule, x: Honest) -> None:
    """Copies of read-only memory have the read-only flag."""
    if not x.array.flags.writeable:
        opened.managed.flags |= DLPACK_FLAG_BITMASK_READ_ONLY


@capsule_mutant("copies_may_be_written", when=_asks_for_a_copy)
def all_copies_flagged_readonly(opened: OpenedCapsule, x: Honest) -> None:
    """Copies of writable memory have the read-only flag."""
    if x.array.flags.writeable:
        opened.managed.flags |= DLPACK_FLAG_BITMASK_READ_ONLY


@producer_mutant("copies_hold_the_elements", step="capsule")
def copies_in_memory_order(self: Honest, *, versioned: bool, copy: bool) -> Any:
    """The elements are copied in memory order."""
    if not copy:
        return Honest.capsule(self, versioned=versioned, copy=copy)
    block = self.array.ravel(order="K").reshape(self.shape)
    return Honest(block, self.element).capsule(versioned=versioned, copy=True)


@producer_mutant("malformed_copy_arguments_are_refused", step="__dlpack__")
def copy_by_truth(self: Honest, *, copy: Any = None, **keywords: Any) -> Any:
    """A copy is made if the truth value of `copy` is true, whatever its type."""
    return Honest.__dlpack__(self, copy=None if copy is None else bool(copy), **keywords)
