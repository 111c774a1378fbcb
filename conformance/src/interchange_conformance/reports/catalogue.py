"""The checks and rules of a report, stored with it so that a reader needs nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from interchange.abi import RULES
from interchange_conformance.registry import AREAS, load_checks

if TYPE_CHECKING:
    from collections.abc import Mapping

    from interchange.abi import Rule
    from interchange_conformance.registry import Role, Severity

    from .model import Judged, Report, SubjectReport


class CheckFacts(NamedTuple):
    """The facts of a check: fields of `interchange_conformance.registry.Check`."""

    name: str
    rule: str
    role: Role
    area: str
    severity: Severity
    source: str
    claim: str
    advice: str


class Catalogue(NamedTuple):
    """The facts of the checks and rules of a report.

    Attributes
    ----------
    checks : mapping
        Name of a check -> `CheckFacts`, in the order of the registry.
    rules : mapping
        Id of a rule -> `interchange.abi.Rule`.
    areas : mapping
        Key of an area -> its heading.
    """

    checks: Mapping[str, CheckFacts]
    rules: Mapping[str, Rule]
    areas: Mapping[str, str]

    def check_of(self, judged: Judged) -> CheckFacts:
        """Return the check of a judged item."""
        return self.checks[check_name(judged.verdict.item)]

    def of_role(self, subject: SubjectReport, role: Role) -> tuple[Judged, ...]:
        """Return the results of a subject in one role."""
        return tuple(one for one in subject.judged if self.check_of(one).role == role)


def check_name(item: str) -> str:
    """Return the name of an item's check.

    Examples
    --------
    >>> check_name("strides_are_kept[0-d]")
    'strides_are_kept'
    """
    return item.partition("[")[0]


def catalogue_of(report: Report) -> Catalogue:
    """Return the facts of every check of which a report has an item, from the registry.

    Raises `KeyError`: the report has an item of a check that this release does not have.
    """
    known = load_checks()
    used = {check_name(one.verdict.item) for subject in report.subjects for one in subject.judged}
    if unknown := sorted(used - set(known)):
        raise KeyError(f"there are no checks {', '.join(unknown)} in this release")
    checks = {
        name: CheckFacts(
            name, check.rule, check.role, check.area, check.severity, check.source, check.claim,
            check.advice,
        )
        for name, check in known.items()
        if name in used
    }  # fmt: skip
    rules = {check.rule for check in checks.values()}
    areas = {check.area for check in checks.values()}
    return Catalogue(
        checks,
        {key: rule for key, rule in RULES.items() if key in rules},
        {key: heading for key, heading in AREAS.items() if key in areas},
    )
