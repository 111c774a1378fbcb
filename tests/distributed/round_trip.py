"""Cost of a round trip through a cluster, Arrays and ndarrays: ``python round_trip.py``.

Source: distributed, ``LocalCluster``; proc(5), VmHWM.  One new cluster of two processes per row:
arrays are scattered, passed through a task and gathered.  Bytes are those of the frames, memory is
the maximum of a process, less its memory before.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import interchange as ix

if TYPE_CHECKING:
    from collections.abc import Callable

MAKERS: dict[str, Callable[[Any], Any]] = {"numpy": np.asarray, "interchange": ix.asarray}


def highest() -> int:
    """Return the most memory that this process ever held [bytes]."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024


def passed_on(array: Any) -> Any:
    """Return the array: a task that copies no element."""
    return array


def measure(kind: str, count: int, elements: int) -> dict[str, float]:
    """Return what `count` arrays of `elements` float64 cost."""
    from distributed.protocol import serialize

    from distributed import Client, LocalCluster

    random = np.random.default_rng(0)
    sources = [random.random(elements) for _ in range(count)]  # random bytes do not compress
    arrays = [MAKERS[kind](source) for source in sources]
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        here, there = highest(), client.run(highest)
        began = time.perf_counter()
        futures = client.map(passed_on, client.scatter(arrays, hash=False), pure=False)
        found = client.gather(futures)
        wall = time.perf_counter() - began
        held = client.run(highest)
    equal = all(
        np.array_equal(np.asarray(one), source) for one, source in zip(found, sources, strict=True)
    )
    frames = [frame for array in arrays for frame in serialize(array)[1]]
    return {
        "lost": count - len(found) + (not equal),
        "frames [MB]": sum(memoryview(frame).nbytes for frame in frames) / 1e6,
        "wall [s]": wall,
        "client [MB]": (highest() - here) / 1e6,
        "workers [MB]": sum(held[name] - there[name] for name in held) / 1e6,
        "writable": sum(
            not one.readonly if kind != "numpy" else one.flags.writeable for one in found
        ),
    }


def main() -> None:
    """Print one row."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=MAKERS)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--megabytes", type=int, default=8)
    chosen = parser.parse_args()
    row = measure(chosen.kind, chosen.count, chosen.megabytes * 125_000)
    print(chosen.kind, *(f"{name} {value:.1f}" for name, value in row.items()), sep=" | ")


if __name__ == "__main__":
    main()
