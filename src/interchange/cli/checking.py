"""``interchange check``: hands over to the conformance kit, which judges interchange, too.

Source: interchange; PEP 610, for where interchange was installed from.  The kit is a distribution
of its own.  Where it is installed, only its options are read at once: what judges is imported when
it shall.
"""

from __future__ import annotations

import importlib.util
import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit
from urllib.request import url2pathname

from .errors import UsageError

if TYPE_CHECKING:
    import argparse
    from typing import Any

_KIT: Final = "interchange_conformance"
SUBJECTS: Final = "SUBJECT"
"""What the help of the kit calls a library that is to be judged."""
_WORDS: Final = "judge array libraries by the rule book"


def add_parser(commands: Any) -> None:
    """Add the command to those of ``interchange``; without the kit it takes anything."""
    if importlib.util.find_spec(_KIT) is None:
        words = f"{_WORDS}; takes the conformance kit, which is not installed"
        parser = commands.add_parser("check", help=words, add_help=False, prefix_chars="\0")
        parser.add_argument("anything", nargs="*")
        return
    from interchange_conformance.cli.options import add_arguments

    add_arguments(commands.add_parser("check", help=_WORDS, description=f"{_WORDS}."))


def run(options: argparse.Namespace) -> int:
    """Run it, and return the exit code.

    Raises
    ------
    UsageError
        The kit is not installed.
    """
    if importlib.util.find_spec(_KIT) is None:
        words = "check takes the conformance kit, a distribution of its own"
        raise UsageError(f"{words}; install it with: {command_that_installs()}")
    from interchange_conformance.cli import command

    code: int = command.run(options)
    return code


def subjects() -> list[str]:
    """Return the names of libraries that the kit knows, and that of all; nothing without it."""
    if importlib.util.find_spec(_KIT) is None:
        return []
    from interchange_conformance.running.loading import shipped

    return ["all", *shipped()]


def command_that_installs() -> str:
    """Return the command that installs the kit beside this interchange, of the same release."""
    pip = (sys.executable or "python", "-m", "pip", "install")
    return shlex.join([*pip, _source()])


def _source() -> str:
    """Return what pip is to install: the folder in the clone that interchange came from, if any."""
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        here = distribution("array-interchange")
    except PackageNotFoundError:  # it runs from its sources
        return "array-interchange-conformance"
    origin = urlsplit(json.loads(here.read_text("direct_url.json") or "{}").get("url", ""))
    project = Path(url2pathname(origin.path)) / "conformance"
    if origin.scheme == "file" and (project / "pyproject.toml").is_file():
        return str(project)
    return f"array-interchange-conformance=={here.version}"
