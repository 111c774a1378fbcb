"""Stream values that producers must accept or refuse, by device type.

Source: array API standard 2025.12, ``array.__dlpack__`` (stream).  The standard specifies the
meaning of values, and disallows 0; it does not specify the result of a value without a meaning, so
that these checks are no MUSTs, except if a legal value is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from interchange_conformance.findings import Found, NotApplicable, expect, note
from interchange_conformance.registry import area

from ._exports import answer, words
from ._on_devices import ROCM, make_there

if TYPE_CHECKING:
    from interchange_conformance.probes.under_test import ProducerUnderTest
    from interchange_conformance.registry import Decorator

check: Decorator = area("streams")

_SOURCE: Final = "array API standard 2025.12, array.__dlpack__, stream"
_NO_NUMBERS: Final = {
    "text": "1",
    "float": 1.0,
    "tuple": (1,),
    "object": object(),
}
_OUT_OF_RANGE: Final = {"minus-2": -2, "least": -(2**63), "too-long": 2**64}


def _refused(producer: ProducerUnderTest, x: Any, stream: Any, why: str) -> Exception:
    """Return the error with which a stream is refused."""
    note(f"exporting with stream={stream!r}")
    found = answer(producer, x, stream=stream)
    if not isinstance(found, Exception):
        raise Found(f"__dlpack__(stream={stream!r}) returned a capsule; {why}")
    return found


def _taken(producer: ProducerUnderTest, x: Any, stream: Any, why: str) -> None:
    """Export with a legal stream and without pending work."""
    note(f"exporting with stream={stream!r}")
    found = answer(producer, x, stream=stream)
    if isinstance(found, Exception):
        raise Found(f"__dlpack__(stream={stream!r}) raised {words(found)}; {why}")


# ---------------------------------------------------------------- CUDA


@check("DLP-STREAM-2", source=_SOURCE, on="cuda")
def stream_none_is_taken_on_cuda(producer: ProducerUnderTest) -> None:
    """stream=None is accepted, and means the legacy default stream.

    None is the default of the argument: treat it as 1.
    """
    _, x, _ = make_there(producer, "cuda")

    _taken(producer, x, None, "None is the default of the argument")


@check(
    "DLP-STREAM-2",
    source=f"{_SOURCE}; support for values other than None is optional",
    severity="SHOULD",
    cases={"no-sync": -1, "legacy": 1, "per-thread": 2, "handle": None},
    on="cuda",
)
def streams_of_cuda_are_taken(producer: ProducerUnderTest, case: int | None) -> None:
    """-1, 1, 2 and the handle of a stream are accepted.

    Make the consumer's stream wait for an event that is recorded on yours; do nothing for -1.
    """
    cuda, x, _ = make_there(producer, "cuda")
    stream = cuda.stream() if case is None else case

    _taken(producer, x, stream, "the value is legal on CUDA, and nothing is pending")


@check("DLP-STREAM-2", source=f"{_SOURCE}: 0 is disallowed", severity="SHOULD", on="cuda")
def stream_0_is_refused_on_cuda(producer: ProducerUnderTest) -> None:
    """stream=0 is refused: it is ambiguous between None, 1 and 2.

    Raise ValueError: work on the intended stream would race.
    """
    _, x, _ = make_there(producer, "cuda")

    _refused(producer, x, 0, "0 could stand for None, 1 or 2, and is disallowed")


@check("DLP-STREAM-2", source=_SOURCE, severity="SHOULD", cases=_OUT_OF_RANGE, on="cuda")
def numbers_that_name_no_stream_are_refused(producer: ProducerUnderTest, case: int) -> None:
    """Numbers below -1, or wider than a handle, are refused.

    Raise ValueError before the number is passed to the driver, which takes it for an address.
    """
    _, x, _ = make_there(producer, "cuda")

    _refused(producer, x, case, "no stream has that number")


@check("DLP-STREAM-4", source=_SOURCE, severity="SHOULD", cases=_NO_NUMBERS, on="cuda")
def streams_that_are_no_ints_are_refused(producer: ProducerUnderTest, case: Any) -> None:
    """A stream that is neither None nor an int is refused.

    Raise TypeError or ValueError; an ignored value is a missing order.
    """
    _, x, _ = make_there(producer, "cuda")

    _refused(producer, x, case, "a stream is None or an int")


@check("DLP-STREAM-4", source=_SOURCE, severity="QUIRK", on="cuda")
def truth_values_are_no_streams(producer: ProducerUnderTest) -> None:
    """stream=True is refused, though Python counts it as 1.

    Check for bool before int: True is not meant as the legacy default stream.
    """
    _, x, _ = make_there(producer, "cuda")

    _refused(producer, x, stream=True, why="a truth value is no stream")


@check(
    "DLP-STREAM-2",
    source="convention of CuPy and NumPy; the standard names no class",
    severity="QUIRK",
    cases={"zero": 0, "minus-2": -2, "text": "1"},
    on="cuda",
)
def bad_streams_are_refused_by_an_error_for_arguments(
    producer: ProducerUnderTest, case: Any
) -> None:
    """An invalid stream is refused with ValueError, TypeError or BufferError.

    AssertionErrors are removed by ``python -O``, and callers do not expect them.
    """
    _, x, _ = make_there(producer, "cuda")
    try:
        error = _refused(producer, x, case, "")
    except Found as found:
        raise NotApplicable(f"stream={case!r} is taken") from found

    expect(
        isinstance(error, (ValueError, TypeError, BufferError)),
        f"__dlpack__(stream={case!r}) raised {words(error)}; ValueError or TypeError is due",
    )


# ---------------------------------------------------------------- ROCm


def _on_rocm(producer: ProducerUnderTest) -> Any:
    """Return an array that claims to be on a ROCm device."""
    x = producer.make(device="rocm")
    if not hasattr(x, "__dlpack_device__") or x.__dlpack_device__()[0] != ROCM:
        raise NotApplicable("make(device='rocm') returned an array that is not on ROCm")
    return x


@check("DLP-STREAM-3", source=_SOURCE, severity="SHOULD", cases={"legacy": 1, "per-thread": 2})
def default_streams_of_cuda_are_refused_on_rocm(producer: ProducerUnderTest, case: int) -> None:
    """stream=1 and stream=2 are refused on ROCm, where 0 is the default stream.

    Raise ValueError: the numbers name default streams of CUDA, and would be taken for handles.
    """
    x = _on_rocm(producer)

    _refused(producer, x, case, "1 and 2 are unsupported on ROCm")


@check(
    "DLP-STREAM-3",
    source=f"{_SOURCE}; support for values other than None is optional",
    severity="SHOULD",
    cases={"none": None, "no-sync": -1, "default": 0},
)
def default_streams_of_rocm_are_taken(producer: ProducerUnderTest, case: int | None) -> None:
    """None, -1 and 0 are accepted on ROCm while nothing is pending.

    0 is the default stream there: do not use the table of CUDA, which disallows it.
    """
    x = _on_rocm(producer)

    _taken(producer, x, case, "the value is legal on ROCm, and nothing is pending")
