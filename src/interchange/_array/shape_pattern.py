"""Patterns of shapes: extents, wildcards, names bound to one extent, and ``...``.

Rule: IX-REQUIRE-1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from interchange._types.devices import is_index
from interchange._types.errors import ArgumentError, show
from interchange.abi._records import NamedTuple

if TYPE_CHECKING:
    from types import EllipsisType

_MOST_AXES: Final = 64
_HINT: Final = "pass a tuple of ints, None, names and at most one ..."


class Bound(NamedTuple):
    """The extent that a name is bound to, and where it was found."""

    extent: int  # the extent [elements]
    where: str  # the axis, and the argument


class ShapePattern:
    """A shape with extents that are not fixed.

    `given`: extents [elements]; None or -1 for any; a name for an extent that is the same wherever
        the name is used; ``...``, at most once, for any number of axes.

    Attributes
    ----------
    least : int
        The minimum number of axes; the exact number without ``...``.
    is_open : bool
        Whether the pattern contains ``...``.
    fixed, named : tuple
        Axis -> extent, and axis -> name; axes after ``...`` count from the end.

    Raises ArgumentError: the pattern is invalid (IX-ARGUMENT-1).
    """

    __slots__ = ("_words", "fixed", "is_open", "least", "named")

    def __init__(self, given: object, call: str) -> None:
        if not isinstance(given, (tuple, list)) or not all(map(_is_extent, given)):
            raise ArgumentError(call, f"shape={show(given)} is not a shape", "IX-ARGUMENT-1", _HINT)
        openings = [place for place, extent in enumerate(given) if extent is ...]
        if len(openings) > 1 or len(given) > _MOST_AXES + len(openings):
            what = f"shape={show(given)} has {len(openings)} times ... and {len(given)} entries"
            raise ArgumentError(call, what, "IX-ARGUMENT-1", _HINT)
        self.is_open = bool(openings)
        self.least = len(given) - self.is_open
        places = range(len(given))
        end = openings[0] if openings else len(given)
        axes = [place if place < end else place - len(given) for place in places]
        pairs = [(axis, one) for axis, one in zip(axes, given, strict=True) if one is not ...]
        self.fixed: tuple[tuple[int, int], ...] = tuple(
            (axis, int(one)) for axis, one in pairs if is_index(one) and one != -1
        )
        self.named: tuple[tuple[int, str], ...] = tuple(
            (axis, one) for axis, one in pairs if isinstance(one, str)
        )
        self._words: tuple[int | str | EllipsisType | None, ...] = tuple(
            None if is_index(one) and one == -1 else one for one in given
        )

    def has_axes(self, ndim: int) -> bool:
        """Return whether shapes with this number of axes can match."""
        return ndim >= self.least if self.is_open else ndim == self.least

    def fits(self, shape: tuple[int, ...]) -> bool:
        """Return whether a shape matches, names aside [elements]."""
        return self.has_axes(len(shape)) and all(shape[axis] == one for axis, one in self.fixed)

    def violations(self, shape: tuple[int, ...], bound: dict[str, Bound], name: str) -> list[str]:
        """Return the axes that differ, as text; new names are bound.

        `bound`: the extents that names are bound to so far.
        """
        ndim = len(shape)
        if not self.has_axes(ndim):
            least = "at least " if self.is_open else ""
            return [f"it has {_axes(ndim)}, not {least}{self.least}"]
        found = []
        for axis, wanted in sorted((*self.fixed, *self.named), key=lambda pair: pair[0] % ndim):
            extent, place = shape[axis], axis % ndim
            if not isinstance(wanted, str):
                if extent != wanted:
                    found.append(f"axis {place} is {extent}, not {show(wanted)}")
                continue
            first = bound.setdefault(wanted, Bound(extent, f"axis {place} of {name!r}"))
            if extent != first.extent:
                why = f"{wanted} is {first.extent} by {first.where}"
                found.append(f"axis {place} is {extent}, and {why}")
        return found

    def resolved(self, ndim: int, extents: dict[str, int]) -> tuple[int | None, ...] | None:
        """Return the extent of each axis, None if free; None if the number of axes differs."""
        if not self.has_axes(ndim):
            return None
        found: list[int | None] = [None] * ndim
        for axis, extent in self.fixed:
            found[axis] = extent
        for axis, name in self.named:
            found[axis] = extents.get(name)
        return tuple(found)

    def agrees(self, shape: tuple[int, ...], extents: dict[str, int]) -> bool:
        """Return whether each name has one extent; new names are bound if so."""
        known = dict(extents)
        for axis, name in self.named:
            if known.setdefault(name, shape[axis]) != shape[axis]:
                return False
        extents.update(known)
        return True

    def __str__(self) -> str:
        words = ["..." if one is ... else show(one) for one in self._words]
        return f"({words[0]},)" if len(words) == 1 else f"({', '.join(words)})"

    def described(self, extents: dict[str, int]) -> str:
        """Return the pattern, and the extents of its names."""
        names = dict.fromkeys(name for _, name in self.named if name in extents)
        known = " and ".join(f"{name} is {extents[name]}" for name in names)
        return f"{self}, where {known}" if known else str(self)


def _is_extent(value: Any) -> bool:
    """Whether a value may be part of a pattern."""
    if isinstance(value, str):
        return value.isidentifier()
    return value is None or value is ... or (is_index(value) and value >= -1)


def _axes(count: int) -> str:
    """Return a number of axes as text."""
    return f"{count} axis" if count == 1 else f"{count} axes"
