"""The ``interchange`` command: versions, ``inspect``, ``matrix`` and ``check``.

Source: interchange.  Exit codes: 0, all is well; 1, something was found wrong; 2, what was asked
cannot be done; 130, interrupted.
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING, Final

from interchange._reports import pages, writing

from . import (
    checking,
    completion,
    cuda_driver,
    cuda_libraries,
    errors,
    html,
    inspecting,
    libraries,
    matrix,
    reports,
    table,
    terminal,
    versions,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .subjects import Subject

__all__ = ["main", "parser"]

_BAD_INPUT: Final = 2
_INTERRUPTED: Final = 130
_SUBJECTS: Final = {"cpu": libraries, "cuda": cuda_libraries}
"""Where arrays are -> the module whose ``SUBJECTS`` make them there."""
_REPORTS: Final = {
    "json": reports.as_json,
    "markdown": reports.as_markdown,
    "html": html.as_html,
}
"""Option of ``matrix`` -> what it writes."""
_LIBRARIES: Final = "LIB,LIB"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Parameters
    ----------
    arguments : sequence of str, optional
        What stands after the command's name; that of this process when left out.

    Returns
    -------
    int
        The exit code.
    """
    options = parser().parse_args(arguments)
    try:
        code = _run(options)
        sys.stdout.flush()
    except (errors.UsageError, writing.ReportError) as error:
        print(f"interchange: {error}", file=sys.stderr)
        return _BAD_INPUT
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:  # the reader of our output went away, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return code


def parser() -> argparse.ArgumentParser:
    """Return the grammar of the command line, which the docs and completion read, too."""
    top = argparse.ArgumentParser(
        prog="interchange",
        description="Any array in, one Array, any protocol out."
        " Without a command: versions, and what the array libraries found here speak.",
    )
    top.add_argument("--version", action="version", version=versions.environment()["interchange"])
    top.add_argument("--json", action="store_true", help="print JSON")
    top.add_argument(
        "--no-import", action="store_true", help="look for libraries without importing any"
    )
    top.add_argument(
        "--print-completion",
        choices=completion.SHELLS,
        help="print the script that completes this command in a shell (takes shtab)",
    )
    commands = top.add_subparsers(dest="command", metavar="command")

    inspect = commands.add_parser("inspect", help="what is in an array, and what is wrong with it")
    inspect.add_argument(
        "target",
        metavar="module:expression",
        help="such as 'numpy:zeros((2, 3))'; or an expression whose names are modules",
    )
    inspect.add_argument("--json", action="store_true", help="print JSON")

    table_of = commands.add_parser("matrix", help="who exchanges with whom on this machine")
    for name in _REPORTS:
        table_of.add_argument(f"--{name}", metavar="FILE", help=f"write {name} ('-': to stdout)")
    table_of.add_argument(
        "--device", choices=_SUBJECTS, default="cpu", help="where the arrays are (cpu)"
    )
    table_of.add_argument(
        "--only",
        metavar=_LIBRARIES,
        help="; ".join(f"on {name}: {', '.join(_known(name))}" for name in _SUBJECTS),
    )
    table_of.add_argument(
        "--dtype", choices=libraries.DTYPES, default="float32", help="element type (float32)"
    )

    checking.add_parser(commands)
    return top


def _run(options: argparse.Namespace) -> int:
    """Run the command that was named."""
    if options.print_completion:
        print(completion.script(parser(), options.print_completion, _names()))
        return 0
    if options.command == "inspect":
        return inspecting.show(options.target, as_json=options.json)
    if options.command == "matrix":
        return _run_matrix(options)
    if options.command == "check":
        return checking.run(options)
    return versions.show(libraries.SUBJECTS, as_json=options.json, imports=not options.no_import)


def _run_matrix(options: argparse.Namespace) -> int:
    """Run the matrix, and write what was asked for."""
    files = {name: getattr(options, name) for name in _REPORTS if getattr(options, name)}
    to_stdout = [name for name, file in files.items() if file == writing.STDOUT]
    if len(to_stdout) > 1:
        raise errors.UsageError(f"only one of {', '.join(to_stdout)} can go to standard output")
    for file in files.values():
        writing.check_writable(file)
    if "html" in files and (reason := pages.why_no_pages()):
        raise errors.UsageError(f"--html: {reason}")
    if options.device == "cuda" and (reason := cuda_driver.why_none()):
        raise errors.UsageError(f"--device cuda: {reason}")
    subjects = _choose(options.only, options.device)
    with terminal.progress(matrix.steps(subjects)) as tell:
        found = matrix.run(subjects, options.dtype, tell, options.device)
    _require_all(options.only, subjects, found)
    if not found.cells:
        raise errors.UsageError("there is nothing to hand over: name more libraries with --only")
    for name, file in files.items():
        writing.write(file, _REPORTS[name](found))
    if not to_stdout:
        table.show(found)
    return 0 if found.ok else 1


def _names() -> dict[str, list[str]]:
    """Return which names may stand where the help texts have a word in capitals."""
    libraries_here = dict.fromkeys(name for device in _SUBJECTS for name in _known(device))
    return {_LIBRARIES: list(libraries_here), checking.SUBJECTS: checking.subjects()}


def _known(device: str) -> list[str]:
    """Return what ``--only`` takes."""
    return list(dict.fromkeys(subject.library for subject in _SUBJECTS[device].SUBJECTS))


def _choose(only: str | None, device: str) -> Sequence[Subject]:
    """Return the rows of the libraries that were named, or all."""
    subjects: Sequence[Subject] = _SUBJECTS[device].SUBJECTS
    if only is None:
        return subjects
    names = [name.strip() for name in only.split(",")]
    known = _known(device)
    for name in names:
        if name not in known:
            raise errors.UsageError(f"--only: {name!r} is none of {', '.join(known)}")
    return [subject for subject in subjects if subject.library in names]


def _require_all(only: str | None, subjects: Sequence[Subject], found: matrix.Matrix) -> None:
    """Refuse to report on less than was asked for by name."""
    here = {consumer.name for consumer in found.consumers}
    here |= {sample.subject.name for sample in found.samples}
    missing = {s.library: found.absent[s.name] for s in subjects if s.name not in here}
    partly = {s.library for s in subjects if s.name in here}
    missing = {library: why for library, why in missing.items() if library not in partly}
    if only is not None and missing:
        texts = ", ".join(f"{library} ({why})" for library, why in missing.items())
        raise errors.UsageError(f"--only names what is not here: {texts}")
