"""Regular expressions, compiled when they are first used: `re` and its compiler take long.

Source: Python, "re".
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import re


@cache  # those of our sources
def compiled(pattern: str) -> re.Pattern[str]:
    """Return a regular expression, ready to use."""
    import re

    return re.compile(pattern)
