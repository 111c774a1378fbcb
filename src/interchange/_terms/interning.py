"""Equal values as one object, for as long as anybody has it, in whichever thread.

Source: interchange; weakref.WeakValueDictionary, whose ``setdefault`` is two steps, so that two
threads that meet a value for the first time get an object each.
"""

from __future__ import annotations

import ctypes
from _weakref import _remove_dead_weakref as remove_dead  # type: ignore[attr-defined]
from typing import Any, TypeVar
from weakref import KeyedRef

from interchange.abi import capsules

T = TypeVar("T")


def intern(
    known: dict[Any, KeyedRef[Any, T]],
    key: Any,
    fresh: T,
    _cell: Any = ctypes.py_object,
    _hide: Any = capsules.fast_hide_from_collector,
) -> T:
    """Return the one object of a key: `fresh`, unless there is one already.

    The collector must not see it, which would make weak references to what is in garbage forget
    it before a finaliser there brings it back to life.  So it dies with its last reference alone.

    Parameters
    ----------
    known : dict
        Key -> weak reference, of which each call makes one step: it needs no lock.
    key : hashable
        Made of what Python itself compares: ints, strings, tuples of these.
    fresh : object
        Complete, since other threads find it at once; it refers to nothing that could refer back.
    """
    _hide(_cell(fresh))
    mine = KeyedRef(fresh, _forgetter(known), key)
    while True:
        found = known.setdefault(key, mine)()
        if found is not None:
            return found
        remove_dead(known, key)  # another thread has let go of it this moment


def find(known: dict[Any, KeyedRef[Any, T]], key: Any) -> T | None:
    """Return the one object of a key, or None if nobody has it."""
    reference = known.get(key)
    return None if reference is None else reference()


def _forgetter(known: dict[Any, KeyedRef[Any, T]]) -> Any:
    """Return what takes a dead reference out, and leaves one alone that has taken its place."""

    def forget(reference: KeyedRef[Any, T], _remove: Any = remove_dead) -> None:
        _remove(known, reference.key)

    return forget
