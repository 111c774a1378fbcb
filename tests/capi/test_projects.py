"""The projects of the guide on packaging build wheels that work; their tests and settings do."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
import zipfile
from email import message_from_string
from pathlib import Path

import pytest

import interchange
import interchange_conformance

PROJECTS = Path(__file__).parents[2] / "docs" / "examples" / "packaging"
SOURCES = PROJECTS.parent / "c_api"
GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "packaging.md"
FOUND = [str(Path(one.__file__).parents[1]) for one in (interchange, interchange_conformance)]
VERSION = ".".join(interchange.__version__.split(".")[:2])

OPTIONS = {
    *("archs", "audit-command", "audit-requires", "before-all", "before-build", "before-test"),
    *("build", "build-frontend", "build-verbosity", "config-settings", "container-engine"),
    *("dependency-versions", "enable", "environment", "environment-pass", "inherit", "linux"),
    *("macos", "manylinux-aarch64-image", "manylinux-x86_64-image", "overrides"),
    *("repair-wheel-command", "skip", "test-command", "test-environment", "test-extras"),
    *("test-groups", "test-requires", "test-skip", "test-sources", "windows"),
}
"""Options of cibuildwheel 4.3 in pyproject.toml, without those of other platforms."""


def build(project, source, folder, *needed):
    """Return the wheel of a project with a source of the C API, built without downloads."""
    copy = folder / "project"
    copy.mkdir()
    for path in (*(PROJECTS / project).iterdir(), SOURCES / source):
        (copy / path.name).write_bytes(path.read_bytes())
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-build-isolation", "--no-deps"]
    path = os.pathsep.join([*FOUND, *needed, os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    done = subprocess.run(
        [*command, "--disable-pip-version-check", "-w", str(folder), str(copy)],
        env={
            **os.environ,
            "PYTHONPATH": path,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = folder.glob("*.whl")
    return wheel


def run(folder, *words):
    """Return the output of Python with the contents of a wheel."""
    path = os.pathsep.join([str(folder), *FOUND])
    done = subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def unpacked(tmp_path):
    """Return a function that unpacks a wheel, and returns the folder."""

    def unpack(wheel):
        folder = tmp_path / "installed"
        zipfile.ZipFile(wheel).extractall(folder)
        return folder

    return unpack


@pytest.fixture
def compiler(compile_with, tmp_path, native_core):  # noqa: ARG001 - it is needed
    """Skip without a compiler."""
    source = tmp_path / "probe.c"
    source.write_text("int probe(void) { return 0; }\n", encoding="utf-8")
    compile_with(tmp_path / "probe.so", source, options=("-shared", "-fPIC"))


@pytest.mark.isolated
@pytest.mark.usefixtures("compiler")
def test_setuptools(tmp_path, unpacked):
    """One wheel is for every CPython, requires interchange, and passes the tests of the project."""
    wheel = build("setuptools", "total_plain.c", tmp_path)
    folder = unpacked(wheel)
    (metadata,) = folder.glob("*.dist-info/METADATA")
    required = message_from_string(metadata.read_text(encoding="utf-8")).get_all("Requires-Dist")

    if hasattr(sys, "_is_gil_enabled") is False or sys._is_gil_enabled():
        assert "-cp310-abi3-" in wheel.name
    assert required[0] == f"array-interchange>={VERSION}"
    out = run(folder, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(PROJECTS / "tests"))
    assert re.search(r"^\d+ passed", out, re.MULTILINE)


@pytest.mark.interop
@pytest.mark.isolated
@pytest.mark.usefixtures("compiler")
@pytest.mark.parametrize(
    ("project", "backend", "source"),
    [("meson", "mesonpy", "total_plain.c"), ("cmake", "scikit_build_core", "total_cpp.cpp")],
)
def test_other_build_systems(tmp_path, unpacked, need, project, backend, source):
    """The header is found in the environment of the build."""
    need(backend)
    wheel = build(project, source, tmp_path)
    name = source.partition(".")[0]
    script = f"import array, {name}; print({name}.total(array.array('d', [1.0, 2.0])))"

    assert ("-abi3-" in wheel.name) == (project == "meson")
    assert run(unpacked(wheel), "-c", script) == "3.0\n"


def settings(tomllib, project="setuptools"):
    """Return pyproject.toml of a project."""
    return tomllib.loads((PROJECTS / project / "pyproject.toml").read_text(encoding="utf-8"))


@pytest.fixture
def tomllib():
    """The parser, which Python has from 3.11 on."""
    return pytest.importorskip("tomllib")


@pytest.mark.parametrize("project", ["setuptools", "meson", "cmake"])
def test_interchange_is_needed_to_build_and_to_run(tomllib, project):
    """Each project declares both, with this version."""
    found = settings(tomllib, project)
    wanted = f"array-interchange>={VERSION}"

    assert wanted in found["build-system"]["requires"]
    assert wanted in found["project"]["dependencies"]


def test_the_options_of_cibuildwheel_exist(tomllib):
    """Every option is one that cibuildwheel has."""
    found = settings(tomllib)["tool"]["cibuildwheel"]

    assert set(found) | set(found["linux"]) <= OPTIONS


@pytest.mark.interop
@pytest.mark.isolated
def test_cibuildwheel_accepts_the_options(need, tomllib):
    """Its own schema accepts them, and it selects the builds that the guide lists."""
    need("cibuildwheel")
    import jsonschema

    package = Path(importlib.util.find_spec("cibuildwheel").origin).parent
    schema = json.loads((package / "resources" / "cibuildwheel.schema.json").read_text())
    blocks = re.findall(r"^```toml\n(.*?)^```", GUIDE.read_text(), re.DOTALL | re.MULTILINE)
    shown = [tomllib.loads(block)["tool"]["cibuildwheel"] for block in blocks]
    for found in (settings(tomllib)["tool"]["cibuildwheel"], *shown):
        jsonschema.validate(found, schema)
    command = ["-m", "cibuildwheel", "--print-build-identifiers", "--platform", "linux"]
    names = run(PROJECTS / "setuptools", *command, "--archs", "x86_64").splitlines()

    assert set(schema["properties"]) >= OPTIONS
    listed = re.search(r"--archs x86_64\n(.*?)^```", GUIDE.read_text(), re.DOTALL | re.MULTILINE)
    assert listed is not None
    assert names == listed[1].splitlines()
