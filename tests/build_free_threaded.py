"""Build a free-threaded CPython from Debian's source of python3.13, for ``tox -e freethreaded``.

Source: CPython, ``./configure --disable-gil`` (PEP 703).  Debian has no package of such a Python.
The source is fetched by apt with lists of its own, so that the machine's packages stay as they are.

Usage: ``python tests/build_free_threaded.py FOLDER``; ``FOLDER/bin/python3.13t`` is the result.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

NAME = "python3.13"
RELEASE = "trixie"  # of Debian, with this source
SOURCES = f"deb-src http://deb.debian.org/debian {RELEASE} main\n"
NEEDED = ("apt-get", "gcc", "make")


def run(folder: Path, *command: str) -> None:
    """Run a command in a folder; it ends the program if it fails."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command[:3])} ... failed:\n{(done.stdout + done.stderr)[-4000:]}")


def fetch(folder: Path) -> Path:
    """Download the source, and return the folder that it was unpacked to."""
    lists, archives = folder / "lists", folder / "cache" / "archives"
    for each in (lists, archives):
        (each / "partial").mkdir(parents=True)
    (folder / "sources.list").write_text(SOURCES, encoding="utf-8")
    options = {
        "Dir::Etc::sourcelist": folder / "sources.list",
        "Dir::Etc::sourceparts": "-",
        "Dir::State::lists": lists,
        "Dir::Cache": folder / "cache",
    }
    apt = ["apt-get", "-q", *(f"-o{name}={value}" for name, value in options.items())]
    run(folder, *apt, "update")
    run(folder, *apt, "source", "--download-only", NAME)
    (archive,) = folder.glob("*.orig.tar.xz")
    run(folder, "tar", "-xf", archive.name)
    (unpacked,) = folder.glob("Python-*")
    return unpacked


def build(source: Path, target: Path) -> Path:
    """Build and install the interpreter, and return its path."""
    run(source, "./configure", "-q", "--disable-gil", f"--prefix={target}")
    run(source, "make", "-s", f"-j{os.cpu_count() or 1}")
    run(source, "make", "-s", "install")
    return target / "bin" / f"{NAME}t"


def main() -> None:
    """Build the interpreter, unless it is there."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    target: Path = parser.parse_args().folder.resolve()
    python = target / "bin" / f"{NAME}t"
    missing = [name for name in NEEDED if shutil.which(name) is None]
    if missing and not python.exists():
        sys.exit(f"{', '.join(missing)}: not here, and needed to build CPython")
    if not python.exists():
        with tempfile.TemporaryDirectory() as folder:
            build(fetch(Path(folder)), target)
    print(python)


if __name__ == "__main__":
    main()
