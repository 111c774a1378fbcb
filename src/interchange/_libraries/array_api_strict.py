"""array-api-strict, the strict implementation of the standard on NumPy.

Source: array-api-strict, ``Array``, ``Device``.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

from interchange._types.devices import CPU
from interchange._types.library import Example, Library

from .array_api import ArrayAPI, move_by_method
from .target import Target, by_from_dlpack

if TYPE_CHECKING:
    from interchange._types.devices import Device


def _find_device(device: Any) -> Device | None:
    """Read a device; all but one are labels defined by array-api-strict."""
    return CPU if str(device).endswith("Device('CPU_DEVICE')") else None


def _write_device(device: Device) -> Any:
    """Return its name for the host."""
    return sys.modules["array_api_strict"].Device("CPU_DEVICE") if device is CPU else None


LIBRARY: Final = Library(
    "array_api_strict",
    is_array_library=True,
    may_mask_records=False,
    array_api=ArrayAPI(
        "array_api_strict",
        "array_api_strict",
        (("array_api_strict._array_object", "Array"),),
        read_device=_find_device,
        write_device=_write_device,
        move=move_by_method,
    ),
    targets={
        "array_api_strict": Target(
            "array_api_strict", by_from_dlpack, keeps_readonly=True, memory="host"
        )
    },
    examples=(
        Example(
            "array-api-strict",
            "array_api_strict",
            "array-api-strict",
            lambda m: m.zeros(3),
            "from_dlpack",
        ),
    ),
)
