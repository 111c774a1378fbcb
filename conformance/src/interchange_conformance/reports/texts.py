"""What every format does to text: hidden characters made visible, sentences, commands to copy.

Source: interchange.  Evidence quotes libraries, and so may hold anything: colours for a terminal,
marks that turn the direction of writing, halves of characters that no encoding has.
"""

from __future__ import annotations

import shlex
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
    return "".join(
        one if one in _KEPT or unicodedata.category(one) not in _HIDDEN else _written_out(one)
        for one in lines
    )


def _written_out(character: str) -> str:
    """Return a character as Python would write it in a string."""
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def sentence(text: str) -> str:
    """Return words as a sentence: its first letter a capital, unless it is a name, and a full stop.

    Parameters
    ----------
    text : str
        Such as the text of a rule.

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


def one_line(text: str) -> str:
    """Return text on one line, spaces between its words."""
    return " ".join(printable(text).split())


def cases(number: int) -> str:
    """Return how many cases of a check are meant, to stand behind its name; nothing for none.

    Parameters
    ----------
    number : int
        How many.

    Examples
    --------
    >>> cases(4)
    ' (4 cases)'
    """
    return f" ({number} case{'s' if number > 1 else ''})" if number else ""


def again(spec: str, item: str) -> str:
    """Return the command that runs one item of one subject.

    Parameters
    ----------
    spec, item : str
        The subject and the item.

    Examples
    --------
    >>> again("numpy", "strides_are_kept[0-d]")
    "interchange check numpy --only 'strides_are_kept[0-d]'"
    """
    return f"interchange check {shlex.quote(printable(spec))} --only {shlex.quote(item)}"


def safe_link(link: str) -> str:
    """Return a link that a page may hold: one to the web, else nothing.

    Parameters
    ----------
    link : str
        As somebody wrote it down.

    Examples
    --------
    >>> safe_link("javascript:alert(1)")
    ''
    """
    return link if link.startswith(("https://", "http://")) and " " not in link else ""
