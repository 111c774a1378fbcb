"""What each function of the namespace does: the one table, of which docstrings are made.

Source: array API standard 2025.12; the words are ours.
"""

from __future__ import annotations

from typing import Final

from ._row import Row
from .arrays import ARRAYS
from .elementwise import ELEMENTWISE
from .extensions import EXTENSIONS
from .parameters import KINDS, UNTYPED, words

TABLE: Final = ARRAYS | ELEMENTWISE | EXTENSIONS
"""Name -> what it does; those of extensions have the extension before a dot."""

FUNCTIONS: Final = tuple(name for name in TABLE if "." not in name)
"""The functions of the namespace, without those of extensions."""

__all__ = ["FUNCTIONS", "KINDS", "TABLE", "UNTYPED", "Row", "words"]
