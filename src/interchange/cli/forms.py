"""The JSON documents that commands write: each has a number and a JSON Schema in ``schemas``.

Source: JSON Schema, draft 2020-12.  A document has its number in the field ``schema``.  The number
grows with an incompatible change; added fields are compatible.
"""

from __future__ import annotations

import json
from importlib import resources
from typing import Any, Final

FORMS: Final = {
    "versions": (1, "interchange --json"),
    "inspection": (1, "interchange inspect EXPRESSION --json"),
    "doctor": (1, "interchange doctor --json"),
}
"""Name of a document -> its number, and the command that writes it."""


def as_text(form: str, facts: dict[str, Any]) -> str:
    """Return the text of a document.

    `form`: one of `FORMS`.
    `facts`: its fields.
    """
    document = {"schema": FORMS[form][0], **facts}
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


def schema(form: str) -> dict[str, Any]:
    """Return the JSON Schema of a document.

    Examples
    --------
    >>> schema("versions")["$id"]
    'urn:array-interchange:versions-1'
    """
    folder = resources.files(__package__) / "schemas"
    text = (folder / f"{form}.schema.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found
