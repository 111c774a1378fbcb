"""The README is correct: its commands, its example, its links, its versions."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from xml.etree import ElementTree as ET

import pytest

import interchange as ix

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

LINK = re.compile(r"\]\((?!https?:)([^)]+)\)")
"""A link to a file of the repository."""
TEN = 10  # [lines]


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


def test_the_example_and_the_picture_come_first(readme):
    """A reader sees what it is for, the figure, and an example of ten lines before all else."""
    first = readme.partition("\n## ")[0]
    purpose = re.search(r"^- .*?\n\n", first, re.MULTILINE | re.DOTALL)

    assert purpose is not None
    assert len(purpose[0].splitlines()) <= TEN
    assert len(_blocks(first, "python")[0].splitlines()) <= TEN
    assert "](docs/_static/exchange.svg)" in first


def test_the_picture_is_the_figure_of_the_docs(docs_module):
    """``python docs/_ext/figures.py`` draws both with one function."""
    figures = docs_module("figures")
    drawn = figures.exchange_figure()
    kept = figures.FOR_README.read_text(encoding="utf-8")

    assert kept == figures.standalone(drawn)
    assert kept.endswith(drawn.partition("</desc>")[2])
    assert ET.fromstring(kept).findtext("{http://www.w3.org/2000/svg}title")  # noqa: S314 - ours


def test_links_lead_to_files_of_the_repository(root):
    """Each relative link of a page at the root works on a code host."""
    for page in root.glob("*.md"):
        links = LINK.findall(page.read_text(encoding="utf-8"))
        assert links or page.name == "SECURITY.md"
        assert [link for link in links if not (root / link).exists()] == []


def test_readers_find_the_guide_for_their_code(readme, root):
    """The table of migrations links every guide, and names calls that exist."""
    table = readme.partition("\n## Coming from")[2].partition("\n## ")[0]
    guides = {path.name for path in (root / "docs/guides/migrating").glob("*.md")} - {"index.md"}

    assert set(re.findall(r"\]\(docs/guides/migrating/(.+?)\) \|\n", table)) == guides
    calls = re.findall(r"`ix\.(\w+)\(", table)
    assert calls
    assert [name for name in calls if not hasattr(ix, name)] == []


def _on_an_index(root, folder, project):
    """Return the README that a distribution has, with another pyproject.toml."""
    for name in ("README.md", "setup.py"):
        shutil.copy2(root / name, folder)
    (folder / "pyproject.toml").write_text(project, encoding="utf-8")
    command = [sys.executable, "setup.py", "-q", "--long-description"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_without_an_address_an_index_page_has_paths_and_no_links(readme, root, tmp_path, project):
    """An index shows the page without the repository, whose address is not known yet."""
    shown = _on_an_index(root, tmp_path, project)

    assert "Repository" not in project
    assert LINK.findall(shown) == []
    assert "![" not in shown
    assert "| `docs/start.md` | a first exchange" in shown
    assert _blocks(shown, "python") == _blocks(readme, "python")
    assert _blocks(shown, "sh") == _blocks(readme, "sh")


def test_with_an_address_the_links_of_an_index_page_lead_there(root, tmp_path, project):
    """Links lead to the files of the release, and the picture to its bytes."""
    address = '[project.urls]\nRepository = "https://host.example/us/it/"\n\n[project.scripts]'
    version = re.search(r'^version = "(.*)"', project, re.MULTILINE)[1]

    shown = _on_an_index(root, tmp_path, project.replace("[project.scripts]", address))

    assert LINK.findall(shown) == []
    assert f"[Start](https://host.example/us/it/blob/v{version}/docs/start.md)" in shown
    assert f"](https://host.example/us/it/raw/v{version}/docs/_static/exchange.svg)" in shown


def test_the_versions_are_those_of_the_project(readme, tables):
    """The floors of Python and NumPy are those of pyproject.toml."""
    facts = tables.facts()

    assert re.findall(r"(CPython|NumPy) ([\d.]+) or newer", readme) == [
        ("CPython", facts["python"]),
        ("NumPy", facts["numpy"]),
    ]


def test_the_commands_ran_on_a_bare_debian(root):
    """Without a compiler the ctypes core is used, with gcc the native one; every command ended."""
    text = (root / "docs" / "_generated" / "bare-debian.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (none|gcc) \| `(.+)` \| [\d.]+ \| 0 \| (.*) \|$", text, re.MULTILINE)
    commands = DEMO.split(" && ")

    assert [row[1] for row in rows if row[0] == "none"][:-1] == commands
    assert [row[1] for row in rows if row[0] == "gcc"][:-1] == commands
    assert [row[2] for row in rows if "core_name" in row[1]] == ["ctypes", "native"]
    assert re.search(r"^Debian \w+, Python 3\.[\d.]+, .* at commit `\w+`", text, re.MULTILINE)
