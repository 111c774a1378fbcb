"""The speed of exchanges with Arrow: single columns, and bits, masks and chunks of millions.

Source: `paired`.  ``python tests/bench/arrow.py`` measures, and writes
``docs/_generated/arrow-speed.md`` with commit and machine; names as arguments measure only those
and print them; ``--quick`` only tests that all runs.  If a library is missing, it prints this and
exits with 2.

Times are the CPU times of the thread, in rounds that alternate with the baseline in one process.
"""

from __future__ import annotations

import argparse
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import import_time  # noqa: E402 - the folder is not a package
from paired import compare  # noqa: E402 - as above

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from paired import Pair

PAGE = "arrow-speed.md"
NEEDED = ("numpy", "pyarrow", "polars")
LARGE = 20_000_000  # elements
BITMAP = 77_000_000  # elements of a column with a bitmap
CHUNKS = 10_000
OF_A_CHUNK = 100  # elements
WIDTH = 10  # elements of a list
QUICK = 1000  # times fewer elements

TIME, BEYOND, RATIO = "us", "us beyond the baseline", "x the baseline"


class Row(NamedTuple):
    """One line of the table."""

    name: str
    subject: str  # the statement
    baseline: str  # the statement to which it is compared
    unit: str
    before: float  # the figure before columns were read in C
    reach: float  # the figure that was to be reached
    make: Callable[[int], dict[str, Any]]  # number of times fewer -> names of the statements
    count: int = 2000  # runs in a round


# ---------------------------------------------------------------- columns


def small(_: int) -> dict[str, Any]:
    """Return columns of some elements."""
    import numpy as np
    import polars as pl
    import pyarrow as pa

    x = np.arange(1000.0)
    tensors = np.arange(2400.0).reshape(400, 3, 2)
    return {
        "pa": pa,
        "x": x,
        "column": pa.array(x),
        "series": pl.Series("x", x),
        "lists": pa.FixedSizeListArray.from_arrays(pa.array(x), 10),
        "tensors": pa.FixedShapeTensorArray.from_numpy_ndarray(tensors),
    }


def bits(fewer: int) -> dict[str, Any]:
    """Return a column of bools, of which the bits are known."""
    import numpy as np
    import pyarrow as pa

    count = LARGE // fewer
    packed = packed_bits(count)
    column = pa.Array.from_buffers(pa.bool_(), count, [None, pa.py_buffer(packed)])
    return {"np": np, "column": column, "packed": packed, "count": count}


def packed_bits(count: int) -> Any:
    """Return bits, of which one in ten is 0."""
    import numpy as np

    chosen = np.random.default_rng(0).random(count, np.float32) < 0.9
    return np.packbits(chosen, bitorder="little")


def nulls(fewer: int) -> dict[str, Any]:
    """Return columns with nulls at one level, in lists, and at both levels."""
    import numpy as np
    import pyarrow as pa

    count = LARGE // fewer
    rows = count // WIDTH
    values, inner, outer = np.zeros(count, "f4"), packed_bits(count), packed_bits(rows)
    buffers = [pa.py_buffer(inner), pa.py_buffer(values)]
    column = pa.Array.from_buffers(pa.float32(), count, buffers)
    kind = pa.list_(pa.float32(), WIDTH)
    return {
        "np": np,
        "column": column,
        "below": pa.Array.from_buffers(kind, rows, [None], children=[column]),
        "both": pa.Array.from_buffers(kind, rows, [pa.py_buffer(outer)], children=[column]),
        "inner": inner,
        "outer": outer,
        "count": count,
        "rows": rows,
        "width": WIDTH,
    }


