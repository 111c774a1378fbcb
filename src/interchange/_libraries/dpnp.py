"""dpnp, NumPy's API on SYCL devices."""

from __future__ import annotations

from typing import Final

from interchange._types.library import Library

LIBRARY: Final = Library("dpnp", is_array_library=True)
