"""The benchmarks run, and say what they measured; whether a budget holds is for a quiet machine."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.mark.slow
def test_every_case_runs_and_is_printed():
    """A quick run prints one row per case and exits with 0."""
    done = subprocess.run(
        [sys.executable, str(HERE), "--quick"], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n| ") >= 8
