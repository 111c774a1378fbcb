"""interchange itself, and memoryview, as what `convert` makes."""

from __future__ import annotations

from typing import Any, Final

from interchange._types.library import Example, Library

from .target import Target


def _take(_: Any, array: Any) -> Any:
    """Return the Array itself."""
    return array


def _take_memoryview(_: Any, array: Any) -> memoryview:
    """Return a memoryview."""
    found: memoryview = array.as_memoryview()
    return found


LIBRARY: Final = Library(
    "interchange",
    may_mask_records=False,
    targets={
        "interchange": Target("interchange", _take, keeps_readonly=True, is_foreign=False),
        "memoryview": Target(
            "builtins", _take_memoryview, keeps_readonly=True, is_foreign=False, memory="host"
        ),
    },
    examples=(
        Example(
            "interchange",
            "interchange",
            "array-interchange",
            lambda m: m.asarray(bytearray(3)),
            "from_dlpack",
        ),
    ),
)
