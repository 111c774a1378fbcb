"""Consumers and malformed structs: invalid fields are refused before they are used.

Source: dlpack.h 1.3, DLTensor.  No document requires a consumer to validate.  It should refuse what
the header excludes, so that a broken producer causes an error instead of a crash; few consumers
detect errors that require arithmetic.
"""

from __future__ import annotations

import contextlib
import resource
from pathlib import Path
from typing import TYPE_CHECKING, Final

from interchange_conformance.findings import expect
from interchange_conformance.probes.importing import attempts, of_rule, paired, show
from interchange_conformance.registry import area
from interchange_conformance.zoo import zoo

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from interchange_conformance.probes.importing import Pair
    from interchange_conformance.probes.under_test import ConsumerUnderTest
    from interchange_conformance.registry import Decorator, Severity

    Check = Callable[[ConsumerUnderTest, Pair], None]

check: Decorator = area("capsule")

_ZOO: Final = paired(zoo())
_ROOM: Final = 2**32  # for allocations during the check [bytes]


@contextlib.contextmanager
def _little_room() -> Iterator[None]:
    """Limit the memory of the process, so that an allocation of the described size fails."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    except OSError:  # not Linux
        yield
        return
    wanted = pages * resource.getpagesize() + _ROOM
    finite = [limit for limit in (soft, hard) if limit != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_AS, (min([wanted, *finite]), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _check(
    rule: str, member: str, *but: str, severity: Severity = "SHOULD"
) -> Callable[[Check], Check]:
    """Register a function as a check of a rule, with all cases of the zoo that break it."""
    cases = of_rule(_ZOO, rule, *but)
    return check(rule, source=f"dlpack.h 1.3, DLTensor.{member}", severity=severity, cases=cases)


def _expect_refused(consumer: ConsumerUnderTest, case: Pair) -> None:
    """Raise an error if a case is imported."""
    with _little_room():
        for way, attempt in attempts(consumer, case):
            expect(not attempt.taken, f"{way}: {show(attempt.source)} {attempt}")


@_check("DLP-SHAPE-1", "ndim", "ndim-65")
def impossible_numbers_of_axes_are_refused(consumer: ConsumerUnderTest, case: Pair) -> None:
    """A negative or impossible number of axes is refused.

    Compare ndim with 0 and with your maximum before you dereference a pointer.
    """
    _expect_refused(consumer, case)


@_check("DLP-SHAPE-2", "shape")
def shapes_that_are_null_are_refused(consumer: ConsumerUnderTest, case: Pair) -> None:
    """An array with axes whose shape is NULL is refused.

    Check the pointer if ndim is not 0.
    """
    _expect_refused(consumer, case)


@_check("DLP-SHAPE-3", "shape")
def negative_extents_are_refused(consumer: ConsumerUnderTest, case: Pair) -> None:
    """A negative extent is refused.

    Check each extent, not their product: the product of two negative extents is positive.
    """
    _expect_refused(consumer, case)


@_check("DLP-SHAPE-4", "shape", severity="QUIRK")
def sizes_beyond_64_bits_are_refused(consumer: ConsumerUnderTest, case: Pair) -> None:
    """An array with more elements or bytes than 64 bits can count is refused.

    Multiply with an overflow check: a product that wraps looks like a small array.
    """
    _expect_refused(consumer, case)


@_check("DLP-STRIDES-2", "strides", severity="QUIRK")
def strides_that_leave_the_address_space_are_refused(
    consumer: ConsumerUnderTest, case: Pair
) -> None:
    """Strides that lead below address 0 or beyond the last address are refused.

    Sum up the greatest step down and the greatest step up, with a check for overflow, and add both
    to the address of the first element.
    """
    _expect_refused(consumer, case)


@_check("DLP-DATA-1", "data")
def elements_without_memory_are_refused(consumer: ConsumerUnderTest, case: Pair) -> None:
    """An array with elements whose data is NULL is refused.

    Check the pointer if no extent is 0, and before you add byte_offset. An array library that is
    given NULL may allocate memory of its own, and expose its previous content.
    """
    _expect_refused(consumer, case)


@_check("DLP-DATA-2", "byte_offset", severity="QUIRK")
def offsets_that_leave_the_address_space_are_refused(
    consumer: ConsumerUnderTest, case: Pair
) -> None:
    """An offset that leads beyond the last address is refused.

    Add byte_offset to data with an overflow check. It is unsigned: a small negative number is a
    very large one.
    """
    _expect_refused(consumer, case)
