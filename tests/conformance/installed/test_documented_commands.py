"""The commands in the guides to the kit are run as documented, from an installed wheel."""

from __future__ import annotations

import re
import shutil
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[3] / "docs"
PAGES = (
    "conformance.md",
    "conformance/describe-a-library.md",
    "conformance/your-ci.md",
    "api/commands.md",
    "guides/testing-without-a-gpu.md",
)
FEW = {
    "interchange check": "--only IX-SUBJECT-1",
    "python -m interchange_conformance check": "--only IX-SUBJECT-1",
    "pytest": "--interchange-only=IX-SUBJECT-1",
}
"""Beginning of a command -> options that shorten it to few items."""


def text_of(page):
    """Return the text of a page."""
    return (DOCS / page).read_text(encoding="utf-8")


def blocks(page, kind):
    """Return the code blocks of a kind on a page."""
    return re.findall(rf"^```{kind}\n(.*?)^```$", text_of(page), re.DOTALL | re.MULTILINE)


def commands():
    """Return the commands of the pages, except those that install or need a checkout."""
    found = []
    for page in PAGES:
        for block in blocks(page, "console"):
            lines = block.replace("\\\n", " ").splitlines()
            found += [line.partition("#")[0][2:].strip() for line in lines if line[:2] == "$ "]
        for block in blocks(page, "yaml"):
            found += [
                " ".join(run.split()) for run in re.findall(r"run: >\n((?: {10}.*\n)+)", block)
            ]
    ours = [one for one in found if not one.startswith((".venv", "pip ", "python3 -m venv"))]
    return list(dict.fromkeys(ours))


@pytest.fixture
def project(installed, tmp_path):
    """Return a folder with the files that the guides tell users to write."""
    page = "conformance/describe-a-library.md"
    lines = "".join(blocks(page, "{doctest}")[:1])
    text = "\n".join(line[4:] for line in lines.splitlines() if line[:3] in {">>>", "..."})
    (tmp_path / "mylib").mkdir()
    (tmp_path / "mylib" / "testing.py").write_text(text, encoding="utf-8")
    function = "import numpy\n\ndef make_array():\n    return numpy.zeros((2, 3), 'f4')\n"
    (tmp_path / "mylib" / "__init__.py").write_text(function, encoding="utf-8")
    (tmp_path / "tests").mkdir()
    known = "".join(block for block in blocks(page, "toml") if "[[failure]]" in block)
    (tmp_path / "tests" / "conformance.toml").write_text(known, encoding="utf-8")
    (tmp_path / "tests" / "test_mylib.py").write_text("def test_one(): pass", encoding="utf-8")
    (tmp_path / ".venv-old").symlink_to(installed.bin.parent)
    (tmp_path / "program.py").write_text("print('it ran')", encoding="utf-8")
    compiled = tmp_path / "program"  # stands for a program that is linked with libcudart
    compiled.write_text("#!/bin/sh\necho it ran\n", encoding="utf-8")
    compiled.chmod(0o755)
    return tmp_path


def shortened(command):
    """Return a command that judges few items."""
    for start, few in FEW.items():
        if command.startswith(start) and "emucuda" not in command:
            return f"{command} {few}"
    return command


def test_the_guides_show_commands():
    """The guides contain the commands that the tests below run."""
    starts = [one.partition(" ")[0] for one in commands()]

    assert {"interchange", "pytest", "python"} <= set(starts)


@pytest.mark.parametrize("command", commands())
def test_a_command_of_the_guides_works(installed, project, command):
    """The unchanged command returns 0."""
    if "emucuda" in command and not shutil.which("gcc"):
        pytest.skip("needs gcc")

    done = installed.run(shortened(command), project)

    assert done.returncode == 0, done.stdout + done.stderr


