"""User environments: wheels of this checkout, installed with their dependencies.

Nothing is downloaded: other distributions are linked from the environment that runs the tests,
so that only the requirements of the wheel are available.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import venv
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[3]
OURS = {"array-interchange": ROOT, "array-interchange-conformance": ROOT / "conformance"}
"""Distribution -> the folder of its project."""
_SOURCES = ("pyproject.toml", "setup.py", "README.md", "LICENSE", "src")


def pytest_itemcollected(item):
    """Mark all tests in this folder: they build wheels and start programs from them."""
    item.add_marker("slow")


class Installed:
    """An environment with the wheels of this project.

    Parameters
    ----------
    folder : Path
        Where it is created.
    wheels : dict
        Distribution of this project -> its wheel.
    wanted : tuple of str
        Requirements, such as ``"pytest"``, which are linked with their dependencies.
    """

    def __init__(self, folder, wheels, *wanted):
        venv.create(folder, symlinks=True)
        self.bin = folder / "bin"
        self.site = next(folder.glob("lib/python3*/site-packages"))
        self.folder = folder
        needed = _needed(wanted)
        for name in sorted(needed - OURS.keys()):
            _link(name, self.site)
            self._add_commands(name)
        if wheels:
            self.install(*(wheels[name] for name in sorted(needed & OURS.keys())))

    def install(self, *wheels):
        """Install wheels whose dependencies must be available."""
        command = ("-m", "pip", "--python", str(self.bin / "python"), "install")
        options = ("--no-index", "--quiet", "--disable-pip-version-check")
        _run(sys.executable, *command, *options, *map(str, wheels))

    def _add_commands(self, name):
        """Add the commands of a distribution beside the interpreter, as an installer does."""
        for point in metadata.distribution(name).entry_points.select(group="console_scripts"):
            script = self.bin / point.name
            text = f"#!{self.bin / 'python'}\nimport sys\nfrom {point.module} import {point.attr}\n"
            script.write_text(f"{text}sys.exit({point.attr}())\n", encoding="utf-8")
            script.chmod(0o755)

    def run(self, command, folder, **environment):
        """Run a shell command in a folder, as in an activated environment.

        Parameters
        ----------
        command : str
            The line.
        folder : Path
            Where.
        **environment : str
            Further variables.
        """
        inherited = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("PYTEST", "PYTHON", "INTERCHANGE", "COV_"))
        }
        path = os.pathsep.join([str(self.bin), inherited.get("PATH", "")])
        return subprocess.run(
            ["/bin/sh", "-euc", command],
            cwd=folder,
            env={**inherited, "PATH": path, "PYTHONPATH": str(folder), **environment},
            capture_output=True,
            text=True,
            check=False,
        )


def _run(*command, cwd=None):
    """Run a program that must succeed."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"


def _wheel(project, folder):
    """Build a wheel from a copy of a project of this checkout, and return its path."""
    copy = folder / "source"
    copy.mkdir(parents=True)
    for name in _SOURCES:
        ignored = shutil.ignore_patterns("__pycache__", "*.egg-info", "*.so")
        if (project / name).is_dir():
            shutil.copytree(project / name, copy / name, ignore=ignored)
        elif (project / name).exists():  # the kit has no build step
            shutil.copy(project / name, copy / name)
    build = "import sys; from setuptools import build_meta; build_meta.build_wheel(sys.argv[1])"
    _run(sys.executable, "-c", build, str(folder), cwd=copy)
    return next(folder.glob("*.whl"))


def _needed(wanted):
    """Return the distributions that requirements need, with their dependencies."""
    found = set()
    to_do = [(Requirement(one), ("",)) for one in wanted]
    while to_do:
        requirement, asked = to_do.pop()
        marks = [{"extra": extra} for extra in asked]
        if requirement.marker and not any(map(requirement.marker.evaluate, marks)):
            continue
        one = _normal(requirement.name), tuple(sorted(requirement.extras))
        if one not in found:
            found.add(one)
            name, extras = one
            needs = map(Requirement, metadata.requires(name) or ())
            to_do += [(further, ("", *extras)) for further in needs]
    return {name for name, _ in found}


def _normal(name):
    """Return the normalised name of a distribution."""
    return re.sub("[-_.]+", "-", name).lower()


def _link(name, site):
    """Link the files of a distribution into an environment."""
    distribution = metadata.distribution(name)
    tops = {Path(file).parts[0] for file in distribution.files or ()}
    for top in tops - {"..", "__pycache__"}:
        place = site / top
        if not place.exists():
            place.symlink_to(distribution.locate_file(top))


@pytest.fixture(scope="session")
def wheels(tmp_path_factory):
    """Return the wheel of each distribution of this project, built once."""
    folder = tmp_path_factory.mktemp("wheels")
    return {name: _wheel(project, folder / name) for name, project in OURS.items()}


@pytest.fixture(scope="session")
def environment_of(wheels):
    """Return a function that creates an environment with requirements in a folder."""
    return lambda folder, *wanted: Installed(folder, wheels, *wanted)


@pytest.fixture
def bare(tmp_path):
    """Return an environment with pip, and with the external requirements of both distributions."""
    made = Installed(tmp_path / "bare", {}, *_asked_of_an_index(), "pip", "setuptools")
    made._add_commands("pip")
    return made


def _asked_of_an_index():
    """Return the requirements of both distributions that are not part of this project."""
    asked = [one for name in OURS for one in metadata.requires(name) or ()]
    plain = [one for one in asked if "extra ==" not in one]
    return [one for one in plain if _normal(Requirement(one).name) not in OURS]


@pytest.fixture(scope="session")
def installed(tmp_path_factory, environment_of):
    """Return the environment of the session: as in the guides, with pytest."""
    wanted = ("array-interchange-conformance[emulated]", "pytest")
    return environment_of(tmp_path_factory.mktemp("installed"), *wanted)
