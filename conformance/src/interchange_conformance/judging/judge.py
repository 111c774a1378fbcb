"""Judge subjects: run the checks, compare the verdicts with known failures, make the report."""

from __future__ import annotations

import importlib
import os
import platform
import sys
import time
from importlib import metadata
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from interchange_conformance.findings import BAD
from interchange_conformance.registry import ROLES, find_item
from interchange_conformance.reports.model import Report, SubjectReport
from interchange_conformance.running import interpreters
from interchange_conformance.running.loading import shipped
from interchange_conformance.running.pool import Pool

from . import expectations, minimum_coverage
from .expectations import Expected
from .selecting import select

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from interchange_conformance.driver.cuda import Choice
    from interchange_conformance.findings import Verdict
    from interchange_conformance.reports.model import Exchange, Judged
    from interchange_conformance.running.pool import About

    from .expectations import Expectation
    from .selecting import Selection


_ALL: Final = "all"

_FIRST: Final = (
    "make_returns_an_array",
    "names_tell_which_struct_follows[legacy]",
    "names_tell_which_struct_follows[versioned]",
    "make_gives_the_shape_that_it_was_asked_for[two-axes]",
)
"""Basic requirements on arrays: if one of these items fails, all others fail as well, so that it is
reported as the only finding."""
_ONLY: Final = "nothing else was asked of the arrays that it makes"


class Settings(NamedTuple):
    """Settings of a run.

    Attributes
    ----------
    selection : Selection
        The items to run.
    jobs : int
        Maximum number of items that run at the same time.
    driver : {"none", "emulated", "real"}
        The CUDA driver.
    fail_fast : bool
        Whether the run stops at the first item that is not as expected.
    expected : str or None
        File of known failures; None for the one that ships with the kit, empty for none.
    patience : float
        Factor of the time limits.
    quirks : bool
        Whether QUIRKs decide the result of a run, too.
    python : str
        Path of the interpreter; empty for this one.
    """

    selection: Selection
    jobs: int = 1
    driver: Choice = "none"
    fail_fast: bool = False
    expected: str | None = None
    patience: float = 1.0
    quirks: bool = False
    python: str = ""


def environment(driver: Choice, python: str = "") -> dict[str, str]:
    """Return the environment of processes that run checks, in this or another interpreter.

    Raises `CannotBuildError`: the emulated driver cannot be built.
    """
    from interchange_conformance.driver import cuda

    return {**os.environ, **cuda.environment(driver), **interpreters.environment(python)}


def known_failures(spec: str, expected: str | None) -> list[Expectation]:
    """Return the known failures of a subject.

    Raises `ExpectationsError`: a file is invalid, or names checks that do not exist.
    """
    module = shipped().get(spec.replace("_", "-"), "").rpartition(".")[2]
    path = (expectations.shipped_file(module) if module else None) if expected is None else expected
    if not path:
        return []
    known = expectations.read(path)
    expectations.refuse_unknown(known, select().items(ROLES))
    return known


class UnknownSubjectError(Exception):
    """A word is not the name of a subject; the message lists the valid names."""


def subjects_named(words: Sequence[str], python: str = "") -> list[str]:
    """Return the subjects with the given names, each once.

    Parameters
    ----------
    words : sequence of str
        Names of subjects, and ``"all"`` for every installed one that ships with the kit.
    python : str, optional
        Path of the interpreter; empty for this one.

    Raises
    ------
    UnknownSubjectError
        A word is neither ``module:name`` nor the name of a subject that ships with the kit.
    """
    known = shipped()
    specs: list[str] = []
    for word in words:
        if ":" not in word and word != _ALL and word.replace("_", "-") not in known:
            there = f"write module:name, or one of {', '.join(known)}, or all"
            raise UnknownSubjectError(f"there is no subject {word!r}; {there}")
        specs += installed(python) if word == _ALL else [word]
    return list(dict.fromkeys(specs))


def installed(python: str = "") -> list[str]:
    """Return the subjects of the kit whose library an interpreter has, by default this one.

    The libraries are not imported: one that is installed and fails to import is broken.
    """
    needed: dict[str, str] = {}
    for spec, module in shipped().items():
        subject: Any = importlib.import_module(module).subject
        needed[spec] = subject.distribution
    there = interpreters.distributions_of(python or sys.executable, needed.values())
    return [spec for spec, distribution in needed.items() if distribution in there]


