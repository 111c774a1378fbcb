"""Directives that print the conformance kit's data about libraries, so that pages stay correct.

Source: Sphinx, "Developing extensions"; the kit's files of known failures, and its descriptions of
libraries.  The functions can also be called without Sphinx.  In a MyST page::

    ```{known-failures} numpy
    ```
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tables import code, sentence, table

from interchange_conformance import subjects
from interchange_conformance.judging import expectations
from interchange_conformance.registry import SEVERITIES, load_checks
from interchange_conformance.subject import KINDS
from mutants import load_mutants

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.application import Sphinx

    from interchange_conformance.judging.expectations import Expectation
    from interchange_conformance.registry import Check

_TRIED: Final = "A range of releases begins with the first that was tried."
_MARKS: Final = {True: "yes", False: ""}
_ASK: Final = """
import json
from interchange_conformance import subjects
found = subjects.described()
print(json.dumps({name: [one.name, subjects.hooks_of(one)] for name, one in found.items()}))
"""


class Row(NamedTuple):
    """A known failure of a library, with all checks that detect it."""

    reason: str
    link: str
    releases: str
    checks: tuple[str, ...]


# ---------------------------------------------------------------- known failures


def known_failures(name: str) -> str:
    """Return the known failures of a library, the most severe first.

    Parameters
    ----------
    name : str
        Its name on the command line.
    """
    rows = sorted(rows_of(name), key=_gravity)
    if not rows:
        return "Nothing is known that any check would find."
    printed = table(
        ("What it does", "Releases", "Severity and rule", "Found by"),
        (
            (
                _told(row),
                _releases(row.releases),
                ", ".join(dict.fromkeys(_rule(check) for check in row.checks)),
                ", ".join(map(code, row.checks)),
            )
            for row in rows
        ),
    )
    return (
        f"{printed}\n\n{_TRIED}" if any(row.releases.startswith(">") for row in rows) else printed
    )


@cache
def rows_of(name: str) -> tuple[Row, ...]:
    """Return the known failures of a library, those with one reason together."""
    file = expectations.shipped_file(name.replace("-", "_"))
    if file is None:
        return ()
    groups: dict[tuple[str, str, str], dict[str, None]] = {}
    for one in expectations.read(file):
        about = one.reason, one.link, _range(one)
        groups.setdefault(about, {}).update(dict.fromkeys(_names(one)))
    return tuple(Row(*about, tuple(checks)) for about, checks in groups.items())


def _names(one: Expectation) -> list[str]:
    """Return the checks that an entry names, without their cases."""
    pattern = one.check.partition("[")[0]
    found = [name for name in load_checks() if expectations.matches(pattern, name)]
    if not found:
        raise ValueError(f"{one.where}: there is no check {one.check}")
    return found


def _range(one: Expectation) -> str:
    """Return the releases that an entry applies to, with those of Python if it has any."""
    python = f"Python {one.python}" if one.python else ""
    return ", ".join(filter(None, (one.releases, python)))


def _check(name: str) -> Check:
    """Return a check."""
    return load_checks()[name]


def _rule(name: str) -> str:
    """Return severity and rule of a check."""
    check = _check(name)
    return f"{check.severity} {check.rule}"


def _gravity(row: Row) -> int:
    """Return the sort key of a row: that of its most severe check."""
    return min(SEVERITIES.index(_check(name).severity) for name in row.checks)


def _told(row: Row) -> str:
    """Return the text of a row, with a link to the discussion if there is one."""
    said = sentence(row.reason)
    return f"{said} ([discussion]({row.link}))" if row.link else said


def _releases(text: str) -> str:
    """Return the text of a range of releases."""
    return code(text) if text else "all that were seen"


# ---------------------------------------------------------------- descriptions


@cache
def _described() -> dict[str, tuple[str, list[str]]]:
    """Return the name and the hooks of every subject, as on a machine with a GPU."""
    environment = {**os.environ, "INTERCHANGE_CONFORMANCE_CUDA": "real"}
    done = subprocess.run(  # noqa: S603 - a script of ours
        [sys.executable, "-c", _ASK], env=environment, check=True, capture_output=True, text=True
    )
    return {name: (title, hooks) for name, (title, hooks) in json.loads(done.stdout).items()}


def described_subjects() -> str:
    """Return every subject in the kit, and the contents of its description."""
    found = _described()
    hooks = [hook for hook in subjects.HOOKS if any(hook in own for _, own in found.values())]
    return table(
        ("On the command line", "Library", *map(code, hooks)),
        (
            (code(name), title, *(_MARKS[hook in own] for hook in hooks))
            for name, (title, own) in found.items()
        ),
    )


def hooks_in_words(name: str) -> str:
    """Return a sentence about the roles of a library that are judged."""
    _, own = _described()[name]
    return f"Its description has {', '.join(map(code, own))}."


# ---------------------------------------------------------------- directives


# ---------------------------------------------------------------- mutants


def mutant_table(*roles: str) -> str:
    """Return the check for each mutant; the kit's own tests verify that it detects the mutant.

    Parameters
    ----------
    *roles : str
        The roles of the libraries that these checks judge.
    """
    checks = [check for check in load_checks().values() if check.role in roles]
    made: dict[str, list[str]] = {}
    for mutant in load_mutants().values():
        made.setdefault(mutant.check, []).append(sentence(mutant.breaks))
    return table(
        ("Rule, and check", "Mutants that it catches"),
        (
            (f"{check.rule} {code(check.name)}", " ".join(made[check.name]))
            for check in sorted(checks, key=lambda one: one.rule)
            if check.name in made
        ),
    )


# ---------------------------------------------------------------- devices


def kinds_of_devices() -> str:
    """Return the kinds of devices that the kit has no driver for, and their names for make()."""
    return table(
        ("`device`", "In dlpack.h"),
        ((code(f'"{name}"'), code(kind.name)) for name, kind in KINDS.items()),
    )


DIRECTIVES: Final[dict[str, Any]] = {
    "kinds-of-devices": kinds_of_devices,
    "mutant-table": mutant_table,
    "known-failures": known_failures,
    "described-subjects": described_subjects,
    "described-hooks": hooks_in_words,
}
"""Name of a directive -> the function that writes it."""


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directives."""
    from sphinx.util.docutils import SphinxDirective

    class Printed(SphinxDirective):
        optional_arguments = 3

        def run(self) -> list[nodes.Node]:
            for argument in self.arguments:
                if file := expectations.shipped_file(argument.replace("-", "_")):
                    self.env.note_dependency(str(file))
            return list(self.parse_text_to_nodes(DIRECTIVES[self.name](*self.arguments)))

    for name in DIRECTIVES:
        app.add_directive(name, Printed)
    return {"parallel_read_safe": True}
