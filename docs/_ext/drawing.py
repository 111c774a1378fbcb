"""Parts of figures: texts, rows of boxes, arrows, and the drawing around them.

Source: SVG 2; WAI-ARIA 1.2, ``img``.  Colours are those of the page: of the text around the figure
(``currentColor``) and of the theme, so that a figure follows light, dark and the theme's switch.
A figure is 560 units wide and its text 15 high, so that it has 9 pixels on a telephone.
"""

from __future__ import annotations

from html import escape
from math import fsum  # sum() of floats rounds otherwise before CPython 3.12
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

WIDTH: Final = 560
SIZE: Final = 15  # of texts
LETTER: Final = 8.9  # as wide as one is on average, or less
CHIP: Final = 28  # height of a box with a text, and the space below it
CELL: Final = 35  # width of an element
ROW: Final = 26  # height of an element
_GAP: Final = 8


def words(x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> str:
    """Return a text at a position."""
    named = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{named}>{escape(text)}</text>'


def box(x: float, y: float, width: float, height: float, kind: str) -> str:
    """Return a box."""
    place = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'
    return f'<rect {place} rx="5" class="{kind}"/>'


def arrow(x: float, y: float, length: float) -> str:
    """Return an arrow that leads down."""
    return f'<path class="arrow" d="M{x} {y}v{length}m-6 -7l6 7l6 -7"/>'


def cells(x: float, y: float, texts: Sequence[str], kinds: str | Sequence[str]) -> list[str]:
    """Return texts in adjacent boxes of one width: elements side by side.

    Parameters
    ----------
    x, y : float
        Position of the first box.
    texts : sequence of str
        The text of each box.
    kinds : str or sequence of str
        The class of all boxes, or of each.
    """
    each = [kinds] * len(texts) if isinstance(kinds, str) else kinds
    parts = []
    for place, (text, kind) in enumerate(zip(texts, each, strict=True)):
        left = x + CELL * place
        parts.append(
            f'<rect x="{left:.1f}" y="{y:.1f}" width="{CELL}" height="{ROW}" class="{kind}"/>'
        )
        parts.append(words(left + CELL / 2, y + 18, text, anchor="middle"))
    return parts


def brace(x: float, y: float, width: float, text: str) -> list[str]:
    """Return a bracket over cells, and the text above it."""
    line = f'<path class="arrow" d="M{x + 2:.1f} {y}v-6h{width - 4:.1f}v6"/>'
    return [line, words(x + width / 2, y - 10, text, "small", "middle")]


def chips(texts: Iterable[str], y: float, kind: str) -> tuple[list[str], float]:
    """Return texts in boxes, in as many rows as they need, and the end of the rows."""
    parts = []
    for row in _in_rows(list(texts)):
        widths = [_wide(text) for text in row]
        x = (WIDTH - fsum(widths) - _GAP * (len(row) - 1)) / 2
        for text, width in zip(row, widths, strict=True):
            parts += [
                box(x, y, width, CHIP - 4, kind),
                words(x + width / 2, y + 17, text, anchor="middle"),
            ]
            x += width + _GAP
        y += CHIP
    return parts, y


def _wide(text: str) -> float:
    """Return how wide a box is."""
    return LETTER * len(text) + 14


def _in_rows(texts: Sequence[str]) -> list[list[str]]:
    """Return texts in rows that fit."""
    rows: list[list[str]] = [[]]
    for text in texts:
        if rows[-1] and fsum(_wide(one) + _GAP for one in [*rows[-1], text]) > WIDTH:
            rows.append([])
        rows[-1].append(text)
    return rows


def drawing(title: str, described: str, height: float, parts: Iterable[str]) -> str:
    """Return a whole figure."""
    head = (
        f'<svg class="figure" role="img" viewBox="0 0 {WIDTH} {height:g}">\n'
        f"<title>{escape(title)}</title>\n<desc>{escape(described)}</desc>\n"
    )
    return head + "\n".join(parts) + "\n</svg>\n"
