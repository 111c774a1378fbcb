"""Regular expressions, compiled on first use: importing `re` and compiling is slow.

Source: Python, "re".
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import re


@cache  # those of our sources
def compiled(pattern: str) -> re.Pattern[str]:
    """Return a compiled regular expression."""
    import re

    return re.compile(pattern)
