"""A report on a terminal: one line per subject, then every unexpected finding.

Colours require rich; without it, or if standard output is not a terminal, the lines are plain.
"""

from __future__ import annotations

import os
import shlex
import sys
import textwrap
from typing import TYPE_CHECKING, Final, NamedTuple

from .catalogue import catalogue_of
from .files import STDOUT, write
from .states import STATES, count, in_words, state_of
from .tabulating import cause_of, others_of, unexpected_of
from .texts import again, one_line, printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .catalogue import Catalogue
    from .model import Exchange, Judged, Report, SubjectReport
    from .states import Group

_STYLES: Final[dict[Group, str]] = {
    "unexpected": "bold red",
    "known": "yellow",
    "quirk": "cyan",
    "pass": "green",
    "not-applicable": "dim",
}
_WIDTH: Final = 100  # if the terminal does not report its width [columns]
_NARROWEST: Final = 40  # minimum width of wrapped texts [columns]
_LABEL: Final = 9  # from the left edge of a finding to its text [columns]
_WORD: Final = max(len(state.word) for state in STATES)


class Piece(NamedTuple):
    """A line, or a piece of one, without line breaks, and its style in the notation of rich."""

    text: str
    style: str = ""


def show(report: Report, catalogue: Catalogue | None = None) -> None:
    """Print a report on standard output.

    Raises `ReportError`: standard output is full, or closed.
    """
    show_lines(
        [[line] for line in as_lines(report, catalogue or catalogue_of(report), terminal_width())]
    )


def as_text(report: Report, catalogue: Catalogue | None = None, *, width: int = _WIDTH) -> str:
    """Return the output of `show` without colours, wrapped except for commands to copy."""
    lines = as_lines(report, catalogue or catalogue_of(report), width)
    return "".join(f"{line.text}\n" for line in lines)


def as_lines(report: Report, catalogue: Catalogue, width: int) -> Iterator[Piece]:
    """Yield the lines of a report."""
    names = [_name(subject) for subject in report.subjects]
    broad = max(map(len, names), default=0)
    for subject, name in zip(report.subjects, names, strict=True):
        yield _summary(subject, name.ljust(broad))
    for subject in report.subjects:
        for alike in unexpected_of(subject, catalogue):
            yield Piece("")
            yield from _finding(subject, alike, catalogue, max(width, _NARROWEST))
    for one in report.grid:
        if one.is_bad:
            yield Piece("")
            yield from _bad_exchange(one, report, max(width, _NARROWEST))
    yield Piece("")
    yield _total(report, sum(len(unexpected_of(one, catalogue)) for one in report.subjects))


def _name(subject: SubjectReport) -> str:
    """Return the name of a subject, with its release."""
    version = "" if subject.version == "unknown" else f" {one_line(subject.version)}"
    return f"{one_line(subject.name)}{version}"


def _summary(subject: SubjectReport, name: str) -> Piece:
    """Return the line of a subject."""
    if subject.broken:
        return Piece(
            f"{name}  could not be judged: {one_line(subject.broken)}", _STYLES["unexpected"]
        )
    counts = count(subject.judged)
    told = ", ".join(in_words(counts)) or "nothing to judge"
    is_fine = counts["pass"] and not subject.hardly
    style = _STYLES["unexpected" if counts["unexpected"] else "pass" if is_fine else "known"]
    hardly = f"; hardly judged: {one_line(subject.hardly)}" if subject.hardly else ""
    return Piece(f"{name}  {told}{hardly} ({subject.seconds:.1f} s)", style)


