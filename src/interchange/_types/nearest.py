"""The known word that is nearest to an unknown one, for the fix of an error.

Source: Python, difflib.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_LONGEST = 40  # of a word that may be misspelt [characters]


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the known word that is most similar to `word`, or None.

    Examples
    --------
    >>> nearest("flaot32", ["float32", "float64", "int32"])
    'float32'
    """
    from difflib import get_close_matches  # slow to import

    if len(word) > _LONGEST:
        return None
    found = get_close_matches(word.lower(), known, n=1, cutoff=0.7)
    return found[0] if found else None
