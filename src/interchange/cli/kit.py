"""The commands of the conformance kit: ``interchange check`` and ``interchange matrix``.

The kit is a separate distribution.  If it is installed, its options are read at once, and the rest
is imported when a command runs.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Final

from interchange._installation import DISTRIBUTION, installed_release, source

from . import versions
from .output import UsageError, install_command

if TYPE_CHECKING:
    import argparse
    from typing import Any

_KIT: Final = "interchange_conformance"
KIT: Final = "array-interchange-conformance"
"""Name of its distribution."""
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
    if why := other_release():
        raise UsageError(why)


def other_release() -> str | None:
    """Return why the kit cannot be used with this release of interchange, and the fix; or None."""
    ours, of_kit = installed_release(DISTRIBUTION), installed_release(KIT)
    if ours == of_kit or None in {ours, of_kit}:
        return None
    words = f"the conformance kit has release {of_kit}, and interchange has {ours}"
    return f"{words}; {_how_to_install()}"


def _how_to_install() -> str:
    """Return how to install the kit of the same release."""
    clone = source()
    project = Path(clone, "conformance")
    if clone and (project / "pyproject.toml").is_file():
        return f"install it with: {install_command(str(project))}"
    where = "in a clone or an unpacked source distribution of this release"
    return f"install it {where} with: {install_command('./conformance')}"
