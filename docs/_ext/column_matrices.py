"""Writes the matrices of columns in compatibility-columns.md, with commit, date and machine.

``python docs/_ext/column_matrices.py`` runs ``interchange matrix --columns`` in both directions,
which takes a minute, and needs the extra ``interop``.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

DOCS: Final = Path(__file__).resolve().parents[1]
DIRECTIONS: Final = ("in", "out")

sys.path.insert(0, str(DOCS.parent / "tests" / "bench"))


def page_of(direction: str) -> Path:
    """Return the path of a matrix."""
    return DOCS / "_generated" / f"matrix-columns-{direction}.md"


def run(direction: str) -> str:
    """Return the output of the command."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "matrix.md"
        command = [sys.executable, "-m", "interchange", "matrix", "--columns", direction]
        subprocess.run(  # noqa: S603 - our own
            [*command, "--markdown", str(file)], check=True, stdout=subprocess.DEVNULL
        )
        return file.read_text(encoding="utf-8")


def conditions() -> str:
    """Return the date, the machine and the commit of the run."""
    from import_time import commit, machine, today

    return f"Run on {today()} at commit {commit()}, on {machine()}."


def with_conditions(text: str, said: str) -> str:
    """Return a matrix with its conditions above its releases."""
    above, releases, below = text.rpartition("Releases: ")
    if not releases:
        raise ValueError("the matrix has no releases")
    return f"{above}{said}\n\n{releases}{below}"


def main() -> None:
    """Write both."""
    said = conditions()
    for direction in DIRECTIONS:
        page_of(direction).write_text(with_conditions(run(direction), said), encoding="utf-8")


if __name__ == "__main__":
    main()
