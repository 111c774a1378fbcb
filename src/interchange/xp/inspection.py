"""Capabilities of the namespace: devices, element types, defaults.

Source: array API standard 2025.12, Inspection (``__array_namespace_info__``).
"""

from __future__ import annotations

from typing import Any, Final

from interchange._libraries.selection import backend_of, backends_in_use
from interchange._types.devices import CPU, Device
from interchange._types.dtype_table import KINDS
from interchange._types.dtypes import DType
from interchange._types.errors import ViewError, show

_CALL: Final = "xp.__array_namespace_info__()"
_MOST_AXES: Final = 64
_DEFAULTS: Final = {
    "real floating": float,
    "complex floating": complex,
    "integral": int,
    "indexing": int,
}


class Info:
    """Capabilities of `interchange.xp`.

    Notes
    -----
    Source: array API standard 2025.12, Inspection.

    Examples
    --------
    >>> from interchange import xp
    >>> xp.__array_namespace_info__().default_device()
    Device('cpu')
    """

    def capabilities(self) -> dict[str, Any]:
        """Return the optional features of the standard, and whether they are supported."""
        return {
            "boolean indexing": True,
            "data-dependent shapes": True,
            "max dimensions": _MOST_AXES,
        }

    def default_device(self) -> Device:
        """Return the default device of new arrays: the host."""
        return CPU

    def devices(self) -> tuple[Device, ...]:
        """Return the host, and the devices on which something was computed already."""
        found = dict.fromkeys([CPU, *(backend.device for backend in backends_in_use())])
        return tuple(found)

    def default_dtypes(self, *, device: Any = None) -> dict[str, DType]:
        """Return the default element types of arrays.

        Parameters
        ----------
        device : Device, str or tuple[int, int], optional
            The device; by default the host.
        """
        backend = backend_of(CPU if device is None else Device.of(device, _CALL), _CALL)
        asarray = backend.function("asarray")
        with backend.current():
            return {
                kind: backend.dtype_of(asarray(number(), **backend.keywords()).dtype)
                for kind, number in _DEFAULTS.items()
            }

    def dtypes(
        self, *, device: Any = None, kind: str | tuple[str, ...] | None = None
    ) -> dict[str, DType]:
        """Return the element types that are computed with.

        Parameters
        ----------
        device : Device, str or tuple[int, int], optional
            The device; by default the host.
        kind : str or tuple[str, ...], optional
            A kind, as for ``isdtype``.

        Raises
        ------
        ViewError
            The kind is unknown (IX-XP-7).
        """
        backend = backend_of(CPU if device is None else Device.of(device, _CALL), _CALL)
        wanted = _categories(kind)
        found = {name: DType.of(name) for name in backend.dtypes()}
        return {name: dtype for name, dtype in found.items() if dtype.category in wanted}


def _categories(kind: Any) -> frozenset[str]:
    """Return the categories of a kind, or of several; by default all."""
    if kind is None:
        return frozenset(KINDS["bool"] + KINDS["numeric"])
    if isinstance(kind, tuple):
        return frozenset().union(*map(_categories, kind))
    if not isinstance(kind, str) or kind not in KINDS:
        raise ViewError(_CALL, f"kind={show(kind)}", "IX-XP-7", f"one of {', '.join(KINDS)}")
    return frozenset(KINDS[kind])
