"""A badge for a README: how many MUST checks pass, for a service that draws it.

Source: shields.io, "Endpoint Badge", for the keys and the names of colours.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, NamedTuple

from interchange_conformance.findings import BAD

from .catalogue import catalogue_of, check_name

if TYPE_CHECKING:
    from .catalogue import Catalogue
    from .model import Report, SubjectReport

_SCHEMA: Final = 1  # the only version that exists
_LABEL: Final = "interchange"
_GOOD: Final = "brightgreen"
_KNOWN: Final = "yellow"
_BAD: Final = "red"
_NOTHING: Final = "lightgrey"


class Message(NamedTuple):
    """The message of the badge, next to its label."""

    text: str
    colour: str


def message_of(report: Report, catalogue: Catalogue | None = None) -> Message:
    """Return the message of the badge for a report.

    A check passes if at least one of its cases passes and none fails, for all subjects of the
    report together; known failures are failures.
    """
    if any(subject.broken for subject in report.subjects):
        return Message("could not be judged", _BAD)
    known = catalogue or catalogue_of(report)
    must = [_musts(subject, known) for subject in report.subjects]
    kept = sum(len(one["kept"]) for one in must)
    failing = sum(len(one["unexpected"] | one["known"]) for one in must)
    if failing:
        unexpected = any(one["unexpected"] for one in must)
        return Message(
            f"{failing} MUST failing" if unexpected else f"{failing} MUST failing, known",
            _BAD if unexpected else _KNOWN,
        )
    if kept and any(subject.hardly for subject in report.subjects):
        return Message("hardly judged", _NOTHING)
    return Message(f"{kept} MUST ok", _GOOD) if kept else Message("nothing judged", _NOTHING)


def _musts(subject: SubjectReport, catalogue: Catalogue) -> dict[str, set[str]]:
    """Return the MUST checks of a subject that pass, and those that fail."""
    found: dict[str, set[str]] = {"kept": set(), "unexpected": set(), "known": set()}
    for one in subject.judged:
        if catalogue.check_of(one).severity == "MUST":
            if one.verdict.status in BAD:
                standing = "unexpected" if one.is_unexpected else "known"
                found[standing].add(check_name(one.verdict.item))
            elif one.verdict.status == "pass":
                found["kept"].add(check_name(one.verdict.item))
    found["kept"] -= found["unexpected"] | found["known"]
    return found


def as_badge(report: Report, catalogue: Catalogue | None = None) -> str:
    """Return a badge as JSON; a red badge stays red, whatever colour the page requests."""
    message = message_of(report, catalogue)
    facts = {
        "schemaVersion": _SCHEMA,
        "label": _LABEL,
        "message": message.text,
        "color": message.colour,
        "isError": message.colour == _BAD,
    }
    return json.dumps(facts, indent=1) + "\n"
