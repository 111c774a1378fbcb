"""Strategies for the parameters of the standard's functions: each by its name, or path and name.

Source: array API standard 2025.12, the "Parameters" sections.  A strategy receives the drawing
function and the call so far, with its earlier parameters; `OMIT` leaves the parameter out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
from hypothesis import strategies as st
from xp_oracle import values as v
from xp_oracle.names import COMPLEX, INTEGERS, KINDS, REAL
from xp_oracle.worlds import Arr, Named

if TYPE_CHECKING:
    from collections.abc import Callable

    from xp_oracle.names import Row

OMIT: Final = object()
_INF: Final = float("inf")


class Call:
    """A call that is being made up: the arguments so far, and notes from drawer to drawer."""

    def __init__(self, path: str, row: Row) -> None:
        self.path = path
        self.name = path.rpartition(".")[2]
        self.row = row
        self.given: dict[str, Any] = {}
        self.memo: dict[str, Any] = {}

    @property
    def x(self) -> Arr:
        """The first array."""
        found = next(iter(self.given.values()))
        return found if isinstance(found, Arr) else found[0]


DRAWERS: Final[dict[str, Callable[[st.DrawFn, Call], Any]]] = {}


def _for(*names: str) -> Callable[[Any], Any]:
    """Put a drawer into the table under some names."""

    def put(drawer: Any) -> Any:
        DRAWERS.update(dict.fromkeys(names, drawer))
        return drawer

    return put


def _one_of(*names: str, choices: tuple[Any, ...]) -> None:
    """Put the choice among some values into the table."""
    DRAWERS.update(
        dict.fromkeys(names, lambda draw, call: draw(st.sampled_from(choices)))  # noqa: ARG005
    )


# ---------------------------------------------------------------- arrays

_FILLED: Final = ("max", "min", "argmax", "argmin", "fft", "ifft", "fftn", "ifftn", "rfft")
_FILLED_TOO: Final = ("rfftn", "irfft", "irfftn", "hfft", "ihfft", "cross")


def shape_of(draw: st.DrawFn, row: Row, name: str) -> v.Shape:
    """Draw a shape that the function is defined for."""
    smallest = 1 if name in _FILLED + _FILLED_TOO else 0
    if row.shape == "vector":
        return draw(v.shapes(1, 1, 4, smallest))
    if row.shape in {"matrix", "square"}:
        lead = draw(v.shapes(0, 1))
        rows, columns = draw(v.shapes(2, 2, 3, smallest))
        return (*lead, rows, rows if row.shape == "square" else columns)
    return draw(v.shapes(0 if row.shape == "any" else int(row.shape), 3, 3, smallest))


@_for("x")
def _x(draw: st.DrawFn, call: Call) -> Arr:
    dtype = draw(v.dtypes(call.row.kind))
    return draw(v.arrays(dtype, shape_of(draw, call.row, call.name), call.row.values))


@_for("cholesky.x")
def _positive_definite(draw: st.DrawFn, call: Call) -> Arr:
    some = _x(draw, call).values
    gram = some @ np.conj(np.swapaxes(some, -1, -2))
    return Arr((gram + 8 * np.eye(some.shape[-1])).astype(some.dtype))


@_for("det.x", "inv.x", "matrix_power.x", "slogdet.x", "solve.x1")
def _square(draw: st.DrawFn, call: Call) -> Arr:
    """Singular ones are refused, so most are made not to be."""
    if call.name == "solve":
        one, call.memo["dtype"] = _pair(draw, call.row.kind)
    else:
        one = draw(v.dtypes(call.row.kind))
    some = draw(v.arrays(one, shape_of(draw, call.row, call.name), call.row.values))
    if draw(st.integers(0, 5)) == 5:
        return some
    return Arr(np.asarray(some.values + 16 * np.eye(some.shape[-1]), one), some.layout)


def _pair(draw: st.DrawFn, kind: str) -> tuple[str, str]:
    """Draw two types that promote together."""
    one = draw(v.dtypes(kind))
    return one, draw(st.sampled_from((one, *v.promotable(one, kind))))


@_for("x1")
def _x1(draw: st.DrawFn, call: Call) -> Any:
    one, other = _pair(draw, call.row.kind)
    whole = draw(v.shapes())
    call.memo.update(dtype=other, shape=draw(v.below(whole)))
    if draw(st.integers(0, 7)) == 7:  # 2024.12: a scalar on either side, with the other's type
        call.memo["dtype"] = draw(v.dtypes(call.row.kind))
        return draw(v.scalars(call.memo["dtype"], call.row.values))
    return draw(v.arrays(one, draw(v.below(whole)), call.row.values))


@_for("x2")
def _x2(draw: st.DrawFn, call: Call) -> Any:
    first = call.given["x1"]
    shifts = call.name.startswith("bitwise_") and call.name.endswith("_shift")
    if isinstance(first, Arr) and draw(st.integers(0, 5)) == 5:
        scalar = draw(v.scalars(first.dtype, call.row.values))
        return abs(scalar) % 70 if shifts else scalar
    array = draw(v.arrays(call.memo["dtype"], call.memo["shape"], call.row.values))
    if shifts:  # the standard defines them for non-negative values
        within = np.asarray(array.values % 64, array.dtype)  # no sign is left: 64 is positive
        return Arr(within, array.layout)
    return array


@_for("matmul.x1", "vecdot.x1", "tensordot.x1", "outer.x1", "cross.x1")
def _first_factor(draw: st.DrawFn, call: Call) -> Arr:
    one, other = _pair(draw, call.row.kind)
    shape = shape_of(draw, call.row, call.name)
    if call.name == "cross":
        axis = draw(st.integers(0, len(shape) - 1))
        call.memo["axis"] = axis - len(shape)
        shape = (*shape[:axis], 3, *shape[axis + 1 :])
    call.memo["dtype"] = other
    return draw(v.arrays(one, shape, call.row.values))


@_for("matmul.x2", "solve.x2")
def _second_factor(draw: st.DrawFn, call: Call) -> Arr:
    shape = call.x.shape
    length = shape[-1]
    if draw(st.integers(0, 3)) == 3:
        second: v.Shape = (length,)
    else:
        second = (*draw(v.below(shape[:-2])), length, *draw(v.shapes(1, 1)))
    return draw(v.arrays(call.memo["dtype"], second, call.row.values))


@_for("vecdot.x2", "cross.x2")
def _same_along_an_axis(draw: st.DrawFn, call: Call) -> Arr:
    shape = call.x.shape
    axis = call.memo.get("axis", draw(st.integers(-len(shape), -1)))
    call.memo["axis"] = axis
    lead, own, rest = shape[:axis], shape[axis], shape[axis:][1:]
    ones = draw(st.booleans())
    second = (*draw(v.below(lead)), own, *([1] * len(rest) if ones else rest))
    return draw(v.arrays(call.memo["dtype"], second, call.row.values))


DRAWERS["vecdot.axis"] = DRAWERS["cross.axis"] = lambda draw, call: call.memo["axis"]  # noqa: ARG005


@_for("outer.x2")
def _vector(draw: st.DrawFn, call: Call) -> Arr:
    return draw(v.arrays(call.memo["dtype"], draw(v.shapes(1, 1)), call.row.values))


@_for("tensordot.x2")
def _contracted(draw: st.DrawFn, call: Call) -> Arr:
    shape = call.x.shape
    count = draw(st.integers(0, min(2, len(shape))))
    own = draw(st.permutations(range(len(shape))))[:count]
    second = [*(shape[axis] for axis in own), *draw(v.shapes(0, 1))]
    call.memo["axes"] = (tuple(own), tuple(range(count)))
    if list(own) == list(range(len(shape) - count, len(shape))) and draw(st.booleans()):
        call.memo["axes"] = count
    return draw(v.arrays(call.memo["dtype"], tuple(second), call.row.values))


DRAWERS["tensordot.axes"] = lambda draw, call: call.memo["axes"]  # noqa: ARG005


@_for("isin.x2")
def _elements(draw: st.DrawFn, call: Call) -> Any:
    first = call.given["x1"]
    if isinstance(first, Arr) and draw(st.integers(0, 3)) == 3:
        return draw(v.scalars(first.dtype, "tame"))
    return draw(v.arrays(call.memo["dtype"], draw(v.shapes()), "tame"))


@_for("searchsorted.x1")
def _sorted(draw: st.DrawFn, call: Call) -> Arr:
    one, call.memo["dtype"] = _pair(draw, call.row.kind)
    some = draw(v.arrays(one, draw(v.shapes(1, 1, 4)), "tame"))
    call.memo["order"] = np.argsort(some.values, stable=True)
    if draw(st.booleans()):
        call.memo["sorter"] = Arr(call.memo["order"])
        return some
    return Arr(np.sort(some.values))


@_for("searchsorted.x2")
def _sought(draw: st.DrawFn, call: Call) -> Any:
    if draw(st.integers(0, 3)) == 3:
        return draw(v.scalars(call.x.dtype, "tame"))
    return draw(v.arrays(call.memo["dtype"], draw(v.shapes(0, 2)), "tame"))


DRAWERS["sorter"] = lambda draw, call: call.memo.get("sorter", OMIT)  # noqa: ARG005


@_for("arrays")
def _several(draw: st.DrawFn, call: Call) -> Any:
    """As many as are joined or broadcast: the same shape, but along the axis that is joined."""
    free = call.name in {"meshgrid", "broadcast_arrays"}  # even none at all
    kind, count = call.row.kind, draw(st.integers(0 if free else 1, 3))
    first = draw(v.dtypes(kind))
    shape = draw(v.shapes(0 if call.name in {"stack", "broadcast_arrays"} else 1, 3))
    axis = draw(v.axes(len(shape))) if call.name == "concat" else 0
    made = []
    for _ in range(count):
        dtype = draw(st.sampled_from((first, *v.promotable(first, kind)))) if made else first
        if {dtype, *(one.dtype for one in made)} & {"uint64"}:
            dtype = first
        own = list(shape)
        if call.name == "meshgrid":
            dtype, own = first, list(draw(v.shapes(1, 1)))
        elif call.name == "broadcast_arrays":
            own = list(draw(v.below(shape)))
        elif call.name == "concat":
            own[axis] = draw(st.integers(0, 3))
        made.append(draw(v.arrays(dtype, tuple(own))))
    call.memo["axis"] = axis
    if free:
        return tuple(made)
    return draw(st.sampled_from((list, tuple)))(made)


DRAWERS["concat.axis"] = lambda draw, call: draw(st.sampled_from((call.memo["axis"], None)))
DRAWERS["stack.axis"] = lambda draw, call: draw(v.axes(call.x.ndim + 1))


@_for("where.condition")
def _condition(draw: st.DrawFn, call: Call) -> Arr:
    call.memo["whole"] = draw(v.shapes())
    return draw(v.arrays("bool", draw(v.below(call.memo["whole"]))))


@_for("where.x1", "where.x2")
def _branch(draw: st.DrawFn, call: Call) -> Any:
    other = call.given.get("x1")
    dtype = call.memo.get("dtype")
    if dtype is None:
        dtype, call.memo["dtype"] = _pair(draw, "all")
        call.memo["scalar"] = draw(st.integers(0, 5))
    if call.memo["scalar"] == (4 if other is None else 5):
        of = call.memo["dtype"] if other is None else other.dtype
        return draw(v.scalars(of))
    return draw(v.arrays(dtype, draw(v.below(call.memo["whole"]))))


@_for("clip.min", "clip.max")
def _bound(draw: st.DrawFn, call: Call) -> Any:
    low = "min" not in call.memo and not call.given.get("min")
    call.memo["min"] = True
    dtype = call.x.dtype
    some = v.pool(dtype, "tame")
    side = [one for one in some.tolist() if (one <= 1 if low else one >= 1)]
    if dtype in REAL and draw(st.integers(0, 7)) == 7:
        side = [float("nan"), -_INF if low else _INF]
    if draw(st.booleans()):
        return draw(st.sampled_from(side))
    shape = draw(v.below(call.x.shape))
    size = int(np.prod(shape, dtype=int))
    picked = draw(st.lists(st.sampled_from(side), min_size=size, max_size=size))
    return Arr(np.array(picked, dtype).reshape(shape))


# ---------------------------------------------------------------- axes


@_for("axis")
def _axis(draw: st.DrawFn, call: Call) -> Any:
    return draw(v.axes(call.x.ndim))


_ONE_AXIS: Final = ("argmax", "argmin", "repeat", "take")
_SOME_AXES: Final = ("all", "any", "count_nonzero", "flip", "max", "mean", "min", "prod", "std")
_SOME_AXES_TOO: Final = ("sum", "var", "vector_norm")


@_for(*(f"{name}.axis" for name in _ONE_AXIS))
def _axis_or_none(draw: st.DrawFn, call: Call) -> Any:
    return draw(st.none() | v.axes(call.x.ndim)) if call.x.ndim else None


@_for(*(f"{name}.axis" for name in _SOME_AXES + _SOME_AXES_TOO))
def _axes_or_none(draw: st.DrawFn, call: Call) -> Any:
    if not call.x.ndim:
        return None
    some = v.axis_tuples(call.x.ndim).filter(bool)
    return draw(st.none() | v.axes(call.x.ndim) | some)


DRAWERS["cumulative_sum.axis"] = DRAWERS["cumulative_prod.axis"] = _axis
DRAWERS["expand_dims.axis"] = lambda draw, call: draw(v.axes(call.x.ndim + 1))


@_for("squeeze.axis")
def _single_axes(draw: st.DrawFn, call: Call) -> Any:
    single = [axis for axis, n in enumerate(call.x.shape) if n == 1]
    single = [axis - call.x.ndim if draw(st.booleans()) else axis for axis in single]
    if single and draw(st.booleans()):
        return draw(st.sampled_from(single))
    return tuple(single)


@_for("permute_dims.axes")
def _order(draw: st.DrawFn, call: Call) -> Any:
    order = draw(st.permutations(range(call.x.ndim)))
    return tuple(axis - call.x.ndim if draw(st.booleans()) else axis for axis in order)


@_for("moveaxis.source", "moveaxis.destination")
def _moved(draw: st.DrawFn, call: Call) -> Any:
    ndim = call.x.ndim
    count = call.memo.setdefault("count", draw(st.integers(0, ndim)))
    chosen = draw(st.permutations(range(ndim)))[:count]
    own = tuple(axis - ndim if draw(st.booleans()) else axis for axis in chosen)
    if count == 1 and call.memo.setdefault("plain", draw(st.booleans())):
        return own[0]
    return own


@_for("fftshift.axes", "ifftshift.axes")
def _shifted_axes(draw: st.DrawFn, call: Call) -> Any:
    return draw(st.none() | v.axes(call.x.ndim) | v.axis_tuples(call.x.ndim))


@_for("s")
def _sizes(draw: st.DrawFn, call: Call) -> Any:
    chosen = draw(st.permutations(range(call.x.ndim)))[: draw(st.integers(1, call.x.ndim))]
    call.memo["axes"] = tuple(chosen)
    return tuple(draw(st.integers(2, 4)) for _ in chosen)


@_for("fftn.axes", "ifftn.axes", "rfftn.axes", "irfftn.axes")
def _transformed(draw: st.DrawFn, call: Call) -> Any:
    some = v.axis_tuples(call.x.ndim).filter(bool)
    return call.memo["axes"] if "axes" in call.memo else draw(some)


# ---------------------------------------------------------------- types and devices


@_for("dtype")
def _dtype(draw: st.DrawFn, call: Call) -> Any:
    return draw(st.none() | v.dtypes(call.row.kind).map(Named))


@_for("astype.dtype")
def _target(draw: st.DrawFn, call: Call) -> Any:
    to = draw(v.dtypes("complex floating" if call.x.dtype in COMPLEX else "all"))
    if call.x.dtype in REAL and to in INTEGERS:  # what does not fit is not defined
        tame = np.nan_to_num(np.abs(call.x.values), nan=3, posinf=7, neginf=7)
        call.given["x"] = Arr(np.minimum(tame, 100).astype(call.x.dtype), call.x.layout)
    return Named(to)


@_for("sum.dtype", "prod.dtype", "cumulative_sum.dtype", "cumulative_prod.dtype", "trace.dtype")
def _accumulated(draw: st.DrawFn, call: Call) -> Any:
    own = call.x.dtype
    to = COMPLEX if own in COMPLEX else REAL + COMPLEX if own in REAL else KINDS["numeric"]
    return draw(st.none() | st.sampled_from(to).map(Named))


@_for("linspace.dtype")
def _floating(draw: st.DrawFn, call: Call) -> Any:
    ends = (call.given["start"], call.given["stop"])
    to = COMPLEX if any(isinstance(end, complex) for end in ends) else REAL + COMPLEX
    return draw(st.none() | st.sampled_from(to).map(Named))


@_for("arange.dtype")
def _counted(draw: st.DrawFn, call: Call) -> Any:
    floats = any(isinstance(one, float) for one in call.given.values())
    to = REAL if floats else (*REAL, "int8", "int16", "int32", "int64")
    return draw(st.none() | st.sampled_from(to).map(Named))


@_for("full.fill_value", "full_like.fill_value")
def _filling(draw: st.DrawFn, call: Call) -> Any:
    like = call.name == "full_like" and draw(st.booleans())
    dtype = call.x.dtype if like else draw(v.dtypes("all"))
    call.memo["dtype"] = OMIT if like else Named(dtype)
    value = draw(v.scalars(dtype))
    plain = call.name == "full" and dtype in {"bool", "int64", "float64", "complex128"}
    if plain and draw(st.booleans()):
        call.memo["dtype"] = OMIT
    return value


DRAWERS["full.dtype"] = DRAWERS["full_like.dtype"] = lambda draw, call: call.memo["dtype"]  # noqa: ARG005

_one_of("device", choices=(None, Named("device")))
_one_of("keepdims", "descending", "include_initial", "endpoint", choices=(True, False))
_one_of("upper", "full_matrices", "invert", choices=(True, False))
_one_of("copy", choices=(True, False))
_one_of("stable", choices=(True, False))
_one_of("side", choices=("left", "right"))
_one_of("indexing", choices=("xy", "ij"))
_one_of("norm", choices=("backward", "ortho", "forward"))
_one_of("mode", choices=("reduced", "complete"))
_one_of("correction", choices=(0, 1, 0.0, 1.0, 0.5))
_one_of("vector_norm.ord", choices=(2, 1, 0, 3, _INF, -_INF, -1, -2, 0.5, 2.0))
_one_of("matrix_norm.ord", choices=("fro", "nuc", 1, -1, 2, -2, _INF, -_INF))
_one_of("matrix_power.n", choices=(0, 1, 2, 3, 4, -1, -2))
_one_of("diff.n", choices=(0, 1, 2))
_one_of("n", choices=(1, 2, 3, 4, 5, 8))
_one_of("d", choices=(1.0, 0.5, 2.0, 3))
_one_of("k", "offset", choices=(0, 1, -1, 2, -2, 3, -4))
_one_of("num", choices=(0, 1, 2, 3, 5))
_one_of("start", "stop", choices=(0, 1, 3, -2, 7, 0.5, -2.5, 4.0))
_one_of("linspace.start", "linspace.stop", choices=(0, 1, -2, 7, 0.5, -2.5, 4.0, 1j, 2 - 1j))
_one_of("step", choices=(1, 2, -1, 3, 0.5, -0.75))
_one_of("n_rows", "n_cols", choices=(0, 1, 2, 3, 4))


@_for("asarray.copy", "reshape.copy")
def _copy(draw: st.DrawFn, call: Call) -> Any:
    del call
    return draw(st.sampled_from((None, True, False)))


@_for("argsort.stable")
def _stable(draw: st.DrawFn, call: Call) -> Any:
    """Which of some equal elements is first is open when the order need not be stable."""
    alone = np.unique(call.x.values).size == call.x.values.size
    return draw(st.booleans()) if alone else True


@_for("rtol")
def _tolerance(draw: st.DrawFn, call: Call) -> Any:
    if draw(st.booleans()):
        return draw(st.sampled_from((0.0, 0.01, 0.5, 1e-6)))
    real = {"complex64": "float32", "complex128": "float64"}.get(call.x.dtype, call.x.dtype)
    lead = call.x.shape[:-2]
    return Arr(np.full(lead, draw(st.sampled_from((0.01, 0.5, 1e-6))), real))
