"""Layouts: shape and strides, and integer arithmetic on them.  No memory is accessed.

Source: dlpack.h (``DLTensor.shape``, ``DLTensor.strides``); array API standard 2025.12 (Indexing).
Python's integers do not overflow; values that do not fit into a signed integer as wide as
addresses, as NumPy and buffers have them, are refused when a layout is made, so that C never gets
them.
"""

from __future__ import annotations

import sys
from itertools import accumulate
from math import prod
from operator import mul
from typing import Final

from .errors import ViewError, show
from .indices import (
    INT64_MAX as INT64_MAX,  # noqa: PLC0414
    expand_key,
    position_of,
    slice_indices,
)

MOST_AXES: Final = 64
MOST_BYTES: Final = sys.maxsize  # that shape and strides count or span: `intptr_t` of C

Ints = tuple[int, ...]


def c_strides(shape: Ints) -> Ints:
    """Return the strides of a row-major array [elements].

    Extents of 0 count as 1, so that strides stay distinct and none is 0.

    Examples
    --------
    >>> c_strides((2, 3, 4))
    (12, 4, 1)
    """
    tail = [extent or 1 for extent in shape[:0:-1]]
    return tuple(accumulate(tail, mul, initial=1))[::-1] if shape else ()


def f_strides(shape: Ints) -> Ints:
    """Return the strides of a column-major array [elements].

    Examples
    --------
    >>> f_strides((2, 3, 4))
    (1, 2, 6)
    """
    return c_strides(shape[::-1])[::-1]


def problem(shape: Ints, strides: Ints | None, itemsize: int) -> tuple[str, str] | None:
    """Return why shape and strides cannot describe memory: (what, rule id), or None.

    `strides`: step along each axis [elements]; None for C order.

    Examples
    --------
    >>> problem((2, -1), None, 4)
    ('shape (2, -1) has a negative extent', 'DLP-SHAPE-3')
    """
    if len(shape) > MOST_AXES:
        return f"ndim is {len(shape)}", "DLP-SHAPE-1"
    if shape and min(shape) < 0:
        return f"shape {show(shape)} has a negative extent", "DLP-SHAPE-3"
    # An extent of 0 does not make other extents valid: consumers multiply in any order.
    size = prod(extent or 1 for extent in shape) if 0 in shape else prod(shape)
    if size * itemsize > MOST_BYTES:
        return f"shape {show(shape)} of {itemsize}-byte elements is too large", "DLP-SHAPE-4"
    if strides is None:
        return None
    if strides and (max(strides) > INT64_MAX or min(strides) < -INT64_MAX - 1):
        return f"strides {show(strides)} do not fit", "DLP-STRIDES-2"
    low, high = byte_bounds(shape, strides, itemsize)
    if low < -MOST_BYTES or high > MOST_BYTES:
        return f"shape {shape} with strides {strides} spans {high - low} bytes", "DLP-STRIDES-2"
    return None


def byte_bounds(shape: Ints, strides: Ints, itemsize: int) -> tuple[int, int]:
    """Return the bytes a strided array touches, relative to its first element.

    `strides`: step along each axis [elements].  May be negative or zero.

    `low`, `high`: half-open range ``low <= b < high`` [bytes].  ``low`` is negative when an axis
        runs backwards; ``(0, 0)`` when the array has no elements.

    Raises ValueError: `shape` and `strides` differ in length.

    Source: dlpack.h 1.3, ``DLTensor.strides``.  The CUDA Array Interface counts strides in bytes:
    divide first.

    Examples
    --------
    >>> byte_bounds((2, 3), (3, 1), 4)  # C order
    (0, 24)
    >>> byte_bounds((4,), (-1,), 8)  # reversed: the first element comes last
    (-24, 8)
    """
    if len(shape) != len(strides):
        raise ValueError(f"shape {shape} and strides {strides} differ in length")
    if 0 in shape:
        return 0, 0
    reach = [(extent - 1) * step for extent, step in zip(shape, strides, strict=True)]
    low = sum(offset for offset in reach if offset < 0)
    high = sum(offset for offset in reach if offset > 0)
    return low * itemsize, (high + 1) * itemsize


