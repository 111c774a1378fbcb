"""Random calls of a function: valid and invalid arguments drawn by its signature.

Source: array API standard 2025.12.  Signatures are those of array-api-strict; optional parameters
are omitted half of the time, and parameters of both kinds are passed by position or by keyword.
"""

from __future__ import annotations

import inspect
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from hypothesis import strategies as st
from xp_oracle import more_parameters as more_parameters  # noqa: PLC0414 - fills the table
from xp_oracle.names import FUNCTIONS, KINDS
from xp_oracle.parameters import DRAWERS, OMIT, Call
from xp_oracle.worlds import STRICT, Arr, Named

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_NEEDED: Final = {"take": "axis", "take_along_axis": "axis", "vecdot": "axis", "cross": "axis"}
_NEEDED_IF_DEEP: Final = ("cumulative_sum", "cumulative_prod")
_NEEDED_TOO: Final = {
    **dict.fromkeys(("searchsorted",), "sorter"),
    **dict.fromkeys(("full", "full_like"), "dtype"),
    **dict.fromkeys(("concat", "repeat", "roll"), "axis"),
    **dict.fromkeys(("tensordot", "fftn", "ifftn", "rfftn", "irfftn"), "axes"),
}
"""Parameters that an earlier one may depend on, so that they are never left out by chance."""


