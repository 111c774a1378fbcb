"""Fixtures for all tests: a runner of child processes, the cores, hypothesis profiles.

Code that could crash, hang or leave something behind at exit runs in a child process.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import interchange

collect_ignore_glob = ["isolated/scripts/*"]  # run by children, not collected

SCRIPTS = Path(__file__).parent / "isolated" / "scripts"
_SOURCE = Path(interchange.__file__).parent.parent
_MUTANTS = Path(__file__).parent / "conformance"  # the folder of their package
_TAKING = Path(__file__).parent / "taking.py"
_TIME = 110.0  # [seconds]; below faulthandler_timeout, so that the child is reported

settings.register_profile("dev", deadline=None, print_blob=True, max_examples=24)
settings.register_profile("full", deadline=None, print_blob=True)
settings.register_profile(  # the same examples every time: a merge must not depend on chance
    "ci", deadline=None, derandomize=True, print_blob=True, suppress_health_check=[*HealthCheck]
)
settings.register_profile("thorough", deadline=None, print_blob=True, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))


@functools.cache
def _load(path):
    """Import a file of the tests that is in no package."""
    spec = importlib.util.spec_from_file_location(f"interchange_tests_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not there")
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def pytest_addoption(parser):
    """Add ``--write-log``."""
    words = "write versions, commit, machine and counts of this run to a file of JSON"
    parser.addoption("--write-log", metavar="FILE", type=Path, help=words)


def _let_children_compile_once(config):
    """Set a folder for bytecode, if none may be written into the clone.

    Otherwise each of thousands of processes would compile the whole package.
    """
    if os.environ.get("PYTHONDONTWRITEBYTECODE") and "PYTHONPYCACHEPREFIX" not in os.environ:
        folder = tempfile.TemporaryDirectory(prefix="bytecode-")
        patch = pytest.MonkeyPatch()
        patch.delenv("PYTHONDONTWRITEBYTECODE")
        patch.setenv("PYTHONPYCACHEPREFIX", folder.name)
        config.add_cleanup(folder.cleanup)
        config.add_cleanup(patch.undo)


def pytest_configure(config):
    """Keep a log of the run if requested, in the process that receives the results of all tests."""
    _let_children_compile_once(config)
    path = config.getoption("--write-log")
    if path is None or hasattr(config, "workerinput"):
        return
    run_log = _load(Path(__file__).parent / "run_log.py")
    config.pluginmanager.register(run_log.RunLog(path, config), "run_log")


def pytest_generate_tests(metafunc):
    """Run tests with the fixture `taking` with every public function that takes an array.

    The functions are those of taking.py.  ``taking_stream`` is every function with the keyword
    ``stream``; the memory is on the device of the test's mark.
    """
    for name in metafunc.fixturenames:
        if name == "taking" or name.startswith("taking_"):
            memory = "cuda" if metafunc.definition.get_closest_marker("emulated") else "cpu"
            keyword = name.partition("_")[2] or None
            found = _load(_TAKING).all_of(memory, keyword)
            metafunc.parametrize(name, found, ids=lambda one: one.name)


def pytest_report_header():
    """Print the core under test."""
    return f"interchange: {interchange.core_name} core in use, tested: {', '.join(_cores())}"


def _demanded(name):
    """Whether this run must fail, not skip, if `name` is missing."""
    return name in os.environ.get("INTERCHANGE_TEST_REQUIRE", "").split(",")


def _run_isolated(script, *args, **options):
    """Run a script, require a clean end (code 0, nothing on stderr) and return its stdout."""
    done = run_child(script, *args, **options)
    assert (done.returncode, done.stderr) == (0, ""), (
        f"{script.strip().splitlines()[0]} {args} ended with code {done.returncode}\n"
        f"--- stdout\n{done.stdout}\n--- stderr\n{done.stderr}"
    )
    return done.stdout


def run_child(script, *args, python=None, env=None, warnings="error", timeout=_TIME):
    """Run a file in ``isolated/scripts``, or program text, and return its result, good or bad."""
    program = ["-c", script] if "\n" in script else [str(SCRIPTS / script)]
    command = [python or sys.executable, "-X", "faulthandler", "-W", warnings, *program]
    paths = [*map(str, (_SOURCE, SCRIPTS, _MUTANTS)), os.environ.get("PYTHONPATH", "")]
    return subprocess.run(
        [*command, *map(str, args)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths)), **(env or {})},
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


@pytest.fixture(scope="session")
def public_calls():
    """Return the module that defines how each public function is called with an array."""
    return _load(_TAKING)


@pytest.fixture(scope="session")
def has_gil():
    """Return whether one thread at a time runs Python code here."""
    return bool(getattr(sys, "_is_gil_enabled", lambda: True)())


@pytest.fixture(scope="session")
def run_isolated():
    """Return the runner: it fails the test unless the child ends with code 0 and no output."""
    return _run_isolated


@pytest.fixture(scope="session", name="run_child")
def _run_child():
    """Return the runner for children that are expected to fail."""
    return run_child


@pytest.fixture(scope="session")
def arrow_zoo():
    """Skip where the producers of Arrow cannot be built: their callbacks are C."""
    from interchange_conformance.emucuda.building import CannotBuildError
    from interchange_conformance.zoo import arrow

    try:
        arrow.numbers().__arrow_c_array__()
    except CannotBuildError as error:
        pytest.skip(str(error))


def _is_built(name):
    """Whether a core can be imported; the package of the native one is there in any case."""
    try:
        importlib.import_module(f"interchange._core.{name}")
    except ModuleNotFoundError as error:
        if error.name != f"interchange._core.{name}":
            raise
        return False
    return True


def _cores():
    """Return the cores that are built here, and those that were required."""
    return [name for name in ("ctypes", "native") if _demanded(name) or _is_built(f"_{name}")]


@pytest.fixture(scope="session")
def c_api():
    """Return the mirror of the C API in ctypes; the API is there where the native core is."""
    return _load(SCRIPTS / "c_api.py")


@pytest.fixture(scope="session", params=_cores())
def core(request):
    """Return every core in turn; one that was required and is not built fails."""
    return importlib.import_module(f"interchange._core._{request.param}")


@pytest.fixture(scope="session")
def cores():
    """Return both cores, ctypes first; skips if there is one, and fails if one was required."""
    names = _cores()
    if len(names) < 2:
        pytest.skip("there is one core here, and nothing to compare it with")
    return {name: importlib.import_module(f"interchange._core._{name}") for name in names}


@pytest.fixture(params=_cores())
def core_env(request):
    """Return the environment in which a child uses one core, each in turn."""
    return {"INTERCHANGE_CORE": request.param}


def pytest_collection_modifyitems(items):
    """Mark whose child processes use each core in turn, independent of the core in use here."""
    for item in items:
        if item.get_closest_marker("isolated") and "core_env" in item.fixturenames:
            item.add_marker("both_cores")


def pytest_runtest_setup(item):
    """Skip tests of the ctypes core's internals if another core is in use."""
    if item.get_closest_marker("readable") and interchange.core_name != "ctypes":
        pytest.skip("of the ctypes core: runs with INTERCHANGE_CORE=ctypes")


@pytest.fixture
def no_driver(monkeypatch):
    """Remove the drivers, which an earlier test of this process may have loaded."""
    from interchange._streams import driver

    monkeypatch.setitem(sys.modules, "cuda.bindings", None)  # importing it fails
    monkeypatch.setitem(os.environ, "INTERCHANGE_HIP_LIBRARY", "/nowhere/libamdhip64.so")
    for name in tuple(driver.drivers):
        monkeypatch.delitem(driver.drivers, name)


@pytest.fixture(scope="session")
def need():
    """Return a function that skips a test where a library is missing, or fails where demanded."""

    def need_library(name):
        top = name.partition(".")[0]
        if importlib.util.find_spec(top) is None or importlib.util.find_spec(name) is None:
            if _demanded(top):
                pytest.fail(f"{name} is required here but is not installed")
            pytest.skip(f"{name} is not installed")

    return need_library
