"""Strategies for the parameters that are shapes, indices, repetitions, or anything but arrays.

Source: array API standard 2025.12, the "Parameters" sections.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import strategies as st
from xp_oracle import values as v
from xp_oracle.names import DTYPES, INTEGERS
from xp_oracle.parameters import DRAWERS, OMIT, _for
from xp_oracle.worlds import Arr, Named

if TYPE_CHECKING:
    from xp_oracle.parameters import Call

# ---------------------------------------------------------------- shapes


@_for("shape")
def _shape(draw: st.DrawFn, call: Call) -> Any:
    del call
    return draw(v.shapes() | st.integers(0, 4))


@_for("reshape.shape")
def _reshaped(draw: st.DrawFn, call: Call) -> Any:
    left, shape = call.x.values.size, []
    if not left:
        return draw(st.sampled_from(((0,), (0, 3), (2, 0), (-1, 2), (3, 0, -1))))
    while left > 1:
        divisors = [n for n in range(2, left + 1) if left % n == 0]
        shape.append(draw(st.sampled_from(divisors)))
        left //= shape[-1]
    for _ in range(draw(st.integers(0, 2))):
        shape.insert(draw(st.integers(0, len(shape))), 1)
    if shape and draw(st.booleans()):
        shape[draw(st.integers(0, len(shape) - 1))] = -1
    return tuple(shape)


@_for("broadcast_to.shape")
def _broader(draw: st.DrawFn, call: Call) -> Any:
    own = tuple(draw(st.integers(0, 3)) if n == 1 else n for n in call.x.shape)
    return (*draw(v.shapes(0, 2)), *own)


@_for("broadcast_shapes.shapes")
def _shapes(draw: st.DrawFn, call: Call) -> Any:
    del call
    whole = draw(v.shapes())
    return tuple(draw(v.below(whole)) for _ in range(draw(st.integers(0, 3))))


@_for("tile.repetitions")
def _repetitions(draw: st.DrawFn, call: Call) -> Any:
    del call
    return tuple(draw(st.lists(st.integers(0, 3), max_size=4)))


# ---------------------------------------------------------------- indices and amounts


@_for("take.indices")
def _indices(draw: st.DrawFn, call: Call) -> Any:
    axis = draw(v.axes(call.x.ndim))
    call.memo["axis"] = axis if call.x.ndim > 1 or draw(st.booleans()) else OMIT
    return _within(draw, call.x.shape[axis], draw(v.shapes(1, 1, 4)))


@_for("take_along_axis.indices")
def _indices_along(draw: st.DrawFn, call: Call) -> Any:
    axis = draw(v.axes(call.x.ndim))
    call.memo["axis"] = axis
    shape = list(call.x.shape)
    length, shape[axis] = shape[axis], draw(st.integers(0, 3))
    return _within(draw, length, tuple(shape))


def _within(draw: st.DrawFn, length: int, shape: v.Shape) -> Arr:
    """Draw indices into an axis, from either end."""
    dtype = draw(st.sampled_from(INTEGERS))
    if not length:
        shape = tuple(0 if n == shape[-1] else n for n in shape)
    size = int(np.prod(shape, dtype=int))
    low = 0 if dtype.startswith("u") else -length
    picked = draw(st.lists(st.integers(low, max(length - 1, 0)), min_size=size, max_size=size))
    return Arr(np.array(picked, dtype).reshape(shape))


DRAWERS["take.axis"] = DRAWERS["take_along_axis.axis"] = lambda draw, call: call.memo["axis"]  # noqa: ARG005


@_for("repeat.repeats")
def _repeats(draw: st.DrawFn, call: Call) -> Any:
    call.memo["axis"] = None
    if draw(st.booleans()):
        return draw(st.integers(0, 3))
    axis = draw(v.axes(call.x.ndim)) if call.x.ndim and draw(st.booleans()) else None
    call.memo["axis"] = axis
    length = call.x.values.size if axis is None else call.x.shape[axis]
    counts = draw(st.lists(st.integers(0, 3), min_size=length, max_size=length))
    return Arr(np.array(counts, draw(st.sampled_from(INTEGERS))))


@_for("repeat.axis")
def _repeated(draw: st.DrawFn, call: Call) -> Any:
    if isinstance(call.given["repeats"], Arr) or not call.x.ndim:
        return call.memo["axis"]
    return draw(st.none() | v.axes(call.x.ndim))


@_for("roll.shift", "roll.axis")
def _rolled(draw: st.DrawFn, call: Call) -> Any:
    if "shift" not in call.given:
        if call.x.ndim and draw(st.booleans()):
            call.memo["axis"] = draw(v.axis_tuples(call.x.ndim).filter(bool))
            return tuple(draw(st.integers(-4, 4)) for _ in call.memo["axis"])
        return draw(st.integers(-5, 5))
    if "axis" in call.memo:
        return call.memo["axis"]
    return draw(st.none() | v.axes(call.x.ndim) if call.x.ndim else st.none())


@_for("diff.prepend", "diff.append")
def _edge(draw: st.DrawFn, call: Call) -> Any:
    axis = call.given.get("axis", -1)
    shape = list(call.x.shape)
    shape[axis] = draw(st.integers(0, 2))
    return draw(v.arrays(call.x.dtype, tuple(shape), "small"))


# ---------------------------------------------------------------- anything


@_for("asarray.obj")
def _anything(draw: st.DrawFn, call: Call) -> Any:
    dtype = draw(v.dtypes("all"))
    call.memo["of"] = dtype
    form = draw(st.integers(0, 3))
    if form == 0:
        return draw(v.arrays(dtype, draw(v.shapes())))
    if form == 1:
        return draw(v.scalars(dtype))
    shape = draw(v.shapes(1, 2))
    nested = draw(v.arrays(dtype, shape, "tame")).values.tolist()
    return nested if form == 2 else tuple(nested)


@_for("asarray.dtype")
def _as_type(draw: st.DrawFn, call: Call) -> Any:
    of = call.memo["of"]
    fits = [of, *(("complex128",) if of.startswith("float") else ())]
    return draw(st.sampled_from([None, *map(Named, fits)]))


DRAWERS["from_dlpack.x"] = lambda draw, call: draw(
    v.arrays(draw(v.dtypes("all")), shape_any(draw, call))
)


def shape_any(draw: st.DrawFn, call: Call) -> v.Shape:
    """Draw a shape of any kind."""
    del call
    return draw(v.shapes())


@_for("can_cast.from_", "isdtype.dtype", "can_cast.to")
def _type(draw: st.DrawFn, call: Call) -> Any:
    if call.name == "can_cast" and not call.given and draw(st.booleans()):
        return draw(v.arrays(draw(v.dtypes("all")), (2,)))
    return Named(draw(v.dtypes("all")))


_KIND_WORDS = (
    *("bool", "signed integer", "unsigned integer", "integral", "real floating"),
    *("complex floating", "numeric"),
)


@_for("isdtype.kind")
def _kind(draw: st.DrawFn, call: Call) -> Any:
    del call
    one = st.sampled_from((*_KIND_WORDS, *map(Named, DTYPES)))
    return draw(one | st.lists(one, max_size=3).map(tuple))


@_for("finfo.type", "iinfo.type")
def _limits(draw: st.DrawFn, call: Call) -> Any:
    dtype = draw(v.dtypes("floating" if call.name == "finfo" else "integer"))
    return draw(v.arrays(dtype, draw(v.shapes()))) if draw(st.booleans()) else Named(dtype)


@_for("result_type.arrays_and_dtypes")
def _mixture(draw: st.DrawFn, call: Call) -> Any:
    del call
    first = draw(v.dtypes("all"))
    mixed = [first]
    for _ in range(draw(st.integers(0, 3))):
        fits = {*DTYPES}.intersection(*(v.promotable(one, "all") for one in mixed))
        mixed.append(draw(st.sampled_from(sorted(fits))))
    given: list[Any] = [
        draw(v.arrays(one, draw(v.shapes(0, 1)))) if draw(st.booleans()) else Named(one)
        for one in mixed
    ]
    if draw(st.booleans()):
        given.insert(draw(st.integers(0, len(given))), draw(v.scalars(first)))
    return tuple(given)
