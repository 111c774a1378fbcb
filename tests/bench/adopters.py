"""The examples of adopters, by hand and with interchange: lines of code, known bugs and time.

Source: ``docs/examples/adopters``, `paired`.  ``python tests/bench/adopters.py`` prints the table;
``--markdown FILE`` writes it for the docs, ``--quick`` only tests that everything runs.  Lines are
those of code: blank lines, comments and docstrings are not counted.  Both versions of a row are
timed in one process, in rounds that alternate.
"""

from __future__ import annotations

import argparse
import ast
import atexit
import importlib
import importlib.util
import json
import subprocess
import sys
import tokenize
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "docs" / "examples" / "adopters"
sys.path[:0] = [str(HERE), str(EXAMPLES)]

import numpy as np  # noqa: E402 - after the path
from import_time import conditions  # noqa: E402 - as above
from overhead import medians  # noqa: E402 - as above
from paired import compare  # noqa: E402 - as above

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LIBRARIES = ("numpy", "torch", "warp-lang", "pyarrow", "polars")
MODULES = ("numpy", "torch", "warp", "pyarrow", "polars")
GITHUB = "https://github.com/"
_TEXT = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
    tokenize.ENCODING, tokenize.ENDMARKER,
}  # fmt: skip


class Situation(NamedTuple):
    """A row of the table."""

    name: str  # of the files
    what: str
    bugs: dict[str, str]  # thread -> what happens there
    calls: Callable[[Any], dict[str, Callable[[], Any]]]  # a version -> its calls, by their names


# ---------------------------------------------------------------- the calls


def inference_client(client: Any) -> dict[str, Callable[[], Any]]:
    """Return calls that write to a region, and describe it."""
    region = client.Region(None, 4096)
    atexit.register(region.close)
    rows, tensor = np.ones((16, 16), "f4"), _torch().ones(16, 16)
    return {
        "copy an array to the region": lambda: client.set_region(region, [rows]),
        "copy a tensor to the region": lambda: client.set_region(region, [tensor]),
        "region as an array of NumPy": lambda: np.from_dlpack(region.tensor("FP32", (16, 16))),
    }


def kernel_framework(framework: Any) -> dict[str, Callable[[], Any]]:
    """Return calls that import and export."""
    wp = _warp()
    rows = np.ones((16, 3), "f4")
    array = framework.from_dlpack(rows)
    return {
        "import an array": lambda: framework.from_dlpack(rows),
        "import vectors": lambda: framework.from_dlpack(rows, wp.vec3),
        "export an array": lambda: framework.to_dlpack(array),
    }


def message_buffer(messages: Any) -> dict[str, Callable[[], Any]]:
    """Return calls that describe arguments of several libraries."""
    arguments = {"array": np.ones((2, 3)), "tensor": _torch().ones(6), "bytearray": bytearray(8)}
    return {name: lambda x=x: messages.message(x) for name, x in arguments.items()}


def transport(arrays: Any) -> dict[str, Callable[[], Any]]:
    """Return calls that describe an argument and read what is sent."""

    def sent(x: Any) -> Any:
        found = arrays.asarray(x)
        return found.ptr, found.nbytes, found.contiguous

    arguments = {"array": np.ones((2, 3)), "bytearray": bytearray(8)}
    return {name: lambda x=x: sent(x) for name, x in arguments.items()}


def boosting_input(data: Any) -> dict[str, Callable[[], Any]]:
    """Return calls that describe matrices."""
    pa, pl = importlib.import_module("pyarrow"), importlib.import_module("polars")
    columns = {f"column {i}": np.arange(10_000.0) for i in range(10)}
    arguments = {
        "array": np.ones((16, 16)),
        "tensor": _torch().ones(16, 16),
        "table of pyarrow, 10,000 x 10": pa.table(columns),
        "frame of polars, 10,000 x 10": pl.DataFrame(columns),
    }
    return {name: lambda x=x: data.matrix(x) for name, x in arguments.items()}


