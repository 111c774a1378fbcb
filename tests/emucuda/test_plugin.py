"""The pytest plugin as its users see it: each case runs pytest in a child process."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from interchange_conformance.emucuda import building

from .programs import BY_CTYPES

PLUGIN = "interchange_conformance.emucuda.plugin"
NOTHING = {
    "INTERCHANGE_TEST_REQUIRE": "",
    "PYTEST_ADDOPTS": "",
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
}

MARKED = """
import pytest

@pytest.mark.emulated
def test_on_emulated(): pass

@pytest.mark.gpu
def test_on_gpu(): pass

@pytest.mark.gpu
@pytest.mark.emulated
def test_on_both(cuda_driver): print("runs on", cuda_driver)

def test_on_none(): pass
"""

RACE = f"""{BY_CTYPES}
def seeded_race(emulator):
    cu, ptr = start()
    for _ in range(2):
        emulator.annotate(new_stream(cu).value, ptr.value, 64, write=True, what="the seeded kernel")
    return ptr.value
"""


@pytest.fixture
def run_pytest(tmp_path):
    """Return a function that runs pytest on a source text and returns the completed process."""

    def run(text, *options, **environment):
        (tmp_path / "test_inner.py").write_text(text)
        (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers -ra\n")
        return subprocess.run(
            [sys.executable, "-m", "pytest", "-p", PLUGIN, "-p", "no:cacheprovider", *options],
            env={**os.environ, **NOTHING, **environment},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )

    return run


def driver_with(tmp_path, body):
    """Compile a driver that returns `body`; return the environment in which it is found."""
    folder = tmp_path / "driver"
    folder.mkdir()
    try:
        (compiler, *_) = building.find_compiler()
    except building.CannotBuildError as error:
        pytest.skip(str(error))
    (folder / "driver.c").write_text(body)
    options = ["-shared", "-fPIC", "-o", str(folder / "libcuda.so.1")]
    subprocess.run([compiler, *options, str(folder / "driver.c")], check=True)
    return {"LD_LIBRARY_PATH": str(folder)}


ONE_DEVICE = "int cuInit(int f) { return f; } int cuDeviceGetCount(int *n) { *n = 1; return 0; }"
NO_DEVICE = "int cuInit(int f) { return f + 100; }"
NONE_VISIBLE = "int cuInit(int f) { return f; } int cuDeviceGetCount(int *n) { *n = 0; return 0; }"


# ---------------------------------------------------------------- selection of tests


@pytest.mark.emulated
def test_by_default_the_emulated_driver_is_chosen(run_pytest):
    """Tests for a device are skipped, and the reason says how to run them."""
    done = run_pytest(MARKED, "-rA")

    assert "runs on emulated" in done.stdout
    assert "3 passed, 1 skipped" in done.stdout
    assert "needs a CUDA device: run with --cuda=real" in done.stdout


def test_with_a_real_driver_the_emulated_one_is_left_alone(run_pytest, tmp_path):
    """Tests for the emulated driver are skipped, and the reason says how to run them."""
    done = run_pytest(MARKED, "-rA", "--cuda=real", **driver_with(tmp_path, ONE_DEVICE))

    assert "runs on real" in done.stdout
    assert "3 passed, 1 skipped" in done.stdout
    assert "runs on the emulated CUDA driver: run with --cuda=emulated" in done.stdout


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (NO_DEVICE, "no CUDA driver: cuInit returned 100"),
        (NONE_VISIBLE, "no CUDA device: 0"),
    ],
)
def test_without_a_device_the_reason_is_given(run_pytest, tmp_path, body, reason):
    """A driver without devices runs no test; a requested run that is impossible is a failure."""
    done = run_pytest(MARKED, "--cuda=real", **driver_with(tmp_path, body))

    assert "1 passed, 1 skipped, 2 errors" in done.stdout
    assert reason in done.stdout


@pytest.mark.emulated
def test_the_emulated_driver_never_passes_for_a_real_one(run_pytest):
    """The folder of the emulated driver on the library path does not count as a device."""
    path = str(building.build().parent)

    done = run_pytest(MARKED, "--cuda=real", LD_LIBRARY_PATH=path)

    assert "1 passed, 1 skipped, 2 errors" in done.stdout
    assert "libcuda.so.1 is the emulated one" in done.stdout


def test_without_a_compiler_the_reason_is_given(run_pytest):
    """Tests and fixtures that need the emulated driver are skipped."""
    text = MARKED + "\ndef test_unmarked(emulator): pass\n"

    done = run_pytest(text, CC="no-such-compiler")

    assert "1 passed, 4 skipped" in done.stdout
    assert "CC=no-such-compiler is not a command; install gcc" in done.stdout


@pytest.mark.parametrize(
    ("options", "demanded"), [(("--cuda=emulated",), ""), ((), "numpy,emulated")]
)
def test_a_driver_that_was_demanded_is_not_skipped(run_pytest, options, demanded):
    """A driver that an option names, or INTERCHANGE_TEST_REQUIRE as in CI, fails if not built."""
    done = run_pytest(MARKED, *options, CC="no-such-compiler", INTERCHANGE_TEST_REQUIRE=demanded)

    assert done.returncode == 1
    assert "1 passed, 1 skipped, 2 errors" in done.stdout


@pytest.mark.emulated
def test_sources_that_do_not_compile_are_a_failure(run_pytest, tmp_path):
    """A missing compiler skips the tests, and a failing one makes them fail."""
    (tmp_path / "cuda.h").write_text("#error not this one\n")

    done = run_pytest(MARKED, CC=f"{building.find_compiler()[0]} -I{tmp_path}")

    assert "1 passed, 1 skipped, 2 errors" in done.stdout
    assert "not this one" in done.stdout


def test_the_header_names_the_driver(run_pytest):
    """The log shows on which driver the tests ran."""
    done = run_pytest("def test(): pass", "--cuda=real")

    assert "\ncuda: real driver\n" in done.stdout


@pytest.mark.emulated
def test_tests_that_load_the_emulated_driver_come_last(run_pytest):
    """A library that searches for a driver in an earlier test does not find the emulated one."""
    text = (
        "import pytest\n"
        "maps = lambda: open('/proc/self/maps').read()\n"
        "def test_a(emulator): assert 'libcuda.so.1' in maps()\n"
        "def test_b(cuda_driver): pass\n"
        "@pytest.mark.emulated\n"
        "def test_c(): pass\n"
        "def test_d(): assert 'libcuda' not in maps()\n"
    )

    done = run_pytest(text, "-v")

    order = [line.split()[0][-1] for line in done.stdout.splitlines() if "PASSED" in line]
    assert order == ["d", "a", "b", "c"]


# ---------------------------------------------------------------- reports


@pytest.mark.emulated
def test_a_report_fails_the_test_that_made_it(run_pytest):
    """The test itself fails, not its teardown, and the failure quotes the report."""
    done = run_pytest(RACE + "def test(emulator): seeded_race(emulator)\n")

    assert "\n1 failed in" in done.stdout.replace("=", "").replace("  ", "\n").replace("\n ", "\n")
    assert "the seeded kernel" in done.stdout


NEXT_TEST = """
def test_a(emulator): seeded_race(emulator)
def test_b(emulator): assert emulator.reports() == []
"""
EXPECTED = """
def test(emulator):
    seeded_race(emulator)
    assert len(emulator.expect_reports(1, match='seeded')) == 1
