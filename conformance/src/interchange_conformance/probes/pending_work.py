"""Work that is pending on a stream, and whether a copy on another stream sees what it writes.

Source: array API standard 2025.12, ``array.__dlpack__`` (stream); CUDA Array Interface, version 3,
Synchronization.  The work is held by a gate, so that a missing wait shows whatever the timing is;
on the emulated driver its happens-before detector is asked, too.
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
"""What every byte is before the work is done."""
NEW: Final = 7
"""What every byte is when the work is done."""
PATIENCE: Final = 0.5
"""How long an exchange may wait for work that is held, before it is let go [seconds]."""
LONG_PATIENCE: Final = 2.0
"""The same, where to wait at all is what is looked at: more than a busy machine takes [seconds]."""
_TIME_TO_COPY: Final = 0.03  # more than a copy takes that waits for nothing [seconds]


class Seen(NamedTuple):
    """What a copy saw.

    Attributes
    ----------
    data : set of int
        Values of the bytes that were copied.
    overtook : bool
        Whether the copy was done before the work was let go.
    reports : list of str
        Of the detector; none on a real driver.
    """

    data: set[int]
    overtook: bool
    reports: list[str]

    def is_ordered(self) -> bool:
        """Whether the copy came after the work, and not by luck."""
        return self.data == {NEW} and not (self.overtook or self.reports)

    def evidence(self, what: str) -> str:
        """Return what was found, as text."""
        saw = "the data from before it" if self.data == {OLD} else f"bytes {sorted(self.data)}"
        words = "" if self.data == {NEW} else f"; a copy on the consumer's stream saw {saw}"
        found = "".join(f"; the detector reports: {report}" for report in self.reports)
        return f"{what}{words}{found}; due is that the consumer's stream waits for the work"


class PendingWork:
    """A write of all bytes of some memory that a device reaches; it is held on a stream.

    Parameters
    ----------
    cuda : Cuda
        The driver; a device is current whose streams these are.
    address : int
        First byte.
    nbytes : int
        How many [bytes].
    stream : int
        Where the write is pending.
    patience : float, default `PATIENCE`
        After so long it is let go by itself [seconds].
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
        """Return what enqueues a write of all bytes, and lets the host wait for nothing.

        Page-locked memory is copied to, for the host would wait for a fill.
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
        """Whether the work has not been let go."""
        return not self._gate.is_open

    def let_go(self) -> bool:
        """Let the work be done, and return whether it had been let go by itself."""
        try:
            self._gate.open()
        except GateError:
            return True
        return False

    def seen_on(self, stream: int, address: int | None = None) -> Seen:
        """Copy the memory on a stream, let the work be done, and return what the copy saw.

        Parameters
        ----------
        stream : int
            The consumer's.
        address : int, optional
            Where it was told that the memory is.
        """
        source = self.address if address is None else address
        self.cuda.copy(self._target, source, self.nbytes, stream)
        deadline = time.monotonic() + _TIME_TO_COPY
        while not self.cuda.is_done(stream) and time.monotonic() < deadline:
            time.sleep(0.001)
        overtook = self.cuda.is_done(stream) and self.is_held
        self.let_go()
        self.cuda.synchronize()
        data = set(ctypes.string_at(self._target, self.nbytes))
        return Seen(data, overtook, self.cuda.reports())

    def let_go_later(self, seconds: float) -> None:
        """Let the work be done in a while, whatever this thread is doing then [seconds]."""
        threading.Timer(seconds, self.let_go).start()
