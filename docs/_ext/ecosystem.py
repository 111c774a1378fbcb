"""Writes the verdicts of the pages on SciPy and scikit-learn, from a run of the calls.

``python docs/_ext/ecosystem.py`` takes some seconds.  A page begins with a fingerprint of the calls
and of the code that judges them, by which a test detects that it is out of date.
"""

from __future__ import annotations

import ast
import hashlib
import json
import subprocess
import sys
import tokenize
from pathlib import Path
from typing import Any, Final, TypeAlias

Found: TypeAlias = "dict[str, dict[str, tuple[str, str]]]"
"""Place in a library -> call -> verdict, detail."""

DOCS: Final = Path(__file__).resolve().parents[1]
CALLS: Final = DOCS.parent / "tests" / "xp" / "ecosystem" / "calls"
LIBRARIES: Final = {"scipy": "SciPy", "sklearn": "scikit-learn"}
"""The libraries with a page of verdicts, and their names."""
NAMESPACES: Final = {"interchange.xp": "interchange", "array_api_strict": "array-api-strict"}
"""The array libraries that the calls are made with, and their names."""
SAYS: Final = {"ok": "✓", "numpy": "✓ NumPy's", "absent": "not there"}
"""Verdict -> text of a cell; for an error it is the class."""


def page_of(library: str) -> Path:
    """Return the path of the verdicts on a library."""
    return DOCS / "_generated" / f"{library}.md"


def fingerprint(library: str) -> str:
    """Return a digest of the calls, their arguments, and the code that judges their results.

    Docstrings and comments are excluded.
    """
    names = (f"{library}_calls", "ecosystem_data", "ecosystem_judging", "judge_calls")
    texts = [_code_of((CALLS / f"{name}.py").read_text(encoding="utf-8")) for name in names]
    return hashlib.sha256("".join(texts).encode()).hexdigest()[:16]


def _code_of(text: str) -> str:
    """Return a module without its docstrings and comments, the same in every Python."""
    lines = [line.encode() for line in text.splitlines(keepends=True)]
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(
            node
        ):
            first, last = node.body[0].lineno, node.body[0].end_lineno or 0
            lines[first - 1 : last] = [b""] * (last - first + 1)
    for token in tokenize.generate_tokens(iter(text.splitlines(keepends=True)).__next__):
        if token.type == tokenize.COMMENT:
            line, start = token.start
            kept = text.splitlines()[line - 1][:start].rstrip().encode()
            lines[line - 1] = kept + b"\n" if lines[line - 1] else b""
    return b"".join(line for line in lines if line.strip()).decode()


def ask(library: str, namespace: str) -> dict[str, Any]:
    """Return the release of a library, and the results of its calls with a namespace."""
    script = str(CALLS / "judge_calls.py")
    command = (sys.executable, script, library, namespace, "as-is", "numpy")
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE)  # noqa: S603 - our own
    return dict(json.loads(done.stdout))


def render(library: str, ours: dict[str, Any], strict: dict[str, Any]) -> str:
    """Return the page of one library."""
    rows = {
        place: [(call, ours["calls"][place][call], strict["calls"][place][call]) for call in calls]
        for place, calls in ours["calls"].items()
    }
    everything = [row for place in rows.values() for row in place]
    return "\n".join(
        [
            f"<!-- Fingerprint: {fingerprint(library)} -->",
            "<!-- Written by: python docs/_ext/ecosystem.py -->",
            "",
            _headline(f"{LIBRARIES[library]} {ours['release']}", everything),
            "",
            _table(
                ("Module", "Calls", *NAMESPACES.values()),
                [
                    (f"`{place}`", len(found), _working(found, 1), _working(found, 2))
                    for place, found in rows.items()
                ],
            ),
            *(f"\n### `{library}.{place}`\n\n{_calls(found)}" for place, found in rows.items()),
            "",
        ]
    )


def _headline(name: str, rows: list[Any]) -> str:
    """Return the figures of all modules together, as a sentence."""
    ours, strict = (_working(rows, column) for column in (1, 2))
    return (
        f"{name}: of {len(rows)} calls {ours} work with `ix.Array`, {strict} with array-api-strict."
    )


def _working(rows: list[Any], column: int) -> int:
    """Return the number of calls whose results equal NumPy's."""
    return sum(row[column][0] in {"ok", "numpy"} for row in rows)


def _calls(rows: list[Any]) -> str:
    """Return the verdicts on the calls of one module."""
    return _table(
        ("Call", *NAMESPACES.values()),
        [(f"`{call}`", *map(_cell, verdicts)) for call, *verdicts in rows],
    )


def _cell(found: tuple[str, str]) -> str:
    """Return the text of a verdict."""
    verdict, detail = found
    return SAYS.get(verdict) or f"`{detail.partition(':')[0]}`"


def _table(head: tuple[str, ...], rows: list[Any]) -> str:
    """Return a table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(str, cells))} |" for cells in lines)


def main() -> None:
    """Write every page."""
    for library in LIBRARIES:
        reports = [ask(library, namespace) for namespace in NAMESPACES]
        page_of(library).write_text(render(library, *reports), encoding="utf-8")


if __name__ == "__main__":
    main()
