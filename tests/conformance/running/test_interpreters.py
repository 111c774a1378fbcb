"""A library is judged in its own environment, which does not need the kit."""

from __future__ import annotations

import json
import sys
import venv
from importlib import metadata

import pytest

from interchange_conformance.judging import judge
from interchange_conformance.running import interpreters

LIBRARY = """
from interchange_conformance.subject import Subject
from interchange_conformance.zoo import host

def make(shape, dtype, device, readonly): return host(shape, dtype)

subject = Subject("theirs", make=make, distribution="theirs")
numpy = Subject("numpy", make=make, preload=("numpy",))
"""


@pytest.fixture(scope="module")
def theirs(tmp_path_factory):
    """Return the interpreter of an environment with one library only."""
    folder = tmp_path_factory.mktemp("theirs")
    venv.create(folder, symlinks=True)
    site = next(folder.glob("lib/python3*/site-packages"))
    (site / "theirs.py").write_text(LIBRARY, encoding="utf-8")
    (site / "theirs-3.5.dist-info").mkdir()
    told = "Metadata-Version: 2.1\nName: theirs\nVersion: 3.5\n"
    (site / "theirs-3.5.dist-info" / "METADATA").write_text(told, encoding="utf-8")
    return folder / "bin" / "python"


def test_what_is_only_there_is_judged(check, theirs, tmp_path):
    """The release and the Python version are those of that environment."""
    report = tmp_path / "report.json"
    given = ("theirs:subject", "--only", "make_returns_an_array", "--json", report)

    assert check(*given)[0] == 2
    code, out, err = check(*given, "--python", theirs)

    assert (code, err) == (0, "")
    assert "theirs 3.5  1 pass" in out
    found = json.loads(report.read_text())
    assert found["python"] == ".".join(map(str, sys.version_info[:3]))


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (("theirs:numpy", "--only", "subject"), "numpy does not import: ModuleNotFoundError"),
        (("all",), "none of the libraries that the kit knows is installed"),
    ],
)
def test_what_is_only_here_is_not_there(check, theirs, asked, words):
    """Libraries of this environment are not available there, such as its NumPy."""
    code, _, err = check(*asked, "--python", theirs)

    assert code == 2
    assert words in err


def test_known_failures_are_of_the_release_that_is_there(check, theirs, tmp_path):
    """The release installed here is not used."""
    path, item = tmp_path / "known.toml", "make_returns_an_array"
    entry = f"[[failure]]\ncheck = '{item}'\nreleases = '{{}}'\nreason = 'so it is'\n"
    given = ("theirs:subject", "--only", item, "--python", theirs, "--expected", path)

    path.write_text(entry.format("<3.5"), encoding="utf-8")
    assert check(*given)[0] == 0
    path.write_text(entry.format(">=3.5"), encoding="utf-8")
    assert check(*given)[0] == 1


def test_all_is_what_is_installed_there(theirs):
    """An empty environment has no library that the kit knows."""
    assert judge.installed(str(theirs)) == []
    assert "numpy" in judge.installed()


def test_the_kit_is_lent_and_nothing_else(theirs):
    """The kit is linked; its own interpreter needs no links."""
    import os
    from pathlib import Path

    folder, *_ = interpreters.environment(str(theirs))["PYTHONPATH"].split(os.pathsep)

    assert {path.name for path in Path(folder).iterdir()} == {
        "interchange",
        "interchange_conformance",
    }
    assert interpreters.environment("") == {}


def test_the_processes_of_the_kit_import_no_numpy(run_isolated):
    """The environment may have any NumPy or none."""
    text = (
        "import sys, interchange_conformance.running.fork_server\n"
        "from interchange_conformance.registry import load_checks; load_checks()\n"
        "print([name for name in sys.modules if name.partition('.')[0] == 'numpy'])\n"
    )

    assert run_isolated(text) == "[]\n"


def test_the_oldest_interpreter_is_that_of_interchange():
    """The metadata has the version."""
    oldest = ".".join(map(str, interpreters._OLDEST))

    for name in ("array-interchange", "array-interchange-conformance"):
        assert metadata.metadata(name)["Requires-Python"] == f">={oldest}"


def test_an_interpreter_that_is_too_old_is_refused(monkeypatch):
    """The kit requires a newer version."""
    monkeypatch.setattr(interpreters, "_asked", lambda *_: ("3.9.1", "CPython", []))

    with pytest.raises(interpreters.NoInterpreterError, match=r"CPython 3\.9\.1; CPython 3\.10 is"):
        interpreters.found(sys.executable)
