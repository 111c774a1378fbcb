"""Mutants of copies: memory shared or copied contrary to the request, and wrong copy flags.

Source: the checks of the same name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from interchange.abi.dlpack import (
    DLPACK_FLAG_BITMASK_IS_COPIED,
    DLPACK_FLAG_BITMASK_READ_ONLY,
)

from ._honest_producer import Honest, asks_version, honest_producer, patched, producer_of
from .model import mutant

if TYPE_CHECKING:
    from collections.abc import Callable

    from interchange_conformance.probes.opened_capsule import OpenedCapsule
    from interchange_conformance.subject import Subject


def _answering(answer: Callable[[dict[str, Any]], Any]) -> Subject:
    """Return a producer that interprets `copy` differently.

    Parameters
    ----------
    answer : callable
        ``answer(keywords)`` -> the value to use for `copy`.
    """

    class Answering(Honest):
        """An array that misreads `copy`."""

        def __dlpack__(self, **keywords: Any) -> Any:
            super().__dlpack__(**keywords)  # requests that an honest array refuses are refused
            return super().__dlpack__(**{**keywords, "copy": answer(keywords)})

    return producer_of(Answering)


def _asks_for_a_copy(asked: dict[str, Any]) -> bool:
    """Return whether a call requests a copy, in a struct that has the copy flag."""
    return asks_version(asked) and bool(asked.get("copy"))


@mutant("copy_false_shares_memory", twin=honest_producer)
def copies_that_nobody_wanted() -> Subject:
    """It makes a copy with copy=False."""
    return _answering(lambda asked: asked.get("copy") is not None)


@mutant("memory_is_shared_if_it_can_be", twin=honest_producer)
def copies_that_nobody_needed() -> Subject:
    """It always copies without copy=False."""
    return _answering(lambda asked: asked.get("copy") is not False)


@mutant("copy_true_never_shares_memory", twin=honest_producer)
def copy_true_ignored_without_a_version() -> Subject:
    """copy=True is ignored if the consumer sends no max_version."""
    return _answering(lambda asked: bool(asked.get("copy")) and asks_version(asked))


@mutant("copy_true_never_shares_memory", twin=honest_producer)
def copies_that_are_kept() -> Subject:
    """The copy is made once, and returned to all consumers that request one."""

    class Keeping(Honest):
        """An array that keeps its copy."""

        def capsule(self, *, versioned: bool, copy: bool) -> Any:
            """Return a capsule."""
            if not copy:
                return super().capsule(versioned=versioned, copy=copy)
            if "copied" not in vars(self):
                self.copied = Honest(self.array.copy(), self.element)
            return self.copied.capsule(versioned=versioned, copy=False)

    def patch(opened: OpenedCapsule, _: Honest) -> None:
        opened.managed.flags |= DLPACK_FLAG_BITMASK_IS_COPIED

    return patched(patch, when=_asks_for_a_copy, kind=Keeping)


@mutant("shared_memory_is_not_called_a_copy", twin=honest_producer)
def shared_memory_called_a_copy() -> Subject:
    """Shared memory has the copy flag."""

    def patch(opened: OpenedCapsule, _: Honest) -> None:
        opened.managed.flags |= DLPACK_FLAG_BITMASK_IS_COPIED

    return patched(patch, when=lambda asked: asks_version(asked) and asked.get("copy") is None)


@mutant("copies_are_made_on_request", twin=honest_producer)
def copies_refused() -> Subject:
    """copy=True is refused with BufferError."""

    class Unique(Honest):
        """An array that is never copied."""

        def capsule(self, *, versioned: bool, copy: bool) -> Any:
            """Return a capsule."""
            if copy:
                raise BufferError("copy=True is not supported")
            return super().capsule(versioned=versioned, copy=copy)

    return producer_of(Unique)


@mutant("copies_are_flagged", twin=honest_producer)
def copies_without_flag() -> Subject:
    """Copies do not have the copy flag."""

    def patch(opened: OpenedCapsule, _: Honest) -> None:
        opened.managed.flags &= ~DLPACK_FLAG_BITMASK_IS_COPIED

    return patched(patch, when=asks_version)


@mutant("copies_may_be_written", twin=honest_producer)
def copies_flagged_readonly() -> Subject:
    """Copies of read-only memory have the read-only flag."""

    def patch(opened: OpenedCapsule, x: Honest) -> None:
        if not x.array.flags.writeable:
            opened.managed.flags |= DLPACK_FLAG_BITMASK_READ_ONLY

    return patched(patch, when=_asks_for_a_copy)


@mutant("copies_may_be_written", twin=honest_producer)
def all_copies_flagged_readonly() -> Subject:
    """Copies of writable memory have the read-only flag."""

    def patch(opened: OpenedCapsule, x: Honest) -> None:
        if x.array.flags.writeable:
            opened.managed.flags |= DLPACK_FLAG_BITMASK_READ_ONLY

    return patched(patch, when=_asks_for_a_copy)


@mutant("copies_hold_the_elements", twin=honest_producer)
def copies_in_memory_order() -> Subject:
    """The elements are copied in memory order."""

    class Block(Honest):
        """An array that is copied as one block."""

        def capsule(self, *, versioned: bool, copy: bool) -> Any:
            """Return a capsule."""
            if not copy:
                return super().capsule(versioned=versioned, copy=copy)
            block = self.array.ravel(order="K").reshape(self.shape)
            return Honest(block, self.element).capsule(versioned=versioned, copy=True)

    return producer_of(Block)


@mutant("malformed_copy_arguments_are_refused", twin=honest_producer)
def copy_by_truth() -> Subject:
    """A copy is made if the truth value of `copy` is true, whatever its type."""

    class Truthful(Honest):
        """An array that uses truth values."""

        def __dlpack__(self, *, copy: Any = None, **keywords: Any) -> Any:
            return super().__dlpack__(copy=None if copy is None else bool(copy), **keywords)

    return producer_of(Truthful)