"""
ONLY_READ = """
def test(emulator):
    seeded_race(emulator)
    assert emulator.reports()
"""
AT_TEARDOWN = """
import pytest
@pytest.fixture
def resource(emulator):
    yield
    seeded_race(emulator)
def test(resource): pass
"""
REPORTS = {
    "every test starts without reports": (NEXT_TEST, "1 failed, 1 passed"),
    "an expected report is not a failure": (EXPECTED, "1 passed"),
    "reading a report does not expect it": (ONLY_READ, "1 failed"),
    "a report at teardown is an error": (AT_TEARDOWN, "1 passed, 1 error"),
}


@pytest.mark.emulated
@pytest.mark.parametrize("case", REPORTS)
def test_reports_fail_the_test_that_does_not_expect_them(run_pytest, case):
    """Only unexpected reports fail, and only their own test or its teardown."""
    text, outcome = REPORTS[case]

    assert f" {outcome} in" in run_pytest(RACE + text).stdout


@pytest.mark.emulated
def test_an_expected_report_that_does_not_come_fails(run_pytest):
    """A detector that reports nothing is not taken for one that found the bug."""
    done = run_pytest("def test(emulator): emulator.expect_reports()\n")

    assert "1 failed" in done.stdout
    assert "expected at least one report, the detector has none" in done.stdout


@pytest.mark.emulated
def test_a_test_that_fails_for_its_own_reason_shows_the_reports_too(run_pytest):
    """The reports may be the cause of the failure."""
    done = run_pytest(
        RACE + "def test(emulator):\n    seeded_race(emulator)\n    raise ValueError(7)\n"
    )

    assert "1 failed" in done.stdout
    assert "ValueError: 7" in done.stdout
    assert "emucuda reports" in done.stdout
    assert "error" not in done.stdout.splitlines()[-1]


@pytest.mark.emulated
def test_what_a_failed_test_held_is_released(run_pytest):
    """The next test does not hang on a stream that the last test left behind a gate."""
    done = run_pytest(
        RACE + "def test_a(emulator):\n"
        "    seeded_race(emulator); emulator.hold(1); raise ValueError(7)\n"
        "def test_b(emulator): assert ctypes.CDLL('libcuda.so.1').cuCtxSynchronize() == 0\n",
        *("-o", "faulthandler_timeout=20"),
    )

    assert "1 failed, 1 passed" in done.stdout


CLEANUP = """
import pytest

