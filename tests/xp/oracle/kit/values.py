"""Strategies for arrays: element types, shapes, pairs of them, and the values worth trying.

Source: array API standard 2025.12, "Type Promotion Rules", "Broadcasting".  An element is one byte
drawn, which picks a value from a pool: quick to draw, and it shrinks to zeros.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from hypothesis import strategies as st
from xp_oracle.names import COMPLEX, KINDS, REAL, SIGNED
from xp_oracle.worlds import LAYOUTS, Arr

if TYPE_CHECKING:
    from collections.abc import Sequence

Shape = tuple[int, ...]

_INF, _NAN = float("inf"), float("nan")
_TAME: Final = (0, 1, 2, 3, 5, 7, 4, 1, 2, 9, 6)
_TAME_FLOATS: Final = (0.0, 1.0, -1.0, 2.0, 0.5, -3.25, 7.0, -0.125, 4.5, 1.0, -2.0, 10.75)
_SMALL_FLOATS: Final = (*_TAME_FLOATS, _INF, -_INF, _NAN, -0.0)


@cache
def pool(dtype: str, values: str) -> np.ndarray:
    """Return the values to pick from, the simplest first."""
    if dtype == "bool":
        return np.array([False, True])
    if dtype in COMPLEX:
        return pool("float32" if dtype == "complex64" else "float64", values)
    if dtype in REAL:
        info = np.finfo(dtype)
        some = _TAME_FLOATS if values == "tame" else _SMALL_FLOATS
        wild = (info.max, info.min, info.tiny, info.eps, 1e-5, -1e5, 3.141592653589793, 1.5, 2.5)
        return np.array([*some, *(wild if values == "wild" else ())], dtype)
    ends = np.iinfo(dtype)
    signs = (-1, -2, -3, -7) if dtype in SIGNED else ()
    wild = (ends.max, ends.min, ends.max - 1, ends.max // 2, 8, 31, 63, 100)
    return np.array([*_TAME, *signs, *(wild if values == "wild" else ())], dtype)


@st.composite
def arrays(
    draw: st.DrawFn, dtype: str, shape: Shape, values: str = "wild", *, layouts: bool = True
) -> Arr:
    """Draw an array of that type and shape."""
    some = pool(dtype, values)
    size = int(np.prod(shape, dtype=int))

    def picked() -> np.ndarray:
        raw = draw(st.binary(min_size=size, max_size=size))
        return some[np.frombuffer(raw, np.uint8) % len(some)].reshape(shape)

    elements = picked()
    if dtype in COMPLEX:
        whole = np.empty(shape, dtype)
        whole.real, whole.imag = elements, picked()
        elements = whole
    layout = draw(st.sampled_from(LAYOUTS)) if layouts and size > 1 else "c"
    return Arr(elements, layout)


def dtypes(kind: str) -> st.SearchStrategy[str]:
    """Return a strategy for element types of a kind."""
    return st.sampled_from(KINDS[kind])


def promotable(one: str, kind: str) -> tuple[str, ...]:
    """Return the types of `kind` that the standard promotes together with `one`."""

    def family(name: str) -> str:
        return "floating" if name in REAL + COMPLEX else name.rstrip("0123456789").lstrip("u")

    def mixed(other: str) -> bool:
        return {"uint64", *SIGNED} >= {one, other} and "uint64" in {one, other} and one != other

    return tuple(d for d in KINDS[kind] if family(d) == family(one) and not mixed(d))


def shapes(least: int = 0, most: int = 3, extent: int = 3, smallest: int = 0) -> st.SearchStrategy:
    """Return a strategy for shapes of `least` to `most` axes."""
    sizes = st.sampled_from([n for n in (2, 3, 1, 4, 2, 3, 1, 0) if smallest <= n <= extent])
    return st.lists(sizes, min_size=least, max_size=most).map(tuple)


@st.composite
def below(draw: st.DrawFn, shape: Shape) -> Shape:
    """Draw a shape that broadcasts to the one given."""
    start = draw(st.sampled_from(range(len(shape) + 1))) if draw(st.booleans()) else 0
    ones = draw(st.integers(0, 7)) if draw(st.booleans()) else 0
    return tuple(1 if ones >> axis & 1 else n for axis, n in enumerate(shape[start:]))


@st.composite
def scalars(draw: st.DrawFn, dtype: str, values: str = "wild") -> Any:
    """Draw a Python scalar that the standard allows next to an array of that type."""
    element = draw(st.sampled_from(pool(dtype, values).tolist()))
    if dtype in REAL + COMPLEX and draw(st.integers(0, 3)) == 3:
        return draw(st.sampled_from((0, 1, -1, 2, 3)))
    if dtype in COMPLEX and draw(st.booleans()):
        return complex(element, draw(st.sampled_from(pool(dtype, values).tolist())))
    return element


@st.composite
def axes(draw: st.DrawFn, ndim: int) -> int:
    """Draw an axis of an array, counted from either end; invalid if the array has none."""
    if not ndim:
        return draw(st.sampled_from((0, -1)))
    return draw(st.integers(-ndim, ndim - 1))


@st.composite
def axis_tuples(draw: st.DrawFn, ndim: int) -> tuple[int, ...]:
    """Draw some axes of an array, none twice."""
    chosen: Sequence[int] = draw(st.permutations(range(ndim)))
    chosen = chosen[: draw(st.integers(0, ndim))]
    return tuple(axis - ndim if draw(st.booleans()) else axis for axis in chosen)
