"""The ``matrix`` command: exchanges between the installed array libraries, and their reports."""

from __future__ import annotations

import importlib
from functools import partial
from typing import TYPE_CHECKING, Any

from interchange_conformance.reports import files

from . import exits
from .options import MATRIX_REPORTS
from .progress import progress

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Mapping, Sequence

    from interchange_conformance.matrix.exchanging import Matrix
    from interchange_conformance.subject import Kind


class UsageError(Exception):
    """The command cannot do what was requested: it prints this text and ends with code 2."""


def run(options: argparse.Namespace, facts: Mapping[str, Any]) -> int:
    """Run the command.

    Returns
    -------
    int
        The exit code.
    """
    work = partial(_run, options, facts)
    return exits.run("interchange matrix", work, UsageError, files.ReportError)


def _run(options: argparse.Namespace, facts: Mapping[str, Any]) -> int:
    """Run the matrix, and write the reports."""
    to = files.asked_for(options, MATRIX_REPORTS)
    with files.stdout_kept_for(to):
        found = _find(options, facts)
        texts = {file: _report(name, found) for name, file in to.items()}
    if not files.takes_stdout(to):
        from interchange_conformance.matrix import table

        table.show(found)
    for file, text in texts.items():
        files.write(file, text)
    return exits.FINE if found.ok else exits.FOUND


def _report(name: str, found: Matrix) -> str:
    """Return a report, by the name of its option."""
    module = "html" if name == "html" else "reports"
    make = getattr(
        importlib.import_module(f"interchange_conformance.matrix.{module}"), f"as_{name}"
    )
    return str(make(found))


def _find(options: argparse.Namespace, facts: Mapping[str, Any]) -> Matrix:
    """Run the matrix."""
    if options.columns and options.device != "cpu":
        raise UsageError("--columns: columns are exchanged on the host only")
    place = options.columns or options.device
    from interchange_conformance.matrix import columns, exchanging
    from interchange_conformance.matrix.tables import kinds_of
    from interchange_conformance.subjects import _devices

    kinds = columns.kinds_of_columns(place) if options.columns else kinds_of(place)
    _check_names(options.only, dict.fromkeys(kind.library for kind in kinds))
    if options.device == "cuda" and (reason := _devices.lacks_driver()):
        raise UsageError(f"--device cuda: {reason}")
    if options.only is not None:
        kinds = tuple(kind for kind in kinds if kind.library in _names(options.only))
    found = exchanging.Matrix(options.dtype, options.device, columns=options.columns, facts=facts)
    with progress() as shown:
        shown.begin("", exchanging.steps(kinds))
        exchanging.run(found, kinds, shown.tell, columns.HANDS.get(options.columns))
    if options.only is not None:
        _require_all(kinds, found)
    if not found.cells:
        raise UsageError("there is nothing to exchange: name more libraries with --only")
    return found


def _names(only: str) -> list[str]:
    """Return the names in a value of ``--only``."""
    return [name.strip() for name in only.split(",")]


def _check_names(only: str | None, known: Iterable[str]) -> None:
    """Refuse names that are unknown."""
    for name in _names(only) if only is not None else ():
        if name not in known:
            raise UsageError(f"--only: {name!r} is none of {', '.join(known)}")


def _require_all(kinds: Sequence[Kind], found: Matrix) -> None:
    """Refuse to report on fewer libraries than were named."""
    here = {kind.name for kind in found.consumers}
    here |= {sample.kind.name for sample in found.samples}
    partly = {kind.library for kind in kinds if kind.name in here}
    missing = {
        kind.library: found.absent[kind.name]
        for kind in kinds
        if kind.name not in here and kind.library not in partly
    }
    if missing:
        texts = ", ".join(f"{library} ({why})" for library, why in missing.items())
        raise UsageError(f"--only names libraries that are not here: {texts}")
