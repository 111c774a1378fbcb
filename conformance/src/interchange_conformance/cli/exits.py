"""Exit codes of the kit's commands, which are the same for all commands of interchange.

Source: POSIX shells, for 130.  The docs print `COMMANDS`, and tests check each code.
"""

from __future__ import annotations

import sys
import traceback
from typing import TYPE_CHECKING, Final

from interchange_conformance.reports.files import forget_stdout
from interchange_conformance.reports.texts import printable

if TYPE_CHECKING:
    from collections.abc import Callable

FINE: Final = 0
FOUND: Final = 1
CANNOT: Final = 2
INTERRUPTED: Final = 130

COMMANDS: Final = {
    "interchange matrix": {
        FINE: "no exchange failed",
        FOUND: "an exchange failed: interchange or a library has a bug",
        CANNOT: "a library or a driver is missing, there is nothing to exchange,"
        " a file cannot be written",
    },
    "interchange check": {
        FINE: "every verdict is as expected",
        FOUND: "a verdict is unexpected: a check fails and is no known failure, or a known failure"
        " passes",
        CANNOT: "a library or a driver is missing, a description does not import, words name"
        " nothing, no item applies, hardly any rule applies to a library, a file is wrong or"
        " cannot be written; also where a verdict is unexpected besides",
    },
}
"""Command -> exit code -> the condition for it."""


def run(name: str, work: Callable[[], int], *refusals: type[Exception]) -> int:
    """Run a command, and return its exit code.

    Parameters
    ----------
    name : str
        The command, for messages on standard error.
    work : callable
        Returns `FINE`, `FOUND` or `CANNOT`.
    *refusals : type
        Exceptions whose message is printed; for others, the traceback is printed.
    """
    try:
        code = work()
        sys.stdout.flush()
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001 - Python would exit with 1, which has another meaning here
        if BrokenPipeError in {type(error), type(error.__cause__)}:  # as of `head`, which has ended
            forget_stdout()
        elif isinstance(error, refusals):
            print(printable(f"{name}: {error}"), file=sys.stderr)  # noqa: T201 - the terminal
        else:
            traceback.print_exc()
        return CANNOT
    return code
