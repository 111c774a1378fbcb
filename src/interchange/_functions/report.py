"""`Report` and `Finding`: what `inspect` returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from interchange.abi import RULES


@dataclass(frozen=True)
class Finding:
    """A broken rule.

    Attributes
    ----------
    rule : str
        Its id.
    what : str
        What was found.
    """

    rule: str
    what: str

    def __str__(self) -> str:
        row = RULES[self.rule]
        return f"{row.severity:6} {self.rule}: {self.what}; {row.text}"


Finding.__module__ = "interchange"


@dataclass
class Report:
    """The result of `inspect`.

    Attributes
    ----------
    kind : str
        What was inspected: a capsule, a protocol of an object...
    fields : dict[str, str]
        The contents as text, in the order of the struct or record.
    values : dict[str, object]
        The same as values: numbers, lists of them, bools, None for missing entries; an entry that
        could not be read is a dict with the key ``"error"``.  Names contain the unit:
        ``strides_elements``, ``strides_bytes``.
    findings : list[Finding]
        The broken rules; empty if there are none.
    parts : list[Report]
        One report for each protocol of an object.
    """

    kind: str
    fields: dict[str, str] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    parts: list[Report] = field(default_factory=list)
    values: dict[str, Any] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Whether only rules of severity QUIRK are broken, here and in the parts."""
        here = all(RULES[finding.rule].severity == "QUIRK" for finding in self.findings)
        return here and all(part.ok for part in self.parts)

    def __str__(self) -> str:
        width = max(map(len, self.fields), default=0)
        lines = [self.kind]
        lines += [f"  {name:{width}}  {text}" for name, text in self.fields.items()]
        lines += [f"  {finding}" for finding in self.findings]
        for part in self.parts:
            lines += [f"  {line}" for line in str(part).splitlines()]
        return "\n".join(lines)

    def _broken(self, rule: str, what: str) -> None:
        self.findings.append(Finding(rule, what))

    def _say(self, name: str, text: str, **values: Any) -> None:
        """Add a field: its text, and its values, under its own name if they have none."""
        self.fields[name] = text
        self.values |= values

    def _failed(self, name: str, text: str) -> Report:
        """Add a field that could not be read, and return the report."""
        self._say(name, text, **{name.strip("_"): {"error": text}})
        return self


Report.__module__ = "interchange"
