"""The matrix as one page of HTML: nothing to fetch, no script, readable on a telephone.

Source: interchange.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Final

from .matrix import VERDICTS
from .reports import MEANINGS, SYMBOLS, place, releases, remarks, summary

if TYPE_CHECKING:
    from .matrix import Cell, Matrix

_STYLE: Final = """
:root { color-scheme: light dark; --line: #8884; --shared: #15803d; --copied: #a16207;
  --refused: #7e22ce; --failed: #dc2626; }
@media (prefers-color-scheme: dark) { :root { --shared: #4ade80; --copied: #facc15;
  --refused: #d8b4fe; --failed: #f87171; } }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; padding: 1rem; max-width: 90rem; }
h1 { font-size: 1.4rem; line-height: 1.2; }
.scroll { overflow-x: auto; border: 1px solid var(--line); border-radius: .5rem; }
table { border-collapse: collapse; font-size: .9rem; }
th, td { padding: .4rem .6rem; text-align: left; vertical-align: top;
  border-bottom: 1px solid var(--line); }
th { white-space: nowrap; background: Canvas; }
tbody th, thead th:first-child { position: sticky; left: 0; z-index: 1; }
td { min-width: 7rem; }
details { max-width: 22rem; }
summary { cursor: pointer; white-space: nowrap; }
details p { margin: .4rem 0; overflow-wrap: anywhere; }
.zero-copy { color: var(--shared); } .copied { color: var(--copied); }
.refused { color: var(--refused); } .failed { color: var(--failed); font-weight: bold; }
small { opacity: .75; }
""".strip()
_PAGE: Final = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
{style}
</style>
</head>
<body>
<h1>{title}</h1>
<p>{summary} {remarks}</p>
<ul>
{legend}
</ul>
<div class="scroll" tabindex="0" role="region" aria-label="{title}">
<table>
<thead>
<tr><th scope="col">from ↓ to →</th>{heads}</tr>
</thead>
<tbody>
{rows}
</tbody>
</table>
</div>
{absent}<p><small>{releases}</small></p>
</body>
</html>
"""


def as_html(matrix: Matrix) -> str:
    """Return a page: a table in which every cell opens to its details."""
    heads = "".join(f'<th scope="col">{escape(c.name)}</th>' for c in matrix.consumers)
    rows = []
    for sample in matrix.samples:
        name = sample.subject.name
        cells = "".join(_cell(matrix.cells[name, c.name]) for c in matrix.consumers)
        about = f"{sample.version}, {sample.dtype}" + (", read-only" if sample.readonly else "")
        head = f'<th scope="row">{escape(name)}<br><small>{escape(about)}</small></th>'
        rows.append(f"<tr>{head}{cells}</tr>")
    return _PAGE.format(
        title=escape(f"Who exchanges {matrix.dtype} arrays with whom{_where(matrix)}"),
        style=_STYLE,
        summary=escape(summary(matrix)),
        remarks=escape(" ".join([*remarks(matrix), place(matrix)])),
        legend="\n".join(
            f'<li><span class="{v}">{SYMBOLS[v]} {v}</span>: {escape(MEANINGS[v])}</li>'
            for v in VERDICTS
        ),
        heads=heads,
        rows="\n".join(rows),
        absent=_absent(matrix),
        releases=escape(releases(matrix)),
    )


def _cell(cell: Cell) -> str:
    """Return a cell that opens to the reason and the addresses."""
    head = f'<summary class="{cell.verdict}">{SYMBOLS[cell.verdict]} {cell.verdict}</summary>'
    rule = "" if cell.rule is None else f" <code>{escape(cell.rule)}</code>"
    parts = [] if cell.reason is None else [f"{escape(cell.reason)}{rule}"]
    parts.append(f"sent <code>{_address(cell.sent)}</code>")
    if cell.received is not None:
        parts.append(f"received <code>{_address(cell.received)}</code>")
    body = "".join(f"<p>{part}</p>" for part in parts)
    return f"<td><details>{head}{body}</details></td>"


def _address(address: int | None) -> str:
    return "unknown" if address is None else f"{address:#x}"


def _where(matrix: Matrix) -> str:
    """Return where the arrays are, for the title; the host goes without saying."""
    return "" if matrix.device == "cpu" else " on CUDA devices"


def _absent(matrix: Matrix) -> str:
    """Return the list of what makes no array here."""
    if not matrix.absent:
        return ""
    items = "".join(
        f"<li>{escape(name)}: {escape(why)}</li>" for name, why in matrix.absent.items()
    )
    return f"<p>Left out:</p>\n<ul>{items}</ul>\n"
