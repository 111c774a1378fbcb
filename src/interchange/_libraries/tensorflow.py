"""TensorFlow, with its operators only."""

from __future__ import annotations

from typing import Final

from interchange._types.library import Library

LIBRARY: Final = Library(
    "tensorflow",
    is_array_library=True,
    may_mask_records=False,
    instead_of_target="use `to_capsule(x)`, which tensorflow.experimental.dlpack.from_dlpack takes",
)
