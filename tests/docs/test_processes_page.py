"""The programs of the page on more than one process print what they should."""

from __future__ import annotations

import subprocess
import sys

import pytest

from .conftest import ROOT

PROGRAMS = ROOT / "docs" / "examples" / "processes"
LAUNCHER = ("-m", "interchange_conformance.emucuda", "--")

pytestmark = [
    pytest.mark.isolated,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="handles are for Linux"),
]


def test_the_page_shows_every_program():
    """Each program of the folder is included once."""
    page = (ROOT / "docs" / "guides" / "more-than-one-process.md").read_text(encoding="utf-8")
    there = {path.name for path in PROGRAMS.glob("*.py")}
    assert {name for name in there if page.count(f"processes/{name}\n") == 1} == there


@pytest.mark.slow
def test_frames_are_read_by_another_process(run_isolated):
    """The reader sees each frame when it was written."""
    printed = run_isolated(str(PROGRAMS / "camera.py"))
    assert printed == "[0, 10, 20, 30, 40, 50, 60, 70, 80, 90]\n"


@pytest.mark.slow
@pytest.mark.usefixtures("emulator")  # which tells whether it can be built
def test_batches_are_used_by_another_process(need):
    """The trainer sees the values that were pending on the producer's stream, without a race."""
    need("cuda.bindings.driver")
    command = [sys.executable, *LAUNCHER, sys.executable, str(PROGRAMS / "trainer.py")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert (done.stdout, done.stderr) == ("[0.0, 1.0, 2.0, 3.0]\n", "")


@pytest.mark.slow
def test_dask_workers_have_one_memory(run_child, need):
    """The second worker writes what the first one reads."""
    need("distributed")
    done = run_child(str(PROGRAMS / "dask_workers.py"), warnings="default")
    assert (done.returncode, done.stdout) == (0, "('mmap', 1000000) 7.0\n"), done.stderr


@pytest.mark.interop
@pytest.mark.slow
def test_an_actor_of_ray_writes_into_memory_of_its_caller(run_child, need):
    """The elements are not stored by Ray."""
    need("ray")
    done = run_child(
        str(PROGRAMS / "ray_actor.py"),
        warnings="default",
        env={"RAY_AUTH_MODE": "disabled", "RAY_USAGE_STATS_ENABLED": "0"},
    )
    assert (done.returncode, done.stdout.splitlines()[-1:]) == (0, ["[0.0, 10.0, 20.0, 30.0]"])
