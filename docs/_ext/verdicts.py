"""Writes the verdicts and the picture of the page on conformance, both of a real run.

Source: interchange.  ``python docs/_ext/verdicts.py`` takes some minutes.  The verdicts begin
with a fingerprint of what they were made from, by which a test sees when they are stale.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from interchange_conformance.judging import expectations
from interchange_conformance.registry import load_checks

DOCS: Final = Path(__file__).parents[1]
VERDICTS: Final = DOCS / "_generated" / "conformance.md"
PICTURE: Final = DOCS / "_static" / "conformance.png"
JUDGED: Final = (
    "numpy", "array-api-strict", "torch", "jax", "pyarrow", "tvm-ffi", "cuda-core",
    "cuda-core-buffer", "numba-cuda", "warp", "interchange",
)  # fmt: skip
"""The libraries of the page, in its order."""


def _digest(value: object) -> str:
    """Return a short digest of what JSON can say."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def fingerprint_of_verdicts() -> str:
    """Return a digest of all checks, and of what the libraries of the page are known to fail."""
    checks = [
        [list(check.items()), check.rule, check.severity, check.claim]
        for check in load_checks().values()
    ]
    known = [
        file.read_text(encoding="utf-8")
        for name in JUDGED
        if (file := expectations.shipped_file(name.replace("-", "_"))) is not None
    ]
    return _digest([checks, known])


def _stamp(path: Path, fingerprint: str) -> None:
    """Put a fingerprint at the head of a file."""
    text = path.read_text(encoding="utf-8")
    path.write_text(f"<!-- Fingerprint: {fingerprint} -->\n{text}", encoding="utf-8")


def _run(*command: str) -> None:
    """Run one of the kit's commands; what is unexpected ends this, too."""
    subprocess.run([sys.executable, *command], check=True)  # noqa: S603 - our own modules


def main() -> None:
    """Write both."""
    with tempfile.TemporaryDirectory() as folder:
        report = str(Path(folder) / "report.json")
        kit = ("-m", "interchange_conformance")
        options = (
            "--cuda",
            "emulated",
            "--grid",
            "--fail-on-quirks",
            "--json",
            report,
            "--markdown",
            str(VERDICTS),
        )
        _run(*kit, "check", *JUDGED, *options)
        _stamp(VERDICTS, fingerprint_of_verdicts())
        _run(str(Path(__file__).with_name("picture.py")), report, str(PICTURE))


if __name__ == "__main__":
    main()
