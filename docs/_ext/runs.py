"""Reports the result of a test run, from the log that the run wrote.

``pytest --write-log FILE`` writes such logs (tests/run_log.py).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

GENERATED: Final = Path(__file__).parents[1] / "_generated"
_ENDS: Final = ("passed", "failed", "errors", "xfailed", "not_run")
_LEFT_OUT: Final = {"errors": "errors", "xfailed": "failed as expected", "not_run": "not run"}


def run_log(name: str) -> str:
    """Return the contents of the log ``_generated/<name>.json``, or a note that it is missing."""
    path = GENERATED / f"{name}.json"
    if not path.exists():
        return "**No log of such a run has been kept yet.**"
    return described(json.loads(path.read_text(encoding="utf-8")))


def described(log: dict[str, Any]) -> str:
    """Return a log as Markdown.

    Raises
    ------
    ValueError
        Its counts are not those of all tests that were selected.
    """
    skipped = sum(log["skipped"].values())
    counted = skipped + sum(log[end] for end in _ENDS)
    if counted != log["selected"]:
        raise ValueError(f"the log counts {counted} of {log['selected']} tests")
    others = [f"{log[end]} {words}" for end, words in _LEFT_OUT.items() if log[end]]
    counts = [f"{log['passed']} passed", f"{log['failed']} failed", *others, f"{skipped} skipped"]
    where = f"{_machine(log['machine'])}, {log['began'][:10]}, at commit {_commit(log)}"
    lines = [
        f"`{log['command']}` on {where}: of {log['selected']} tests {', '.join(counts)}.",
        "",
        f"Releases: {', '.join(f'{name} {found}' for name, found in log['versions'].items())}.",
    ]
    if log["skipped"]:
        rows = [f"| {_cell(why)} | {number} |" for why, number in log["skipped"].items()]
        lines += ["", "| Skipped because | Tests |", "|---|--:|", *rows]
    if log["failures"]:
        lines += ["", "Failed:", "", *(f"- `{one}`" for one in log["failures"])]
    return "\n".join(lines)


def _commit(log: dict[str, Any]) -> str:
    """Return the commit, and whether its files were changed."""
    changed = " with changes" if log["changed_since_commit"] else ""
    return f"`{log['commit']}`{changed}" if log["commit"] else "that is not known"


def _machine(machine: dict[str, Any]) -> str:
    """Return the environment of the tests."""
    if machine["cuda_driver"] != "real":
        return f"the emulated driver, {machine['system']}"
    names = ", ".join(machine["devices"]) or "no device"
    versions = f"driver {machine['kernel_driver']}, CUDA {machine['cuda_version']}"
    return f"{names} ({versions}; {machine['system']}, {machine['cpus']} cores)"


def _cell(text: str) -> str:
    """Return text for a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "\\<")
