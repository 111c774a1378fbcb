"""The C API for tests: its mirror in ctypes, and compilation of its consumers.

Source: interchange/interchange.h.  The API is available with the native core.  Tests of missing
tools are skipped, and fail if INTERCHANGE_TEST_REQUIRE names them: ``native``, ``compiler``, or a
program, such as ``cmake``.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import interchange

ROOT = Path(__file__).parents[2]
STRICT = ("-O2", "-Wall", "-Wextra", "-Werror")


def miss(what, name):
    """Skip for something that is missing, or fail where it was demanded by its name."""
    demanded = name in os.environ.get("INTERCHANGE_TEST_REQUIRE", "").split(",")
    (pytest.fail if demanded else pytest.skip)(what)


@pytest.fixture(scope="session")
def native_core():
    """Skip with a core without a C API, unless it was required."""
    if interchange.core_name == "native":
        return
    what = f"the {interchange.core_name} core is in use, which has no C API"
    if os.environ.get("INTERCHANGE_CORE"):
        pytest.skip(f"{what}: it was asked for")
    miss(what, "native")


@pytest.fixture(scope="session")
def c_api(native_core, c_api):  # noqa: ARG001 - it is needed
    """Return the mirror of the C API in ctypes."""
    return c_api


@pytest.fixture(scope="session")
def examples():
    """Return the folder of the consumers that the guide shows."""
    return ROOT / "docs" / "examples" / "c_api"


def find_compiler(language):
    """Return the compiler of a language, or None."""
    variable, names = {"c": ("CC", ("gcc", "cc")), "c++": ("CXX", ("g++", "c++"))}[language]
    asked = os.environ.get(variable, "").split()
    return next(filter(None, map(shutil.which, asked[:1] or names)), None)


@pytest.fixture(scope="session")
def find_tool():
    """Return a function that finds a program: its path."""

    def find(name):
        found = shutil.which(name)
        if found is None:
            miss(f"{name} is not installed", name)
        return found

    return find


@pytest.fixture(scope="session")
def compile_with():
    """Return a function that compiles sources, with warnings as errors, and returns the output."""

    def compile_sources(target, *sources, language="c", options=(), strict=True):
        compiler = find_compiler(language)
        if compiler is None:
            miss(f"there is no compiler of {language.upper()}; install gcc or g++", "compiler")
        include = (interchange.get_include(), sysconfig.get_paths()["include"])
        if not (Path(include[1]) / "Python.h").is_file():
            miss(f"there is no Python.h in {include[1]}; install python3-dev", "compiler")
        flags = [*(STRICT if strict else ("-O2", "-w")), *options, *(f"-I{one}" for one in include)]
        done = subprocess.run(
            [compiler, *flags, "-o", str(target), *map(str, sources)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return target

    return compile_sources


@pytest.fixture(scope="session")
def build_extension(compile_with):
    """Return a function that compiles an extension module, and gives its path."""

    def build(folder, name, *sources, **how):
        options = ("-shared", "-fPIC", *how.pop("options", ()))
        return compile_with(folder / f"{name}.so", *sources, options=options, **how)

    return build


@pytest.fixture(scope="session")
def load(native_core):  # noqa: ARG001 - as above
    """Return a function that imports an extension module from a file."""

    def load_module(path):
        name = path.name.partition(".")[0]
        spec = importlib.util.spec_from_file_location(name, path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
        return module

    return load_module


@pytest.fixture(scope="session")
def probe(native_core, tmp_path_factory, build_extension):  # noqa: ARG001 - as above
    """Return the path of the C caller that makes mistakes, and calls often."""
    source = Path(__file__).parent / "probe.c"
    return build_extension(tmp_path_factory.mktemp("probe"), "probe", source)
