"""The ``interchange`` command: versions, ``inspect``, ``matrix`` and ``check``.

Its exit codes are those of `interchange._reports.exits`.
"""

from __future__ import annotations

import argparse
from functools import partial
from typing import TYPE_CHECKING, Final

from interchange._reports import exits, files, writing

from . import (
    checking,
    column_libraries,
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

_DEVICES: Final = {"cpu": libraries, "cuda": cuda_libraries}
"""Where arrays are -> the module whose ``SUBJECTS`` make them there."""
_REPORTS: Final = {
    "json": (reports.as_json, "JSON"),
    "markdown": (reports.as_markdown, "Markdown"),
    "html": (html.as_html, "a page of HTML"),
}
"""Option of ``matrix`` -> what makes it, and what it is called."""
_TOP_JSON: Final = "facts"  # where --json before a command stands: each command has its own
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
    work = partial(_run, arguments)
    return exits.run("interchange", work, errors.UsageError, writing.ReportError)


def parser() -> argparse.ArgumentParser:
    """Return the grammar of the command line, which the docs and completion read, too."""
    top = argparse.ArgumentParser(
        prog="interchange",
        description="Any array in, one Array, any protocol out."
        " Without a command: versions, and what the array libraries found here speak.",
    )
    top.add_argument("--version", action="version", version=versions.environment()["interchange"])
    files.add_option(top, "json", "JSON", dest=_TOP_JSON)
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
        nargs="?",  # --json may have taken it for a file, which is told in words
        metavar="module:expression",
        help="such as 'numpy:zeros((2, 3))'; or an expression whose names are modules",
    )
    files.add_option(inspect, "json", "JSON")

    table_of = commands.add_parser("matrix", help="who exchanges with whom on this machine")
    for name, (_, what) in _REPORTS.items():
        files.add_option(table_of, name, what)
    table_of.add_argument(
        "--device", choices=_DEVICES, default="cpu", help="where the arrays are (cpu)"
    )
    table_of.add_argument(
        "--columns",
        choices=column_libraries.DIRECTIONS,
        help="of columns of Arrow: in, those that become arrays; out, arrays that become columns",
    )
    table_of.add_argument(
        "--only",
        metavar=_LIBRARIES,
        help="; ".join(
            [f"on {name}: {', '.join(_known(name))}" for name in _DEVICES]
            + [f"with --columns: {', '.join(_known('in'))}"]
        ),
    )
    table_of.add_argument(
        "--dtype", choices=libraries.DTYPES, default="float32", help="element type (float32)"
    )

    checking.add_parser(commands)
    return top


def _run(arguments: Sequence[str] | None) -> int:
    """Run the command that was named."""
    options = parser().parse_args(arguments)
    if options.print_completion:
        print(completion.script(parser(), options.print_completion, _names()))
        return 0
    _refuse_json_before_a_command(options)
    if options.command == "inspect":
        return inspecting.run(options)
    if options.command == "matrix":
        return _run_matrix(options)
    if options.command == "check":
        return checking.run(options)
    json_to = files.asked_for(options, [_TOP_JSON])
    return versions.show(libraries.SUBJECTS, json_to, imports=not options.no_import)


def _refuse_json_before_a_command(options: argparse.Namespace) -> None:
    """Refuse ``--json matrix``, which would be a file of that name, and ``--json - matrix``."""
    file = getattr(options, _TOP_JSON)
    commands = ("inspect", "matrix", "check")
    if file is not None and (options.command or file in commands):
        command = options.command or file
        raise errors.UsageError(
            f"write --json behind the command: interchange {command} ... --json"
        )


def _run_matrix(options: argparse.Namespace) -> int:
    """Run the matrix, and write what was asked for."""
    to = files.asked_for(options, _REPORTS)
    with files.stdout_kept_for(to):
        found = _find(options)
        texts = {file: _REPORTS[name][0](found) for name, file in to.items()}
    if not files.takes_stdout(to):
        table.show(found)
    for file, text in texts.items():
        writing.write(file, text)
    return exits.FINE if found.ok else exits.FOUND


def _find(options: argparse.Namespace) -> matrix.Matrix:
    """Run the matrix."""
    if options.columns and options.device != "cpu":
        raise errors.UsageError("--columns: columns are handed over on the host alone")
    if options.device == "cuda" and (reason := cuda_driver.why_none()):
        raise errors.UsageError(f"--device cuda: {reason}")
    subjects = _choose(options.only, options.columns or options.device)
    hand = column_libraries.DIRECTIONS[options.columns][1] if options.columns else None
    with terminal.progress(matrix.steps(subjects)) as tell:
        found = matrix.run(subjects, options.dtype, tell, options.device, options.columns, hand)
    _require_all(options.only, subjects, found)
    if not found.cells:
        raise errors.UsageError("there is nothing to hand over: name more libraries with --only")
    return found


def _names() -> dict[str, list[str]]:
    """Return which names may stand where the help texts have a word in capitals."""
    places = (*_DEVICES, *column_libraries.DIRECTIONS)
    libraries_here = dict.fromkeys(name for place in places for name in _known(place))
    return {_LIBRARIES: list(libraries_here), checking.SUBJECTS: checking.subjects()}


def _known(place: str) -> list[str]:
    """Return what ``--only`` takes."""
    return list(dict.fromkeys(subject.library for subject in _subjects(place)))


def _subjects(place: str) -> Sequence[Subject]:
    """Return the rows and columns of the table, by where arrays are, or which way columns go."""
    if place in column_libraries.DIRECTIONS:
        return column_libraries.DIRECTIONS[place][0]
    found: Sequence[Subject] = _DEVICES[place].SUBJECTS
    return found


def _choose(only: str | None, place: str) -> Sequence[Subject]:
    """Return the rows of the libraries that were named, or all."""
    subjects = _subjects(place)
    if only is None:
        return subjects
    names = [name.strip() for name in only.split(",")]
    known = _known(place)
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
