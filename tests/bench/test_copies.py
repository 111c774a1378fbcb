"""The benchmark of copies runs, and all of its copies are right."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def test_all_layouts_are_copied():
    """The program compares each copy with NumPy's before it measures."""
    done = subprocess.run(
        [sys.executable, str(HERE / "copies.py"), "--quick"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
