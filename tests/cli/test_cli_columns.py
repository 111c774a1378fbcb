"""The matrices of columns: pairs that share memory, at one address, in both directions."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from functools import lru_cache
from importlib.util import find_spec

import numpy as np
import pytest

import interchange
from interchange.abi import RULES
from interchange_conformance.matrix import columns
from interchange_conformance.matrix.samples import load, make_sample


def _called(direction):
    """Return the libraries whose rows a matrix of columns has -> their names in it."""
    rows = [one for one in columns.kinds_of_columns(direction) if one.is_sample]
    return {one.library: one.name.partition(":")[0] for one in reversed(rows)}  # the first counts


LIBRARIES = {direction: _called(direction) for direction in ("in", "out")}
CALLED = {**LIBRARIES["in"], **LIBRARIES["out"]}
SHARED_IN = ("numbers", "lists", "lists of lists", "nulls, separate")
SHARED_OUT = ("numbers", "rows", "rows of rows", "tensors", "bools")
TAKERS_IN = {"np.from_dlpack": "numpy", "torch.from_dlpack": "torch", 'convert(x, "jax")': "jax"}
TAKERS_OUT = {
    "pyarrow.array": "pyarrow",
    "polars.Series": "polars",
    "pandas, over Arrow": "pandas",
    "DuckDB": "duckdb",
    "nanoarrow.Array": "nanoarrow",
}
RULE_OF = {"nulls": "ARROW-NULL-2", "bools": "ARROW-BOOL-1", "two chunks": "ARROW-CHUNK-1"}

interop = pytest.mark.interop
isolated = pytest.mark.isolated


@lru_cache
def _run(direction, dtype="float32"):
    """Run a matrix in its own process, with those of the libraries that are installed."""
    known = {name for names in LIBRARIES.values() for name in names}
    only = ",".join(sorted(name for name in known if find_spec(name)))
    command = [sys.executable, "-m", "interchange", "matrix", "--json", "-"]
    done = subprocess.run(
        [*command, "--columns", direction, "--only", only, "--dtype", dtype],
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
        env={**os.environ, "PYTHONWARNINGS": "error"},
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    return json.loads(done.stdout)


def _cell(direction, producer, consumer):
    return next(
        cell
        for cell in _run(direction)["cells"]
        if (cell["producer"], cell["consumer"]) == (producer, consumer)
    )


# ---------------------------------------------------------------- correct libraries


@interop
@isolated
@pytest.mark.parametrize("kind", SHARED_IN)
@pytest.mark.parametrize("taker", TAKERS_IN)
@pytest.mark.parametrize("library", LIBRARIES["in"])
def test_a_column_is_shared(need, library, taker, kind):
    """The array has the address that the column's library reports."""
    need(library)
    need(TAKERS_IN[taker])

    cell = _cell("in", f"{CALLED[library]}: {kind}", taker)

    assert (cell["verdict"], cell["rule"]) == ("zero-copy", None)
    assert cell["received"] == cell["sent"] != 0


@interop
@isolated
@pytest.mark.parametrize("kind", ["a slice", "tensors", "bool8"])
@pytest.mark.parametrize("library", ["pyarrow", "polars", "pandas", "nanoarrow"])
def test_slices_and_extensions_are_shared(need, library, kind):
    """The array begins where the slice does, and has the axes of the tensors."""
    need(library)
    need("numpy")

    cell = _cell("in", f"{CALLED[library]}: {kind}", "np.from_dlpack")

    assert (cell["verdict"], cell["received"]) == ("zero-copy", cell["sent"])


@interop
@isolated
@pytest.mark.parametrize("kind", RULE_OF)
@pytest.mark.parametrize("library", ["pyarrow", "polars", "pandas", "nanoarrow"])
def test_what_is_not_shared_says_the_rule(need, library, kind):
    """Nulls are refused, and bits and several chunks are copied."""
    need(library)

    cell = _cell("in", f"{CALLED[library]}: {kind}", "np.asarray")

    assert cell["rule"] == RULE_OF[kind]
    assert cell["verdict"] == ("refused" if kind == "nulls" else "copied")
    assert cell["received"] != cell["sent"]


