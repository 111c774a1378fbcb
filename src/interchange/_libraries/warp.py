"""NVIDIA Warp, whose arrays are always writable.

Source: Warp, ``warp.array``, ``warp.from_dlpack``.
"""

from __future__ import annotations

from typing import Any, Final

from interchange._types.library import Deviation, Library

from .target import Target


def _take(module: Any, array: Any) -> Any:
    """Return an array of Warp."""
    module.init()  # needed before the first array; later calls do nothing
    return module.from_dlpack(array)


_DEVIATIONS: Final = (
    Deviation(
        "warp",
        "1.19.0",
        "from_dlpack() of another library's array raises before wp.init()",
        "IX-CONVERT-2",
        "convert() calls it",
    ),
    Deviation(
        "warp",
        "1.19.0",
        "the deleter and the capsule destructor are Python callbacks",
        "DLP-LIFE-4",
        "the capsule is renamed and its deleter called from a finaliser, where it can do no harm",
    ),
)

LIBRARY: Final = Library(
    "warp",
    deviations=_DEVIATIONS,
    is_array_library=True,
    always_writable=True,
    may_mask_records=False,
    targets={"warp": Target("warp", _take, keeps_readonly=False)},
    result_types=(("warp", "array", "warp"),),
)