def test_the_settings_of_pytest_in_the_guide_work(installed, project):
    """The tests of the project are run as well."""
    settings = "".join(block for block in blocks("conformance/your-ci.md", "toml"))
    (project / "pyproject.toml").write_text(settings, encoding="utf-8")

    done = installed.run(f"pytest {FEW['pytest']} --junitxml=junit.xml", project)

    assert done.returncode == 0, done.stdout + done.stderr
    cases = [case.get("name") for case in ET.parse(project / "junit.xml").iter("testcase")]  # noqa: S314
    assert "make_returns_an_array" in cases
    assert "test_one" in cases


PROJECT = """\
[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "mylib"
version = "1"
dependencies = ["numpy"]

[tool.setuptools]
packages = ["mylib"]
"""


@pytest.fixture
def repository(tmp_path_factory):
    """Return a repository of these sources, as users have it."""
    if not shutil.which("git"):
        pytest.skip("needs git")
    folder = tmp_path_factory.mktemp("repository")
    ignored = shutil.ignore_patterns("__pycache__", "*.egg-info", "*.so")
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE", "MANIFEST.in"):
        shutil.copy(DOCS.parent / name, folder)
    for name in ("src", "conformance"):
        shutil.copytree(DOCS.parent / name, folder / name, ignore=ignored)
    git = ("git", "-c", "user.name=tests", "-c", "user.email=tests@example.org")
    for words in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "Sources")):
        subprocess.run([*git, *words], cwd=folder, check=True)
    return folder


def test_the_workflow_runs_as_it_stands_there(project, repository, bare):
    """Each step is run in turn, in an empty environment."""
    (workflow,) = blocks("conformance/your-ci.md", "yaml")
    steps = re.findall(r"^      - run: (?:>\n((?: {10}.*\n)+)|(.*)\n)", workflow, re.MULTILINE)
    said = [" ".join((folded or line).split()) for folded, line in steps]
    (project / "pyproject.toml").write_text(PROJECT, encoding="utf-8")
    offline = {"PIP_NO_INDEX": "1", "PIP_NO_BUILD_ISOLATION": "0", "INTERCHANGE_BUILD": "skip"}

    for step in said:
        command = shortened(step)
        done = bare.run(command, project, INTERCHANGE=repository.as_uri(), **offline)
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"

    assert [step.partition(" ")[0] for step in said] == ["git", "pip", "interchange"]
    assert {file.suffix for file in project.glob("conformance.*")} == {".xml", ".html", ".json"}


def test_what_the_workflow_uploads_is_written(installed, project):
    """Every report contains what was judged."""
    workflow = next(one for one in commands() if "--junit" in one)

    installed.run(shortened(workflow), project)

    written = {file.suffix for file in project.glob("conformance.*")}
    assert written == {".xml", ".html", ".json"}


def test_the_command_works_without_extras(installed, project):
    """rich adds colours; the other extras each add one report, or known failures."""
    for name in ("jinja2", "junitparser", "packaging", "rich", "tomli"):
        (project / f"{name}.py").write_text(f"raise ModuleNotFoundError(name={name!r})")

    done = installed.run("interchange check mylib:make_array --only IX-SUBJECT-1", project)

    assert done.returncode == 0, done.stdout + done.stderr


def test_every_check_is_in_the_wheel(installed, project):
    """The C sources that are compiled at run time are included as well."""
    count = (
        "from interchange_conformance.registry import load_checks as checks\n"
        "from interchange_conformance.emucuda.building import SOURCES\n"
        "from interchange_conformance import zoo; from pathlib import Path\n"
        "print(__import__('interchange_conformance').__file__, len(checks()),"
        " len(list(SOURCES.glob('*.c'))), len(list(Path(zoo.__file__).parent.glob('*.c'))))"
    )
    (project / "count.py").write_text(count, encoding="utf-8")
    from interchange_conformance.emucuda.building import SOURCES
    from interchange_conformance.registry import load_checks

    place, *counts = installed.run("python count.py", project).stdout.split()

    assert str(installed.site) in place
    c_files = [len(list(folder.glob("*.c"))) for folder in (SOURCES, SOURCES.parent / "zoo")]
    assert list(map(int, counts)) == [len(load_checks()), *c_files]
