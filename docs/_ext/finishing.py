"""The last step for the HTML of each page: code broken between words only, and fixes for axe.

Source: WAI-ARIA 1.2; HTML, "The th element".  The theme's own template is kept: ``page.html`` in
``docs/_templates`` passes its output through the filter ``finished``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from interchange import abi

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_TAG: Final = re.compile(r"(<(svg|script|style)\b.*?</\2>|<!--.*?-->|<[^>]*>)", re.DOTALL)
_AREAS: Final = "|".join(sorted({rule.rpartition("-")[0] for rule in abi.RULES}, key=len)[::-1])
_RULE: Final = re.compile(rf"(?<![\w-])(?:{_AREAS})-(?:\d+|\*)(?![\w-])")
_HEAD: Final = re.compile(
    r"<thead>\s*<tr[^>]*>(?:\s*<th class=\"head[^\"]*\"><p></p></th>)+\s*</tr>\s*</thead>"
)
_CELL: Final = re.compile(r"<td[ >].*?</td>", re.DOTALL)
_CODE: Final = re.compile(r"<code\b.*?</code>", re.DOTALL)
_BREAK: Final = re.compile(r"(?<=[\w)\]])(\.(?=[A-Za-z_])|[,=:/|]+(?=\w)|[(\[{]+(?=[\w&'\"]))")
_CORNER: Final = re.compile(r"<th class=\"head[^\"]*\"><p></p></th>")
_ASIDES: Final = {
    '<aside class="sidebar-drawer"': '<aside aria-label="All pages" class="sidebar-drawer"',
    '<aside class="toc-drawer': '<aside aria-label="This page" class="toc-drawer',
    'role="heading"': 'role="heading" aria-level="2"',
}
"""HTML of the theme -> the same with the names and levels that screen readers announce."""


def finished(html: str) -> str:
    """Return the body of a page with the attributes that the theme and Sphinx omit."""
    html = _CORNER.sub("<td></td>", _HEAD.sub("", html))
    for written, wanted in _ASIDES.items():
        html = html.replace(written, wanted)
    return _with_whole_rules(_CELL.sub(_breakable, html))


def _breakable(cell: re.Match[str]) -> str:
    """Return a cell whose code may be broken after punctuation: never inside a word or number."""
    return _CODE.sub(_with_breaks, cell[0])


def _with_breaks(code: re.Match[str]) -> str:
    """Return code with ``<wbr>`` between its words."""
    parts = _TAG.split(code[0])
    return "".join(
        _BREAK.sub(r"\1<wbr>", part) if place % 3 == 0 else part
        for place, part in enumerate(parts)
        if place % 3 != 2
    )


def _with_whole_rules(html: str) -> str:
    """Return HTML in which each rule id is in an element that style.css never breaks."""
    parts = _TAG.split(html)  # text, tag, what kind of tag, text, ...
    return "".join(
        _RULE.sub(r'<span class="rule">\g<0></span>', part) if place % 3 == 0 else part
        for place, part in enumerate(parts)
        if place % 3 != 2
    )


def _add_filter(app: Sphinx) -> None:
    """Make the filter available in templates."""
    if templates := getattr(app.builder, "templates", None):
        templates.environment.filters["finished"] = finished


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the filter, for builders that have templates."""
    app.connect("builder-inited", _add_filter)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
