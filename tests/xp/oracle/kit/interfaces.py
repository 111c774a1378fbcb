"""Names and signatures of array-api-strict that differ from those of the standard, or from ours.

Source: array API standard 2025.12; `interchange.from_dlpack` for additional parameters.
"""

from __future__ import annotations

from typing import Final

UNLISTED: Final = {
    "its own": {
        "ArrayAPIStrictFlags",
        "Device",
        "__version__",
        "get_array_api_strict_flags",
        "reset_array_api_strict_flags",
        "set_array_api_strict_flags",
    },
    "linalg": {"eig", "eigvals"},  # new in 2025.12: defined there, but not in its __all__
    "fft": set(),
}
"""Corrections of array-api-strict's lists, where they differ from the standard."""

SIGNATURES: Final = {
    ("astype", "device"): None,
    ("from_dlpack", "device"): None,
    ("from_dlpack", "copy"): None,
    ("__dlpack__", "max_version"): None,
    ("__dlpack__", "dl_device"): None,
    ("__dlpack__", "copy"): None,
}
"""Defaults of the standard where array-api-strict uses its own sentinel for "not given"."""

BESIDE: Final = {
    "array.to_device": {"out"},
    "from_dlpack": {"stream", "assume_writable"},  # as of interchange.from_dlpack
}
"""Parameters beside those of the standard: optional, and only by keyword."""

KINDS: Final = {("to_device", "stream"): "KEYWORD_ONLY"}
"""Kinds of the standard where array-api-strict has another one."""
