"""NVIDIA Warp, whose arrays are always writable.

Source: Warp, ``warp.array``, ``warp.from_dlpack``.
"""

from __future__ import annotations

import os
import sys
from typing import Any, Final

from interchange._types.library import Deviation, Example, Library

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


def _make_example(module: Any) -> Any:
    """Return an array on the host; Warp prints no banner, nor that there is no driver."""
    module.config.quiet = True
    if hasattr(module, "LOG_ERROR"):
        module.config.log_level = module.LOG_ERROR
    sys.stderr.flush()
    kept, nothing = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 2)  # native code prints there
    try:
        module.init()
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nothing)
    return module.zeros(3, dtype=module.float32, device="cpu")


LIBRARY: Final = Library(
    "warp",
    deviations=_DEVIATIONS,
    is_array_library=True,
    always_writable=True,
    may_mask_records=False,
    targets={"warp": Target("warp", _take, keeps_readonly=False)},
    result_types=(("warp", "array", "warp"),),
    examples=(Example("Warp", "warp", "warp-lang", _make_example, "from_dlpack"),),
)
