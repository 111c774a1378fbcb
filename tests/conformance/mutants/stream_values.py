"""Producers of device memory that accept invalid streams, or refuse valid ones.

Source: array API standard 2025.12, ``array.__dlpack__`` (stream); `checks.stream_values`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from interchange_conformance.zoo.on_device import NO_SYNC, OnDevice

from ._honest_device_producer import honest_device_producer, producer_with
from .model import mutant

if TYPE_CHECKING:
    from interchange_conformance.subject import Subject

_CUDA, _ROCM = 2, 10
_LEGACY: Final = 1


@mutant("stream_none_is_taken_on_cuda", twin=honest_device_producer)
def refuses_stream_none() -> Subject:
    """Refuses None, and requires a number."""

    def answer(self: OnDevice, **keywords: Any) -> Any:
        named = keywords.get("stream", _LEGACY) is not None
        if self.block.device[0] == _CUDA and not named:
            raise ValueError("name a stream")
        return OnDevice.answer(self, **keywords)

    return producer_with(answer=answer)


@mutant("streams_of_cuda_are_taken", twin=honest_device_producer)
def takes_no_stream_but_none() -> Subject:
    """Refuses every number, including valid streams."""

    def normal_stream(self: OnDevice, stream: Any) -> int | None:
        if stream is not None and self.block.device[0] == _CUDA:
            raise ValueError(f"stream={stream!r} is not supported")
        return OnDevice.normal_stream(self, stream)

    return producer_with(normal_stream=normal_stream)


@mutant("stream_0_is_refused_on_cuda", twin=honest_device_producer)
def takes_stream_0_for_the_legacy_default() -> Subject:
    """Treats 0 as 1."""

    def normal_stream(self: OnDevice, stream: Any) -> int | None:
        is_0 = type(stream) is int and stream == 0 and self.block.device[0] == _CUDA
        return OnDevice.normal_stream(self, _LEGACY if is_0 else stream)

    return producer_with(normal_stream=normal_stream)


@mutant("numbers_that_name_no_stream_are_refused", twin=honest_device_producer)
def takes_every_negative_number_for_minus_1() -> Subject:
    """Treats each negative number as -1."""

    def normal_stream(self: OnDevice, stream: Any) -> int | None:
        is_low = type(stream) is int and stream < NO_SYNC
        return OnDevice.normal_stream(self, NO_SYNC if is_low else stream)

    return producer_with(normal_stream=normal_stream)


@mutant("numbers_that_name_no_stream_are_refused", twin=honest_device_producer)
def cuts_off_what_does_not_fit_a_handle() -> Subject:
    """Truncates longer numbers to 64 bits."""

    def normal_stream(self: OnDevice, stream: Any) -> int | None:
        is_long = type(stream) is int and stream >= 2**64
        return OnDevice.normal_stream(self, (stream % 2**64 or _LEGACY) if is_long else stream)

    return producer_with(normal_stream=normal_stream)


@mutant("streams_that_are_no_ints_are_refused", twin=honest_device_producer)
def makes_a_number_of_text() -> Subject:
    """Accepts strings and floats that can be converted to an int."""

    def normal_stream(self: OnDevice, stream: Any) -> int | None:
        return OnDevice.normal_stream(
            self, int(stream) if isinstance(stream, (str, float)) else stream
        )

    return producer_with(normal_stream=normal_stream)


@mutant("truth_values_are_no_streams", twin=honest_device_producer)
def takes_true_for_1() -> Subject:
    """Treats True as the legacy default stream."""

    def normal_stream(self: OnDevice, stream: Any) -> int | None:
        return OnDevice.normal_stream(self, int(stream) if stream is True else stream)

    return producer_with(normal_stream=normal_stream)


@mutant("bad_streams_are_refused_by_an_error_for_arguments", twin=honest_device_producer)
def asserts_that_streams_are_good() -> Subject:
    """Refuses invalid streams with AssertionError."""

    def normal_stream(self: OnDevice, stream: Any) -> int | None:
        try:
            return OnDevice.normal_stream(self, stream)
        except (TypeError, ValueError) as error:
            raise AssertionError(str(error)) from error

    return producer_with(normal_stream=normal_stream)


@mutant("default_streams_of_cuda_are_refused_on_rocm", twin=honest_device_producer)
def takes_default_streams_of_cuda_on_rocm() -> Subject:
    """Accepts 1 and 2 on ROCm as its default stream."""

    def normal_stream(self: OnDevice, stream: Any) -> int | None:
        wrong = self.block.device[0] == _ROCM and stream in {1, 2}
        return OnDevice.normal_stream(self, 0 if wrong else stream)

    return producer_with(normal_stream=normal_stream)


@mutant("default_streams_of_rocm_are_taken", twin=honest_device_producer)
def refuses_stream_0_on_rocm() -> Subject:
    """Refuses 0 on ROCm, as on CUDA."""

    def normal_stream(self: OnDevice, stream: Any) -> int | None:
        if self.block.device[0] == _ROCM and stream == 0:
            raise ValueError("stream=0 is ambiguous")
        return OnDevice.normal_stream(self, stream)

    return producer_with(normal_stream=normal_stream)