def dataset_format(data: Any) -> dict[str, Callable[[], Any]]:
    """Return calls that format tables."""
    pa = importlib.import_module("pyarrow")
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(np.ones(96_000, "f4")), 96)
    lists = vectors.cast(pa.list_(pa.float32()))
    _torch()
    arguments = {
        "1,000 vectors": pa.table({"x": vectors}),
        "1,000 lists of one length": pa.table({"x": lists}),
    }
    return {
        f"{name} for PyTorch": lambda x=x: data.formatted(x, "torch")
        for name, x in arguments.items()
    }


def vector_index(indexes: Any) -> dict[str, Callable[[], Any]]:
    """Return searches for vectors."""
    vectors = np.random.default_rng(0).random((1000, 64), dtype="f4")
    index = indexes.Index(64)
    index.add(vectors)
    arguments = {"array": vectors[:4], "tensor": _torch().from_numpy(vectors[:4])}
    return {
        f"search 1,000 vectors for 4, {name}": lambda x=x: index.search(x, 3)
        for name, x in arguments.items()
    }


def _torch() -> Any:
    """Return PyTorch."""
    return importlib.import_module("torch")


def _warp() -> Any:
    """Return Warp, which prints nothing."""
    wp = importlib.import_module("warp")
    importlib.import_module("interchange._libraries.warp").LIBRARY.examples[0].make(wp)
    return wp


SITUATIONS = (
    Situation(
        "inference_client",
        "tensors in shared memory, as the client of Triton has them",
        {
            "triton-inference-server/client/issues/834": "axes of one element refused",
            "triton-inference-server/client/issues/536": "the same, before",
            "triton-inference-server/client/issues/598": "memory leaked at each export",
            "triton-inference-server/client/issues/789": "fails for a bare capsule: no stream",
        },
        inference_client,
    ),
    Situation(
        "kernel_framework",
        "arrays of a kernel framework, as in Warp",
        {
            "NVIDIA/warp/pull/1573": "`byte_offset` ignored",
            "NVIDIA/warp/issues/1619": "bool refused",
        },
        kernel_framework,
    ),
    Situation(
        "message_buffer",
        "messages of MPI, as in mpi4py",
        {
            "mpi4py/mpi4py/issues/609": "memory freed twice",
            "mpi4py/mpi4py/issues/238": "axes of one element refused",
            "numpy/numpy/issues/20742": "read-only arrays raise another class",
        },
        message_buffer,
    ),
    Situation(
        "transport",
        "the array argument of a transport, as in UCXX",
        {"rapidsai/ucx-py/issues/211": "the layout is not checked"},
        transport,
    ),
    Situation(
        "boosting_input",
        "matrices for gradient boosting, as in XGBoost and LightGBM",
        {
            "dmlc/xgboost/issues/7172": "tensors not accepted",
            "dmlc/xgboost/issues/6990": "an element type not supported",
            "dmlc/xgboost/issues/8598": "frames with memory of Arrow",
            "lightgbm-org/LightGBM/issues/6769": "a table refused",
            "lightgbm-org/LightGBM/issues/6204": "frames of polars",
        },
        boosting_input,
    ),
    Situation(
        "dataset_format",
        "columns as tensors, as in Hugging Face datasets",
        {
            "huggingface/datasets/issues/5517": "float64 becomes float32",
            "huggingface/datasets/issues/6752": "float16 becomes float32",
            "huggingface/datasets/issues/625": "the type is not kept",
        },
        dataset_format,
    ),
    Situation(
        "vector_index",
        "arguments and results of a vector index, as in Faiss and USearch",
        {
            "facebookresearch/faiss/issues/1941": "memory not in C order refused",
            "facebookresearch/faiss/issues/2071": "tensors refused",
            "unum-cloud/USearch/issues/543": "columns stored as rows",
        },
        vector_index,
    ),
)


# ---------------------------------------------------------------- lines


