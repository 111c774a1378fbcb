"""Judges subjects: runs the checks, holds the verdicts against what is known, makes the report.

Source: interchange.
"""

from __future__ import annotations

import importlib
import os
import platform
import time
from importlib import metadata
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from . import expectations
from .expectations import Expected
from .registry import ROLES
from .reports.model import Report, SubjectReport
from .running.loading import shipped
from .running.pool import Pool
from .selecting import select

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .cuda import Choice
    from .expectations import Expectation
    from .findings import Verdict
    from .reports.model import Exchange, Judged
    from .running.pool import About
    from .selecting import Selection


_ALL: Final = "all"

_FIRST: Final = (
    "make_returns_an_array",
    "make_gives_the_shape_that_it_was_asked_for[two-axes]",
)
"""What ``make`` has to do before anything else can be learnt of its library."""
_USELESS: Final = frozenset({"broken-subject", "crash", "exit", "hang"})


class Settings(NamedTuple):
    """How subjects are judged.

    Attributes
    ----------
    selection : Selection
        By which items.
    jobs : int
        How many items are run at a time.
    driver : {"none", "emulated", "real"}
        The CUDA driver.
    fail_fast : bool
        Whether the first item that is not as expected is the last.
    expected : str or None
        File of known failures; that of the kit when None, none when empty.
    patience : float
        What time limits are multiplied by.
    """

    selection: Selection
    jobs: int = 1
    driver: Choice = "none"
    fail_fast: bool = False
    expected: str | None = None
    patience: float = 1.0


def environment(driver: Choice) -> dict[str, str]:
    """Return the environment of processes that run checks.

    Parameters
    ----------
    driver : {"none", "emulated", "real"}
        The CUDA driver.

    Raises
    ------
    CannotBuildError
        The emulated one cannot be built here.
    """
    from . import cuda

    return {**os.environ, **cuda.environment(driver)}


def known_failures(spec: str, expected: str | None) -> list[Expectation]:
    """Return the known failures of a subject.

    Parameters
    ----------
    spec : str
        The subject.
    expected : str or None
        As in `Settings`.

    Raises
    ------
    ExpectationsError
        A file is wrong, or speaks of checks that there are not.
    """
    module = shipped().get(spec.replace("_", "-"), "").rpartition(".")[2]
    path = (expectations.shipped_file(module) if module else None) if expected is None else expected
    if not path:
        return []
    known = expectations.read(path)
    expectations.refuse_unknown(known, select().items(ROLES))
    return known


class UnknownSubjectError(Exception):
    """A word names no subject; the text says what there is."""


def subjects_named(words: Sequence[str]) -> list[str]:
    """Return the subjects that words name, each once.

    Parameters
    ----------
    words : sequence of str
        Subjects, and ``"all"`` for every one that ships with the kit and is installed.

    Raises
    ------
    UnknownSubjectError
        A word is neither ``module:name`` nor one of those that ship with the kit.
    """
    known = shipped()
    specs: list[str] = []
    for word in words:
        if ":" not in word and word != _ALL and word.replace("_", "-") not in known:
            there = f"write module:name, or one of {', '.join(known)}, or all"
            raise UnknownSubjectError(f"there is no subject {word!r}; {there}")
        specs += installed() if word == _ALL else [word]
    return list(dict.fromkeys(specs))


def installed() -> list[str]:
    """Return the subjects that ship with the kit and whose library is installed.

    Whether it is, is looked up and not tried: one that is installed and does not import is broken.
    """
    found = []
    for spec, module in shipped().items():
        subject: Any = importlib.import_module(module).subject
        try:
            metadata.version(subject.distribution)
        except metadata.PackageNotFoundError:
            continue
        found.append(spec)
    return found


def judge(
    spec: str,
    settings: Settings,
    begin: Callable[[str, int], object] = lambda *_: None,
    tell: Callable[[Judged], object] = lambda _: None,
) -> SubjectReport:
    """Return what was found of one subject.

    Parameters
    ----------
    spec : str
        The subject.
    settings : Settings
        How it is judged.
    begin : callable, optional
        Called with its name and the number of items, when these are known.
    tell : callable, optional
        Called with each item as it ends.

    Raises
    ------
    ExpectationsError
        The file of known failures is wrong, or speaks of checks that there are not.
    """
    began = time.monotonic()
    known = known_failures(spec, settings.expected)
    place = environment(settings.driver)
    with Pool(spec, settings.jobs, place, patience=settings.patience) as pool:
        about = _tried(pool)
        items = [] if about.broken else settings.selection.items(about.roles)
        expected = Expected(known, about.version, settings.driver)
        if settings.selection.is_whole and not about.broken:
            expected.refuse_stale(items)
        begin(about.name, len(items))
        judged = _run(pool, items, expected, settings, tell)
    return _reported(spec, about, judged, time.monotonic() - began)


def _tried(pool: Pool) -> About:
    """Return what a pool says of its subject, broken too where ``make`` is of no use at all."""
    about = pool.about
    if about.broken or "producer" not in about.roles:
        return about
    for item in _FIRST:
        verdict = pool.run_one(item)
        if verdict.status in _USELESS:
            words = f"{about.name}: make(): {verdict.evidence}"
            return about._replace(broken=f"{words}\n{verdict.output}".strip())
    return about


def _run(
    pool: Pool,
    items: Sequence[str],
    expected: Expected,
    settings: Settings,
    tell: Callable[[Judged], object],
) -> list[Judged]:
    """Run the items of a subject, and return them judged."""

    def judge_one(verdict: Verdict) -> bool:
        judged = expected.judge(verdict)
        tell(judged)
        return settings.fail_fast and judged.standing != "as-expected"

    return [expected.judge(verdict) for verdict in pool.run(items, tell=judge_one)]


def _reported(spec: str, about: About, judged: Sequence[Judged], seconds: float) -> SubjectReport:
    """Return the report of a subject."""
    return SubjectReport(
        spec=spec,
        name=about.name,
        version=about.version,
        roles=about.roles,
        broken=about.broken,
        judged=tuple(judged),
        seconds=round(seconds, 3),
    )


def report(
    driver: Choice, subjects: Sequence[SubjectReport], grid: Sequence[Exchange] = ()
) -> Report:
    """Return the report of a run on this machine.

    Parameters
    ----------
    driver : {"none", "emulated", "real"}
        The CUDA driver.
    subjects : sequence of SubjectReport
        What was found of each.
    grid : sequence of Exchange
        What became of arrays handed from each to each.
    """
    try:
        kit = metadata.version("array-interchange")
    except metadata.PackageNotFoundError:
        kit = "unknown"
    return Report(
        kit=kit,
        python=platform.python_version(),
        platform=f"{platform.system()} {platform.machine()}",
        driver=driver,
        subjects=tuple(subjects),
        grid=tuple(grid),
    )
