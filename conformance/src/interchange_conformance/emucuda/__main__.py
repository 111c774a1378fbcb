"""Run a program on the emulated CUDA driver, and print the reports of the detector."""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from .building import CannotBuildError, build, build_runtime
from .settings import RACES, Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

REPORTED: Final = 86
"""Exit code for a program that exited with 0 and has reports."""
_NAME: Final = "python -m interchange_conformance.emucuda"
_USAGE_CODE: Final = 2
_NOT_EXECUTABLE: Final = 126  # as in shells
_NOT_FOUND: Final = 127
_SIGNALLED: Final = 128
_MOST_DEVICES: Final = 16  # MAX_DEVICES of lock.h
_LONGEST_US: Final = 10**15  # the limit of `Emulator.delay` [microseconds]


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command on the emulated driver.

    Parameters
    ----------
    argv : Sequence[str], optional
        Options, ``--`` and the command; by default, ``sys.argv[1:]``.

    Returns
    -------
    int
        The exit code of the command, or 128 plus the number of the signal that ended it; 86 if it
        exited with 0 and there are reports.
    """
    options, command = _parse(sys.argv[1:] if argv is None else list(argv))
    try:
        library, runtime = build(), build_runtime() if options.cudart else None
    except CannotBuildError as error:
        return _say(str(error), _USAGE_CODE)
    with tempfile.TemporaryDirectory(prefix="emucuda-") as folder:
        report = Path(folder) / "reports"
        settings = Settings(
            devices=options.devices,
            delay_us=options.delay_us,
            protect=options.protect or None,
            races=options.races,
            trace=options.trace,
            report=report,
        )
        try:
            code = _run(command, settings.environment(library, runtime=runtime))
        except FileNotFoundError:
            return _say(f"command not found: {command[0]}", _NOT_FOUND)
        except OSError as error:
            return _say(f"{command[0]} cannot be run: {error.strerror}", _NOT_EXECUTABLE)
        return _conclude(code, report, options.races)


def parser() -> argparse.ArgumentParser:
    """Return the parser of the options before ``--``."""
    made = argparse.ArgumentParser(
        prog=_NAME,
        usage="%(prog)s [options] -- command...",
        description=sys.modules[__name__].__doc__,
        epilog=f"Exit code: the command's own; {REPORTED} if it is 0 and there are reports.",
    )
    made.add_argument(
        "--devices", type=_up_to(_MOST_DEVICES), metavar="N", help="how many devices (2)"
    )
    made.add_argument(
        "--cudart", action="store_true", help="programs get the emulated runtime library as well"
    )
    made.add_argument("--races", choices=RACES, help="what to do about a report (collect)")
    made.add_argument(
        "--protect", action="store_true", help="a host access to device memory is a crash"
    )
    made.add_argument("--trace", type=Path, metavar="FILE", help="gets the driver calls")
    made.add_argument(
        "--delay-us",
        type=_up_to(_LONGEST_US),
        metavar="N",
        help="before each operation [microseconds]",
    )
    return made


def _parse(argv: list[str]) -> tuple[argparse.Namespace, list[str]]:
    """Return the options before the first ``--``, and the command after it."""
    grammar = parser()
    end = argv.index("--") if "--" in argv else len(argv)
    options = grammar.parse_args(argv[:end])
    command = argv[end + 1 :]
    if not command:
        grammar.error("write the command after --")
    if options.trace:
        _check_writable(grammar, options.trace.absolute())
    return options, command


def _check_writable(grammar: argparse.ArgumentParser, path: Path) -> None:
    """Refuse a file that cannot be written, and truncate it: processes append to it."""
    try:
        path.write_text("", encoding="utf-8")
    except OSError as error:
        grammar.error(f"--trace: {path} cannot be written: {error.strerror}")


def _up_to(largest: int) -> Callable[[str], int]:
    """Return a converter for numbers from 0 to `largest`."""

    def read(text: str) -> int:
        # the length first: int() raises another error for thousands of digits
        if not (text.isascii() and text.isdigit() and len(text) < 20 and int(text) <= largest):
            raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 to {largest}")
        return int(text)

    return read


def _run(command: list[str], environment: dict[str, str]) -> int:
    """Run a command and return its exit code, as a shell does."""
    with subprocess.Popen(command, env=environment) as process:  # noqa: S603 - requested by the user
        # Ctrl-C goes to both; the command handles it, and the reports are printed afterwards
        old = signal.signal(signal.SIGINT, signal.SIG_IGN)
        older = signal.signal(signal.SIGTERM, lambda *_: process.terminate())
        try:
            code = process.wait()
        finally:
            signal.signal(signal.SIGINT, old)
            signal.signal(signal.SIGTERM, older)
    return code if code >= 0 else _SIGNALLED - code


def _conclude(code: int, report: Path, races: str | None) -> int:
    """Print the reports of the detector, and return the exit code."""
    if races == "off":
        return code
    if not report.is_file():
        # a process that used the driver writes the file when it ends, also without reports
        return _say(
            "the detector wrote no reports: no process loaded the driver and then exited "
            "normally (os._exit, execve and signals prevent it)",
            code,
        )
    lines = report.read_text(encoding="utf-8", errors="replace").splitlines()
    if not lines:
        return code
    count = f"{len(lines)} report{'s' * (len(lines) > 1)}:"
    _say("\n  ".join([count, *lines]), code)
    return code or REPORTED


def _say(text: str, code: int) -> int:
    """Print a message, and return an exit code."""
    sys.stderr.write(f"emucuda: {text}\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
