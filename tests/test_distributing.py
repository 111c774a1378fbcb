"""The tests run on all cores, unless their output is shown or there is little to run.

Source: conftest.py at the root; pytest-xdist, ``pytest_xdist_auto_num_workers``.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).parents[1]
ONE_FILE = str(ROOT / "tests/abi/test_buffers.py")
OTHER_FILE = str(ROOT / "tests/abi/test_capsules.py")
FOLDER = str(ROOT / "tests/abi")


@pytest.fixture
def workers(pytestconfig):
    """Return a function that returns the number of workers for arguments; None for one per core."""
    chosen = pytestconfig.pluginmanager.get_plugin(str(ROOT / "conftest.py"))

    def count(*args, cuda=None, **options):
        option = SimpleNamespace(**{"capture": "fd", "trace": False, "usepdb": False} | options)
        config = SimpleNamespace(args=args, option=option, getoption=lambda *_: cuda)
        return chosen.pytest_xdist_auto_num_workers(config)

    return count


@pytest.mark.parametrize("args", [[FOLDER], [ONE_FILE, OTHER_FILE], ["tests", "src"]])
def test_many_tests_run_on_all_cores(workers, args):
    """As many as there are."""
    assert workers(*args) is None


@pytest.mark.parametrize("args", [[ONE_FILE], [f"{ONE_FILE}::test_a", f"{ONE_FILE}::test_b[1]"]])
def test_one_file_runs_in_this_process(workers, args):
    """A single file runs in this process, since starting workers would take longer."""
    assert workers(*args) == 0


@pytest.mark.parametrize(
    "options", [{"capture": "no"}, {"trace": True}, {"usepdb": True}, {"cuda": "real"}]
)
def test_what_is_looked_at_runs_in_this_process(workers, options):
    """Tests with shown output run in this process, and so do those that need the only GPU."""
    assert workers(FOLDER, **options) == 0


@pytest.mark.isolated
@pytest.mark.parametrize("options", [["-p", "no:xdist"], ["-n0"]], ids=" ".join)
def test_there_may_be_no_workers_at_all(options):
    """The options in pyproject.toml are understood without pytest-xdist, too."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options, ONE_FILE]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout + done.stderr
    assert "passed" in done.stdout


@pytest.mark.isolated
def test_a_test_that_is_named_by_its_id_runs_whatever_its_marks():
    """A test of a grid that is not in the default run is found, too."""
    name = "test_a_first_use_between_two_bytecodes_of_another_changes_nothing[ctypes-import]"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--collect-only"]
    path = f"{ROOT / 'tests/isolated/test_first_uses.py'}::{name}"
    done = subprocess.run([*command, path], cwd=ROOT, capture_output=True, text=True, check=False)

    assert "1 test collected" in done.stdout, done.stdout + done.stderr
