"""Writes down a run of the tests, for the docs: versions, commit, machine, and what became of each.

Source: pytest's reference on hooks; CUDA driver API, Version and Device Management.  Loaded by
conftest.py for ``pytest --write-log FILE``.  Every test that was selected is in one of the counts:
a test without an outcome, since the run was cut off, is counted as ``not_run``.
"""

from __future__ import annotations

import ctypes
import json
import os
import platform
import re
import subprocess
from collections import Counter
from datetime import datetime, timezone
from importlib.metadata import distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
OPTION = "--write-log"
LIBRARIES = (
    "array-interchange",
    "cuda-bindings",
    "cuda-core",
    "cupy",
    "jax",
    "numba-cuda",
    "numpy",
    "torch",
)
"""Distributions whose release is written down, where they are installed."""
_CUPY = re.compile(r"cupy-(?:cuda|rocm).*")
_WORST = ("failed", "error", "xfailed", "skipped", "passed")


class RunLog:
    """Collects the outcomes of a run; a plugin of pytest.

    Parameters
    ----------
    path : Path
        Where to write.
    config : pytest.Config
        Of the run.
    """

    def __init__(self, path, config):
        self.path, self.config = path, config
        self.began = datetime.now(timezone.utc)
        self.selected = set()
        self.outcomes = {}

    # ------------------------------------------------------------ hooks

    def pytest_collection_finish(self, session):
        """Record the tests that were selected in this process."""
        self.selected |= {item.nodeid for item in session.items}

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids):
        """Record a worker's selected tests: all workers select the same."""
        self.selected |= set(ids)

    def pytest_runtest_logreport(self, report):
        """Record the outcome of a phase of a test; a test has the worst outcome of its phases."""
        found = _outcome(report)
        known = self.outcomes.get(report.nodeid)
        if known is None or _WORST.index(found[0]) < _WORST.index(known[0]):
            self.outcomes[report.nodeid] = found

    def pytest_sessionfinish(self):
        """Write the log."""
        text = json.dumps(self.content(), indent=1, ensure_ascii=False)
        self.path.write_text(text + "\n", encoding="utf-8")

    # ------------------------------------------------------------ contents of the log

    def content(self):
        """Return the log."""
        counts = Counter(outcome for outcome, _ in self.outcomes.values())
        skipped = Counter(why for outcome, why in self.outcomes.values() if outcome == "skipped")
        wrong = sorted(n for n, (o, _) in self.outcomes.items() if o in {"failed", "error"})
        arguments = [str(one) for one in self.config.invocation_params.args]
        return {
            "began": self.began.isoformat(timespec="seconds"),
            "command": " ".join(["pytest", *_without_paths(arguments)]),
            "commit": _git("rev-parse", "HEAD"),
            "changed_since_commit": bool(_git("status", "--porcelain", "-uno")),
            "machine": _machine(self.config.getoption("--cuda") or "emulated"),
            "versions": _versions(),
            "selected": len(self.selected),
            "passed": counts["passed"],
            "failed": counts["failed"],
            "errors": counts["error"],
            "xfailed": counts["xfailed"],
            "not_run": len(self.selected - set(self.outcomes)),
            "skipped": dict(sorted(skipped.items())),
            "failures": wrong,
        }


def _outcome(report):
    """Return what became of a part of a test, and why it was skipped if it was."""
    if report.failed:
        return ("failed" if report.when == "call" else "error"), ""
    if not report.skipped:
        return "passed", ""
    if hasattr(report, "wasxfail"):
        return "xfailed", ""
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return "skipped", reason.removeprefix("Skipped: ")


def _without_paths(arguments):
    """Return the arguments without the log's own, and without folders of this machine."""
    kept, skip = [], False
    for one in arguments:
        if not skip and not one.startswith(OPTION):
            kept.append(one.replace(f"{ROOT}{os.sep}", ""))
        skip = one == OPTION
    return kept


def _git(*arguments):
    """Return the output of git about the repository; None outside of one."""
    command = ["git", "-C", str(ROOT), *arguments]
    try:
        done = subprocess.run(command, check=False, capture_output=True, text=True)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _versions():
    """Return the releases of Python and of the used packages, by name."""
    found = {"python": platform.python_version()}
    for one in distributions():
        name = one.name.lower().replace("_", "-")
        name = "cupy" if _CUPY.fullmatch(name) else name
        if name in LIBRARIES:
            found[name] = one.version
    return dict(sorted(found.items()))


def _machine(driver):
    """Return the environment of the tests: the system, the driver, and its devices."""
    devices, cuda = _devices()
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "cpus": os.cpu_count(),
        "cuda_driver": driver,
        "cuda_version": cuda,
        "kernel_driver": _kernel_driver() if driver == "real" else None,
        "devices": devices,
    }


def _kernel_driver():
    """Return the release of NVIDIA's kernel module, None if there is none."""
    try:
        text = Path("/proc/driver/nvidia/version").read_text(encoding="utf-8")
    except OSError:
        return None
    match = re.search(r"\d+\.\d+(?:\.\d+)?", text)
    return match[0] if match else None


def _devices():
    """Return the names of the devices, and which CUDA their driver is of."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return [], None
    version, count = ctypes.c_int(), ctypes.c_int()
    if driver.cuInit(0) or driver.cuDriverGetVersion(ctypes.byref(version)):
        return [], None
    driver.cuDeviceGetCount(ctypes.byref(count))
    names = []
    for number in range(count.value):
        name = ctypes.create_string_buffer(256)
        driver.cuDeviceGetName(name, 256, number)
        names.append(name.value.decode())
    return names, f"{version.value // 1000}.{version.value % 1000 // 10}"
