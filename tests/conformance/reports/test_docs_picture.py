"""The screenshot of a report in the documentation can be taken again."""

from __future__ import annotations

import struct
import subprocess
import sys
from pathlib import Path

import pytest

from interchange_conformance.reports.as_json import as_json
from interchange_conformance.reports.html import as_html

PROGRAM = Path(__file__).parents[3] / "docs" / "_ext" / "picture.py"


def run(*arguments):
    """Run the program."""
    command = [sys.executable, str(PROGRAM), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=150, check=False)


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.usefixtures("browser")
@pytest.mark.parametrize(("name", "write"), [("r.json", as_json), ("r.html", as_html)])
def test_a_report_becomes_a_picture(tmp_path, report, catalogue, name, write):
    """It has the requested size, and is small enough for the repository."""
    source, picture = tmp_path / name, tmp_path / "taken.png"
    source.write_text(write(report, catalogue), encoding="utf-8")

    done = run(source, picture, "--width", 1000, "--height", 600)

    assert (done.returncode, done.stderr) == (0, "")
    data = picture.read_bytes()
    assert data.startswith(b"\x89PNG\r\n")
    assert struct.unpack(">II", data[16:24]) == (1000, 600)
    assert len(data) < 200_000


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.usefixtures("browser")
def test_a_picture_is_taken_by_dark_where_that_is_asked_for(tmp_path, report, catalogue):
    """The dark screenshot is a different one."""
    source = tmp_path / "r.html"
    source.write_text(as_html(report, catalogue), encoding="utf-8")
    size = ("--width", 1000, "--height", 600)

    ends = [
        run(source, tmp_path / "light.png", *size).returncode,
        run(source, tmp_path / "dark.png", *size, "--dark").returncode,
    ]

    assert ends == [0, 0]
    assert (tmp_path / "light.png").read_bytes() != (tmp_path / "dark.png").read_bytes()


@pytest.mark.parametrize(
    ("text", "words"), [(None, "No such file"), ("{}", "the text is no report")]
)
def test_what_is_no_report_becomes_no_picture(tmp_path, text, words):
    """The program prints the error, and writes nothing."""
    if text is not None:
        (tmp_path / "r.json").write_text(text, encoding="utf-8")

    done = run(tmp_path / "r.json", tmp_path / "taken.png")

    assert done.returncode == 2
    assert words in done.stderr
    assert not (tmp_path / "taken.png").exists()
