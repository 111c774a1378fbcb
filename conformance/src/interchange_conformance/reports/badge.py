"""A badge for a README: how many MUST checks are kept, as an SVG that needs nothing from outside.

Source: interchange; SVG Accessibility API Mappings 1.0, for role and title.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple
from xml.sax.saxutils import escape

from interchange_conformance.findings import BAD

from .catalogue import catalogue_of, check_name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .catalogue import Catalogue
    from .model import Report, SubjectReport

_LABEL: Final = "interchange"
_GREEN: Final = "#1a7f37"
_AMBER: Final = "#9a6700"
_RED: Final = "#cf222e"
_GREY: Final = "#57606a"
"""Grounds for white letters: each has a contrast of 4.5 to 1 at least."""

_WIDTHS: Final = {
    **dict.fromkeys("ijl|'.,:;!", 0.32),
    **dict.fromkeys("frtI[]()/- ", 0.42),
    **dict.fromkeys("mwMW%", 0.95),
    **dict.fromkeys("ABCDEFGHKNOPQRSTUVXYZ", 0.72),
}
"""Character -> its breadth in a common sans-serif face, in parts of the size of the letters."""
_BREADTH: Final = 0.62  # of every other character
_SIZE: Final = 11  # of the letters [pixels]
_MARGIN: Final = 6  # left and right of a text [pixels]
_HEIGHT: Final = 20  # [pixels]

_SVG: Final = """\
<svg xmlns="http://www.w3.org/2000/svg" width="{whole}" height="{height}" \
viewBox="0 0 {whole} {height}" role="img" aria-labelledby="title">
<title id="title">{title}</title>
<clipPath id="round"><rect width="{whole}" height="{height}" rx="3"/></clipPath>
<g clip-path="url(#round)">
<rect width="{left}" height="{height}" fill="#24292f"/>
<rect x="{left}" width="{right}" height="{height}" fill="{colour}"/>
</g>
<g fill="#fff" font-family="Verdana,DejaVu Sans,Geneva,sans-serif" font-size="{size}" \
text-anchor="middle" aria-hidden="true">
<text x="{middle_left}" y="14" textLength="{length_left}" \
lengthAdjust="spacingAndGlyphs">{label}</text>
<text x="{middle_right}" y="14" textLength="{length_right}" \
lengthAdjust="spacingAndGlyphs">{message}</text>
</g>
</svg>
"""


class Message(NamedTuple):
    """What the right half says.

    Attributes
    ----------
    text : str
        A few words.
    colour : str
        Its ground.
    """

    text: str
    colour: str


def message_of(report: Report, catalogue: Catalogue | None = None) -> Message:
    """Return what a badge says of a report.

    A check is kept when at least one of its cases passes and none fails, for all subjects of the
    report together; known failures are failures.

    Parameters
    ----------
    report : Report
        What was found.
    catalogue : Catalogue, optional
        What was looked for; out of the registry when left out.
    """
    if any(subject.broken for subject in report.subjects):
        return Message("could not be judged", _RED)
    known = catalogue or catalogue_of(report)
    must = [_musts(subject, known) for subject in report.subjects]
    kept = sum(len(one["kept"]) for one in must)
    failing = sum(len(one["unexpected"] | one["known"]) for one in must)
    if failing:
        unexpected = any(one["unexpected"] for one in must)
        return Message(
            f"{failing} MUST failing" if unexpected else f"{failing} MUST failing, known",
            _RED if unexpected else _AMBER,
        )
    return Message(f"{kept} MUST ok", _GREEN) if kept else Message("nothing judged", _GREY)


def _musts(subject: SubjectReport, catalogue: Catalogue) -> dict[str, set[str]]:
    """Return the MUST checks of a subject that are kept, and those that fail."""
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
    """Return a badge, as SVG.

    Parameters
    ----------
    report : Report
        What was found, of one subject or of several.
    catalogue : Catalogue, optional
        What was looked for; out of the registry when left out.
    """
    message = message_of(report, catalogue)
    length_left, length_right = _length(_LABEL), _length(message.text)
    left, right = length_left + 2 * _MARGIN, length_right + 2 * _MARGIN
    return _SVG.format(
        whole=left + right, height=_HEIGHT, size=_SIZE, left=left, right=right,
        label=escape(_LABEL), message=escape(message.text), colour=message.colour,
        title=escape(f"{_LABEL}: {message.text}"),
        middle_left=left / 2, middle_right=left + right / 2,
        length_left=length_left, length_right=length_right,
    )  # fmt: skip


def _length(text: Iterable[str]) -> int:
    """Return how much room a text takes, without asking for a font [pixels]."""
    return round(sum(_WIDTHS.get(one, _BREADTH) for one in text) * _SIZE)
