"""What every report does to text: hidden characters are made visible.

Source: Unicode, "General Category".  Libraries are quoted, and so text may hold
anything: colours for a terminal, marks that turn the direction of writing, halves of characters
that no encoding has.
"""

from __future__ import annotations

import shlex
import sys
import unicodedata
from typing import Final

_HIDDEN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Categories of characters that are not seen, or not there at all."""
_KEPT: Final = frozenset("\n\t")


def printable(text: str) -> str:
    r"""Return text with every character that could hide something written out.

    Parameters
    ----------
    text : str
        Anything.

    Examples
    --------
    >>> printable("red: \x1b[31m")
    'red: \\x1b[31m'
    """
    if text.isascii() and text.isprintable():
        return text
    lines = text.replace("\r\n", "\n")
    hidden = {
        ord(one): _written_out(one)
        for one in set(lines) - _KEPT
        if unicodedata.category(one) in _HIDDEN
    }
    return lines.translate(hidden) if hidden else lines


def _written_out(character: str) -> str:
    """Return a character as Python would write it in a string."""
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def one_line(text: str) -> str:
    """Return text on one line, spaces between its words."""
    return " ".join(printable(text).split())


def command_that_installs(what: str) -> str:
    """Return the command that installs a distribution, or a folder, for this interpreter."""
    return shlex.join([sys.executable or "python", "-m", "pip", "install", what])
