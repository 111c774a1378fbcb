"""Every test carries marks that are known, and runs in exactly one step of continuous integration.

Source: pyproject.toml, ``[tool.pytest.ini_options]``; ``.ci/run``.
"""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CHOOSING = ("slow", "exhaustive", "interop", "clients", "browser")
"""Marks by which a run is selected."""
DESCRIBING = ("emulated", "gpu", "isolated", "readable", "both_cores")
"""Marks of a test's requirements, or of how it runs, in any run."""
OF_PYTEST = {"filterwarnings", "parametrize", "skip", "skipif", "usefixtures", "xfail"}
OF_PLUGINS = {"hypothesis", "xdist_group"}
ELSEWHERE = {"bench", "clients", "interop", "wheels"}
"""Folders of which no test runs by default: they need a quiet machine, much time, or libraries."""


@pytest.fixture(scope="module")
def by_default(pytestconfig):
    """Return the choice that addopts makes."""
    return next(
        word.removeprefix("-m").strip()
        for word in pytestconfig.getini("addopts")
        if word.startswith("-m")
    )


@pytest.fixture(scope="module")
def steps(by_default):
    """Return the tests that each run of pytest in ``.ci/run`` selects, the README's own first."""
    script = (ROOT / ".ci/run").read_text(encoding="utf-8")
    runs = re.findall(r"^(?:\(cd .* && )?\.venv/bin/pytest (.*?)\)?$", script, re.MULTILINE)
    return [by_default, *(re.search(r"-m (\"[^\"]+\"|\S+)$", run)[1].strip('"') for run in runs)]


def is_chosen(choice, marks):
    """Whether pytest selects a test with these marks: ``-m`` accepts a Python expression."""
    names = defaultdict(bool, dict.fromkeys(marks, True))
    return eval(choice, {"__builtins__": {}}, names)  # noqa: S307 - ours


def marks_of(item):
    """Return the names of all marks of a test."""
    return {mark.name for mark in item.iter_markers()}


def test_every_declared_mark_is_one_of_these():
    """A new one is put where it belongs, and into ``.ci/run``."""
    settings = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    declared = re.findall(r'^    "(\w+)\S*: ', settings.partition("\nmarkers = [")[2], re.MULTILINE)

    assert sorted(declared) == sorted([*CHOOSING, *DESCRIBING])


def test_every_test_carries_known_marks(collected):
    """The marks are those that select, those that describe, and pytest's own."""
    known = {*CHOOSING, *DESCRIBING, *OF_PYTEST, *OF_PLUGINS}

    assert {
        item.nodeid: marks_of(item) - known for item in collected if marks_of(item) - known
    } == {}


def test_the_cells_of_a_grid_that_run_by_default_are_there(collected):
    """A cell that was renamed would leave the default run unnoticed."""
    ids, named = defaultdict(set), {}
    for item in collected:
        test = item.nodeid.partition("[")[0]
        ids[test] |= {item.callspec.id} if hasattr(item, "callspec") else set()
        for mark in getattr(getattr(item, "function", None), "pytestmark", ()):
            if mark.name == "exhaustive" and mark.kwargs:
                named[test] = set(mark.kwargs["but"])

    assert {test: cells - ids[test] for test, cells in named.items() if cells - ids[test]} == {}


@pytest.mark.parametrize("count", range(len(CHOOSING) + 1))
def test_whatever_marks_a_test_carries_one_step_runs_it(steps, count):
    """Each test runs in exactly one step."""
    for marks in itertools.combinations(CHOOSING, count):
        assert [is_chosen(step, marks) for step in steps].count(True) == 1, marks


def test_the_steps_choose_by_these_marks_alone(steps):
    """A mark of requirements, or of how a test runs, does not change the step."""
    words = set(re.findall(r"\w+", " ".join(steps)))

    assert words - {"and", "or", "not"} == set(CHOOSING)


def test_the_newest_python_runs_the_grids_that_python3_leaves_to_it(steps, by_default):
    """Every mark that python3 excludes exists, and no other mark is excluded."""
    script = (ROOT / ".ci/run").read_text(encoding="utf-8")
    on_one = re.search(r"^on_one=\((.*)\)$", script, re.MULTILINE)[1].split()
    ignored, newest = re.search(
        r'"\$pytest" -q (\S+) \\\n +-m "(.+)"\)\n +grids=\$\{on_one\[\*\]\} ',
        script,
        re.MULTILINE,
    ).groups()
    (grids,) = [step for step in steps if "slow or exhaustive" in step and step != by_default]

    assert [path for path in on_one if not (ROOT / path).exists()] == []
    assert ignored == '"${on_one[@]/#/--ignore=}"'
    assert f'\n.venv/bin/pytest -q $grids -m "{grids}"\n' in script
    for count in range(len(CHOOSING) + 1):
        for marks in itertools.combinations(CHOOSING, count):
            elsewhere = is_chosen(by_default, marks) or is_chosen(grids, marks)
            assert is_chosen(newest, marks) == elsewhere, marks


def test_every_folder_is_covered_by_default(collected, by_default):
    """Some tests of each folder run by default, if they can run on any machine."""
    chosen = defaultdict(set)
    for item in collected:
        parts = item.path.relative_to(ROOT).parts
        chosen[parts[1] if parts[0] == "tests" else parts[0]].add(
            is_chosen(by_default, marks_of(item))
        )

    assert {folder for folder, found in chosen.items() if True not in found} <= ELSEWHERE


def not_there(script):
    """Return the paths below tests/, and the words of ``-k``, in a script that do not exist."""
    sources = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py"))
    selected = re.findall(r"""-k(?:[ =]["'](.*?)["']|[ =]([\w.]+))""", script)
    words = {word for pair in selected for word in re.findall(r"\w+", " ".join(pair))}
    paths = re.findall(r"(?<![\w/])tests/[\w./-]*", script)
    return [path for path in paths if not (ROOT / path).exists()] + [
        word
        for word in sorted(words - {"and", "or", "not"})
        if not re.search(rf"\b{word}\b", sources)
    ]


@pytest.mark.parametrize(
    "name", [".ci/run", "README.md", "docs/contributing.md", "docs/contributing-native.md"]
)
def test_the_tests_that_a_command_selects_exist(name):
    """Otherwise pytest ends with 4 or 5: a file or a test was renamed, and a command was not."""
    assert not_there((ROOT / name).read_text(encoding="utf-8")) == []


def test_a_path_and_a_name_that_are_gone_are_found():
    """Both forms of ``-k``, with one name and with several."""
    gone = "of_" + "no_test"
    script = f"pytest tests/abi tests/{gone} -k {gone}_1\npytest -k 'test_marks or not {gone}_2'"

    assert not_there(script) == [f"tests/{gone}", f"{gone}_1", f"{gone}_2"]
