"""The ``check`` command: verdicts on libraries, and reports of them."""

from __future__ import annotations

import argparse
import importlib
import os
from functools import partial
from typing import TYPE_CHECKING, Final

from interchange_conformance.driver.availability import NoDriverError, need_driver
from interchange_conformance.emucuda.building import CannotBuildError
from interchange_conformance.judging import judge, known_failures
from interchange_conformance.judging.expectations import ExpectationsError
from interchange_conformance.judging.grid import exchange
from interchange_conformance.judging.selecting import UnknownWordError, select
from interchange_conformance.registry import ROLES
from interchange_conformance.reports import files, item_list
from interchange_conformance.running import interpreters

from . import exits
from .options import REPORTS, add_arguments
from .progress import progress

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interchange_conformance.judging.expectations import Expectation
    from interchange_conformance.judging.selecting import Selection
    from interchange_conformance.reports.model import Exchange, Judged, Report


_KNOWN: Final = "write_known"  # the option whose file is not a report


class UsageError(Exception):
    """The request cannot be fulfilled: the command prints the message and exits with code 2."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command separately, without ``interchange``.

    Returns
    -------
    int
        The exit code.
    """
    parser = argparse.ArgumentParser(
        prog="python -m interchange_conformance",
        description="Verdicts on array libraries, with rule ids.",
    )
    commands = parser.add_subparsers(dest="command", metavar="command", required=True)
    add_arguments(commands.add_parser("check", help="judge libraries by the rule book"))
    return run(parser.parse_args(arguments))


def run(options: argparse.Namespace) -> int:
    """Run the command.

    Returns
    -------
    int
        The exit code.
    """
    work = _list if options.list else _check
    return exits.run(
        "interchange check",
        partial(work, options),
        UsageError,
        UnknownWordError,
        judge.UnknownSubjectError,
        ExpectationsError,
        CannotBuildError,
        NoDriverError,
        interpreters.NoInterpreterError,
        files.ReportError,
    )


# ---------------------------------------------------------------- listing


def _list(options: argparse.Namespace) -> int:
    """Print the items that would be run."""
    to = files.asked_for(options, (*REPORTS, _KNOWN))
    if others := to.keys() - {"json"}:
        raise UsageError(f"--list runs nothing, so that --{min(others)} has nothing to say")
    with files.stdout_kept_for(to):
        items = select(options.only, options.role).items(_roles(options))
    if not items:
        raise UsageError("there is nothing that --only and --role leave")
    rows = item_list.rows_of(items)
    if not files.takes_stdout(to):
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        for row in rows:
            words = [word.ljust(width) for word, width in zip(row, widths, strict=True)]
            print("  ".join(words).rstrip())
    for file in to.values():
        files.write(file, item_list.as_json(rows))
    return exits.FINE


def _roles(options: argparse.Namespace) -> Sequence[str]:
    """Return the roles of the requested subjects; all roles without subjects."""
    found: set[str] = set()
    settings = _settings(options)
    for spec in judge.subjects_named(options.subjects, settings.python):
        with judge.pool_of(spec, settings) as pool:
            if pool.about.broken:
                raise UsageError(pool.about.broken)
            found.update(pool.about.roles)
    return [role for role in ROLES if role in found or not options.subjects]


# ---------------------------------------------------------------- running


def _check(options: argparse.Namespace) -> int:
    """Judge the subjects, and write the requested reports."""
    to = files.asked_for(options, (*REPORTS, _KNOWN))
    with files.stdout_kept_for(to):
        settings = _settings(options)
        specs = _specs(options, settings)
        need_driver(settings.driver, judge.environment(settings.driver))
        known_of = {spec: judge.known_failures(spec, settings.expected) for spec in specs}
        report = _judge(specs, settings, grid=options.grid)
    _refuse_nothing(report, settings.selection)
    _report(report, to, known_of[specs[0]])
    _refuse_less(report, options)
    return exits.FOUND if report.unexpected else exits.FINE


def _settings(options: argparse.Namespace) -> judge.Settings:
    """Return the settings of the run."""
    return judge.Settings(
        selection=select(options.only, options.role),
        jobs=options.jobs or _cores(),
        driver=options.cuda,
        fail_fast=options.fail_fast,
        expected="" if options.no_expected else options.expected,
        patience=options.patience,
        quirks=options.fail_on_quirks,
        python=interpreters.found(options.python) if options.python else "",
    )


