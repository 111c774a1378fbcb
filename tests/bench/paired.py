"""Paired timing: two statements in one process, interleaved rounds, the ratio of each round.

A machine's speed drifts by more than the differences of interest, so absolute times mean little.
Each round times both statements back to back, on the thread's CPU clock unless another is passed;
the verdict is the median of the ratios of all rounds.
"""

from __future__ import annotations

import gc
import random
import statistics
import time
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

_LOOP = """
def loop(_count, _clock):
    _start = _clock()
    for _ in range(_count):
        {statement}
    return _clock() - _start
"""


class Pair(NamedTuple):
    """Outcome of a comparison: medians over the rounds."""

    ratio: float
    subject: float  # [ns] per call
    yardstick: float  # [ns] per call


def looping(statement: str, names: dict[str, Any]) -> Any:
    """Return a function that runs `statement` in a loop and returns the time [ns].

    Names become locals, as they would be in a caller's function.
    """
    lines = ["def make(" + ", ".join(names) + "):"]
    lines += ["    " + line for line in _LOOP.format(statement=statement).splitlines()]
    lines.append("    return loop")
    space: dict[str, Any] = {}
    exec("\n".join(lines), space)  # noqa: S102 - statements are literals of the benchmarks
    return space["make"](**names)


def compare(
    subject: str,
    yardstick: str,
    names: dict[str, Any],
    *,
    rounds: int = 25,
    count: int = 2000,
    clock: Callable[[], int] = time.thread_time_ns,
) -> Pair:
    """Return the ratio of the times of `subject` and `yardstick`."""
    loops = [looping(subject, names), looping(yardstick, names)]
    for loop in loops:
        loop(count, clock)
    ratios, spent = [], ([], [])
    enabled = gc.isenabled()
    gc.disable()
    try:
        for _ in range(rounds):
            times = [0, 0]
            for which in random.sample((0, 1), 2):
                times[which] = loops[which](count, clock)
                spent[which].append(times[which] / count)
            ratios.append(times[0] / times[1])
    finally:
        if enabled:
            gc.enable()
    return Pair(statistics.median(ratios), *map(statistics.median, spent))
