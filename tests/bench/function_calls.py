"""Measures every function of `interchange.xp` against NumPy's of the same name.

Source: array API standard 2025.12; `paired`.  ``python tests/bench/function_calls.py`` measures in
several processes, on three elements and on 10**6, with array-api-strict beside, and writes
``docs/_generated/function-calls.json`` with commit and machine, and the table of it; ``--render``
only makes the table again, and names as arguments measure only those and print them.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import import_time  # noqa: E402 - the folder is not a package
from paired import compare, looping  # noqa: E402 - as above

from interchange._libraries.standard_names import VIEWS  # noqa: E402 - as above

if TYPE_CHECKING:
    from collections.abc import Mapping

DATA, PAGE = "function-calls.json", "function-calls.md"
LIBRARIES = ("numpy", "array-api-strict")
SMALL, LARGE = 3, 10**6
TARGETS = {"small": 6.0, "median": 2.0, "large": 1.05, "float(x[0])": 10.0}
_NO_ELEMENTS = 50_000  # [ns] below this, NumPy does not touch 10**6 elements
_ROUND = 3_000_000  # [ns] of a round of 10**6 elements, at least

ONE_FLOATS = (
    *("abs", "acos", "asin", "asinh", "atan", "atanh", "ceil", "conj", "cos", "cosh", "exp"),
    *("expm1", "floor", "isfinite", "isinf", "isnan", "log", "log10", "log1p", "log2", "negative"),
    *("positive", "real", "reciprocal", "round", "sign", "signbit", "sin", "sinh", "sqrt"),
    *("square", "tan", "tanh", "trunc", "all", "any", "argmax", "argmin", "argsort"),
    *("count_nonzero", "cumulative_prod", "cumulative_sum", "diff", "flip", "max", "mean", "min"),
    *("nonzero", "prod", "sort", "std", "sum", "unique_all", "unique_counts", "unique_inverse"),
    *("unique_values", "var", "empty_like", "ones_like", "zeros_like"),
)
TWO_FLOATS = (
    *("add", "atan2", "copysign", "divide", "equal", "floor_divide", "greater", "greater_equal"),
    *("hypot", "less", "less_equal", "logaddexp", "matmul", "maximum", "minimum", "multiply"),
    *("nextafter", "not_equal", "pow", "remainder", "subtract", "vecdot", "broadcast_arrays"),
    *("isin", "result_type", "searchsorted"),
)
TWO_INTS = (
    *("bitwise_and", "bitwise_left_shift", "bitwise_or", "bitwise_right_shift", "bitwise_xor"),
)
STATEMENTS = {
    **{name: f"xp.{name}(x)" for name in ONE_FLOATS},
    **{name: f"xp.{name}(x, y)" for name in TWO_FLOATS},
    **{name: f"xp.{name}(i, j)" for name in TWO_INTS},
    **{name: f"xp.{name}(b, d)" for name in ("logical_and", "logical_or", "logical_xor")},
    **{name: f"xp.{name}(n)" for name in ("arange", "empty", "ones", "zeros")},
    **{name: f"xp.{name}(m)" for name in ("matrix_transpose", "tril", "triu")},
    "acosh": "xp.acosh(up)",
    "asarray": "xp.asarray([1.0, 2.0, 3.0])",
    "astype": "xp.astype(x, xp.float32)",
    "bitwise_invert": "xp.bitwise_invert(i)",
    "broadcast_shapes": "xp.broadcast_shapes((3, 1), (1, 3))",
    "broadcast_to": "xp.broadcast_to(x, (2, n))",
    "can_cast": "xp.can_cast(xp.float32, xp.float64)",
    "clip": "xp.clip(x, 0.3, 0.6)",
    "concat": "xp.concat((x, y))",
    "expand_dims": "xp.expand_dims(x, axis=0)",
    "eye": "xp.eye(k)",
    "finfo": "xp.finfo(xp.float64)",
    "from_dlpack": "xp.from_dlpack(array)",
    "full": "xp.full(n, 1.5)",
    "full_like": "xp.full_like(x, 1.5)",
    "iinfo": "xp.iinfo(xp.int64)",
    "imag": "xp.imag(z)",
    "isdtype": 'xp.isdtype(xp.float64, "real floating")',
    "linspace": "xp.linspace(0.0, 1.0, n)",
    "logical_not": "xp.logical_not(b)",
    "meshgrid": "xp.meshgrid(line, line)",
    "moveaxis": "xp.moveaxis(m, 0, 1)",
    "permute_dims": "xp.permute_dims(m, (1, 0))",
    "repeat": "xp.repeat(x, 2)",
    "reshape": "xp.reshape(x, (1, n))",
    "roll": "xp.roll(x, 1)",
    "squeeze": "xp.squeeze(row, axis=0)",
    "stack": "xp.stack((x, y))",
    "take": "xp.take(x, i)",
    "take_along_axis": "xp.take_along_axis(x, i)",
    "tensordot": "xp.tensordot(x, y, axes=1)",
    "tile": "xp.tile(x, (2,))",
    "unstack": "xp.unstack(m)",
    "where": "xp.where(b, x, y)",
}
"""Function of the namespace -> the call that is measured."""

READS = (
    *("x[0]", "float(x[0])", "float(e)", "x[1:]", "m.T", "x + y", "x + 1.0", "-x", "x.shape"),
    *("x.dtype", "xp.asarray(x)"),
)
"""Expressions without a function of the namespace; `e` is a 0-dimensional array."""


# ---------------------------------------------------------------- in one process


def arrays(number: int) -> dict[str, Any]:
    """Return the arrays of the statements, by their names, as ndarrays.

    Floats are below 1, but for those of `up`; `m` is a matrix, and `line` and `row` as long.
    """
    import numpy as np

    random = np.random.default_rng(0)
    side = 3 if number == SMALL else int(number**0.5)
    return {
        "x": random.uniform(0.1, 0.9, number),
        "y": random.uniform(0.1, 0.9, number),
        "up": random.uniform(1.0, 2.0, number),
        "i": random.integers(0, 3, number),
        "j": random.integers(0, 3, number),
        "b": random.uniform(size=number) < 0.5,
        "d": random.uniform(size=number) < 0.5,
        "z": random.uniform(size=number) + 1j,
        "m": random.uniform(size=(side, side)),
        "line": random.uniform(size=side),
        "row": random.uniform(size=(1, number)),
        "e": np.asarray(1.5),
    }


def spaces(number: int) -> dict[str, Any]:
    """Return the names of the statements of every library, each with the library as a suffix."""
    import array_api_strict
    import numpy as np

    from interchange import xp

    found: dict[str, Any] = {}
    given = arrays(number)
    for library, namespace in (("np", np), ("ix", xp), ("strict", array_api_strict)):
        own = {name: _converted(one, library, namespace) for name, one in given.items()}
        own |= {"xp": namespace, "array": given["x"], "n": number, "k": len(given["m"])}
        found |= {f"{name}_{library}": one for name, one in own.items()}
    return found


def _converted(array: Any, library: str, namespace: Any) -> Any:
    """Return an array of a library."""
    return array if library == "np" else namespace.asarray(array)


def statement_for(statement: str, library: str) -> str:
    """Return a statement with the names of a library.

    Examples
    --------
    >>> statement_for("xp.repeat(x, 2)", "np")
    'xp_np.repeat(x_np, 2)'
    """
    names = r"(?<![.\w\"])(xp|x|y|up|i|j|b|d|z|m|line|row|e|array|n|k)\b(?!=)"
    return re.sub(names, rf"\1_{library}", statement)


def measure_here(names: list[str], rounds: int, count: int) -> dict[str, Any]:
    """Return the figures of this process: function -> kind -> ratio and time [ns]."""
    warnings.simplefilter("ignore")
    found: dict[str, Any] = {}
    small, large = spaces(SMALL), spaces(LARGE)
    for name, statement in {**STATEMENTS, **{read: read for read in READS}}.items():
        if names and name not in names:
            continue
        row = found[name] = {}
        texts = {key: statement_for(statement, key) for key in ("np", "ix", "strict")}
        for column, library in (("small", "ix"), ("strict", "strict")):
            row[column] = _figure(texts, library, small, rounds, count)
        if name in STATEMENTS and name not in VIEWS:
            row["large"] = _large(texts, large, rounds)
    return found


def _large(texts: Mapping[str, str], names: dict[str, Any], rounds: int) -> list[float] | None:
    """Return the figure for 10**6 elements; None if NumPy does not touch them."""
    once = looping(texts["np"], names)
    time_of_one = min(once(1, time.thread_time_ns) for _ in range(3))
    if time_of_one < _NO_ELEMENTS:
        return None
    return _figure(texts, "ix", names, rounds, 1 + _ROUND // time_of_one)


def _figure(
    texts: Mapping[str, str], library: str, names: dict[str, Any], rounds: int, count: int
) -> list[float] | None:
    """Return ratio and time [ns]; None if the library refuses the call."""
    try:
        exec(texts[library], dict(names))  # noqa: S102 - ours
    except (AttributeError, TypeError, ValueError, NotImplementedError):
        return None
    pair = compare(texts[library], texts["np"], names, rounds=rounds, count=count)
    return [pair.ratio, pair.subject]


# ---------------------------------------------------------------- over processes


def measure(processes: int, rounds: int, count: int) -> dict[str, Any]:
    """Return the medians over processes."""
    command = [sys.executable, __file__, "--child", f"--rounds={rounds}", f"--count={count}"]
    runs = []
    for _ in range(processes):
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        runs.append(json.loads(done.stdout))
    return {name: {key: _median(runs, name, key) for key in runs[0][name]} for name in runs[0]}


def _median(runs: list[Any], name: str, key: str) -> list[float] | None:
    """Return the medians of the figures in all runs."""
    figures = [run[name][key] for run in runs if run[name][key]]
    if not figures:
        return None
    return [float(f"{statistics.median(one):.4g}") for one in zip(*figures, strict=True)]


def table(data: Mapping[str, Any]) -> str:
    """Return the conditions and the figures of all functions as a page."""
    said, figures = data["conditions"], data["figures"]
    libraries = ", ".join(f"{name} {one}" for name, one in said["libraries"].items())
    lines = [
        (
            f"Measured on {said['day']} at commit {said['commit']}, on {said['machine']},"
            f" CPython {said['python']}, {libraries}; medians of {said['processes']} processes and"
            f" {said['rounds']} rounds; {said['load']:.1f} processes wanted to run meanwhile."
        ),
        "",
        *_summary(figures),
        "",
        "| Call | Three elements | Time [ns] | array-api-strict | 10**6 elements |",
        "|---|--:|--:|--:|--:|",
    ]
    for name, row in figures.items():
        call = name if name in READS else STATEMENTS[name]
        cells = [_shown(row.get(key)) for key in ("small", "strict", "large")]
        time = f"{row['small'][1]:.0f}" if row["small"] else ""
        lines.append(f"| `{call}` | {cells[0]} | {time} | {cells[1]} | {cells[2]} |")
    return "\n".join(lines) + "\n"


def _shown(figure: list[float] | None) -> str:
    """Return a ratio."""
    return f"{figure[0]:.2f}" if figure else ""


def _summary(figures: Mapping[str, Any]) -> list[str]:
    """Return the targets and what was measured, as a table."""
    functions = {name: row for name, row in figures.items() if name in STATEMENTS}
    small = {name: row["small"][0] for name, row in functions.items() if row["small"]}
    strict = [row["strict"][0] for row in functions.values() if row["strict"]]
    large = {name: row["large"][0] for name, row in functions.items() if row.get("large")}
    slow, slow_large = max(small, key=small.__getitem__), max(large, key=large.__getitem__)
    rows = [
        (
            f"Median of {len(small)} functions, three elements",
            TARGETS["median"],
            f"{statistics.median(small.values()):.2f}",
        ),
        ("The same of array-api-strict", "", f"{statistics.median(strict):.2f}"),
        (
            f"Slowest, three elements: `{slow}`",
            TARGETS["small"],
            f"{small[slow]:.2f}",
        ),
        ("`float(x[0])`", TARGETS["float(x[0])"], f"{figures['float(x[0])']['small'][0]:.2f}"),
        (
            f"Slowest, 10**6 elements: `{slow_large}`",
            TARGETS["large"],
            f"{large[slow_large]:.2f}",
        ),
    ]
    lines = ["| What | Target | Ratio |", "|---|--:|--:|"]
    return lines + [f"| {what} | {target} | {ratio} |" for what, target, ratio in rows]


def conditions(processes: int, rounds: int) -> dict[str, Any]:
    """Return the date, the commit, the machine and the releases of the measurement."""
    return {
        "day": import_time.today(),
        "commit": import_time.commit(),
        "machine": import_time.machine(),
        "load": round(os.getloadavg()[0], 1),
        "python": platform.python_version(),
        "libraries": import_time.releases(LIBRARIES),
        "processes": processes,
        "rounds": rounds,
    }


def main() -> int:
    """Run the measurements that the options select."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", help="functions; by default all, into the file")
    parser.add_argument("--processes", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--render", action="store_true")
    parser.add_argument("--folder", type=Path, default=HERE.parents[1] / "docs" / "_generated")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(measure_here(options.names, options.rounds, options.count)))
        return 0
    if options.names:
        for name, row in measure_here(options.names, options.rounds, options.count).items():
            print(name, {key: one and [round(part, 2) for part in one] for key, one in row.items()})
        return 0
    path = options.folder / DATA
    if not options.render:
        data = {
            "conditions": conditions(options.processes, options.rounds),
            "figures": measure(options.processes, options.rounds, options.count),
        }
        path.write_text(json.dumps(data) + "\n", encoding="utf-8")
    data = json.loads(path.read_text(encoding="utf-8"))
    (options.folder / PAGE).write_text(table(data), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
