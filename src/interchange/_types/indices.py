"""Parsing of basic indices: the axis of each part, the bounds of slices, the position of ints.

Source: array API standard 2025.12, Indexing.
"""

from __future__ import annotations

from operator import index as as_index
from typing import Final

from .errors import OutOfBoundsError, ViewError, show

INT64_MAX: Final = 2**63 - 1
CAST_INDEX: Final = "cast the index to int64, or pass a mask"


def expand_key(key: object, ndim: int, call: str) -> list[object]:
    """Return one index per axis, and None where an axis is to be added."""
    parts = list(key) if isinstance(key, tuple) else [key]
    used = sum(part is not None and part is not Ellipsis for part in parts)
    dots = sum(part is Ellipsis for part in parts)
    if dots > 1 or used > ndim:
        what = f"{show(key)} has {'two Ellipses' if dots > 1 else f'{used} indices'} on {ndim} axes"
        hint = "leave one Ellipsis" if dots > 1 else f"pass {ndim} indices at most"
        raise OutOfBoundsError(call, what, "IX-INDEX-1", hint)
    fill: list[object] = [slice(None)] * (ndim - used)
    if not dots:
        return parts + fill
    at = next(place for place, part in enumerate(parts) if part is Ellipsis)
    return parts[:at] + fill + parts[at + 1 :]


def slice_indices(part: slice, extent: int, call: str) -> tuple[int, int, int]:
    """Return start, stop and step of a slice on an axis, clipped [elements]."""
    try:
        start, stop, step = part.indices(extent)
    except ValueError as error:
        raise ViewError(
            call, f"{show(part)} has a step of 0", "IX-INDEX-1", "pass another step"
        ) from error
    except TypeError as error:
        what = f"{show(part)} is not a slice of ints"
        hint = "pass whole numbers, or none, as its bounds"
        raise OutOfBoundsError(call, what, "IX-INDEX-1", hint) from error
    if not -INT64_MAX <= step <= INT64_MAX:
        step = extent + 1 if step > 0 else -extent - 1
    return start, stop, step


def is_bool(part: object) -> bool:
    """Whether a value is a bool, of Python or of an array library.

    NumPy before 2.3 accepts its own bool as an index, with a warning.
    """
    if isinstance(part, int):
        return isinstance(part, bool)
    return getattr(getattr(part, "dtype", None), "kind", None) == "b"


def way_to_index(part: object) -> str:
    """Return the fix for a value that is not an index."""
    if isinstance(part, str):
        return "pass the place of the axis or the element, since nothing here has a name"
    if getattr(getattr(part, "dtype", None), "kind", "") == "f" and getattr(part, "ndim", 0):
        return CAST_INDEX
    return "pass a whole number" if isinstance(part, float) else "pass ints, slices or a mask"


def way_within(extent: int) -> str:
    """Return the range of valid indices of an axis, as text."""
    if not extent:
        return "ask for the shape first: the axis has no elements"
    return f"the indices of this axis go from {-extent} to {extent - 1}"


def position_of(part: object, extent: int, call: str) -> int:
    """Return the position of an integer index on its axis, counted from its start [elements]."""
    try:
        if is_bool(part) or getattr(part, "ndim", None):
            raise TypeError(part)  # noqa: TRY301 - both errors have the same text
        place = as_index(part)  # type: ignore[arg-type]
    except TypeError:
        what = f"index {show(part)} makes no view"
        raise OutOfBoundsError(call, what, "IX-INDEX-1", way_to_index(part)) from None
    if not -extent <= place < extent:
        what = f"index {show(place)} on an axis of {extent}"
        raise OutOfBoundsError(call, what, "IX-INDEX-1", way_within(extent))
    return place + extent if place < 0 else place
