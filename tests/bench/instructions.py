"""Counts the instructions of exchanges, and compares them with the checked-in counts.

Source: Valgrind, "Callgrind" (client requests).  A process under callgrind runs every statement a
number of times, and then a larger number of times: the difference of the two loops excludes
startup.  A count depends on the Python, the NumPy and the compiler, and not on the machine's load.
Python's allocator takes more instructions where a pool is just full: the least of a few counts,
with other fillings of the pools, is the count.

``python tests/bench/instructions.py`` exits with 1 if a count changed by more than 3 %, and with 2
if it cannot compare: there is no valgrind, or the counts are of another environment.  ``--write``
writes the counts of this environment to the file.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from c_build import compiler  # noqa: E402 - the folder is not a package

COUNTS = HERE / "instruction_counts.json"
TOLERANCE = 0.03
FEW, MORE = 100, 300  # loops
_FEWER_IN_C = 2, 6
FILLINGS = 4  # of the pools of Python's allocator
_POOLS = range(16, 513, 16)  # sizes of their objects [bytes]
_FIXED = {"PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


class Kind(NamedTuple):
    """An exchange whose instructions are counted, and its requirements besides NumPy."""

    name: str
    statement: str
    group: str = "host"  # of budget_names
    needs: str = "numpy"  # whose release the count depends on
    loops: tuple[int, int] = (FEW, MORE)


KINDS = (
    Kind("import of an ndarray", "from_dlpack(x)"),
    Kind("import of a subclass of ndarray", "from_dlpack(sub)"),
    Kind("asarray of an ndarray", "asarray(x)"),
    Kind("asarray of bytes", "asarray(b'abcdefgh')"),
    Kind("import of an Array", "from_dlpack(ours)"),
    Kind("import of a capsule", "from_dlpack(x.__dlpack__(max_version=version))"),
    Kind("import, and shape, strides, dtype", "a = from_dlpack(x); a.shape; a.strides; a.dtype"),
    Kind("export", "ours.__dlpack__(max_version=version)"),
    Kind("export before 1.0", "ours.__dlpack__()"),
    Kind("export to NumPy", "np.from_dlpack(ours)"),
    Kind("import of an Arrow column", "from_arrow(to_arrow(x))"),
    Kind("200 borrowed DLTensors", "loops.dltensors(ours, LOOPS)", "c", loops=_FEWER_IN_C),
    Kind("200 times seven getters", "loops.getters(ours, LOOPS)", "c", loops=_FEWER_IN_C),
    Kind("200 views of an ndarray", "loops.views(x, LOOPS)", "c", loops=_FEWER_IN_C),
    Kind("x + y of three elements", "small + small"),
    Kind("import of a torch tensor", "from_dlpack(tensor)", "peers", "torch"),
)


class CannotTellError(Exception):
    """Nothing could be counted, or compared; the message has the reason."""


# ---------------------------------------------------------------- under callgrind


def run_child(needs: str) -> None:
    """Run every kind that needs this and no more, and print a number per kind that was run."""
    import gc

    from budget_names import GROUPS, in_c
    from budget_run import has_functions
    from c_build import c_loops
    from paired import looping

    counter = c_loops()
    gc.disable()
    for number, kind in enumerate(KINDS):
        if kind.needs != needs:
            continue
        names: dict[str, Any] = in_c() if kind.group == "c" else GROUPS[kind.group]()
        if not has_functions(kind.statement, names.get("loops")):
            continue
        loop = looping(kind.statement, names)
        loop(kind.loops[1], _no_time)
        filled: list[list[bytearray]] = []
        for filling in range(FILLINGS):
            for which, count in enumerate(kind.loops):
                gc.collect()
                counter.start_counting()
                loop(count, _no_time)
                counter.write_count(f"{number}.{which}.{filling}")
            filled.append([bytearray(size - 1) for size in _POOLS])


def _no_time() -> int:
    """Return no time."""
    return 0


# ---------------------------------------------------------------- around it


def count(needs: str) -> dict[str, float]:
    """Return the instructions of one run of each kind that needs this."""
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        raise CannotTellError("there is no valgrind; Debian has it in a package of this name")
    with tempfile.TemporaryDirectory() as folder:
        command = [
            valgrind, "--tool=callgrind", "--instr-atstart=no", "-q",
            f"--callgrind-out-file={folder}/out", f"--log-file={folder}/log",
            sys.executable, __file__, f"--child={needs}",
        ]  # fmt: skip
        environment = {**os.environ, **_FIXED}
        done = subprocess.run(command, env=environment, check=False)
        if done.returncode:
            log = Path(folder, "log").read_text(encoding="utf-8", errors="replace")
            raise CannotTellError(f"the process under valgrind ended badly: {log[-2000:]}")
        totals = dict(filter(None, map(_total_of, Path(folder).glob("out.*"))))
    return least_counts(totals)


def least_counts(totals: dict[str, int]) -> dict[str, float]:
    """Return the instructions of one run of each kind, of the filling that took the fewest."""
    found = {}
    for number, kind in enumerate(KINDS):
        spent = [
            totals[f"{number}.1.{filling}"] - totals[f"{number}.0.{filling}"]
            for filling in range(FILLINGS)
            if {f"{number}.0.{filling}", f"{number}.1.{filling}"} <= totals.keys()
        ]
        if spent:
            found[kind.name] = round(min(spent) / (kind.loops[1] - kind.loops[0]), 1)
    return found


def _total_of(path: Path) -> tuple[str, int] | None:
    """Return the name that a dump was given, and its instructions."""
    text = path.read_text(encoding="utf-8", errors="replace")
    name = re.search(r"^desc: Trigger: Client Request: (\S+)$", text, re.MULTILINE)
    total = re.search(r"^(?:totals|summary): (\d+)", text, re.MULTILINE)
    return (name[1], int(total[1])) if name and total else None


def environment_of(needs: str) -> dict[str, str]:
    """Return the environment of the counts: releases, and the compiler."""
    command = [compiler("CC"), "--version"]
    said = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    return {
        "python": f"{platform.python_version()} ({platform.python_compiler()})",
        "numpy": version("numpy"),
        "compiler": (said.splitlines() or ["unknown"])[0],
        "libc": " ".join(platform.libc_ver()),
        "machine": platform.machine(),
        **({needs: version(needs)} if needs != "numpy" else {}),
    }


def differences(now: dict[str, float], then: dict[str, float]) -> list[str]:
    """Return a line for every count that changed."""
    lines = []
    for name in {**then, **now}:
        if name not in then or name not in now:
            lines.append(f"{name}: {'not checked in' if name in now else 'was not counted'}")
            continue
        change = now[name] / then[name] - 1
        if abs(now[name] - then[name]) > TOLERANCE * then[name]:
            lines.append(f"{name}: {then[name]:.0f} became {now[name]:.0f} ({change:+.1%})")
    return lines


def compare(known: dict[str, Any], needs: str, now: dict[str, float]) -> list[str]:
    """Return the counts that changed since those of this environment were written."""
    entry = known.get(_minor(), {}).get(needs)
    if entry is None:
        raise CannotTellError(f"no counts of Python {_minor()} with {needs} are there; --write")
    then, here = entry["environment"], environment_of(needs)
    other = [
        f"{key}: {then.get(key)}, here {here[key]}" for key in here if then.get(key) != here[key]
    ]
    if other:
        said = "; ".join(other)
        raise CannotTellError(f"what is checked in was counted elsewhere ({said}); --write")
    return differences(now, entry["counts"])


def main() -> int:
    """Run the measurements that the options select."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="these are the counts from now on")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        run_child(options.child)
        return 0
    known = json.loads(COUNTS.read_text(encoding="utf-8")) if COUNTS.exists() else {}
    status = 0
    for needs in dict.fromkeys(kind.needs for kind in KINDS):
        found = _judge(known, needs, write=options.write)
        status = 1 if 1 in {status, found} else max(status, found)
    if options.write:
        COUNTS.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return status


def _judge(known: dict[str, Any], needs: str, *, write: bool) -> int:
    """Count, print, and compare or write; return the exit status."""
    try:
        now = count(needs)
        for name, number in now.items():
            print(f"{number:10.1f}  {name}")
        if write:
            entry = {"environment": environment_of(needs), "counts": now}
            known.setdefault(_minor(), {})[needs] = entry
            return 0
        changed = compare(known, needs, now)
    except (CannotTellError, PackageNotFoundError, OSError) as error:
        print(f"cannot tell ({needs}): {error}")
        return 2
    print("\n".join(changed) or f"within {TOLERANCE:.0%} of what is checked in")
    return 1 if changed else 0


def _minor() -> str:
    """Return the release of this Python that counts are checked in for."""
    return ".".join(platform.python_version_tuple()[:2])


if __name__ == "__main__":
    sys.exit(main())
