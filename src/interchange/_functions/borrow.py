"""`borrow`: use another library's memory on a stream, and order its next use after that.

Source: CUDA Array Interface, version 3, Synchronization: a consumer that waited for the producer's
stream must ensure that nothing runs there before its own work is done.  A one-way hand-over cannot
ensure that; a context manager can.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Final, Generic, TypeAlias, TypeVar, overload

from interchange._array import Array
from interchange._protocols.dlpack import READ_ONLY
from interchange._protocols.published_work import ATTRIBUTE, names_stream
from interchange._streams.handles import stream_handle
from interchange._streams.ordering import order_streams, ordinal_for, refuse_capture
from interchange._streams.pending import BorrowedWork, PendingWork, origins_of, pending_work_of
from interchange._streams.rules import NO_SYNC, check_stream, streams_of
from interchange._streams.write_back import EarlierUse, order_back, wait_for
from interchange._types.devices import ordinal_of
from interchange._types.errors import ArgumentError, InterchangeError, ReadOnlyError, show

from .importing import asarray, import_any, keep_array, keep_arrays
from .record_importing import import_cai

if TYPE_CHECKING:
    from types import TracebackType

    from interchange._types.typing import AnyArray

T = TypeVar("T")
"""The value of the with statement: an Array, or a tuple of them."""

Taken: TypeAlias = "list[tuple[Any, Array]]"
"""Sources and their Arrays, for the error if a later one is refused."""

_CALL: Final = "borrow()"


class borrow(Generic[T]):  # noqa: N801 - used like a function
    """Use arrays on a stream: it waits for their producers, and afterwards they wait for it.

    On entry the stream is made to wait for the work pending on each array.  On exit, also if the
    body raises, the stream that each producer named is made to wait for the work enqueued in the
    body; if a producer named none, the host waits until that work is done.

    Parameters
    ----------
    x : object
        Any object that `asarray` accepts.  ``__cuda_array_interface__`` is preferred if its version
        is 3, since it names the producer's stream.
    *more : object
        Further arrays, for the same stream.
    stream : None, int or stream object
        The stream on which the memory will be used; None for host memory only.  -1 orders nothing
        in either direction.
    writable : bool, default False
        True: the memory will be written.  False: the Arrays are read-only.
    back : None, int or stream object, optional
        The producer's stream, for producers that cannot name it: it is waited for on entry, and
        waits on exit instead of the host.

    Returns
    -------
    context manager
        Its value is the `Array`, or a tuple of them if there are `more`.  It can be entered once.

    Raises
    ------
    ReadOnlyError
        `writable` is true, and the memory is read-only or not known to be writable (DLP-RO-3).
    ArgumentError
        `stream` is None on a device (IX-BORROW-1), or `writable` is not a bool.
    StreamError, ExchangeError
        As `asarray`; all work ordered before the error is ordered back.

    Notes
    -----
    Source: CUDA Array Interface, version 3, Synchronization.  Host memory has no streams, and is
    passed through.

    Examples
    --------
    >>> with borrow(bytearray(4), stream=7, writable=True) as array:
    ...     array.shape
    (4,)
    """

    @overload
    def __init__(
        self: borrow[Array], x: AnyArray, *, stream: Any, writable: bool = ..., back: Any = ...
    ) -> None: ...
    @overload
    def __init__(
        self: borrow[tuple[Array, ...]],
        x: AnyArray,
        *more: AnyArray,
        stream: Any,
        writable: bool = ...,
        back: Any = ...,
    ) -> None: ...
    def __init__(
        self, x: Any, *more: Any, stream: Any, writable: bool = False, back: Any = None
    ) -> None:
        if not isinstance(writable, bool):
            raise ArgumentError(_CALL, f"writable={show(writable)}", "IX-ARGUMENT-1", "pass a bool")
        self._given = (x, *more)
        self._stream = stream
        self._writable = writable
        self._back = back
        self._debts: contextlib.ExitStack | None = None

    def __enter__(self) -> T:
        """Order the stream after the producers."""
        if self._debts is not None:
            what = "this context was entered before"
            raise ArgumentError(_CALL, what, "IX-ARGUMENT-1", "make a new one")
        taken: Taken = []
        try:
            with contextlib.ExitStack() as debts:
                arrays = tuple([self._take(x, debts, taken) for x in self._given])
                self._debts = debts.pop_all()
        except InterchangeError as error:
            if len(self._given) > 1:
                keep_arrays(error, dict(enumerate(self._given)), taken)
            elif taken:
                keep_array(error, *taken[0])
            raise
        finally:
            taken.clear()  # a traceback keeps this frame
        found: Any = arrays
        given: T = found if len(arrays) > 1 else found[0]
        return given

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Order the producers after the stream, and release them only then."""
        debts = self._debts
        try:
            if debts is not None:
                debts.__exit__(kind, error, trace)
        finally:
            self._given = ()

    def _take(self, x: Any, debts: contextlib.ExitStack, taken: Taken) -> Array:
        """Return an Array for the body; record its producer, and the data taken."""
        array = import_published(x, self._stream, _CALL)
        taken.append((x, array))
        if self._writable and array.readonly is not False:
            kind = "read-only memory" if array.readonly else "memory not known to be writable"
            hint = "pass a copy, `interchange.asarray(x, copy=True)`, or `writable=False`"
            raise ReadOnlyError(_CALL, f"writable=True of {kind}", "DLP-RO-3", hint)
        view = array.__copy__()
        if not self._writable:
            view._flags = (view._flags or 0) | READ_ONLY
        if streams_of(array.device) is not None and self._stream is None:
            raise ArgumentError(_CALL, f"stream=None on {array.device}", "IX-BORROW-1")
        order_use(array, view, self._stream, self._back, debts, _CALL)
        return view


