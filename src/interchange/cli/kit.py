"""The commands of the conformance kit: ``interchange check`` and ``interchange matrix``.

Source: PEP 610, for the place that interchange was installed from.  The kit is a separate
distribution.  If it is installed, its options are read at once, and the rest is imported when a
command runs.
"""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit
from urllib.request import url2pathname

from . import versions
from .output import UsageError, install_command

if TYPE_CHECKING:
    import argparse
    from typing import Any

_KIT: Final = "interchange_conformance"
_DISTRIBUTION: Final = "array-interchange-conformance"
COMMANDS: Final = {
    "matrix": "which array libraries exchange with which on this machine",
    "check": "judge array libraries by the rule book",
}
"""Command of the kit -> what it does."""


def add_parsers(commands: Any) -> None:
    """Add the commands to those of ``interchange``; without the kit they accept any arguments."""
    if importlib.util.find_spec(_KIT) is None:
        for name, words in COMMANDS.items():
            words = f"{words}; needs the conformance kit, which is not installed"  # noqa: PLW2901
            parser = commands.add_parser(name, help=words, add_help=False, prefix_chars="\0")
            parser.add_argument("anything", nargs="*")
        return
    from interchange_conformance.cli.options import add_arguments, add_matrix_arguments

    add = {"matrix": add_matrix_arguments, "check": add_arguments}
    for name, words in COMMANDS.items():
        add[name](commands.add_parser(name, help=words, description=f"{words.capitalize()}."))


def run(options: argparse.Namespace) -> int:
    """Run a command of the kit, and return its exit code.

    Raises UsageError: the kit is not installed, or belongs to another release.
    """
    if importlib.util.find_spec(_KIT) is None:
        words = f"{options.command} needs the conformance kit, a separate distribution"
        raise UsageError(f"{words}; {_how_to_install()}")
    _check_release()
    if options.command == "matrix":
        from interchange_conformance.cli import matrix

        return matrix.run(options, versions.environment())
    from interchange_conformance.cli import command

    return command.run(options)


def names() -> dict[str, list[str]]:
    """Return which names may replace the words in capitals in the kit's help texts."""
    if importlib.util.find_spec(_KIT) is None:
        return {}
    from interchange_conformance.cli.options import names

    return names()


def _check_release() -> None:
    """Refuse a kit of another release, whose rule book differs."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        ours, of_kit = version("array-interchange"), version(_DISTRIBUTION)
    except PackageNotFoundError:  # one of them runs from its sources
        return
    if ours != of_kit:
        words = f"the conformance kit has release {of_kit}, and interchange has {ours}"
        raise UsageError(f"{words}; {_how_to_install()}")


def _how_to_install() -> str:
    """Return how to install the kit of the same release."""
    source = _source()
    where = "" if source else " in a clone or an unpacked source distribution of this release"
    return f"install it{where} with: {install_command(source or './conformance')}"


def _source() -> str:
    """Return the kit's folder in the clone that interchange was installed from, or ``""``."""
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        here = distribution("array-interchange")
    except PackageNotFoundError:  # it runs from its sources
        return ""
    origin = urlsplit(json.loads(here.read_text("direct_url.json") or "{}").get("url", ""))
    project = Path(url2pathname(origin.path)) / "conformance"
    is_clone = origin.scheme == "file" and (project / "pyproject.toml").is_file()
    return str(project) if is_clone else ""
