"""The pieces that the sections of the page are put together from.

Source: interchange; HTML Living Standard.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, NamedTuple

from .texts import printable

if TYPE_CHECKING:
    from collections.abc import Iterable


class Section(NamedTuple):
    """A section of the page.

    Attributes
    ----------
    key : str
        Its id, which links lead to.
    heading : str
        What stands above it.
    html : str
        All of it.
    """

    key: str
    heading: str
    html: str


def text_of(words: str) -> str:
    """Return words as HTML: nothing in them is markup, and nothing is hidden.

    Parameters
    ----------
    words : str
        Whatever a library said.

    Examples
    --------
    >>> text_of("<b>")
    '&lt;b&gt;'
    """
    return escape(printable(words))


def breakable(name: str) -> str:
    """Return a name as HTML that may be broken after its dots.

    Parameters
    ----------
    name : str
        Of a library.

    Examples
    --------
    >>> breakable("cuda.core")
    'cuda.<wbr>core'
    """
    return text_of(name).replace(".", ".<wbr>")


def section(key: str, heading: str, body: str) -> Section:
    """Return a section of some HTML.

    Parameters
    ----------
    key, heading : str
        Its id, and what stands above it.
    body : str
        HTML.
    """
    head = f'<h2 id="{key}-title" tabindex="-1">{heading}</h2>'
    html = f'<section id="{key}" aria-labelledby="{key}-title">\n{head}\n{body}\n</section>'
    return Section(key, heading, html)


def scroll(heading: str, table: str) -> str:
    """Return a table in a box that scrolls, so that the page need not.

    Parameters
    ----------
    heading : str
        What stands above it.
    table : str
        HTML.
    """
    label = f'role="region" tabindex="0" aria-label="{heading}, table"'
    return f'<div class="scroll" {label}>{table}</div>'


def mark(symbol: str, word: str) -> str:
    """Return a symbol, which is not read out, and its word.

    Parameters
    ----------
    symbol, word : str
        As in `states`.
    """
    return f'<i aria-hidden="true">{symbol}</i> <span>{escape(word)}</span>'


def legend(rows: Iterable[tuple[str, str, str, str]]) -> str:
    """Return a list of what symbols mean.

    Parameters
    ----------
    rows : iterable of tuple
        Group, symbol, word and meaning.
    """
    items = "".join(
        f'<li class="{group}"><b>{mark(symbol, word)}</b> {escape(meaning)}</li>'
        for group, symbol, word, meaning in rows
    )
    return f'<ul class="legend">{items}</ul>'


def severity_mark(severity: str) -> str:
    """Return how grave a rule is, as a small mark.

    Parameters
    ----------
    severity : {"MUST", "SHOULD", "QUIRK"}
        That of the rule.
    """
    return f'<span class="severity {severity}">{severity}</span>'
