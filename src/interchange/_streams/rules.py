"""Which stream values are valid on which device: tables, no calls.

Source: array API standard 2025.12, ``array.__dlpack__`` (stream); CUDA Array Interface, version 3,
Synchronization.  Host, pinned and unknown producers of other libraries refuse any stream, so that
they are sent none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from interchange._types.devices import is_index
from interchange._types.errors import StreamError, show
from interchange.abi._records import NamedTuple
from interchange.abi.dlpack import DLDeviceType

if TYPE_CHECKING:
    from interchange._types.devices import Device

LEGACY_DEFAULT_STREAM: Final = 1
PER_THREAD_DEFAULT_STREAM: Final = 2
NO_SYNC: Final = -1


HANDLES_END: Final = 2**64


def may_be_stream(number: int) -> bool:
    """Whether a number is within the range of streams of any device.

    Examples
    --------
    >>> may_be_stream(-1), may_be_stream(-2)
    (True, False)
    """
    return NO_SYNC <= number < HANDLES_END


class StreamRule(NamedTuple):
    """The meaning of ``stream`` on one type of device."""

    default: int  # the meaning of None, which consumers pass by default
    forbidden: frozenset[int]  # numbers of at least -1 that are not streams
    rule: str  # id of the rule that refuses a value


_CUDA: Final = StreamRule(LEGACY_DEFAULT_STREAM, frozenset({0}), "DLP-STREAM-2")
_ROCM: Final = StreamRule(0, frozenset({1, 2}), "DLP-STREAM-3")

STREAM_RULES: Final = {
    DLDeviceType.kDLCUDA: _CUDA,
    DLDeviceType.kDLCUDAManaged: _CUDA,
    DLDeviceType.kDLROCM: _ROCM,
}
"""Device type -> its rule; other types accept None only."""


def streams_of(device: Device) -> Device | None:
    """Return a device whose streams can access memory on `device`; None without streams.

    In DLPack page-locked memory has none, although streams use it.

    Examples
    --------
    >>> from interchange._types.devices import Device
    >>> streams_of(Device(3)), streams_of(Device(1))
    (Device('cuda:0'), None)
    """
    if device.type in STREAM_RULES:
        return device
    kind = _REACHED_BY.get(device.type)
    return None if kind is None else type(device)(kind)


_REACHED_BY: Final = {
    DLDeviceType.kDLCUDAHost: DLDeviceType.kDLCUDA,
    DLDeviceType.kDLROCMHost: DLDeviceType.kDLROCM,
}


def check_stream(stream: object, device: Device, call: str) -> int | None:
    """Return the stream that a value means on a device, or refuse it.

    Returns a handle, 1, 2 or -1 (0 on ROCm) on devices with streams; None on others.

    Raises StreamError: the value is not a stream on that device (DLP-STREAM-1 to DLP-STREAM-4).

    Examples
    --------
    >>> from interchange._types.devices import Device
    >>> check_stream(None, Device(2), "f()"), check_stream(None, Device(1), "f()")
    (1, None)
    """
    rule = STREAM_RULES.get(device.type)
    if stream is None:
        return None if rule is None else rule.default
    if not is_index(stream):
        raise StreamError(call, f"stream={show(stream)} is not an int", "DLP-STREAM-4")
    number = int(stream)  # type: ignore[call-overload]
    if rule is None:
        what = f"stream={show(number)} on {device}, which has no streams"
        raise StreamError(call, what, "DLP-STREAM-1")
    if not may_be_stream(number) or number in rule.forbidden:
        what = f"stream={show(number)} is not a stream on {device}"
        raise StreamError(call, what, rule.rule)
    return int(number)
