"""The items of a run, for a terminal and as JSON.

Source: ``items.schema.json`` beside this module describes the JSON.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, NamedTuple

from interchange_conformance.registry import AREAS, load_checks

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

SCHEMA: Final = 1
"""Version of the format: it grows if a reader of the old format would misread the new one."""


class Row(NamedTuple):
    """An item."""

    item: str
    role: str
    rule: str
    severity: str
    area: str


def rows_of(items: Iterable[str]) -> list[Row]:
    """Return the facts of items."""
    checks = load_checks()
    found = ((item, checks[item.partition("[")[0]]) for item in items)
    return [
        Row(item, check.role, check.rule, check.severity, AREAS[check.area])
        for item, check in found
    ]


def as_json(rows: Sequence[Row]) -> str:
    """Return items as JSON."""
    told = {"schema": SCHEMA, "items": [row._asdict() for row in rows]}
    return json.dumps(told, indent=1) + "\n"
