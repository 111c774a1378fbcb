"""Whether anything names an interned object: what may be passed for it is equal to it.

Source: interchange; Python's data model, ``__eq__``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .errors import NO_ROOM

if TYPE_CHECKING:
    from collections.abc import Callable


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
