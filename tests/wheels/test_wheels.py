"""The wheel, built twice, audited by other people's tools; and the builds that cibuildwheel makes.

Source: ``audit.py``, which says what each tool has to find.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


@pytest.mark.slow
@pytest.mark.isolated
def test_tools_accept_the_wheel_and_two_builds_are_equal():
    """Tools that are not installed are left out; both builds are made in any case."""
    done = subprocess.run(
        [sys.executable, HERE / "audit.py"], capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert done.stdout.startswith("built twice: yes")


@pytest.mark.interop
@pytest.mark.isolated
def test_cibuildwheel_selects_one_wheel_for_all_and_one_for_each_without_the_gil():
    """On Linux, for both C libraries."""
    pytest.importorskip("cibuildwheel")
    command = ("-m", "cibuildwheel", "--print-build-identifiers", "--platform", "linux")
    done = subprocess.run(
        [sys.executable, *command, "--archs", "x86_64,aarch64"],
        cwd=ROOT,
        env={**os.environ},
        capture_output=True,
        text=True,
        check=True,
    )

    kinds = {re.sub(r"-.*linux_", "-", name) for name in done.stdout.split()}
    assert {"cp310-x86_64", "cp310-aarch64", "cp314t-x86_64", "cp314t-aarch64"} <= kinds
    assert all(kind.startswith(("cp310-", "cp314t-")) for kind in kinds)
    assert "musllinux" in done.stdout
