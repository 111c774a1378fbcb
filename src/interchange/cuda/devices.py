"""GPUs: which one is current, and what a context tells and does.

Source: Numba for CUDA, "Device management" and "Device Selection"; CUDA driver API, Context
Management, Peer Context Memory Access and Profiler Control.
"""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from interchange._streams import _cuda_modules as modules
from interchange._streams.driver import driver_of
from interchange._types.devices import Device, is_index
from interchange._types.errors import ArgumentError, show
from interchange.abi.dlpack import DLDeviceType

from .streams import find_driver, synchronize

if TYPE_CHECKING:
    from collections.abc import Iterator

_FIRST: Final = (DLDeviceType.kDLCUDA, 0)
_OLDEST: Final = (7, 5)
"""The lowest compute capability of a GPU that runs kernels."""
_MIB: Final = 1 << 20  # [bytes]
_IS_ENABLED: Final = "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED"


class MemoryInfo(NamedTuple):
    """Memory of a GPU [bytes]."""

    free: int
    total: int


class GPU:
    """One GPU, an item of `gpus`: ``with cuda.gpus[1]:`` makes it current for the calling thread.

    Attributes
    ----------
    id : int
        Its ordinal.
    """

    __slots__ = ("_entered", "id")

    def __init__(self, ordinal: int) -> None:
        self.id: int = ordinal
        self._entered = threading.local()

    def __repr__(self) -> str:
        return f"<GPU {self.id}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GPU) and other.id == self.id

    def __hash__(self) -> int:
        return hash((GPU, self.id))

    def __enter__(self) -> GPU:
        """Make the GPU current, and return it."""
        stack = self._entered.__dict__.setdefault("stack", [])
        made = _driver("cuda.gpus[...]").on_device(self.id, "cuda.gpus[...]")
        made.__enter__()
        stack.append(made)
        return self

    def __exit__(self, *error: object) -> None:
        """Make the context current that was before."""
        self._entered.stack.pop().__exit__(None, None, None)

    @property
    def name(self) -> str:
        """Name of the GPU."""
        driver = _driver("GPU.name")
        error, text = driver.api.cuDeviceGetName(128, self.id)
        driver.check(error, "cuDeviceGetName", "GPU.name")
        return bytes(text).split(b"\0")[0].decode(errors="replace")

    @property
    def compute_capability(self) -> tuple[int, int]:
        """Compute capability: major and minor version."""
        call = "GPU.compute_capability"
        return modules.compute_capability(_driver(call), self.id, call)

    def synchronize(self) -> None:
        """Block the host until all work on the GPU is done."""
        with self:
            synchronize()


class GPUs:
    """All GPUs, in the order of their ordinals; there is none on a machine without a driver."""

    def __init__(self) -> None:
        self._known: dict[int, GPU] = {}

    @property
    def lst(self) -> list[GPU]:
        """The same as a list."""
        return [self._at(ordinal) for ordinal in range(len(self))]

    def _at(self, ordinal: int) -> GPU:
        return self._known.setdefault(ordinal, GPU(ordinal))

    def __len__(self) -> int:
        driver = find_driver("cuda.gpus")
        return 0 if driver is None else int(driver.count_devices("cuda.gpus"))

    def __iter__(self) -> Iterator[GPU]:
        return iter(self.lst)

    def __getitem__(self, ordinal: int) -> GPU:
        """Return a GPU; an IndexError without one ends loops."""
        return self.lst[ordinal]

    def __repr__(self) -> str:
        return f"<GPUs {', '.join(str(one.id) for one in self)}>"

    @property
    def current(self) -> GPU | None:
        """The GPU that is current in the calling thread; None without any."""
        driver = find_driver("cuda.gpus.current")
        return None if driver is None else self._at(driver.current_device("cuda.gpus.current"))


gpus: Final = GPUs()


class Context:
    """What can be asked and done on a GPU, returned by `current_context`.

    Attributes
    ----------
    device : GPU
        The GPU.
    """

    __slots__ = ("device",)

    def __init__(self, device: GPU) -> None:
        self.device: GPU = device

    def __repr__(self) -> str:
        return f"<context of {self.device!r}>"

    def get_memory_info(self) -> MemoryInfo:
        """Return the free and the total memory of the GPU [bytes]."""
        call = "Context.get_memory_info()"
        driver = _driver(call)
        with driver.on_device(self.device.id, call):
            error, *found = driver.api.cuMemGetInfo()
        driver.check(error, "cuMemGetInfo", call)
        return MemoryInfo(*map(int, found))

    def synchronize(self) -> None:
        """Block the host until all work on the GPU is done."""
        self.device.synchronize()

    def can_access_peer(self, peer: Any) -> bool:
        """Whether kernels on this GPU could access memory of another one."""
        call = "Context.can_access_peer()"
        driver = _driver(call)
        error, found = driver.api.cuDeviceCanAccessPeer(self.device.id, _ordinal(peer, call))
        driver.check(error, "cuDeviceCanAccessPeer", call)
        return bool(found)

    def enable_peer_access(self, peer: Any) -> None:
        """Let kernels on this GPU access memory of another one, from now on.

        Parameters
        ----------
        peer : int, GPU or Context
            The other GPU.
        """
        call = "Context.enable_peer_access()"
        driver = _driver(call)
        other = driver._primary_of(_ordinal(peer, call), call)
        with driver.on_device(self.device.id, call):
            (error,) = driver.api.cuCtxEnablePeerAccess(other, 0)
        if error and error.name != _IS_ENABLED:
            driver.check(error, "cuCtxEnablePeerAccess", call)

    @contextlib.contextmanager
    def defer_cleanup(self) -> Iterator[None]:
        """As `cuda.defer_cleanup`."""
        with defer_cleanup():
            yield


