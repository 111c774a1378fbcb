"""A report as one page of HTML: nothing to fetch, readable on a telephone and by keyboard.

Source: interchange; WAI-ARIA Authoring Practices, "Grid" and "Dialog"; CSP level 3 for the hashes.
The tables are written here, so that they are there without a script; ``page/page.js`` adds filters
and opens what ``page/details.js`` makes of each cell.
"""

from __future__ import annotations

import base64
import hashlib
import json
from html import escape
from importlib import resources
from string import Template
from typing import TYPE_CHECKING, Any, Final

from .as_json import as_document
from .catalogue import catalogue_of
from .panels import findings, known, libraries
from .states import GROUPS, STATES, in_words, total
from .tabulating import OUTCOMES, grid_of, tables
from .texts import one_line, printable
from .verdicts import grid, rules

if TYPE_CHECKING:
    from .catalogue import Catalogue
    from .markup import Section
    from .model import Report

_TITLE: Final = "Conformance report"
_DRIVERS: Final = {
    "none": "no CUDA driver",
    "emulated": "emulated CUDA driver",
    "real": "CUDA driver of a device",
}


def as_html(report: Report, catalogue: Catalogue | None = None) -> str:
    """Return a report as a page that needs nothing else.

    Parameters
    ----------
    report : Report
        What was found.
    catalogue : Catalogue, optional
        What was looked for; out of the registry when left out.
    """
    known_facts = catalogue or catalogue_of(report)
    style, script = _asset("page.css"), _asset("details.js") + _asset("page.js")
    sections = _sections(report, known_facts)
    return Template(_asset("page.html")).substitute(
        policy=_policy(style, script),
        title=escape(_title(report)),
        style=style,
        script=script,
        verdict="bad" if report.unexpected else "good",
        found=_found(report),
        facts="".join(f"<li>{escape(fact)}</li>" for fact in _facts(report)),
        links="".join(f'<li><a href="#{one.key}">{one.heading}</a></li>' for one in sections),
        filters=_filters(report, known_facts),
        sections="\n".join(one.html for one in sections),
        data=_embedded(report, known_facts),
    )


def _asset(name: str) -> str:
    """Return a file of the page."""
    return (resources.files(__package__) / "page" / name).read_text(encoding="utf-8")


def _policy(style: str, script: str) -> str:
    """Return what a browser may do for the page: its own style and script, and nothing else."""
    return (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    """Return the hash by which a policy knows an element's text."""
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


# ---------------------------------------------------------------- the head


def _title(report: Report) -> str:
    """Return the title: of one library, its name as well."""
    names = [one_line(subject.name) for subject in report.subjects]
    return f"{_TITLE}: {names[0]}" if len(names) == 1 else _TITLE


def _found(report: Report) -> str:
    """Return the sentence that says how it went, with a link to what nobody expected."""
    items = sum(len(subject.judged) for subject in report.subjects)
    count = len(report.subjects)
    results = f"{items:,} result{'s' if items != 1 else ''}"
    ran = f"{count} {'library' if count == 1 else 'libraries'}, {results}"
    if not report.unexpected:
        return f"{ran}, all as expected."
    words = f"{report.unexpected} not as expected"
    listed = any(one.is_unexpected for sub in report.subjects for one in sub.judged)
    place = "unexpected" if listed else "grid" if any(one.is_bad for one in report.grid) else ""
    return f'{ran}, <a href="#{place}">{words}</a>.' if place else f"{ran}, {words}."


def _facts(report: Report) -> list[str]:
    """Return what a reader should know of the run."""
    counts = in_words(total(subject.judged for subject in report.subjects))
    ran = (
        f"interchange {report.kit}", f"Python {report.python}", report.platform,
        _DRIVERS[report.driver],
    )  # fmt: skip
    return [", ".join(counts) or "nothing was judged", *map(one_line, ran)]


def _filters(report: Report, catalogue: Catalogue) -> str:
    """Return the four groups of boxes."""
    names = dict.fromkeys(one_line(subject.name) for subject in report.subjects)
    severities = dict.fromkeys(check.severity for check in catalogue.checks.values())
    groups: dict[str, tuple[str, dict[str, str]]] = {
        "library": ("Library", {name: name for name in names}),
        "area": ("Area", dict(catalogue.areas)),
        "severity": ("Severity", {one: one for one in ("MUST", "SHOULD", "QUIRK")
                                  if one in severities}),
        "status": ("Status", {str(key): word for key, word in GROUPS.items()}),
    }  # fmt: skip
    return "".join(_filter(key, *group) for key, group in groups.items())


def _filter(key: str, legend: str, choices: dict[str, str]) -> str:
    """Return one group of boxes."""
    boxes = "".join(
        f'<label class="chip"><input type="checkbox" name="{key}" value="{escape(value)}">'
        f"<span>{escape(printable(word))}</span></label>"
        for value, word in choices.items()
    )
    return f"<fieldset><legend>{legend}</legend>{boxes}</fieldset>"


# ---------------------------------------------------------------- the body


def _sections(report: Report, catalogue: Catalogue) -> list[Section]:
    """Return each section that has something in it."""
    made: list[Section | None] = [
        libraries(report, catalogue),
        *(rules(table) for table in tables(report, catalogue)),
        grid(grid_of(report)),
        findings(report, catalogue),
        known(report, catalogue),
    ]
    return [section for section in made if section is not None]


def _embedded(report: Report, catalogue: Catalogue) -> str:
    """Return the data of the page, as JSON that cannot end the element it stands in."""
    texts: dict[str, int] = {}
    told = {
        "report": _slim(_visible(as_document(report, catalogue)), texts),
        "texts": list(texts),
        "states": [state._asdict() for state in STATES],
        "outcomes": {key: outcome._asdict() for key, outcome in OUTCOMES.items()},
    }
    text = json.dumps(told, separators=(",", ":"))
    for mark in "<>&":
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    return text


_NUMBERED: Final = ("item", "evidence", "output", "cause", "reason", "link", "releases")
"""Texts of results that come again and again, of which the page has a list."""


def _slim(document: Any, texts: dict[str, int]) -> Any:
    """Return a document without what the script can tell by itself, its texts by their numbers."""
    for subject in document["subjects"]:
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
    """Return data with every text in it printable."""
    if isinstance(told, str):
        return printable(told)
    if isinstance(told, dict):
        return {printable(key): _visible(value) for key, value in told.items()}
    if isinstance(told, list):
        return [_visible(value) for value in told]
    return told
