"""The two distributions: their contents, their common release, and the first one alone."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import sys
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
BASE, KIT = "array-interchange", "array-interchange-conformance"
PROJECTS = {BASE: ROOT, KIT: ROOT / "conformance"}
SOURCES = {
    BASE: ROOT / "src" / "interchange",
    KIT: ROOT / "conformance" / "src" / "interchange_conformance",
}
HELPERS = ("jinja2", "junitparser", "packaging", "rich", "tomli; python_version < '3.11'")
"""Additional requirements of the second distribution."""


def project(name):
    """Return the text of a project file (3.10 has no parser for it)."""
    return (PROJECTS[name] / "pyproject.toml").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def bare(tmp_path_factory, environment_of):
    """Return an environment with the first distribution and its requirements."""
    return environment_of(tmp_path_factory.mktemp("bare"), BASE)


# ---------------------------------------------------------------- two wheels


@pytest.mark.parametrize("name", PROJECTS)
def test_a_wheel_holds_its_package_and_nothing_else(wheels, name):
    """It has all files of its folder except the sources of the native core, and the metadata."""
    folder = SOURCES[name]
    files = [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    due = {path.relative_to(folder.parent).as_posix() for path in files}
    due = {file for file in due if not re.search(r"/_native/\w+[.](c|h|abi3[.]so)$", file)}
    due = {file for file in due if not file.endswith("/layers.txt")}  # for a test of the sources

    with zipfile.ZipFile(wheels[name]) as wheel:
        held = {file for file in wheel.namelist() if not re.search(r"[.]dist-info/|[.]so$", file)}
        packed = {Path(file).name for file in wheel.namelist() if ".dist-info/" in file}

    assert held == due
    assert {"METADATA", "RECORD", "LICENSE"} <= packed


@pytest.mark.parametrize("name", PROJECTS)
def test_a_wheel_is_typed(wheels, name):
    """The wheels have py.typed."""
    with zipfile.ZipFile(wheels[name]) as wheel:
        assert f"{SOURCES[name].name}/py.typed" in wheel.namelist()


def test_no_wheel_holds_mutants_or_tests(wheels):
    """They test the kit, not libraries of users."""
    for wheel in wheels.values():
        with zipfile.ZipFile(wheel) as opened:
            found = [one for one in opened.namelist() if re.search(r"\b(mutants|tests?)/", one)]
        assert found == []


def test_the_first_brings_no_pytest_options_and_one_command():
    """The options and commands of the kit belong to the kit."""
    points = {
        name: {(one.group, one.name) for one in metadata.distribution(name).entry_points}
        for name in PROJECTS
    }

    assert points[BASE] == {("console_scripts", "interchange"), ("array_api", BASE)}
    assert points[KIT] == {("pytest11", "interchange_conformance.plugin")}


def test_both_are_one_release_under_one_licence():
    """The second distribution requires the first in the same release."""
    version = re.search(r'^version = "(.+)"$', project(BASE), re.MULTILINE)[1]

    assert f'version = "{version}"' in project(KIT)
    assert f'"{BASE}=={version}"' in project(KIT)
    assert metadata.version(BASE) == metadata.version(KIT) == version
    licences = [(folder / "LICENSE").read_bytes() for folder in PROJECTS.values()]
    assert licences[0] == licences[1]


# ---------------------------------------------------------------- the first distribution alone


def test_the_first_brings_one_package(bare):
    """NumPy is its only requirement."""
    packages = {path.name for path in bare.site.iterdir() if (path / "__init__.py").is_file()}

    assert packages == {"interchange", "numpy"}


def test_the_example_of_the_readme_runs(bare, tmp_path):
    """The code is run unchanged, and its output is compared."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    (expected,) = re.findall(r"^```text\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    (tmp_path / "example.py").write_text(example, encoding="utf-8")

    done = bare.run("python -W error example.py", tmp_path)

    assert (done.stderr, done.stdout) == ("", expected)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("python -m interchange", r"^interchange +[\d.]+$"),
        ("python -m interchange", r"^not here: PyTorch \(not installed\)$"),
        ("interchange inspect \"b'abc'\"", r"^bytes$"),
        ("interchange --help", r"check +judge array libraries [^.]* not\s+installed"),
        ("interchange --help", r"matrix +which array libraries [^.]* not\s+installed"),
    ],
)
def test_a_command_of_the_first_needs_nothing_else(bare, tmp_path, command, words):
    """The output is plain text without rich, and there is no warning."""
    done = bare.run(command, tmp_path)

    assert (done.returncode, done.stderr) == (0, "")
    assert re.search(words, done.stdout, re.MULTILINE | re.IGNORECASE), done.stdout
    assert "\x1b" not in done.stdout


@pytest.mark.parametrize("command", ["matrix", "matrix --html x.html", "matrix --help"])
def test_matrix_says_what_to_install(bare, tmp_path, command):
    """The exit code is that of an impossible run, whatever the options."""
    done = bare.run(f"interchange {command}", tmp_path)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("interchange: matrix needs the conformance kit, a separate ")
    assert done.stderr.endswith(f" with: {bare.bin}/python -m pip install ./conformance\n")


def test_the_kit_makes_the_matrix_and_its_pages(installed, tmp_path):
    """The wheel has templates and style; the README's first command prints the table."""
    only = "numpy,stdlib,interchange"

    done = installed.run(f"interchange matrix --only {only} --html page.html", tmp_path)

    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert (done.returncode, done.stderr) == (0, "")
    assert "24 hand-overs: 24 zero-copy" in done.stdout
    assert re.search(r"^<!doctype html>", page, re.MULTILINE | re.IGNORECASE)
    assert re.search(r"^\.verdicts ", page, re.MULTILINE)


@pytest.mark.parametrize("arguments", ["", "numpy", "mylib:subject --html x.html", "--help"])
def test_check_says_what_to_install(bare, tmp_path, arguments):
    """The exit code is that of an impossible run, whatever the options."""
    done = bare.run(f"interchange check {arguments}", tmp_path)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "interchange: check needs the conformance kit, a separate distribution; install it in a"
        " clone or an unpacked source distribution of this release with:"
        f" {bare.bin}/python -m pip install ./conformance\n"
    )


@pytest.mark.parametrize("how", [{"editable": True}, {}])
def test_in_a_clone_check_names_the_folder_of_the_kit(tmp_path, environment_of, how):
    """The package index is not used for local folders."""
    place = environment_of(tmp_path / "env", BASE)
    (record,) = place.site.glob("array_interchange-*.dist-info")
    origin = {"url": ROOT.as_uri(), "dir_info": how}  # as recorded by an installer (PEP 610)
    (record / "direct_url.json").write_text(json.dumps(origin), encoding="utf-8")

    done = place.run("interchange check numpy", tmp_path)

    told = done.stderr.strip().partition("install it with: ")[2]
    assert shlex.split(told)[1:] == ["-m", "pip", "install", str(ROOT / "conformance")]


def test_the_producers_for_tests_say_that_they_are_the_kits(bare, tmp_path):
    """The error has the command that installs the kit."""
    done = bare.run("python -c 'import interchange.testing'", tmp_path)

    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith("ModuleNotFoundError: interchange.testing needs the conformance kit")


# ---------------------------------------------------------------- both


@pytest.mark.slow
def test_what_check_says_to_install_is_found_and_works(tmp_path, environment_of):
    """The printed command is run in the printed folder; then check judges."""
    place = environment_of(tmp_path / "env", BASE, "setuptools", *HELPERS)
    told = place.run("interchange check numpy", tmp_path).stderr.partition(" release with: ")[2]
    index = {"PIP_NO_INDEX": "1", "PIP_NO_BUILD_ISOLATION": "0"}  # 0: no isolation
    ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
    shutil.copytree(ROOT / "conformance", tmp_path / "conformance", ignore=ignored)
    pip = told.replace(" -m pip ", f" -m pip --python {place.bin}/python ", 1)

    installed = place.run(shlex.quote(sys.executable) + pip[pip.index(" ") :], tmp_path, **index)
    done = place.run("interchange check numpy", tmp_path)

    assert installed.returncode == 0, installed.stderr
    assert done.returncode == 0, done.stdout + done.stderr
    assert "NumPy" in done.stdout


def test_the_kit_works_by_its_own_name(installed, tmp_path):
    """``python -m interchange_conformance check`` is the same command."""
    done = installed.run(
        "python -m interchange_conformance check numpy --only exports_are_capsules", tmp_path
    )

    assert done.returncode == 0, done.stdout + done.stderr
