"""dpctl, whose ``usm_ndarray`` is on SYCL devices."""

from __future__ import annotations

from typing import Final

from interchange._types.library import Library

LIBRARY: Final = Library("dpctl", is_array_library=True)