@pytest.fixture
def before():
    yield
    assert ctypes.CDLL("libcuda.so.1").cuCtxSynchronize() == 0

@pytest.fixture
def resource(emulator):
    yield
    assert ctypes.CDLL("libcuda.so.1").cuCtxSynchronize() == 0

"""


@pytest.mark.emulated
@pytest.mark.parametrize("names", ["resource, emulator", "emulator, resource", "before, emulator"])
@pytest.mark.parametrize("ending", ["raise ValueError(7)", "pass"])
def test_gates_left_shut_do_not_hang_the_teardown_of_other_fixtures(run_pytest, names, ending):
    """The gates are opened before other fixtures free their resources."""
    done = run_pytest(
        RACE + CLEANUP + f"def test_a({names}):\n"
        "    ptr = seeded_race(emulator); emulator.expect_reports(); emulator.hold(1)\n"
        f"    emulator.annotate(1, ptr, 64, write=False); emulator.expect_reports(); {ending}\n",
        *("-o", "faulthandler_timeout=20", "-o", "faulthandler_exit_on_timeout=true"),
    )

    assert ("1 failed in" if "raise" in ending else "1 passed in") in done.stdout


# ---------------------------------------------------------------- the mark without the fixture


@pytest.mark.emulated
def test_the_mark_brings_the_reports(run_pytest):
    """A test with the mark fails for its reports even if it does not use the fixture."""
    done = run_pytest("import pytest\n" + BY_CTYPES + "@pytest.mark.emulated\ndef test(): race()\n")

    assert "1 failed in" in done.stdout
    assert "cuMemsetD8Async" in done.stdout


@pytest.mark.emulated
def test_the_mark_may_be_of_a_class_or_a_module(run_pytest):
    """The mark applies from a class, a module or a unittest class."""
    done = run_pytest(
        "import pytest, unittest\npytestmark = pytest.mark.emulated\n"
        + BY_CTYPES
        + "class TestIt:\n    def test(self): race()\n"
        "class TestCase(unittest.TestCase):\n    def test(self): race()\n"
    )

    assert "2 failed in" in done.stdout


def test_with_a_real_driver_the_mark_brings_nothing(run_pytest, tmp_path):
    """A test with both marks runs on the device, and the emulated driver is not loaded."""
    done = run_pytest(
        "import pytest\n@pytest.mark.gpu\n@pytest.mark.emulated\n"
        "def test(request):\n    assert 'emulator' not in request.fixturenames\n"
        "    assert 'emucuda' not in open('/proc/self/maps').read()\n",
        "--cuda=real",
        **driver_with(tmp_path, ONE_DEVICE),
    )

    assert "1 passed in" in done.stdout


@pytest.mark.emulated
def test_a_test_without_the_mark_loads_nothing(run_pytest):
    """The plugin itself loads no driver into the process."""
    done = run_pytest("def test(): assert 'libcuda' not in open('/proc/self/maps').read()\n")

    assert "1 passed in" in done.stdout