def _docstrings(tree: ast.AST) -> Iterator[int]:
    """Yield the numbers of the lines of docstrings."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(
            node
        ):
            text = node.body[0]
            yield from range(text.lineno, (text.end_lineno or text.lineno) + 1)


def lines_of(path: Path) -> int:
    """Return the number of lines of code of a module."""
    counted: set[int] = set()
    with tokenize.open(path) as file:
        for token in tokenize.generate_tokens(file.readline):
            if token.type not in _TEXT:
                counted.update(range(token.start[0], token.end[0] + 1))
    return len(counted - set(_docstrings(ast.parse(path.read_text(encoding="utf-8")))))


# ---------------------------------------------------------------- measuring


def measure_here(name: str, rounds: int, seconds: float) -> dict[str, list[float]]:
    """Return ratio and times [ns] of the calls of a situation, ours and by hand."""
    (situation,) = (one for one in SITUATIONS if one.name == name)
    sides = [
        situation.calls(importlib.import_module(f"{name}_{side}")) for side in ("after", "before")
    ]
    found = {}
    for what in sides[0]:
        names = {"after": sides[0][what], "before": sides[1][what]}
        once = compare("after()", "before()", names, rounds=3, count=5)
        count = max(5, int(seconds * 1e9 / (once.subject + once.yardstick)))
        found[what] = list(compare("after()", "before()", names, rounds=rounds, count=count))
    return found


def measure(name: str, processes: int, rounds: int, seconds: float) -> Any:
    """Return the same, medians over processes."""
    command = [sys.executable, __file__, f"--child={name}"]
    command += [f"--rounds={rounds}", f"--seconds={seconds}"]
    runs = []
    for _ in range(processes):
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        runs.append(json.loads(done.stdout.splitlines()[-1]))  # libraries print before it
    return medians(runs)


def table(found: dict[str, Any]) -> list[str]:
    """Return the rows of situations: lines, bugs and the range of ratios."""
    rows = [
        "| Situation | Lines by hand | Lines with interchange | Known bugs of that kind | Time |",
        "|---|--:|--:|---|--:|",
    ]
    for one in SITUATIONS:
        before, after = (
            lines_of(EXAMPLES / f"{one.name}_{side}.py") for side in ("before", "after")
        )
        bugs = "; ".join(
            f"{what}: [{thread.split('/')[1]} {thread.rpartition('/')[2]}]({GITHUB}{thread})"
            for thread, what in one.bugs.items()
        )
        ratios = [ratio for ratio, *_ in found[one.name].values()]
        span = f"{min(ratios):.2f} to {max(ratios):.2f}"
        rows.append(f"| {one.what} (`{one.name}`) | {before} | {after} | {bugs} | {span} |")
    return rows


def calls_table(found: dict[str, Any]) -> list[str]:
    """Return the rows of calls: both times and their ratio."""
    rows = ["| Call | By hand [µs] | With interchange [µs] | Ratio |", "|---|--:|--:|--:|"]
    for one in SITUATIONS:
        for what, (ratio, after, before) in found[one.name].items():
            label = f"`{one.name}`: {what}"
            rows.append(f"| {label} | {before / 1e3:,.1f} | {after / 1e3:,.1f} | {ratio:.2f} |")
    return rows


def main() -> int:
    """Run the measurements that the options select."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--processes", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--seconds", type=float, default=0.005, help="of a round")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--markdown", type=Path, metavar="FILE")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    missing = [one for one in MODULES if importlib.util.find_spec(one) is None]
    if missing:
        print(f"not measured: {', '.join(missing)} of the extra interop are missing")
        return 2
    if options.quick:
        options.processes, options.rounds, options.seconds = 1, 3, 1e-4
    how = options.processes, options.rounds
    if options.child:
        warnings.simplefilter("ignore")
        print(json.dumps(measure_here(options.child, options.rounds, options.seconds)))
        return 0
    found = {one.name: measure(one.name, *how, options.seconds) for one in SITUATIONS}
    said = conditions(LIBRARIES, *how)
    lines = [
        *("<!-- situations -->", "", *table(found), "", said, "", "<!-- end situations -->", ""),
        *("<!-- calls -->", "", *calls_table(found), "", said, "", "<!-- end calls -->"),
    ]
    text = "\n".join(lines) + "\n"
    print(text)
    if options.markdown:
        options.markdown.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