def judge(
    spec: str,
    settings: Settings,
    begin: Callable[[str, int], object] = lambda *_: None,
    tell: Callable[[Judged], object] = lambda _: None,
) -> SubjectReport:
    """Return the report of one subject.

    Parameters
    ----------
    spec : str
        The subject.
    settings : Settings
        Settings of the run.
    begin : callable, optional
        Called with its name and the number of items, once these are known.
    tell : callable, optional
        Called with each item when it ends.

    Raises
    ------
    ExpectationsError
        The file of known failures is invalid, or names checks that do not exist.
    """
    began = time.monotonic()
    known = known_failures(spec, settings.expected)
    with pool_of(spec, settings) as pool:
        expected = expected_of(pool, known, settings)
        verdict, items = planned(pool, settings.selection)
        begin(pool.about.name, len(items) + (verdict is not None))
        judged = _run(pool, verdict, items, expected, settings, tell)
        about = pool.about
    seconds = time.monotonic() - began
    hardly = _hardly(about, verdict, judged, settings)
    facts = (spec, about.name, about.version, about.roles, about.broken)
    return SubjectReport(*facts, tuple(judged), round(seconds, 3), hardly)


def pool_of(spec: str, settings: Settings) -> Pool:
    """Return the processes that judge a subject."""
    place = environment(settings.driver, settings.python)
    patience, python = settings.patience, settings.python
    return Pool(spec, settings.jobs, place, patience=patience, python=python)


def expected_of(pool: Pool, known: Sequence[Expectation], settings: Settings) -> Expected:
    """Return the known failures that apply to a run, none of which is stale.

    Raises `ExpectationsError`: an entry matches no item of the subject.
    """
    about = pool.about
    run = about.version, settings.driver
    expected = Expected(known, *run, quirks=settings.quirks, python=about.python)
    if settings.selection.is_whole and not about.broken:
        expected.refuse_stale(settings.selection.items(about.roles))
    return expected


def planned(pool: Pool, selection: Selection) -> tuple[Verdict | None, list[str]]:
    """Return the verdict that invalidates all others on a subject's arrays, and the items to run.

    Returns
    -------
    Verdict or None
        Verdict of the first basic item that fails: no item that needs an array of the subject is
        run.
    list of str
        The items to run.
    """
    about = pool.about
    items = [] if about.broken else selection.items(about.roles)
    others = [item for item in items if find_item(item)[0].role != "producer"]
    for item in _FIRST if len(others) < len(items) else ():
        verdict = pool.run_one(item)
        if verdict.status in BAD and verdict.status != "raised":
            return verdict._replace(evidence=f"{verdict.evidence}; {_ONLY}"), others
    return None, items


def to_hand_over(subjects: Iterable[SubjectReport]) -> list[SubjectReport]:
    """Return the subjects of a grid: those that could be judged, in the roles that they can fill.

    Parameters
    ----------
    subjects : iterable of SubjectReport
        The reports.  A subject whose arrays fail the basic items is only a consumer: its error has
        already been reported.
    """
    return [
        one._replace(roles=tuple(role for role in one.roles if role != "producer"))
        if any(judged.verdict.evidence.endswith(_ONLY) for judged in one.judged)
        else one
        for one in subjects
        if not one.broken
    ]


def _run(
    pool: Pool,
    verdict: Verdict | None,
    items: Sequence[str],
    expected: Expected,
    settings: Settings,
    tell: Callable[[Judged], object],
) -> list[Judged]:
    """Run the items of a subject, and return them judged, after the first verdict."""

    def judge_one(verdict: Verdict) -> bool:
        judged = expected.judge(verdict)
        tell(judged)
        return settings.fail_fast and judged.is_unexpected

    found = [] if verdict is None else [verdict]
    if not any(map(judge_one, found)):
        found += pool.run(items, tell=judge_one)
    return [expected.judge(one) for one in found]


def _hardly(
    about: About, verdict: Verdict | None, judged: Sequence[Judged], settings: Settings
) -> str:
    """Return the roles in which a subject was hardly judged in a complete run."""
    if about.broken or verdict is not None or settings.fail_fast or not settings.selection.is_whole:
        return ""
    return minimum_coverage.missing_coverage([one.verdict for one in judged], about.roles)


def report(
    settings: Settings, subjects: Sequence[SubjectReport], grid: Sequence[Exchange] = ()
) -> Report:
    """Return the report of a run on this machine."""
    python = settings.python
    try:
        kit = metadata.version("array-interchange-conformance")
    except metadata.PackageNotFoundError:
        kit = "unknown"
    return Report(
        kit=kit,
        python=interpreters.version_of(python) if python else platform.python_version(),
        platform=f"{platform.system()} {platform.machine()}",
        driver=settings.driver,
        subjects=tuple(subjects),
        grid=tuple(grid),
    )