class Given(NamedTuple):
    """The arguments of a call."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


@cache
def signature(path: str) -> inspect.Signature:
    """Return the signature that the function has in the standard."""
    return inspect.signature(STRICT.get(path))


def drawer_of(path: str, name: str) -> Callable[[st.DrawFn, Call], Any]:
    """Return what draws a parameter: by path and name, else by its name."""
    own = f"{path.rpartition('.')[2]}.{name}"
    return DRAWERS[own if own in DRAWERS else name]


def _left_out(draw: st.DrawFn, call: Call, parameter: inspect.Parameter) -> bool:
    """Whether an optional parameter is not given."""
    if parameter.default is parameter.empty:
        return False
    needed = {_NEEDED.get(call.name), _NEEDED_TOO.get(call.name)}
    deep = call.name in _NEEDED_IF_DEEP and parameter.name == "axis" and call.x.ndim > 1
    return not (deep or parameter.name in needed) and draw(st.booleans())


@st.composite
def parameters(draw: st.DrawFn, path: str) -> dict[str, Any]:
    """Draw arguments that the function is defined for, by the names of their parameters."""
    call = Call(path, FUNCTIONS[path])
    for name, parameter in signature(path).parameters.items():
        if parameter.kind is parameter.VAR_POSITIONAL or not _left_out(draw, call, parameter):
            value = drawer_of(path, name)(draw, call)
            if value is not OMIT:
                call.given[name] = value
    return call.given


def arranged(path: str, given: Mapping[str, Any], *, by_keyword: bool = True) -> Given:
    """Return arguments by name as they are passed."""
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for name, parameter in signature(path).parameters.items():
        if name not in given:
            continue
        if parameter.kind is parameter.VAR_POSITIONAL:
            args.extend(given[name])
        elif parameter.kind is parameter.POSITIONAL_ONLY:
            args.append(given[name])
        elif parameter.kind is parameter.KEYWORD_ONLY or by_keyword or kwargs:
            kwargs[name] = given[name]
        else:
            args.append(given[name])
    return Given(tuple(args), kwargs)


@st.composite
def calls(draw: st.DrawFn, path: str) -> Given:
    """Draw a call that the function is defined for."""
    given = draw(parameters(path))
    names = list(signature(path).parameters)
    skipped = [name for name in names if name not in given]
    by_keyword = bool(skipped) or draw(st.booleans())  # a gap is only possible by keyword
    return arranged(path, given, by_keyword=by_keyword)


# ---------------------------------------------------------------- one plain call of each

_ONES: Final = Arr(np.ones((2, 3)))
_SQUARE: Final = Arr(np.eye(2))
_VECTOR: Final = Arr(np.arange(3.0))
_PLACES: Final = Arr(np.array([0, 1]))
_OWN: Final[dict[str, dict[str, Any]]] = {
    "arange": {"start": 3},
    "asarray": {"obj": _ONES},
    "astype": {"x": _ONES, "dtype": Named("float32")},
    "broadcast_shapes": {"shapes": ((2, 3), (3,))},
    "broadcast_to": {"x": _ONES, "shape": (2, 2, 3)},
    "can_cast": {"from_": Named("int8"), "to": Named("int16")},
    "clip": {"x": _ONES, "min": _ONES, "max": _ONES},
    "cross": {"x1": _ONES, "x2": _ONES},
    "cumulative_prod": {"x": _VECTOR},
    "cumulative_sum": {"x": _VECTOR},
    "empty": {"shape": (2,)},
    "expand_dims": {"x": _ONES, "axis": 0},
    "eye": {"n_rows": 2},
    "fftfreq": {"n": 4},
    "finfo": {"type": Named("float32")},
    "from_dlpack": {"x": _ONES},
    "full": {"shape": (2,), "fill_value": 1.0},
    "full_like": {"x": _ONES, "fill_value": 1.0},
    "iinfo": {"type": Named("int8")},
    "isdtype": {"dtype": Named("int8"), "kind": "integral"},
    "linspace": {"start": 0.0, "stop": 1.0, "num": 3},
    "matmul": {"x1": _SQUARE, "x2": _SQUARE},
    "matrix_power": {"x": _SQUARE, "n": 2},
    "matrix_rank": {"x": _SQUARE, "rtol": Arr(np.array(0.5))},
    "moveaxis": {"x": _ONES, "source": 0, "destination": 1},
    "ones": {"shape": (2,)},
    "permute_dims": {"x": _ONES, "axes": (1, 0)},
    "pinv": {"x": _SQUARE, "rtol": Arr(np.array(0.5))},
    "repeat": {"x": _VECTOR, "repeats": Arr(np.array([1, 2, 0]))},
    "reshape": {"x": _ONES, "shape": (3, 2)},
    "result_type": {"arrays_and_dtypes": (_ONES, Named("float32"))},
    "rfftfreq": {"n": 4},
    "roll": {"x": _ONES, "shift": 1},
    "searchsorted": {"x1": _VECTOR, "x2": _VECTOR, "sorter": Arr(np.array([0, 1, 2]))},
    "solve": {"x1": _SQUARE, "x2": _SQUARE},
    "squeeze": {"x": Arr(np.ones((1, 2))), "axis": 0},
    "take": {"x": _VECTOR, "indices": _PLACES},
    "take_along_axis": {"x": _VECTOR, "indices": _PLACES},
    "tensordot": {"x1": _SQUARE, "x2": _SQUARE},
    "tile": {"x": _ONES, "repetitions": (2,)},
    "where": {"condition": Arr(np.array([True, False])), "x1": _SQUARE, "x2": _SQUARE},
    "zeros": {"shape": (2,)},
}


@cache
def _plain(path: str) -> dict[str, Any]:
    """Return arrays of ones of a valid type and shape, for each array parameter."""
    row = FUNCTIONS[path]
    dtype = KINDS[row.kind][0]
    shaped = {"vector": np.ones(2), "square": np.eye(2), "matrix": np.eye(2)}
    one = Arr(shaped.get(row.shape, np.ones((2, 3))).astype(dtype))
    needed = [p for p in signature(path).parameters.values() if p.default is p.empty]
    arrays = {p.name: (one, one) if p.name == "arrays" else one for p in needed}
    edges = {"prepend": one, "append": one} if path == "diff" else {}
    return {**arrays, **edges}


def example(path: str) -> dict[str, Any]:
    """Return one call that the function is defined for, by the names of its parameters."""
    own = _OWN.get(path.rpartition(".")[2])
    return dict(_plain(path) if own is None else own)
