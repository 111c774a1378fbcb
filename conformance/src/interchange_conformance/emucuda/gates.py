"""A gate that blocks a stream on any CUDA driver: a host function that waits for a semaphore.

Source: ``cuLaunchHostFunc`` of the CUDA driver API; sem_overview(7).  The host function is
``sem_wait`` itself: no Python code runs on the driver's thread, so that neither the GIL nor the
lifetime of a callback matters.  A real driver may run all host functions on one thread: shut one
gate at a time, and do not use host functions in work that must run meanwhile (a copy to pinned
memory uses none).
"""

from __future__ import annotations

import atexit
import ctypes
import threading
from ctypes import c_char_p, c_int, c_long, c_uint, c_void_p
from typing import TYPE_CHECKING, Any, Final

from .streams import handle_of

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self

_LONGEST: Final = 30.0  # time limit of a gate [seconds]
_Semaphore = c_long * 8  # no libc for Linux has a larger sem_t
_libc = ctypes.CDLL(None, use_errno=True)  # a separate handle, with separate prototypes
for _name, _arguments in {
    "sem_init": (c_void_p, c_int, c_uint),
    "sem_post": (c_void_p,),
    "sem_getvalue": (c_void_p, ctypes.POINTER(c_int)),
}.items():
    getattr(_libc, _name).argtypes = _arguments
_SEM_WAIT: Final = ctypes.cast(_libc.sem_wait, c_void_p)

_registry = threading.Lock()
_shut: set[Gate] = set()
_kept: dict[int, Any] = {}
"""By address: semaphores that a driver may still use, possibly long after the gate was opened."""


class GateError(RuntimeError):
    """A gate could not be shut, or did not stay shut until it was opened."""


class Gate:
    """Block work that is enqueued on a stream from now on, until the gate is opened.

    As a context manager, it opens at the end of the block.

    Parameters
    ----------
    stream : int, or object with ``__cuda_stream__`` or ``__int__``
        Its context must be current if it is a default stream.
    timeout : float, optional
        Time after which the gate opens automatically, so that nothing hangs; `open` then raises an
        error [seconds].

    Raises
    ------
    GateError
        There is no CUDA driver, or it refuses the host function.
    """

    def __init__(self, stream: Any, *, timeout: float = _LONGEST) -> None:
        self.timed_out: bool = False
        self._timeout = timeout
        self._semaphore = _Semaphore()
        if _libc.sem_init(self._semaphore, 0, 0):
            raise GateError(f"Gate(): sem_init failed with errno {ctypes.get_errno()}")
        self._watchdog = threading.Timer(timeout, self._give_up)
        self._watchdog.daemon = True
        address = ctypes.addressof(self._semaphore)
        _keepalive(self, address)
        try:
            _launch(handle_of(stream), address)
        except BaseException:
            _shut.discard(self)
            raise
        self._watchdog.start()

    @property
    def is_open(self) -> bool:
        """Whether it was opened; the blocked work may not have run yet."""
        return self not in _shut

    def open(self) -> None:
        """Open the gate, so that the stream continues; an open gate stays open.

        Raises
        ------
        GateError
            It had opened automatically: observations made meanwhile are not reliable.
        """
        self._watchdog.cancel()
        self._post()
        if self.timed_out:
            raise GateError(
                f"the gate was not opened within {self._timeout} seconds and opened by itself; "
                "open it earlier, or name a longer timeout"
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        try:
            self.open()
        except GateError:
            if error is None:  # otherwise the error of the block is raised
                raise

    def _give_up(self) -> None:
        """Open the gate after the timeout."""
        self._post(timed_out=True)

    def _post(self, *, timed_out: bool = False) -> None:
        """Open the gate, unless it is open, and record first whether it timed out."""
        with _registry:
            if self in _shut:
                _shut.discard(self)
                self.timed_out = timed_out
                _libc.sem_post(self._semaphore)


def _keepalive(gate: Gate, address: int) -> None:
    """Register the semaphore of a new gate, and drop those that were opened and passed."""
    value = c_int()
    with _registry:
        waited_for = {id(other._semaphore) for other in _shut}
        for kept, semaphore in tuple(_kept.items()):
            _libc.sem_getvalue(semaphore, ctypes.byref(value))
            if value.value == 0 and id(semaphore) not in waited_for:
                del _kept[kept]
        _kept[address] = gate._semaphore
        _shut.add(gate)


def _launch(handle: int, address: int) -> None:
    """Enqueue ``sem_wait`` on a stream."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        raise GateError(f"Gate(): there is no CUDA driver: {error}") from error
    driver.cuLaunchHostFunc.argtypes = (c_void_p, c_void_p, c_void_p)
    code = driver.cuLaunchHostFunc(handle, _SEM_WAIT, address)
    if code:
        name = c_char_p()
        driver.cuGetErrorName(c_int(code), ctypes.byref(name))
        said = (name.value or b"an unknown error").decode()
        raise GateError(f"Gate(): cuLaunchHostFunc on stream {handle:#x}: {said} ({code})")


def _open_all() -> None:
    """Open all gates at exit: a driver may wait for its threads."""
    for gate in tuple(_shut):
        gate._post()


atexit.register(_open_all)
