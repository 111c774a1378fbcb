"""Consumers and errors: the class of a refusal, on which callers base their next attempt.

Source: array API standard 2025.12, ``from_dlpack``, Raises; practice of NumPy and CuPy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from interchange_conformance.findings import NotApplicable, expect
from interchange_conformance.probes.importing import Attempt, attempts, object_way, paired, ways
from interchange_conformance.registry import area
from interchange_conformance.zoo import host, legal, zoo

if TYPE_CHECKING:
    from interchange_conformance.probes.importing import Pair, Way
    from interchange_conformance.probes.under_test import ConsumerUnderTest
    from interchange_conformance.registry import Decorator

check: Decorator = area("errors")

_ZOO: Final = paired(zoo())
_LEGAL: Final = paired(legal())
_RAISES: Final = "array API standard 2025.12, from_dlpack, Raises"
_PRACTICE: Final = "practice of NumPy and CuPy"
_USED: Final = {
    "other-name": _ZOO["name-unknown"],
    "used": _ZOO["consumed-by-another"],
}


def _expect_class(way: Way, attempt: Attempt, due: tuple[type[Exception], ...], what: str) -> None:
    """Raise an error unless a refusal has an expected class."""
    names = " or ".join(error.__name__ for error in due)
    expect(isinstance(attempt.error, due), f"{way}: {what} {attempt}, due was {names}")


def _expect_each(
    consumer: ConsumerUnderTest, case: Pair, due: tuple[type[Exception], ...], what: str
) -> None:
    """Raise an error unless each refusal of a case has an expected class."""
    refused = False
    for way, attempt in attempts(consumer, case):
        if not attempt.taken:
            refused = True
            _expect_class(way, attempt, due, what)
    if not refused:
        raise NotApplicable(f"{what} is taken")


_ELEMENTS: Final = {
    "unknown-code": (_ZOO["code-99"], "an element type of code 99"),
    "two-lanes": (_LEGAL["lanes-2"], "an element type of two lanes"),
}


@check("DLP-DTYPE-1", source=_PRACTICE, severity="QUIRK", cases=_ELEMENTS)
def unsupported_elements_raise_buffer_error(
    consumer: ConsumerUnderTest, case: tuple[Pair, str]
) -> None:
    """An unsupported element type is refused with BufferError.

    Raise BufferError for tensors that you have no arrays for: callers then try another protocol, or
    a conversion. The standard requires it for devices, and for producers.
    """
    _expect_each(consumer, case[0], (BufferError,), case[1])


_DEVICES: Final = {"cuda": (2, 0), "opencl": (4, 0), "unknown": (99, 0)}


@check("DLP-DEV-6", source=f"{_RAISES}: BufferError", severity="SHOULD", cases=_DEVICES)
def unsupported_devices_raise_buffer_error(
    consumer: ConsumerUnderTest, case: tuple[int, int]
) -> None:
    """An unsupported device is refused with BufferError.

    Raise BufferError, whether __dlpack_device__() or the struct names it, and also if the library
    was built without support for the device. TypeError was right until 2022.
    """
    refused = False
    for way in ways(consumer):
        source = host(way.shape).but(generation=way.generation, device=case)
        attempt = Attempt(way.take, source)
        if not attempt.taken:
            refused = True
            _expect_class(way, attempt, (BufferError,), f"memory of device {case}")
    if not refused:
        raise NotApplicable(f"memory of device {case} is taken")


@check("DLP-VER-1", source=_PRACTICE, severity="QUIRK")
def newer_majors_raise_buffer_error(consumer: ConsumerUnderTest) -> None:
    """A struct of a newer major version is refused with BufferError.

    Raise BufferError: a request for an older version may succeed.
    """
    _expect_each(consumer, _ZOO["major-2"], (BufferError,), "version 2.0")


@check("DLP-CAP-2", source=_PRACTICE, severity="QUIRK", cases=_USED)
def capsules_not_to_be_taken_raise_value_error(consumer: ConsumerUnderTest, case: Pair) -> None:
    """A capsule with another name, or a used one, raises ValueError or BufferError.

    Raise ValueError: it is a mistake of the caller. BufferError is accepted, as for everything that
    cannot be exchanged.
    """
    _expect_each(consumer, case, (ValueError, BufferError), "such a capsule")


@check("DLP-NEG-1", source=f"{_RAISES}: AttributeError", severity="SHOULD")
def objects_without_dlpack_raise_attribute_error(consumer: ConsumerUnderTest) -> None:
    """An object without __dlpack__ is refused with AttributeError.

    Do not catch the AttributeError of the attribute access.
    """
    take = object_way(consumer).take
    attempt = Attempt(take, _ZOO["no-dlpack"].versions["versioned"].make())

    if attempt.taken:
        raise NotApplicable("it is taken")
    due = isinstance(attempt.error, AttributeError)
    expect(due, f"an object with __dlpack_device__ alone {attempt}, due was AttributeError")
