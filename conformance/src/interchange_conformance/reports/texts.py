"""What several formats do to text: sentences, numbers of cases, commands to copy, safe links.

`interchange._reports.texts` makes hidden characters visible.
"""

from __future__ import annotations

import shlex

from interchange._reports.texts import printable


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
