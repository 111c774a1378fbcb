"""How a command ends: exit codes that mean the same everywhere, and what each means where.

Source: POSIX shells, for 130.  The docs print `CODES` and `COMMANDS`, and tests
provoke each code of each command.
"""

from __future__ import annotations

import sys
import traceback
from typing import TYPE_CHECKING, Final

from .texts import printable
from .writing import forget_stdout

if TYPE_CHECKING:
    from collections.abc import Callable

FINE: Final = 0
FOUND: Final = 1
CANNOT: Final = 2
INTERRUPTED: Final = 130

CODES: Final = {
    FINE: "all is well",
    FOUND: "the command did its work, and found something that is not as it should be",
    CANNOT: "the call is wrong, or what was asked could not be done, or not all of it",
    INTERRUPTED: "interrupted, as by Ctrl-C",
}
"""Exit code -> what it means, whatever the command."""

COMMANDS: Final = {
    "interchange": {
        FINE: "versions, libraries and variables were told",
        CANNOT: "unknown options, a file that cannot be written",
    },
    "interchange inspect": {
        FINE: "no rule is broken, but for QUIRKs",
        FOUND: "a rule is broken",
        CANNOT: "the text cannot be evaluated, its value has no protocol,"
        " a file that cannot be written",
    },
    "interchange matrix": {
        FINE: "no hand-over failed",
        FOUND: "one did: interchange or a library has a mistake",
        CANNOT: "a library or a driver that is not here, nothing to hand over,"
        " a file that cannot be written",
    },
    "interchange check": {
        FINE: "everything is as expected",
        FOUND: "something is not: a check fails that is not known to, or no longer fails that is"
        " known to",
        CANNOT: "a library or a driver that is not here, a description that does not import, words"
        " that name nothing, items of which none applies, a library to which hardly any rule"
        " applies, a file that is wrong or cannot be written; also where something is not as"
        " expected besides",
    },
}
"""Command -> exit code -> when it ends so."""


def run(name: str, work: Callable[[], int], *refusals: type[Exception]) -> int:
    """Do the work of a command, and return its exit code.

    Parameters
    ----------
    name : str
        The command, for what is written on standard error.
    work : callable
        Returns `FINE`, `FOUND` or `CANNOT`.
    *refusals : type
        Exceptions whose text says what cannot be done; any other is a mistake of the command,
        whose traceback is printed.
    """
    try:
        code = work()
        sys.stdout.flush()
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001 - Python would end with 1, which says another thing
        if _is_broken_pipe(error):  # the reader of our output went away, as `head` does
            forget_stdout()
        elif isinstance(error, refusals):
            print(printable(f"{name}: {error}"), file=sys.stderr)  # noqa: T201 - what it is for
        else:
            traceback.print_exc()
        return CANNOT
    return code


def _is_broken_pipe(error: Exception) -> bool:
    """Whether nobody reads standard output any more."""
    return isinstance(error, BrokenPipeError) or isinstance(error.__cause__, BrokenPipeError)
