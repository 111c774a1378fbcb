"""Interning: equal values are one object while it is referenced, in all threads.

Source: weakref.WeakValueDictionary, whose ``setdefault`` is two steps, so that two
threads that meet a value for the first time get an object each.
"""

from __future__ import annotations

import ctypes
from _weakref import _remove_dead_weakref as remove_dead  # type: ignore[attr-defined]
from functools import partial
from operator import methodcaller
from typing import TYPE_CHECKING, Any, Final, TypeVar
from weakref import ref

from interchange.abi import capsules

from .errors import NO_ROOM

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


class Known(ref[T]):
    """A weak reference to an interned object, which takes itself out of the table.

    The object may die at any moment, and what its reference calls then is C code alone: a signal
    handler that raised there would raise into nothing, and an interrupt would be lost.
    """

    __slots__ = ("forget",)

    forget: Callable[[], object]  # leaves one alone that has taken its place


_FORGET: Final = methodcaller("forget")


def intern(
    known: dict[Any, Known[T]],
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
    forget = partial(remove_dead, known, key)
    mine = Known(fresh, _FORGET)
    mine.forget = forget
    while True:
        found = known.setdefault(key, mine)()
        if found is not None:
            return found
        remove_dead(known, key)  # another thread has let go of it this moment


def find(known: dict[Any, Known[T]], key: Any) -> T | None:
    """Return the object of a key, or None if no object is referenced."""
    reference = known.get(key)
    return None if reference is None else reference()


def names(value: object, known: Any, of: Callable[[Any], Any]) -> bool:
    """Return whether `value` is read as an interned object; what cannot be read is another.

    Parameters
    ----------
    value : object
        Anything: a stranger's attributes may raise whatever they like.
    known : object
        The interned object.
    of : callable
        Returns the interned object that a value names, or raises.

    Examples
    --------
    >>> from interchange import DType
    >>> [names(one, DType(2, 32), DType.of) for one in ("<f4", "float64", None)]
    [True, False, False]
    """
    try:
        return of(value) is known
    except NO_ROOM:
        raise
    except Exception:  # noqa: BLE001 - it names nothing, whatever it says to that
        return False
