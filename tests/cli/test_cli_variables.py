"""Environment variables: the sources read only listed ones, and the command shows each."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from interchange._libraries.selection import libraries_by_device
from interchange._types.devices import NAMES
from interchange.cli.variables import VARIABLES

ROOT = Path(__file__).parents[2]
FOLDERS = ("src", "conformance/src")
NAME = re.compile(r"\b(?:INTERCHANGE|EMUCUDA)_[A-Z0-9_]*[A-Z0-9]\b")
NAMES_HERE = [one.name for one in VARIABLES]


def sources():
    """Yield the path and the text of each file that may read a variable."""
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in {".py", ".pxd", ".c", ".h", ".cpp", ".hpp"}:
                yield str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")
    yield "setup.py", (ROOT / "setup.py").read_text(encoding="utf-8")


def macros():
    """Return the names of the C API and header guards, which are no environment variables."""
    found = set()
    for path, text in sources():
        lines = re.findall(r"^\s*#\s*(?:define|if).*", text, re.MULTILINE)
        found |= set() if path.endswith(".py") else set(NAME.findall("\n".join(lines)))
    return found


def test_no_variable_is_missing():
    """Every name in the sources that looks like one of ours is listed, or is a C macro."""
    found = {
        name
        for path, text in sources()
        if not path.startswith("src/interchange/cli/variables.py")
        for name in NAME.findall(text)
    }

    assert found - macros() - set(NAMES_HERE) == set()


def test_every_variable_is_read():
    """Every listed variable is used elsewhere in the sources, unless its name is computed."""
    text = "".join(text for path, text in sources() if not path.endswith("cli/variables.py"))
    made = {f"INTERCHANGE_{NAMES[kind].upper()}_BACKEND" for kind in libraries_by_device()}

    assert [name for name in NAMES_HERE if name not in text and name not in made] == []
    assert 'f"INTERCHANGE_{NAMES[kind].upper()}_BACKEND"' in text


READ = re.compile(r"environ(?:\.get|\.setdefault|\.pop)?[\[(](\"?)([\w.]+)")
FOREIGN = {
    *("CC", "CXX", "COLUMNS", "LD_LIBRARY_PATH", "PYTHONPATH", "XDG_CACHE_HOME"),
    *("name", "variable", "_variable", "variable.name"),  # over names that are checked above
}
"""Variables of other programs, with their usual meaning."""


def test_only_variables_of_others_are_read_beside_them():
    """Every variable that is read is listed, or is a common one."""
    read = {
        name
        for _, text in sources()
        for is_text, name in READ.findall(text)
        if is_text or name.islower()
    }

    assert read - FOREIGN - set(NAMES_HERE) == set()


LOAD_NOTHING = {
    *("INTERCHANGE_CAI_SYNC", "INTERCHANGE_LOAD_DEVICE", "INTERCHANGE_TEST_REQUIRE"),
    *("INTERCHANGE_BUILD", "INTERCHANGE_DEBUG_BUILD", "COLUMNS"),
    *(name for name in NAMES_HERE if name.startswith("EMUCUDA_")),
}


def test_the_policy_names_every_variable_that_chooses_what_is_loaded():
    """SECURITY.md has those of ours, those of others that are read, and the folders of code."""
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    read = {*NAMES_HERE, *filter(str.isupper, FOREIGN), "CUDA_HOME", "CUDA_PATH", "HOME", "TMPDIR"}

    assert {name for name in read - LOAD_NOTHING if f"`{name}`" not in text} == set()
    assert "`interchange/kernels`" in text
    assert "`interchange/emucuda`" in text


@pytest.mark.parametrize("name", NAMES_HERE)
def test_each_is_shown_with_its_value(run_cli, monkeypatch, name):
    """Each is shown with its description; an unset one has no value."""
    monkeypatch.delenv(name, raising=False)
    unset = run_cli("--no-import").out
    monkeypatch.setenv(name, "torch")
    shown, told = run_cli("--no-import").out, json.loads(run_cli("--no-import", "--json").out)

    assert f"  {name} " in unset
    assert f"  {name}=torch " in shown
    (row,) = (row for row in told["variables"] if row["name"] == name)
    assert row["value"] == "torch"
    assert " ".join(shown.split()).count(row["does"]) >= 1


def test_one_that_is_not_set_is_null(run_cli, monkeypatch):
    """An unset variable is null in JSON, and an empty one is empty."""
    monkeypatch.delenv("INTERCHANGE_LOAD_DEVICE", raising=False)
    monkeypatch.setenv("INTERCHANGE_CACHE_DIR", "")

    rows = json.loads(run_cli("--no-import", "--json").out)["variables"]

    values = {row["name"]: row["value"] for row in rows}
    assert values["INTERCHANGE_LOAD_DEVICE"] is None
    assert values["INTERCHANGE_CACHE_DIR"] == ""


def test_what_a_value_hides_is_written_out(run_cli, monkeypatch):
    """Control characters in a value are escaped."""
    monkeypatch.setenv("INTERCHANGE_CACHE_DIR", "\x1b[31mred")

    assert "INTERCHANGE_CACHE_DIR=\\x1b[31mred " in run_cli("--no-import").out


@pytest.mark.isolated
def test_the_module_lists_them():
    """``python -m interchange`` lists them without further arguments."""
    done = subprocess.run(
        [sys.executable, "-m", "interchange"],
        capture_output=True,
        text=True,
        timeout=100,
        check=True,
        env={**os.environ, "INTERCHANGE_LOAD_DEVICE": "cpu"},
    )

    assert "  INTERCHANGE_LOAD_DEVICE=cpu " in done.stdout
    assert [name for name in NAMES_HERE if f"  {name}" not in done.stdout] == []
