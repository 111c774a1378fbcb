"""Tables of types, searched by identity.

A metaclass decides what its classes are equal to, and whether they have a hash: a set or a dict
could confuse a foreign type with another, or raise an error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar
from weakref import ref

if TYPE_CHECKING:
    from collections.abc import Iterable

V = TypeVar("V")


class TypeSet:
    """A set of types, which are never removed.

    `types`: the members of the set.

    Examples
    --------
    >>> int in TypeSet([int, float]), bool in TypeSet([int, float])
    (True, False)
    """

    __slots__ = ("_ids", "_types")

    def __init__(self, types: Iterable[type]) -> None:
        self._types = tuple(types)
        self._ids = frozenset(map(id, self._types))

    def __contains__(self, cls: object) -> bool:
        return id(cls) in self._ids


class TypeTable(Generic[V]):
    """A cache from types to values; it keeps no type alive.

    `most`: the maximum number of types.  When it is exceeded, the cache is cleared.

    Examples
    --------
    >>> table = TypeTable(2)
    >>> table[int] = "a number"
    >>> table.get(int), table.get(bool), len(table)
    ('a number', None, 1)
    """

    __slots__ = ("_found", "_most")

    def __init__(self, most: int) -> None:
        self._found: Final[dict[int, tuple[ref[type], V]]] = {}
        self._most = most

    def get(self, cls: type) -> V | None:
        """Return the value of a type, or None."""
        found = self._found.get(id(cls))
        return found[1] if found is not None and found[0]() is cls else None

    def __setitem__(self, cls: type, value: V) -> None:
        found, key = self._found, id(cls)
        if len(found) >= self._most:
            found.clear()

        def forget(gone: Any) -> None:
            """Drop the entry of a destroyed type, unless another type has its place by now."""
            entry = found.get(key)
            if entry is not None and entry[0] is gone:
                found.pop(key, None)

        found[key] = (ref(cls, forget), value)

    def __len__(self) -> int:
        return len(self._found)

    def pop(self, cls: type) -> None:
        """Drop a type."""
        self._found.pop(id(cls), None)
