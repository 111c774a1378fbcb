"""Completion in shells: the script that offers commands, options and names behind Tab, by shtab.

Source: shtab.  It is imported when somebody asks for a script, and not needed later:
shells read the script alone.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Final

from interchange._reports.texts import command_that_installs

from .errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

SHELLS: Final = ("bash", "zsh", "tcsh")
"""What there are scripts for."""
_FILES: Final = frozenset({"FILE", "PROGRAM"})  # what help texts call a value that is a file


def script(parser: argparse.ArgumentParser, shell: str, names: Mapping[str, Sequence[str]]) -> str:
    """Return the script of a shell.

    Parameters
    ----------
    parser : ArgumentParser
        The grammar of the command; it is of no further use.
    shell : str
        One of `SHELLS`.
    names : mapping
        What help texts call a value -> the names that it may be.

    Raises
    ------
    UsageError
        shtab is not installed.
    """
    try:
        import shtab
    except ModuleNotFoundError as error:
        words = "--print-completion takes shtab, which the extra completion brings"
        command = command_that_installs("shtab")
        raise UsageError(f"{words}; install it with: {command}") from error
    for action in _actions(parser):
        if action.metavar in _FILES:
            action.complete = shtab.FILE  # type: ignore[attr-defined]  # where shtab looks
        elif action.metavar in names:
            action.choices = names[str(action.metavar)]
    return shtab.complete(parser, shell)


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Yield the arguments of a command, and of those below it."""
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                yield from _actions(below)