def _specs(options: argparse.Namespace, settings: judge.Settings) -> list[str]:
    """Return the requested subjects, each once."""
    specs = judge.subjects_named(options.subjects, settings.python)
    if not specs and options.subjects:
        raise UsageError("none of the libraries that the kit knows is installed")
    if not specs:
        words = "name a subject, such as 'numpy' or 'mylib.testing:subject', or 'all'"
        raise UsageError(f"{words}, before --json and its like: what follows those is a file")
    if options.expected and len(specs) > 1:
        raise UsageError("--expected is the file of one subject: name one")
    if options.write_known and len(specs) > 1:
        raise UsageError("--write-known writes the file of one subject: name one")
    return specs


def _cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _judge(specs: Sequence[str], settings: judge.Settings, *, grid: bool) -> Report:
    """Judge each subject, and exchange arrays between all of them if requested."""
    found = []
    with progress() as shown:

        def tell(judged: Judged) -> None:
            shown.step(judged.verdict.item, is_bad=judged.is_unexpected)

        for spec in specs:
            found.append(judge.judge(spec, settings, shown.begin, tell))
            if settings.fail_fast and judge.report(settings, found).unexpected:
                break
        exchanges: Sequence[Exchange] = ()
        if grid:
            sound = judge.to_hand_over(found)
            exchanges = exchange(
                sound,
                settings,
                shown.begin,
                lambda one: shown.step(
                    f"{one.producer} to {one.consumer}: {one.status}", is_bad=one.is_bad
                ),
            )
            if not exchanges:
                words = "none of the subjects makes arrays, and none that can be judged takes any"
                raise UsageError(f"--grid: there is nothing to hand over: {words}")
    return judge.report(settings, found, exchanges)


def _refuse_nothing(report: Report, selection: Selection) -> None:
    """Refuse a success if no item was run."""
    if not any(one.judged or one.broken for one in report.subjects) and not report.grid:
        words = " that --only and --role leave" if not selection.is_whole else ""
        raise UsageError(f"there is nothing{words} to judge the subjects by")


_SHAPES: Final = "; where make() has shapes that the kit does not try, name them in Subject.shapes"


def _refuse_less(report: Report, options: argparse.Namespace) -> None:
    """Refuse a success if a request for named subjects was not fulfilled completely."""
    words = [
        f"{one.name} could not be judged: {one.broken}" for one in report.subjects if one.broken
    ]
    handed = {name for one in report.grid for name in (one.producer, one.consumer)}
    if not (options.fail_fast and report.unexpected):
        words += [
            ": ".join(
                [
                    f"nothing of what was asked applies to {one.name}",
                    *(judged.verdict.evidence for judged in one.judged[:1]),
                ]
            )
            for one in report.subjects
            if one.spec in options.subjects and not one.broken and one.name not in handed
            if all(judged.verdict.status == "not-applicable" for judged in one.judged)
        ]
        words += [
            f"{one.name} was hardly judged: {one.hardly}"
            + (_SHAPES if "producer" in one.roles else "")
            for one in report.subjects
            if one.spec in options.subjects and one.hardly and one.name not in handed
            if any(judged.verdict.status != "not-applicable" for judged in one.judged)
        ]
    if words:
        raise UsageError("\n".join(words))


def _report(report: Report, to: dict[str, str], before: Sequence[Expectation]) -> None:
    """Show the report, and write it to every file; failed writes are reported at the end."""
    if not files.takes_stdout(to):
        from interchange_conformance.reports import terminal

        terminal.show(report)
    errors = []
    for name, file in to.items():
        text = _text_of(name, report, before)
        try:
            files.write(file, text)
        except files.ReportError as error:
            errors.append(str(error))
    if errors:
        raise UsageError("; ".join(errors))


def _text_of(name: str, report: Report, before: Sequence[Expectation]) -> str:
    """Return the contents of an option's file."""
    if name == _KNOWN:
        return known_failures.as_known(report, before)
    module = importlib.import_module(f"interchange_conformance.reports.{REPORTS[name][0]}")
    text: str = getattr(module, f"as_{name}")(report)
    return text
