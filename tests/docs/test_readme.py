"""The README is correct: its commands, its example, its links, its versions."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

DEMO = (
    'python3 -m venv .venv && .venv/bin/pip install -q ".[demo]" ./conformance'
    " && .venv/bin/interchange matrix"
)
TEST = (
    'python3 -m venv .venv && .venv/bin/pip install -q -e ".[test]" -e "./conformance[test]"'
    " && .venv/bin/pytest"
)

DOCS = (
    'python3 -m venv .venv && .venv/bin/pip install -q ".[docs]" "./conformance[emulated]"'
    " && .venv/bin/sphinx-build docs docs/_build/html"
)


@pytest.fixture(scope="module")
def readme(root):
    """The text of the README."""
    return (root / "README.md").read_text(encoding="utf-8")


def _blocks(text, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


@pytest.mark.isolated
def test_the_example_prints_what_the_readme_says(readme):
    """The example runs verbatim, and its output is exactly the one below it."""
    (example,), (expected,) = _blocks(readme, "python"), _blocks(readme, "text")

    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", example],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )

    assert (done.stderr, done.stdout) == ("", expected)


def test_the_commands_are_there(readme):
    """Each command is complete for a new clone, and has its own block."""
    commands = [block.strip() for block in _blocks(readme, "sh")]

    assert commands == [DEMO, TEST, DOCS]


@pytest.mark.parametrize("extra", ["demo", "test", "docs"])
def test_the_extras_exist(readme, project, extra):
    """An extra that the README names is one of the distribution's."""
    assert f'".[{extra}]"' in readme
    assert re.search(rf"^{extra} = \[", project, re.MULTILINE)


def test_the_command_is_installed(project):
    """``interchange`` is a console script."""
    assert re.search(r'^interchange = "interchange\.cli:main"$', project, re.MULTILINE)


def test_the_files_that_it_names_exist(readme, root):
    """Each path in a code span is a file or folder of the repository."""
    paths = re.findall(r"`((?:docs|src|tests)/[^` ]+|[A-Z]+(?:\.md)?)`", readme)

    assert len(paths) > len("links")
    assert [path for path in paths if not (root / path).exists()] == []


def test_nothing_is_linked_relative_to_the_page(readme):
    """Links are absolute, since a package index shows the page without the repository."""
    assert re.findall(r"\]\((?!https?:)[^)]+\)|^\[[^]]+\]:|<a |<img ", readme, re.MULTILINE) == []


def test_the_versions_are_those_of_the_project(readme, tables):
    """The floors of Python and NumPy are those of pyproject.toml."""
    facts = tables.facts()

    assert re.findall(r"(CPython|NumPy) ([\d.]+) or newer", readme) == [
        ("CPython", facts["python"]),
        ("NumPy", facts["numpy"]),
    ]
