"""Write a report as JSON, and read it; ``report.schema.json`` in this folder describes the format.

Source: JSON Schema, draft 2020-12.  The reader makes typed objects and reports errors itself:
jsonschema, with which the tests compare it, makes none and depends on compiled code.
"""

from __future__ import annotations

import json
from importlib import resources
from typing import TYPE_CHECKING, Any, Final, cast, get_args

from interchange.abi import Rule
from interchange_conformance.findings import STATUSES, Verdict
from interchange_conformance.registry import ROLES, SEVERITIES

from .catalogue import Catalogue, CheckFacts, catalogue_of, check_name
from .model import SCHEMA, Exchange, Judged, Report, Standing, SubjectReport
from .tabulating import cause_of, unexpected_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_DRIVERS: Final = ("none", "emulated", "real")
_OUTCOMES: Final = ("shared", "copied", "refused", "wrong", "crash", "hang")


class UnreadableReportError(ValueError):
    """A text is not a report in a supported format; the message has the details."""


def schema() -> dict[str, Any]:
    """Return the JSON Schema of the output of `as_json`."""
    text = resources.files(__package__).joinpath("report.schema.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


# ---------------------------------------------------------------- writing


def as_json(report: Report, catalogue: Catalogue | None = None) -> str:
    """Return a report, and the facts of its checks and rules, as JSON.

    Parameters
    ----------
    report : Report
        The result of a run.
    catalogue : Catalogue, optional
        Facts of the checks and rules; from the registry by default.
    """
    return json.dumps(as_document(report, catalogue or catalogue_of(report)), indent=1) + "\n"


def as_document(report: Report, catalogue: Catalogue) -> dict[str, Any]:
    """Return the output of `as_json` as dicts and lists.

    Parameters
    ----------
    report : Report
        The result of a run.
    catalogue : Catalogue
        Facts of the checks and rules.
    """
    return {
        "schema": SCHEMA,
        "kit": report.kit,
        "python": report.python,
        "platform": report.platform,
        "driver": report.driver,
        "unexpected": report.unexpected,
        "subjects": [_subject(subject, catalogue) for subject in report.subjects],
        "grid": [_without_empty(one._asdict(), "evidence") for one in report.grid],
        "checks": {check.name: _without(check, "name") for check in catalogue.checks.values()},
        "rules": {rule.id: _rule_facts(rule) for rule in catalogue.rules.values()},
        "areas": dict(catalogue.areas),
    }


def _finding(alike: Sequence[Judged]) -> dict[str, Any]:
    """Return an unexpected finding: items with one cause, of any checks."""
    told = {"items": [one.verdict.item for one in alike], "cause": cause_of(alike)}
    return _without_empty(told, "cause")


def _subject(subject: SubjectReport, catalogue: Catalogue) -> dict[str, Any]:
    """Return the report of one subject."""
    told = {
        "spec": subject.spec,
        "name": subject.name,
        "version": subject.version,
        "roles": list(subject.roles),
        "broken": subject.broken,
        "hardly": subject.hardly,
        "seconds": subject.seconds,
        "results": [_result(one) for one in subject.judged],
        "findings": [_finding(alike) for alike in unexpected_of(subject, catalogue)],
    }
    return _without_empty(told, "hardly")


def _result(judged: Judged) -> dict[str, Any]:
    """Return one item; empty texts are omitted."""
    verdict = judged.verdict
    told = {
        "item": verdict.item,
        "check": check_name(verdict.item),
        "status": verdict.status,
        "standing": judged.standing,
        "seconds": verdict.seconds,
        "evidence": verdict.evidence,
        "output": verdict.output,
        "cause": verdict.cause,
        "reason": judged.reason,
        "link": judged.link,
        "releases": judged.releases,
    }
    return _without_empty(told, "evidence", "output", "cause", "reason", "link", "releases")


def _without_empty(told: dict[str, Any], *optional: str) -> dict[str, Any]:
    """Return a dict without those optional texts that are empty."""
    return {key: value for key, value in told.items() if value or key not in optional}


def _rule_facts(rule: Rule) -> dict[str, Any]:
    """Return a rule without its id, with the keys of report.schema.json."""
    return {
        ("way_out" if key == "hint" else key): value for key, value in _without(rule, "id").items()
    }


def _without(facts: CheckFacts | Rule, key: str) -> dict[str, Any]:
    """Return the fields of a check or a rule, except its key."""
    return {name: value for name, value in facts._asdict().items() if name != key}


# ---------------------------------------------------------------- reading


def from_json(text: str) -> tuple[Report, Catalogue]:
    """Return the report in the output of `as_json`, and the facts of its checks and rules.

    Parameters
    ----------
    text : str
        JSON.

    Raises
    ------
    UnreadableReportError
        The text is not JSON, not a report, or a report in a newer format.
    """
    try:
        told = json.loads(text)
    except ValueError as error:
        raise UnreadableReportError(f"the report is no JSON: {error}") from error
    if not isinstance(told, dict) or not isinstance(told.get("schema"), int):
        raise UnreadableReportError("the text is no report: it has no number named schema")
    if told["schema"] != SCHEMA:
        raise UnreadableReportError(
            f"the report is of form {told['schema']}, and this release reads form {SCHEMA}"
        )
    return _read(told)


class _Part:
    """An object of the JSON document, with its path for errors."""

    def __init__(self, told: Any, where: str) -> None:
        if not isinstance(told, dict):
            raise UnreadableReportError(f"{where} is no object")
        self.told, self.where = told, where

    def text(self, key: str, *, among: tuple[str, ...] = (), default: str | None = None) -> str:
        """Return a text, optionally one of given values."""
        value = self._get(key, str, default)
        if among and value not in among:
            raise UnreadableReportError(f"{self.where}.{key} is {value!r}, not one of {among}")
        return cast("str", value)

    def number(self, key: str) -> float:
        """Return a number."""
        value = self._get(key, (int, float), None)
        if isinstance(value, bool):
            raise UnreadableReportError(f"{self.where}.{key} is a bool, and no number")
        return cast("float", value)

    def parts(self, key: str) -> list[_Part]:
        """Return a list of objects."""
        found = self._get(key, list, None)
        return [_Part(one, f"{self.where}.{key}[{place}]") for place, one in enumerate(found)]

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a list of texts."""
        found = self._get(key, list, None)
        if not all(isinstance(one, str) for one in found):
            raise UnreadableReportError(f"{self.where}.{key} is no list of texts")
        return tuple(found)

    def by_name(self, key: str, make: Callable[[str, _Part], Any]) -> dict[str, Any]:
        """Return an object of objects, each converted by a function."""
        found = self._get(key, dict, None)
        return {
            name: make(name, _Part(one, f"{self.where}.{key}.{name}"))
            for name, one in found.items()
        }

    def _get(self, key: str, kind: Any, default: Any) -> Any:
        """Return a value of a type."""
        value = self.told.get(key, default)
        if value is None or not isinstance(value, kind):
            what = "missing" if value is None else f"of type {type(value).__name__}"
            raise UnreadableReportError(f"{self.where}.{key} is {what}")
        return value


def _read(told: Any) -> tuple[Report, Catalogue]:
    """Return the contents of a document."""
    whole = _Part(told, "report")
    catalogue = Catalogue(
        whole.by_name("checks", _read_check),
        whole.by_name("rules", _read_rule),
        _read_areas(whole),
    )
    report = Report(
        whole.text("kit"),
        whole.text("python"),
        whole.text("platform"),
        cast("Any", whole.text("driver", among=_DRIVERS)),
        tuple(_read_subject(part, catalogue.checks) for part in whole.parts("subjects")),
        tuple(_read_exchange(part) for part in whole.parts("grid")),
    )
    _check_catalogue(catalogue)
    return report, catalogue


def _read_areas(whole: _Part) -> dict[str, str]:
    """Return the headings of the areas."""
    part = _Part(whole.told.get("areas"), "report.areas")
    return {key: part.text(key) for key in part.told}


def _check_catalogue(catalogue: Catalogue) -> None:
    """Raise an error if the rule or the area of a check is missing."""
    for check in catalogue.checks.values():
        if check.rule not in catalogue.rules or check.area not in catalogue.areas:
            raise UnreadableReportError(
                f"report.checks.{check.name}: there is no {check.rule}, or no {check.area}"
            )


def _read_check(name: str, part: _Part) -> CheckFacts:
    """Return a check."""
    return CheckFacts(
        name,
        part.text("rule"),
        cast("Any", part.text("role", among=ROLES)),
        part.text("area"),
        cast("Any", part.text("severity", among=SEVERITIES)),
        part.text("source"),
        part.text("claim"),
        part.text("advice"),
    )


def _read_rule(name: str, part: _Part) -> Rule:
    """Return a rule."""
    severity = cast("Any", part.text("severity", among=SEVERITIES))
    return Rule(name, part.text("text"), part.text("way_out"), part.text("source"), severity)


def _read_subject(part: _Part, checks: Mapping[str, CheckFacts]) -> SubjectReport:
    """Return the report of one subject."""
    name = part.text("name")
    return SubjectReport(
        part.text("spec"),
        name,
        part.text("version"),
        part.texts("roles"),
        part.text("broken"),
        tuple(_read_result(one, name, checks) for one in part.parts("results")),
        part.number("seconds"),
        part.text("hardly", default=""),
    )


def _read_result(part: _Part, subject: str, checks: Mapping[str, CheckFacts]) -> Judged:
    """Return one item."""
    item = part.text("item")
    if check_name(item) not in checks:
        raise UnreadableReportError(f"{part.where}.item: there is no check {check_name(item)}")
    verdict = Verdict(
        subject,
        item,
        cast("Any", part.text("status", among=STATUSES)),
        part.text("evidence", default=""),
        part.text("output", default=""),
        part.number("seconds"),
        part.text("cause", default=""),
    )
    return Judged(
        verdict,
        cast("Any", part.text("standing", among=get_args(Standing))),
        part.text("reason", default=""),
        part.text("link", default=""),
        part.text("releases", default=""),
    )


def _read_exchange(part: _Part) -> Exchange:
    """Return one cell of the grid."""
    return Exchange(
        part.text("producer"),
        part.text("consumer"),
        cast("Any", part.text("status", among=_OUTCOMES)),
        part.text("evidence", default=""),
    )
