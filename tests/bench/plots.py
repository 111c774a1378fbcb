"""Draws plots as SVG: rows of dots, and lines, both over a logarithmic scale.

Source: SVG 2; CSS Color Adjustment 1.  Lines and texts have the colour of the surrounding text
(``currentColor``), the colours of the series are visible on white and on black, and each series has
its own marker.  A plot is 400 units wide, so that its texts are readable on a screen of 400 pixels.
"""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

WIDTH = 400
_STYLE = (
    ".plot{width:100%;max-width:36rem;height:auto;font:12px sans-serif;fill:currentColor}"
    "@media (prefers-color-scheme:dark){.plot:root{color:#ddd;background:#131416}}"
)  # :root: shown standalone, and not in a page with its own colours
COLOURS = ("#3b82c4", "#c2702a", "#2f9263", "#9a6bd0")  # 3:1 at least on white and on #131416
_ROW = 24
_TOP = 20
_HEIGHT = 220
_LETTER = 6.5  # as wide as one is, or less


class Dot(NamedTuple):
    """A row of a plot of dots; `series` chooses colour and marker."""

    label: str
    value: float
    series: int


class Line(NamedTuple):
    """A line of a plot: a value per tick, None where it is missing."""

    label: str
    values: Sequence[float | None]


def shown(value: float) -> str:
    """Return a number with the digits that mean something."""
    return f"{value:.2f}" if value < 10 else f"{value:.0f}"


def dots(title: str, rows: Sequence[Dot], unit: str) -> str:
    """Return a plot with one row per value; the line at 1 is the yardstick's."""
    left, right = 148, WIDTH - 44
    low, high = _decades([row.value for row in rows])

    def across(value: float) -> float:
        return left + (right - left) * (math.log10(value) - low) / (high - low)

    bottom = _TOP + _ROW * len(rows)
    parts = [
        _tick_line(across(10**power), _TOP, across(10**power), bottom, is_one=power == 0)
        + _text(across(10**power), bottom + 16, f"{10**power:g}", "middle")
        for power in range(low, high + 1)
    ]
    for number, row in enumerate(rows):
        height = _TOP + _ROW * (number + 0.5)
        weight = ' font-weight="bold"' if row.series == 0 else ""
        parts += [
            _text(left - 8, height + 4, row.label, "end", weight),
            _marker(across(row.value), height, row.series),
            _text(across(row.value) + 8, height + 4, shown(row.value), "start", weight),
        ]
    parts.append(_text((left + right) / 2, bottom + 34, unit, "middle"))
    said = "; ".join(f"{row.label} {shown(row.value)}" for row in rows)
    return _svg(title, f"{unit}: {said}", bottom + 42, parts)


def lines(title: str, ticks: Sequence[str], series: Sequence[Line], words: tuple[str, str]) -> str:
    """Return a plot of lines over equally spaced ticks; `words` are the labels of the axes."""
    left, right, top, bottom = 36, WIDTH - 12, 44, _HEIGHT - 44
    low, high = _decades([value for line in series for value in line.values if value])

    def up(value: float) -> float:
        return bottom - (bottom - top) * (math.log10(value) - low) / (high - low)

    step = (right - left - 24) / max(1, len(ticks) - 1)
    places = [left + 12 + step * number for number in range(len(ticks))]
    parts = [
        _tick_line(left, up(10**power), right, up(10**power), is_one=power == 0)
        + _text(left - 6, up(10**power) + 4, f"{10**power:g}", "end")
        for power in range(low, high + 1)
    ]
    parts += [
        _text(place, bottom + 18, tick, "middle") for place, tick in zip(places, ticks, strict=True)
    ]
    legend = float(left)
    for number, line in enumerate(series):
        known = [(p, up(v)) for p, v in zip(places, line.values, strict=True) if v]
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in known)
        parts.append(f'<path d="M{path}" fill="none" stroke="{COLOURS[number]}" stroke-width="2"/>')
        parts += [_marker(x, y, number) for x, y in known]
        parts += [_marker(legend, 14, number), _text(legend + 9, 18, line.label, "start")]
        legend += 28 + _LETTER * len(line.label)
    parts += [
        _text(left - 30, top - 10, words[1], "start"),
        _text((left + right) / 2, bottom + 38, words[0], "middle"),
    ]
    said = "; ".join(
        f"{line.label}: " + ", ".join("none" if v is None else shown(v) for v in line.values)
        for line in series
    )
    described = f"{words[1]}, at {', '.join(ticks)} ({words[0]}). {said}"
    return _svg(title, described, _HEIGHT, parts)


# ---------------------------------------------------------------- pieces


def _decades(values: Sequence[float]) -> tuple[int, int]:
    """Return the powers of ten around all values and 1."""
    low = min(0, math.floor(math.log10(min(values))))
    return low, max(1, math.ceil(math.log10(max(values))))


def _svg(title: str, described: str, height: float, parts: Sequence[str]) -> str:
    """Return the whole drawing."""
    head = (
        f'<svg class="plot" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:g}"'
        f' role="img">\n<title>{escape(title)}</title>\n<desc>{escape(described)}</desc>\n'
        f"<style>{_STYLE}</style>\n"
    )
    return head + "\n".join(parts) + "\n</svg>\n"


def _text(x: float, y: float, text: str, anchor: str, more: str = "") -> str:
    """Return a text at a position."""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{more}>{escape(text)}</text>'


def _tick_line(x: float, y: float, to_x: float, to_y: float, *, is_one: bool) -> str:
    """Return a line of the grid; that of the yardstick is emphasised."""
    opacity = "0.7" if is_one else "0.2"
    path = f"M{x:.1f} {y:.1f}L{to_x:.1f} {to_y:.1f}"
    return f'<path d="{path}" stroke="currentColor" stroke-opacity="{opacity}"/>'


def _marker(x: float, y: float, series: int) -> str:
    """Return the marker of a series: a disc, a square, a triangle or a diamond."""
    paths = (
        f"M{x - 4.5:.1f} {y:.1f}a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0-9 0z",
        f"M{x - 4:.1f} {y - 4:.1f}h8v8h-8z",
        f"M{x:.1f} {y - 5:.1f}l5 9h-10z",
        f"M{x:.1f} {y - 5.5:.1f}l5.5 5.5-5.5 5.5-5.5-5.5z",
    )
    return f'<path d="{paths[series]}" fill="{COLOURS[series]}"/>'
