"""Functions of a user: they receive Arrays, and callers pass any array."""

from typing import Any

import numpy as np
from typing_extensions import assert_type

import interchange as ix


@ix.accepts_arrays("x", "out")
def scale(x: ix.Array, factor: float, *, out: ix.Array | None = None) -> ix.Array:
    """Return the product."""
    assert_type(x.require(ndim=1), ix.Array)
    result = ix.xp.astype(x, "float64") * factor
    if out is not None:
        out[...] = result
    return result


assert_type(scale(np.ones(3), 2.0), ix.Array)
assert_type(scale(x=memoryview(b"abc"), factor=2.0, out=np.ones(3)), ix.Array)


@ix.accepts_arrays(
    points=ix.Contract(dtype="real floating", shape=("n", 3)), weights=ix.Contract(ndim=1)
)
def centre(points: ix.Array, weights: ix.Array | None = None) -> tuple[int, ...]:
    """Return the shape of points that meet a contract."""
    assert_type(points, ix.Array)
    return points.shape if weights is None else (*points.shape, *weights.shape)


assert_type(centre(np.ones((4, 3))), tuple[int, ...])
assert_type(centre(np.ones((4, 3)), weights=b"abcd"), tuple[int, ...])


class Filter:
    """Methods are decorated, too."""

    @ix.accepts_arrays("x")
    def apply(self, x: ix.Array) -> float:
        """Return the first element."""
        return float(x[0])


assert_type(Filter().apply(np.ones(3)), float)

with ix.borrow(np.ones(3), stream=None) as array:
    assert_type(array, ix.Array)
with ix.borrow(np.ones(3), bytearray(3), stream=7, writable=True) as (one, other):
    assert_type(one, ix.Array)
    assert_type(other, ix.Array)

assert_type(ix.inspect(np.ones(3)), ix.Report)
found: Any = ix.like(ix.asarray(b"abc"), np.ones(3))
