"""The cost of importing a column of embeddings into torch: ``python tests/bench/columns.py``.

A column of Polars becomes a tensor, with interchange and with common code without it.  Each
measurement is made in a fresh process: the CPU time of all threads for the first call, for which
the kernel has to supply the pages of a copy, and for later ones, and the growth of the peak of its
memory by the first one (getrusage(2), ``ru_maxrss``).  ``--rows`` sets the length of the column,
``--markdown FILE`` writes the table in the docs, ``--quick`` only tests that it runs.  If a library
is missing, it prints this and exits with 2.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parent))

from import_time import commit, machine, releases, today

if TYPE_CHECKING:
    from collections.abc import Callable

NEEDED = ("polars", "pyarrow", "torch")
WIDTH = 768  # elements of a row
ROW = 4 * WIDTH  # [bytes]
AT_ONCE = 3  # columns in memory: the original, and two copies
SPARED = 2 << 30  # memory that is left to the machine [bytes]
CHUNKS = 4
LEAST = 2 * CHUNKS  # rows of a column, and what their number is a multiple of
EVERY = 1000  # of how many rows one is null
LATER = 5  # calls after the first


class Way(NamedTuple):
    """Code that makes a tensor of a column."""

    code: str  # the expression
    note: str = ""  # A note for readers of the table


class Kind(NamedTuple):
    """A column, and the code that imports it."""

    name: str  # its name in the table
    make: Callable[[int], Any]  # number of rows -> column
    ours: tuple[Way, ...]  # with interchange
    others: tuple[Way, ...]  # without it


# ---------------------------------------------------------------- columns


def values_of(rows: int) -> Any:
    """Return the elements of a column, which are exact in float32 and differ from row to row."""
    import numpy as np

    found = np.empty((rows, WIDTH), "f4")
    found[:] = (np.arange(rows) % 4096).astype("f4")[:, None]  # no other array has this size
    return found


def whole(rows: int) -> Any:
    """Return a column in one chunk, without nulls."""
    import polars as pl

    return pl.Series("embedding", values_of(rows))


def with_nulls(rows: int) -> Any:
    """Return a column in which some rows are null."""
    import numpy as np
    import polars as pl
    import pyarrow as pa

    is_null = np.arange(rows) % EVERY == 0
    values = pa.array(values_of(rows).reshape(-1))
    return pl.Series(
        "embedding", pa.FixedSizeListArray.from_arrays(values, WIDTH, mask=pa.array(is_null))
    )


def in_chunks(rows: int) -> Any:
    """Return a column in several chunks, as files and concatenated tables make them."""
    import polars as pl

    column = whole(rows)
    step = -(-rows // CHUNKS)
    parts = [column[start : start + step] for start in range(0, rows, step)]
    return pl.concat(parts, rechunk=False)


_BY_NUMPY = (
    Way("torch.from_numpy(column.to_numpy())", "torch warns that it is not to be written"),
    Way("torch.tensor(column.to_numpy())"),
    Way("torch.from_numpy(column.to_numpy(writable=True))"),
    Way("column.to_torch()"),
)
_NAN = "nulls are NaN"
KINDS = (
    Kind("one chunk", whole, (Way("torch.from_dlpack(ix.from_arrow(column))"),), _BY_NUMPY),
    Kind(
        f"one row of {EVERY:,} is null",
        with_nulls,
        (
            Way(
                'tuple(map(torch.from_dlpack, ix.from_arrow(column, nulls="separate")))',
                "with a mask",
            ),
            Way('torch.from_dlpack(ix.from_arrow(column, nulls=float("nan")))', _NAN),
        ),
        (
            Way("torch.from_numpy(column.to_numpy())", _NAN),
            Way("torch.tensor(column.to_numpy())", _NAN),
            Way("column.to_torch()", _NAN),
        ),
    ),
    Kind(
        f"{CHUNKS} chunks",
        in_chunks,
        (
            Way('torch.from_dlpack(ix.from_arrow(column, copy="if_needed"))'),
            Way("torch.from_dlpack(ix.from_arrow(column, out=buffer))", "memory that is in use"),
        ),
        _BY_NUMPY,
    ),
)


def names_of(column: Any) -> dict[str, Any]:
    """Return the names that the code uses."""
    import numpy as np
    import torch

    import interchange as ix

    return {"column": column, "torch": torch, "ix": ix, "np": np}


# ---------------------------------------------------------------- in children


def run_way(code: str, names: dict[str, Any]) -> Any:
    """Return the tensor created by the code."""
    found = eval(code, names)  # noqa: S307 - ours
    return found[0] if isinstance(found, tuple) else found


class Figures(NamedTuple):
    """What a fresh process measured: CPU times [ns], and memory [bytes]."""

    first: float
    later: float  # the median
    memory: int


def figures(kind: Kind, code: str, rows: int) -> Figures:
    """Return the cost of the code in this process, in which it did not run before."""
    small = names_of(kind.make(LEAST))
    small["buffer"] = values_of(LEAST)
    run_way(code, small)  # imports the libraries
    names = names_of(kind.make(rows))
    if "buffer" in code:
        names["buffer"] = values_of(rows)
    before = _peak()
    first, tensor = _timed(code, names)
    memory = _peak() - before
    last = tensor[-1].tolist()
    if tuple(tensor.shape) != (rows, WIDTH) or last != [float((rows - 1) % 4096)] * WIDTH:
        raise ValueError(f"{code} made another tensor of the column")
    del tensor  # its memory can be used again
    later = [_timed(code, names)[0] for _ in range(LATER)]
    return Figures(first, statistics.median(later), memory)


def _timed(code: str, names: dict[str, Any]) -> tuple[int, Any]:
    """Return the CPU time of all threads for the code [ns], and its result."""
    start = time.process_time_ns()
    found = run_way(code, names)
    return time.process_time_ns() - start, found


def _peak() -> int:
    """Return how much memory this process had at most so far [bytes]."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def in_child(*words: str) -> Any:
    """Return the output of this program in a separate process."""
    command = [sys.executable, __file__, *words]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


