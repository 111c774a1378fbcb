"""Dask; its hooks for Arrays as chunks are in `interchange._functions.dask`.

Source: Dask, ``dask.array.Array``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from interchange._protocols.export_guards import is_masked_array
from interchange._types.library import Deviation, Library

from .array_api import ArrayAPI

if TYPE_CHECKING:
    from interchange._types.library import Loss


def _guard_export(x: Any) -> Loss | None:
    """Return what the export of an array would lose: masks of chunks, not computed so far."""
    if not is_masked_array(getattr(x, "_meta", None)):
        return None
    return "its chunks are masked arrays", "AI-MASK-1", "fill them first, with `da.ma.filled(x, 0)`"


_DEVIATIONS: Final = (
    Deviation(
        "dask",
        "2026.8.0",
        "__array__() computes at each call, whatever copy= says, and forgets masks of chunks",
        "AI-ARRAY-1",
        "asarray() computes where copy=True says so, and refuses arrays with masked chunks",
    ),
)

LIBRARY: Final = Library(
    "dask",
    deviations=_DEVIATIONS,
    is_array_library=True,
    export_guard=_guard_export,
    may_mask_records=False,
    array_method_computes=True,
    array_api=ArrayAPI(
        "dask",
        "dask.array",
        (("dask.array", "Array"),),
        "array_api_compat.dask.array",
        keeps_masks=True,
    ),
    result_types=(("dask.array", "Array", ""),),
)
