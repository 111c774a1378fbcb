"""Exit codes of the commands, and the destinations of their text and JSON.

Source: POSIX shells, for exit code 130; POSIX rename(), which replaces a file in one step.
The conformance kit, which adds the commands `matrix` and `check`, has the same exit codes.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import stat
import sys
import tempfile
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from interchange.abi._loaded import c_library

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator

FINE: Final = 0
FOUND: Final = 1
CANNOT: Final = 2
INTERRUPTED: Final = 130

CODES: Final = {
    FINE: "success: nothing is wrong",
    FOUND: "the command finished, and reports a problem",
    CANNOT: "the arguments are wrong, or what was requested could not be done completely",
    INTERRUPTED: "interrupted, for example by Ctrl-C",
}
"""Exit code -> its meaning, the same for every command."""

COMMANDS: Final = {
    "interchange": {
        FINE: "versions, libraries and variables were printed",
        CANNOT: "unknown options, a file that cannot be written",
    },
    "interchange inspect": {
        FINE: "no rule is broken, except QUIRKs",
        FOUND: "a rule is broken",
        CANNOT: "the expression cannot be evaluated, its value supports no protocol,"
        " a file that cannot be written",
    },
    "interchange doctor": {
        FINE: "nothing is wrong with the installation",
        FOUND: "something is wrong, and the report says how to repair it",
        CANNOT: "files of another distribution have replaced this package,"
        " a file that cannot be written",
    },
}
"""Command -> exit code -> when the command ends with it."""

STDOUT: Final = "-"
"""File name that stands for standard output."""


class UsageError(Exception):
    """The command cannot do what was requested: it prints this text and ends with code 2."""


def run(work: Callable[[], int]) -> int:
    """Run a command, and return its exit code; an unexpected exception prints its traceback."""
    try:
        code = work()
        sys.stdout.flush()
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # the reader of standard output has ended, as `head` does
        with contextlib.suppress(OSError, ValueError):  # so that flushing at exit cannot fail
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return CANNOT
    except UsageError as error:
        print(printable(f"interchange: {error}"), file=sys.stderr)
        return CANNOT
    except Exception:  # noqa: BLE001 - Python would end with 1, which has another meaning here
        traceback.print_exc()
        return CANNOT
    return code


def printable(text: str) -> str:
    r"""Return text with escapes in place of control and other invisible characters.

    Examples
    --------
    >>> printable("red: \x1b[31m")
    'red: \\x1b[31m'
    """
    return "".join(
        one if one.isprintable() or one in "\n\t" else one.encode("unicode_escape").decode()
        for one in text
    )


def install_command(what: str) -> str:
    """Return the command that installs a distribution or a folder for this interpreter."""
    return shlex.join([sys.executable or "python", "-m", "pip", "install", what])


# ---------------------------------------------------------------- the option for JSON


def add_json_option(parser: Any, dest: str = "json") -> None:
    """Add the option ``--json [FILE]``."""
    parser.add_argument(
        "--json",
        nargs="?",
        const=STDOUT,
        metavar="FILE",
        dest=dest,
        help="write JSON to FILE, or to standard output without FILE or for '-'",
    )


def json_file(options: argparse.Namespace, dest: str = "json") -> str | None:
    """Return the file that ``--json`` names, or None.

    Raises UsageError: the file cannot be written: the command refuses before it does any work.
    """
    file: str | None = getattr(options, dest)
    if file is None or file == STDOUT:
        return file
    path, folder = Path(file), Path(file).parent
    if not folder.is_dir():
        raise UsageError(f"cannot write {file}: there is no directory {folder}")
    if path.is_dir():
        raise UsageError(f"cannot write {file}: it is a directory")
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise UsageError(f"cannot write {file}: it is not writable")
    return file


@contextlib.contextmanager
def stdout_reserved(file: str | None) -> Iterator[None]:
    """Send all that is printed in the block to standard error, if JSON goes to standard output.

    That includes native code and child processes.
    """
    if file != STDOUT:
        yield
        return
    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.redirect_stdout(sys.stderr))
        with contextlib.suppress(OSError):  # one of the two streams is closed
            stack.callback(_restore_stdout, os.dup(1))
            os.dup2(2, 1)
        yield


def _restore_stdout(kept: int) -> None:
    """Make a descriptor standard output again, after flushing the buffers of the C library."""
    with contextlib.suppress(OSError, AttributeError):
        c_library().fflush(None)
    os.dup2(kept, 1)
    os.close(kept)


def write(file: str, text: str) -> None:
    """Write a whole file, or leave the old one unchanged.

    Raises UsageError: the file cannot be written.
    """
    if file == STDOUT:
        encoding = sys.stdout.encoding or "utf-8"
        sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
        return
    path = Path(os.path.realpath(file))  # a symbolic link stays one
    try:
        mode = path.stat().st_mode if path.exists() else None
        if mode is not None and not stat.S_ISREG(mode):  # a pipe or a device
            path.write_text(text, encoding="utf-8")
            return
        _replace(path, text, mode)
    except OSError as error:
        raise UsageError(f"cannot write {file}: {error.strerror or error}") from error


def _replace(path: Path, text: str, mode: int | None) -> None:
    """Write a temporary file in the same folder, and rename it; without a mode it is a new one."""
    handle, temporary = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as opened:
            opened.write(text)
        mask = os.umask(0)
        os.umask(mask)
        Path(temporary).chmod(0o666 & ~mask if mode is None else stat.S_IMODE(mode))
        Path(temporary).replace(path)
    finally:
        with contextlib.suppress(OSError):
            Path(temporary).unlink(missing_ok=True)
