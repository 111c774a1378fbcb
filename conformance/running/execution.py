"""Runs one item in this process and says how it ended.

Source: interchange.
"""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING, Final

from ..doors import DOORS
from ..findings import BrokenSubjectError, Found, NotApplicable
from ..registry import find_item

if TYPE_CHECKING:
    from ..findings import Status
    from ..subject import Subject

_MOST: Final = 2000  # of an evidence [characters]


def execute(item: str, subject: Subject) -> tuple[Status, str]:
    """Return how an item ended for a subject, and the evidence.

    Parameters
    ----------
    item : str
        As `Check.items` gives it.
    subject : Subject
        What is judged.
    """
    check, case = find_item(item)
    door = DOORS[check.role](subject)
    arguments = () if case is None else (check.cases[case],)
    try:
        check.function(door, *arguments)
    except Found as found:
        return "fail", str(found)[:_MOST]
    except NotApplicable as reason:
        return "not-applicable", str(reason)[:_MOST]
    except BrokenSubjectError as error:
        return "broken-subject", str(error)[:_MOST]
    except Exception:  # noqa: BLE001 - whatever a library raises is a verdict
        return "raised", traceback.format_exc()[-_MOST:]
    return "pass", ""
