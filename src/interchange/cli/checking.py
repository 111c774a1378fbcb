"""``interchange check``: hands over to the conformance kit, which judges interchange, too.

Source: PEP 610, for where interchange was installed from.  The kit is a distribution
of its own.  Where it is installed, only its options are read at once: what judges is imported when
it shall.
"""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit
from urllib.request import url2pathname

from interchange._reports.texts import command_that_installs

from .errors import UsageError

if TYPE_CHECKING:
    import argparse
    from typing import Any

_KIT: Final = "interchange_conformance"
_DISTRIBUTION: Final = "array-interchange-conformance"
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
        raise UsageError(f"{words}; {way_to_install()}")
    _check_release()
    from interchange_conformance.cli import command

    code: int = command.run(options)
    return code


def subjects() -> list[str]:
    """Return the names of libraries that the kit knows, and that of all; nothing without it."""
    if importlib.util.find_spec(_KIT) is None:
        return []
    from interchange_conformance.running.loading import shipped

    return ["all", *shipped()]


def _check_release() -> None:
    """Refuse a kit of another release: it judges by another rule book."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        ours, of_kit = version("array-interchange"), version(_DISTRIBUTION)
    except PackageNotFoundError:  # one runs from its sources
        return
    if ours != of_kit:
        words = f"the conformance kit is of release {of_kit}, and interchange of {ours}"
        raise UsageError(f"{words}; {way_to_install()}")


def way_to_install() -> str:
    """Return how to install the kit beside this interchange, of the same release."""
    source = _source()
    where = "" if source else " in a clone or an unpacked source distribution of this release"
    return f"install it{where} with: {command_that_installs(source or './conformance')}"


def _source() -> str:
    """Return the kit's folder in the clone that interchange came from, or no words."""
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        here = distribution("array-interchange")
    except PackageNotFoundError:  # it runs from its sources
        return ""
    origin = urlsplit(json.loads(here.read_text("direct_url.json") or "{}").get("url", ""))
    project = Path(url2pathname(origin.path)) / "conformance"
    is_clone = origin.scheme == "file" and (project / "pyproject.toml").is_file()
    return str(project) if is_clone else ""
