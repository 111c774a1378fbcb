"""TensorFlow, of which only the operators matter here."""

from __future__ import annotations

from typing import Final

from interchange._types.library import Library

LIBRARY: Final = Library("tensorflow", is_array_library=True, may_mask_records=False)
