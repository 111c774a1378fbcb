"""Pending work on a stream, and whether a copy on another stream is ordered after it.

Source: array API standard 2025.12, ``array.__dlpack__`` (stream); CUDA Array Interface, version 3,
Synchronization.  The work is blocked by a gate, so that a missing wait is found regardless of
timing; on the emulated driver its happens-before detector is queried as well.
"""

from __future__ import annotations

import ctypes
import threading
import time
from typing import TYPE_CHECKING, Final, NamedTuple

from interchange_conformance.driver.cuda import LEGACY
from interchange_conformance.emucuda.gates import GateError

if TYPE_CHECKING:
    from collections.abc import Callable

    from interchange_conformance.driver.cuda import Cuda

OLD: Final = 0
"""Value of every byte before the work has run."""
NEW: Final = 7
"""Value of every byte after the work has run."""
PATIENCE: Final = 0.5
"""How long an exchange may wait for blocked work before it is released [seconds]."""
LONG_PATIENCE: Final = 2.0
"""The same for checks of the wait itself: longer than a busy machine takes [seconds]."""
_TIME_TO_COPY: Final = 0.03  # longer than a copy takes that does not wait [seconds]


class Seen(NamedTuple):
    """What a copy read.

    Attributes
    ----------
    data : set of int
        Values of the bytes that were copied.
    overtook : bool
        Whether the copy completed before the work was released.
    reports : list of str
        Reports of the detector; empty on a real driver.
    """

    data: set[int]
    overtook: bool
    reports: list[str]

    def is_ordered(self) -> bool:
        """Return whether the copy was ordered after the work, and not by chance."""
        return self.data == {NEW} and not (self.overtook or self.reports)

    def evidence(self, what: str) -> str:
        """Return the result as text."""
        saw = "the data from before it" if self.data == {OLD} else f"bytes {sorted(self.data)}"
        words = "" if self.data == {NEW} else f"; a copy on the consumer's stream saw {saw}"
        found = "".join(f"; the detector reports: {report}" for report in self.reports)
        return f"{what}{words}{found}; due is that the consumer's stream waits for the work"


class PendingWork:
    """A pending write of all bytes of device-accessible memory, blocked on a stream.

    Parameters
    ----------
    cuda : Cuda
        The driver; the device of the streams is current.
    address : int
        Address of the first byte.
    nbytes : int
        Number of bytes.
    stream : int
        Stream on which the write is pending.
    patience : float, default `PATIENCE`
        Time after which the work is released automatically [seconds].
    """

    cuda: Cuda
    address: int
    nbytes: int

    def __init__(
        self, cuda: Cuda, address: int, nbytes: int, stream: int, patience: float = PATIENCE
    ) -> None:
        self.cuda, self.address, self.nbytes = cuda, address, nbytes
        self._target = cuda.pinned(nbytes)
        write = self._writer(stream)
        write(OLD)
        cuda.forget()
        self._gate = cuda.gate(stream, patience)
        write(NEW)

    def _writer(self, stream: int) -> Callable[[int], None]:
        """Return a function that enqueues a write of all bytes and does not block the host.

        Page-locked memory is written by a copy, because a fill would block the host.
        """
        cuda, address, nbytes = self.cuda, self.address, self.nbytes
        if cuda.kind(address)[0] != "pinned":
            return lambda value: cuda.fill(address, value, nbytes, stream)
        sources = {value: cuda.memory(nbytes) for value in (OLD, NEW)}
        for value, source in sources.items():
            cuda.fill(source, value, nbytes, LEGACY)
        cuda.synchronize(LEGACY)
        return lambda value: cuda.copy(address, sources[value], nbytes, stream)

    @property
    def is_held(self) -> bool:
        """Whether the work has not been released."""
        return not self._gate.is_open

    def release(self) -> bool:
        """Release the work, and return whether it had been released automatically."""
        try:
            self._gate.open()
        except GateError:
            return True
        return False

    def seen_on(self, stream: int, address: int | None = None) -> Seen:
        """Copy the memory on a stream, release the work, and return what the copy read."""
        source = self.address if address is None else address
        self.cuda.copy(self._target, source, self.nbytes, stream)
        deadline = time.monotonic() + _TIME_TO_COPY
        while not self.cuda.is_done(stream) and time.monotonic() < deadline:
            time.sleep(0.001)
        overtook = self.cuda.is_done(stream) and self.is_held
        self.release()
        self.cuda.synchronize()
        data = set(ctypes.string_at(self._target, self.nbytes))
        return Seen(data, overtook, self.cuda.reports())

    def release_later(self, seconds: float) -> None:
        """Release the work after a delay, whatever this thread does in the meantime [seconds]."""
        threading.Timer(seconds, self.release).start()
