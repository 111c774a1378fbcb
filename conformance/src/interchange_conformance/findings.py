"""The results of a check: an exception for each result other than a pass."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

Status = Literal[
    "pass", "fail", "raised", "crash", "hang", "exit", "not-applicable", "broken-subject"
]
"""Status of one check for one subject.

``pass``: the rule is satisfied.  ``fail``: the check found a violation.  ``raised``: the subject
raised an exception that the check did not expect.  ``crash``: a signal ended the process; ``exit``:
the subject ended it; ``hang``: it was terminated after its time limit.  ``not-applicable``: the
rule does not apply to the subject.  ``broken-subject``: the description of the subject is wrong, so
that the library cannot be judged.
"""

STATUSES: Final[tuple[Status, ...]] = (
    "pass", "fail", "raised", "crash", "hang", "exit", "not-applicable", "broken-subject"
)  # fmt: skip
BAD: Final[frozenset[Status]] = frozenset(
    {"fail", "raised", "crash", "hang", "exit", "broken-subject"}
)
"""The statuses that make a run fail, unless they are expected."""


class Found(Exception):  # noqa: N818 - a finding, not an error of the kit
    """The rule is violated; the message is the evidence: the call, the result, the expectation."""


class NotApplicable(Exception):  # noqa: N818 - as above
    """The rule does not apply to the subject; the message contains the missing feature."""


class CannotMakeError(Exception):
    """Raised by a subject's ``make`` for a feature that its library lacks; the message names it."""


class BrokenSubjectError(Exception):
    """A subject does not behave as its description states; the message contains the difference."""


def expect(kept: object, evidence: str) -> None:
    """Raise `Found` with the evidence unless the condition is true.

    Parameters
    ----------
    kept : object
        The condition.
    evidence : str
        The call, the result, and the expectation.

    Raises
    ------
    Found
        The condition is false.

    Examples
    --------
    >>> expect((2, 3) == (2, 3), "the shape changed")
    """
    if not kept:
        raise Found(evidence)


class Verdict(NamedTuple):
    """The verdict on one item.

    Attributes
    ----------
    subject : str
        Name of the subject.
    item : str
        The check, with its case in brackets if it has cases.
    status : str
        One of `STATUSES`.
    evidence : str
        The evidence, empty for a pass.
    output : str
        Printed output of the subject, limited to its last lines.
    seconds : float
        Duration [seconds].
    cause : str
        The error of the library, and the line where it was raised; empty if unknown.  Items with
        the same cause are one finding.
    """

    subject: str
    item: str
    status: Status
    evidence: str = ""
    output: str = ""
    seconds: float = 0.0
    cause: str = ""


OWN: Final = "of the library alone: "
"""Prefix of notes on steps outside of an exchange: a process that dies in them breaks no rule."""
_tell: Callable[[str], object] = str


def note(doing: str) -> None:
    """Announce the next step of a check, which is the evidence if the process dies in it.

    Parameters
    ----------
    doing : str
        The step, such as ``"reading the elements"``.
    """
    _tell(doing)


def on_note(tell: Callable[[str], object]) -> None:
    """Set the function that receives notes."""
    global _tell  # noqa: PLW0603 - a process has one runner
    _tell = tell
