"""The table of the namespace's functions, from which docstrings are generated.

Source: array API standard 2025.12; the texts are ours.
"""

from __future__ import annotations

from typing import Final

from ._row import Row
from .arrays import ARRAYS
from .elementwise import ELEMENTWISE
from .extensions import EXTENSIONS
from .parameters import KINDS, UNTYPED, words

TABLE: Final = ARRAYS | ELEMENTWISE | EXTENSIONS
"""Name -> its row; functions of extensions have the extension before a dot."""

FUNCTIONS: Final = tuple(name for name in TABLE if "." not in name)
"""The functions of the namespace, without those of extensions."""

__all__ = ["FUNCTIONS", "KINDS", "TABLE", "UNTYPED", "Row", "words"]