@interop
@isolated
@pytest.mark.parametrize("kind", SHARED_OUT)
@pytest.mark.parametrize("taker", TAKERS_OUT)
@pytest.mark.parametrize("library", LIBRARIES["out"])
def test_an_array_is_shared(need, library, taker, kind):
    """The column has the array's address, as its library reports."""
    need(library)
    need(TAKERS_OUT[taker])

    cell = _cell("out", f"{CALLED[library]}: {kind}", taker)

    assert (cell["verdict"], cell["rule"]) == ("zero-copy", None)
    assert cell["received"] == cell["sent"] != 0


@interop
@isolated
@pytest.mark.parametrize("direction", LIBRARIES)
@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_every_refusal_has_a_rule_and_nothing_fails(direction, dtype):
    """Every refusal has a rule and no cell fails, for every element type."""
    told = _run(direction, dtype)
    unshared = [cell for cell in told["cells"] if cell["verdict"] != "zero-copy"]

    assert told["counts"]["failed"] == 0
    assert told["columns"] == direction
    assert {cell["rule"] for cell in unshared} <= set(RULES)
    assert not any("makes no" in why for why in told["absent"].values())


# ---------------------------------------------------------------- incorrect libraries


def _kind(direction, name):
    return next(one for one in columns.kinds_of_columns(direction) if one.name == name)


def _hand_in(taker, column=None):
    """Pass a column of pyarrow to a consumer."""
    column = column or _kind("in", "pyarrow: numbers")
    load(column)
    load(taker)
    sample = make_sample(column, "float32")
    return columns.hand_in(sample, taker)


@interop
@pytest.mark.parametrize(
    ("take", "reason"),
    [
        (lambda x, _: np.array(x), "a copy was made without a request"),
        (lambda x, _: np.asarray(x).astype("f8"), "float32 arrived as float64"),
        (lambda x, _: np.asarray(x)[:-1], "elements differ from what was sent"),
        (lambda _, __: np.nothing, "AttributeError is no refusal with a rule: module 'numpy'"),
    ],
    ids=["copies", "casts", "cuts", "raises"],
)
def test_a_lie_fails(need, take, reason):
    """A wrong result of any kind makes a failed cell."""
    need("pyarrow")

    cell = _hand_in(replace(_kind("in", "np.asarray"), take=take))

    assert cell.verdict == "failed"
    assert (cell.reason or "").startswith(reason)


@interop
def test_a_mask_that_lies_fails(need):
    """Elements that are not masked must be unchanged."""
    need("pyarrow")
    other = replace(
        _kind("in", "pyarrow: nulls, separate"),
        make_from=_with_one_null,
    )

    cell = _hand_in(_kind("in", "np.asarray"), other)

    assert cell.verdict == "failed"
    assert (cell.reason or "").startswith("elements differ from what was sent, the first at [0]")


def _with_one_null(values, _):
    import pyarrow as pa

    return pa.array([None, *values[1:]], pa.float32())


def test_what_reads_the_memory_is_seen_to():
    """A consumer that reads a copy is detected; the memory is restored afterwards."""
    memory = bytearray(range(1, 9))
    kept = bytes(memory)
    address = interchange.asarray(memory).ptr

    shared = columns.scanned(lambda: list(memory), address, "uint8")
    copied = columns.scanned(lambda: list(kept), address, "uint8")

    assert (shared.rows, shared.address) == (list(kept), address)
    assert (copied.rows, copied.address) == (list(kept), 0)
    assert memory == kept


def test_columns_are_on_the_host(run_cli):
    """Another device is refused before anything runs."""
    done = run_cli("matrix", "--columns", "in", "--device", "cuda")

    assert (done.code, done.out) == (2, "")
    assert "on the host only" in done.err


def test_only_names_libraries_of_the_direction(run_cli):
    """The error lists the libraries of the direction."""
    done = run_cli("matrix", "--columns", "in", "--only", "warp")

    assert done.code == 2
    assert "'warp' is none of pyarrow, polars, pandas, duckdb, nanoarrow, numpy" in done.err


@pytest.mark.parametrize("direction", LIBRARIES)
def test_every_library_is_on_its_side(direction):
    """All five column libraries and all three array libraries are listed, in both directions."""
    kinds = columns.kinds_of_columns(direction)
    rows = {one.library for one in kinds if one.is_sample}
    taking = {one.library for one in kinds if one.target is not None}
    other = {"in": "out", "out": "in"}[direction]

    assert (rows, taking) == (set(LIBRARIES[direction]), set(LIBRARIES[other]))
    assert {one: len(names) for one, names in LIBRARIES.items()} == {"in": 5, "out": 3}
