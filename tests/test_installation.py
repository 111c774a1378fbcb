"""Another distribution with a module of the same name, and files that are missing: what is said.

Source: PyPA, "Recording installed projects".  The index has a distribution ``interchange``, which
py2neo requires; wheels like that one and a wheel of this checkout are installed by pip.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

import interchange

pytestmark = pytest.mark.isolated

ROOT = Path(__file__).parents[1]
PROJECT = ("setup.py", "pyproject.toml", "MANIFEST.in", "README.md", "LICENSE", "src")
BUILD = "import sys, setuptools.build_meta as b; print(b.build_wheel(sys.argv[1]))"
OTHER = {"interchange/__init__.py": "", "interchange/geo.py": "class Point: pass\n"}
TITLE = "interchange 2021.0.4"
IMPORT = "import interchange; print(interchange.asarray(b'abc').shape)"
OF_A_PART = "from interchange import xp"


def run(*command, cwd, **environment):
    """Run a program without the environment of this test run."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTEST", "PYTHON", "INTERCHANGE", "COV_"))
    }
    return subprocess.run(
        [*map(str, command)],
        cwd=cwd,
        env={**inherited, "PIP_NO_COMPILE": "1", "COLUMNS": "2000", **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def ours(tmp_path_factory):
    """The wheel of this checkout, without the native core."""
    folder = tmp_path_factory.mktemp("checkout")
    for name in PROJECT:
        if (ROOT / name).is_dir():
            ignored = shutil.ignore_patterns("__pycache__", "*.egg-info", "*.so")
            shutil.copytree(ROOT / name, folder / name, ignore=ignored)
        else:
            shutil.copy(ROOT / name, folder / name)
    done = run(sys.executable, "-c", BUILD, folder, cwd=folder, INTERCHANGE_BUILD="skip")
    assert done.returncode == 0, done.stderr
    (wheel,) = folder.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def theirs(tmp_path_factory):
    """A wheel with the name of the other distribution, and some of its files."""
    info = "interchange-2021.0.4.dist-info"
    files = {
        **OTHER,
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: interchange\nVersion: 2021.0.4\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    lines = [f"{name},{_digest(text)},{len(text)}" for name, text in files.items()]
    files[f"{info}/RECORD"] = "\n".join([*lines, f"{info}/RECORD,,", ""])
    wheel = tmp_path_factory.mktemp("theirs") / "interchange-2021.0.4-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return wheel


def _digest(text):
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256={base64.urlsafe_b64encode(digest).rstrip(b'=').decode()}"


class Environment:
    """A virtual environment without packages, and pip from outside."""

    def __init__(self, folder):
        venv.create(folder, with_pip=False)
        self.folder = folder
        self.python_path = folder / "bin/python"
        (self.package,) = (one / "interchange" for one in folder.glob("lib/*/site-packages"))

    def pip(self, *words):
        done = run(sys.executable, "-m", "pip", "--python", self.python_path, *words, cwd=ROOT)
        assert done.returncode == 0, done.stderr

    def install(self, *wheels):
        for wheel in wheels:
            self.pip("install", "-q", "--no-index", "--no-deps", wheel)

    def python(self, *words):
        return run(self.python_path, *words, cwd=self.folder)

    def command(self, *words):
        return run(self.folder / "bin/interchange", *words, cwd=self.folder)


@pytest.fixture
def environment(tmp_path):
    return Environment(tmp_path / "venv")


def last_line(done):
    return done.stderr.strip().splitlines()[-1]


# ---------------------------------------------------------------- nothing wrong


def test_the_names_in_the_folder_are_known():
    """A file or folder that is added is not taken for one of another distribution."""
    listed = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "src/interchange"],  # noqa: S607 - found by PATH
        capture_output=True,
        text=True,
        check=False,
    ).stdout.splitlines() or [str(path.relative_to(ROOT)) for path in (ROOT / "src").rglob("*")]
    names = {Path(name).parts[2] for name in listed if len(Path(name).parts) > 2}

    assert names - interchange._ENTRIES == set()
    assert interchange._ENTRIES - names == {"__pycache__", "cmake", "pkgconfig"}  # of wheels


def test_a_whole_package_is_imported_without_metadata(run_isolated):
    """Importing, and using an unknown name, does not import importlib.metadata."""
    script = """
import sys
import interchange
assert not hasattr(interchange, "geo")
print("importlib.metadata" in sys.modules)
"""
    assert run_isolated(script) == "False\n"


def test_a_whole_installation_has_nothing_wrong(ours, environment):
    """All files are as RECORD has them, and nobody else has a module of this name."""
    environment.install(ours)

    told = json.loads(environment.command("doctor", "--json").stdout)

    assert told["files"] == {"missing": [], "changed": []}
    assert told["namesakes"] == []
    assert [one["what"] for one in told["findings"]] == [
        "NumPy is not installed: what needs it raises an error"
    ]
    assert environment.python("-W", "error", "-c", IMPORT).stdout == "(3,)\n"


# ---------------------------------------------------------------- another distribution


def test_a_module_that_was_overwritten_is_named(ours, theirs, environment):
    """Both commands and the import of a part say whose module it is, and the way out."""
    environment.install(ours, theirs)

    said = [
        environment.python("-m", "interchange"),
        environment.command("doctor"),
        environment.python("-c", OF_A_PART),
    ]

    for done in said:
        words = last_line(done)
        assert f"the module interchange is not that of array-interchange: {TITLE} has the" in words
        assert "pip uninstall interchange; then:" in words
        assert "install --force-reinstall --no-deps" in words
    assert [done.returncode for done in said] == [2, 2, 1]
    assert "Traceback" not in said[0].stderr + said[1].stderr


def test_files_of_another_distribution_are_noticed(ours, theirs, environment):
    """The import warns and works; the commands tell the other distribution, and the way out."""
    environment.install(theirs, ours)

    imported = environment.python("-c", IMPORT)
    plain = environment.python("-m", "interchange", "--no-import")
    doctor = environment.command("doctor")
    told = json.loads(environment.command("doctor", "--json").stdout)

    assert imported.stdout == "(3,)\n"
    assert f"RuntimeWarning: files of {TITLE} are in the folder of array-inter" in imported.stderr
    assert imported.stderr.startswith("<string>:1: ")
    assert f"same module  {TITLE}; one environment can have only one" in plain.stdout
    assert f"wrong        {TITLE} has the same module" in doctor.stdout
    assert (plain.returncode, doctor.returncode) == (0, 1)
    assert told["namesakes"] == [
        {
            "name": "interchange",
            "version": "2021.0.4",
            "folder": str(environment.package),
            "files": 2,
            "replaced": ["interchange/__init__.py"],
        }
    ]


def test_an_init_that_was_removed_is_named_and_the_way_out_is_one(ours, theirs, environment):
    """Uninstalling the other distribution removes it; the command that is printed restores it."""
    environment.install(theirs, ours)
    environment.pip("uninstall", "-q", "-y", "interchange")

    words = last_line(environment.python("-m", "interchange", "doctor"))

    assert words.startswith("interchange: interchange/__init__.py of array-interchange is missing:")
    assert (
        words
        == "interchange: "
        + last_line(environment.python("-c", OF_A_PART)).partition("ImportError: ")[2]
    )
    command = words.partition("install it again with: ")[2].split()
    assert command[:4] == [str(environment.python_path), "-m", "pip", "install"]
    environment.pip("install", "-q", "--no-index", *command[4:])
    assert environment.python("-W", "error", "-c", IMPORT).stdout == "(3,)\n"


def test_another_environment_of_the_path_is_no_overlap(ours, theirs, environment, tmp_path):
    """A package of that name in another folder is told by the commands, and the import is quiet."""
    environment.install(ours)
    elsewhere = tmp_path / "elsewhere"
    with zipfile.ZipFile(theirs) as archive:
        archive.extractall(elsewhere)
    environment.package.with_name("elsewhere.pth").write_text(f"{elsewhere}\n", encoding="utf-8")

    done = environment.python("-W", "error", "-c", IMPORT)
    told = json.loads(environment.command("--no-import", "--json").stdout)

    assert (done.stdout, done.stderr) == ("(3,)\n", "")
    assert [one["folder"] for one in told["namesakes"]] == [str(elsewhere / "interchange")]


# ---------------------------------------------------------------- missing files

MISSING = {
    "typing.py": "from interchange import typing",
    "_functions/arrow_in.py": "import interchange; interchange.from_arrow",
    "_streams/rules.py": "import interchange",
}


@pytest.mark.parametrize("name", MISSING)
def test_a_missing_file_is_named(ours, environment, name):
    """The ImportError of a name, a module and the package says what is missing, and the way out."""
    environment.install(ours)
    (environment.package / name).unlink()

    words = last_line(environment.python("-c", MISSING[name]))

    assert f"interchange/{name} of array-interchange: missing; install it again with: " in words


def test_a_changed_file_is_named(ours, environment):
    """A file that another one has replaced is told where a name is missing in it."""
    environment.install(ours)
    (environment.package / "_functions/arrow_in.py").write_text("", encoding="utf-8")

    done = environment.command("doctor")

    assert "files of interchange are not as installed: interchange/_functions/arrow_in.py;" in (
        done.stdout
    )
    assert done.returncode == 1
