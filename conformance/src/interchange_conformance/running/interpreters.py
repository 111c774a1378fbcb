"""Another interpreter: that of an environment in which the library is installed without the kit.

The kit needs a recent NumPy next to interchange, which the library under test may not support.  The
processes that run checks need the kit's own modules and `interchange.abi`, which import only the
standard library: the other interpreter finds them in a directory with two links.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from interchange import abi

if TYPE_CHECKING:
    from collections.abc import Iterable

_KIT: Final = "interchange_conformance"
_LONGEST: Final = 60.0  # for an interpreter to start [seconds]
_OLDEST: Final = (3, 10)  # oldest version that the kit supports
_ASK: Final = """
import json, platform, sys
from importlib import metadata
found = []
for name in sys.argv[1:]:
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        continue
    found.append(name)
print(json.dumps([platform.python_version(), platform.python_implementation(), found]))
"""


class NoInterpreterError(Exception):
    """The named interpreter cannot be used; the message contains the reason."""


def found(name: str) -> str:
    """Return the path of an interpreter, named by a path or a command.

    Raises `NoInterpreterError`: it does not exist, or is too old.
    """
    path = shutil.which(name)
    if path is None:
        raise NoInterpreterError(f"--python: {name!r} is no program")
    version, kind, _ = _asked(os.path.abspath(path), ())  # noqa: PTH100 - no links are followed
    if kind != "CPython" or tuple(map(int, version.split(".")[:2])) < _OLDEST:
        due = ".".join(map(str, _OLDEST))
        raise NoInterpreterError(f"--python: {name} is {kind} {version}; CPython {due} is due")
    return os.path.abspath(path)  # noqa: PTH100 - as above: that of a venv is a link


def version_of(python: str) -> str:
    """Return the version of an interpreter."""
    return _asked(python, ())[0]


def distributions_of(python: str, names: Iterable[str]) -> list[str]:
    """Return which of some distributions are installed in an interpreter's environment."""
    return _asked(python, tuple(names))[2]


@cache
def _asked(python: str, names: tuple[str, ...]) -> tuple[str, str, list[str]]:
    """Return version, kind and distributions of an interpreter."""
    try:
        done = subprocess.run(  # noqa: S603 - requested by the user
            [python, "-c", _ASK, *names], capture_output=True, text=True, timeout=_LONGEST,
            check=True,
        )  # fmt: skip
        version, kind, there = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        raise NoInterpreterError(f"--python: {python} is no interpreter: {error}") from error
    return version, kind, there


@cache
def _linked() -> tempfile.TemporaryDirectory[str]:
    """Create the directory with the links, which is deleted when this process ends."""
    folder = tempfile.TemporaryDirectory(prefix="interchange-kit-")
    packages = {"interchange": Path(abi.__path__[0]).parent, _KIT: Path(__file__).parents[1]}
    for name, place in packages.items():
        (Path(folder.name) / name).symlink_to(place, target_is_directory=True)
    return folder


def environment(python: str) -> dict[str, str]:
    """Return the variables with which an interpreter finds the kit; none for this one, `""`."""
    if not python:
        return {}
    paths = [_linked().name, os.environ.get("PYTHONPATH", "")]
    return {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
