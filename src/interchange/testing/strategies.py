"""Hypothesis strategies for layouts, and for producers with these layouts.  Needs ``hypothesis``.

Source: dlpack.h 1.3 (valid layouts).  Extents and steps are small: only their signs and zeros
matter, and memory is as large as the layout requires.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hypothesis import strategies as st

from interchange_conformance.zoo.kinds import Producer, host
from interchange_conformance.zoo.memory import ELEMENTS, itemsize

if TYPE_CHECKING:
    from interchange_conformance.zoo.memory import Ints
    from interchange_conformance.zoo.source import Source

MOST_AXES: Final = 6
_MOST_EXTENT: Final = 4
_MOST_STEP: Final = 7

NUMPY_NAMES: Final = tuple(
    name for name in ELEMENTS if not name.startswith(("bfloat", "float8", "float4", "uint4"))
)
"""Element types that NumPy has under the same name."""


def shapes(*, min_extent: int = 0, max_axes: int = MOST_AXES) -> st.SearchStrategy[Ints]:
    """Return a strategy for shapes: no axis to `max_axes`, extents from `min_extent` to 4."""
    extents = st.integers(min_extent, _MOST_EXTENT)
    return st.lists(extents, max_size=max_axes).map(tuple)


@st.composite
def layouts(
    draw: st.DrawFn, *, min_extent: int = 0, max_axes: int = MOST_AXES
) -> tuple[Ints, Ints]:
    """Draw a shape and strides [elements]: negative, zero, overlapping, with gaps, in any order."""
    shape = draw(shapes(min_extent=min_extent, max_axes=max_axes))
    steps = st.lists(st.integers(-_MOST_STEP, _MOST_STEP), min_size=len(shape), max_size=len(shape))
    return shape, tuple(draw(steps))


def dtypes() -> st.SearchStrategy[str]:
    """Return a strategy for names of element types that NumPy has too."""
    return st.sampled_from(NUMPY_NAMES)


@st.composite
def sources(
    draw: st.DrawFn,
    *,
    names: st.SearchStrategy[str] | None = None,
    kind: type[Source] = Producer,
    generations: tuple[str, ...] = ("legacy", "versioned"),
) -> Source:
    """Draw a conforming producer of numbered host memory.

    Parameters
    ----------
    names : SearchStrategy[str], optional
        Names in `ELEMENTS`; by default those that NumPy has.
    kind : type, default Producer
        The signature of its ``__dlpack__``.
    generations : tuple[str, ...]
        The structs that it may export.

    Returns
    -------
    Source
        Strides may be NULL if the layout is C order; ``byte_offset`` is a multiple of the element
        size.
    """
    name = draw(dtypes() if names is None else names)
    shape, strides = draw(st.one_of(layouts(), shapes().map(lambda shape: (shape, None))))
    offset = draw(st.integers(0, 5)) * itemsize(ELEMENTS[name])
    source: Source = host(shape, name, strides=strides, byte_offset=offset, kind=kind)
    changes = {"generation": draw(st.sampled_from(generations))}
    if strides is None and draw(st.booleans()):
        return source.but(strides=None, **changes)
    return source.but(**changes)
