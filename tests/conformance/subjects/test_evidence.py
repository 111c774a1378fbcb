"""Each MUST that a library breaks was reproduced manually, and is reproduced again if possible."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from interchange_conformance import subjects
from interchange_conformance.judging import expectations
from interchange_conformance.registry import load_checks

CHECKS = load_checks()
FOLDER = Path(subjects.__file__).with_name("_evidence")
NEEDED = {
    path.stem: subjects.described()[path.stem].preload[0]
    for path in sorted(FOLDER.glob("[!_]*.py"))
}
"""Name of a description -> the package that is needed to reproduce its evidence."""
OTHERS = (*NEEDED, "duckdb", "pandas", "pillow", "polars", "pyarrow_table")
DONE = re.compile(r"^(?:def (\w+)|(\w+) = \w+$)", re.MULTILINE)
PATIENCE = 60.0  # timeout of hanging lines [seconds]

RUN = """
import importlib, sys

module = importlib.import_module(f"interchange_conformance.subjects._evidence.{sys.argv[1]}")
getattr(module, sys.argv[2])()
"""


def _done(name):
    """Return the manual reproductions for a library, in the order of its module."""
    path = FOLDER / f"{name}.py"
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    return [function or alias for function, alias in DONE.findall(text)]


def _accused(name):
    """Return the checks of severity MUST that are known to fail for a library."""
    entries = expectations.read(expectations.shipped_file(name))
    checks = {one.check.partition("[")[0] for one in entries}
    return {check for check in checks if CHECKS[check].severity == "MUST"}


@pytest.mark.parametrize("name", OTHERS)
def test_every_known_failure_of_a_must_was_reproduced(name):
    """Each known failure of a MUST has a manual reproduction, and the other way round."""
    assert set(_done(name)) == _accused(name)


@pytest.mark.interop
@pytest.mark.isolated
@pytest.mark.parametrize(
    ("name", "check"), [(name, check) for name in NEEDED for check in _done(name)]
)
def test_what_was_seen_by_hand_is_seen_again(need, name, check):
    """The lines end as documented: normally, by a signal, or not at all."""
    need(NEEDED[name])
    ends = re.search(rf'"{check}": "(\w+)"', (FOLDER / f"{name}.py").read_text(encoding="utf-8"))

    try:
        done = subprocess.run(
            [sys.executable, "-c", RUN, name, check],
            capture_output=True,
            check=False,
            timeout=PATIENCE,
        )
        ended = {0: None, -11: "SIGSEGV"}.get(done.returncode, done.stderr)
    except subprocess.TimeoutExpired:
        ended = "hang"

    assert ended == (ends and ends[1])
