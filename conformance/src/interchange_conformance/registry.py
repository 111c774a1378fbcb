"""The registry of checks: rule, source, role, and requirements of each check.

Source: `interchange.abi.RULES` for the rules; each check names the clause that it tests.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, Protocol, TypeVar, get_args

from interchange.abi import RULES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

F = TypeVar("F")

Severity = Literal["MUST", "SHOULD", "QUIRK"]
"""MUST: a violation loses data or crashes; SHOULD: it surprises users; QUIRK: permitted."""
Role = Literal["producer", "consumer", "arrow_producer", "arrow_consumer"]
Where = Literal["host", "cuda"]


class Decorator(Protocol):
    """The result of `area`: the decorator of the checks of one area."""

    def __call__(
        self,
        rule: str,
        *,
        source: str,
        severity: Severity | None = None,
        cases: Mapping[str, Any] | None = None,
        on: Where = "host",
        fresh: bool = False,
        seconds: float = 10.0,
    ) -> Callable[[F], F]:
        """Register a function as a check of a rule."""


ROLES: Final[tuple[Role, ...]] = get_args(Role)
SEVERITIES: Final[tuple[Severity, ...]] = get_args(Severity)

AREAS: Final[Mapping[str, str]] = {
    "subject": "The subject itself",
    "capsule": "Capsule form",
    "negotiation": "Negotiation",
    "lifetime": "Lifetime",
    "readonly": "Read-only memory",
    "copies": "Copies",
    "streams": "Streams",
    "devices": "Devices",
    "cai": "CUDA Array Interface",
    "host": "Buffers and array interface",
    "exchange-api": "C exchange API",
    "errors": "Errors",
    "arrow": "Arrow columns",
}
"""Key of an area -> its heading."""

CHECKS: Final[dict[str, Check]] = {}
"""Name of a check -> the check, in the order of their modules."""


class Check(NamedTuple):
    """One check.

    Attributes
    ----------
    name : str
        Name of its function, unique.
    rule : str
        Id of the rule.
    role : {"producer", "consumer", "arrow_producer", "arrow_consumer"}
        The role that it judges: the name of the function's first parameter.
    area : str
        A key of `AREAS`.
    severity : {"MUST", "SHOULD", "QUIRK"}
        That of the rule, unless the clause that the check tests is weaker.
    source : str
        The document and the clause.
    claim : str
        The claim: the first line of the docstring.
    advice : str
        How to fix a failure: the rest of the docstring.
    function : callable
        ``function(library)`` or ``function(library, case)``; raises `Found` or `NotApplicable`.
    cases : mapping
        Name of a case -> its value; empty for a check without cases.
    on : {"host", "cuda"}
        Its requirement: none, or a CUDA driver, which may be the emulated one.
    fresh : bool
        Whether it is run in a new interpreter, whose exit is part of the check.
    seconds : float
        Time limit [seconds].
    """

    name: str
    rule: str
    role: Role
    area: str
    severity: Severity
    source: str
    claim: str
    advice: str
    function: Callable[..., None]
    cases: Mapping[str, Any]
    on: Where
    fresh: bool
    seconds: float

    def items(self) -> Iterator[str]:
        """Yield the items: the check's name, or that with each case in brackets."""
        if not self.cases:
            yield self.name
        for case in self.cases:
            yield f"{self.name}[{case}]"


def area(key: str) -> Decorator:
    """Return the decorator `check` for one area.

    Parameters
    ----------
    key : str
        A key of `AREAS`.

    Examples
    --------
    >>> check = area("capsule")
    """
    AREAS[key]  # an unknown area is an error of the kit: KeyError

    def check(
        rule: str,
        *,
        source: str,
        severity: Severity | None = None,
        cases: Mapping[str, Any] | None = None,
        on: Where = "host",
        fresh: bool = False,
        seconds: float = 10.0,
    ) -> Callable[[F], F]:
        """Register a function as a check of a rule."""

        def register(function: Any) -> Any:
            claim, _, advice = inspect.cleandoc(function.__doc__ or "").partition("\n")
            role: Any = next(iter(inspect.signature(function).parameters))
            _add(
                Check(
                    function.__name__, rule, role, key, severity or RULES[rule].severity, source,
                    claim, " ".join(advice.split()), function, dict(cases or {}), on, fresh, seconds
                )
            )  # fmt: skip
            return function

        return register

    return check


def _add(check: Check) -> None:
    """Add a check after validation of its description."""
    if check.name in CHECKS:
        raise ValueError(f"there are two checks named {check.name}")
    if check.role not in ROLES:
        raise ValueError(f"{check.name}: the first parameter is one of {', '.join(ROLES)}")
    if not (check.claim and check.advice):
        raise ValueError(f"{check.name}: the docstring has a claim, a blank line and an advice")
    CHECKS[check.name] = check


def load_checks() -> Mapping[str, Check]:
    """Import every module of checks, and return the registry.

    Examples
    --------
    >>> all(check.rule in RULES for check in load_checks().values())
    True
    """
    checks = importlib.import_module(f"{__package__}.checks")
    for module in sorted(found.name for found in pkgutil.iter_modules(checks.__path__)):
        importlib.import_module(f"{checks.__name__}.{module}")
    return CHECKS


def find_item(item: str) -> tuple[Check, str | None]:
    """Return the check and the case of an item.

    Parameters
    ----------
    item : str
        Result of `Check.items`.

    Raises
    ------
    KeyError
        The item does not exist.
    """
    name, bracket, rest = item.partition("[")
    check = CHECKS[name] if name in CHECKS else load_checks()[name]
    case = rest[:-1] if bracket else None
    if (case is None) == bool(check.cases) or (case is not None and case not in check.cases):
        raise KeyError(item)
    return check, case