def order_use(
    array: Array, view: Array, stream: Any, back: Any, debts: contextlib.ExitStack, call: str
) -> None:
    """Order a stream after the users of an array, and record that they have to wait in turn.

    `array`: the imported Array.
    `view`: an alias of it with pending work on the stream, set here.
    `stream`: the stream on which the memory will be used; -1 orders nothing.
    `back`: the producer's stream, if it is known.
    `debts`: receives the callbacks that order the producers.
    """
    streams = streams_of(array.device)
    if streams is None:
        return
    consumer = check_stream(stream_handle(stream, call), streams, call)
    named = None if back is None else check_stream(stream_handle(back, call), streams, call)
    if consumer is None or consumer == NO_SYNC:
        view._pending_work = PendingWork(None, ordinal_of(array.device), stream)
        return
    device, known = array.device, pending_work_of(array)
    borrowed = BorrowedWork(consumer, ordinal_for(device, consumer, call), stream, known)
    users, is_named = origins_of(known)
    if named is not None:
        users.append(PendingWork(named, ordinal_for(device, named, call), back))
    earlier: list[EarlierUse] = []
    for work in users:  # earlier users of the memory may still use it
        keep = work.keepalive  # before the streams: a copy drops it when it is done
        earlier.append(EarlierUse(work.pending(call), work.ordinal, work, keep))
    wait_for(device, consumer, borrowed.ordinal, earlier, call, fork=True)
    way = None if named is not None else is_named
    if way is False or (way and not all(use.streams for use in earlier)):  # the host has to wait
        refuse_capture(device, consumer, borrowed.ordinal, call)
    view._pending_work = borrowed
    debts.callback(_hand_back, array, earlier, borrowed, call, is_named=way)


borrow.__module__ = "interchange"


def import_published(x: Any, stream: Any, call: str) -> Array:
    """Return an Array that names the producer's stream, if it can be determined."""
    if isinstance(x, Array):
        return x
    if hasattr(type(x), "__interchange__"):
        return asarray(x)
    raw = getattr(x, ATTRIBUTE, None)
    if names_stream(raw):
        try:
            return import_cai(raw, x, call)
        except BufferError:
            if not hasattr(x, "__dlpack__"):
                raise
    return import_any(x, stream=stream, call=call)


def _hand_back(
    array: Array,
    earlier: list[EarlierUse],
    borrowed: BorrowedWork,
    call: str,
    *,
    is_named: bool | None,
) -> None:
    """Make the earlier users of the memory wait for the consumer's work.

    The host waits if the producer named no stream (`is_named`; None if the borrower named it
    instead): the work must be done before the memory is used again.
    """
    (consumer,) = borrowed.pending(call)
    borrowed.has_ended = True
    uses = (
        use._replace(streams=use.work.streams_to_notify(use.streams, call))
        for use in earlier
        if use.work is not None
    )
    all_wait = order_back(array.device, consumer, borrowed.ordinal, uses, call)
    if is_named is False or (is_named and not all_wait):
        order_streams(array.device, consumer, None, borrowed.ordinal, call)
