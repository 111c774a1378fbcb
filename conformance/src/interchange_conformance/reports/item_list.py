"""The items that a run would have, for a terminal and as JSON.

Source: ``items.schema.json`` beside this module describes the JSON.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, NamedTuple

from interchange_conformance.registry import AREAS, load_checks

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

SCHEMA: Final = 1
"""Number of the form: it grows when a reader of the old form would misread the new one."""


class Row(NamedTuple):
    """An item.

    Attributes
    ----------
    item : str
        Name of the check, with the case in brackets.
    role : str
        The role that it judges.
    rule, severity : str
        What it is by, and how binding that is.
    area : str
        Heading of what it belongs to.
    """

    item: str
    role: str
    rule: str
    severity: str
    area: str


def rows_of(items: Iterable[str]) -> list[Row]:
    """Return the facts of items.

    Parameters
    ----------
    items : iterable of str
        As ``Selection.items`` returns them.
    """
    checks = load_checks()
    found = ((item, checks[item.partition("[")[0]]) for item in items)
    return [
        Row(item, check.role, check.rule, check.severity, AREAS[check.area])
        for item, check in found
    ]


def as_json(rows: Sequence[Row]) -> str:
    """Return items as JSON.

    Parameters
    ----------
    rows : sequence of Row
        As `rows_of` returns them.
    """
    told = {"schema": SCHEMA, "items": [row._asdict() for row in rows]}
    return json.dumps(told, indent=1) + "\n"
