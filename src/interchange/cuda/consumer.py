"""A launch as a consumer of arrays: it waits for their producers, and afterwards they wait for it.

Source: CUDA Array Interface, version 3, Synchronization; dlpack.h 1.3, ``current_work_stream``.
"""

from __future__ import annotations

import contextlib
import weakref
from typing import TYPE_CHECKING, Any, Final

from interchange import _core, asarray
from interchange._array import Array
from interchange._functions.borrow import import_published, order_use
from interchange._protocols.capabilities import capabilities_of, fast_path
from interchange._streams.driver import driver_of
from interchange._streams.ordering import device_guard, has_several
from interchange._streams.pending import PendingWork, WorkOnConsumer, pending_work_of, this_thread
from interchange._streams.rules import LEGACY_DEFAULT_STREAM, PER_THREAD_DEFAULT_STREAM
from interchange._types.devices import CPU, Device
from interchange._types.errors import InterchangeError
from interchange.abi.dlpack import DLDeviceType
from interchange.abi.exchange import exchange_table

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from typing_extensions import Self

    from interchange.abi.exchange import ExchangeTable

    from .configuration import Configuration

_CUDA: Final = DLDeviceType.kDLCUDA


class OrderedByUser(PendingWork):
    """Waits for nothing: the user orders the work (``sync=False``)."""

    __slots__ = ()


WORK: Final = PendingWork, WorkOnConsumer, OrderedByUser
"""The cases of `is_settled`, in the form for a compiled core."""


class Use:
    """The arrays of one launch, ready on its stream; on exit their producers wait for the launch.

    `taken` are the arguments that no fast path imported, with their Arrays.
    """

    __slots__ = ("_call", "_debts", "_given", "_later", "_stream", "taken")

    def __init__(self, configuration: Configuration, call: str) -> None:
        self._stream, self._call = configuration.stream, call
        self._given = configuration.given or configuration.stream
        self._debts: contextlib.ExitStack | None = None
        self._later: list[tuple[Array, int | None]] = []
        self.taken: list[tuple[Any, Array]] = []

    def take(self, x: Any) -> Any:
        """Return an Array of any object, ready on the stream once `order` was called, too."""
        if type(x) is fast_path.kind:
            return asarray(x)  # type: ignore[arg-type] # of that kind
        if type(x) is Array:
            if x.device is CPU or is_settled(x, self._stream):
                return x
            return self._order(x, None)
        found: Any = None if _table_of(x) is None else _core.import_unordered(x)
        if found is not None:
            back = _current_stream(x, found)
            if found.device is CPU or self._is_ours(back, found):
                return found
            if back is not None:
                return self._order(found, back)
        array = import_published(x, self._given, self._call)
        self.taken.append((x, array))
        if array.device is CPU:
            return array
        named = _named_stream(array, self._call)
        back = _current_stream(x, array) if named is None else None
        if self._is_ours(named, array) or self._is_ours(back, array):
            return array
        return self._order(array, back)

    def _is_ours(self, stream: int | None, array: Array) -> bool:
        """Whether a producer's work is ordered before and after the launch by one stream."""
        is_one = stream == self._stream and stream != PER_THREAD_DEFAULT_STREAM
        return is_one and not may_be_another(self._stream, array)

    def _order(self, array: Array, back: int | None) -> Array:
        """Return an alias that is ready on the stream, or that `order` makes ready."""
        if may_be_another(self._stream, array):
            self._later.append((array, back))
            return array
        return self._order_now(array, back)

    def order(self, ordinal: int) -> None:
        """Order the arrays that waited for the launch's device to be known."""
        for array, back in self._later:
            with device_guard(array.device, self._call, ordinal) or contextlib.nullcontext():
                self._order_now(array, back)

    def order_across(self, ordinal: int, others: Sequence[int]) -> None:
        """Order a launch on a default stream with those of other GPUs that have arrays of it.

        All work on the arrays was ordered with the default streams of their own GPUs.
        """
        if self._stream > PER_THREAD_DEFAULT_STREAM or not others:
            return
        driver: Any = driver_of(Device.of((_CUDA, ordinal), self._call), self._call)
        if self._debts is None:
            self._debts = contextlib.ExitStack()
        for other in others:
            driver.order(self._stream, self._stream, other, self._call, ordinal)
            self._debts.callback(
                driver.order, self._stream, self._stream, ordinal, self._call, other
            )

    def _order_now(self, array: Array, back: int | None) -> Array:
        """Return an alias that is ready on the stream; the producer waits for the stream later."""
        if self._debts is None:
            self._debts = contextlib.ExitStack()
        view = array.__copy__()
        order_use(array, view, self._given, back, self._debts, self._call)
        return view

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Make the producers of the arrays wait for the launch."""
        debts, self._debts = self._debts, None
        if debts is None:
            return
        if error is None:
            debts.close()
        else:  # its message is more useful than that order cannot be restored
            with contextlib.suppress(InterchangeError):
                debts.close()


def is_settled(array: Array, stream: int) -> bool:
    """Whether all pending work is on one stream, and the producer needs no notification."""
    work: Any = pending_work_of(array)
    kind = type(work)
    if kind is OrderedByUser:
        return True
    alone = kind is PendingWork or (kind is WorkOnConsumer and work.origin is None)
    if not alone or work.stream != stream or may_be_another(stream, array):
        return False
    return stream != PER_THREAD_DEFAULT_STREAM or work.thread is this_thread()


def may_be_another(stream: int, array: Array) -> bool:
    """Whether a default stream may belong to another device than an array's producer meant.

    Managed and page-locked memory belong to no single device: see `find_ordinal`.
    """
    if stream > PER_THREAD_DEFAULT_STREAM or array.device.type is _CUDA:
        return False
    return has_several(array.device, "cuda.jit()")


def _named_stream(array: Array, call: str) -> int | None:
    """Return the stream that a producer just named with an array, or None."""
    work = pending_work_of(array)
    if work is None or isinstance(work, WorkOnConsumer):
        return None
    return work.at_import(call)


_tables: Final[weakref.WeakKeyDictionary[type, ExchangeTable | None]] = weakref.WeakKeyDictionary()


def _table_of(x: Any) -> ExchangeTable | None:
    """Return the exchange table of an object's type, which the core uses from then on."""
    cls = type(x)
    try:
        return _tables[cls]
    except KeyError:
        capabilities_of(x)
        table = _tables[cls] = exchange_table(cls)
        return table


def _current_stream(x: Any, array: Array) -> int | None:
    """Return the stream of a producer that named none with the array, or None."""
    table = _table_of(x) if array.device.type is _CUDA else None
    if table is None:
        return None
    try:
        found = table.current_work_stream(_CUDA, array.device.id)
    except BufferError:
        return None
    return found or LEGACY_DEFAULT_STREAM
