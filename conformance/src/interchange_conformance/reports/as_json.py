"""Write a report as JSON, and read it; ``report.schema.json`` in this folder describes the format.

Source: JSON Schema, draft 2020-12.  The reader validates with that schema, whose few keywords it
knows: jsonschema, with which the tests compare it, depends on compiled code.
"""

from __future__ import annotations

import json
from importlib import resources
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from interchange.abi import Rule
from interchange_conformance.findings import Verdict

from .catalogue import Catalogue, CheckFacts, catalogue_of, check_name
from .model import SCHEMA, Exchange, Judged, Report, SubjectReport
from .tabulating import cause_of, unexpected_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

T = TypeVar("T")


class UnreadableReportError(ValueError):
    """A text is not a report in a supported format; the message has the details."""


def schema() -> dict[str, Any]:
    """Return the JSON Schema of the output of `as_json`."""
    text = resources.files(__package__).joinpath("report.schema.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


# ---------------------------------------------------------------- writing


def as_json(report: Report, catalogue: Catalogue | None = None) -> str:
    """Return a report, and the facts of its checks and rules, as JSON."""
    return json.dumps(as_document(report, catalogue or catalogue_of(report)), indent=1) + "\n"


def as_document(report: Report, catalogue: Catalogue) -> dict[str, Any]:
    """Return the output of `as_json` as dicts and lists."""
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
        "findings": [
            _without_empty(
                {"items": [one.verdict.item for one in alike], "cause": cause_of(alike)}, "cause"
            )
            for alike in unexpected_of(subject, catalogue)
        ],
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

    Raises `UnreadableReportError`: the text is not JSON, not a report, or a report in a newer
    format.
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
    _validate(told, schema(), schema(), "report")
    return _read(told)


_TYPES: Final[dict[str, Any]] = {
    "object": dict, "array": list, "string": str, "number": (int, float), "integer": int
}  # fmt: skip
"""Type in the schema -> types in Python."""


def _validate(told: Any, rule: Any, root: Any, where: str) -> None:
    """Raise an error unless a value is as the schema says, with the path of what is not."""
    if "$ref" in rule:
        rule = root["$defs"][rule["$ref"].rpartition("/")[2]]
    if "enum" in rule and told not in rule["enum"]:
        raise UnreadableReportError(f"{where} is {told!r}, not one of {rule['enum']}")
    kind = rule.get("type")
    if kind and (not isinstance(told, _TYPES[kind]) or isinstance(told, bool)):
        raise UnreadableReportError(f"{where} is of type {type(told).__name__}, not {kind}")
    if kind == "array":
        for place, one in enumerate(told):
            _validate(one, rule["items"], root, f"{where}[{place}]")
    if kind == "object":
        for key in rule.get("required", ()):
            if told.get(key) is None:
                raise UnreadableReportError(f"{where}.{key} is missing")
        others = rule.get("additionalProperties", {})
        for key, value in told.items():
            _validate(value, rule.get("properties", {}).get(key, others), root, f"{where}.{key}")


def _made(cls: Callable[..., T], told: dict[str, Any], **more: Any) -> T:
    """Return a named tuple of the fields that an object of the document has, and further ones."""
    fields: tuple[str, ...] = cast("Any", cls)._fields
    return cls(**{name: told[name] for name in fields if name in told}, **more)


def _read(told: Any) -> tuple[Report, Catalogue]:
    """Return the contents of a valid document."""
    catalogue = Catalogue(
        {name: _made(CheckFacts, one, name=name) for name, one in told["checks"].items()},
        {id_: _made(Rule, one, id=id_, hint=one["way_out"]) for id_, one in told["rules"].items()},
        told["areas"],
    )
    for check in catalogue.checks.values():
        if check.rule not in catalogue.rules or check.area not in catalogue.areas:
            raise UnreadableReportError(
                f"report.checks.{check.name}: there is no {check.rule}, or no {check.area}"
            )
    subjects = tuple(_read_subject(one, catalogue.checks) for one in told["subjects"])
    grid = tuple(_made(Exchange, one) for one in told["grid"])
    return _made(Report, {**told, "subjects": subjects, "grid": grid}), catalogue


def _read_subject(told: Any, checks: Mapping[str, CheckFacts]) -> SubjectReport:
    """Return the report of one subject."""
    for one in told["results"]:
        if check_name(one["item"]) not in checks:
            words = f"the result {one['item']!r} of {told['name']}"
            raise UnreadableReportError(f"{words}: there is no check {check_name(one['item'])}")
    judged = tuple(
        _made(Judged, one, verdict=_made(Verdict, one, subject=told["name"]))
        for one in told["results"]
    )
    return _made(SubjectReport, {**told, "roles": tuple(told["roles"])}, judged=judged)
