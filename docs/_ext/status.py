"""What was run where: sentences for the pages and the README, from ``_generated/status.json``.

``python docs/_ext/status.py`` reads the records of runs again (`RECORDS`), and writes the data file
and the README's section; with ``--check`` it only tells whether both are up to date.  A run without
a record stays in the file as it was noted.  Needs no Sphinx, as `tables`.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[2]
GENERATED: Final = ROOT / "docs" / "_generated"
DATA: Final = GENERATED / "status.json"
README: Final = ROOT / "README.md"
_SECTION: Final = re.compile(r"(<!-- status -->\n).*?(<!-- end -->)", re.DOTALL)


def _tests(text: str) -> dict[str, Any]:
    """Return the facts of a log of tests (tests/run_log.py)."""
    log = json.loads(text)
    return {
        "date": log["began"][:10],
        "commit": log["commit"],
        "changed_since_commit": log["changed_since_commit"],
        "device": ", ".join(log["machine"]["devices"]),
        "driver": log["machine"]["kernel_driver"],
        "cuda": log["machine"]["cuda_version"],
        **{name: log[name] for name in ("selected", "passed", "failed")},
        "skipped": sum(log["skipped"].values()),
    }


def _matched(pattern: str, text: str) -> dict[str, Any]:
    """Return the named groups of a pattern in a record."""
    match = re.search(pattern, text)
    if match is None:
        raise ValueError(f"a record has nothing like {pattern}")
    return match.groupdict()


def _kernels(text: str) -> dict[str, Any]:
    """Return the facts of the benchmark of kernels (tests/bench/kernels_device.py)."""
    when, where = r"on (?P<date>[\d-]+), commit (?P<commit>\w+), ", r"(?P<device>.+?), driver API "
    return _matched(rf"{when}{where}(?P<cuda>[\d.]+)", text)


def _matrix(text: str) -> dict[str, Any]:
    """Return the facts of a matrix of exchanges (``interchange matrix``), which has no date."""
    return _matched(r"Run on (?P<device>.+), with a driver of CUDA (?P<cuda>[\d.]+):", text)


RECORDS: Final = {
    "tests": ("tests-gpu.json", _tests),
    "kernels": ("kernels-gpu.md", _kernels),
    "matrix": ("matrix-gpu.md", _matrix),
}
"""Name of a run on a GPU -> its record in ``_generated``, and the function that reads it."""


def status() -> dict[str, Any]:
    """Return the data."""
    found: dict[str, Any] = json.loads(DATA.read_text(encoding="utf-8"))
    return found


def refreshed() -> dict[str, Any]:
    """Return the data with the facts of the records as they are now."""
    found = status()
    for name, (record, read) in RECORDS.items():
        text = (GENERATED / record).read_text(encoding="utf-8")
        found["gpu"][name] = {"record": record, **read(text)}
    return found


def gpus() -> set[str]:
    """Return the names of the GPUs on which anything was run."""
    return {run["device"] for run in status()["gpu"].values()}


# ---------------------------------------------------------------- sentences


def _where(run: dict[str, Any]) -> str:
    """Return the GPU of a run, its driver, the date and the commit, as far as they are known."""
    versions = [f"driver {run['driver']}"] if "driver" in run else []
    versions += [f"CUDA {run['cuda']}", *run.get("host", [])]
    date = f" on {run['date']}" if "date" in run else ""
    commit = f" at commit `{run['commit'][:7]}`" if run.get("commit") else ""
    changed = ", with changes" if run.get("changed_since_commit") else ""
    return f"one {run['device']} ({', '.join(versions)}){date}{commit}{changed}"


def sentences() -> dict[str, str]:
    """Return name of a substitution -> Markdown without links."""
    found = status()
    runs = found["gpu"]
    tests, untested = runs["tests"], " and ".join(found["never_run"])
    return {
        "gpu_tests": (
            f"The tests with the mark `gpu` were run on {_where(tests)}: of {tests['selected']}"
            f" tests {tests['passed']} passed, {tests['failed']} failed and"
            f" {tests['skipped']} were skipped."
        ),
        "gpu_kernels": f"The benchmark of kernels was run on {_where(runs['kernels'])}.",
        "gpu_matrix": f"The matrix of exchanges was run on {_where(runs['matrix'])}.",
        "gpu_overhead": (
            f"The timings of stream ordering were taken on {_where(runs['overhead'])};"
            f" {runs['overhead']['note']}."
        ),
        "gpu_never": f"Not run: {untested}.",
        "free_threaded": found["free_threaded"],
        "i386_run": found["i386"],
        "pythons_run": "\n".join(
            ["| CPython | Tests |", "|---|---|"]
            + [f"| {row['versions']} | {row['tests']} |" for row in found["pythons"]]
        ),
    }


def section() -> str:
    """Return the README's section."""
    said = sentences()
    record = "[record](docs/_generated/tests-gpu.json)"
    lines = [
        "- Every change is tested on Linux, with the streams on an emulated CUDA driver.",
        *(
            f"- {said[f'gpu_{name}']}"
            for name in ("tests", "kernels", "matrix", "overhead", "never")
        ),
    ]
    lines[1] = f"{lines[1].removesuffix('.')} ({record})."
    return "\n".join(lines)


def filled(readme: str) -> str:
    """Return the text of the README with the section of today."""
    return _SECTION.sub(lambda match: f"{match[1]}\n{section()}\n\n{match[2]}", readme)


def main(arguments: list[str]) -> int:
    """Write the data file and the README, or check them."""
    text = json.dumps(refreshed(), indent=1, ensure_ascii=False) + "\n"
    is_same = DATA.read_text(encoding="utf-8") == text
    if "--check" not in arguments:
        DATA.write_text(text, encoding="utf-8")
    readme = README.read_text(encoding="utf-8")
    is_same = is_same and filled(readme) == readme
    if "--check" not in arguments:
        README.write_text(filled(readme), encoding="utf-8")
        return 0
    return int(not is_same)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
