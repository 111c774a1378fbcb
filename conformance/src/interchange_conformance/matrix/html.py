"""The matrix as one HTML page without scripts that loads nothing, for small screens, too.

Layout, style and table are those of the report of ``interchange check``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from interchange_conformance.reports.exchanges import Cell, Exchanges, Fact, Row
from interchange_conformance.reports.pages import Section, render
from interchange_conformance.reports.texts import one_line

from .exchanging import COPIED, FAILED, REFUSED, SHARED, VERDICTS
from .reports import SYMBOLS, meaning_of, place, platform_of, ran, remarks, summary

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .exchanging import Cell as Found, Matrix
    from .samples import Sample

_GROUPS: Final = {
    SHARED: "pass",
    COPIED: "known",
    REFUSED: "not-applicable",
    FAILED: "unexpected",
}
"""Verdict -> its colour, the same as for this result in the report of ``interchange check``."""


def as_html(matrix: Matrix) -> str:
    """Return a page: a table in which every cell can be opened for its details."""
    sections = [Section("grid", "Producers by consumers", "exchanges.html", _exchanges(matrix))]
    if matrix.absent:
        sections.append(Section("absent", "Left out", "absent.html", matrix.absent))
    where = "" if matrix.device == "cpu" else " on CUDA devices"
    where += {None: "", "in": ", which are columns,", "out": " as columns"}[matrix.columns]
    return render(
        "page.html",
        title=f"Who exchanges {matrix.dtype} arrays with whom{where}",
        is_bad=not matrix.ok,
        found=summary(matrix),
        facts=[*ran(matrix), *platform_of()],
        sections=sections,
    )


def _exchanges(matrix: Matrix) -> Exchanges:
    """Return the table."""
    return Exchanges(
        " ".join([*remarks(matrix), place(matrix)]),
        [(_GROUPS[one], SYMBOLS[one], one, meaning_of(one, matrix)) for one in VERDICTS],
        [one_line(consumer.name) for consumer in matrix.consumers],
        [_row(matrix, sample) for sample in matrix.samples],
    )


def _row(matrix: Matrix, sample: Sample) -> Row:
    """Return the row of a producer."""
    name = sample.kind.name
    about = f"{sample.version}, {sample.dtype}" + (", read-only" if sample.readonly else "")
    found = [matrix.cells[name, consumer.name] for consumer in matrix.consumers]
    cells = [
        Cell(_GROUPS[one.verdict], SYMBOLS[one.verdict], one.verdict, list(_facts(one)))
        for one in found
    ]
    return Row(one_line(name), about, cells)


def _facts(cell: Found) -> Iterator[Fact]:
    """Yield the details of a cell."""
    if cell.reason is not None:
        yield Fact("Reason", cell.reason)
    if cell.rule is not None:
        yield Fact("Rule", cell.rule, is_code=True)
    yield Fact("Sent", _address(cell.sent), is_code=True)
    if cell.received is not None:
        yield Fact("Received", _address(cell.received), is_code=True)


def _address(address: int | None) -> str:
    return "unknown" if address is None else f"{address:#x}"
