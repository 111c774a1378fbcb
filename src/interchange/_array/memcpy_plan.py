"""Splits a strided copy into driver copies: runs, rows of runs, slices of rows.

Source: CUDA driver API, ``CUDA_MEMCPY3D``.  No memory is accessed: positions are counted from the
first elements [bytes].
"""

from __future__ import annotations

from itertools import permutations, product
from math import prod
from operator import itemgetter
from typing import TYPE_CHECKING, Final

from interchange._streams.device_driver import PitchedCopy
from interchange.abi._records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from interchange._types.layout import Ints

MOST_COPIES: Final = 64
"""This number of copies is always allowed, however small each is."""
WORTH_A_COPY: Final = 2**16
"""More copies are allowed if each moves at least this much [bytes]."""
PITCH_END: Final = 2**31
"""The largest pitch of a driver's 2-D copy [bytes]."""


class Axis(NamedTuple):
    """One axis of a copy."""

    extent: int  # number of steps
    # source, target: stride on either side [bytes]
    source: int
    target: int


def plan_copies(
    shape: Ints, source: Ints, target: Ints, itemsize: int, *, is_limited: bool = True
) -> list[PitchedCopy] | None:
    """Return the driver copies that together copy a strided array.

    `source`: strides of the source [elements]; may be negative or zero.
    `target`: strides of the target [elements]; positive, and no two elements overlap.
    `is_limited`: whether to return None if there would be too many.

    Returns copies with positions in place of addresses, relative to the first elements; an empty
        list for an array without elements.

    Examples
    --------
    >>> plan_copies((3, 4), (8, 1), (4, 1), 2)  # half of the columns
    [PitchedCopy(width=8, height=3, depth=1, target=(0, 8, 3), source=(0, 16, 3))]
    >>> plan_copies((100, 100), (-100, -1), (100, 1), 1) is None  # reversed
    True
    """
    if 0 in shape:
        return []
    width, axes = _split_run(_merge(shape, source, target, itemsize), itemsize)
    rows, slices, looped = _choose(axes, width)
    count = prod(axis.extent for axis in looped)
    size = prod(shape) * itemsize
    if is_limited and count > max(MOST_COPIES, size // WORTH_A_COPY):
        return None
    return [_copy(width, rows, slices, *starts) for starts in _starts(looped)]


def _merge(shape: Ints, source: Ints, target: Ints, itemsize: int) -> list[Axis]:
    """Return the axes longer than 1, outermost in the target first, merged where possible."""
    axes = [
        Axis(extent, step * itemsize, place * itemsize)
        for extent, step, place in zip(shape, source, target, strict=True)
        if extent > 1
    ]
    merged: list[Axis] = []
    for axis in sorted(axes, key=itemgetter(2), reverse=True):
        outer = merged[-1] if merged else None
        if outer and (outer.source, outer.target) == (
            axis.extent * axis.source,
            axis.extent * axis.target,
        ):
            merged[-1] = Axis(outer.extent * axis.extent, axis.source, axis.target)
        else:
            merged.append(axis)
    return merged


def _split_run(axes: list[Axis], itemsize: int) -> tuple[int, list[Axis]]:
    """Return the length that is contiguous on both sides [bytes], and the other axes."""
    if axes and axes[-1].source == axes[-1].target == itemsize:
        return axes[-1].extent * itemsize, axes[:-1]
    return itemsize, axes


_ONE: Final = Axis(1, 0, 0)


def _choose(axes: list[Axis], width: int) -> tuple[Axis, Axis, list[Axis]]:
    """Return the axes for rows and slices of each copy, the longest that fit, and the rest."""
    best: tuple[Axis, Axis] = (_ONE, _ONE)
    rows = [axis for axis in axes if _are_rows(axis, width)]
    for row in rows:
        if row.extent > _steps(best):
            best = (row, _ONE)
    for row, other in permutations(axes, 2):
        if row in rows and row.extent * other.extent > _steps(best) and _are_slices(other, row):
            best = (row, other)
    return (*best, [axis for axis in axes if axis not in best])


def _steps(axes: Iterable[Axis]) -> int:
    """Return the number of runs of one copy."""
    return prod(axis.extent for axis in axes)


def _are_rows(axis: Axis, width: int) -> bool:
    """Whether an axis can serve as rows: they do not overlap, and the pitch is small enough."""
    return all(width <= step < PITCH_END for step in axis[1:])


def _are_slices(axis: Axis, row: Axis) -> bool:
    """Whether an axis can serve as slices: each is a whole number of rows after the last."""
    return all(
        step >= row.extent * pitch and step % pitch == 0
        for step, pitch in zip(axis[1:], row[1:], strict=True)
    )


def _starts(axes: list[Axis]) -> Iterator[tuple[int, int]]:
    """Return where each copy starts, in the source and in the target [bytes]."""
    for place in product(*(range(axis.extent) for axis in axes)):
        steps = list(zip(place, axes, strict=True))
        yield (
            sum(index * axis.source for index, axis in steps),
            sum(index * axis.target for index, axis in steps),
        )


def _copy(width: int, rows: Axis, slices: Axis, source: int, target: int) -> PitchedCopy:
    """Return one copy; pitches that are not used are those of a contiguous block."""
    return PitchedCopy(
        width,
        rows.extent,
        slices.extent,
        (target, *_pitches(width, rows, slices.target, rows.target)),
        (source, *_pitches(width, rows, slices.source, rows.source)),
    )


def _pitches(width: int, rows: Axis, slice_step: int, row_step: int) -> tuple[int, int]:
    """Return the steps from row to row [bytes] and from slice to slice [rows]."""
    pitch = row_step or width
    return pitch, slice_step // pitch or rows.extent
