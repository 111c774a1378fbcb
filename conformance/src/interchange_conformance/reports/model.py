"""The result of a run, as data: every report is made from this and from the registry.

``reports/report.schema.json`` describes its JSON.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, NamedTuple

if TYPE_CHECKING:
    from interchange_conformance.findings import Verdict

SCHEMA: Final = 1
"""Version of the JSON form: it grows by one when a reader of the old form would misread the new."""

Standing = Literal["as-expected", "allowed", "unexpected-failure", "unexpected-pass"]
"""``allowed``: a QUIRK that is not listed as known, and does not decide the exit code."""
DECISIVE: Final[frozenset[Standing]] = frozenset({"unexpected-failure", "unexpected-pass"})
"""What makes a run fail."""


class Judged(NamedTuple):
    """A verdict, and whether it was expected.

    Attributes
    ----------
    verdict : Verdict
        How the item ended.
    standing : {"as-expected", "allowed", "unexpected-failure", "unexpected-pass"}
        A known failure is as expected; one that no longer happens is an unexpected pass.  What the
        standards allow is allowed, unless QUIRKs are to decide.
    reason : str
        Why a failure is known; empty for every other item.
    link : str
        Where it is discussed, if anywhere.
    releases : str
        Releases of the library that are known to do it, such as ``">=2.1,<2.5"``.
    """

    verdict: Verdict
    standing: Standing
    reason: str = ""
    link: str = ""
    releases: str = ""

    @property
    def is_unexpected(self) -> bool:
        """Whether it makes a run fail."""
        return self.standing in DECISIVE


class SubjectReport(NamedTuple):
    """What was found of one subject.

    Attributes
    ----------
    spec : str
        What it was asked for as.
    name, version : str
        What it is.
    roles : tuple of str
        What it was judged as.
    broken : str
        Why it could not be judged, or nothing.
    judged : tuple of Judged
        One per item, in the order of the registry.
    seconds : float
        How long it took [seconds].
    hardly : str
        In which role so few rules apply to it that nothing follows from what passes, or nothing.
    """

    spec: str
    name: str
    version: str
    roles: tuple[str, ...]
    broken: str
    judged: tuple[Judged, ...]
    seconds: float
    hardly: str = ""


class Exchange(NamedTuple):
    """One cell of the grid: an array of one subject, taken by another.

    Attributes
    ----------
    producer, consumer : str
        Names of the subjects.
    status : {"shared", "copied", "refused", "wrong", "crash", "hang"}
        What became of it.
    evidence : str
        The error, or what was wrong.
    """

    producer: str
    consumer: str
    status: Literal["shared", "copied", "refused", "wrong", "crash", "hang"]
    evidence: str = ""

    @property
    def is_bad(self) -> bool:
        """Whether it is an error: sharing, copying and refusing are valid results."""
        return self.status in {"wrong", "crash", "hang"}


class Report(NamedTuple):
    """The result of a run.

    Attributes
    ----------
    kit : str
        Release of the kit, and of the interchange that it stands on.
    python, platform : str
        What it ran on.
    driver : {"none", "emulated", "real"}
        The CUDA driver.
    subjects : tuple of SubjectReport
        In the order in which they were asked for.
    grid : tuple of Exchange
        Empty unless it was asked for.
    """

    kit: str
    python: str
    platform: str
    driver: Literal["none", "emulated", "real"]
    subjects: tuple[SubjectReport, ...]
    grid: tuple[Exchange, ...] = ()

    @property
    def unexpected(self) -> int:
        """How many results were not as expected.

        Those are items, subjects that could not be judged, and arrays that arrived wrong in the
        grid, or ended the process.
        """
        found = sum(
            bool(subject.broken) + sum(one.is_unexpected for one in subject.judged)
            for subject in self.subjects
        )
        return found + sum(one.is_bad for one in self.grid)
