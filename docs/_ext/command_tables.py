"""Tables on the commands, as Markdown: exit codes, forms of JSON, environment variables.

Source: `interchange.cli.output`, `interchange.cli.forms`, `interchange.cli.variables`, and
`interchange_conformance.cli.exits` and the schemas of the conformance kit.
"""

from __future__ import annotations

import json
from importlib import resources
from typing import Any, Final

from tables import code, sentence, table

from interchange.cli import forms, output
from interchange.cli.variables import VARIABLES
from interchange_conformance.cli import exits

_KIT: Final = "interchange_conformance.reports"
_KITS: Final = {
    "matrix": "interchange matrix --json",
    "report": "interchange check SUBJECT --json",
    "items": "interchange check SUBJECT --list --json",
    "badge": "interchange check SUBJECT --badge",
}
"""Format of the kit -> the option that writes it."""


def exit_codes() -> str:
    """Return the meanings of the exit codes, for all commands."""
    rows = ((str(number), sentence(means)) for number, means in output.CODES.items())
    return table(("Exit code", "Means"), rows)


def exit_codes_by_command() -> str:
    """Return the exit codes of each command; `exits.INTERRUPTED` has one meaning only."""
    columns = (exits.FINE, exits.FOUND, exits.CANNOT)
    return table(
        ("Command", *map(str, columns)),
        (
            [code(command), *(sentence(means.get(number, "-")) for number in columns)]
            for command, means in {**output.COMMANDS, **exits.COMMANDS}.items()
        ),
    )


def forms_of_json() -> str:
    """Return every form of JSON that a command writes, and where its schema is."""
    return table(
        ("Written by", "Form", "Schema", "Says"),
        (
            (code(command), str(number), code(f"{package}/{file}"), sentence(_first(schema)))
            for command, number, package, file, schema in documents()
        ),
    )


def documents() -> list[tuple[str, int, str, str, dict[str, Any]]]:
    """Return every format: its writer, its number, the path of its schema, and the schema."""
    ours = [
        (command, number, "interchange/cli/schemas", f"{form}.schema.json", forms.schema(form))
        for form, (number, command) in forms.FORMS.items()
    ]
    kits = []
    for form, command in _KITS.items():
        file = f"{form}.schema.json"
        schema = json.loads((resources.files(_KIT) / file).read_text(encoding="utf-8"))
        number = _number(schema)
        kits.append((command, number, _KIT.replace(".", "/"), file, schema))
    return ours + kits


def _number(schema: dict[str, Any]) -> int:
    """Return the version number of a format; shields.io has its own key for it."""
    properties = schema["properties"]
    number: int = properties.get("schema", properties.get("schemaVersion"))["const"]
    return number


def _first(schema: dict[str, Any]) -> str:
    """Return the first sentence of a schema's description."""
    return schema["description"].partition(". ")[0].rstrip(".") + "."


def environment() -> str:
    """Return every environment variable."""
    rows = ((code(one.name), sentence(one.reader), sentence(one.does)) for one in VARIABLES)
    return table(("Variable", "Read by", "Does"), rows)
