"""Strided copies of host memory, timed against NumPy: ``python tests/bench/copies.py``.

Each row is one layout of a target and a source, copied by ``ix.copyto`` of two Arrays and by
``np.copyto`` of the same two ndarrays, in turns in one process (`paired`).  ``--check`` exits with
1 where the ratio is above `MOST`, ``--quick`` only tests that it runs, and ``--markdown FILE``
writes the table.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from import_time import commit, machine, releases, today
from paired import compare

import interchange as ix

if TYPE_CHECKING:
    from collections.abc import Callable

    from paired import Pair

MOST = 1.1  # ratio of the times
PER_ROUND = 4_000_000  # bytes that are copied in a round
MOST_CALLS = 20_000  # in a round
DTYPES = ("uint8", "float32", "float64", "complex128")


class Layouts(NamedTuple):
    """Views of memory of a target and of a source."""

    name: str
    # target, source: shape of the memory -> a view of it
    target: tuple[tuple[int, ...], Callable[[np.ndarray], np.ndarray]]
    source: tuple[tuple[int, ...], Callable[[np.ndarray], np.ndarray]]


def whole(memory: np.ndarray) -> np.ndarray:
    """Return all elements."""
    return memory


SQUARE, HALF = (1000, 1000), (1000, 500)
LAYOUTS = (
    Layouts("10 elements", ((10,), whole), ((10,), whole)),
    Layouts("10 strided elements", ((10,), whole), ((20,), lambda x: x[::2])),
    Layouts("contiguous", (SQUARE, whole), (SQUARE, whole)),
    Layouts("half of the columns", (HALF, whole), (SQUARE, lambda x: x[:, :500])),
    Layouts("every second column", (HALF, whole), (SQUARE, lambda x: x[:, ::2])),
    Layouts("into every second column", (SQUARE, lambda x: x[:, ::2]), (HALF, whole)),
    Layouts("every second into every third", ((1000, 1500), lambda x: x[:, ::3]),
            (SQUARE, lambda x: x[:, ::2])),
    Layouts("reversed columns", (SQUARE, whole), (SQUARE, lambda x: x[:, ::-1])),
    Layouts("reversed rows", (SQUARE, whole), (SQUARE, lambda x: x[::-1])),
    Layouts("transposed", (SQUARE, whole), (SQUARE, lambda x: x.T)),
    Layouts("three axes reversed", ((100, 100, 100), whole),
            ((100, 100, 100), lambda x: x.transpose(2, 1, 0))),
    Layouts("channels last to first", ((4, 3, 224, 224), whole),
            ((4, 224, 224, 3), lambda x: x.transpose(0, 3, 1, 2))),
    Layouts("channels first to last", ((4, 224, 224, 3), whole),
            ((4, 3, 224, 224), lambda x: x.transpose(0, 2, 3, 1))),
    Layouts("a row, spread", (SQUARE, whole), ((1000,), lambda x: np.broadcast_to(x, SQUARE))),
    Layouts("a column, spread", (SQUARE, whole),
            ((1000, 1), lambda x: np.broadcast_to(x, SQUARE))),
    Layouts("a crop of pixels", ((200, 200, 3), whole),
            ((400, 400, 4), lambda x: x[100:300, 100:300, :3])),
)  # fmt: skip


def arrays(layouts: Layouts, dtype: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the ndarrays of one row."""
    found = []
    for shape, view in (layouts.target, layouts.source):
        elements = np.arange(np.prod(shape), dtype=np.int64).astype(dtype)
        found.append(view(elements.reshape(shape)))
    return found[0], found[1]


def measure(layouts: Layouts, dtype: str, rounds: int) -> Pair:
    """Return the times of both functions, whose results were compared."""
    target, source = arrays(layouts, dtype)
    dst, src = ix.asarray(target), ix.asarray(source)
    expected = source.copy()
    ix.copyto(dst, src)
    ix.copyto(target, source)
    if not np.array_equal(target, expected):
        raise AssertionError(f"{layouts.name} of {dtype} was copied wrongly")
    names = {"ours": ix.copyto, "theirs": np.copyto, "d": dst, "s": src, "t": target, "u": source}
    count = min(MOST_CALLS, max(1, PER_ROUND // expected.nbytes))
    return compare("ours(d, s)", "theirs(t, u)", names, rounds=rounds, count=count)


def table(outcomes: dict[tuple[str, str], Pair]) -> str:
    """Return the ratios as a table in Markdown."""
    lines = [f"| Layouts | {' | '.join(DTYPES)} |", "|---|" + "---|" * len(DTYPES)]
    for layouts in LAYOUTS:
        cells = (f"{outcomes[layouts.name, dtype].ratio:.2f}" for dtype in DTYPES)
        lines.append(f"| {layouts.name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def page(outcomes: dict[tuple[str, str], Pair]) -> str:
    """Return the table with what was measured, and where."""
    said = ", ".join(f"{name} {version}" for name, version in releases(["numpy"]).items())
    return (
        "<!-- written by tests/bench/copies.py --markdown -->\n\n"
        f"Time of `ix.copyto(dst, src)` divided by that of `np.copyto`, the {ix.core_name} core,"
        f" commit {commit()}, {said}, {today()}, {machine()}.\n\n{table(outcomes)}\n"
    )


def main() -> int:
    """Measure all rows, and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--markdown", type=Path, metavar="FILE")
    options = parser.parse_args()
    rounds = 1 if options.quick else options.rounds
    outcomes = {
        (layouts.name, dtype): measure(layouts, dtype, rounds)
        for layouts in LAYOUTS
        for dtype in (DTYPES[:1] if options.quick else DTYPES)
    }
    if options.quick:
        return 0
    print(table(outcomes))
    if options.markdown:
        options.markdown.write_text(page(outcomes), encoding="utf-8")
    return 1 if options.check and any(one.ratio > MOST for one in outcomes.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
