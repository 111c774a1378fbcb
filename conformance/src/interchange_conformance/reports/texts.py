"""Text in reports: invisible characters as escapes, sentences, commands to copy, safe links.

Source: Unicode, "General Category".  Reports quote libraries, whose text may contain any character:
colours of a terminal, marks of writing direction, unpaired surrogates.
"""

from __future__ import annotations

import shlex
import sys
import unicodedata
from typing import Final

_HIDDEN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Categories of characters that are invisible or unassigned."""
_KEPT: Final = frozenset("\n\t")


def printable(text: str) -> str:
    r"""Return text with escapes in place of invisible characters.

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
    """Return a character as a Python escape."""
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def one_line(text: str) -> str:
    """Return text on one line, with single spaces between its words."""
    return " ".join(printable(text).split())


def install_command(what: str) -> str:
    """Return the command that installs a distribution or a folder for this interpreter."""
    return shlex.join([sys.executable or "python", "-m", "pip", "install", what])


def sentence(text: str) -> str:
    """Return text as a sentence: with a capital, unless it starts with a name, and a full stop.

    Examples
    --------
    >>> sentence("strides count elements, not bytes")
    'Strides count elements, not bytes.'
    >>> sentence("max_version is None or a tuple of two ints")
    'max_version is None or a tuple of two ints.'
    """
    first = text.split(maxsplit=1)[0] if text.strip() else ""
    words = text.strip()
    if first.isalpha() and first.islower():
        words = words[0].upper() + words[1:]
    return words if not words or words[-1] in ".!?:" else f"{words}."


def cases(number: int) -> str:
    """Return the number of cases of a check, to append to its name; empty for 0.

    Examples
    --------
    >>> cases(4)
    ' (4 cases)'
    """
    return f" ({number} case{'s' if number > 1 else ''})" if number else ""


def again(spec: str, item: str) -> str:
    """Return the command that runs one item of one subject.

    Examples
    --------
    >>> again("numpy", "strides_are_kept[0-d]")
    "interchange check numpy --only 'strides_are_kept[0-d]'"
    """
    return f"interchange check {shlex.quote(printable(spec))} --only {shlex.quote(item)}"


def safe_link(link: str) -> str:
    """Return a link if it is a web address, else an empty text.

    Examples
    --------
    >>> safe_link("javascript:alert(1)")
    ''
    """
    return link if link.startswith(("https://", "http://")) and " " not in link else ""