def strides_in_elements(shape: Ints, strides: Ints, itemsize: int) -> Ints | None:
    """Return byte strides as element strides, or None if they are not multiples of the size.

    `strides`: step along each axis [bytes].

    Along axes shorter than 2 a stride has no meaning, and one that does not divide becomes the
    stride of a dense axis (DLP-STRIDES-3).

    Examples
    --------
    >>> strides_in_elements((2, 3), (-12, 4), 4)
    (-3, 1)
    >>> strides_in_elements((2,), (6,), 4) is None
    True
    """
    if not itemsize:
        return None
    matters = 0 not in shape
    steps = []
    for extent, step, dense in zip(shape, strides, c_strides(shape), strict=True):
        count, rest = divmod(step, itemsize)
        if rest and extent > 1 and matters:
            return None
        steps.append(dense if rest else count)
    return tuple(steps)


class Layout:
    """A shape and its strides.  A value: hashable, compared by both, never changed.

    `strides`: step along each axis [elements]; by default C order.

    Examples
    --------
    >>> Layout((2, 3)).strides
    (3, 1)
    >>> Layout((2, 3)).permute((1, 0))
    Layout(shape=(3, 2), strides=(1, 3))
    """

    __slots__ = ("shape", "size", "strides")

    shape: Ints
    """Extent of each axis [elements]."""
    strides: Ints
    """Step along each axis [elements]."""
    size: int
    """Number of elements."""

    def __init__(self, shape: Ints, strides: Ints | None = None) -> None:
        self.shape = shape
        self.strides = c_strides(shape) if strides is None else strides
        self.size = prod(shape)

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def is_c_contiguous(self) -> bool:
        """Whether elements are contiguous in C order; True without elements."""
        return self._is_contiguous(c_strides(self.shape))

    @property
    def is_f_contiguous(self) -> bool:
        """Whether elements are contiguous in F order; True without elements."""
        return self._is_contiguous(f_strides(self.shape))

    def _is_contiguous(self, dense: Ints) -> bool:
        """Compare strides with `dense`, except along axes where they have no meaning."""
        if self.size == 0:
            return True
        return all(
            step == expected or extent == 1
            for extent, step, expected in zip(self.shape, self.strides, dense, strict=True)
        )

    @property
    def may_overlap(self) -> bool:
        """Whether two indices may refer to one element (exact for nested axes, else conservative).

        Examples
        --------
        >>> Layout((3, 4), (0, 1)).may_overlap
        True
        >>> Layout((3, 4), (8, 2)).may_overlap
        False
        """
        if self.size <= 1:
            return False
        axes = sorted((abs(s), e) for e, s in zip(self.shape, self.strides, strict=True) if e > 1)
        reach = 0
        for step, extent in axes:
            if step <= reach:
                return True
            reach += step * (extent - 1)
        return False

    def byte_bounds(self, itemsize: int) -> tuple[int, int]:
        """Return the half-open range of bytes of the elements, from the first element [bytes]."""
        return byte_bounds(self.shape, self.strides, itemsize)

    def strides_in_bytes(self, itemsize: int) -> Ints:
        """Return the strides [bytes]."""
        return tuple(step * itemsize for step in self.strides)

    def fitting(self, itemsize: int) -> Layout:
        """Return a layout of the same elements whose strides fit as a number of bytes, too.

        A stride that leads to another element fits if `problem` finds nothing.  One that leads to
        none may be any number: along an axis of length 1, or of an array without elements.  It
        becomes the stride of a dense axis if it does not fit, and the others are kept.

        Examples
        --------
        >>> Layout((2, 3, 1), (1, 2, 2**62)).fitting(8)
        Layout(shape=(2, 3, 1), strides=(1, 2, 1))
        """
        strides = self.strides
        most = MOST_BYTES // (itemsize or 1)
        if not strides or (max(strides) <= most and min(strides) >= -most):
            return self
        steps = zip(self.shape, strides, c_strides(self.shape), strict=True)
        return Layout(
            self.shape,
            tuple(
                dense if abs(step) > most and (extent == 1 or not self.size) else step
                for extent, step, dense in steps
            ),
        )

    def permute(self, axes: Ints, call: str = "permute_dims()") -> Layout:
        """Return the layout with its axes in another order, as `ArrayBase.permute_dims`."""
        ndim = len(self.shape)
        normal = tuple(axis + ndim if axis < 0 else axis for axis in axes)
        if sorted(normal) != list(range(ndim)):
            what = f"axes={show(axes)} on {ndim} axes"
            raise ViewError(call, what, "IX-AXES-1")
        return Layout(
            tuple(self.shape[axis] for axis in normal), tuple(self.strides[axis] for axis in normal)
        )

    def broadcast(self, shape: Ints, call: str = "broadcast_to()") -> Layout:
        """Return the layout broadcast to `shape`, with strides of 0.

        Raises ViewError: an axis longer than 1 would change its length (IX-VIEW-1).

        Examples
        --------
        >>> Layout((3, 1)).broadcast((2, 3, 4))
        Layout(shape=(2, 3, 4), strides=(0, 1, 0))
        """
        if any(extent < 0 for extent in shape):
            raise ViewError(call, f"shape={show(shape)} has a negative extent", "IX-VIEW-1")
        lead = len(shape) - len(self.shape)
        pairs = list(zip(self.shape, shape[max(lead, 0) :], strict=lead >= 0))
        if lead < 0 or any(old not in {1, new} for old, new in pairs):
            what = f"shape {self.shape} does not spread to {show(shape)}"
            raise ViewError(call, what, "IX-VIEW-1", "spread axes of length 1 only")
        steps = (
            0 if old != new else step for (old, new), step in zip(pairs, self.strides, strict=True)
        )
        return Layout(shape, (0,) * lead + tuple(steps))

    def reshape(self, shape: Ints) -> Layout | None:
        """Return the layout with the same elements in the same order under another shape.

        `shape`: extents with the same product [elements], all of them known.

        Returns None if that needs a copy of the elements.

        Examples
        --------
        >>> Layout((4, 6)).reshape((2, 2, 6))
        Layout(shape=(2, 2, 6), strides=(12, 6, 1))
        >>> Layout((4, 6), (1, 4)).reshape((24,)) is None
        True
        """
        if prod(shape) != self.size:
            return None
        if self.size == 0:
            return Layout(shape)
        runs = self._runs()
        strides: list[int] = []
        for extent in reversed(shape):
            while runs and runs[-1][0] == 1:
                runs.pop()
            if extent == 1:
                strides.append(0)
                continue
            length, step = runs[-1]
            if length % extent:
                return None
            strides.append(step)
            runs[-1] = (length // extent, step * extent)
        return Layout(shape, _fill_ones(shape, tuple(reversed(strides))))

    def _runs(self) -> list[tuple[int, int]]:
        """Return the axes merged if one continues the next: (extent, stride) [elements]."""
        runs: list[tuple[int, int]] = []
        for extent, step in zip(self.shape, self.strides, strict=True):
            if extent == 1:
                continue
            if runs and runs[-1][1] == extent * step:
                runs[-1] = (runs[-1][0] * extent, step)
            else:
                runs.append((extent, step))
        return runs

    def index(self, key: object, call: str = "Array.__getitem__()") -> tuple[Layout, int]:
        """Return the layout of a basic index, and the offset of its first element.

        `key`: as in the array API standard, with NumPy's rule that slices are clipped.

        `layout`: the layout of the selected elements.
        `offset`: offset of its first element from the first element of this layout [elements].

        Raises OutOfBoundsError: an int out of bounds, too many indices, or a kind of index that
            needs a copy (IX-INDEX-1).
        Raises ViewError: a slice with a step of 0 (IX-INDEX-1).

        Examples
        --------
        >>> Layout((4, 6)).index((1, slice(None, None, -2)))
        (Layout(shape=(3,), strides=(-2,)), 11)
        """
        shape: list[int] = []
        strides: list[int] = []
        offset = 0
        axis = 0
        for part in expand_key(key, len(self.shape), call):
            if part is None:
                shape.append(1)
                strides.append(0)
                continue
            extent, step = self.shape[axis], self.strides[axis]
            axis += 1
            if isinstance(part, slice):
                start, stop, stride = slice_indices(part, extent, call)
                count = len(range(start, stop, stride))
                shape.append(count)
                strides.append(step * stride if count > 1 else step)
                offset += start * step if count else 0
            else:
                offset += position_of(part, extent, call) * step
        fresh = Layout(tuple(shape), _fill_ones(tuple(shape), tuple(strides)))
        return fresh, offset if fresh.size else 0

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Layout):
            return NotImplemented
        return (self.shape, self.strides) == (other.shape, other.strides)

    def __hash__(self) -> int:
        return hash((self.shape, self.strides))

    def __repr__(self) -> str:
        return f"Layout(shape={self.shape}, strides={self.strides})"


def _fill_ones(shape: Ints, strides: Ints) -> Ints:
    """Replace stride 0 of axes of length 1 by that of a dense axis, which consumers accept best."""
    filled = list(strides)
    span = 1
    for axis in reversed(range(len(shape))):
        if shape[axis] == 1 and filled[axis] == 0:
            filled[axis] = span
        elif filled[axis]:
            span = abs(filled[axis]) * max(shape[axis], 1)
    return tuple(filled)
