"""What a call with checked arguments costs: ``python tests/bench/contracts.py``.

The yardstick is two imports of the same ndarrays, in the same process.  Both cores are measured in
processes of their own; a figure is the median over them of the median ratio over rounds.
``--check`` exits with 1 where the bar is missed, ``--markdown FILE`` writes the table that the
pages show, ``--quick`` only sees that all runs.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parent))

from paired import compare

YARDSTICK = "asarray(x); asarray(y)"
BAR = 2.5
CORES = ("native", "ctypes")


class Call(NamedTuple):
    """A call that is compared with the imports.

    Attributes
    ----------
    name : str
        What is called.
    statement : str
        The call.
    is_held : bool
        Whether the bar is for it.
    """

    name: str
    statement: str
    is_held: bool = True


CALLS = (
    Call("`f(x, y)`, each with dtype, named extents and order", "checked(x, y)"),
    Call("`f(x, y)`, each with all words", "strict(x, y)"),
    Call("`f(x=x, y=y)`, likewise", "checked(x=x, y=y)"),
    Call("`f(x, y)` without contracts", "imported(x, y)"),
    Call("`f(x, y)` without the decorator, and both imports", "plain(x, y)", is_held=False),
)


def names() -> dict[str, Any]:
    """Return what the statements use."""
    import numpy as np

    import interchange as ix

    asarray = ix.asarray

    def function(x: Any, y: Any) -> None:
        """Do nothing with two arrays."""

    def plain(x: Any, y: Any) -> None:
        """Import both, and do nothing with them."""
        return function(asarray(x), asarray(y))

    all_words: Any = {"ndim": (1, 2), "device": "cpu", "writable": True, "align": 4}
    points = {"dtype": "real floating", "shape": ("n", 3), "order": "C"}
    weights = {"dtype": "float32", "shape": ("n",), "order": "C"}
    pair = ix.Contract(**points), ix.Contract(**weights)
    strict = ix.Contract(**points, **all_words), ix.Contract(**weights, **all_words)
    return {
        "asarray": asarray,
        "x": np.zeros((4, 3), "f4"),
        "y": np.zeros(4, "f4"),
        "plain": plain,
        "imported": ix.viewable("x", "y")(function),
        "checked": ix.viewable(x=pair[0], y=pair[1])(function),
        "strict": ix.viewable(x=strict[0], y=strict[1])(function),
    }


def measure(core: str, rounds: int, count: int) -> list[float]:
    """Return the ratio of every call, from a process of its own."""
    command = [sys.executable, __file__, "--child", f"--rounds={rounds}", f"--count={count}"]
    environment = {**os.environ, "INTERCHANGE_CORE": core}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def table(ratios: dict[str, list[float]]) -> str:
    """Return the ratios of every core as a Markdown table."""
    lines = ["| Call | " + " | ".join(f"{core} core" for core in ratios) + " |"]
    lines.append("|---|" + "--:|" * len(ratios))
    for place, call in enumerate(CALLS):
        cells = " | ".join(f"{found[place]:.2f}" for found in ratios.values())
        lines.append(f"| {call.name} | {cells} |")
    return "\n".join(lines)


def is_within(ratios: dict[str, list[float]]) -> bool:
    """Whether every call that the bar is for is within it, on every core."""
    held = [place for place, call in enumerate(CALLS) if call.is_held]
    return all(found[place] <= BAR for found in ratios.values() for place in held)


def conditions(processes: int) -> str:
    """Return what was measured, and on what."""
    import platform

    import numpy as np

    releases = f"CPython {platform.python_version()}, NumPy {np.__version__}"
    return (
        "How many times longer a call takes than `asarray(x); asarray(y)`, of the same two ndarrays"
        f" ({releases}, {processes} processes for each core):"
    )


def main() -> int:
    """Run as the options say."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--processes", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--markdown", type=Path, metavar="FILE")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    rounds, count = (3, 50) if options.quick else (options.rounds, options.count)
    if options.child:
        here = names()
        found = [
            compare(one.statement, YARDSTICK, here, rounds=rounds, count=count) for one in CALLS
        ]
        print(json.dumps([pair.ratio for pair in found]))
        return 0
    processes = 1 if options.quick else options.processes
    ratios = {}
    for core in CORES:
        each = [measure(core, rounds, count) for _ in range(processes)]
        ratios[core] = [statistics.median(one) for one in zip(*each, strict=True)]
    text = f"{conditions(processes)}\n\n{table(ratios)}\n"
    print(text)
    if options.markdown:
        options.markdown.write_text(text, encoding="utf-8")
    return 1 if options.check and not is_within(ratios) else 0


if __name__ == "__main__":
    sys.exit(main())
