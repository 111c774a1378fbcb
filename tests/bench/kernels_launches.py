"""Times launches of one block over arrays of several libraries, on the CPU and the emulated driver.

Source: `paired`; CUDA Array Interface, version 3, Synchronization.  ``--write FILE`` writes the
figures with commit, machine and versions as tables of Markdown, which the guide "Write kernels in
Python" includes.  Times are CPU time of the calling thread, those of launches that wait are elapsed
times; beside them are an addition by NumPy, and a bare `cuLaunchKernel`.
"""

from __future__ import annotations

import importlib
import os
import platform
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from kernels_device import FEW, Bare  # noqa: E402 - the folder is not a package
from kernels_timed import add, seen, write_page  # noqa: E402 - as above
from paired import compare  # noqa: E402 - as above

import interchange as ix  # noqa: E402 - as above
from interchange import cuda  # noqa: E402 - as above

if TYPE_CHECKING:
    from paired import Pair

LIBRARIES = ("numpy", "torch", "polars", "pyarrow", "llvmlite", "cuda-bindings")
_LAUNCH = "k[1, n](a, b, c)"


def _ones() -> Any:
    return np.ones(FEW, "f4")


def _by(name: str, make: Any) -> Any:
    """Return three arrays, the first two of a library; None without it."""
    try:
        library = importlib.import_module(name)
    except ImportError:
        return None
    return [make(library, _ones()), make(library, _ones()), _ones()]


def on_host() -> dict[str, Pair]:
    """Return the times of launches on the CPU by the library of the arrays."""
    arrays = {
        "Array": [ix.asarray(_ones()) for _ in range(3)],
        "NumPy": [_ones() for _ in range(3)],
        "PyTorch": _by("torch", lambda m, x: m.from_numpy(x)),
        "two columns of Polars": _by("polars", lambda m, x: m.Series(x)),
        "two arrays of PyArrow": _by("pyarrow", lambda m, x: m.array(x)),
    }
    found = {}
    for name, three in arrays.items():
        if three is None:
            continue
        for _ in range(3):
            add[1, FEW](*three)
        names = dict(zip("abc", three, strict=True)) | {"k": add, "n": FEW}
        names |= dict(zip("xyz", (_ones() for _ in range(3)), strict=True)) | {"add": np.add}
        found[name] = compare(_LAUNCH, "add(x, y, out=z)", names)
    return found


class Foreign:
    """An array of another library, with a record of the CUDA Array Interface."""

    def __init__(self, stream: int | None) -> None:
        self.array = cuda.to_device(_ones())
        self.__cuda_array_interface__ = {
            "shape": (FEW,),
            "typestr": "<f4",
            "data": (self.array.ptr, False),
            "strides": None,
            "version": 3,
            "stream": stream,
        }


def on_emulated_driver() -> dict[str, tuple[Pair, list[str]]]:
    """Return the times of launches over arrays that name streams, and their calls of the driver."""
    from interchange_conformance.emucuda import load

    emulator = load()
    own, *others = (cuda.stream() for _ in range(4))
    cuda.synchronize()
    arrays = {
        "its own arrays": [cuda.to_device(_ones(), stream=own) for _ in range(3)],
        "arrays on the stream of the launch": [Foreign(own.handle) for _ in range(3)],
        "arrays on one other stream": [Foreign(others[0].handle) for _ in range(3)],
        "arrays on the default stream": [Foreign(1) for _ in range(3)],
        "arrays on three other streams": [Foreign(one.handle) for one in others],
        "arrays that name no stream": [Foreign(None) for _ in range(3)],
    }
    found = {}
    bare = None
    for name, three in arrays.items():
        launch = add[1, FEW, own]
        for _ in range(3):
            launch(*three)
        bare = bare or Bare(three, own.handle)
        names = dict(zip("abc", three, strict=True)) | {"k": add, "n": FEW, "s": own}
        waits = name.endswith("no stream")
        clock = time.perf_counter_ns if waits else time.thread_time_ns
        pair = compare(
            "k[1, n, s](a, b, c)", "bare()", names | {"bare": bare.launch}, count=100, clock=clock
        )
        cuda.synchronize()
        with emulator.trace() as calls:
            launch(*three)
        found[name] = pair, [one for one in calls.names if one in _SHOWN]
    return found


_SHOWN = {"cuLaunchKernel", "cuEventRecord", "cuStreamWaitEvent", "cuStreamSynchronize"}


def table() -> str:
    """Return the figures as Markdown."""
    lines = [
        seen(f"{platform.machine()} with {os.cpu_count()} cores", LIBRARIES),
        "",
        "| Launch on the CPU over | [us] | times NumPy's `add` |",
        "|---|--:|--:|",
    ]
    lines += [
        f"| {name} | {pair.subject / 1e3:.2f} | {pair.ratio:.2f} |"
        for name, pair in on_host().items()
    ]
    lines += [
        "",
        "| Launch on the emulated driver over | [us] | times a bare call | records, waits |",
        "|---|--:|--:|--:|",
    ]
    for name, (pair, calls) in on_emulated_driver().items():
        counts = f"{calls.count('cuEventRecord')}, {calls.count('cuStreamWaitEvent')}"
        if "cuStreamSynchronize" in calls:
            counts += ", the host waits"
        lines.append(f"| {name} | {pair.subject / 1e3:.2f} | {pair.ratio:.2f} | {counts} |")
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    write_page(__doc__, lambda _: table())
