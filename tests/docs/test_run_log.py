"""The page on test runs reads a log that the run itself wrote, and counts every test."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import sys
from functools import cache

import pytest

OUTCOMES = """
import pytest

def test_passes():
    pass

def test_fails():
    assert False

@pytest.fixture
def broken():
    raise LookupError

def test_with_an_error(broken):
    pass

@pytest.fixture
def leaving():
    yield
    raise LookupError

def test_that_passes_and_fails_at_its_end(leaving):
    pass

@pytest.mark.skip(reason="two devices are needed")
@pytest.mark.parametrize("n", range(3))
def test_skips(n):
    pass

@pytest.mark.gpu
def test_of_a_real_driver():
    pass

@pytest.mark.xfail(reason="known", strict=True)
def test_known_to_fail():
    assert False
"""


@pytest.fixture(scope="module")
def logged(root, tmp_path_factory):
    """Return a function that runs a file of tests in a child, and returns the log of it.

    Each file and its options are run once.
    """

    @cache
    def run(text, *options):
        tmp_path = tmp_path_factory.mktemp("logged")
        (tmp_path / "test_file.py").write_text(text, encoding="utf-8")
        (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
        log = tmp_path / "log.json"
        plugins = ("-p", "conftest", "-p", "interchange_conformance.emucuda.plugin")
        command = [sys.executable, "-m", "pytest", *plugins, f"--write-log={log}", *options]
        away = {"PYTEST_ADDOPTS", "INTERCHANGE_TEST_REQUIRE"}
        env = {name: value for name, value in os.environ.items() if name not in away}
        env["PYTHONPATH"] = str(root / "tests")
        done = subprocess.run(command, cwd=tmp_path, env=env, check=False, capture_output=True)
        assert log.exists(), done.stdout.decode() + done.stderr.decode()
        return json.loads(log.read_text(encoding="utf-8"))

    return run


@pytest.fixture(scope="module")
def runs(docs_module):
    """The module that prints logs."""
    return docs_module("runs")


@pytest.mark.exhaustive(but=["one process"])
@pytest.mark.isolated
@pytest.mark.parametrize("options", [(), ("-n", "2")], ids=["one process", "two workers"])
def test_every_selected_test_is_in_one_count(logged, options):
    """Passed, failed, skipped by reason, errors: together they are all, in every kind of run."""
    log = logged(OUTCOMES, *options)

    counts = {name: log[name] for name in ("passed", "failed", "errors", "xfailed", "not_run")}
    assert counts == {"passed": 1, "failed": 1, "errors": 2, "xfailed": 1, "not_run": 0}
    assert log["skipped"] == {
        "needs a CUDA device: run with --cuda=real": 1,
        "two devices are needed": 3,
    }
    assert log["selected"] == 9


@pytest.mark.isolated
def test_what_a_cut_off_run_did_not_reach_is_counted(logged):
    """Tests that were selected and never ran do not vanish."""
    log = logged(OUTCOMES, "-x")

    assert (log["selected"], log["passed"], log["failed"], log["not_run"]) == (9, 1, 1, 7)


@pytest.mark.isolated
def test_tests_that_were_not_selected_are_not_counted(logged):
    """The counts are those of the tests selected by the command, which the log contains."""
    log = logged(OUTCOMES, "-k", "skips")

    assert (log["selected"], sum(log["skipped"].values())) == (3, 3)
    assert log["command"].endswith("-k skips")


@pytest.mark.isolated
def test_the_failures_are_named(logged):
    """Errors of fixtures among them."""
    names = [name.rpartition("::")[2] for name in logged(OUTCOMES)["failures"]]

    assert names == ["test_fails", "test_that_passes_and_fails_at_its_end", "test_with_an_error"]


@pytest.mark.isolated
def test_a_log_says_what_was_run_on_what(logged, root):
    """Versions, the commit of the repository, and the machine; no path of it."""
    log = logged("def test_passes():\n    pass\n")
    commit = (root / ".git").exists() and shutil.which("git") is not None

    assert (re.fullmatch("[0-9a-f]{40}", log["commit"] or "") is not None) == commit
    assert log["versions"]["python"] == platform.python_version()
    assert {"numpy", "array-interchange"} <= set(log["versions"])
    assert log["machine"]["cuda_driver"] == "emulated"
    assert str(root) not in json.dumps(log)


@pytest.mark.emulated
@pytest.mark.isolated
def test_the_devices_of_the_driver_are_in_the_log(logged, emulator):
    """The devices have the names given by the driver of the tests: here, the emulated one."""
    assert emulator is not None
    text = "import pytest\n@pytest.mark.emulated\ndef test_it(emulator):\n    pass\n"

    log = logged(text)

    assert (log["passed"], len(log["machine"]["devices"])) == (1, 2)
    assert log["machine"]["cuda_version"].startswith("1")


@pytest.mark.isolated
def test_the_page_says_what_the_log_says(logged, runs):
    """The page has all counts, releases and reasons, and the commit."""
    log = logged(OUTCOMES)

    text = runs.described(log)

    assert "of 9 tests 1 passed, 1 failed, 2 errors, 1 failed as expected, 4 skipped." in text
    assert "| two devices are needed | 3 |" in text
    assert f"python {platform.python_version()}" in text
    assert "- `test_file.py::test_fails`" in text


def test_a_log_that_does_not_count_all_is_refused(runs):
    """Figures that leave tests out are on no page."""
    counts = dict.fromkeys(("failed", "errors", "xfailed", "not_run"), 0)
    log = {**counts, "selected": 592, "passed": 454, "skipped": {"no second device": 51}}

    with pytest.raises(ValueError, match="the log counts 505 of 592 tests"):
        runs.described(log)


def test_without_a_log_the_page_says_so(runs):
    """Without a log the page has no figures and says so."""
    assert runs.run_log("no-such-log") == "**No log of such a run has been kept yet.**"


def test_every_kept_log_is_one_that_the_page_takes(runs):
    """Logs in the docs count every test that was selected."""
    for path in runs.GENERATED.glob("tests-*.json"):
        assert "tests" in runs.run_log(path.stem)


def test_the_page_reads_the_log_that_it_tells_to_write(pages):
    """The command on the page writes the file that the page reads."""
    page = pages["docs/guides/testing-without-a-gpu.md"]

    assert "--cuda=real -m gpu --write-log docs/_generated/tests-gpu.json\n" in page
    assert "```{run-log} tests-gpu\n" in page
