"""The HTML repr of an Array: its attributes, its elements, and a picture of its memory order.

Source: IPython, "Rich display" (``_repr_html_``); W3C, SVG 1.1.  Colours are those of the page, so
that it is shown in light and in dark mode.  The picture is computed from shape and strides.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from .array_base import ArrayBase

_ROWS: Final = 6  # shown of the last axis but one
_COLUMNS: Final = 8  # shown of the last axis
_WIDTH, _HEIGHT = 44, 24  # of a cell [pixels]
_MOST_OPAQUE: Final = 0.35  # opacity of the last element
_STYLE: Final = "display:flex;flex-wrap:wrap;gap:1.5em;align-items:flex-start"


def html_of(array: ArrayBase, fields: dict[str, str], elements: str | None) -> str:
    """Return the HTML of an Array.

    `fields`: names and values for the table.
    `elements`: the elements as text, None if they cannot be read.
    """
    rows = "".join(
        f'<tr><th style="text-align:left">{escape(name)}</th>'
        f'<td style="text-align:left"><code>{escape(value)}</code></td></tr>'
        for name, value in fields.items()
    )
    text = "" if elements is None else f"<pre>{escape(elements)}</pre>"
    return (
        f'<div><div style="{_STYLE}"><table style="color:inherit"><caption>'
        f"<code>interchange.Array</code></caption><tbody>{rows}</tbody></table>"
        f"{_picture(array.shape, array.strides)}</div>{text}</div>"
    )


def _picture(shape: tuple[int, ...], strides: tuple[int, ...]) -> str:
    """Return a grid of the elements with their offsets, shaded in the order of memory."""
    if 0 in shape:
        return ""
    extents, steps = ((1, 1, *shape)[-2:], (0, 0, *strides)[-2:])
    rows, columns = min(extents[0], _ROWS), min(extents[1], _COLUMNS)
    offsets = {
        (row, column): row * steps[0] + column * steps[1]
        for row in range(rows)
        for column in range(columns)
    }
    ranks = {offset: rank for rank, offset in enumerate(sorted({*offsets.values()}))}
    cells = "".join(
        _cell(row, column, offset, _MOST_OPAQUE * ranks[offset] / max(1, len(ranks) - 1))
        for (row, column), offset in offsets.items()
    )
    label = escape(_caption(shape, (rows, columns)))
    width, height = columns * _WIDTH + 2, rows * _HEIGHT + 2
    return (
        f'<figure style="margin:0"><svg role="img" aria-label="{label}" width="{width}"'
        f' height="{height}" viewBox="-1 -1 {width} {height}"'
        ' font-family="monospace" font-size="12" fill="currentColor" text-anchor="middle">'
        f'{cells}</svg><figcaption style="max-width:28em">{label}</figcaption></figure>'
    )


def _cell(row: int, column: int, offset: int, opacity: float) -> str:
    """Return one element of the picture."""
    x, y = column * _WIDTH, row * _HEIGHT
    return (
        f'<rect x="{x}" y="{y}" width="{_WIDTH}" height="{_HEIGHT}" stroke="currentColor"'
        f' fill-opacity="{opacity:.2f}" stroke-opacity="0.5"/>'
        f'<text x="{x + _WIDTH // 2}" y="{y + 16}">{offset}</text>'
    )


def _caption(shape: tuple[int, ...], shown: tuple[int, int]) -> str:
    """Return what the picture shows."""
    axes = ["0"] * len(shape[:-2])
    for extent, count in zip(shape[-2:], shown[2 - len(shape[-2:]) :], strict=True):
        axes.append(":" if count == extent else f":{count}")
    which = "" if {*axes} <= {":"} else f" of x[{', '.join(axes)}]"
    return f"Offset of each element{which} from the first [elements]; shaded in the order of memory"
