"""The common base of the CUDA and HIP drivers: events, waits, allocations and copies.

Source: CUDA driver API; HIP runtime API, which has the same functions under other names, with the
same numbers.  A function of either returns an error and its results, as in cuda.bindings.
"""

from __future__ import annotations

import contextlib
import ctypes
from typing import TYPE_CHECKING, Any, Final, Protocol

from interchange._types.errors import ExchangeError, OutOfDeviceMemoryError, StreamError
from interchange.abi._records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from interchange.abi.dlpack import DLDeviceType

INVALID_HANDLE: Final = 400  # CUDA_ERROR_INVALID_HANDLE, hipErrorInvalidHandle
CONTEXT_IS_DESTROYED: Final = 709
_OUT_OF_MEMORY: Final = 2
_CAPTURE_IMPLICIT: Final = 906  # the default stream is used while another captures
_OF_CAPTURES: Final = range(900, 909)  # *_STREAM_CAPTURE_* and *_CAPTURED_EVENT
_NO_HANDLE: Final = frozenset({INVALID_HANDLE, CONTEXT_IS_DESTROYED})
_NOT_CAPTURING: Final = 0
_CAPTURE_INVALIDATED: Final = 2
_DISABLE_TIMING: Final = 2  # CU_EVENT_DISABLE_TIMING, hipEventDisableTiming
_NON_BLOCKING: Final = 1  # of streams: the default streams do not synchronize with it
_PORTABLE: Final = 1  # of page-locked memory: it is page-locked for all devices


class PointerAttributes(NamedTuple):
    """The allocation of an address, as the driver reports it."""

    type: DLDeviceType  # device memory, managed memory or page-locked host memory
    ordinal: int  # the device that the memory belongs to
    # start, end: the allocation: its first address, and the first after it
    start: int
    end: int


class PitchedCopy(NamedTuple):
    """A copy of rows and slices with gaps, as for a 3-D copy of a driver."""

    width: int  # length of a row [bytes]
    # height, depth: number of rows in a slice, and of slices
    height: int
    depth: int
    # target, source: address of the first row; from row to row [bytes], at least `width`; and from
    # slice to slice [rows], at least `height`
    target: tuple[int, int, int]
    source: tuple[int, int, int]


class Api(NamedTuple):
    """Names of the functions of one API, and the few values that differ between the two."""

    last_default: int  # the largest handle that stands for a default stream
    default: str  # name of the default stream in errors
    capture_info: str
    default_capture_info: str
    exchange_capture_mode: str
    stream_create: str
    stream_destroy: str
    stream_synchronize: str
    stream_wait_event: str
    event_create: str
    event_destroy: str
    event_query: str
    event_record: str
    event_synchronize: str
    device_count: str
    device_synchronize: str
    malloc: str
    malloc_host: str
    free: str
    free_host: str
    memcpy: str
    memcpy_kind: tuple[int, ...]  # argument for the kind of a copy, if the function has one


class Event(NamedTuple):
    """An event without timing, and memory for the query whether a stream captures."""

    handle: ctypes.c_void_p
    answer: ctypes.c_int
    place: ctypes.c_void_p  # of the result
    number: int  # of the handle

    @classmethod
    def of(cls, handle: Any) -> Event:
        """Return the event of a handle."""
        answer = ctypes.c_int()
        place = ctypes.c_void_p(ctypes.addressof(answer))
        return cls(ctypes.c_void_p(int(handle)), answer, place, int(handle))


class Held(Protocol):
    """Memory of an allocator."""

    def give_back(self, find_stream: Callable[[], int]) -> None:
        """Return it to the allocator; `find_stream` returns a stream that never captures."""