# ---------------------------------------------------------------- the page


def available() -> int:
    """Return the memory available to processes [bytes], as reported by Linux."""
    text = Path("/proc/meminfo").read_text(encoding="utf-8")
    line = next(line for line in text.splitlines() if line.startswith("MemAvailable"))
    return int(line.split()[1]) * 1024


def fitting(rows: int, memory: int) -> int:
    """Return how many of so many rows can be measured in so much memory [bytes]."""
    most = (memory - SPARED) // (AT_ONCE * ROW)
    return max(1, min(rows, most) // LEAST) * LEAST


class Line(NamedTuple):
    """A row of the table: code for a column, and what it costs."""

    kind: str
    way: Way
    found: Figures


def measure(rows: int, rounds: int) -> list[Line]:
    """Measure all code, ours first of its kind, in so many processes each; in one for all if 0."""
    lines = []
    for place, kind in enumerate(KINDS):
        ways = (*kind.ours, *kind.others)
        words = (f"--rows={rows}", f"--kind={place}", "--code")
        if rounds:
            runs = [[in_child(*words, way.code)[0] for way in ways] for _ in range(rounds)]
        else:
            runs = [in_child(*words, *(way.code for way in ways))]
        for way, *found in zip(ways, *runs, strict=True):
            medians = map(statistics.median, zip(*found, strict=True))
            lines.append(Line(kind.name, way, Figures(*medians)))  # type: ignore[arg-type]
    return lines


def conditions(rows: int, asked: int, rounds: int) -> str:
    """Return the results, with the date and the machine."""
    found = releases(("polars", "torch", "numpy"))
    among = f"medians of {rounds} fresh processes" if rounds > 1 else "one fresh process each"
    fewer = "" if rows == asked else f", as many of {asked:,} as its memory has room for"
    return (
        f"A column of {rows:,} x {WIDTH} float32 ({rows * ROW / 1e9:.2f} GB){fewer}. "
        f"Measured on {today()} at commit {commit()}, on {machine()}, with "
        f"{', '.join(f'{name} {release}' for name, release in found.items())} and CPython "
        f"{platform.python_version()}; {among}, while"
        f" {os.getloadavg()[0]:.1f} processes wanted to run:"
    )


def digits(number: float) -> str:
    """Return a number with as many digits as are worth reading."""
    return f"{number:,.0f}" if number >= 100 else f"{number:.2g}"


def table(lines: list[Line]) -> str:
    """Return the figures as a Markdown table."""
    text = [
        "| Column | Code | First call [ms] | Later calls [ms] | More memory [GB] |",
        "|---|---|--:|--:|--:|",
    ]
    for line in lines:
        note = f" ({line.way.note})" if line.way.note else ""
        first, later, memory = line.found
        cells = (f"`{line.way.code}`{note}", digits(first / 1e6), digits(later / 1e6))
        text.append(f"| {line.kind} | {' | '.join(cells)} | {memory / 1e9:.2f} |")
    return "\n".join(text)


def main() -> int:
    """Run the measurements that the options select."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--markdown", type=Path, metavar="FILE")
    parser.add_argument("--kind", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--code", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # of torch, which the table lists
    if options.code:
        kind = KINDS[options.kind]
        print(json.dumps([figures(kind, code, options.rows) for code in options.code]))
        return 0
    if missing := [name for name in NEEDED if find_spec(name) is None]:
        print(f"nothing can be measured here without {', '.join(missing)}")
        return 2
    asked, rounds = (1000, 0) if options.quick else (options.rows, options.rounds)
    rows = fitting(asked, available())
    lines = measure(rows, rounds)
    text = f"{conditions(rows, asked, rounds)}\n\n{table(lines)}\n"
    print(text)
    if options.markdown:
        options.markdown.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
