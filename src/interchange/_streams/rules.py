"""Which stream values are legal on which device, and what a consumer sends.  Tables, no calls.

Source: array API standard 2025.12, ``array.__dlpack__`` (stream); standards digest of the peers:
host, pinned and unknown producers refuse any stream, so that they are sent none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from interchange._terms.devices import is_index
from interchange._terms.errors import StreamError, show
from interchange.abi.dlpack import DLDeviceType

if TYPE_CHECKING:
    from interchange._terms.devices import Device

LEGACY_DEFAULT_STREAM: Final = 1
PER_THREAD_DEFAULT_STREAM: Final = 2
NO_SYNC: Final = -1


_HANDLES_END: Final = 2**64


class StreamRule(NamedTuple):
    """What one kind of device makes of ``stream``.

    Attributes
    ----------
    default : int
        What None stands for, and what a consumer that names no stream sends.
    forbidden : frozenset[int]
        Numbers that name no stream though they are not below -1.
    rule : str
        Id of the rule that refuses a value.
    """

    default: int
    forbidden: frozenset[int]
    rule: str


_CUDA: Final = StreamRule(LEGACY_DEFAULT_STREAM, frozenset({0}), "DLP-STREAM-2")
_ROCM: Final = StreamRule(0, frozenset({1, 2}), "DLP-STREAM-3")

STREAM_RULES: Final = {
    DLDeviceType.kDLCUDA: _CUDA,
    DLDeviceType.kDLCUDAManaged: _CUDA,
    DLDeviceType.kDLROCM: _ROCM,
}
"""Device type -> its rule; a type that is not here takes None only."""


def check_stream(stream: object, device: Device, call: str) -> int | None:
    """Return `stream` as what it stands for on `device`, or refuse it.

    Parameters
    ----------
    stream : int or None
        What somebody passed.
    device : Device
        Where the memory is.
    call : str
        Named in the error.

    Returns
    -------
    int or None
        A handle, 1, 2 or -1 (0 on ROCm) where there are streams; None where there are none.

    Raises
    ------
    StreamError
        The value names no stream on that device (DLP-STREAM-1 to DLP-STREAM-4).

    Examples
    --------
    >>> from interchange._terms.devices import Device
    >>> check_stream(None, Device(2), "f()"), check_stream(None, Device(1), "f()")
    (1, None)
    """
    rule = STREAM_RULES.get(device.type)
    if stream is None:
        return None if rule is None else rule.default
    if not is_index(stream):
        raise StreamError(call, f"stream={show(stream)} is no int", "DLP-STREAM-4")
    number = int(stream)  # type: ignore[call-overload]
    if rule is None:
        what = f"stream={number} on {device}, which has no streams"
        raise StreamError(call, what, "DLP-STREAM-1")
    if not NO_SYNC <= number < _HANDLES_END or number in rule.forbidden:
        what = f"stream={number} is not a stream on {device}"
        raise StreamError(call, what, rule.rule)
    return int(number)
