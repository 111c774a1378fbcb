"""A report as one HTML page that loads nothing, for small screens and keyboards, too.

Source: WAI-ARIA Authoring Practices, "Grid" and "Dialog".  Templates write the tables, so that they
are visible without scripts; ``page/page.js`` adds filters and opens the details of a cell, which
``page/details.js`` makes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from interchange_conformance.registry import SEVERITIES

from .as_json import as_document
from .catalogue import catalogue_of
from .pages import render
from .states import GROUPS, STATES, in_words, total
from .tabulating import OUTCOMES
from .texts import one_line, printable
from .views import sections

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .catalogue import Catalogue
    from .model import Report

_TITLE: Final = "Conformance report"
_DRIVERS: Final = {
    "none": "no CUDA driver",
    "emulated": "emulated CUDA driver",
    "real": "CUDA driver of a device",
}


def as_html(report: Report, catalogue: Catalogue | None = None) -> str:
    """Return a report as a self-contained page."""
    known_facts = catalogue or catalogue_of(report)
    return render(
        "report.html",
        scripts=("details.js", "page.js"),
        title=_title(report),
        is_bad=bool(report.unexpected),
        found=_found(report),
        facts=_facts(report),
        filters=_filters(report, known_facts),
        sections=sections(report, known_facts),
        data=_data(report, known_facts),
    )


# ---------------------------------------------------------------- the head


def _title(report: Report) -> str:
    """Return the title; for a single library, with its name."""
    names = [one_line(subject.name) for subject in report.subjects]
    return f"{_TITLE}: {names[0]}" if len(names) == 1 else _TITLE


class Found(NamedTuple):
    """The summary of a run."""

    ran: str
    ended: str
    place: str


def _found(report: Report) -> Found:
    """Return the summary of a run."""
    items = sum(len(subject.judged) for subject in report.subjects)
    count = len(report.subjects)
    results = f"{items:,} result{'s' if items != 1 else ''}"
    ran = f"{count} {'library' if count == 1 else 'libraries'}, {results}"
    if not report.unexpected:
        hardly = ", ".join(one_line(one.name) for one in report.subjects if one.hardly)
        ended = f"all as expected, and hardly anything judged of {hardly}" if hardly else ""
        return Found(ran, ended or "all as expected", "libraries" if hardly else "")
    listed = any(one.is_unexpected for sub in report.subjects for one in sub.judged)
    place = "unexpected" if listed else "grid" if any(one.is_bad for one in report.grid) else ""
    return Found(ran, f"{report.unexpected} not as expected", place)


def _facts(report: Report) -> list[str]:
    """Return the facts of the run."""
    counts = in_words(total(subject.judged for subject in report.subjects))
    ran = (
        f"interchange {report.kit}", f"Python {report.python}", report.platform,
        _DRIVERS[report.driver],
    )  # fmt: skip
    return [", ".join(counts) or "nothing was judged", *map(one_line, ran)]


def _filters(report: Report, catalogue: Catalogue) -> list[tuple[str, str, Mapping[str, str]]]:
    """Return the four groups of filters: key, legend, and the text of each value."""
    names = dict.fromkeys(one_line(subject.name) for subject in report.subjects)
    severities = {check.severity for check in catalogue.checks.values()}
    return [
        ("library", "Library", {name: name for name in names}),
        ("area", "Area", catalogue.areas),
        ("severity", "Severity", {one: one for one in SEVERITIES if one in severities}),
        ("status", "Status", {str(key): word for key, word in GROUPS.items()}),
    ]


# ---------------------------------------------------------------- the data


def _data(report: Report, catalogue: Catalogue) -> dict[str, Any]:
    """Return the data of the script; JSON escapes would hide characters that the page shows."""
    texts: dict[str, int] = {}
    told = _slim(_visible(as_document(report, catalogue)), texts)
    return {
        "report": told,
        "texts": list(texts),
        "states": [state._asdict() for state in STATES],
        "outcomes": {key: outcome._asdict() for key, outcome in OUTCOMES.items()},
    }


_NUMBERED: Final = ("item", "evidence", "output", "cause", "reason", "link", "releases")
"""Repeated texts of results, of which the page has a list."""


def _slim(document: Any, texts: dict[str, int]) -> Any:
    """Return a document without derivable parts, its repeated texts replaced by numbers."""
    for subject in document["subjects"]:
        del subject["findings"]
        for result in subject["results"]:
            del result["check"], result["seconds"]
            if result["standing"] == "as-expected":
                del result["standing"]
            if result["status"] == "pass":
                del result["status"]
            for key in _NUMBERED:
                if key in result:
                    result[key] = texts.setdefault(result[key], len(texts))
    return document


def _visible(told: Any) -> Any:
    """Return data in which every text is printable."""
    if isinstance(told, str):
        return printable(told)
    if isinstance(told, dict):
        return {printable(key): _visible(value) for key, value in told.items()}
    if isinstance(told, list):
        return [_visible(value) for value in told]
    return told
