"""The matrix as one page of HTML: nothing to fetch, no script, readable on a telephone.

Layout, style and the table itself are those of the conformance kit's report.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from interchange._reports.exchanges import Cell, Exchanges, Fact, Row
from interchange._reports.pages import Section, render
from interchange._reports.texts import one_line

from .matrix import COPIED, FAILED, REFUSED, SHARED, VERDICTS
from .reports import SYMBOLS, meaning_of, place, ran, remarks, summary
from .versions import environment

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .matrix import Cell as Found, Matrix
    from .subjects import Sample

_GROUPS: Final = {
    SHARED: "pass",
    COPIED: "known",
    REFUSED: "not-applicable",
    FAILED: "unexpected",
}
"""Verdict -> what gives it its colour, as the same outcome has in the kit's report."""


def as_html(matrix: Matrix) -> str:
    """Return a page: a table in which every cell opens to its details."""
    sections = [Section("grid", "Producers by consumers", "exchanges.html", _exchanges(matrix))]
    if matrix.absent:
        sections.append(Section("absent", "Left out", "absent.html", matrix.absent))
    facts = environment()
    where = "" if matrix.device == "cpu" else " on CUDA devices"
    where += {None: "", "in": ", which are columns,", "out": " as columns"}[matrix.columns]
    return render(
        "interchange.cli",
        "page.html",
        title=f"Who exchanges {matrix.dtype} arrays with whom{where}",
        is_bad=not matrix.ok,
        found=summary(matrix),
        facts=[*ran(matrix), f"Python {facts['python']}", facts["platform"]],
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
    """Return what became of a producer's array."""
    name = sample.subject.name
    about = f"{sample.version}, {sample.dtype}" + (", read-only" if sample.readonly else "")
    cells = [_cell(matrix.cells[name, consumer.name]) for consumer in matrix.consumers]
    return Row(one_line(name), about, cells)


def _cell(cell: Found) -> Cell:
    """Return a cell that opens to the reason and the addresses."""
    return Cell(_GROUPS[cell.verdict], SYMBOLS[cell.verdict], cell.verdict, list(_facts(cell)))


def _facts(cell: Found) -> Iterator[Fact]:
    """Yield what is behind a cell."""
    if cell.reason is not None:
        yield Fact("Reason", cell.reason)
    if cell.rule is not None:
        yield Fact("Rule", cell.rule, is_code=True)
    yield Fact("Sent", _address(cell.sent), is_code=True)
    if cell.received is not None:
        yield Fact("Received", _address(cell.received), is_code=True)


def _address(address: int | None) -> str:
    return "unknown" if address is None else f"{address:#x}"
