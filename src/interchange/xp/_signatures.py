"""Signatures that many functions of the namespace share, for annotations.

Source: array API standard 2025.12.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interchange._array import Array
    from interchange._types.typing import Scalar


class Unary(Protocol):
    """An elementwise function of one array."""

    def __call__(self, x: Array, /) -> Array:
        """Return an array of the results."""


class Binary(Protocol):
    """An elementwise function of two arrays; one of the operands may be a number."""

    def __call__(self, x1: Array | Scalar, x2: Array | Scalar, /) -> Array:
        """Return an array of the results."""


class AlongAxis(Protocol):
    """A Fourier transform along one axis."""

    def __call__(
        self, x: Array, /, *, n: int | None = None, axis: int = -1, norm: str = "backward"
    ) -> Array:
        """Return the transform."""


class AlongAxes(Protocol):
    """A Fourier transform along several axes."""

    def __call__(
        self,
        x: Array,
        /,
        *,
        s: Sequence[int] | None = None,
        axes: Sequence[int] | None = None,
        norm: str = "backward",
    ) -> Array:
        """Return the transform."""


class Shift(Protocol):
    """A shift of the order of frequencies."""

    def __call__(self, x: Array, /, *, axes: int | Sequence[int] | None = None) -> Array:
        """Return the reordered array."""


class Frequencies(Protocol):
    """A function that returns the frequencies of a transform."""

    def __call__(
        self, n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None
    ) -> Array:
        """Return the frequencies."""
