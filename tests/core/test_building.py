"""How the native core is built: where it can be, as one wheel for every CPython, and not by force.

Source: setup.py.  Each build is one of a copy of this checkout, with the environment's setuptools.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.isolated

ROOT = Path(__file__).parents[2]
NATIVE = "interchange/_core/_native"
BUILT = f"{NATIVE}/_extension.abi3.so"
SOURCES = sorted((ROOT / "src" / NATIVE).glob("*.c"))
TOGETHER = ROOT / "tests/isolated/scripts/together.py"
PROJECT = ("setup.py", "pyproject.toml", "MANIFEST.in", "README.md", "LICENSE", "src")
VERSIONS = re.findall(
    r'^    "Programming Language :: Python :: (3\.\d+)",$',
    (ROOT / "pyproject.toml").read_text(encoding="utf-8"),
    re.MULTILINE,
)
WITHOUT = "without it all works, slower, but exports to Arrow and what C code calls"
NOTICE = f"interchange: the native core is not built ({{}}); {WITHOUT}"
NO_COMPILER = {"CC": "/bin/false"}

WHICH = """
import interchange
print(interchange.core_name, *interchange._core.refused.values(), sep="; ")
"""
WITHOUT_GIL = """
import sys
import interchange
print(interchange.core_name, sys._is_gil_enabled())
"""
EXCHANGE = """
import numpy as np
import interchange as ix
from interchange._core._native import _extension

