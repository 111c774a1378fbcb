"""The cost of the functions of the migration guides, before and after: one call of each.

Source: `paired`, and ``docs/examples/migrating``.  ``python tests/bench/migrating.py`` prints the
tables; ``--markdown FILE`` writes them for the docs, ``--quick`` only tests that everything runs.
Each subject is measured in separate processes; those that need CUDA use the emulated driver, whose
calls cost little, so that the overhead of both sides is compared.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import subprocess
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "docs" / "examples" / "migrating"
sys.path[:0] = [str(HERE), str(EXAMPLES)]

import numpy as np  # noqa: E402 - after the path
from c_build import CannotBuildError, nanobind_module, pybind11_module  # noqa: E402 - as above
from import_time import conditions  # noqa: E402 - as above
from overhead import medians  # noqa: E402 - as above
from paired import compare  # noqa: E402 - as above

import interchange as ix  # noqa: E402 - as above

if TYPE_CHECKING:
    from collections.abc import Callable

LIBRARIES = ("numpy", "torch", "numba-cuda", "cuda-core", "nanobind", "pybind11")
HEADER = 16  # [bytes]


class Call(NamedTuple):
    """A row of a table: the function and its arguments, in both versions."""

    before: Callable[..., Any]
    after: Callable[..., Any]
    arguments: dict[str, Any]
    what: str  # of what the argument is
    more: dict[str, Any] | None = None  # further arguments of the second version


def pair(name: str) -> tuple[Any, Any]:
    """Return both versions of an example in Python."""
    return importlib.import_module(f"{name}_before"), importlib.import_module(f"{name}_after")


def installed(*names: str) -> list[str]:
    """Return those of some libraries that are installed."""
    return [name for name in names if importlib.util.find_spec(name)]


def rows(library: str = "numpy") -> Any:
    """Return 2 x 3 float32."""
    return ix.convert(np.arange(6, dtype="f4").reshape(2, 3), library)


# ---------------------------------------------------------------- the subjects


def asarray() -> list[Call]:
    """Return calls of `scale`."""
    before, after = pair("asarray")
    arguments = {"factor": 1.0}
    return [
        Call(before.scale, after.scale, {"x": rows(library), **arguments}, f"of {library}")
        for library in installed("numpy", "torch")
    ]


def torch_dlpack() -> list[Call]:
    """Return calls of `means`."""
    before, after = pair("torch_dlpack")
    return [
        Call(before.means, after.means, {"x": rows(library)}, f"of {library}")
        for library in installed("numpy", "torch")
    ]


def frombuffer() -> list[Call]:
    """Return calls of both functions."""
    before, after = pair("frombuffer")
    x = rows()
    address = {"address": x.ctypes.data, "rows": 2}
    message = {"message": bytes(HEADER) + x.tobytes()}
    return [
        Call(before.points_of, after.points_of, message, "bytes"),
        Call(before.points_at, after.points_at, address, "an address", {"owner": x}),
    ]


def ctypes_dlpack() -> list[Call]:
    """Return calls of `describe`."""
    before, after = pair("ctypes_dlpack")
    return [
        Call(before.describe, after.describe, {"x": rows(library)}, f"of {library}")
        for library in installed("numpy", "torch")
    ]


def nanobind() -> list[Call]:
    """Return calls of `total` with both libraries of bindings."""
    found = []
    for name, build in (("nanobind", nanobind_module), ("pybind11", pybind11_module)):
        before, after = (build(EXAMPLES / f"{name}_{one}.cpp") for one in ("before", "after"))
        for library in installed("numpy", "torch"):
            x = {"x": ix.convert(rows()[0].astype("f8"), library)}
            found.append(Call(before.total, after.total, x, f"{name}, of {library}"))
    return found


def as_cuda_array() -> list[Call]:
    """Return calls of `snapshot` on the emulated driver."""
    _start_driver()
    from numba import cuda

    before, after = pair("as_cuda_array")
    theirs, stream = cuda.stream(), cuda.stream()
    x, out = (cuda.to_device(rows(), stream=theirs) for _ in range(2))
    arguments = {"x": x, "out": out, "stream": stream}
    return [Call(before.snapshot, after.snapshot, arguments, "of numba-cuda")]


def strided_memory_view() -> list[Call]:
    """Return calls of `clear` on the emulated driver."""
    _start_driver()
    from cuda.core import Device
    from numba import cuda

    Device(0).set_current()
    before, after = pair("strided_memory_view")
    x = cuda.to_device(rows(), stream=cuda.stream())
    arguments = {"x": x, "stream": Device(0).create_stream()}
    return [Call(before.clear, after.clear, arguments, "of numba-cuda")]


def _start_driver() -> None:
    """Make a device of the emulated driver current."""
    from interchange_conformance import emucuda

    emucuda.load()
    from cuda.bindings import driver

    driver.cuInit(0)
    driver.cuCtxSetCurrent(driver.cuDevicePrimaryCtxRetain(0)[1])


SUBJECTS: dict[str, Callable[[], list[Call]]] = {
    "asarray": asarray,
    "torch-dlpack": torch_dlpack,
    "as-cuda-array": as_cuda_array,
    "frombuffer": frombuffer,
    "strided-memory-view": strided_memory_view,
    "ctypes-dlpack": ctypes_dlpack,
    "nanobind": nanobind,
}
"""Name of a page -> the calls of its table."""
EMULATED = ("as-cuda-array", "strided-memory-view")


# ---------------------------------------------------------------- measuring


def measure_here(subject: str, rounds: int, count: int) -> dict[str, list[float]] | str:
    """Return ratio and times [ns] of each call; a reason if they cannot be measured."""
    try:
        calls = SUBJECTS[subject]()
    except (ImportError, CannotBuildError) as error:
        return str(error)
    return {_label(call): _timed(call, rounds, count) for call in calls}


def _label(call: Call) -> str:
    """Return the first column of a row."""
    return f"`{call.before.__name__}({', '.join(call.arguments)})`, {call.what}"


def _timed(call: Call, rounds: int, count: int) -> list[float]:
    """Return the ratio of a call, and the times after and before."""
    names = {"after": call.after, "before": call.before, **call.arguments, **(call.more or {})}
    plain = ", ".join(call.arguments)
    more = ", ".join([*call.arguments, *(call.more or {})])
    return list(compare(f"after({more})", f"before({plain})", names, rounds=rounds, count=count))


def measure(subject: str, processes: int, rounds: int, count: int) -> Any:
    """Return the same, medians over processes."""
    command = [sys.executable, __file__, f"--child={subject}"]
    command += [f"--rounds={rounds}", f"--count={count}"]
    runs = [
        json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)
        for _ in range(processes)
    ]
    return medians(runs)


def section(subject: str, found: Any, said: str) -> str:
    """Return the table of a page, between the marks by which the page includes it."""
    if isinstance(found, str):
        lines = [f"Not measured: {found}."]
    else:
        lines = ["| Call | Before [ns] | After [ns] | Ratio |", "|---|--:|--:|--:|"]
        lines += [
            f"| {label} | {before:,.0f} | {after:,.0f} | {ratio:.2f} |"
            for label, (ratio, after, before) in found.items()
        ]
        lines += ["", said]
    if subject in EMULATED:
        lines += ["On the emulated CUDA driver; nothing was measured on a GPU."]
    body = "\n".join(lines)
    return f"<!-- {subject} -->\n\n{body}\n\n<!-- end {subject} -->\n"


def main() -> int:
    """Run the measurements that the options select."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--processes", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=31)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--markdown", type=Path, metavar="FILE")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.quick:
        options.processes, options.rounds, options.count = 1, 3, 5
    if options.child:
        warnings.simplefilter("ignore")  # of torch, for memory that is only read
        print(json.dumps(measure_here(options.child, options.rounds, options.count)))
        return 0
    how = options.processes, options.rounds
    found = {subject: measure(subject, *how, options.count) for subject in SUBJECTS}
    said = conditions(LIBRARIES, *how)
    text = "\n".join(section(subject, one, said) for subject, one in found.items())
    print(text)
    if options.markdown:
        options.markdown.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
