"""Control the emulated driver of this process: gates, delays, reports, traces, counts.

Source: the control interface of the C sources, `interchange_conformance.emucuda._interface`.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ._interface import bind, texts
from .building import build
from .calls import Trace
from .streams import handle_of, whole

if TYPE_CHECKING:
    from collections.abc import Iterator

EVERY_STREAM: Final = 2**64 - 1
"""For `Emulator.delay`: all streams, also those that are created later."""
_LONGEST: Final = 1e9  # limit of a delay: it cannot overflow 64 bits of microseconds [seconds]
_UNKNOWN: Final = 2**64 - 1  # result of emu_pending for an unknown stream


class AnotherDriverError(RuntimeError):
    """Another CUDA driver is loaded in this process, which can have only one."""


class Live(NamedTuple):
    """Counts of live objects: those that have to be freed or destroyed.

    Attributes
    ----------
    device, pinned, managed : int
        Allocations.
    events, streams, contexts : int
        Those created by the program: default streams and primary contexts do not count.
    device_bytes : int
        Device memory in use [bytes].
    """

    device: int
    pinned: int
    managed: int
    events: int
    streams: int
    device_bytes: int
    contexts: int


class Emulator:
    """The emulated driver of this process; `load` returns the only one.

    A stream is an int, a ``CUstream`` of cuda.bindings or an object with ``__cuda_stream__``; 0 and
    1 are the legacy, 2 the per-thread default stream of the current context.  A stream that is
    unknown to the driver raises ValueError.

    Parameters
    ----------
    library : Path
        Result of `build`.
    """

    def __init__(self, library: Path) -> None:
        self.library = library
        self._c = bind(library)
        self._held: set[int] = set()
        self._delayed: set[int] = set()
        self._taken = 0
        self._tracing = False

    # ------------------------------------------------------------ time

    def hold(self, stream: Any) -> None:
        """Shut the gate of a stream: it starts no further operation until `release`."""
        handle = handle_of(stream)
        self._check(self._c.emu_hold(handle, 1), "hold()", handle)
        self._held.add(handle)

    def release(self, stream: Any) -> None:
        """Open the gate of a stream."""
        handle = handle_of(stream)
        self._held.discard(handle)
        self._check(self._c.emu_hold(handle, 0), "release()", handle)

    def release_all(self) -> None:
        """Open every gate that this object has shut."""
        self._open(self._held)

    @contextlib.contextmanager
    def held(self, *streams: Any) -> Iterator[None]:
        """Shut the gates of streams while the block runs."""
        handles = [handle_of(stream) for stream in streams]
        try:
            for handle in handles:
                self.hold(handle)
            yield
        finally:
            self._open(handles)

    def delay(self, stream: Any, seconds: float) -> None:
        """Wait before each operation of a stream.

        Parameters
        ----------
        stream : stream
            `EVERY_STREAM` for all, also those that are created later.
        seconds : float
            The delay, 0 for none [seconds].
        """
        handle = handle_of(stream)
        if seconds < 0:
            raise ValueError(f"delay(): {seconds} seconds is negative")
        if not seconds <= _LONGEST:  # also refuses nan
            raise ValueError(f"delay(): {seconds} seconds is too long: the maximum is {_LONGEST:g}")
        self._check(self._c.emu_delay(handle, round(seconds * 1e6)), "delay()", handle)
        (self._delayed.add if seconds else self._delayed.discard)(handle)

    def pending(self, stream: Any) -> int:
        """Return the number of unfinished operations of a stream."""
        handle = handle_of(stream)
        count = int(self._c.emu_pending(handle))
        self._check(count != _UNKNOWN, "pending()", handle)
        return count

    # ------------------------------------------------------------ the detector

    def reports(self) -> list[str]:
        """Return the reports of the detector since the last `reset`."""
        return texts(self._c.emu_reports, self._c.emu_report)

    def unexpected_reports(self) -> list[str]:
        """Return those of `reports` that `expect_reports` has not accepted."""
        return self.reports()[self._taken :]

    def expect_reports(self, count: int | None = None, match: str = "") -> list[str]:
        """Accept the reports that were not accepted before, so that they do not fail the test.

        Parameters
        ----------
        count : int, optional
            Number of reports; by default, at least one.
        match : str, optional
            Pattern that each of them must match.

        Returns
        -------
        list[str]
            The reports.

        Raises
        ------
        AssertionError
            The number or the text of the reports differs; then they are not accepted.
        """
        found = self.unexpected_reports()
        wanted = "at least one report" if count is None else f"{count} reports"
        if not found if count is None else len(found) != count:
            raise AssertionError(f"expected {wanted}, the detector has {_list(found)}")
        strange = [report for report in found if not re.search(match, report)]
        if strange:
            raise AssertionError(f"expected {wanted} with {match!r}, there is {_list(strange)}")
        self._taken += len(found)
        return found

    @contextlib.contextmanager
    def without_waits(self) -> Iterator[None]:
        """Make ``cuStreamWaitEvent`` have no effect while the block runs.

        This breaks programs on purpose: it shows whether their correctness depends on these waits.
        """
        self._c.emu_drop_waits(1)
        try:
            yield
        finally:
            self._c.emu_drop_waits(0)

    def annotate(
        self, stream: Any, ptr: Any, nbytes: int, *, write: bool, what: str = "kernel"
    ) -> None:
        """Enqueue an operation that represents a kernel: the detector records an access of memory.

        Parameters
        ----------
        stream : stream
            Stream on which it is enqueued.
        ptr : int
            First address.
        nbytes : int
            Length [bytes].
        write : bool
            Whether it writes, else it reads.
        what : str, optional
            Its name in reports.
        """
        handle = handle_of(stream)
        start, size = _range("annotate()", ptr, nbytes)
        done = self._c.emu_annotate(handle, start, size, int(write), what.encode())
        self._check(done, "annotate()", handle)

    def fill(self, stream: Any, ptr: Any, nbytes: int, value: int, what: str = "fill") -> None:
        """Enqueue an operation that represents a kernel, and writes bytes when it runs.

        Parameters
        ----------
        stream : stream
            Stream on which it is enqueued.
        ptr : int
            First address.
        nbytes : int
            Length [bytes].
        value : int
            Value of each byte, 0 to 255.
        what : str, optional
            Its name in reports.
        """
        handle = handle_of(stream)
        start, size = _range("fill()", ptr, nbytes)
        byte = whole(value, "fill(): value", 0xFF)
        done = self._c.emu_fill(handle, start, size, byte, what.encode())
        self._check(done, "fill()", handle)

    def host_access(self, ptr: Any, nbytes: int, *, write: bool, what: str = "host access") -> None:
        """Inform the detector that the host accesses pinned or managed memory now.

        Parameters
        ----------
        ptr : int
            First address.
        nbytes : int
            Length [bytes].
        write : bool
            Whether it writes, else it reads.
        what : str, optional
            Its name in reports.
        """
        start, size = _range("host_access()", ptr, nbytes)
        self._c.emu_host_access(start, size, int(write), what.encode())

    # ------------------------------------------------------------ inspecting

    @contextlib.contextmanager
    def trace(self) -> Iterator[Trace]:
        """Log the driver calls of all threads while the block runs.

        Raises
        ------
        RuntimeError
            A trace is already running: there is only one log.
        """
        if self._tracing:
            raise RuntimeError("trace(): another trace is running, and there is only one log")
        found = Trace(lambda: texts(self._c.emu_calls, self._c.emu_call))
        self._tracing = True
        self._c.emu_trace(1)
        try:
            yield found
        finally:
            self._c.emu_trace(0)
            self._tracing = False
            found.end()

    def live(self) -> Live:
        """Return the counts of live objects."""
        return Live(*(int(self._c.emu_live(what)) for what in range(len(Live._fields))))

    def alias(self, ptr: Any) -> int:
        """Return an address at which the host can access device memory, also in protect mode."""
        return int(self._c.emu_alias(whole(ptr, "alias(): address")) or 0)

    def read(self, ptr: Any, nbytes: int) -> bytes:
        """Return the contents of memory now: no operation, no wait, no recorded access.

        Parameters
        ----------
        ptr : int
            First address.
        nbytes : int
            Length [bytes].

        Raises
        ------
        ValueError
            The bytes are not all in one allocation; a freed one can be read as long as the driver
            retains its memory.
        """
        start, size = _range("read()", ptr, nbytes)
        room = int(self._c.emu_room(start))
        if size > room or not room:
            there = f"{room} bytes of an allocation are there" if room else "no allocation is there"
            raise ValueError(f"read(): {size} bytes from {start:#x}: {there}")
        return ctypes.string_at(self.alias(start), size)

    # ------------------------------------------------------------ order

    def reset(self) -> None:
        """Discard reports and accesses, and undo the holds and delays of this object.

        Allocations, streams and events are not changed: they belong to the program.
        """
        self.release_all()
        usual = int(os.environ.get("EMUCUDA_DELAY_US") or 0)
        for handle in self._delayed:
            self._c.emu_delay(handle, usual)
        self._delayed.clear()
        self._c.emu_reset()
        self._taken = 0

    def _open(self, handles: Any) -> None:
        """Open gates; streams that no longer exist have none."""
        for handle in tuple(handles):
            self._held.discard(handle)
            self._c.emu_hold(handle, 0)

    @staticmethod
    def _check(known: object, call: str, handle: int) -> None:
        """Refuse a stream that is unknown to the driver."""
        if not known:
            raise ValueError(f"{call}: {handle:#x} is not a stream of the emulated driver")


# ---------------------------------------------------------------- one per process

_LOCK = threading.Lock()
_LOADED: list[Emulator] = []


def load() -> Emulator:
    """Build the emulated driver and load it into this process; return the same one every time.

    It must be called before any CUDA driver is loaded.

    Raises
    ------
    CannotBuildError
        A build dependency is missing.
    AnotherDriverError
        This process has another driver.
    """
    with _LOCK:
        if not _LOADED:
            library = build()
            maps = Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace")
            others = [path for path in mapped_drivers(maps) if path != str(library.resolve())]
            if others:
                raise AnotherDriverError(
                    f"load(): this process has loaded {', '.join(others)}, and a process can have "
                    "one CUDA driver; load the emulated one first, or in a process of its own"
                )
            _LOADED.append(Emulator(library))
        return _LOADED[0]


def mapped_drivers(maps: str) -> list[str]:
    """Return the CUDA drivers among the files that are mapped into a process.

    Parameters
    ----------
    maps : str
        Contents of ``/proc/self/maps``.

    Examples
    --------
    >>> mapped_drivers("7f00-7f01 r-xp 00000000 08:01 42 /usr/lib/libcuda.so.570.26")
    ['/usr/lib/libcuda.so.570.26']
    """
    rows = (line.split(maxsplit=5) for line in maps.splitlines())
    paths = dict.fromkeys(row[5] for row in rows if len(row) > 5)
    return [path for path in paths if re.match(r"libcuda\.so(\.|$)", Path(path).name)]


def _range(call: str, ptr: Any, nbytes: Any) -> tuple[int, int]:
    """Return an address and a length as numbers for C."""
    return whole(ptr, f"{call}: address"), whole(nbytes, f"{call}: length")


def _list(reports: list[str]) -> str:
    """Return reports as lines, for an error."""
    return "none" if not reports else "\n  ".join([f"{len(reports)}:", *reports])
