"""The forms of JSON that commands write: a number each, and a JSON Schema in ``schemas``.

Source: JSON Schema, draft 2020-12.  A document says the number of its form as
``schema``.  The number grows when a reader of the old form would misread the new one; fields may be
added without that.
"""

from __future__ import annotations

import json
from importlib import resources
from typing import Any, Final

FORMS: Final = {
    "versions": (1, "interchange --json"),
    "inspection": (1, "interchange inspect EXPRESSION --json"),
    "matrix": (1, "interchange matrix --json"),
}
"""Name of a form -> its number, and what writes it."""


def as_text(form: str, facts: dict[str, Any]) -> str:
    """Return a document of a form.

    Parameters
    ----------
    form : str
        One of `FORMS`.
    facts : dict
        What it says.
    """
    document = {"schema": FORMS[form][0], **facts}
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


def schema(form: str) -> dict[str, Any]:
    """Return the JSON Schema of a form.

    Examples
    --------
    >>> schema("matrix")["$id"]
    'urn:array-interchange:matrix-1'
    """
    folder = resources.files(__package__) / "schemas"
    text = (folder / f"{form}.schema.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found
