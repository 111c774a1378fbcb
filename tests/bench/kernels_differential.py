"""Compares drawn kernels with the reference interpreter, on the CPU and as interpreted PTX.

Source: CUDA Python Specification 0.2.  ``python tests/bench/kernels_differential.py --record FILE``
appends a line of JSON to the file for each hundred programs, and goes on where the file ends, so
that a run may be interrupted; ``--write FILE`` writes a table of Markdown from all lines, which the
guide "The kernel language" shows.  A program has a number, which reproduces it.

Programs of *statements* and of eight *expressions* are compared with the reference interpreter, in
their types, their results and every array that they may change; those whose *warps* exchange
numbers, of 64 threads, on both targets with each other.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
os.environ["INTERCHANGE_CACHE_DIR"] = ""  # every program is compiled

from import_time import commit, machine, releases, today  # noqa: E402 - the folder is not a package

from kernels import test_warps_drawn  # noqa: E402 - as above
from kernels.drawn_kernels import drawn_program  # noqa: E402 - as above
from kernels.ptx_kernels import ARCHITECTURES  # noqa: E402 - as above
from kernels.test_differential import assert_same  # noqa: E402 - as above

COUNTS = {"expressions": 1_000, "statements": 8_900, "warps": 100}
"""Kind of program -> how many are drawn."""
PIECE = 100
FEATURES = {
    "device functions": r"^def [gh]",
    "functions compiled once (`inline='never'`)": r"never",
    "defaults and keywords": r"[gh]\d+\([^,()]*\)|q=\(",
    "early return": r"^ +return$|^     +return .",
    "branches": r"^ +if ",
    "`while`": r"^ +while ",
    "`for` over `range`": r"in range\(",
    "`for` over tuples": r"^ +for .* in (?!range)",
    "`break`, `continue`": r"break|continue",
    "`else` of loops": r"^( +)(?:for|while) .*\n(?:\1 .*\n)*\1else:",
    "`assert`": r"assert ",
    "`raise`": r"raise ",
    "annotations": r"^ +\w+: \w+ = ",
    "`:=`": r":=",
    "`and`, `or`": r" (?:and|or) ",
    "chains of comparisons": r"[<>=] [^()]+ (?:<|<=|>|>=|==|!=) ",
    "tuples": r"^ +t\d+ = |\bt8\b",
    "unpacking": r"^ +\(?\w+, ",
    "`in`": r" (?:not )?in \(",
    "`None`": r"is (?:not )?None",
    "records": r"\b(?:m8|um)\b",
    "global constants": r"SIZE|WIDE|NARROW|HALF",
    "views": r"^ +[uw]\d+ = u\d\[",
    "slices with computed bounds": r"^ +[uw]\d+ = u\d\[.*\(.*:|^ +[uw]\d+ = u\d\[.*:.*\(",
    "other element types (`view`)": r"\.view\(",
    "local arrays": r"local\.array",
    "shared arrays": r"shared\.array\((?!0)",
    "dynamic shared memory": r"shared\.array\(0",
    "constant arrays": r"array_like|TABLE\[|FRACTIONS\[",
    "arrays created in branches and loops": r"^         *w\d+ = cuda",
    "barriers": r"syncthreads\(",
    "atomic operations": r"atomic\.",
    "fences": r"threadfence",
    "functions of warps": r"_sync\(|laneid|lanemask|activemask",
    "functions of bits": r"popc|clz|ffs|brev",
    "`float16`, `bfloat16`": r"float16",
    "complex numbers": r"complex|2\.5j",
    "powers": r"\*\* ",
    "functions of `math`": r"math\.[a-z]+\(",
    "functions of NumPy": r"np\.[a-z_]+\(",
    "built-in functions": r"\b(?:min|max|abs|round|divmod|int|float|bool)\(",
}
"""Feature of the language -> a pattern of the programs that use it."""


def program_of(kind: str, seed: int) -> tuple[str, Any]:
    """Return the text of a program, and a function that compares it and says if it is valid."""
    if kind == "warps":
        return test_warps_drawn.Drawn(
            seed
        ).text(), lambda: test_warps_drawn.assert_same(seed) is None
    program = drawn_program(kind, seed)
    return program.text, lambda: assert_same(program, ARCHITECTURES[seed % len(ARCHITECTURES)])


def piece(kind: str, first: int, last: int) -> dict[str, Any]:
    """Return what was found of some programs."""
    found: Counter[str] = Counter()
    different, equal = [], 0
    for seed in range(first, last):
        text, compare = program_of(kind, seed)
        try:
            is_valid = compare()
        except Exception as error:  # noqa: BLE001 - a compiler may end in any error
            different.append({"seed": seed, "error": f"{type(error).__name__}: {error}"[:4000]})
            continue
        equal += is_valid
        if is_valid:
            found.update(n for n, form in FEATURES.items() if re.search(form, text, re.MULTILINE))
            found["several threads"] += "i0 = cuda.grid(1)" in text or kind == "warps"
    return {
        "kind": kind, "first": first, "last": last, "equal": equal, "different": different,
        "refused": last - first - equal - len(different), "features": found, "commit": commit(),
        "seen": today(), "machine": machine(),
    }  # fmt: skip


def pieces(record: Path) -> list[dict[str, Any]]:
    """Return what a file has recorded."""
    return [json.loads(line) for line in record.read_text().splitlines()] if record.exists() else []


def run(record: Path, counts: dict[str, int]) -> None:
    """Compare the programs that are not recorded yet."""
    done = {(each["kind"], each["first"]) for each in pieces(record)}
    for kind, count in counts.items():
        for first in range(0, count, PIECE):
            if (kind, first) in done:
                continue
            start = time.monotonic()
            found = piece(kind, first, min(first + PIECE, count))
            with record.open("a", encoding="utf-8") as file:
                file.write(json.dumps(found) + "\n")
            seconds = time.monotonic() - start
            print(kind, first, len(found["different"]), "differ", f"{seconds:.0f} s", flush=True)


def page(found: list[dict[str, Any]]) -> str:
    """Return a table of Markdown of everything that was compared."""
    names = (*dict.fromkeys(each["commit"] for each in found),)
    versions = releases(("numpy", "llvmlite", "ml_dtypes"))
    libraries = ", ".join(f"{name} {one}" for name, one in versions.items() if one)
    of = f"commit {', '.join(names)}, {found[-1]['machine']}"
    lines = [
        f"Seen on {found[-1]['seen']}, {of}, {libraries}.",
        "",
        "| Programs | drawn | equal on both targets | refused alike | different |",
        "|---|--:|--:|--:|--:|",
    ]
    total: Counter[str] = Counter()
    for kind in dict.fromkeys(each["kind"] for each in found):
        sums: Counter[str] = Counter()
        for each in found:
            if each["kind"] == kind:
                sums.update(
                    drawn=each["last"] - each["first"], equal=each["equal"],
                    refused=each["refused"], different=len(each["different"]),
                )  # fmt: skip
        total.update(sums)
        lines.append(_row(kind, sums))
    lines += [_row("all", total), "", "| Feature | programs that use it |", "|---|--:|"]
    used: Counter[str] = Counter()
    for each in found:
        used.update(each["features"])
    lines += [f"| {name} | {count:,} |" for name, count in used.most_common()]
    return "\n".join([*lines, ""])


def _row(kind: str, sums: Counter[str]) -> str:
    cells = (f"{sums[name]:,}" for name in ("drawn", "equal", "refused", "different"))
    return f"| {kind} | {' | '.join(cells)} |"


def main() -> None:
    """Compare programs, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", type=Path, required=True)
    parser.add_argument("--write", type=Path)
    parser.add_argument("--quick", action="store_true", help="one program of each kind")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    run(given.record, dict.fromkeys(COUNTS, 1) if given.quick else COUNTS)
    text = page(pieces(given.record))
    print(text)
    if given.write:
        given.write.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
