"""Completion in shells: the script that completes commands, options and names, made by shtab.

Source: shtab.  It is imported only to make a script; shells do not need it.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Final

from .output import UsageError, install_command

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

SHELLS: Final = ("bash", "zsh", "tcsh")
"""The shells that there are scripts for."""
_FILES: Final = frozenset({"FILE", "PROGRAM"})  # metavars of values that are files


def script(parser: argparse.ArgumentParser, shell: str, names: Mapping[str, Sequence[str]]) -> str:
    """Return the script of a shell.

    `parser`: the parser of the command; it is changed, and of no further use.
    `shell`: one of `SHELLS`.
    `names`: metavar in the help texts -> the names that may replace it.

    Raises UsageError: shtab is not installed.
    """
    try:
        import shtab
    except ModuleNotFoundError as error:
        words = "--print-completion needs shtab, which the extra `completion` installs"
        command = install_command("shtab")
        raise UsageError(f"{words}; install it with: {command}") from error
    for action in _actions(parser):
        if action.metavar in _FILES:
            action.complete = shtab.FILE  # type: ignore[attr-defined]  # where shtab looks
        elif action.metavar in names:
            action.choices = names[str(action.metavar)]
    return shtab.complete(parser, shell)


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Yield the arguments of a command, and of its subcommands."""
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                yield from _actions(below)
