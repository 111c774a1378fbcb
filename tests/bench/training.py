"""Training from a table that is larger than the memory allowed: ``python tests/bench/training.py``.

The programs of the guide read one Parquet file, each in a process of its own whose private writable
memory the kernel limits (setrlimit(2), RLIMIT_DATA); so does a program that reads the whole table,
which fails.  With ``--batches`` many batches of a stream are read instead, and the growth of the
process is measured (``VmRSS``).  ``--rows`` and ``--limit`` set the size of the file and the limit
[bytes], and ``--count`` the number of batches; ``--markdown FILE`` writes the table in the docs.
If a library is missing, it prints this and exits with 2.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from import_time import commit, machine, releases, today

PROGRAMS = Path(__file__).parents[2] / "docs" / "examples" / "training"
NEEDED = ("jax", "pyarrow", "rich", "torch")
WAYS = {
    "train_torch": "PyTorch, `train_torch.py`",
    "train_jax": "JAX, `train_jax.py`",
    "read_all": "`pyarrow.parquet.read_table(file)`",
}
MEGABYTE = 10**6
FIRST = 10_000  # batches that are read before the memory is measured
RECORDS = 8  # rows of a record batch of the stream
SIZES = {f"{RECORDS}, shared": None, "12, every other one copied": 12}


def kilobytes(word: str) -> int:
    """Return a figure of this process [KiB]."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        name, _, value = line.partition(":")
        if name == word:
            return int(value.split()[0])
    raise LookupError(word)


# ---------------------------------------------------------------- in a process of its own


def load(way: str) -> Any:
    """Return the function that trains, or reads the whole table."""
    if way == "read_all":
        import pyarrow.parquet as pq

        return pq.read_table
    sys.path.insert(0, str(PROGRAMS))
    return __import__(way).train


def run(way: str, path: str, limit: int) -> dict[str, Any]:
    """Train under a limit, and return what came of it: times, losses, and memory."""
    function = load(way)
    function(f"{path}.first")  # a small file: threads, caches and compiled code
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # starts VmHWM again
    before, started = kilobytes("VmRSS"), time.perf_counter()
    try:
        losses = function(path)
    except MemoryError as error:
        return {"failed": type(error).__name__}
    seconds, peak = time.perf_counter() - started, kilobytes("VmHWM")
    return {
        "seconds": seconds,
        "losses": None if way == "read_all" else losses,
        "peak": 1024 * peak,
        "grown": 1024 * (peak - before),
    }


def run_often(count: int, size: int | None) -> dict[str, Any]:
    """Read many batches of a stream, and return the growth of the process after the first."""
    import numpy as np
    import pyarrow as pa

    import interchange as ix

    batch = pa.record_batch({"x": np.zeros(RECORDS, "f4"), "y": np.zeros(RECORDS, "i8")})
    chunks = count if size is None else count * size // RECORDS + 1
    reader = pa.RecordBatchReader.from_batches(batch.schema, (batch for _ in range(chunks)))
    number, before, started = 0, 0, 0.0
    for found in ix.batches(reader, size=size):
        number += 1
        if number == FIRST:
            before, started = kilobytes("VmRSS"), time.process_time()
        del found
    seconds, grown = time.process_time() - started, kilobytes("VmRSS") - before
    return {"count": number, "grown": grown, "each": 1e6 * seconds / (number - FIRST)}


# ---------------------------------------------------------------- measurements


def child(*arguments: str) -> dict[str, Any]:
    """Return what this program prints in a process of its own."""
    done = subprocess.run(
        [sys.executable, __file__, *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(done.stderr[-4000:])
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def write_table(path: Path, rows: int) -> None:
    """Write the file, and a small one of two parts."""
    for name, count in ((path, rows), (f"{path}.first", 2**17)):
        subprocess.run([sys.executable, PROGRAMS / "make_table.py", name, str(count)], check=True)


def measure(path: Path, limit: int) -> dict[str, dict[str, Any]]:
    """Return what came of each way under the limit."""
    return {way: child("--way", way, str(path), "--limit", str(limit)) for way in WAYS}


def table(found: dict[str, dict[str, Any]], rows: int) -> str:
    """Return the table of the guide."""
    text = ["| Program | Rows/s | Peak of resident memory [MB] | Loss |", "|---|--:|--:|---|"]
    for way, name in WAYS.items():
        one = found[way]
        if "failed" in one:
            text.append(f"| {name} | {one['failed']} | | |")
            continue
        loss = " to ".join(f"{value:.4f}" for value in one["losses"] or ())
        speed, peak = rows / one["seconds"], one["peak"] / MEGABYTE
        text.append(f"| {name} | {speed:,.0f} | {peak:,.0f} | {loss} |")
    return "\n".join(text)


def conditions() -> str:
    """Return where and when this was measured."""
    known = releases(("jax", "numpy", "pyarrow", "torch"))
    versions = ", ".join(f"{name} {version}" for name, version in known.items())
    return (
        f"Measured on {today()} at commit {commit()}, on {machine()}, with {versions}, while "
        f"{os.getloadavg()[1]:.1f} processes wanted to run:"
    )


def trained(rows: int, limit: int) -> str:
    """Return the table of training, with the size of the file and the limit."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "table.parquet")
        write_table(path, rows)
        size = path.stat().st_size
        found = measure(path, limit)
    return (
        f"A file of {size / MEGABYTE:,.0f} MB, of {rows:,} rows, and a limit of "
        f"{limit / MEGABYTE:,.0f} MB of private memory. {conditions()}\n\n{table(found, rows)}\n"
    )


def often(count: int) -> str:
    """Return the table of many batches."""
    text = ["| Batches | Rows of each | CPU time of each [us] | Growth of the process [KiB] |"]
    text = [conditions(), "", *text, "|--:|---|--:|--:|"]
    for rows, size in SIZES.items():
        one = child("--often", str(size or 0), "--count", str(count))
        text.append(f"| {one['count']:,} | {rows} | {one['each']:.0f} | {one['grown']:,} |")
    return "\n".join(text) + "\n"


def main() -> int:
    """Run the measurements that the options select."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=30_000_000)
    parser.add_argument("--limit", type=int, default=2000 * MEGABYTE)
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--batches", action="store_true")
    parser.add_argument("--markdown", type=Path, metavar="FILE")
    parser.add_argument("--way", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--often", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if missing := [name for name in NEEDED if find_spec(name) is None]:
        print(f"nothing can be measured here without {', '.join(missing)}")
        return 2
    if options.way:
        print(json.dumps(run(*options.way, options.limit)))
        return 0
    if options.often is not None:
        print(json.dumps(run_often(options.count, options.often or None)))
        return 0
    text = often(options.count) if options.batches else trained(options.rows, options.limit)
    print(text)
    if options.markdown:
        options.markdown.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
