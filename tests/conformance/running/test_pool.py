"""The pool distributes items, collects their results, and leaves no resources behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from interchange_conformance.registry import load_checks
from interchange_conformance.running import kernel
from interchange_conformance.running.pool import items_for

ITEM = "make_returns_an_array"
TYPES = [
    f"make_gives_the_dtype_that_it_was_asked_for[{case}]"
    for case in ("float32", "float64", "int64", "uint8", "bool", "complex64")
]


def test_verdicts_come_in_the_order_of_the_items(pool_of):
    """The order in which they end does not matter; each is reported once, as it arrives."""
    told = []
    pool = pool_of("time.sleep(0.2 if dtype == 'float32' else 0)", jobs=3)

    verdicts = pool.run(TYPES, tell=told.append)

    assert [verdict.item for verdict in verdicts] == TYPES
    assert sorted(told) == sorted(verdicts)


def test_nothing_is_begun_after_enough(pool_of, tmp_path):
    """No other item is started after the callback returned True."""
    pool = pool_of("(HERE / dtype).touch()")

    verdicts = pool.run(TYPES, tell=lambda _: True)

    assert len(verdicts) == 1
    assert len([path for path in tmp_path.iterdir() if path.suffix == ""]) <= 3


def test_an_error_of_the_callback_is_raised(pool_of):
    """It ends the run, and running items are not waited for."""

    def tell(verdict):
        raise ZeroDivisionError(verdict.item)

    pool = pool_of("time.sleep(0 if dtype == 'float32' else 60)", jobs=2)
    with pytest.raises(ZeroDivisionError, match="float32"):
        pool.run(TYPES, tell=tell)


def test_jobs_run_at_a_time(pool_of):
    """Three items that wait for each other all end."""
    in_make = """
        (HERE / dtype).touch()
        while len(list(HERE.glob("*64"))) < 3: time.sleep(0.01)
        """
    pool = pool_of(in_make, jobs=3)

    verdicts = pool.run([item for item in TYPES if "64" in item])

    assert [verdict.status for verdict in verdicts] == ["pass"] * 3


def test_an_unknown_item_is_an_error(pool_of):
    """The error is not attributed to the subject."""
    with pytest.raises(KeyError):
        pool_of().run(["there_is_no_such_check"])


def test_items_are_those_of_the_roles(pool_of):
    """A subject that only makes arrays is not run as a consumer; items are selected by checks."""
    about = pool_of().about
    due = [check for check in load_checks().values() if check.role == "producer"]

    assert sorted(items_for(about)) == sorted(item for check in due for item in check.items())
    assert items_for(about, [ITEM, "make_prints_nothing"]) == [ITEM, "make_prints_nothing"]


# ---------------------------------------------------------------- fork server failures


def test_a_fork_server_that_was_killed_is_replaced(pool_of):
    """It was killed between two items by another process."""
    pool = pool_of("(HERE / 'server').write_text(str(os.getppid()))")
    pool.run_one(ITEM)
    spec_folder = Path(sys.path[0])
    os.kill(int((spec_folder / "server").read_text()), signal.SIGKILL)

    assert pool.run_one(ITEM).status == "pass"


def test_a_check_whose_fork_server_is_killed_is_run_again(pool_of):
    """The check may not have caused it: the second run counts."""
    in_make = """
        if not (HERE / "mark").exists():
            (HERE / "mark").touch(); os.kill(os.getppid(), 9); time.sleep(60)
        """

    assert pool_of(in_make).run_one(ITEM).status == "pass"


def test_a_check_that_kills_its_fork_server_twice_has_crashed(pool_of):
    """The check has crashed, and the next one is judged normally."""
    pool = pool_of("if shape == (5,): os.kill(os.getppid(), 9); time.sleep(60)")
    shapes = "make_gives_the_shape_that_it_was_asked_for"

    verdicts = pool.run([f"{shapes}[one-axis]", f"{shapes}[none]"])

    assert [verdict.status for verdict in verdicts] == ["crash", "pass"]
    assert "signal 9 ended it" in verdicts[0].evidence


def test_a_fork_server_that_stops_is_given_up(pool_of, monkeypatch):
    """A server that does not answer is killed some time after the limit of the check."""
    monkeypatch.setattr("interchange_conformance.running.client._SLACK", 0.5)
    pool = pool_of("os.kill(os.getppid(), signal.SIGSTOP)", patience=0.05)

    verdict = pool.run_one(ITEM)

    assert verdict.status == "crash"
    assert "nothing came within" in verdict.evidence


def test_children_end_with_their_fork_server(pool_of, tmp_path, is_gone):
    """The check is killed as well."""
    in_make = """
        (HERE / "child").write_text(str(os.getpid()))
        os.kill(os.getppid(), 9)
        time.sleep(60)
        """

    pool_of(in_make).run_one(ITEM)
    time.sleep(0.2)

    assert is_gone(int((tmp_path / "child").read_text()))


# ---------------------------------------------------------------- leaks


@pytest.mark.slow
def test_nothing_is_left_open(pool_of):
    """The process has the same descriptors and children after a run with crashes."""

    def held():
        return len(list(Path("/proc/self/fd").iterdir())), len(kernel.children())

    pool_of().close()
    before = held()

    pool = pool_of("os.kill(os.getppid() if shape == (5,) else os.getpid(), 9)", jobs=2)
    pool.run(items_for(pool.about))
    pool.close()

    assert held() == before


def test_a_fork_server_keeps_nothing_open(pool_of, tmp_path):
    """The number of descriptors does not grow with items, and no zombies are left."""
    in_make = """
        time.sleep(0.02)  # for the fork server to close its ends of the pipes
        server = f"/proc/{os.getppid()}"
        held = len(os.listdir(server + "/fd"))
        children = Path(f"{server}/task/{os.getppid()}/children").read_text().split()
        with open(HERE / "held", "a") as file: file.write(f"{held} {len(children)}\\n")
        if dtype == "int64": os.abort()
        """
    pool = pool_of(in_make)

    pool.run(TYPES * 3)

    assert len(set((tmp_path / "held").read_text().splitlines())) == 1


_INTERRUPTED = """
import sys
from interchange_conformance.running.pool import Pool
sys.path.insert(0, sys.argv[2])
with Pool(sys.argv[1], 2) as pool:
    print("ready", flush=True)
    try:
        pool.run(sys.argv[3:])
    except KeyboardInterrupt:
        print("interrupted", flush=True)
"""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_run_ends_its_processes(write_subject, tmp_path, is_gone, how):
    """Ctrl-C and SIGKILL leave no process running, and the run ends at once."""
    spec = write_subject("(HERE / dtype).write_text(str(os.getpid())); time.sleep(60)")
    command = [sys.executable, "-c", _INTERRUPTED, spec, str(tmp_path), *TYPES[:2]]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    marks = [tmp_path / case for case in ("float32", "float64")]
    while not all(mark.exists() and mark.read_text() for mark in marks):
        time.sleep(0.01)
    began = time.monotonic()

    process.send_signal(how)
    said, _ = process.communicate(timeout=30)
    took = time.monotonic() - began
    while time.monotonic() - began < 5 and not all(is_gone(int(m.read_text())) for m in marks):
        time.sleep(0.01)

    assert said.split() == ["ready", "interrupted"][: 2 if how == signal.SIGINT else 1]
    assert took < 5
    assert all(is_gone(int(mark.read_text())) for mark in marks)
