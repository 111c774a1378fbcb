"""``matrix --device cuda``, and the command's output about the driver: emulated, or none."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
from functools import lru_cache
from importlib.util import find_spec

import pytest

from interchange.abi import RULES
from interchange.cli import cuda_driver
from interchange_conformance.driver import cuda
from interchange_conformance.findings import NotApplicable
from interchange_conformance.matrix import exchanging, reports
from interchange_conformance.matrix.samples import load, make_sample
from interchange_conformance.matrix.tables import kinds_of
from interchange_conformance.subjects import _devices

HERE = "cuda.bindings,interchange,numpy"
"""The clients that are always available with the emulated driver."""
CLIENTS = ("cuda.core view", "numba-cuda", "interchange")
PRODUCERS = ("cuda.bindings pointer", "cuda.core Buffer", *CLIENTS)


@pytest.fixture
def no_driver(monkeypatch):
    """Make cuda-python unavailable."""
    for name in ("cuda.bindings", "cuda.bindings.driver"):
        monkeypatch.setitem(sys.modules, name, None)


@pytest.fixture
def broken_driver(monkeypatch):
    """Put a driver in its place that does not start."""

    class Bindings:
        class driver:  # noqa: N801 - its name
            @staticmethod
            def cuInit(_):  # noqa: N802 - its name
                return (type("CUresult", (), {"name": "CUDA_ERROR_NO_DEVICE"})(),)

    def refuse(_):
        raise NotApplicable("the CUDA driver does not start: cuInit: CUDA_ERROR_NO_DEVICE (100)")

    monkeypatch.setitem(sys.modules, "cuda.bindings", Bindings)
    monkeypatch.setitem(sys.modules, "cuda.bindings.driver", Bindings.driver)
    monkeypatch.setenv(cuda.VARIABLE, "none")
    monkeypatch.setattr(cuda, "_found", [])
    monkeypatch.setattr(cuda, "_open", refuse)


@pytest.fixture
def opened(emulator, monkeypatch):  # noqa: ARG001 - the driver
    """Return the command's own hold on the emulated driver.

    No garbage is collected meanwhile: freeing an earlier test's memory would let the host wait.
    """
    pytest.importorskip("cuda.bindings", reason="cuda-bindings is not installed")
    gc.disable()
    monkeypatch.setenv(cuda.VARIABLE, "emulated")
    yield cuda.opened()
    gc.enable()


# ---------------------------------------------------------------- no driver


@pytest.mark.parametrize(
    ("driver", "of_matrix", "of_versions"),
    [
        (
            "no_driver",
            "--device cuda: cuda-python is not installed\n",
            "cuda-python is not installed",
        ),
        (
            "broken_driver",
            "the CUDA driver does not start: cuInit: CUDA_ERROR_NO_DEVICE",
            "the CUDA driver does not start: cuInit gave CUDA_ERROR_NO_DEVICE",
        ),
    ],
)
def test_a_driver_that_cannot_be_used_is_named(request, run_cli, driver, of_matrix, of_versions):
    """The matrix ends with 2 and the reason; the versions have the reason, and go on."""
    request.getfixturevalue(driver)

    done = run_cli("matrix", "--device", "cuda")

    assert (done.code, done.out) == (2, "")
    assert of_matrix in done.err
    assert cuda_driver.facts() == {"version": None, "devices": [], "reason": of_versions}


@pytest.mark.usefixtures("no_driver")
def test_without_a_driver_versions_say_so_and_go_on(run_cli):
    """A line, and in JSON an entry."""
    done, told = run_cli(), json.loads(run_cli("--json").out)

    assert done.code == 0
    assert "CUDA         cuda-python is not installed" in done.out
    assert told["cuda_driver"]["reason"] == "cuda-python is not installed"


def test_looking_without_importing_asks_no_driver(run_cli):
    """``--no-import`` loads nothing."""
    assert "cuda_driver" not in json.loads(run_cli("--no-import", "--json").out)
    assert "CUDA  " not in run_cli("--no-import").out


def test_names_that_are_not_on_devices_are_refused(run_cli):
    """``--only`` has other names there."""
    done = run_cli("matrix", "--device", "cuda", "--only", "stdlib")

    assert done.code == 2
    assert "--only: 'stdlib' is none of cuda.bindings, cuda.core, numba," in done.err


# ---------------------------------------------------------------- in this process


@pytest.mark.emulated
def test_versions_name_the_driver_and_its_devices(run_cli, opened):
    """The CUDA version that it is of, and each device."""
    line = next(line for line in run_cli().out.splitlines() if line.startswith("CUDA  "))

    assert f"driver of {opened.version}; 0: emucuda device 0" in line
    assert json.loads(run_cli("--json").out)["cuda_driver"] == {
        "version": opened.version,
        "devices": opened.names,
        "reason": None,
    }


@pytest.mark.emulated
@pytest.mark.usefixtures("opened")
@pytest.mark.parametrize("form", ["json", "markdown", "html", None])
def test_every_report_says_that_the_driver_is_emulated(run_cli, form):
    """Learnt from the device's name; in Markdown in its own line, and on the terminal wrapped."""
    options = (f"--{form}", "-") if form else ()

    done = run_cli("matrix", "--device", "cuda", "--only", HERE, *options)

    assert done.code == 0
    words = "Run on the emulated CUDA driver, emucuda device 0"
    if form == "json":
        assert json.loads(done.out)["cuda_driver"]["is_emulated"] is True
    elif form:
        assert f"{words} (host memory" in done.out
    else:
        assert words in " ".join(done.out.split())
    if form == "markdown":
        (line,) = [line for line in done.out.splitlines() if "emulated" in line]
        assert line.startswith(f"{words} (")
        command = "python -m interchange matrix --device cuda --markdown FILE"
        assert done.out.startswith(f"<!-- Written by: {command} -->\n")


