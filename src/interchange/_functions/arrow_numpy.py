"""Arrays of NumPy whose elements DLPack cannot describe, as columns: times, bytes, records.

Source: NumPy, ``datetime64`` and ``timedelta64``; The Arrow C data interface, format strings.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from interchange._types.errors import (
    CopyNeededError,
    UnsupportedDTypeError,
    ViewError,
)
from interchange._types.numpy_dtypes import load_numpy
from interchange.abi._records import NamedTuple
from interchange.abi.arrow import ArrowField

if TYPE_CHECKING:
    from numpy.typing import NDArray

_UNITS: Final = {"s": "s", "ms": "m", "us": "u", "ns": "n"}
"""Unit of NumPy -> the letter of Arrow."""
_TIMES: Final = re.compile(r"([mM])8(?:\[([0-9]*)([a-zA-Z]+)\])?")
_NAMES: Final = {"M": "datetime64", "m": "timedelta64"}
_DAYS: Final = 2**31  # date32 counts fewer days to each side of 1970


class Elements(NamedTuple):
    """An array that is to be exported with another type of Arrow than that of its dtype."""

    values: NDArray[Any]  # of numbers
    element: ArrowField  # the type of one element
    valid: NDArray[Any] | None = None  # False where an element is null; None if there are no nulls


def elements_of(x: Any, call: str) -> Elements | dict[str, NDArray[Any]] | None:
    """Return numbers and the type of one element, or records by field; None for other arrays.

    Raises UnsupportedDTypeError: Arrow has no type for the unit of times, for days that do not fit
        32 bits (ARROW-OUT-1), or the elements are text (ARROW-OUT-1).
    Raises ViewError: records have several axes (ARROW-OUT-1).
    """
    np = load_numpy()
    if not isinstance(x, np.ndarray) or not x.dtype.isnative:
        return None
    kind = x.dtype.kind
    if kind in _NAMES:
        return _times(x, call)
    if kind == "S" and x.itemsize:
        return _bytes(x, call)
    if kind == "U":
        what = f"elements are {x.dtype.name}, text of 4 bytes for each character"
        hint = "pass `np.char.encode(x, 'utf-8')` for bytes of fixed width"
        raise UnsupportedDTypeError(call, what, "ARROW-OUT-1", hint)
    if x.dtype.names is None:
        return None
    if x.ndim != 1:
        what = f"records have shape {x.shape}"
        raise ViewError(call, what, "ARROW-OUT-1", "pass `x.reshape(-1)`")
    return {name: np.ascontiguousarray(x[name]) for name in x.dtype.names}


def _bytes(x: NDArray[Any], call: str) -> Elements:
    """Return the bytes of strings of fixed width, along an additional axis; they are shared."""
    if not x.flags.c_contiguous:
        what = f"shape {x.shape} has strides of {x.strides} bytes"
        raise CopyNeededError(call, what, "ARROW-OUT-2")
    values = x.reshape(*x.shape, 1).view("u1")
    return Elements(values, ArrowField(f"w:{x.itemsize}"))


def _times(x: NDArray[Any], call: str) -> Elements:
    """Return the integers of times; NaT is null."""
    np = load_numpy()
    found = _TIMES.search(x.dtype.str)
    letter, count, unit = found.groups() if found else ("", "", "")
    valid = ~np.isnat(x)
    valid = None if valid.all() else valid
    if letter == "M" and unit == "D" and not count:
        days = x.view("i8") if valid is None else np.where(valid, x.view("i8"), 0)
        if days.size and not -_DAYS <= days.min() <= days.max() < _DAYS:
            what = f"the times of {x.dtype} have up to {abs(days).max()} days"
            seconds = "pass `x.astype('datetime64[s]')`"
            raise UnsupportedDTypeError(call, f"{what}, beyond date32", "ARROW-OUT-1", seconds)
        return Elements(days.astype("i4"), ArrowField("tdD"), valid)
    if unit not in _UNITS or count:
        finer = "s" if unit in {"Y", "M", "W", "D", "h", "m"} or not unit else "ns"
        what = f"elements are {x.dtype}, whose unit Arrow does not have"
        hint = f"pass `x.astype('{_NAMES[letter]}[{finer}]')`"
        raise UnsupportedDTypeError(call, what, "ARROW-OUT-1", hint)
    text = f"ts{_UNITS[unit]}:" if letter == "M" else f"tD{_UNITS[unit]}"
    return Elements(x.view("i8"), ArrowField(text), valid)
