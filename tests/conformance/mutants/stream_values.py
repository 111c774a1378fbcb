"""Producers of device memory that accept invalid streams, or refuse valid ones.

Source: array API standard 2025.12, ``array.__dlpack__`` (stream); `checks.stream_values`.
"""

from __future__ import annotations

from typing import Any, Final

from interchange_conformance.zoo.on_device import NO_SYNC, OnDevice

from ._honest_device_producer import device_producer_mutant

_CUDA, _ROCM = 2, 10
_LEGACY: Final = 1


@device_producer_mutant("stream_none_is_taken_on_cuda", step="answer")
def refuses_stream_none(self: OnDevice, **keywords: Any) -> Any:
    """Refuses None, and requires a number."""
    named = keywords.get("stream", _LEGACY) is not None
    if self.block.device[0] == _CUDA and not named:
        raise ValueError("name a stream")
    return OnDevice.answer(self, **keywords)


@device_producer_mutant("streams_of_cuda_are_taken", step="normal_stream")
def takes_no_stream_but_none(self: OnDevice, stream: Any) -> int | None:
    """Refuses every number, including valid streams."""
    if stream is not None and self.block.device[0] == _CUDA:
        raise ValueError(f"stream={stream!r} is not supported")
    return OnDevice.normal_stream(self, stream)


@device_producer_mutant("stream_0_is_refused_on_cuda", step="normal_stream")
def takes_stream_0_for_the_legacy_default(self: OnDevice, stream: Any) -> int | None:
    """Treats 0 as 1."""
    is_0 = type(stream) is int and stream == 0 and self.block.device[0] == _CUDA
    return OnDevice.normal_stream(self, _LEGACY if is_0 else stream)


@device_producer_mutant("numbers_that_name_no_stream_are_refused", step="normal_stream")
def takes_every_negative_number_for_minus_1(self: OnDevice, stream: Any) -> int | None:
    """Treats each negative number as -1."""
    is_low = type(stream) is int and stream < NO_SYNC
    return OnDevice.normal_stream(self, NO_SYNC if is_low else stream)


@device_producer_mutant("numbers_that_name_no_stream_are_refused", step="normal_stream")
def cuts_off_what_does_not_fit_a_handle(self: OnDevice, stream: Any) -> int | None:
    """Truncates longer numbers to 64 bits."""
    is_long = type(stream) is int and stream >= 2**64
    return OnDevice.normal_stream(self, (stream % 2**64 or _LEGACY) if is_long else stream)


@device_producer_mutant("streams_that_are_no_ints_are_refused", step="normal_stream")
def makes_a_number_of_text(self: OnDevice, stream: Any) -> int | None:
    """Accepts strings and floats that can be converted to an int."""
    return OnDevice.normal_stream(self, int(stream) if isinstance(stream, (str, float)) else stream)


@device_producer_mutant("truth_values_are_no_streams", step="normal_stream")
def takes_true_for_1(self: OnDevice, stream: Any) -> int | None:
    """Treats True as the legacy default stream."""
    return OnDevice.normal_stream(self, int(stream) if stream is True else stream)


@device_producer_mutant("bad_streams_are_refused_by_an_error_for_arguments", step="normal_stream")
def asserts_that_streams_are_good(self: OnDevice, stream: Any) -> int | None:
    """Refuses invalid streams with AssertionError."""
    try:
        return OnDevice.normal_stream(self, stream)
    except (TypeError, ValueError) as error:
        raise AssertionError(str(error)) from error


@device_producer_mutant("default_streams_of_cuda_are_refused_on_rocm", step="normal_stream")
def takes_default_streams_of_cuda_on_rocm(self: OnDevice, stream: Any) -> int | None:
    """Accepts 1 and 2 on ROCm as its default stream."""
    wrong = self.block.device[0] == _ROCM and stream in {1, 2}
    return OnDevice.normal_stream(self, 0 if wrong else stream)


@device_producer_mutant("default_streams_of_rocm_are_taken", step="normal_stream")
def refuses_stream_0_on_rocm(self: OnDevice, stream: Any) -> int | None:
    """Refuses 0 on ROCm, as on CUDA."""
    if self.block.device[0] == _ROCM and stream == 0:
        raise ValueError("stream=0 is ambiguous")
    return OnDevice.normal_stream(self, stream)
