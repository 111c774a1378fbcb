"""Run one item in this process and return its verdict."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING

from interchange_conformance.evidence import causes
from interchange_conformance.evidence.printable import shortened, words_of
from interchange_conformance.findings import BrokenSubjectError, Found, NotApplicable
from interchange_conformance.probes.under_test import UNDER_TEST
from interchange_conformance.registry import find_item

if TYPE_CHECKING:
    from collections.abc import Callable

    from interchange_conformance.findings import Status
    from interchange_conformance.subject import Subject


def execute(item: str, subject: Subject) -> tuple[Status, str]:
    """Return the status of an item for a subject, and the evidence."""
    check, case = find_item(item)
    arguments = () if case is None else (check.cases[case],)
    return settle(lambda: check.function(UNDER_TEST[check.role](subject), *arguments))


def settle(work: Callable[[], object]) -> tuple[Status, str]:
    """Return the status of a function call, and the evidence.

    Parameters
    ----------
    work : callable
        Raises what a check raises; any other exception is a verdict, too, including those that end
        a process, because the process exists for this function only.
    """
    causes.remember("")
    try:
        work()
    except Found as found:
        evidence = words_of(found)
        causes.remember(_cause_of(found, evidence))
        return "fail", shortened(evidence)
    except NotApplicable as reason:
        return "not-applicable", shortened(words_of(reason))
    except BrokenSubjectError as error:
        causes.remember(causes.cause_of(error.__cause__))
        return "broken-subject", shortened(words_of(error))
    except SystemExit as end:
        causes.remember(causes.cause_of(end))
        return "exit", f"SystemExit({end.code!r:.200}) was raised, which ends a process"
    except BaseException as error:  # noqa: BLE001 - any exception of a library is a verdict
        causes.remember(causes.cause_of(error))
        return "raised", shortened(traceback.format_exc())
    return "pass", ""


def _cause_of(found: Found, evidence: str) -> str:
    """Return the error of the library, if a check reported one."""
    if found.__cause__ is not None:
        return causes.cause_of(found.__cause__)
    cause = causes.cause_of(found.__context__)  # it may differ from the finding
    return cause if causes.is_quoted_in(cause, evidence) else causes.seen_in(evidence)
