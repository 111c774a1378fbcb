"""The program that takes screenshots of the pages works."""

from __future__ import annotations

import struct
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.browser
PROGRAM = Path(__file__).with_name("screens.py")


@pytest.mark.usefixtures("browser", "built")
def test_a_page_is_taken_by_light_and_dark_in_two_widths(tmp_path):
    """A page's top and its figure are PNG files of the screen's size, for each view."""
    command = [sys.executable, str(PROGRAM), str(tmp_path), "index"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=110, check=False)
    sizes = {
        path.name: struct.unpack(">II", path.read_bytes()[16:24]) for path in tmp_path.iterdir()
    }

    assert (done.returncode, done.stderr) == (0, "")
    assert sizes == {
        f"index-{width}-{scheme}-{what}.png": (width, 900)
        for width in (1280, 400)
        for scheme in ("light", "dark")
        for what in ("top", "figure")
    }
