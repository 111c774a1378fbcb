"""The matrix of real libraries: every pair that can share memory shares it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import lru_cache
from importlib.util import find_spec

import pytest

from interchange.abi import RULES

pytestmark = [pytest.mark.interop, pytest.mark.isolated]

KINDS = {
    "NumPy": "numpy",
    "NumPy read-only": "numpy",
    "array-api-strict": "array_api_strict",
    "PyTorch": "torch",
    "JAX": "jax",
    "pyarrow.Array": "pyarrow",
    "pyarrow.Tensor": "pyarrow",
    "tvm-ffi": "tvm_ffi",
}
"""Kind of array -> library."""
READ_ONLY = {"NumPy read-only", "JAX", "pyarrow.Array"}
FORGETFUL = {"PyTorch", "tvm-ffi"}
PAIRS = [(p, c) for p in KINDS for c in KINDS if c != "NumPy read-only"]


def _matrix(*arguments, **options):
    """Run the matrix in its own process, with JSON on standard output."""
    return subprocess.run(
        [sys.executable, "-m", "interchange", "matrix", "--json", "-", *arguments],
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
        **options,
    )


@lru_cache
def _run(dtype):
    """Run the matrix once, in its own process, with those of the libraries that are installed."""
    here = {library for library in KINDS.values() if find_spec(library)}
    only = ",".join(sorted(here | {"stdlib", "interchange"}))
    done = _matrix("--only", only, "--dtype", dtype, env={**os.environ, "PYTHONWARNINGS": "error"})
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return json.loads(done.stdout)


def _cell(producer, consumer):
    return next(
        cell
        for cell in _run("float32")["cells"]
        if (cell["producer"], cell["consumer"]) == (producer, consumer)
    )


@pytest.mark.parametrize(("producer", "consumer"), PAIRS)
def test_who_can_share_shares(need, producer, consumer):
    """Memory arrives at the address it was sent from, unless the consumer would forget a flag."""
    need(KINDS[producer])
    need(KINDS[consumer])
    forgets = producer in READ_ONLY and consumer in FORGETFUL

    cell = _cell(producer, consumer)

    assert (cell["verdict"], cell["rule"]) == (
        ("copied", "DLP-RO-3") if forgets else ("zero-copy", None)
    )
    assert (cell["sent"] == cell["received"]) is not forgets


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "uint8", "bool", "complex64"])
def test_every_refusal_has_a_rule(dtype):
    """No cell fails for any element type, and every copy and refusal has a rule id."""
    told = _run(dtype)

    assert told["counts"]["failed"] == 0
    unshared = [cell for cell in told["cells"] if cell["verdict"] != "zero-copy"]
    assert {cell["rule"] for cell in unshared} <= set(RULES)


def test_nothing_but_read_only_memory_and_its_rule_stands_between_them():
    """No pair refuses float32 arrays, and only read-only memory is copied."""
    told = _run("float32")

    assert told["counts"]["refused"] == 0
    assert {cell["rule"] for cell in told["cells"] if cell["verdict"] == "copied"} <= {"DLP-RO-3"}


@pytest.mark.parametrize("library", ["torch", "jax", "warp", "pyarrow", "tvm_ffi"])
def test_a_library_prints_nothing_of_its_own(need, library):
    """Banners and warnings of libraries do not get between the lines of a report."""
    need(library)

    done = _matrix("--only", f"numpy,{library}")

    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["ok"]
