"""The driver of a device: its interface, and how it is found.

Source: CUDA driver API; HIP runtime API.  Drivers are loaded on demand: importing interchange,
describing memory and exporting it to the stream that it is ready on need none.
"""

from __future__ import annotations

import ctypes
import importlib
import os
import sys
from typing import TYPE_CHECKING, Any, Final, Protocol

from interchange._types.errors import DriverUnavailableError, ExchangeError
from interchange.abi._records import NamedTuple
from interchange.abi.dlpack import DLDeviceType

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from interchange._types.devices import Device


class PointerAttributes(NamedTuple):
    """The allocation of an address, as the driver reports it.

    Attributes
    ----------
    type : DLDeviceType
        Device memory, managed memory or page-locked host memory.
    ordinal : int
        The device that the memory belongs to.
    start, end : int
        The allocation: its first address, and the first after it.
    """

    type: DLDeviceType
    ordinal: int
    start: int
    end: int


class PitchedCopy(NamedTuple):
    """A copy of rows and slices with gaps, as for a 3-D copy of a driver.

    Attributes
    ----------
    width : int
        Length of a row [bytes].
    height, depth : int
        Number of rows in a slice, and of slices.
    target, source : tuple[int, int, int]
        Address of the first row; from row to row [bytes], at least `width`; and from slice to
        slice [rows], at least `height`.
    """

    width: int
    height: int
    depth: int
    target: tuple[int, int, int]
    source: tuple[int, int, int]


class Driver(Protocol):
    """The interface of the driver of one vendor.  Every method may raise `ExchangeError`.

    Streams are handles; the numbers of default streams are the vendor's.
    """

    name: str

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

    def refuse_capture(self, stream: int, ordinal: int, call: str) -> None:
        """Raise `StreamError` if a stream captures (DLP-STREAM-8)."""

    def synchronize(self, stream: int, ordinal: int, call: str) -> None:
        """Let the host wait for a stream."""

    def synchronize_device(self, ordinal: int, call: str) -> None:
        """Let the host wait for everything on a device."""

    def pointer_attributes(self, ptr: int, call: str) -> PointerAttributes | None:
        """Return the location of an address, or None if the driver does not know it."""

    def device_pointer(self, ptr: int, call: str) -> int:
        """Return the address by which the current device accesses page-locked host memory."""

    def current_device(self, call: str) -> int:
        """Return the ordinal of the calling thread's device."""

    def count_devices(self, call: str) -> int:
        """Return the number of devices."""

    def on_device(self, ordinal: int, call: str) -> AbstractContextManager[None]:
        """Make a device current, and restore the previous one."""

    def allocate(self, nbytes: int, ordinal: int, call: str) -> int:
        """Return the address of new device memory."""

    def allocate_pinned(self, nbytes: int, ordinal: int, call: str) -> int:
        """Return the address of new page-locked host memory, which every device can access."""

    def allocate_managed(self, nbytes: int, ordinal: int, call: str) -> int:
        """Return the address of new managed memory."""

    def follow(self, stream: int, ordinal: int, where: int, call: str, ptr: int = 0) -> None:
        """Let memory of the device `where` be freed only after the work on `stream`.

        Nothing is done if `ptr`, an allocation of interchange, is freed after that work anyway.
        """

    def lasting_stream(self, ordinal: int, call: str) -> int:
        """Return a private stream of a device, created once; default streams do not wait for it."""

    def mark(self, stream: int, ordinal: int, call: str) -> Any:
        """Return an event recorded after the work that is now on a stream, for `is_complete`."""

    def is_complete(self, mark: Any) -> bool:
        """Whether the work before an event is done; if so, the event is reused.  Never raises."""

    def wait_for_event(self, event: int, stream: int | None, ordinal: int, call: str) -> None:
        """Make a stream wait for a foreign event; without a stream, the host."""

    def record_event(self, stream: int, ordinal: int, call: str) -> tuple[int, int]:
        """Return a new event recorded after the work that is now on a stream, and its home."""

    def destroy_event(self, event: int, home: int) -> None:
        """Destroy the result of `record_event`.  Never raises: a finaliser calls it."""

    def free(self, ptr: int, ordinal: int, pinned: bool) -> None:
        """Free memory when the work on it is done.  Never raises: a finaliser calls it."""

    def copy(
        self, target: int, source: int, nbytes: int, stream: int, ordinal: int, call: str
    ) -> None:
        """Enqueue a copy between any two addresses that the driver or the host knows."""

    def copy_pitched(self, copy: PitchedCopy, stream: int, ordinal: int, call: str) -> None:
        """Enqueue a copy of rows and slices, between addresses that the driver knows."""


