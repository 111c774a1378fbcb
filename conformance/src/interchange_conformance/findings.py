"""What a check says of a subject: an exception for each way not to pass."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

Status = Literal[
    "pass", "fail", "raised", "crash", "hang", "exit", "not-applicable", "broken-subject"
]
"""How one check of one subject ended.

``pass``: the rule is kept.  ``fail``: the check found it broken.  ``raised``: an exception that the
check did not foresee came out of the subject.  ``crash``: a signal ended the process; ``exit``: the
subject ended it; ``hang``: it was cut after its time.  ``not-applicable``: the subject has nothing
that the rule speaks of.  ``broken-subject``: the description of the subject does not do what it
says, so that nothing can be learnt of the library.
"""

STATUSES: Final[tuple[Status, ...]] = (
    "pass", "fail", "raised", "crash", "hang", "exit", "not-applicable", "broken-subject"
)  # fmt: skip
BAD: Final[frozenset[Status]] = frozenset(
    {"fail", "raised", "crash", "hang", "exit", "broken-subject"}
)
"""What makes a run fail, unless it is expected."""


class Found(Exception):  # noqa: N818 - it is what a check found, and no error of ours
    """The rule is broken; the text is the evidence: what was done, what came, what was due."""


class NotApplicable(Exception):  # noqa: N818 - as above
    """The subject has nothing that the rule speaks of; the text says what it lacks."""


class CannotMakeError(Exception):
    """What a subject's ``make`` raises for what its library has not; the text says what."""


class BrokenSubjectError(Exception):
    """A subject does not do what its description says; the text says how."""


def expect(kept: object, evidence: str) -> None:
    """Raise `Found` with the evidence unless the rule was kept.

    Parameters
    ----------
    kept : object
        Whether it was.
    evidence : str
        What was done, what came, and what was due.

    Raises
    ------
    Found
        It was not.

    Examples
    --------
    >>> expect((2, 3) == (2, 3), "the shape changed")
    """
    if not kept:
        raise Found(evidence)


class Verdict(NamedTuple):
    """How one item ended.

    Attributes
    ----------
    subject : str
        Name of the subject.
    item : str
        The check, with its case in brackets where it has cases.
    status : str
        One of `STATUSES`.
    evidence : str
        What was found, empty for a pass.
    output : str
        What the subject printed meanwhile, cut to its last lines.
    seconds : float
        How long it took [seconds].
    cause : str
        What came out of the library, and from which line; empty where that is not known.  Items
        that share it are one finding.
    """

    subject: str
    item: str
    status: Status
    evidence: str = ""
    output: str = ""
    seconds: float = 0.0
    cause: str = ""


OWN: Final = "of the library alone: "
"""What a note begins with about what is no exchange: a process that dies of it breaks no rule."""
_tell: Callable[[str], object] = str


def note(doing: str) -> None:
    """Say what a check is about to do: the evidence, should the process not survive it.

    Parameters
    ----------
    doing : str
        Such as ``"reading the elements"``.
    """
    _tell(doing)


def on_note(tell: Callable[[str], object]) -> None:
    """Set where notes go."""
    global _tell  # noqa: PLW0603 - a process has one runner
    _tell = tell