def test_a_real_driver_is_named_by_its_device(monkeypatch):
    """The word "emulated" is not used for a real driver."""
    facts = {"version": "12.8", "names": ["NVIDIA H200"], "is_emulated": False}
    monkeypatch.setattr(reports, "opened", type("Opened", (), facts))

    told = reports.place(exchanging.Matrix("float32", "cuda"))

    assert told.startswith("Run on NVIDIA H200, with a driver of CUDA 12.8: ")
    assert reports.place(exchanging.Matrix("float32")) == ""


def _sample(dtype):
    """Return an array of raw memory, filled on a stream."""
    producer = _kind("cuda.bindings pointer")
    load(producer)
    return make_sample(producer, dtype, "cuda")


def _kind(name):
    return next(kind for kind in kinds_of("cuda") if kind.name == name)


@pytest.mark.emulated
@pytest.mark.usefixtures("opened")
@pytest.mark.parametrize("consumer", ["interchange", "NumPy, on the host"])
def test_a_matrix_whose_waits_are_lost_is_reported(emulator, consumer):
    """On a driver that loses waits, the detector reports the transfer."""
    sample = _sample("float32")

    with emulator.without_waits():
        exchanging.hand_over(sample, _kind(consumer), _devices.streams()[1])

    emulator.expect_reports(match=r"\(RAW\)")


@pytest.mark.emulated
def test_what_arrives_changed_fails(opened):
    """Elements are compared after a copy to the host, on the consumer's stream."""
    sample, (filling, reading) = _sample("uint8"), _devices.streams()
    opened.fill(sample.address + 3, 99, 1, filling)

    cell = exchanging.hand_over(sample, _kind("interchange"), reading)

    assert (cell.verdict, cell.reason) == (
        "failed",
        "elements differ from what was sent, the first at [3]: 99, not 3",
    )


@pytest.mark.emulated
def test_samples_give_their_memory_back(emulator, opened):
    """Samples free their memory on the device and on the host."""
    opened.synchronize(_devices.streams()[0])  # made, with its context
    before = emulator.live()
    sample = _sample("float32")
    meanwhile = emulator.live()
    del sample

    assert (meanwhile.device, meanwhile.pinned) == (before.device + 1, before.pinned + 1)
    assert emulator.live() == before


# ---------------------------------------------------------------- a separate process


@lru_cache
def _run(dtype):
    """Run the matrix once on the emulated driver, as CI does; reports would exit with 86."""
    done = subprocess.run(
        [
            *(sys.executable, "-m", "interchange_conformance.emucuda", "--"),
            *(sys.executable, "-m", "interchange", "matrix", "--device", "cuda"),
            *(() if dtype == "float32" else ("--only", f"{HERE},cuda.core,numba")),
            *("--dtype", dtype, "--json", "-"),
        ],
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
        env={**os.environ, "PYTHONWARNINGS": "error"},
    )
    assert (done.returncode, done.stderr) == (0, ""), f"{done.stdout}\n{done.stderr}"
    found = json.loads(done.stdout)
    return {**found, "cells": {(c["producer"], c["consumer"]): c for c in found["cells"]}}


@pytest.fixture
def demand(need):
    """Skip where a client is missing, or fail where it was demanded."""
    for name in ("cuda.core", "numba_cuda"):
        need(name)


@pytest.mark.clients
@pytest.mark.emulated
@pytest.mark.isolated
@pytest.mark.usefixtures("demand")
@pytest.mark.parametrize("consumer", CLIENTS)
@pytest.mark.parametrize("producer", PRODUCERS)
def test_clients_share_device_memory(producer, consumer):
    """Memory arrives at the address of its producer, and no race is reported."""
    cell = _run("float32")["cells"][producer, consumer]

    assert (cell["verdict"], cell["rule"]) == ("zero-copy", None)
    assert cell["sent"] == cell["received"]


@pytest.mark.clients
@pytest.mark.emulated
@pytest.mark.isolated
@pytest.mark.usefixtures("demand")
@pytest.mark.parametrize("dtype", ["float32", "bool", "complex64", "bfloat16"])
def test_every_refusal_has_a_rule(dtype):
    """No cell fails for any element type, and every copy and refusal has a rule id."""
    told = _run(dtype)

    unshared = [c for c in told["cells"].values() if c["verdict"] != "zero-copy"]
    assert told["counts"]["failed"] == 0
    assert {cell["rule"] for cell in unshared} <= set(RULES)


@pytest.mark.clients
@pytest.mark.emulated
@pytest.mark.isolated
@pytest.mark.usefixtures("demand")
def test_what_is_copied_is_read_only_or_for_the_host():
    """There is no other reason for a copy between the clients."""
    cells = _run("float32")["cells"].values()

    rules = {(c["rule"], c["consumer"] == "NumPy, on the host") for c in cells if c["rule"]}
    assert rules == {("DLP-RO-3", False), ("DLP-DEV-6", True)}


@pytest.mark.clients
@pytest.mark.emulated
@pytest.mark.isolated
@pytest.mark.usefixtures("demand")
@pytest.mark.parametrize(
    ("library", "name", "reasons"),
    [
        ("cupy", "CuPy", {"not installed", "finds no GPU"}),
        ("torch", "PyTorch", {"not installed", "built without CUDA", "finds no GPU"}),
        ("jax", "JAX", {"not installed", "finds no GPU"}),
    ],
)
def test_what_finds_no_gpu_is_left_out_with_the_reason(library, name, reasons):
    """Libraries that bring a runtime of their own need a real device."""
    reason = _run("float32")["absent"][name]

    assert reason in reasons
    assert (reason == "not installed") is (find_spec(library) is None)
