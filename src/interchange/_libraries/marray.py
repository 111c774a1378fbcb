"""marray: arrays of the array API with a mask.

Source: marray, ``MArray``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from interchange._types.library import Deviation, Library

if TYPE_CHECKING:
    from interchange._types.library import Loss


def _guard_export(x: Any) -> Loss | None:
    """Return what the export of an array would lose: its mask, which may be of any library."""
    mask = getattr(x, "mask", None)
    if mask is None:
        return None
    some = mask.any() if hasattr(mask, "any") else mask.__array_namespace__().any(mask)
    hint = "fill them first, or exchange data and mask as two arrays"
    return ("the array has masked elements", "AI-MASK-1", hint) if some else None


_DEVIATIONS: Final = (
    Deviation(
        "marray",
        "0.0.12",
        "__dlpack__() hands out the data and forgets the mask",
        "AI-MASK-1",
        "arrays with masked elements are refused; exchange x.data and x.mask as two arrays",
    ),
)

LIBRARY: Final = Library(
    "marray", deviations=_DEVIATIONS, export_guard=_guard_export, may_mask_records=False
)
