"""Errors: the class of a refusal, by the refused request.

Source: array API standard 2025.12, ``array.__dlpack__``, Raises.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from interchange_conformance.findings import Found, NotApplicable, expect
from interchange_conformance.registry import area

from ._exports import (
    HOST,
    SOMETHING,
    answer,
    answer_at_rest,
    asking,
    call,
    export_keywords,
    in_each,
    require_generation,
    some_array,
    told,
)
from .element_types import FOREIGN_ORDER, UNSPEAKABLE, array_of
from .layouts import uneven

if TYPE_CHECKING:
    from interchange_conformance.probes.opened_capsule import OpenedCapsule
    from interchange_conformance.probes.under_test import ProducerUnderTest
    from interchange_conformance.registry import Decorator

check: Decorator = area("errors")

_SOURCE: Final = "array API standard 2025.12, array.__dlpack__, Raises"
_NO_CLASS: Final = (
    "convention of CuPy and NumPy; for incorrect arguments the standard names no class"
)


def _refused(keywords: dict[str, Any], found: OpenedCapsule | Exception) -> Exception:
    """Return the error; without one, the check does not apply, and other checks test that."""
    if not isinstance(found, Exception):
        raise NotApplicable(told(keywords, found))
    return found


@check(
    "DLP-DTYPE-4",
    source=f"{_SOURCE}: BufferError for an incompatible dtype",
    severity="SHOULD",
    cases=in_each({
        **UNSPEAKABLE,
        "foreign-order": f"{FOREIGN_ORDER}f8",
        "longdouble": "longdouble",
        "bits": "bool",
        "bfloat16": "bfloat16",
        "int4": "int4",
    }),
)  # fmt: skip
def element_types_are_refused_with_buffer_error(
    producer: ProducerUnderTest, case: tuple[str, Any]
) -> None:
    """An element type that cannot be exported is refused with BufferError.

    Raise BufferError if DLPack has no code for the elements. On a TypeError, as for unknown
    keywords, consumers call again with fewer, and report the wrong cause.
    """
    generation, dtype = case
    x = array_of(producer, dtype)
    require_generation(producer, generation)
    keywords = asking(generation)

    error = _refused(keywords, answer(producer, x, **keywords))

    expect(isinstance(error, BufferError), told(keywords, error))


@check(
    "DLP-STRIDES-3", source=f"{_SOURCE}: BufferError for incompatible strides", severity="SHOULD",
    cases={"copy-left-out": {}, "copy-false": {"copy": False}},
)  # fmt: skip
def strides_are_refused_with_buffer_error(
    producer: ProducerUnderTest, case: dict[str, Any]
) -> None:
    """Strides that cannot be exported are refused with BufferError.

    Raise BufferError if a byte stride is not a multiple of the element size.
    """
    y = uneven(producer)
    keywords = asking("versioned", **case)

    error = _refused(keywords, answer(producer, y, **keywords))

    expect(isinstance(error, BufferError), told(keywords, error))


@check("DLP-RO-3", source=f"{_SOURCE}: BufferError when the data cannot be exported",
       severity="SHOULD")  # fmt: skip
def legacy_of_readonly_memory_raises_buffer_error(producer: ProducerUnderTest) -> None:
    """A legacy export of read-only memory is refused with BufferError.

    Raise BufferError: consumers that catch it call again with max_version, or request a copy.
    """
    if not producer.subject.immutable:
        require_generation(producer, "legacy")
    x = some_array(producer, readonly=not producer.subject.immutable)

    error = _refused({}, answer(producer, x))

    expect(isinstance(error, BufferError), told({}, error))


@check(
    "DLP-COPY-1",
    source="array API standard 2025.12, array.__dlpack__, copy: BufferError if one is needed",
    cases={
        "false": {"copy": False},
        "false-elsewhere": {"copy": False, "dl_device": (2, 0)},
    },
)
def copies_are_refused_with_buffer_error(producer: ProducerUnderTest, case: dict[str, Any]) -> None:
    """copy=False that is impossible is refused with BufferError.

    Raise BufferError, not ValueError: it is the class for exports that are not possible as
    requested.
    """
    _expect_buffer_errors(producer, case)


@check(
    "DLP-COPY-1",
    source=f"{_SOURCE}: BufferError when the data cannot be exported as requested",
    severity="SHOULD",
    cases={"here": {"copy": True}, "elsewhere": {"copy": True, "dl_device": (2, 0)}},
)
def requested_copies_are_refused_with_buffer_error(
    producer: ProducerUnderTest, case: dict[str, Any]
) -> None:
    """copy=True that is impossible is refused with BufferError.

    Raise BufferError, not NotImplementedError or ValueError: consumers that catch it copy by
    themselves.
    """
    _expect_buffer_errors(producer, case)


def _expect_buffer_errors(producer: ProducerUnderTest, case: dict[str, Any]) -> None:
    """Raise an error if a value of copy is refused with anything but a BufferError."""
    x = some_array(producer)
    asked = [{**way, **case} for way in export_keywords(producer, x)]
    found = [(keywords, answer(producer, x, **keywords)) for keywords in asked]
    refused = [(keywords, one) for keywords, one in found if isinstance(one, Exception)]

    if not refused:
        raise NotApplicable(f"{call(case)} is never refused")
    for keywords, error in refused:
        if isinstance(error, BufferError):
            continue
        rest = {name: value for name, value in keywords.items() if name != "copy"}
        if type(answer(producer, x, **rest)) is type(error):
            raise NotApplicable(f"it is not because of copy: {told(rest, error)}")
        raise Found(told(keywords, error))


@check(
    "DLP-STREAM-1",
    source=_NO_CLASS,
    severity="QUIRK",
    cases={"1": 1, "a-handle": 4096},
)
def streams_are_refused_with_value_error(producer: ProducerUnderTest, case: int) -> None:
    """A stream for host memory is refused with ValueError; BufferError is accepted.

    Raise ValueError: the argument has a wrong value. TypeError looks like an unknown keyword,
    RuntimeError like an internal error, and assertions are removed by python -O.
    """
    _expect_classes(producer, case, (ValueError, BufferError))


@check(
    "DLP-STREAM-4",
    source=_NO_CLASS,
    severity="QUIRK",
    cases={"text": "1", "an-object": SOMETHING},
)
def streams_of_no_kind_are_refused_with_type_error(producer: ProducerUnderTest, case: Any) -> None:
    """A stream that is not an int raises TypeError; ValueError and BufferError are accepted.

    Raise TypeError: the argument has a wrong type.
    """
    _expect_classes(producer, case, (TypeError, ValueError, BufferError))


def _expect_classes(
    producer: ProducerUnderTest, stream: Any, classes: tuple[type[Exception], ...]
) -> None:
    """Raise an error if a stream for host memory is refused with another class."""
    x = some_array(producer)
    asked = [{**way, "stream": stream} for way in export_keywords(producer, x, kind=HOST[0])]
    found = [(keywords, answer_at_rest(producer, x, **keywords)) for keywords in asked]
    refused = [(keywords, one) for keywords, one in found if isinstance(one, Exception)]

    if not refused:
        raise NotApplicable(told(*found[0]))
    for keywords, error in refused:
        expect(isinstance(error, classes), told(keywords, error))
