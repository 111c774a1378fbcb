"""Writes the verdicts and the screenshots of the page on conformance, from a run of the kit.

``python docs/_ext/verdicts.py`` takes some minutes; with the JSON of a report it runs nothing, and
uses that report.  The verdicts have a fingerprint of their inputs, by which a test detects that
they are out of date.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from interchange_conformance.judging import expectations
from interchange_conformance.registry import load_checks
from interchange_conformance.reports.as_json import from_json
from interchange_conformance.reports.states import count
from interchange_conformance.reports.tabulating import tables

if TYPE_CHECKING:
    from collections.abc import Iterable

    from interchange_conformance.reports.catalogue import Catalogue
    from interchange_conformance.reports.model import Report

DOCS: Final = Path(__file__).parents[1]
VERDICTS: Final = DOCS / "_generated" / "conformance.json"
PICTURES: Final = {
    DOCS / "_static" / "conformance.png": (),
    DOCS / "_static" / "conformance-dark.png": ("--dark",),
}
"""The path of each screenshot of the report, and its arguments."""
JUDGED: Final = (
    "numpy", "array-api-strict", "torch", "jax", "pyarrow", "tvm-ffi", "cuda-core",
    "cuda-core-buffer", "numba-cuda", "warp", "interchange",
)  # fmt: skip
"""The libraries of the page, in its order."""


def _digest(value: object) -> str:
    """Return a short digest of a JSON-serialisable value."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def fingerprint_of_verdicts() -> str:
    """Return a digest of the checks and the known failures, on which the verdicts depend.

    Docstrings of checks, reasons and comments are excluded, so that they can change without a new
    run.
    """
    checks = [
        [list(check.items()), check.rule, check.severity]
        for _, check in sorted(load_checks().items())  # in whichever order they were imported
    ]
    known = [
        [
            [one.check, sorted(one.statuses), one.releases, one.python, sorted(one.drivers)]
            for one in expectations.read(file)
        ]
        for name in JUDGED
        if (file := expectations.shipped_file(name.replace("-", "_"))) is not None
    ]
    return _digest([checks, known])


# ---------------------------------------------------------------- contents of a report


def kept(report: Report, catalogue: Catalogue) -> dict[str, Any]:
    """Return a report's contents for the pages: by role, rule and severity the worst verdict."""
    rows = [
        {
            "role": table.role,
            "area": block.area,
            "rule": row.rule.id,
            "severity": row.severity,
            "states": {
                subject.spec: cell.state.key
                for subject, cell in zip(table.subjects, row.cells, strict=True)
                if cell.state
            },
        }
        for table in tables(report, catalogue)
        for block in table.blocks
        for row in block.rows
    ]
    libraries = [
        {
            "spec": subject.spec,
            "name": subject.name,
            "release": subject.version,
            "counts": count(subject.judged),
        }
        for subject in report.subjects
    ]
    return {
        "fingerprint": fingerprint_of_verdicts(),
        "unexpected": report.unexpected,
        "kit": report.kit,
        "python": report.python,
        "platform": report.platform,
        "driver": report.driver,
        "libraries": libraries,
        "rows": rows,
        "grid": [[one.producer, one.consumer, one.status] for one in report.grid],
    }


def as_text(told: dict[str, Any]) -> str:
    """Return it as JSON, with a line for each library, rule and exchange."""
    fields = [
        f" {json.dumps(key)}: {_lines(value) if isinstance(value, list) else json.dumps(value)}"
        for key, value in told.items()
    ]
    return "{\n" + ",\n".join(fields) + "\n}\n"


def _lines(values: Iterable[Any]) -> str:
    """Return a list with a line for each of its values."""
    return "[\n" + ",\n".join(f"  {json.dumps(value)}" for value in values) + "\n ]"


# ---------------------------------------------------------------- the run


def _run(*command: str) -> None:
    """Run one of the kit's commands; an unexpected result raises SystemExit."""
    subprocess.run([sys.executable, *command], check=True)  # noqa: S603 - our own modules


def _write(report: Path) -> None:
    """Write all from the JSON of a report."""
    told = kept(*from_json(report.read_text(encoding="utf-8")))
    VERDICTS.write_text(as_text(told), encoding="utf-8")
    for picture, options in PICTURES.items():
        _run(str(Path(__file__).with_name("picture.py")), str(report), str(picture), *options)


def main() -> None:
    """Write all."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("report", type=Path, nargs="?", help="what interchange check --json wrote")
    asked = parser.parse_args().report
    if asked is not None:
        _write(asked)
        return
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        options = ("--cuda", "emulated", "--grid", "--fail-on-quirks", "--json", str(report))
        _run("-m", "interchange_conformance", "check", *JUDGED, *options)
        _write(report)


if __name__ == "__main__":
    main()
