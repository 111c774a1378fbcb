"""What each value of ``stream`` requires of producer and consumer: tables of the docs.

Source: array API standard 2025.12, ``array.__dlpack__``; CUDA Array Interface, version 3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from interchange._streams.rules import (
    HANDLES_END,
    LEGACY_DEFAULT_STREAM,
    NO_SYNC,
    PER_THREAD_DEFAULT_STREAM,
    STREAM_RULES,
)
from interchange.abi._records import NamedTuple
from interchange.abi.dlpack import DLDeviceType

if TYPE_CHECKING:
    from interchange._streams.rules import StreamRule


class Duty(NamedTuple):
    """The requirements for one value, or one range of values.

    Attributes
    ----------
    value : str
        The value as it is written; a range is ``> 2``.
    examples : tuple[int or None, ...]
        Values of that kind, the ends of a range among them; None also for an absent entry.
    meaning : str
        Its meaning.
    producer : str
        What the producer must do.
    consumer : str
        What the consumer must do.
    rule : str
        Id of the rule.
    is_legal : bool
        Whether the value may be used at all.
    """

    value: str
    examples: tuple[int | None, ...]
    meaning: str
    producer: str
    consumer: str
    rule: str
    is_legal: bool = True


class Duties(NamedTuple):
    """The duties of one protocol on some types of device.

    Attributes
    ----------
    title : str
        Protocol and devices, as a heading.
    stream : str
        Whose stream the value names.
    devices : tuple[DLDeviceType, ...]
        Types of device that the rows are for.
    rows : tuple[Duty, ...]
        One row per value.
    """

    title: str
    stream: str
    devices: tuple[DLDeviceType, ...]
    rows: tuple[Duty, ...]


_ROCM: Final = STREAM_RULES[DLDeviceType.kDLROCM]
_LONGEST: Final = HANDLES_END - 1
_CONSUMERS: Final = "the consumer's, on which it will work"

# Cells that recur below.
_NO_ORDER: Final = "no order is asked for"
_NO_CALL: Final = "makes no call, so that a capture is not invalidated"
_VOUCHES: Final = "knows that the memory is ready, or orders its stream itself"
_WAITS: Final = "makes that stream wait, by an event, for its own work on other streams"
_WORKS: Final = "works on that stream, and keeps it alive during the work"
_NO_CAPTURE: Final = "works on that stream, but not while another captures"
_SAME_THREAD: Final = "works on that stream, in the thread that asked"
_NOT_NONE: Final = "sends the number instead, because some producers treat None as -1"
_REFUSES: Final = "refuses it"
_NEVER: Final = "never sends it"
_NOTHING: Final = "nothing"
_TOO_LONG: Final = "nothing: a handle has 64 bits"
_AMBIGUOUS: Final = "nothing: it could be None, 1 or 2"
_OF_CUDA: Final = "nothing: it is a default stream of CUDA only"
_HANDLE: Final = "the stream with that handle"
_LEGACY: Final = "the legacy default stream"
_PER_THREAD: Final = "the default stream of the calling thread"
_HAS_WORK_THERE: Final = "has all pending work on that stream, or ordered before it"
_WAITS_AND_ORDERS_BACK: Final = (
    "waits for that stream, and makes it wait for its own work afterwards; or works on it"
)

_CUDA_DUTIES: Final = (
    Duty("None", (None,), _LEGACY, "does as for 1", _NOT_NONE, "DLP-STREAM-5"),
    Duty("-1", (NO_SYNC,), _NO_ORDER, _NO_CALL, _VOUCHES, "DLP-STREAM-2"),
    Duty("0", (0,), _AMBIGUOUS, _REFUSES, _NEVER, "DLP-STREAM-2", is_legal=False),
    Duty("1", (LEGACY_DEFAULT_STREAM,), _LEGACY, _WAITS, _NO_CAPTURE, "DLP-STREAM-6"),
    Duty("2", (PER_THREAD_DEFAULT_STREAM,), _PER_THREAD, _WAITS, _SAME_THREAD, "DLP-STREAM-6"),
    Duty("> 2", (3, _LONGEST), _HANDLE, _WAITS, _WORKS, "DLP-STREAM-7"),
    Duty("< -1", (-2, -_LONGEST), _NOTHING, _REFUSES, _NEVER, "DLP-STREAM-2", is_legal=False),
    Duty(">= 2**64", (HANDLES_END,), _TOO_LONG, _REFUSES, _NEVER, "DLP-STREAM-2", is_legal=False),
)

_MANAGED_DUTIES: Final = (
    Duty(
        "None",
        (None,),
        f"{_LEGACY}; or the host, whose libraries import such memory without a stream",
        "lets the host wait for its work, which orders the stream, too",
        _NOT_NONE,
        "DLP-STREAM-9",
    ),
    *_CUDA_DUTIES[1:],
)

_ROCM_DUTIES: Final = (
    Duty("None", (None,), "the default stream", "does as for 0", _NOT_NONE, "DLP-STREAM-5"),
    Duty("-1", (NO_SYNC,), _NO_ORDER, _NO_CALL, _VOUCHES, "DLP-STREAM-3"),
    Duty("0", (0,), "the default stream", _WAITS, _NO_CAPTURE, "DLP-STREAM-6"),
    Duty("1", (1,), _OF_CUDA, _REFUSES, _NEVER, "DLP-STREAM-3", is_legal=False),
    Duty("2", (2,), _OF_CUDA, _REFUSES, _NEVER, "DLP-STREAM-3", is_legal=False),
    Duty("> 2", (3, _LONGEST), _HANDLE, _WAITS, _WORKS, "DLP-STREAM-7"),
    Duty("< -1", (-2, -_LONGEST), _NOTHING, _REFUSES, _NEVER, "DLP-STREAM-3", is_legal=False),
    Duty(">= 2**64", (HANDLES_END,), _TOO_LONG, _REFUSES, _NEVER, "DLP-STREAM-3", is_legal=False),
)

_HOST_DUTIES: Final = (
    Duty(
        "None",
        (None,),
        "there are no streams",
        "exports the memory when the work on it is done; if need be, the host waits",
        "passes nothing else, and may read at once",
        "DLP-STREAM-9",
    ),
    Duty(
        "any int",
        (-HANDLES_END, -1, 0, 1, 2, 3, HANDLES_END),
        "nothing: it belongs to a device",
        _REFUSES,
        "never sends it, not even -1",
        "DLP-STREAM-1",
        is_legal=False,
    ),
)

_CAI_DUTIES: Final = (
    Duty(
        "None, or absent",
        (None,),
        "no work is pending; before version 3 it is not known",
        "omits the stream when nothing is pending, or when the user wants no waits",
        "works on any stream at once; before version 3 it assumes pending work",
        "CAI-STREAM-1",
    ),
    Duty("0", (0,), _AMBIGUOUS, "never publishes it", _REFUSES, "CAI-STREAM-1", is_legal=False),
    Duty(
        "1",
        (LEGACY_DEFAULT_STREAM,),
        "the legacy default stream; on ROCm, the default stream",
        _HAS_WORK_THERE,
        _WAITS_AND_ORDERS_BACK,
        "CAI-STREAM-2",
    ),
    Duty(
        "2",
        (PER_THREAD_DEFAULT_STREAM,),
        _PER_THREAD,
        _HAS_WORK_THERE,
        _WAITS_AND_ORDERS_BACK,
        "CAI-STREAM-2",
    ),
    Duty(
        "> 2",
        (3, _LONGEST),
        _HANDLE,
        f"{_HAS_WORK_THERE}, and keeps it alive as long as the object",
        _WAITS_AND_ORDERS_BACK,
        "CAI-STREAM-2",
    ),
    Duty("< 0", (-1, -2), _NOTHING, "never publishes it", _REFUSES, "CAI-STREAM-1", is_legal=False),
    Duty(
        ">= 2**64",
        (HANDLES_END,),
        _NOTHING,
        "never publishes it",
        _REFUSES,
        "CAI-STREAM-1",
        is_legal=False,
    ),
)


def _types_with(rule: StreamRule | None) -> tuple[DLDeviceType, ...]:
    """Return the types of device that a rule is for."""
    return tuple(kind for kind in DLDeviceType if STREAM_RULES.get(kind) is rule)


DUTIES: Final = (
    Duties("DLPack on CUDA", _CONSUMERS, (DLDeviceType.kDLCUDA,), _CUDA_DUTIES),
    Duties(
        "DLPack on CUDA, managed memory",
        _CONSUMERS,
        (DLDeviceType.kDLCUDAManaged,),
        _MANAGED_DUTIES,
    ),
    Duties(
        "DLPack on ROCm", _CONSUMERS, _types_with(STREAM_RULES[DLDeviceType.kDLROCM]), _ROCM_DUTIES
    ),
    Duties("DLPack on the host and elsewhere", "none", _types_with(None), _HOST_DUTIES),
    Duties(
        "CUDA Array Interface, version 3",
        "the producer's, on which work on the memory may be pending",
        (DLDeviceType.kDLCUDA, DLDeviceType.kDLCUDAHost, DLDeviceType.kDLCUDAManaged),
        _CAI_DUTIES,
    ),
)
"""The tables, one per protocol and types of device."""
