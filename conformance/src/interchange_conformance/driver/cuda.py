"""The part of the CUDA driver API that checks use: the emulated one, or that of this machine.

Source: CUDA driver API.  All calls use ``libcuda.so.1`` by ctypes, so that checks need no library;
functions of the emulated driver only raise `NotApplicable` for a real one.  The driver is selected
by an environment variable, because libraries look for it when they are loaded (`environment`).

A driver that was used before a fork cannot be used in the child (IX-DRIVER-3), and processes are
forked for checks: the driver is not called when a module is imported.  Resources are not freed
either, because each check has its own process.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
from ctypes import POINTER, byref, c_char_p, c_int, c_size_t, c_ubyte, c_uint, c_uint64, c_void_p
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from interchange_conformance.emucuda.building import LIBRARY, CannotBuildError, build
from interchange_conformance.emucuda.control import Emulator, load
from interchange_conformance.emucuda.gates import Gate
from interchange_conformance.emucuda.settings import Settings
from interchange_conformance.findings import BrokenSubjectError, NotApplicable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from interchange_conformance.emucuda.calls import Trace
    from interchange_conformance.emucuda.control import Live

Choice = Literal["none", "emulated", "real"]

VARIABLE: Final = "INTERCHANGE_CONFORMANCE_CUDA"
"""Environment variable that selects the driver of checks: ``none``, ``emulated``, ``real``."""
LEGACY: Final = 1
"""Handle of the legacy default stream."""
PER_THREAD: Final = 2
"""Handle of the default stream of the calling thread."""
DEVICES: Final = 2
"""Number of devices of the emulated driver."""

_WITHOUT: Final = "needs a CUDA driver: run with --cuda=emulated or --cuda=real"
_NOT_INITIALIZED: Final = 3  # result of cuInit in a forked child of a process that had called it
_NOT_READY: Final = 600
_LONGEST_NAME: Final = 256
_NON_BLOCKING: Final = 1  # CU_STREAM_NON_BLOCKING
_NO_TIMING: Final = 2  # CU_EVENT_DISABLE_TIMING
_ATTACH_GLOBAL: Final = 1  # CU_MEM_ATTACH_GLOBAL
_CAPTURE_GLOBAL: Final = 0  # CU_STREAM_CAPTURE_MODE_GLOBAL
_PAGEABLE_MEMORY_ACCESS: Final = 88  # CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS
_IS_MANAGED: Final = 8  # CU_POINTER_ATTRIBUTE_IS_MANAGED
_ORDINAL: Final = 9  # CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
_MEMORY_TYPE: Final = 2  # CU_POINTER_ATTRIBUTE_MEMORY_TYPE

_HANDLE = c_void_p
_ADDRESS = c_uint64  # CUdeviceptr
_PROTOTYPES: Final[dict[str, tuple[Any, ...]]] = {
    "cuInit": (c_uint,),
    "cuDriverGetVersion": (POINTER(c_int),),
    "cuGetErrorName": (c_int, POINTER(c_char_p)),
    "cuDeviceGetCount": (POINTER(c_int),),
    "cuDeviceGetName": (c_char_p, c_int, c_int),
    "cuDeviceGetAttribute": (POINTER(c_int), c_int, c_int),
    "cuDevicePrimaryCtxRetain": (POINTER(c_void_p), c_int),
    "cuCtxSetCurrent": (_HANDLE,),
    "cuCtxGetCurrent": (POINTER(c_void_p),),
    "cuCtxGetDevice": (POINTER(c_int),),
    "cuCtxPushCurrent_v2": (_HANDLE,),
    "cuCtxPopCurrent_v2": (POINTER(c_void_p),),
    "cuCtxSynchronize": (),
    "cuStreamCreate": (POINTER(c_void_p), c_uint),
    "cuStreamDestroy_v2": (_HANDLE,),
    "cuStreamQuery": (_HANDLE,),
    "cuStreamSynchronize": (_HANDLE,),
    "cuStreamIsCapturing": (_HANDLE, POINTER(c_int)),
    "cuStreamWaitEvent": (_HANDLE, _HANDLE, c_uint),
    "cuStreamBeginCapture_v2": (_HANDLE, c_int),
    "cuStreamEndCapture": (_HANDLE, POINTER(c_void_p)),
    "cuGraphDestroy": (_HANDLE,),
    "cuEventCreate": (POINTER(c_void_p), c_uint),
    "cuEventRecord": (_HANDLE, _HANDLE),
    "cuEventDestroy_v2": (_HANDLE,),
    "cuMemAlloc_v2": (POINTER(_ADDRESS), c_size_t),
    "cuMemAllocManaged": (POINTER(_ADDRESS), c_size_t, c_uint),
    "cuMemHostAlloc": (POINTER(c_void_p), c_size_t, c_uint),
    "cuMemFree_v2": (_ADDRESS,),
    "cuMemFreeHost": (c_void_p,),
    "cuMemsetD8Async": (_ADDRESS, c_ubyte, c_size_t, _HANDLE),
    "cuMemcpyAsync": (_ADDRESS, _ADDRESS, c_size_t, _HANDLE),
    "cuMemcpyDtoH_v2": (c_void_p, _ADDRESS, c_size_t),
    "cuMemcpyHtoD_v2": (_ADDRESS, c_void_p, c_size_t),
    "cuPointerGetAttribute": (c_void_p, c_int, _ADDRESS),
}


class CudaError(RuntimeError):
    """A call of the driver failed."""


def environment(driver: str | None = None) -> dict[str, str]:
    """Return the environment variables for the processes that run checks.

    Parameters
    ----------
    driver : {"none", "emulated", "real"}, optional
        The driver; by default the emulated one if it can be built, else none.

    Raises
    ------
    CannotBuildError
        The emulated driver was requested, and a build dependency is missing.
    ValueError
        The choice does not exist.
    """
    if driver is None:
        try:
            return environment("emulated")
        except CannotBuildError:
            return environment("none")
    if driver not in {"none", "emulated", "real"}:
        raise ValueError(f"the driver must be none, emulated or real, not {driver!r}")
    found = {VARIABLE: driver}
    if driver == "emulated":
        settings = Settings(devices=DEVICES, protect=True, races="collect")
        path = {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ}
        found.update(settings.environment(build(), path))
    return found


def chosen() -> str:
    """Return the driver that the environment selects."""
    return os.environ.get(VARIABLE, "none") or "none"


def find_driver() -> str:
    """Return whether the CUDA driver that libraries find in this process is emulated or real."""
    try:
        return "emulated" if hasattr(ctypes.CDLL(LIBRARY), "emu_reset") else "real"
    except OSError:
        return "real"  # opening it raises the reason if it fails


def driver() -> Cuda:
    """Return the driver, initialised, with the primary context of the first device current.

    Raises
    ------
    NotApplicable
        No driver was selected, or there is none.
    BrokenSubjectError
        The library used the driver during its import, before this process was forked.
    """
    found = opened()
    found.make_current(0)
    return found


def opened() -> Cuda:
    """Return the driver as `driver` does, without changing the current device."""
    if not _found:
        _found.append(_open(chosen()))
    return _found[0]


_found: Final[list[Cuda]] = []


def _open(choice: str) -> Cuda:
    """Load and initialise the selected driver."""
    if choice == "none":
        raise NotApplicable(_WITHOUT)
    if choice == "emulated":
        emulator = _find_emulator()
        return Cuda(ctypes.CDLL(str(emulator.library)), emulator)
    try:
        library = ctypes.CDLL(LIBRARY)
    except OSError as error:
        raise NotApplicable(f"there is no CUDA driver: {error}") from error
    if hasattr(library, "emu_reset"):
        raise CudaError(f"{VARIABLE}={choice}, and {LIBRARY} is the emulated driver")
    return Cuda(library, None)


def _find_emulator() -> Emulator:
    """Return the emulated driver that `environment` announced, or load it."""
    for folder in os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep):
        if folder and (Path(folder) / LIBRARY).is_file():
            return Emulator(Path(folder) / LIBRARY)
    return load()


class Cuda:
    """The driver of this process, returned by `driver`.

    A stream is a handle; 1 and 2 are the default streams.  Sizes are in bytes.

    Parameters
    ----------
    library : ctypes.CDLL
        The driver, not initialised.
    emulator : Emulator or None
        Controls of the emulated driver; None for a real one.

    Attributes
    ----------
    emulator : Emulator or None
        As in the parameters.
    devices : int
        Number of devices.
    """

    def __init__(self, library: ctypes.CDLL, emulator: Emulator | None) -> None:
        self.emulator = emulator
        self._library = library
        for name, arguments in _PROTOTYPES.items():
            getattr(library, name).argtypes = arguments
        self._initialise()
        self.devices: int = self._made("cuDeviceGetCount", c_int)
        self._contexts: dict[int, int] = {}  # contexts in use: creating one takes time
        if not self.devices:
            raise NotApplicable("the CUDA driver finds no device")

    def _initialise(self) -> None:
        """Initialise the driver; raise the reason if that fails."""
        code = self._library.cuInit(0)
        if code == _NOT_INITIALIZED:
            raise BrokenSubjectError(
                "importing the library initialised CUDA, which is of no use in a forked process: "
                "let its import leave the driver alone, or use it in make() and take() only"
            )
        if code:
            raise NotApplicable(f"the CUDA driver does not start: cuInit: {self._name_of(code)}")

    def __call__(self, name: str, *arguments: Any) -> None:
        """Call a function of the driver.

        Raises
        ------
        CudaError
            It returned an error.
        """
        code = self.code(name, *arguments)
        if code:
            raise CudaError(f"{name}: {self._name_of(code)}")

    def code(self, name: str, *arguments: Any) -> int:
        """Call a function of the driver, and return its error code."""
        return int(getattr(self._library, name)(*arguments))

    def _name_of(self, code: int) -> str:
        """Return the name of an error code."""
        name = c_char_p()
        self._library.cuGetErrorName(code, byref(name))
        return f"{(name.value or b'unknown').decode()} ({code})"

    def _made(self, name: str, kind: Any, *arguments: Any) -> int:
        """Call a function whose first parameter receives its result, and return the result."""
        place = kind()
        self(name, byref(place), *arguments)
        return int(place.value or 0)

    # ------------------------------------------------------------ devices and contexts

    @property
    def is_emulated(self) -> bool:
        """Whether it is the emulated driver."""
        return self.emulator is not None

    @property
    def version(self) -> str:
        """The CUDA version of the driver, such as ``"13.0"``."""
        number = self._made("cuDriverGetVersion", c_int)
        return f"{number // 1000}.{number % 1000 // 10}"

    @property
    def names(self) -> list[str]:
        """The names of the devices."""
        found = []
        for device in range(self.devices):
            name = ctypes.create_string_buffer(_LONGEST_NAME)
            self("cuDeviceGetName", name, _LONGEST_NAME, device)
            found.append(name.value.decode())
        return found

    @property
    def reaches_the_host(self) -> bool:
        """Whether the first device reaches all memory of the host, also if it is not registered."""
        return bool(self._made("cuDeviceGetAttribute", c_int, _PAGEABLE_MEMORY_ACCESS, 0))

    def context(self, device: int) -> int:
        """Return the handle of the primary context of a device."""
        if device not in self._contexts:
            made = self._made("cuDevicePrimaryCtxRetain", c_void_p, device)
            self._contexts[device] = made
        return self._contexts[device]

    @property
    def current_device(self) -> int:
        """Number of the current device."""
        return self._made("cuCtxGetDevice", c_int)

    @property
    def current_context(self) -> int:
        """Handle of the current context, 0 if there is none."""
        return self._made("cuCtxGetCurrent", c_void_p)

    def make_current(self, device: int) -> None:
        """Make the primary context of a device current in this thread."""
        self("cuCtxSetCurrent", self.context(device))

    @contextlib.contextmanager
    def on_device(self, device: int) -> Iterator[None]:
        """Make a device current while the block runs."""
        self("cuCtxPushCurrent_v2", self.context(device))
        try:
            yield
        finally:
            self._made("cuCtxPopCurrent_v2", c_void_p)

    def need_second_device(self) -> None:
        """Raise `NotApplicable` if there is only one device."""
        if self.devices < 2:
            raise NotApplicable("needs two CUDA devices; the emulated driver has them")

    # ------------------------------------------------------------ streams

    def stream(self, *, blocking: bool = False) -> int:
        """Return a new stream of the current device.

        Parameters
        ----------
        blocking : bool, default False
            Whether it and the legacy default stream wait for each other.
        """
        return self._made("cuStreamCreate", c_void_p, 0 if blocking else _NON_BLOCKING)

    def destroy(self, stream: int) -> None:
        """Destroy a stream."""
        self("cuStreamDestroy_v2", stream)

    def knows(self, stream: int) -> bool:
        """Return whether a stream exists.  A real driver may crash on an unknown handle."""
        return self.code("cuStreamQuery", stream) in {0, _NOT_READY}

    def is_done(self, stream: int) -> bool:
        """Return whether no work is pending on a stream."""
        return self.code("cuStreamQuery", stream) == 0

    def is_capturing(self, stream: int) -> bool:
        """Return whether a stream captures, or cannot be used because another one does."""
        status = c_int()
        return bool(self.code("cuStreamIsCapturing", stream, byref(status)) or status.value)

    def order(self, before: int, after: int) -> None:
        """Make a stream wait for the work that is pending on another one of the current device."""
        event = self._made("cuEventCreate", c_void_p, _NO_TIMING)
        try:
            self("cuEventRecord", event, before)
            self("cuStreamWaitEvent", after, event, 0)
        finally:
            self("cuEventDestroy_v2", event)

    def synchronize(self, stream: int | None = None) -> None:
        """Make the host wait for a stream, or for all work on the devices used so far."""
        if stream is not None:
            self("cuStreamSynchronize", stream)
            return
        for device in tuple(self._contexts):
            with self.on_device(device):
                self("cuCtxSynchronize")

    def gate(self, stream: int, timeout: float) -> Gate:
        """Block a stream until the gate is opened; one at a time, after all memory was allocated.

        Parameters
        ----------
        stream : int
            Its handle.
        timeout : float
            Time after which it opens automatically [seconds].
        """
        return Gate(stream, timeout=timeout)

    @contextlib.contextmanager
    def capture(self, stream: int) -> Iterator[Capture]:
        """Capture a stream in the strictest mode while the block runs; the graph is destroyed."""
        self("cuStreamBeginCapture_v2", stream, _CAPTURE_GLOBAL)
        found = Capture()
        try:
            yield found
        finally:
            graph = c_void_p()
            code = self.code("cuStreamEndCapture", stream, byref(graph))
            if code:
                found.spoilt = self._name_of(code)
            elif graph.value:
                self("cuGraphDestroy", graph)

    # ------------------------------------------------------------ memory

    def memory(self, nbytes: int) -> int:
        """Return the address of new memory of the current device, every byte 0."""
        address = self._made("cuMemAlloc_v2", _ADDRESS, max(1, nbytes))
        self.fill(address, 0, nbytes, LEGACY)
        self.synchronize(LEGACY)
        return address

    def managed(self, nbytes: int) -> int:
        """Return the address of new managed memory, every byte 0."""
        address = self._made("cuMemAllocManaged", _ADDRESS, max(1, nbytes), _ATTACH_GLOBAL)
        ctypes.memset(address, 0, nbytes)
        return address

    def pinned(self, nbytes: int) -> int:
        """Return the address of new page-locked memory, every byte 0."""
        address = self._made("cuMemHostAlloc", c_void_p, max(1, nbytes), 0)
        ctypes.memset(address, 0, nbytes)
        return address

    def free(self, address: int) -> None:
        """Free device memory, once all work on it is done."""
        self("cuMemFree_v2", address)

    def free_pinned(self, address: int, stream: int) -> None:
        """Free page-locked memory, once all work on a stream is done."""
        self.synchronize(stream)
        self("cuMemFreeHost", address)

    def fill(self, address: int, value: int, nbytes: int, stream: int) -> None:
        """Enqueue a write of every byte of device memory.

        For page-locked memory CUDA blocks the host until the work has run: with a shut gate, this
        is a deadlock.
        """
        self("cuMemsetD8Async", address, value, nbytes, stream)

    def copy(self, target: int, source: int, nbytes: int, stream: int) -> None:
        """Enqueue a copy."""
        self("cuMemcpyAsync", target, source, nbytes, stream)

    def read(self, address: int, nbytes: int) -> bytes:
        """Return the bytes of any memory known to the driver, after all work is done."""
        self.synchronize()
        block = ctypes.create_string_buffer(max(1, nbytes))
        if nbytes:
            self("cuMemcpyDtoH_v2", block, address, nbytes)
        return block.raw[:nbytes]

    def write(self, address: int, data: bytes) -> None:
        """Write the bytes of any memory known to the driver."""
        if data:
            self("cuMemcpyHtoD_v2", address, data, len(data))
        self.synchronize()

    def kind(self, address: int) -> tuple[str, int]:
        """Return the kind of memory at an address, and the number of its device.

        Returns
        -------
        tuple of str and int
            ``"cuda"``, ``"managed"``, ``"pinned"``, or ``"host"`` for memory unknown to the driver;
            the number is 0 if there is no device.
        """
        managed, kind, ordinal = c_uint(), c_uint(), c_int()
        for place, attribute in (
            (kind, _MEMORY_TYPE),
            (managed, _IS_MANAGED),
            (ordinal, _ORDINAL),
        ):
            where = ctypes.addressof(place)
            if self.code("cuPointerGetAttribute", where, attribute, address):
                return "host", 0
        if managed.value:
            return "managed", ordinal.value
        return {0: ("host", 0), 1: ("pinned", 0)}.get(kind.value, ("cuda", ordinal.value))

    # ------------------------------------------------------------ the emulated driver only

    def forget(self) -> None:
        """Wait for all work, and reset the detector."""
        self.synchronize()
        if self.emulator is not None:
            self.emulator.reset()

    def reports(self) -> list[str]:
        """Return the reports of the happens-before detector since `forget`.

        A real driver has no detector: the list is empty.
        """
        return [] if self.emulator is None else self.emulator.reports()

    def live(self) -> Live:
        """Return the counts of live objects, such as events.

        Raises
        ------
        NotApplicable
            The driver is a real one, which does not count objects.
        """
        return self._emulated().live()

    def _emulated(self) -> Emulator:
        """Return the emulated driver's controls."""
        if self.emulator is None:
            raise NotApplicable("only the emulated driver reports this: run with --cuda=emulated")
        return self.emulator

    @contextlib.contextmanager
    def trace(self) -> Iterator[Trace]:
        """Log the driver calls of all threads while the block runs.

        Raises
        ------
        NotApplicable
            The driver is a real one, which has no log.
        """
        with self._emulated().trace() as found:
            yield found


class Capture:
    """A capture of a stream.

    Attributes
    ----------
    spoilt : str
        After its end: the driver's error; empty if it succeeded.
    """

    def __init__(self) -> None:
        self.spoilt = ""