def _finding(
    subject: SubjectReport, alike: tuple[Judged, ...], catalogue: Catalogue, width: int
) -> Iterator[Piece]:
    """Yield the details of items with the same result."""
    judged = alike[0]
    check, state, verdict = catalogue.check_of(judged), state_of(judged), judged.verdict
    rule = catalogue.rules[check.rule]
    yield Piece(
        f"{state.word.upper():{_WORD}}  {_name(subject)}: {verdict.item}"
        f" [{check.rule}, {check.severity}]",
        _STYLES[state.group],
    )
    yield from _labelled("and", others_of(alike), width)
    yield from _labelled("cause", cause_of(alike), width)
    yield from _labelled("due", check.claim, width)
    if state.key == "now-passes":
        yield from _labelled("found", "it passes, and was known to fail", width)
        yield from _labelled("known", f"{judged.reason} {judged.link}", width)
        yield from _labelled("do", "take it out of the list of known failures", width)
    else:
        yield from _labelled("found", verdict.evidence, width)
        yield from _labelled("printed", verdict.output, width)
        yield from _labelled("do", check.advice, width)
    yield from _labelled("rule", f"{rule.text} ({check.source})", width)
    yield Piece(f"  {'again':{_LABEL - 2}} {again(subject.spec, verdict.item)}", "bold")


def _bad_exchange(one: Exchange, report: Report, width: int) -> Iterator[Piece]:
    """Yield the details of a failed exchange."""
    specs = {subject.name: subject.spec for subject in report.subjects}
    names = [one.producer, one.consumer]
    command = shlex.join(["interchange", "check", *(specs.get(name, name) for name in names)])
    pair = " to ".join(one_line(name) for name in names)
    yield Piece(f"{one.status.upper():{_WORD}}  {pair} [the grid]", _STYLES["unexpected"])
    yield from _labelled("due", "the same elements arrive, or an error", width)
    yield from _labelled("found", one.evidence, width)
    yield Piece(f"  {'again':{_LABEL - 2}} {printable(command)} --grid", "bold")


def _labelled(label: str, text: str, width: int) -> Iterator[Piece]:
    """Yield a text next to its label, with the line breaks of the text."""
    head = f"  {label}".ljust(_LABEL) + " "
    for paragraph in printable(text).strip().splitlines():
        for wrapped in textwrap.wrap(
            paragraph.expandtabs(4),
            width - len(head),
            replace_whitespace=False,
            drop_whitespace=True,
            break_on_hyphens=False,
        ) or [""]:
            yield Piece(f"{head}{wrapped}".rstrip())
            head = " " * len(head)


def _total(report: Report, findings: int) -> Piece:
    """Return the last line: the total."""
    items = sum(len(subject.judged) for subject in report.subjects)
    found = f"{report.unexpected} unexpected" if report.unexpected else "all as expected"
    if findings and findings < report.unexpected:
        found += f" ({findings} finding{'s' if findings > 1 else ''})"
    ran = f"{items} item{'s' if items != 1 else ''}, {found}"
    where = f"Python {report.python} on {report.platform}, CUDA driver: {report.driver}"
    style = _STYLES["unexpected" if report.unexpected else "pass"]
    return Piece(f"{ran}; interchange {report.kit}, {where}", style)


# ---------------------------------------------------------------- output


def show_lines(lines: Sequence[Sequence[Piece]]) -> None:
    """Print lines on standard output, with colours if it is a terminal and rich is installed.

    Raises `ReportError`: standard output is full, or closed.
    """
    if not (sys.stdout.isatty() and _show_in_colours(lines)):
        texts = ("".join(piece.text for piece in line).rstrip() for line in lines)
        write(STDOUT, "".join(f"{printable(text)}\n" for text in texts))


def terminal_width() -> int:
    """Return the width of the terminal [columns]."""
    told = os.environ.get("COLUMNS", "")
    if told.isdecimal() and int(told):
        return int(told)
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or _WIDTH
    except (OSError, ValueError):
        return _WIDTH


def _show_in_colours(lines: Sequence[Sequence[Piece]]) -> bool:
    """Print lines with rich, and return whether it is installed."""
    try:
        from rich.console import Console
        from rich.text import Text
    except ModuleNotFoundError:
        return False
    console = Console(highlight=False, soft_wrap=True)
    encoding = console.encoding
    for line in lines:
        shown = [
            (printable(text).encode(encoding, "backslashreplace").decode(encoding), style)
            for text, style in line
        ]
        console.print(Text.assemble(*shown))
    return True