def counted(fewer: int) -> dict[str, Any]:
    """Return a column with a bitmap of ones, whose nulls were counted, and one without."""
    import numpy as np
    import pyarrow as pa

    count = BITMAP // fewer
    values = pa.py_buffer(np.zeros(count, "i1"))
    ones = pa.py_buffer(np.full((count + 7) // 8, 255, "u1"))
    return {
        "column": pa.Array.from_buffers(pa.int8(), count, [ones, values], null_count=0),
        "plain": pa.Array.from_buffers(pa.int8(), count, [None, values]),
    }


def chunked(fewer: int) -> dict[str, Any]:
    """Return a column in many small chunks."""
    import numpy as np
    import pyarrow as pa

    parts = [np.full(OF_A_CHUNK, place, "f4") for place in range(max(CHUNKS // fewer, 2))]
    return {"np": np, "column": pa.chunked_array(list(map(pa.array, parts))), "parts": parts}


def in_four(fewer: int) -> dict[str, Any]:
    """Return a large column in four chunks, and memory for it."""
    import numpy as np
    import pyarrow as pa

    values = np.arange(LARGE // fewer, dtype="f4")
    parts = np.split(values, 4)
    out, copy = np.zeros_like(values), np.zeros_like(values)
    column = pa.chunked_array(list(map(pa.array, parts)))
    return {"np": np, "column": column, "values": values, "out": out, "copy": copy, "parts": parts}


_BY_HAND = 'np.unpackbits({}, count={}, bitorder="little").view(bool)'
_INNER = f"{_BY_HAND.format('inner', 'count')}.reshape(rows, width)"
_SEPARATE = 'ix.from_arrow({}, nulls="separate")'

ROWS = (
    Row(
        "pyarrow column",
        "ix.from_arrow(column)",
        "column.__arrow_c_device_array__()",
        TIME,
        35,
        3,
        small,
    ),
    Row("Polars", "ix.from_arrow(series)", "series.__arrow_c_stream__()", BEYOND, 60, 6, small),
    Row(
        "Polars, asarray",
        "ix.asarray(series)",
        "series.__arrow_c_stream__()",
        BEYOND,
        108,
        7,
        small,
    ),
    Row("lists", "ix.from_arrow(lists)", "lists.__arrow_c_device_array__()", TIME, 49, 6, small),
    Row(
        "tensors",
        "ix.from_arrow(tensors)",
        "tensors.__arrow_c_device_array__()",
        TIME,
        63,
        10,
        small,
    ),
    Row("export", "pa.array(ix.to_arrow(x))", "pa.array(x)", RATIO, 6, 3, small),
    Row(
        "bits", "ix.from_arrow(column)", _BY_HAND.format("packed", "count"), RATIO, 43, 1.2, bits, 1
    ),
    Row(
        "mask",
        _SEPARATE.format("column"),
        _BY_HAND.format("inner", "count"),
        RATIO,
        70,
        1.5,
        nulls,
        1,
    ),
    Row("mask in lists", _SEPARATE.format("below"), _INNER, RATIO, 66, 1.5, nulls, 1),
    Row(
        "mask at both levels",
        _SEPARATE.format("both"),
        f"{_INNER} & {_BY_HAND.format('outer', 'rows')}[:, None]",
        RATIO,
        86,
        1.5,
        nulls,
        1,
    ),
    Row(
        "small chunks",
        "ix.from_arrow(column, copy=True)",
        "np.concatenate(parts)",
        RATIO,
        44,
        2,
        chunked,
        10,
    ),
    Row(
        "large chunks",
        "ix.from_arrow(column, copy=True)",
        "np.concatenate(parts)",
        RATIO,
        1,
        1,
        in_four,
        1,
    ),
    Row(
        "large chunks, out=",
        "ix.from_arrow(column, out=out)",
        "np.copyto(copy, values)",
        RATIO,
        1,
        1,
        in_four,
        1,
    ),
    Row(
        "bitmap, null_count 0",
        "ix.from_arrow(column)",
        "ix.from_arrow(plain)",
        TIME,
        37_000,
        3,
        counted,
    ),
)


# ---------------------------------------------------------------- measuring


class Line(NamedTuple):
    """A row and what was measured."""

    row: Row
    pair: Pair

    @property
    def figure(self) -> float:
        """The figure in the unit of the row."""
        if self.row.unit == RATIO:
            return self.pair.ratio
        beyond = self.pair.yardstick if self.row.unit == BEYOND else 0.0
        return (self.pair.subject - beyond) / 1e3


def measure(rows: Iterable[Row], rounds: int, fewer: int) -> list[Line]:
    """Return the medians over rounds of all rows."""
    import interchange as ix

    lines, made = [], {}
    for row in rows:
        if row.make not in made:
            made.clear()  # the columns of the rows before: they are large
            made[row.make] = row.make(fewer)
        names = {**made[row.make], "ix": ix}
        pair = compare(row.subject, row.baseline, names, rounds=rounds, count=row.count)
        lines.append(Line(row, pair))
    return lines


# ---------------------------------------------------------------- the page


def conditions(rounds: int) -> str:
    """Return the sentence above the table."""
    said = ", ".join(f"{name} {one}" for name, one in import_time.releases(NEEDED).items())
    return (
        f"Measured on {import_time.today()} at commit {import_time.commit()}, on"
        f" {import_time.machine()}, with {said} and CPython {sys.version.split()[0]}; medians of"
        f" {rounds} rounds of the CPU time of the thread, with the native core:"
    )


def table(lines: Iterable[Line]) -> str:
    """Return the figures as a table."""
    head = [
        "| Exchange | Call | Baseline | Before | Goal | Now |",
        "|---|---|---|--:|--:|--:|",
    ]
    return "\n".join(head + [_shown(line) for line in lines])


def _shown(line: Line) -> str:
    """Return a line of the table."""
    row = line.row
    unit = " us" if row.unit != RATIO else ""
    baseline = f"`{row.baseline}`" if row.unit != TIME else "none"
    if row.unit == BEYOND:
        baseline += ", subtracted"
    figures = " | ".join(f"{one:,.3g}{unit}" for one in (row.before, row.reach, line.figure))
    return f"| {row.name} | `{row.subject}` | {baseline} | {figures} |"


def main() -> int:
    """Run the measurements that the options select."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", help="rows; by default all, into the page")
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--quick", action="store_true", help="only test that all runs")
    parser.add_argument("--folder", type=Path, default=HERE.parents[1] / "docs" / "_generated")
    options = parser.parse_args()
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        print(f"not installed: {', '.join(missing)}")
        return 2
    if options.quick or options.names:
        chosen = [
            row._replace(count=2) if options.quick else row
            for row in ROWS
            if not options.names or row.name in options.names
        ]
        rounds, fewer = (1, QUICK) if options.quick else (options.rounds, 1)
        print(table(measure(chosen, rounds, fewer)))
        return 0
    text = f"{conditions(options.rounds)}\n\n{table(measure(ROWS, options.rounds, 1))}\n"
    (options.folder / PAGE).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
