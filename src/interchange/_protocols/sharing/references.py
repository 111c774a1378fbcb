"""Weak references to the objects that keep memory alive, and what happens when they have died."""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections import deque
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable


class Referred:
    """Memory that is shared as long as one of some objects lives, or it is held.

    Attributes
    ----------
    references : dict
        Weak references to the objects, by id.
    holds : int
        How often it is held.
    """

    __slots__ = ("holds", "references")

    def __init__(self) -> None:
        self.references: dict[int, _Reference] = {}
        self.holds = 0

    def end(self) -> None:
        """Stop sharing; called under the lock of the references."""
        raise NotImplementedError


class _Reference(weakref.ref[Any]):
    """A weak reference to an object that keeps memory alive."""

    __slots__ = ("ident", "referred")

    referred: Referred
    ident: int


class References:
    """The references of one process.

    An object may die while a thread is anywhere, also under the lock: the thread that holds the
    lock then does the rest when it has released it.

    Attributes
    ----------
    lock : threading.Lock
        Protects the references, and the state of what they refer to.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._gone: deque[_Reference] = deque()

    def refer(self, referred: Referred, objects: Iterable[object]) -> None:
        """Keep memory shared as long as some objects live; called under the lock."""
        for each in objects:
            known = referred.references.get(id(each))
            if known is not None and known() is each:
                continue
            with contextlib.suppress(TypeError):  # of a type without weak references
                made = _Reference(each, self._on_death)
                made.referred, made.ident = referred, id(each)
                referred.references[made.ident] = made

    def living(self, referred: Referred) -> list[object]:
        """Return the objects that live, which keep the memory alive."""
        with self.lock:
            found = [reference() for reference in referred.references.values()]
        self.sweep()
        return [each for each in found if each is not None]

    def hold(self, referred: Referred) -> None:
        """Keep memory shared until `release` is called as often as this method."""
        with self.lock:
            referred.holds += 1

    def release(self, referred: Referred) -> None:
        """End a `hold`."""
        with self.lock:
            referred.holds -= 1
            _end_if_unused(referred)
        self.sweep()

    def _on_death(self, reference: _Reference) -> None:
        """Note that an object died."""
        self._gone.append(reference)
        self.sweep()

    def sweep(self) -> None:
        """Stop sharing memory whose objects have died."""
        while self._gone and self.lock.acquire(blocking=False):
            try:
                while self._gone:
                    reference = self._gone.popleft()
                    referred = reference.referred
                    if referred.references.get(reference.ident) is reference:
                        del referred.references[reference.ident]
                        _end_if_unused(referred)
            finally:
                self.lock.release()


def _end_if_unused(referred: Referred) -> None:
    """Stop sharing memory that nothing refers to, under the lock."""
    if not referred.references and not referred.holds:
        referred.end()
