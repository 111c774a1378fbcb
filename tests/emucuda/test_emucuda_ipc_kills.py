"""Processes that share memory and are killed at any time: nothing hangs, crashes or stays behind.

Source: `ipc_rounds.py`, which forks both processes of each round before the driver is initialised.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from interchange_conformance.emucuda import build

from .programs import CLEAN, PYTHON, launch

pytestmark = pytest.mark.emulated

PROGRAM = Path(__file__).with_name("ipc_rounds.py")
ENDS = {0, -9, "no sender", "gone"}
"""How a process may end: by itself, by SIGKILL, or because the other one has ended before."""


@pytest.mark.parametrize("count", [24, pytest.param(300, marks=pytest.mark.slow)])
def test_processes_that_are_killed(need, count):
    """Each of them ends; data is wrong only if the process that writes it was killed before."""
    need("cuda.bindings.driver")
    done = subprocess.run(
        [sys.executable, PROGRAM, str(build()), str(count)],
        env=CLEAN,
        capture_output=True,
        text=True,
        timeout=1000,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    rounds = ast.literal_eval(done.stdout)

    assert sum(rounds.values()) == count
    for (killed, how, exporter, importer), times in rounds.items():
        shown = (killed, how, exporter, importer, times)
        may_lack = how == "leaves" or killed in {"exporter", "both"}
        assert exporter in ENDS, shown
        assert importer in ENDS | ({"other bytes"} if may_lack else set()), shown
        if killed == "none" and how != "leaves":
            assert (exporter, importer) == (0, 0), shown


@pytest.mark.clients
def test_cuda_core_shares_buffers_and_events(need, tmp_path):
    """Its own memory resources and events travel by multiprocessing, and order the processes."""
    need("cuda.core")
    program = tmp_path / "program.py"
    program.write_text(CUDA_CORE, encoding="ascii")
    done = launch("--", PYTHON, program)

    assert (done.returncode, done.stdout.split()) == (0, ["4096", "09", "0"]), done.stderr


CUDA_CORE = """
import multiprocessing

def consume(arrivals, results):
    from cuda.core import Device

    device = Device(0)
    device.set_current()
    buffer, event = arrivals.get(timeout=60)
    stream = device.create_stream()
    stream.wait(event)
    buffer.fill(9, stream=stream)
    stream.sync()
    results.put(buffer.size)
    buffer.close(stream)
    stream.sync()

if __name__ == "__main__":
    from interchange_conformance.emucuda import load
    from cuda.core import Device, DeviceMemoryResource, DeviceMemoryResourceOptions, EventOptions

    emulator = load()
    device = Device(0)
    device.set_current()
    stream = device.create_stream()
    options = DeviceMemoryResourceOptions(max_size=1 << 20, ipc_enabled=True)
    buffer = DeviceMemoryResource(device, options).allocate(4096, stream=stream)
    buffer.fill(7, stream=stream)
    event = stream.record(options=EventOptions(ipc_enabled=True))
    context = multiprocessing.get_context("spawn")
    arrivals, results = context.Queue(), context.Queue()
    process = context.Process(target=consume, args=(arrivals, results))
    process.start()
    arrivals.put((buffer, event))
    print(results.get(timeout=60))
    process.join(60)
    print(emulator.read(int(buffer.handle), 1).hex(), process.exitcode)
    buffer.close(stream)
    stream.sync()
"""
