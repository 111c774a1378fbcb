"""Interning: equal values are one object while it is referenced, in all threads.

Source: weakref.WeakValueDictionary, whose ``setdefault`` is two steps, so that two threads that
intern a value for the first time get an object each.
"""

from __future__ import annotations

from _weakref import _remove_dead_weakref as remove_dead  # type: ignore[attr-defined]
from functools import partial
from operator import methodcaller
from typing import TYPE_CHECKING, Any, Final, TypeVar
from weakref import ref

from interchange.abi.capsules import hide_from_collector

from .errors import NO_ROOM

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


class Known(ref[T]):
    """A weak reference to an interned object that removes itself from the table.

    The object may be destroyed at any moment, and the callback of its reference is C code only: an
    exception of a signal handler there could not propagate, and an interrupt would be lost.
    """

    __slots__ = ("forget",)

    forget: Callable[[], object]  # unless another reference has replaced it


_FORGET: Final = methodcaller("forget")


def intern(known: dict[Any, Known[T]], key: Any, fresh: T) -> T:
    """Return the one object of a key: `fresh`, unless there is one already.

    The garbage collector must not track it: the collector clears weak references to garbage before
    a finaliser there may resurrect the object.  It is therefore freed by its reference count only.

    `known`: key -> weak reference; each call makes one atomic step on it, so that it needs no lock.
    `key`: keys consist of values that Python itself compares: ints, strings, tuples of these.
    `fresh`: fully initialised, since other threads find it at once; it refers to nothing that could
        refer back.
    """
    hide_from_collector(fresh)
    forget = partial(remove_dead, known, key)
    mine = Known(fresh, _FORGET)
    mine.forget = forget
    while True:
        found = known.setdefault(key, mine)()
        if found is not None:
            return found
        remove_dead(known, key)  # another thread has just released it


def find(known: dict[Any, Known[T]], key: Any) -> T | None:
    """Return the object of a key, or None if no object is referenced."""
    reference = known.get(key)
    return None if reference is None else reference()


def is_name_of(value: object, known: Any, of: Callable[[Any], Any]) -> bool:
    """Return whether `value` is read as an interned object; False if it cannot be read.

    `value`: any object: attributes of a foreign object may raise any exception.
    `known`: the interned object.
    `of`: returns the interned object that a value names, or raises.

    Examples
    --------
    >>> from interchange import DType
    >>> [is_name_of(one, DType(2, 32), DType.of) for one in ("<f4", "float64", None)]
    [True, False, False]
    """
    try:
        return of(value) is known
    except NO_ROOM:
        raise
    except Exception:  # noqa: BLE001 - a foreign object may raise anything
        return False