class Driver:
    """The driver of one vendor.  Every method may raise `ExchangeError`.

    Streams are handles; the numbers of default streams are the vendor's.

    A home is the owner of events and allocations: a context of CUDA, a device of HIP.

    `api`: the module with the functions in `names`.
    `names`: their names.
    `relaxed`: the capture mode that forbids no calls.
    """

    def __init__(self, api: Any, names: Api, relaxed: Any) -> None:
        self.api = api
        self._names = names
        self._relaxed = relaxed
        self._events: dict[int, list[Event]] = {}  # unused ones, by home
        self._followers: dict[int, int] = {}  # ordinal -> stream that frees wait for
        self._count = 0  # the number of devices, once it was queried
        self._deferring = 0  # blocks of `deferring`
        self._deferred: list[tuple[int, int, bool]] = []  # arguments of `free`
        self._deferred_buffers: list[tuple[Held, int]] = []  # arguments of `give_back`

    # ------------------------------------------------------------ differences between the APIs

    name: str
    device_type: DLDeviceType

    def pointer_attributes(self, ptr: int, call: str) -> PointerAttributes | None:
        """Return the location of an address, or None if the driver does not know it."""
        raise NotImplementedError

    def device_pointer(self, ptr: int, call: str) -> int:
        """Return the address by which the current device accesses page-locked host memory."""
        raise NotImplementedError

    def current_device(self, call: str) -> int:
        """Return the ordinal of the calling thread's device."""
        raise NotImplementedError

    def allocate_managed(self, nbytes: int, ordinal: int, call: str) -> int:
        """Return the address of new managed memory."""
        raise NotImplementedError

    def copy_pitched(self, copy: PitchedCopy, stream: int, ordinal: int, call: str) -> None:
        """Enqueue a copy of rows and slices, between addresses that the driver knows."""
        raise NotImplementedError

    def on_device(self, ordinal: int, call: str) -> AbstractContextManager[None]:
        """Make a device current, and restore the previous one."""
        raise NotImplementedError

    def _for_queries(self, stream: int, ordinal: int, call: str) -> AbstractContextManager[object]:
        """Make the device current for calls that take a stream, but submit no work to it."""
        raise NotImplementedError

    def _for_work(self, stream: int, ordinal: int, call: str) -> AbstractContextManager[int]:
        """Within `_for_queries`, make the home of a stream current, and yield it."""
        raise NotImplementedError

    def _in_home(self, home: int, call: str) -> AbstractContextManager[object]:
        """Make a home current, and restore the previous one."""
        raise NotImplementedError

    def in_lasting_home(self, ordinal: int, call: str) -> AbstractContextManager[object]:
        """Make the home current that a device keeps for the life of the process."""
        raise NotImplementedError

    def reaches(self, stream: int, ordinal: int, call: str, *addresses: int) -> bool:
        """Whether work on a stream accesses memory of other devices directly."""
        del stream, ordinal, call, addresses
        return True

    def _home_of_allocation(self, ptr: int, ordinal: int) -> int | None:
        """Return the home of an allocation of interchange, None if it is not known."""
        raise NotImplementedError

    def number_of_allocation(self, ptr: int) -> int:  # noqa: ARG002 - drivers without numbers
        """Return a number of an allocation that is never used again; -1 if there is none."""
        return -1

    def _note_allocation(self, ptr: int) -> None:
        """Record a new allocation."""

    def _to_free(self, ptr: int) -> AbstractContextManager[object] | None:
        """Return a context manager that makes an allocation's home current; None if it is gone."""
        del ptr
        return contextlib.nullcontext()

    # ------------------------------------------------------------ errors

    def check(self, error: Any, function: str, call: str) -> None:
        """Raise the error of a function, if it is one."""
        if error:
            raise ExchangeError(call, f"{function} failed with {error.name}", "IX-DRIVER-2")

    def check_ordinal(self, error: Any, ordinal: int, function: str, call: str) -> None:
        """Raise the error of a function that takes the number of a device, if it is one."""
        if not error:
            return
        count = self.count_devices(call)
        what = f"{function}({ordinal}) failed with {error.name}"
        if 0 <= ordinal < count:
            raise ExchangeError(call, what, "IX-DRIVER-2")
        what = f"there is no device {ordinal} ({what})"
        hint = f"pass one of {', '.join(self.devices(call))}"
        raise ExchangeError(call, what, "IX-DRIVER-2", hint)

    def devices(self, call: str) -> list[str]:
        """Return the names of the devices in quotes, for errors."""
        return [f"'{self.name.lower()}:{one}'" for one in range(self.count_devices(call))]

    def _refuse_stream(self, error: Any, stream: int, function: str, call: str) -> Exception:
        """Return the error for a stream that the driver rejected."""
        if int(error) in _NO_HANDLE:
            return StreamError(
                call, f"stream={stream} is not a stream ({function})", "DLP-STREAM-7"
            )
        return ExchangeError(call, f"{function} failed with {error.name}", "IX-DRIVER-2")

    def _check_event(self, error: Any, event: int, function: str, call: str) -> None:
        """Raise the error of a function that takes an event, if it is one."""
        if not error:
            return
        said = f"({function} failed with {error.name})"
        if int(error) in _NO_HANDLE:
            raise ExchangeError(call, f"{event:#x} is not an event {said}", "ARROW-DEVICE-3")
        if int(error) in _OF_CAPTURES:
            what = f"the event {event:#x} was recorded in a capture {said}"
            raise StreamError(call, what, "DLP-STREAM-8")
        self.check(error, function, call)

    # ------------------------------------------------------------ devices and streams

    def count_devices(self, call: str) -> int:
        """Return the number of devices, which does not change."""
        if not self._count:
            error, count = getattr(self.api, self._names.device_count)()
            self.check(error, self._names.device_count, call)
            self._count = int(count)
        return self._count

    @contextlib.contextmanager
    def on_stream(self, stream: int, ordinal: int, call: str) -> Iterator[int]:
        """Make the home of a stream current, and restore the previous one."""
        with (
            self._for_queries(stream, ordinal, call),
            self._for_work(stream, ordinal, call) as home,
        ):
            yield home

    def synchronize(self, stream: int, ordinal: int, call: str) -> None:
        """Let the host wait for a stream."""
        self.refuse_capture(stream, ordinal, call)
        with self._for_queries(stream, ordinal, call):
            (error,) = getattr(self.api, self._names.stream_synchronize)(stream)
        if error:
            raise self._refuse_stream(error, stream, self._names.stream_synchronize, call)

    def synchronize_device(self, ordinal: int, call: str) -> None:
        """Let the host wait for all work on a device."""
        with self.on_device(ordinal, call):
            (error,) = getattr(self.api, self._names.device_synchronize)()
        self.check(error, self._names.device_synchronize, call)

    # ------------------------------------------------------------ captures

    def _capture_of(self, stream: int, call: str) -> int | None:
        """Return the id of the capture that a stream takes part in, or None."""
        names = self._names
        is_default = stream <= names.last_default
        function = names.default_capture_info if is_default else names.capture_info
        error, *answer = getattr(self.api, function)(stream)
        if error:
            if int(error) == _CAPTURE_IMPLICIT:
                what = f"stream={stream} is the {names.default}, while another stream captures"
                raise StreamError(call, what, "DLP-STREAM-8")
            raise self._refuse_stream(error, stream, function, call)
        status = int(answer[0])
        if status == _NOT_CAPTURING:
            return None
        if status == _CAPTURE_INVALIDATED:
            what = f"stream={stream} takes part in a capture that was invalidated"
            raise StreamError(call, what, "DLP-STREAM-8", "end the capture first")
        return int(answer[1])

    def refuse_capture(self, stream: int, ordinal: int, call: str) -> None:
        """Raise `StreamError` if a stream captures (DLP-STREAM-8)."""
        with self._for_queries(stream, ordinal, call):
            captures = self._capture_of(stream, call) is not None
        if captures:
            what = f"stream={stream} captures, which forbids copies and waits of the host"
            raise StreamError(call, what, "DLP-STREAM-8")

    def _check_captures(
        self,
        producer: tuple[int, int | None],
        consumer: tuple[int, int | None],
        call: str,
        *,
        fork: bool,
    ) -> None:
        """Refuse a wait that would invalidate a capture, before it is enqueued.

        Both are a stream and the id of its capture.  With `fork` the caller ensures that a consumer
        that joins the producer's capture is joined to the producer again.
        """
        (first, ours), (then, theirs) = producer, consumer
        if ours == theirs:
            return
        if fork and theirs is None and then not in {0, 1}:  # a legacy default stream cannot join
            return
        if theirs is not None:
            what = f"stream={then} captures and would wait for stream={first}, which"
            what += " does not capture" if ours is None else " takes part in another capture"
        else:
            what = f"stream={first} captures, and stream={then} does not take part in the capture"
        raise StreamError(call, what, "DLP-STREAM-8")

    @contextlib.contextmanager
    def unnoticed(self) -> Iterator[None]:
        """Allow calls that a capture in any thread forbids, without invalidating it.

        None of them concerns a capturing stream, and finalisers run in any thread.
        """
        exchange = getattr(self.api, self._names.exchange_capture_mode)
        error, mode = exchange(self._relaxed)
        try:
            yield
        finally:
            if not error:
                exchange(mode)

    # ------------------------------------------------------------ order

    def order(
        self,
        producer: int,
        consumer: int,
        ordinal: int,
        call: str,
        where: int | None = None,
        *,
        fork: bool = False,
    ) -> None:
        """Make future work on `consumer` wait for the work on `producer`; the host does not wait.

        Nothing is done if both are the same stream.  `ordinal` is the device of `producer`, and
        `where` that of `consumer`, if it is another: default streams have the same number on all.
        With `fork` a consumer may join a capture that the producer takes part in.
        """
        where = ordinal if where is None else where
        if producer == consumer and (where == ordinal or producer > self._names.last_default):
            return
        self._order(producer, consumer, ordinal, call, where, fork=fork)

    def _order(
        self, producer: int, consumer: int, ordinal: int, call: str, where: int, *, fork: bool
    ) -> int:
        """Order streams of any home, capturing ones too; return the home of the producer."""
        with self._for_queries(consumer, where, call):
            theirs = self._capture_of(consumer, call)
        with self._for_queries(producer, ordinal, call):
            ours = self._capture_of(producer, call)
            self._check_captures((producer, ours), (consumer, theirs), call, fork=fork)
            with self._for_work(producer, ordinal, call) as home:
                event = self._record(home, producer, call)
        try:
            with self._for_queries(consumer, where, call):
                (error,) = getattr(self.api, self._names.stream_wait_event)(
                    consumer, event.number, 0
                )
        finally:
            self._events[home].append(event)
        if error:
            raise self._refuse_stream(error, consumer, self._names.stream_wait_event, call)
        return home

    # ------------------------------------------------------------ events

    def _create_event(self, home: int, call: str) -> int:
        """Return a new event."""
        with self._in_home(home, call):
            error, event = getattr(self.api, self._names.event_create)(_DISABLE_TIMING)
        self.check(error, self._names.event_create, call)
        return int(event)

    def _record(self, home: int, stream: int, call: str) -> Event:
        """Record an unused or new event on a stream, whose home is current."""
        unused = self._events.setdefault(home, [])
        try:
            event = unused.pop()
        except IndexError:
            event = Event.of(self._create_event(home, call))
        self._record_or_destroy(event.number, stream, call)
        return event

    def _record_or_destroy(self, event: int, stream: int, call: str) -> None:
        """Record an event, which is destroyed on failure."""
        error: Any = True
        try:
            (error,) = getattr(self.api, self._names.event_record)(event, stream)
        finally:
            if error:
                getattr(self.api, self._names.event_destroy)(event)
        if error:
            raise self._refuse_stream(error, stream, self._names.event_record, call)

    def mark(self, stream: int, ordinal: int, call: str) -> tuple[int, Event]:
        """Return an event recorded after the work that is now on a stream, and its home."""
        with self.on_stream(stream, ordinal, call) as home:
            return home, self._record(home, stream, call)

    def wait_for_mark(self, mark: tuple[int, Event], ordinal: int, call: str) -> None:
        """Let the host wait for the work before a mark; then its event is unused."""
        home, event = mark
        self.wait_for_event(event.number, None, ordinal, call)
        self._events[home].append(event)

    def is_complete(self, mark: tuple[int, Event]) -> bool:
        """Whether the work before a mark is done; then its event is unused.  Never raises."""
        home, event = mark
        with contextlib.suppress(Exception), self.unnoticed():
            if not getattr(self.api, self._names.event_query)(event.number)[0]:
                self._events[home].append(event)
                return True
        return False

    def wait_for_event(self, event: int, stream: int | None, ordinal: int, call: str) -> None:
        """Make a stream wait for a foreign event; without a stream, the host.

        No function reports whether an event was recorded in a capture without invalidating the
        capture. So a capturing stream is refused, and one that joined a capture is found
        afterwards.
        """
        if stream is None:
            function = self._names.event_synchronize
            with self.on_device(ordinal, call), self.unnoticed():
                (error,) = getattr(self.api, function)(event)
            self._check_event(error, event, function, call)
            return
        with self._for_queries(stream, ordinal, call):
            if self._capture_of(stream, call) is not None:
                what = f"stream={stream} captures and would wait for the event {event:#x}"
                raise StreamError(call, what, "DLP-STREAM-8")
            (error,) = getattr(self.api, self._names.stream_wait_event)(stream, event, 0)
            self._check_event(error, event, self._names.stream_wait_event, call)
            if self._capture_of(stream, call) is not None:
                what = f"stream={stream} joined the capture of the event {event:#x}"
                raise StreamError(call, what, "DLP-STREAM-8")

    def record_event(self, stream: int, ordinal: int, call: str) -> tuple[int, int]:
        """Return a new event recorded after the work that is now on a stream, and its home."""
        with self.on_stream(stream, ordinal, call) as home:
            if self._capture_of(stream, call) is not None:
                what = f"stream={stream} captures: no other stream may wait for an event of it"
                raise StreamError(call, what, "DLP-STREAM-8")
            event = self._create_event(home, call)
            self._record_or_destroy(event, stream, call)
        return event, home

    def destroy_event(self, event: int, home: int) -> None:
        """Destroy an event of interchange, in its home.  Never raises: a finaliser calls it."""
        with contextlib.suppress(Exception), self._in_home(home, "destroy_event()"):
            getattr(self.api, self._names.event_destroy)(event)

    # ------------------------------------------------------------ allocations

    def allocate(self, nbytes: int, ordinal: int, call: str) -> int:
        """Return the address of new device memory."""
        return self._allocate(self._names.malloc, nbytes, (), ordinal, call)

    def allocate_pinned(self, nbytes: int, ordinal: int, call: str) -> int:
        """Return the address of new page-locked host memory, which every device can access."""
        return self._allocate(self._names.malloc_host, nbytes, (_PORTABLE,), ordinal, call)

    def _allocate(
        self, function: str, nbytes: int, flags: tuple[int, ...], ordinal: int, call: str
    ) -> int:
        """Return the address of new memory, of the current context if that is on the device.

        Kernels of a context cannot access another context's memory.
        """
        with self.on_device(ordinal, call), self.unnoticed():
            error, ptr = getattr(self.api, function)(nbytes, *flags)
            self._check_allocation(error, f"{function}({nbytes})", call)
            self._note_allocation(int(ptr))
        return int(ptr)

    def _check_allocation(self, error: Any, function: str, call: str) -> None:
        """Raise the error of a function that allocates, if it is one."""
        if int(error) == _OUT_OF_MEMORY:
            what = f"{function} failed with {error.name}"
            raise OutOfDeviceMemoryError(call, what, "IX-DRIVER-4")
        self.check(error, function, call)

    def allocate_in_order(self, nbytes: int, ordinal: int, stream: int, call: str) -> int:
        """Return the address of new memory of a device's pool, for later work on a stream.

        Returns 0 if the device has no pool.
        """
        del nbytes, ordinal, stream, call
        return 0

    def free_in_order(self, ptr: int, ordinal: int, stream: int) -> None:
        """Free memory of `allocate_in_order` after the work that is now on a stream."""
        raise NotImplementedError

    def free_unused(self, ptr: int) -> None:
        """Free memory of the current device at once: no work on it is left."""
        getattr(self.api, self._names.free)(ptr)

    def free(self, ptr: int, ordinal: int, pinned: bool) -> None:
        """Free memory when the work on it is done.  Never raises: a finaliser calls it."""
        if self._deferring:
            self._deferred.append((ptr, ordinal, pinned))
            return
        with contextlib.suppress(Exception), self.on_device(ordinal, "free()"), self.unnoticed():
            home = self._to_free(ptr)
            if home is None:
                return
            self._wait_for_follower(ordinal)
            with home:
                getattr(self.api, self._names.free_host if pinned else self._names.free)(ptr)

    def give_back(self, held: Held, ordinal: int) -> None:
        """Return memory to its allocator when the work on the device is done.  Never raises."""
        if self._deferring:
            self._deferred_buffers.append((held, ordinal))
            return
        call = "free()"
        with contextlib.suppress(Exception), self.on_device(ordinal, call), self.unnoticed():
            self._wait_for_follower(ordinal)
            self._wait_for_device()
            held.give_back(lambda: self.lasting_stream(ordinal, call))

    def _wait_for_follower(self, ordinal: int) -> None:
        """Let the host wait for the private stream of a device, if there is one."""
        follower = self._followers.get(ordinal)
        if follower is not None:
            getattr(self.api, self._names.stream_synchronize)(follower)

    def _wait_for_device(self) -> None:
        """Let the host wait for the current device, also while a stream captures.

        The wait for a context would invalidate captures; freeing memory waits for all streams, too
        (CUDA programming guide, Stream-Ordered Memory Allocator), and is allowed by `unnoticed`.
        """
        error, ptr = getattr(self.api, self._names.malloc)(1)
        if error:
            getattr(self.api, self._names.device_synchronize)()
        else:
            getattr(self.api, self._names.free)(ptr)

    @contextlib.contextmanager
    def deferring(self) -> Iterator[None]:
        """Free no memory while the block runs, but afterwards."""
        self._deferring += 1
        try:
            yield
        finally:
            self._deferring -= 1
            while self._deferred and not self._deferring:
                with contextlib.suppress(IndexError):  # another thread was faster
                    self.free(*self._deferred.pop())
            while self._deferred_buffers and not self._deferring:
                with contextlib.suppress(IndexError):
                    self.give_back(*self._deferred_buffers.pop())

    def follow(self, stream: int, ordinal: int, where: int, call: str, ptr: int = 0) -> None:
        """Let memory of the device `where` be freed only after the work on `stream`.

        Freeing waits for the memory's own home, so that nothing is done if `ptr`, an allocation of
        interchange, has the home of `stream`.  Other streams are waited for by a private stream of
        the device; a default stream would delay other work.
        """
        made_in = self._home_of_allocation(ptr, where)
        if made_in is not None:
            with self.on_stream(stream, ordinal, call) as home:
                if home == made_in:
                    return
        self.order(stream, self.lasting_stream(where, call), ordinal, call, where)

    def lasting_stream(self, ordinal: int, call: str) -> int:
        """Return the private stream of a device, created once."""
        found = self._followers.get(ordinal)
        if found is not None:
            return found
        with self.in_lasting_home(ordinal, call), self.unnoticed():
            error, stream = getattr(self.api, self._names.stream_create)(_NON_BLOCKING)
        self.check(error, self._names.stream_create, call)
        kept = self._followers.setdefault(ordinal, int(stream))
        if kept != int(stream):  # another thread was faster
            getattr(self.api, self._names.stream_destroy)(stream)
        return kept

    # ------------------------------------------------------------ copies

    def copy(
        self, target: int, source: int, nbytes: int, stream: int, ordinal: int, call: str
    ) -> None:
        """Enqueue a copy between any two addresses that the driver or the host knows."""
        names = self._names
        with self.on_stream(stream, ordinal, call):
            (error,) = getattr(self.api, names.memcpy)(
                target, source, nbytes, *names.memcpy_kind, stream
            )
        self.check(error, f"{names.memcpy}({nbytes})", call)

    def copy_planned(
        self,
        plan: list[PitchedCopy],
        target: int,
        source: int,
        stream: int,
        ordinal: int,
        call: str,
    ) -> None:
        """Enqueue copies whose positions count from these addresses."""
        for copy in plan:
            to, start = target + copy.target[0], source + copy.source[0]
            if copy.height == copy.depth == 1:
                self.copy(to, start, copy.width, stream, ordinal, call)
            else:
                placed = copy._replace(
                    target=(to, *copy.target[1:]), source=(start, *copy.source[1:])
                )
                self.copy_pitched(placed, stream, ordinal, call)