grid = np.arange(6.0).reshape(2, 3)
x = ix.from_dlpack(grid)
back = np.from_dlpack(x)
assert (x.shape, back.ctypes.data) == ((2, 3), grid.ctypes.data)
del x, grid
assert back.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
print(ix.core_name, _extension.__file__)
"""


def run(*command, cwd=None, **environment):
    """Return the result of a program with no environment variables but the given ones."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTEST", "PYTHON", "INTERCHANGE", "COV_"))
        and name not in {"CC", "CFLAGS", "LDFLAGS"}
    }
    return subprocess.run(
        [*map(str, command)],
        cwd=cwd,
        env={**inherited, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def output_of(*command, cwd=None, **environment):
    """Return the output of a program that must succeed."""
    done = run(*command, cwd=cwd, **environment)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def copy_checkout(folder):
    """Copy the files that a build reads, without the outputs of earlier builds."""
    for name in PROJECT:
        if (ROOT / name).is_dir():
            ignored = shutil.ignore_patterns("__pycache__", "*.egg-info", "*.so")
            shutil.copytree(ROOT / name, folder / name, ignore=ignored)
        else:
            shutil.copy(ROOT / name, folder / name)
    return folder


def build(checkout, hook="build_wheel", before="", **environment):
    """Return the result of a hook of the build backend, and the folder of its outputs."""
    made = checkout / "made"
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir()
    text = f"{before}\nimport sys, setuptools.build_meta as b\nb.{hook}(sys.argv[1])"
    done = run(sys.executable, "-c", text, made, cwd=checkout, **environment)
    return done, made


def wheel_in(made, done):
    """Return the wheel that was made."""
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = made.glob("*.whl")
    return wheel


def names_in(wheel):
    """Return the contents of a wheel, without its metadata."""
    with zipfile.ZipFile(wheel) as opened:
        return {name for name in opened.namelist() if ".dist-info/" not in name}


def install_alone(wheel, target, python=sys.executable):
    """Install a wheel into a folder, without dependencies."""
    command = ("-m", "pip", "install", "-q", "--no-deps", "--no-index", "--target", target, wheel)
    output_of(python, *command)


def notices_in(done):
    """Return the lines that a build prints for users."""
    return [line for line in done.stderr.splitlines() if line.startswith("interchange: ")]


def find_python(version):
    """Return the path of a Python of a version, or None; .ci/run searches the same places."""
    roots = [os.environ.get("PYENV_ROOT", ""), str(Path.home() / ".pyenv")]
    folders = [Path(root, "versions") for root in roots if root]
    found = [
        shutil.which(f"python{version}"),
        *(path for each in folders for path in sorted(each.glob(f"{version}.*/bin/python"))),
    ]
    for path in filter(None, found):
        if run(path, "-c", "import venv").returncode == 0:  # and not a shim without a Python
            return path
    return None


def need_compiler():
    """Skip if there is no C compiler, unless the native core was required."""
    compiler = (sysconfig.get_config_var("CC") or "cc").split()[0]
    demanded = "native" in os.environ.get("INTERCHANGE_TEST_REQUIRE", "").split(",")
    if shutil.which(compiler) is None and not demanded:
        pytest.skip(f"there is no C compiler {compiler!r} here")


@pytest.fixture
def checkout(tmp_path):
    """Return a copy of the checkout that a test may build in."""
    return copy_checkout(tmp_path)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Return the wheel with the native core."""
    need_compiler()
    folder = copy_checkout(tmp_path_factory.mktemp("built"))
    done, made = build(folder, INTERCHANGE_BUILD="require")
    return wheel_in(made, done)


@pytest.fixture(scope="module")
def editable(tmp_path_factory):
    """Return a checkout with the native core built in place."""
    need_compiler()
    folder = copy_checkout(tmp_path_factory.mktemp("editable"))
    wheel_in(*reversed(build(folder, "build_editable", INTERCHANGE_BUILD="require")))
    return folder


# ---------------------------------------------------------------- the wheel


@pytest.mark.slow
def test_one_wheel_is_for_every_cpython(wheel):
    """One wheel is for CPython 3.10 and later, by its name and its contents."""
    with zipfile.ZipFile(wheel) as opened:
        (facts,) = (name for name in opened.namelist() if name.endswith("/WHEEL"))
        told = opened.read(facts).decode()

    assert re.search(r"-cp310-abi3-\w+\.whl$", wheel.name)
    assert "Root-Is-Purelib: false\n" in told
    assert re.findall(r"^Tag: (\w+-\w+)-\w+$", told, re.MULTILINE) == ["cp310-abi3"]


@pytest.mark.slow
def test_the_wheel_holds_the_package_and_the_extension_and_no_sources_of_it(wheel):
    """The wheel holds every other file of the folder, and no untracked files."""
    folder = ROOT / "src"
    files = {
        path.relative_to(folder).as_posix()
        for path in (folder / "interchange").rglob("*")
        if path.is_file() and path.suffix not in {".pyc", ".so"}
    }
    sources = {name for name in files if re.fullmatch(rf"{NATIVE}/(\w+\.[ch]|layers\.txt)", name)}

    assert names_in(wheel) == files - sources | {BUILT}


@pytest.mark.slow
def test_a_wheel_brings_what_other_compilers_read(checkout):
    """A wheel has the headers, Cython declarations, CMake and pkg-config files, and types only."""
    carried = {
        "interchange/probe.pxd",
        "interchange/cmake/probe.cmake",
        "interchange/include/interchange/probe.h",
        "interchange/include/probe.pxd",
        "interchange/pkgconfig/probe.pc",
        f"{NATIVE}/probe.pyi",
    }
    left = {f"{NATIVE}/probe.h", BUILT, "interchange/_core/left.txt", "interchange/_core/left.so"}
    for name in carried | left:
        path = checkout / "src" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("/* a file */\n", encoding="utf-8")

    done, made = build(checkout, INTERCHANGE_BUILD="skip")
    held = names_in(wheel_in(made, done))

    assert (carried - held, left & held) == (set(), set())


@pytest.mark.slow
def test_the_source_distribution_builds_the_same_wheel(wheel, checkout, tmp_path):
    """The source distribution has the sources and the headers that they include."""
    done, made = build(checkout, "build_sdist")
    assert done.returncode == 0, done.stdout + done.stderr
    (archive,) = made.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        opened.extractall(tmp_path / "unpacked", filter="data")
    (folder,) = (tmp_path / "unpacked").iterdir()

    done, made = build(folder, INTERCHANGE_BUILD="require")
    same = wheel_in(made, done)

    assert (same.name, names_in(same)) == (wheel.name, names_in(wheel))


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_one_build_runs_on_every_python_that_is_here(wheel, editable, version, tmp_path):
    """The wheel, and the file in place, which environments of several Pythons share."""
    path = find_python(version)
    if path is None:
        pytest.skip(f"Python {version} is not here")
    python, target = tmp_path / "env/bin/python", tmp_path / "target"
    output_of(path, "-m", "venv", tmp_path / "env")
    output_of(python, "-m", "pip", "install", "-q", "numpy>=2.1")
    install_alone(wheel, target, python)

    for folder in (target, editable / "src"):
        told = output_of(python, "-c", EXCHANGE, PYTHONPATH=str(folder), INTERCHANGE_CORE="native")
        assert told == f"native {folder / BUILT}\n"


# ---------------------------------------------------------------- no GIL


@pytest.mark.slow
def test_a_free_threaded_python_gets_a_wheel_of_its_own(checkout):
    """A free-threaded Python has no limited API: wheel and extension are for its release."""
    need_compiler()
    before = "import sysconfig; sysconfig.get_config_vars()['Py_GIL_DISABLED'] = 1"
    done, made = build(checkout, before=before, INTERCHANGE_BUILD="require")
    wheel = wheel_in(made, done)
    suffix = sysconfig.get_config_var("EXT_SUFFIX")

    assert re.search(r"-(cp3\d+)-\1t?-\w+\.whl$", wheel.name)
    assert {name for name in names_in(wheel) if name.endswith(".so")} == {
        f"{NATIVE}/_extension{suffix}"
    }


@pytest.mark.slow
def test_a_free_threaded_python_runs_its_own_build(checkout, tmp_path):
    """The extension for a free-threaded Python does not enable the GIL.

    Threads do not disturb each other.
    """
    path = find_python("3.14t")
    if path is None:
        pytest.skip("Python 3.14t is not here")
    need_compiler()
    python = tmp_path / "env/bin/python"
    output_of(path, "-m", "venv", tmp_path / "env")
    output_of(python, "-m", "pip", "install", "-q", "numpy>=2.1", "setuptools>=77")
    command = ("setup.py", "-q", "build_ext", "--inplace")
    output_of(python, *command, cwd=checkout, INTERCHANGE_BUILD="require", CFLAGS="-Werror")

    path = os.pathsep.join(map(str, (checkout / "src", ROOT / "conformance/src")))
    choice = {"PYTHONPATH": path, "INTERCHANGE_CORE": "native"}
    assert output_of(python, "-W", "error", "-c", WITHOUT_GIL, **choice) == "native False\n"
    lines = output_of(python, TOGETHER, 0.5, **choice).splitlines()
    assert {line.partition(" ")[2] for line in lines} == {"True [] 0"}


@pytest.mark.parametrize(
    "version", ["3.13t", "3.14t", *(each for each in VERSIONS if int(each[2:]) >= 13)]
)
def test_the_sources_compile_without_the_gil(version):
    """The sources compile without warnings for every installed CPython that can lack the GIL."""
    path = find_python(version)
    if path is None:
        pytest.skip(f"Python {version} is not here")
    need_compiler()
    where = "import sysconfig; print(sysconfig.get_path('include'), sysconfig.get_config_var('CC'))"
    headers, compiler = output_of(path, "-c", where).split()[:2]
    flags = ("-std=c11", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-DPy_GIL_DISABLED=1")
    folders = (f"-I{headers}", f"-I{ROOT / 'src/interchange/include'}")

    assert output_of(compiler, *flags, *folders, *SOURCES) == ""


# ---------------------------------------------------------------- no compiler


@pytest.mark.slow
def test_without_a_compiler_the_ctypes_core_is_installed(checkout, tmp_path):
    """Without a compiler a pure wheel is built, which prints one line and says so on import."""
    done, made = build(checkout, **NO_COMPILER)
    wheel = wheel_in(made, done)
    target = tmp_path / "target"
    install_alone(wheel, target)

    assert wheel.name.endswith("-py3-none-any.whl")
    assert notices_in(done) == [NOTICE.format("the compiler failed, as is said above")]
    assert output_of(sys.executable, "-c", WHICH, PYTHONPATH=str(target)) == (
        f"ctypes; the native core is not built here; {WITHOUT}\n"
    )


@pytest.mark.slow
def test_what_is_said_of_a_missing_core_builds_it(checkout, tmp_path_factory):
    """The suggested command builds the missing core although pip caches the pure wheel."""
    need_compiler()
    folder = tmp_path_factory.mktemp("tried")
    python = folder / "env/bin/python"
    output_of(sys.executable, "-m", "venv", folder / "env")
    output_of(python, "-m", "pip", "install", "-q", "numpy>=2.1", "setuptools>=77")
    done, made = build(checkout, "build_sdist")
    assert done.returncode == 0, done.stderr
    (sdist,) = made.glob("*.tar.gz")
    with tarfile.open(sdist) as opened:
        opened.extractall(folder, filter="data")
    unpacked = folder / sdist.name.removesuffix(".tar.gz")
    pip = {"PIP_CACHE_DIR": str(folder / "cache")}
    local = ("--no-index", "--no-build-isolation", "--find-links", made, "array-interchange")
    again = (python, "-m", "pip", "install", "-q", "--force-reinstall", "--no-deps", *local)

    output_of(*again, **pip, **NO_COMPILER)
    output_of(*again, **pip, INTERCHANGE_BUILD="require")
    assert output_of(python, "-c", WHICH).startswith("ctypes; ")  # the wheel that pip has kept
    refused = run(python, "-c", WHICH, INTERCHANGE_CORE="native").stderr.splitlines()[-1]
    path = os.pathsep.join([str(python.parent), os.environ["PATH"]])
    output_of("sh", "-c", refused.rpartition("distribution: ")[2], cwd=unpacked, PATH=path, **pip)

    assert output_of(python, "-c", WHICH, INTERCHANGE_CORE="native") == "native\n"


@pytest.mark.slow
def test_a_python_without_the_limited_api_gets_the_ctypes_core(checkout):
    """A Python without the limited API gets the ctypes core.

    Requiring the native core is an error.
    """
    before, why = "import sys; sys.implementation.name = 'pypy'", "pypy has no limited API"
    done, made = build(checkout, before=before)
    wheel = wheel_in(made, done)

    assert wheel.name.endswith("-py3-none-any.whl")
    assert notices_in(done) == [NOTICE.format(why)]

    done, _ = build(checkout, before=before, INTERCHANGE_BUILD="require")
    assert done.returncode == 1
    assert done.stderr.endswith(
        f"INTERCHANGE_BUILD=require: no native core could be built: {why}\n"
    )


@pytest.mark.slow
def test_a_core_that_is_required_must_be_built(checkout):
    """The build fails with an error that names the variable."""
    done, made = build(checkout, INTERCHANGE_BUILD="require", **NO_COMPILER)

    assert (done.returncode, list(made.iterdir())) == (1, [])
    assert done.stderr.splitlines()[-1] == (
        "INTERCHANGE_BUILD=require: no native core could be built:"
        " the compiler failed, as is said above"
    )


@pytest.mark.slow
def test_an_extension_of_other_sources_does_not_stay(checkout):
    """An extension of an earlier build is removed if it cannot be built again."""
    built = checkout / "src" / BUILT
    built.write_text("of other sources\n", encoding="utf-8")

    done, made = build(checkout, "build_editable", **NO_COMPILER)

    assert wheel_in(made, done)
    assert not built.exists()


# ---------------------------------------------------------------- build variables


@pytest.mark.slow
def test_a_build_that_is_to_skip_it_asks_no_compiler(checkout):
    """Skipping the native core builds a pure wheel without a notice, since it was requested."""
    done, made = build(checkout, INTERCHANGE_BUILD="skip", **NO_COMPILER)
    wheel = wheel_in(made, done)

    assert wheel.name.endswith("-py3-none-any.whl")
    assert not any(name.endswith(".so") for name in names_in(wheel))
    assert "/bin/false" not in done.stdout
    assert notices_in(done) == []


@pytest.mark.slow
def test_a_build_for_a_debugger_has_assertions_and_its_lines(checkout):
    """``INTERCHANGE_DEBUG_BUILD=1`` builds with assertions, whatever the flags of this Python."""
    need_compiler()
    done, made = build(checkout, INTERCHANGE_BUILD="require", INTERCHANGE_DEBUG_BUILD="1")
    compiled = [line for line in done.stdout.splitlines() if f"src/{NATIVE}/" in line]
    words = [line.split() for line in compiled if " -c " in line]

    assert BUILT in names_in(wheel_in(made, done))
    assert words
    for flags in words:
        assert [flag for flag in flags if flag.endswith("NDEBUG")][-1] == "-UNDEBUG"
        assert [flag for flag in flags if flag.startswith("-O")][-1] == "-O0"
        assert "-g" in flags


@pytest.mark.parametrize(
    ("name", "value", "choices"),
    [
        ("INTERCHANGE_BUILD", "yes", ("require", "skip")),
        ("INTERCHANGE_BUILD", "REQUIRE", ("require", "skip")),
        ("INTERCHANGE_BUILD", " ", ("require", "skip")),
        ("INTERCHANGE_DEBUG_BUILD", "true", ("0", "1")),
    ],
)
def test_another_value_is_refused(name, value, choices):
    """Another value is refused with the valid ones."""
    command = (sys.executable, ROOT / "setup.py", "--version")
    done = run(*command, cwd=ROOT, **{name: value})

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"{name}={value!r} is not a choice; leave it empty, or: {choices}\n"


# ---------------------------------------------------------------- in place


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="there is no repository here")
def test_the_file_in_place_is_no_part_of_the_repository():
    """Git does not see it."""
    command = ("git", "-C", ROOT, "check-ignore", f"src/{BUILT}")

    assert output_of(*command) == f"src/{BUILT}\n"


def test_no_source_returns_an_object_uncounted():
    """Headers of newer Pythons do not count None and its like, and older ones run the extension."""

    assert [path.name for path in SOURCES if "Py_RETURN_" in path.read_text(encoding="utf-8")] == []


def test_no_source_counts_the_bytes_of_a_format():
    """``#`` in a format means another thing to a Python older than the compiler's."""
    calls = re.compile(r'(?:PyArg_\w+|PyObject_Call\w+|Py_BuildValue)\([^;]*"[^"\n]*#[^"\n]*"')

    assert [path.name for path in SOURCES if calls.search(path.read_text(encoding="utf-8"))] == []
