"""Strategies for the keys of arrays: those that the standard defines, and others.

Source: array API standard 2025.12, "Indexing".
"""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st
from xp_oracle import values as v
from xp_oracle.names import INTEGERS
from xp_oracle.worlds import Arr


@st.composite
def slices(draw: st.DrawFn, length: int) -> slice:
    """Draw a slice within the bounds that the standard sets."""
    step = draw(st.sampled_from((None, 1, 2, 3, -1, -2)))
    if step is not None and step < 0:
        start = draw(st.none() | st.integers(-length, max(0, length - 1)))
        stop = draw(st.none() | st.integers(-length, max(0, length - 1)))
    else:
        start = draw(st.none() | st.integers(-length, length))
        stop = draw(st.none() | st.integers(-length, length))
    return slice(start, stop, step)


@st.composite
def _single(draw: st.DrawFn, length: int) -> Any:
    """Draw the key of one axis: an int, an array that is one, or a slice."""
    if not length or draw(st.booleans()):
        return draw(slices(length))
    place = draw(st.integers(-length, length - 1))
    if draw(st.integers(0, 4)) == 4:
        return Arr(np.array(place, draw(st.sampled_from(INTEGERS[:4]))))
    return place


@st.composite
def basic(draw: st.DrawFn, shape: v.Shape, *, new_axes: bool = True) -> Any:
    """Draw ints and slices for all axes or, with an ellipsis, some; and new axes among them."""
    keys = [draw(_single(n)) for n in shape]
    if any(isinstance(key, Arr) for key in keys):  # those are combined with integers only
        keys = [key if not isinstance(key, slice) else None for key in keys]
        keys = [0 if key is None and n else key for key, n in zip(keys, shape, strict=True)]
        if None in keys:
            return ...
        return tuple(keys)
    if draw(st.booleans()):
        start = draw(st.integers(0, len(keys)))
        keys[start : draw(st.integers(start, len(keys)))] = [...]
    for _ in range(draw(st.integers(0, 2)) if new_axes else 0):
        keys.insert(draw(st.integers(0, len(keys))), None)
    return keys[0] if len(keys) == 1 and draw(st.booleans()) else tuple(keys)


@st.composite
def masks(draw: st.DrawFn, shape: v.Shape) -> Arr:
    """Draw a mask of the leading axes, or of all."""
    count = len(shape) if draw(st.booleans()) else draw(st.integers(0, len(shape)))
    return draw(v.arrays("bool", shape[:count]))


@st.composite
def integer_arrays(draw: st.DrawFn, shape: v.Shape) -> Any:
    """Draw arrays of places for every axis, which broadcast together, with ints among them."""
    whole = draw(v.shapes(0, 2))
    keys: list[Any] = []
    for length in shape:
        own = draw(v.below(whole)) if length else (*whole[:-1], 0) if whole else (0,)
        size = int(np.prod(own, dtype=int))
        places = st.integers(-length, max(length - 1, 0))
        picked = draw(st.lists(places, min_size=size, max_size=size))
        keys.append(Arr(np.array(picked, draw(st.sampled_from(INTEGERS[:4]))).reshape(own)))
    if len(keys) > 1 and shape[0] and draw(st.booleans()):
        keys[0] = draw(st.integers(-shape[0], shape[0] - 1))
    return tuple(keys)


def keys(shape: v.Shape) -> st.SearchStrategy:
    """Return a strategy for keys that the standard defines."""
    some = basic(shape) | masks(shape)
    return some | integer_arrays(shape) if shape else some


def wrong_keys(shape: v.Shape) -> st.SearchStrategy:
    """Return a strategy for keys that it does not define, or that are out of bounds."""
    ndim = len(shape)
    beyond = shape[0] if shape else 0
    return st.sampled_from(
        (
            *((0,) * (ndim + 1), (..., 0) if not ndim else (beyond, ...), (-beyond - 1, ...)),
            *((..., ...), 1.5, "text", b"x", (1.5, ...), ("a", ...), {}, [0, [1]]),
            *(Arr(np.ones((beyond + 1,), bool)), Arr(np.ones((*shape, 2), bool))),
            *(Arr(np.array([0.5])), Arr(np.array([beyond + 9])), Arr(np.array([1j]))),
            *((slice(None, None, 0), ...), (slice("a"), ...), (slice(0.5, None), ...)),
        )
    )