def _driver(call: str) -> Any:
    """Return the driver; the error if there is none says so."""
    return driver_of(Device.of(_FIRST, call), call)


def _ordinal(given: Any, call: str) -> int:
    """Return the ordinal of a GPU that was named in one of several ways."""
    if isinstance(given, Context):
        return given.device.id
    if isinstance(given, GPU):
        return given.id
    if is_index(given):
        return int(given)
    device = Device.of(given, call)
    if device.type is not DLDeviceType.kDLCUDA:
        raise ArgumentError(call, f"{show(given)} is not a GPU", "IX-ARGUMENT-1", "pass an ordinal")
    return device.id


def current_ordinal(driver: Any, device: Any, call: str) -> int:
    """Return the ordinal of a GPU, which exists; None stands for the current one."""
    if device is None:
        return int(driver.current_device(call))
    ordinal = _ordinal(device, call)
    driver._primary_of(ordinal, call)
    return ordinal


def select_device(device: Any) -> GPU:
    """Make a GPU current for the calling thread.

    Parameters
    ----------
    device : int, GPU or device-like
        The GPU.

    Raises
    ------
    DriverUnavailableError
        There is no driver (IX-DRIVER-1).
    ExchangeError
        There is no such GPU (IX-DRIVER-2).
    """
    call = "cuda.select_device()"
    driver = _driver(call)
    ordinal = current_ordinal(driver, device, call)
    (error,) = driver.api.cuCtxSetCurrent(driver._primary_of(ordinal, call))
    driver.check(error, "cuCtxSetCurrent", call)
    return gpus._at(ordinal)


def get_current_device() -> GPU:
    """Return the GPU that is current in the calling thread.

    Raises
    ------
    DriverUnavailableError
        There is no driver (IX-DRIVER-1).
    """
    call = "cuda.get_current_device()"
    return gpus._at(_driver(call).current_device(call))


def current_context(device: Any = None) -> Context:
    """Return the context of the current GPU, or of another one.

    Raises
    ------
    DriverUnavailableError
        There is no driver (IX-DRIVER-1).
    """
    call = "cuda.current_context()"
    return Context(gpus._at(current_ordinal(_driver(call), device, call)))


def mem_info(device: Any = None) -> MemoryInfo:
    """Return the free and the total memory of the current GPU, or of another one [bytes].

    The same as `Context.get_memory_info` of `current_context`.

    Raises
    ------
    DriverUnavailableError
        There is no driver (IX-DRIVER-1).
    """
    return current_context(device).get_memory_info()


def detect() -> bool:
    """Print the GPUs of this machine; return whether kernels run on one of them.

    Examples
    --------
    >>> from interchange import cuda
    >>> found = cuda.detect()  # doctest: +ELLIPSIS
    Found ... CUDA devices...
    """
    supported = 0
    print(f"Found {len(gpus)} CUDA devices")  # noqa: T201 - its purpose
    for gpu in gpus:
        major, minor = gpu.compute_capability
        is_supported = (major, minor) >= _OLDEST
        supported += is_supported
        word = "supported" if is_supported else "not supported"
        size = mem_info(gpu).total / _MIB
        print(f"{gpu.id}: {gpu.name}, {major}.{minor}, {size:.0f} MiB [{word}]")  # noqa: T201
    return supported > 0


def close() -> None:
    """Wait for all work on the current GPU, and make no GPU current in the calling thread.

    Code of kernels that are gone is unloaded.  Contexts are not destroyed: other libraries use the
    same.  The next array, stream or launch makes a GPU current again.

    Examples
    --------
    >>> from interchange import cuda
    >>> cuda.close()
    """
    call = "cuda.close()"
    driver = find_driver(call)
    if driver is None:
        return
    synchronize()
    (error,) = driver.api.cuCtxSetCurrent(0)
    driver.check(error, "cuCtxSetCurrent", call)


@contextlib.contextmanager
def defer_cleanup() -> Iterator[None]:
    """Free no memory of GPUs while the block runs, in any thread: freeing may wait for kernels.

    Examples
    --------
    >>> from interchange import cuda
    >>> with cuda.defer_cleanup():
    ...     pass
    """
    driver = find_driver("cuda.defer_cleanup()")
    if driver is None:
        yield
        return
    with driver.deferring():
        yield


def profile_start() -> None:
    """Let a profiler record from now on; does nothing without a GPU.

    Examples
    --------
    >>> from interchange import cuda
    >>> cuda.profile_start()
    >>> cuda.profile_stop()
    """
    _profile("cuProfilerStart", "cuda.profile_start()")


def profile_stop() -> None:
    """Let a profiler record no more; does nothing without a GPU."""
    _profile("cuProfilerStop", "cuda.profile_stop()")


def _profile(function: str, call: str) -> None:
    """Call a function of the profiler."""
    driver = find_driver(call)
    if driver is not None:
        with driver.on_device(-1, call):
            (error,) = getattr(driver.api, function)()
        driver.check(error, function, call)
