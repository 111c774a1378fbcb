"""Tables for Markdown and HTML: subjects by rules, known failures, producers by consumers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from interchange_conformance.evidence.causes import is_quoted_in, keys_of
from interchange_conformance.registry import ROLES, SEVERITIES

from .catalogue import check_name
from .states import badness, state_of, worst
from .texts import cases, sentence

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from interchange.abi import Rule
    from interchange_conformance.registry import Role, Severity

    from .catalogue import Catalogue, CheckFacts
    from .model import Exchange, Judged, Report, SubjectReport
    from .states import State

HEADINGS: Final[Mapping[Role, str]] = {
    "producer": "Producers by rule",
    "consumer": "Consumers by rule",
    "arrow_producer": "Producers of Arrow by rule",
    "arrow_consumer": "Consumers of Arrow by rule",
}
"""Role -> heading of its table."""


class Cell(NamedTuple):
    """The results of one subject in one row: the worst state, None without any, and counts."""

    state: State | None
    passed: int
    applicable: int


class Row(NamedTuple):
    """One rule at one severity."""

    rule: Rule
    severity: Severity
    cells: tuple[Cell, ...]

    @property
    def says(self) -> str:
        """The text of the rule, as a sentence."""
        return sentence(self.rule.text)


class Block(NamedTuple):
    """The rows of one area, and a cell per subject for all of them together."""

    area: str
    heading: str
    cells: tuple[Cell, ...]
    rows: tuple[Row, ...]


class Table(NamedTuple):
    """Rules by subjects, for one role."""

    role: Role
    subjects: tuple[SubjectReport, ...]
    blocks: tuple[Block, ...]


Key = tuple[str, str, str]  # area, rule, severity


def tables(report: Report, catalogue: Catalogue) -> list[Table]:
    """Return one table per role in which a subject was judged."""
    made = (_table(role, report, catalogue) for role in ROLES)
    return [table for table in made if table.subjects]


def _table(role: Role, report: Report, catalogue: Catalogue) -> Table:
    """Return the table of one role."""
    found = [(subject, catalogue.of_role(subject, role)) for subject in report.subjects]
    columns = [(subject, _sort_in(items, catalogue)) for subject, items in found if items]
    wanted = {key for _, by_key in columns for key in by_key}
    blocks = []
    for area, heading in catalogue.areas.items():
        keys = _keys(area, wanted, catalogue.checks.values())
        rows = tuple(
            Row(
                catalogue.rules[key[1]],
                severity,
                tuple(_cell(by_key.get(key, ())) for _, by_key in columns),
            )
            for key, severity in keys.items()
        )
        whole = tuple(
            _cell(one for key in keys for one in by_key.get(key, ())) for _, by_key in columns
        )
        if rows:
            blocks.append(Block(area, heading, whole, rows))
    return Table(role, tuple(subject for subject, _ in columns), tuple(blocks))


def _sort_in(judged: Iterable[Judged], catalogue: Catalogue) -> dict[Key, list[Judged]]:
    """Return items grouped by row."""
    found: dict[Key, list[Judged]] = {}
    for one in judged:
        check = catalogue.check_of(one)
        found.setdefault((check.area, check.rule, check.severity), []).append(one)
    return found


def _keys(area: str, wanted: set[Key], checks: Iterable[CheckFacts]) -> dict[Key, Severity]:
    """Return the rows of an area: rules in the order of their checks, the most severe first."""
    order: dict[str, int] = {}
    keys: dict[Key, Severity] = {}
    for check in checks:
        key = (check.area, check.rule, check.severity)
        if check.area == area and key in wanted:
            order.setdefault(check.rule, len(order))
            keys[key] = check.severity
    ordered = sorted(keys, key=lambda key: (order[key[1]], SEVERITIES.index(keys[key])))
    return {key: keys[key] for key in ordered}


def _cell(judged: Iterable[Judged]) -> Cell:
    """Return the cell of some items."""
    states = [state_of(one) for one in judged]
    keys = [state.key for state in states]
    return Cell(worst(states), keys.count("pass"), len(keys) - keys.count("not-applicable"))


# ---------------------------------------------------------------- findings


def unexpected_of(subject: SubjectReport, catalogue: Catalogue) -> list[tuple[Judged, ...]]:
    """Return the unexpected findings of a subject, the worst and most severe first.

    Items of the same cause are one finding, whatever their checks; without a known cause, cases of
    one check with the same status and the same evidence are one finding.
    """

    def order(one: Judged) -> tuple[int, int]:
        return badness(one), SEVERITIES.index(catalogue.check_of(one).severity)

    unexpected = sorted((one for one in subject.judged if one.is_unexpected), key=order)
    causes = keys_of(one.verdict.cause for one in unexpected if one.verdict.cause)
    found: dict[object, list[Judged]] = {}
    for one in unexpected:
        found.setdefault(_cause_of(one, causes), []).append(one)
    return [tuple(alike) for alike in found.values()]


def _cause_of(one: Judged, causes: Mapping[str, str]) -> object:
    """Return the value that all items of a finding have in common."""
    verdict = one.verdict
    told = verdict.cause or next((it for it in causes if is_quoted_in(it, verdict.evidence)), "")
    if told and one.standing == "unexpected-failure":
        return causes[told]
    output = "" if verdict.status == "hang" else verdict.output  # the place of a hang is random
    said = (verdict.status, verdict.evidence, output, one.reason, one.link)
    return (check_name(verdict.item), *said)


def cause_of(alike: Sequence[Judged]) -> str:
    """Return the cause of a finding of several items, with its source line if that is known."""
    return max((one.verdict.cause for one in alike), key=len) if len(alike) > 1 else ""


def others_of(alike: Sequence[Judged]) -> str:
    """Return the further items of a finding: cases of its check, and other checks with theirs."""
    first, *rest = [one.verdict.item for one in alike]
    own = [item[len(check_name(first)) :] for item in rest if check_name(item) == check_name(first)]
    counts: dict[str, int] = {}
    for item in rest:
        name = check_name(item)
        if name != check_name(first):
            counts[name] = counts.get(name, 0) + (item != name)
    return ", ".join([*own, *(f"{name}{cases(number)}" for name, number in counts.items())])


class KnownFailure(NamedTuple):
    """A known failure of one library, with one reason and the items that fail."""

    area: str
    rule: str
    severity: Severity
    reason: str
    link: str
    releases: str
    items: tuple[str, ...]

    @property
    def checks(self) -> list[tuple[str, int]]:
        """The checks, and the number of failing cases of each; 0 if a check has no cases."""
        counts: dict[str, int] = {}
        for item in self.items:
            name = check_name(item)
            counts[name] = counts.get(name, 0) + (item != name)
        return list(counts.items())


def known_failures_of(subject: SubjectReport, catalogue: Catalogue) -> list[KnownFailure]:
    """Return the known failures of a subject; items with the same rule and reason are one."""
    found: dict[KnownFailure, list[str]] = {}
    for one in subject.judged:
        if state_of(one).key == "known":
            check = catalogue.check_of(one)
            about = (check.area, check.rule, check.severity)
            key = KnownFailure(*about, one.reason, one.link, one.releases, ())
            found.setdefault(key, []).append(one.verdict.item)
    return [key._replace(items=tuple(items)) for key, items in found.items()]


# ---------------------------------------------------------------- producers by consumers


class Outcome(NamedTuple):
    """The appearance of an exchange."""

    symbol: str
    group: str
    meaning: str


OUTCOMES: Final[Mapping[str, Outcome]] = {
    "shared": Outcome("●", "pass", "the same memory, at the same address"),
    "copied": Outcome("○", "known", "the consumer made a copy"),
    "refused": Outcome("—", "not-applicable", "one of the two said no, with an error"),
    "wrong": Outcome("✗", "unexpected", "what arrived is not what was sent"),
    "crash": Outcome("✗", "unexpected", "a signal ended the process"),
    "hang": Outcome("✗", "unexpected", "it was cut after its time"),
}
"""Status of an exchange -> its appearance."""


class Grid(NamedTuple):
    """Producers by consumers; pairs that were not tried have no cell."""

    producers: tuple[str, ...]
    consumers: tuple[str, ...]
    cells: Mapping[tuple[str, str], Exchange]


def grid_of(report: Report) -> Grid:
    """Return the grid of a report, in the order of its exchanges."""
    return Grid(
        tuple(dict.fromkeys(one.producer for one in report.grid)),
        tuple(dict.fromkeys(one.consumer for one in report.grid)),
        {(one.producer, one.consumer): one for one in report.grid},
    )
