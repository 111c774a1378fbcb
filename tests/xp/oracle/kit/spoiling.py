"""Calls with one invalid argument: a type, a shape, an axis or a name.

Source: array API standard 2025.12.  The oracle decides whether such a call must fail: if it accepts
the argument, so must we.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from hypothesis import strategies as st
from xp_oracle import values as v
from xp_oracle.calls import Given, arranged, parameters
from xp_oracle.names import DTYPES, FUNCTIONS, KINDS
from xp_oracle.worlds import Arr, Foreign

_NO_ARRAYS: Final = (None, "text", [1.0, 2.0], (1, 2), {})
_WRONG_TYPES: Final = {
    "axis": ("0", 1.5, (0.5,), [[0]]),
    "word": (7j, b"left", ["left"]),
    "device": (7, 1.5, ["cpu"]),
    "dtype": (7, 1.5, []),
    "size": (1.5, "3", (1.5,), None),
    "number": ("text", None, {}),
    "flag": ("text", [1.0], -300, 1, 0),
    "rest": ("text", 1.5, None),
}
_WRONG_VALUES: Final = {
    "axis": (9, -9, 0, -1, (0, 9), (0, 0), (0, -9), (), ((9,), (9,))),
    "word": ("sideways", "", "LEFT"),
    "device": ("nowhere", "cpu:one"),
    "dtype": ("nonsense",),
    "size": (-3, (-3,), (2, -7)),
    "number": (-300, 10**30, True, 7, 1.5),
}
_KINDS_OF_PARAMETERS: Final = {
    **dict.fromkeys(("axis", "axes", "source", "destination"), "axis"),
    **dict.fromkeys(("side", "indexing", "mode", "norm", "ord"), "word"),
    **dict.fromkeys(("dtype", "to", "from_", "type", "kind"), "dtype"),
    **dict.fromkeys(("n_rows", "n_cols", "num", "n", "shape", "repeats"), "size"),
    **dict.fromkeys(("repetitions", "shift", "s", "k", "offset"), "size"),
    "device": "device",
}


class Spoilt(NamedTuple):
    """A call with one wrong argument, and whether it is wrong by its type."""

    given: Given
    by_type: bool


def _other_kind(draw: st.DrawFn, path: str, array: Arr) -> Arr:
    """Spoil an array by a type that the function is not defined for, or that does not promote."""
    own = KINDS[FUNCTIONS[path].kind]
    others = [one for one in DTYPES if one not in own] or [d for d in DTYPES if d != array.dtype]
    with np.errstate(all="ignore"):
        plain = np.abs(np.nan_to_num(np.real(array.values), posinf=3, neginf=3))
        return Arr(np.asarray(plain % 100).astype(draw(st.sampled_from(others))))


def _other_shape(draw: st.DrawFn, path: str, array: Arr) -> Arr:
    """Spoil an array by more axes, longer ones, or none."""
    some = ((), (5,), (7, 5), (*array.shape, 5), (5, *array.shape), (0,))
    if path.startswith("fft."):  # NumPy returns uninitialised memory for n=1 of an empty array
        some = some[:-1]
    shape = draw(st.sampled_from(some))
    return draw(v.arrays(array.dtype, shape, "tame"))


def _kind_of(name: str, value: Any) -> str:
    """Return which of the tables above is about an argument."""
    if name in _KINDS_OF_PARAMETERS:
        return _KINDS_OF_PARAMETERS[name]
    if isinstance(value, (Arr, tuple, list)) and name != "obj":
        return "array"
    return "number" if isinstance(value, (int, float, complex)) else "rest"


def _wrong(draw: st.DrawFn, path: str, name: str, value: Any, *, by_type: bool) -> Any:
    """Return something that does not do in place of an argument."""
    if isinstance(value, Arr):
        if by_type:
            return draw(st.sampled_from((*_NO_ARRAYS, Foreign())))
        return draw(st.sampled_from((_other_kind, _other_shape)))(draw, path, value)
    if isinstance(value, (tuple, list)) and value and isinstance(value[0], Arr):
        at = draw(st.integers(0, len(value) - 1))
        wrong = _wrong(draw, path, name, value[at], by_type=by_type)
        return type(value)((*value[:at], wrong, *value[at + 1 :]))
    wrong = _WRONG_TYPES if by_type else _WRONG_VALUES
    return draw(st.sampled_from(wrong[_kind_of(name, value)]))


@st.composite
def spoilt_calls(draw: st.DrawFn, path: str) -> Spoilt:
    """Draw a call that the function is defined for, and spoil one argument of it."""
    given = dict(draw(parameters(path)))
    by_type = draw(st.booleans())
    if not given:
        return Spoilt(Given((), {"nonsense": 1}), by_type=True)
    name = draw(st.sampled_from(sorted(given)))
    by_type = by_type or _kind_of(name, given[name]) == "rest"
    if name == "shapes":
        wrong = ("text", None, [2.5]) if by_type else ((2, 5), (-1,), (7, 3))
        given[name] = (*given[name], draw(st.sampled_from(wrong)))
    elif name == "arrays_and_dtypes":
        wrong = (None, [3], Foreign()) if by_type else ("text",)
        given[name] = (*given[name], draw(st.sampled_from(wrong)))
    elif given[name] == ():
        given[name], by_type = (Foreign(),), True
    elif isinstance(given[name], bool):
        given[name], by_type = draw(st.sampled_from(_WRONG_TYPES["flag"])), True
    else:
        given[name] = _wrong(draw, path, name, given[name], by_type=by_type)
    return Spoilt(arranged(path, given), by_type)
