"""The extension ``fft``.

Source: array API standard 2025.12, Fourier transform Functions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._calls import apply, create, plain
from ._documentation import document

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interchange._array import Array

    from ._signatures import AlongAxes, AlongAxis, Frequencies, Shift

__all__ = [
    "fft", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifftn", "ifftshift", "ihfft", "irfft",
    "irfftn", "rfft", "rfftfreq", "rfftn",
]  # fmt: skip


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)


def _along_axis(name: str) -> AlongAxis:
    """Return the transform `name` of the standard along one axis."""

    def function(
        x: Array, /, *, n: int | None = None, axis: int = -1, norm: str = "backward"
    ) -> Array:
        return apply(f"fft.{name}", x, n=plain(n), axis=plain(axis), norm=norm)

    function.__name__ = name
    return document(function)


def _along_axes(name: str) -> AlongAxes:
    """Return the transform `name` of the standard along several axes."""

    def function(
        x: Array,
        /,
        *,
        s: Sequence[int] | None = None,
        axes: Sequence[int] | None = None,
        norm: str = "backward",
    ) -> Array:
        return apply(f"fft.{name}", x, s=plain(s), axes=plain(axes), norm=norm)

    function.__name__ = name
    return document(function)


def _shift(name: str) -> Shift:
    """Return the shift of frequencies `name` of the standard."""

    def function(x: Array, /, *, axes: int | Sequence[int] | None = None) -> Array:
        return apply(f"fft.{name}", x, axes=plain(axes))

    function.__name__ = name
    return document(function)


def _frequencies(name: str) -> Frequencies:
    """Return the function of frequencies `name` of the standard."""

    def function(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Array:
        return create(f"fft.{name}", (plain(n),), dtype, device, d=d)

    function.__name__ = name
    return document(function)


fft: AlongAxis = _along_axis("fft")
fftfreq: Frequencies = _frequencies("fftfreq")
fftn: AlongAxes = _along_axes("fftn")
fftshift: Shift = _shift("fftshift")
hfft: AlongAxis = _along_axis("hfft")
ifft: AlongAxis = _along_axis("ifft")
ifftn: AlongAxes = _along_axes("ifftn")
ifftshift: Shift = _shift("ifftshift")
ihfft: AlongAxis = _along_axis("ihfft")
irfft: AlongAxis = _along_axis("irfft")
irfftn: AlongAxes = _along_axes("irfftn")
rfft: AlongAxis = _along_axis("rfft")
rfftfreq: Frequencies = _frequencies("rfftfreq")
rfftn: AlongAxes = _along_axes("rfftn")
