"""Suggestions for the unknown name of an element type or a device.

Source: Python, difflib; NumPy, data types (the names of types that are not numbers).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .nearest import nearest

if TYPE_CHECKING:
    from collections.abc import Iterable

_TIMES: Final = ("datetime", "timedelta", "M8", "m8")
_OBJECTS: Final = frozenset({"object", "object_", "O"})
_TEXTS: Final = frozenset({"str", "str_", "string", "bytes", "bytes_", "S", "U", "T"})
_SYNONYMS: Final = {
    "bf16": "bfloat16",
    "boolean": "bool",
    "double": "float64",
    "fp16": "float16",
    "fp32": "float32",
    "fp64": "float64",
    "half": "float16",
    "single": "float32",
}
"""What other languages and libraries call an element type -> its name."""


def dtype_instead(text: str, known: Iterable[str]) -> str:
    """Return the fix for an unknown name of an element type."""
    if text.startswith(_TIMES):
        return "pass `'int64'`, and count the unit"
    if text in _OBJECTS:
        return "turn the objects into numbers, and pass the type of these, as `'float64'`"
    if text in _TEXTS:
        return "encode the text, and pass `'uint8'`"
    return name_nearest(_SYNONYMS.get(text.lower(), text), known) or "pass a name as `'float32'`"


def name_nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the fix for an unknown word: the nearest one, or None if none is similar."""
    found = nearest(word, known)
    return None if found is None else f"the nearest name is `{found!r}`"
