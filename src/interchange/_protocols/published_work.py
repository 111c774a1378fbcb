"""The stream that an object publishes with its CUDA record: read at the import, and again later.

Source: CUDA Array Interface, version 3, Synchronization.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from interchange._streams.driver import driver_of
from interchange._streams.ordering import device_guard
from interchange._streams.pending import PendingWork, this_thread
from interchange._streams.rules import LEGACY_DEFAULT_STREAM, PER_THREAD_DEFAULT_STREAM
from interchange._types.errors import ExchangeError, refuse_record
from interchange._types.library import library_of
from interchange.abi import BrokenRule
from interchange.abi._show import module_of
from interchange.abi.dlpack import DLDeviceType

from .records import parse_with_hint

if TYPE_CHECKING:
    from interchange._types.devices import Device
    from interchange.abi import InterfaceRecord

ATTRIBUTE: Final = "__cuda_array_interface__"
FIRST_WITH_STREAM: Final = 3
_ROCM: Final = frozenset({DLDeviceType.kDLROCM, DLDeviceType.kDLROCMHost})
_MOST_MODULES: Final = 1024

plain_modules: Final[set[str]] = set()
"""Modules whose objects' records need no correction, and keep the named streams alive."""


class PublishedWork(PendingWork):
    """Work on a stream that an object publishes; it is read again whenever memory is taken.

    Attributes
    ----------
    keep : object
        The object with the attribute; None for a bare record, which cannot be read again.
    first : InterfaceRecord
        The record at the import.
    device : Device
        Device of the memory.
    unsynced : str
        How a record below version 3 is ordered: one of `UNSYNCED`.
    hint : object
        The dtype, if the type string does not determine it, or None.
    named : object
        The stream in `first`, if it belongs to a library whose arrays do not keep it alive; else
        None.
    """

    __slots__ = ("device", "first", "hint", "named", "unsynced")

    def __init__(
        self,
        keep: Any,
        first: InterfaceRecord,
        device: Device,
        ordinal: int,
        unsynced: str,
        hint: Any,
    ) -> None:
        self.stream = first.stream
        self.ordinal = ordinal
        self.keep = keep
        self.thread = this_thread() if first.stream == PER_THREAD_DEFAULT_STREAM else None
        self.first = first
        self.device = device
        self.unsynced = unsynced
        self.hint = hint
        self.named = None
        if getattr(type(keep), "__module__", "") not in plain_modules:
            stream_of_library = library_of(type(keep)).current_stream
            self.named = None if stream_of_library is None else stream_of_library(ordinal)

    def pending(self, call: str) -> tuple[int, ...]:
        """Return the streams to wait for: that of the import, and the one named now.

        Some producers publish the current stream; work enqueued on an earlier one may still be
        pending.
        """
        if self.keep is None:
            return self.handles_here(self.at_import(call))
        now = self._named_now(call)
        if now == self.stream and (now is None or now > PER_THREAD_DEFAULT_STREAM):  # mostly
            return () if now is None else (now,)
        is_silent = self.first.version < FIRST_WITH_STREAM
        return self.handles_here(now if is_silent else self.at_import(call), now)

    def streams_to_notify(self, before: tuple[int, ...], call: str) -> tuple[int, ...]:
        """Return the streams that have to wait for a borrower.

        None if the producer names none now: it may use any stream next.
        """
        if self.keep is not None and self._named_now(call) is None:
            return ()
        return super().streams_to_notify(before, call)

    def streams_to_order(self, call: str) -> tuple[int, ...]:
        """Return the streams that have to wait; none if the host waits for whole devices."""
        waits_for_all = self.first.version < FIRST_WITH_STREAM and self.unsynced == "device"
        return () if waits_for_all else self.pending(call)

    def _named_now(self, call: str) -> int | None:
        """Return the stream that the producer names now."""
        now = read_at_home(self.keep, self.device, self.ordinal, self.first, self.hint, call)
        return stream_of(now, self.unsynced, self.device, self.ordinal, call)

    @property
    def keeps_source(self) -> bool:
        """Whether the producer, which owns the memory, keeps the stream alive."""
        return self.keep is not None

    def at_import(self, call: str) -> int | None:
        """Return the stream to wait for, as the producer named it first."""
        return stream_of(self.first, self.unsynced, self.device, self.ordinal, call)


def read_at_home(
    x: Any, device: Device, ordinal: int, first: InterfaceRecord, hint: Any, call: str
) -> InterfaceRecord:
    """Return the record of an object, read with a device current (DLP-DEV-8).

    Raises ExchangeError: it describes memory other than `first` (CAI-DATA-5).
    """
    home = device_guard(device, call, ordinal)
    if home is None:
        raw = corrected(getattr(x, ATTRIBUTE, None), x)
    else:
        with home:
            raw = corrected(getattr(x, ATTRIBUTE, None), x)
    now = read_record(raw, hint, call)
    if now[:_SAID_OF_MEMORY] != first[:_SAID_OF_MEMORY]:
        what = (
            f"{type(x).__name__} described {_describe(first)}, and now describes {_describe(now)}"
        )
        raise ExchangeError(call, what, "CAI-DATA-5")
    return now


_SAID_OF_MEMORY: Final = 5  # the first fields: address, read-only flag, shape, strides, typestr


def _describe(record: InterfaceRecord) -> str:
    """Return a description of the memory of a record."""
    steps = "" if record.strides is None else f", byte strides {record.strides}"
    readonly = ", read-only" if record.readonly else ""
    typestr = f"typestr {str(record.typestr)!r}"
    return f"address {record.ptr:#x}{readonly}, shape {record.shape}{steps}, {typestr}"


def stream_of(
    record: InterfaceRecord, unsynced: str, device: Device, ordinal: int, call: str
) -> int | None:
    """Return the stream that has to be waited for according to a record, or None."""
    stream: int | None = LEGACY_DEFAULT_STREAM
    if record.version >= FIRST_WITH_STREAM:
        stream = record.stream
    elif unsynced == "none":
        return None
    elif unsynced == "device":
        driver_of(device, call).synchronize_device(ordinal, call)
        return None
    if stream == LEGACY_DEFAULT_STREAM and device.type in _ROCM:
        return 0  # the default stream, which has another number in the interface
    return stream


def names_stream(raw: Any) -> bool:
    """Whether a record is of a version that publishes pending work."""
    version = raw.get("version") if isinstance(raw, dict) else None
    return isinstance(version, int) and version >= FIRST_WITH_STREAM


def read_record(raw: Any, hint: Any, call: str) -> InterfaceRecord:
    """Read a record, and refuse a malformed one."""
    try:
        return parse_with_hint(raw, hint, call)
    except BrokenRule as broken:
        refuse_record(call, broken)


def corrected(raw: Any, x: Any) -> Any:
    """Return a record, corrected if its library is known to get something wrong."""
    library = library_of(type(x))
    if library.correct_record is not None:
        return library.correct_record(raw, x)
    if library.current_stream is not None:
        return raw
    if len(plain_modules) >= _MOST_MODULES:
        plain_modules.clear()
    plain_modules.add(module_of(type(x)))
    return raw