_MODULES: Final = {
    DLDeviceType.kDLCUDA: "cuda",
    DLDeviceType.kDLCUDAHost: "cuda",
    DLDeviceType.kDLCUDAManaged: "cuda",
    DLDeviceType.kDLROCM: "hip",
    DLDeviceType.kDLROCMHost: "hip",
}
"""Device type -> the module here whose ``open_driver(call)`` opens its driver."""

drivers: Final[dict[str, Driver]] = {}
"""Module -> its driver, after first use."""
_forked: Final[set[str]] = set()
_missing: Final[dict[str, tuple[Any, DriverUnavailableError]]] = {}
"""Module -> signs of its driver when it was not found, and the error.  A search takes milliseconds;
it is repeated when the signs change."""
_SEVERAL: Final = 2


def driver_of(device: Device, call: str) -> Driver:
    """Return the driver of a device, which is loaded and initialised on first use.

    Parameters
    ----------
    device : Device
        Device, managed or page-locked memory of CUDA or ROCm.
    call : str
        Named in errors.

    Raises
    ------
    DriverUnavailableError
        There is no driver for it here (IX-DRIVER-1).
    ExchangeError
        This process was forked after the driver was used (IX-DRIVER-3).
    """
    name = _MODULES.get(device.type)
    found = drivers.get(name) if name else None
    if found is None:
        found = _open(name, device, call)
    return found


def _open(name: str | None, device: Device, call: str) -> Driver:
    """Load and initialise a driver."""
    if name is None:
        what = f"interchange has no driver for {device}"
        raise DriverUnavailableError(call, what, "IX-DRIVER-1", "use the device's own library")
    if name in _forked:
        what = f"the driver of {device} was initialised before this process was forked"
        raise ExchangeError(call, what, "IX-DRIVER-3")
    module = importlib.import_module(f"interchange._streams.{name}")
    signs = module.signs_of_driver()
    seen, missing = _missing.get(name, (None, None))
    if missing is not None and seen == signs:
        raise missing._said_by(call)
    try:
        driver: Driver = module.open_driver(call)
    except DriverUnavailableError as error:
        _missing[name] = signs, error._said_by(call)  # without a traceback, which keeps arrays
        raise
    return drivers.setdefault(name, driver)


def make_current(driver: Driver, ordinal: int, call: str) -> AbstractContextManager[None] | None:
    """Return a context manager that makes a device current, or None if it is, or is the only one.

    Producers may know the current stream of the current device only (DLP-DEV-8).

    Parameters
    ----------
    driver : Driver
        The driver of the device.
    ordinal : int
        The device; nothing is done if it does not exist.
    call : str
        Named in errors.
    """
    count = driver.count_devices(call)
    if count < _SEVERAL or not 0 <= ordinal < count or driver.current_device(call) == ordinal:
        return None
    return driver.on_device(ordinal, call)


def is_loaded(name: str) -> bool:
    """Whether a library is loaded in this process; it is not loaded to find out.

    Examples
    --------
    >>> is_loaded("libnothing_at_all.so")
    False
    """
    mode = getattr(os, "RTLD_NOLOAD", None)
    if mode is None:
        return False
    try:
        ctypes.CDLL(name, mode=mode)
    except OSError:
        return False
    return True


def _forget() -> None:
    """Record in a forked child that drivers initialised before the fork cannot be used."""
    _forked.update(drivers)
    drivers.clear()


if sys.platform != "win32":  # which cannot fork
    os.register_at_fork(after_in_child=_forget)
