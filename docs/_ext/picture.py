"""Takes the screenshot of a conformance report in the docs, with headless Chromium.

Source: Chromium, "Headless mode".  ``interchange check ... --json report.json``, and then
``python docs/_ext/picture.py report.json docs/_static/conformance.png``.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from interchange_conformance.reports.as_json import UnreadableReportError, from_json
from interchange_conformance.reports.html import as_html

MOST: Final = 200_000  # of a picture in the repository [bytes]
WIDTH: Final = 1280  # [pixels]
HEIGHT: Final = 1180  # [pixels]
TIME: Final = 120.0  # that Chromium may take [seconds]
OPTIONS: Final = (
    "--headless=new", "--disable-gpu", "--disable-dev-shm-usage", "--disable-quic",
    "--no-first-run", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--hide-scrollbars", "--force-device-scale-factor=1",
)  # fmt: skip


class PictureError(Exception):
    """The screenshot failed; the message says why."""


def take_picture(
    page: Path, picture: Path, *, width: int = WIDTH, height: int = HEIGHT, is_dark: bool = False
) -> None:
    """Write the upper part of a page to a PNG file."""
    chromium = shutil.which("chromium")
    if chromium is None:
        raise PictureError("there is no chromium; Debian has it in a package of this name")
    with tempfile.TemporaryDirectory() as folder:
        taken = Path(folder) / "taken.png"
        command = [
            chromium, *OPTIONS, *(["--no-sandbox"] if os.geteuid() == 0 else []),
            f"--user-data-dir={folder}/profile", f"--window-size={width},{height}",
            f"--blink-settings=preferredColorScheme={int(not is_dark)}",  # 0 is dark, and 1 light
            f"--screenshot={taken}", page.resolve().as_uri(),
        ]  # fmt: skip
        done = subprocess.run(  # noqa: S603 - our own page
            command, capture_output=True, text=True, timeout=TIME, check=False
        )
        if not taken.is_file():
            raise PictureError(f"chromium took no picture: {done.stderr[-500:]}")
        if taken.stat().st_size > MOST:
            raise PictureError(f"the picture has {taken.stat().st_size} bytes; {MOST} is the most")
        picture.write_bytes(taken.read_bytes())


def main(arguments: list[str]) -> int:
    """Take a picture of a report, JSON or the page itself."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("report", type=Path, help="what interchange check --json or --html wrote")
    parser.add_argument("picture", type=Path, help="the PNG file to write")
    parser.add_argument("--width", type=int, default=WIDTH, help="of the picture [pixels]")
    parser.add_argument("--height", type=int, default=HEIGHT, help="of the picture [pixels]")
    parser.add_argument("--dark", action="store_true", help="as who prefers dark sees it")
    asked = parser.parse_args(arguments)
    try:
        text = asked.report.read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder) / "report.html"
            is_page = asked.report.suffix == ".html"
            page.write_text(text if is_page else as_html(*from_json(text)), encoding="utf-8")
            size = {"width": asked.width, "height": asked.height}
            take_picture(page, asked.picture, **size, is_dark=asked.dark)
    except (OSError, UnreadableReportError, PictureError, subprocess.TimeoutExpired) as error:
        print(f"picture: {error}", file=sys.stderr)  # noqa: T201 - a command prints its errors
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
