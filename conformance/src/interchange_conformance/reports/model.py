"""The result of a run as data, from which, with the registry, every report is made.

``reports/report.schema.json`` describes its JSON.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, NamedTuple

if TYPE_CHECKING:
    from interchange_conformance.findings import Verdict

SCHEMA: Final = 1
"""Version of the JSON format: it grows if a reader of the old format would misread the new one."""

Standing = Literal["as-expected", "allowed", "unexpected-failure", "unexpected-pass"]
"""``allowed``: a QUIRK that is not listed as known, and does not decide the exit code."""
DECISIVE: Final[frozenset[Standing]] = frozenset({"unexpected-failure", "unexpected-pass"})
"""The standings that make a run fail."""


class Judged(NamedTuple):
    """A verdict, and whether it was expected.

    Attributes
    ----------
    verdict : Verdict
        The verdict of the item.
    standing : {"as-expected", "allowed", "unexpected-failure", "unexpected-pass"}
        A known failure is as expected; one that no longer happens is an unexpected pass.  A QUIRK
        is allowed, unless QUIRKs decide the result.
    reason : str
        Reason of a known failure; empty for every other item.
    link : str
        Where it is discussed; may be empty.
    releases : str
        Releases of the library with the failure, such as ``">=2.1,<2.5"``.
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
    """The report of one subject.

    Attributes
    ----------
    spec : str
        Its name on the command line.
    name, version : str
        Name and release of the library.
    roles : tuple of str
        Roles in which it was judged.
    broken : str
        Why it could not be judged; empty otherwise.
    judged : tuple of Judged
        One per item, in the order of the registry.
    seconds : float
        Duration of the run [seconds].
    hardly : str
        Roles to which too few rules apply for a meaningful result; empty otherwise.
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
    """One cell of the grid: an array of one subject, imported by another.

    Attributes
    ----------
    producer, consumer : str
        Names of the subjects.
    status : {"shared", "copied", "refused", "wrong", "crash", "hang"}
        The result.
    evidence : str
        The error, or the difference.
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
        Release of the kit, and of interchange.
    python, platform : str
        Python release and platform of the run.
    driver : {"none", "emulated", "real"}
        The CUDA driver.
    subjects : tuple of SubjectReport
        In the order in which they were requested.
    grid : tuple of Exchange
        Empty unless requested.
    """

    kit: str
    python: str
    platform: str
    driver: Literal["none", "emulated", "real"]
    subjects: tuple[SubjectReport, ...]
    grid: tuple[Exchange, ...] = ()

    @property
    def unexpected(self) -> int:
        """Number of unexpected results.

        These are items, subjects that could not be judged, and exchanges of the grid with a wrong
        result or a crash.
        """
        found = sum(
            bool(subject.broken) + sum(one.is_unexpected for one in subject.judged)
            for subject in self.subjects
        )
        return found + sum(one.is_bad for one in self.grid)
