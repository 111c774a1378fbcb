"""How the driver of a device is found.

Source: CUDA driver API; HIP runtime API.  Drivers are loaded on demand: importing interchange,
describing memory and exporting it to the stream that it is ready on need none.
"""

from __future__ import annotations

import contextlib
import importlib
import os
from typing import TYPE_CHECKING, Any, Final

from interchange._types.devices import Device
from interchange._types.errors import DriverUnavailableError, ExchangeError, InterchangeError
from interchange.abi.dlpack import DLDeviceType

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from .device_driver import Driver


_MODULES: Final = {
    DLDeviceType.kDLCUDA: "cuda",
    DLDeviceType.kDLCUDAHost: "cuda",
    DLDeviceType.kDLCUDAManaged: "cuda",
    DLDeviceType.kDLROCM: "hip",
    DLDeviceType.kDLROCMHost: "hip",
}
"""Device type -> the module here whose ``open_driver(call)`` opens its driver."""

_WITH_CURRENT: Final = frozenset({DLDeviceType.kDLCUDA, DLDeviceType.kDLROCM})
"""Types of devices of which one is current in a thread."""

drivers: Final[dict[str, Driver]] = {}
"""Module -> its driver, after first use."""
_forked: Final[set[str]] = set()
_missing: Final[dict[str, tuple[Any, DriverUnavailableError]]] = {}
"""Module -> signs of its driver when it was not found, and the error.  A search takes milliseconds;
it is repeated when the signs change."""
_SEVERAL: Final = 2


def driver_of(device: Device, call: str) -> Driver:
    """Return the driver of a device, which is loaded and initialised on first use.

    `device`: device, managed or page-locked memory of CUDA or ROCm.

    Raises DriverUnavailableError: there is no driver for it here (IX-DRIVER-1).
    Raises ExchangeError: this process was forked after the driver was used (IX-DRIVER-3).
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
        raise missing._for_call(call)
    try:
        driver: Driver = module.open_driver(call)
    except DriverUnavailableError as error:
        _missing[name] = signs, error._for_call(call)  # without a traceback, which keeps arrays
        raise
    return drivers.setdefault(name, driver)


def device_named(value: object, call: str) -> Device:
    """Return the device that a value names; a type without an ordinal is the current device.

    Without a driver, that is the first one, as for `Device.of`.
    """
    found = Device.of(value, call)
    if (
        isinstance(value, str)
        and found.id == 0
        and found.type in _WITH_CURRENT
        and ":" not in value
    ):
        with contextlib.suppress(InterchangeError):
            return Device(found.type, driver_of(found, call).current_device(call))
    return found


def make_current(driver: Driver, ordinal: int, call: str) -> AbstractContextManager[None] | None:
    """Return a context manager that makes a device current, or None if it is, or is the only one.

    Producers may know the current stream of the current device only (DLP-DEV-8).

    `ordinal`: the device; nothing is done if it does not exist.
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
    from interchange.abi._loaded import loaded_library  # few look for a driver

    return loaded_library(name) is not None


def _forget() -> None:
    """Record in a forked child that drivers initialised before the fork cannot be used."""
    _forked.update(drivers)
    drivers.clear()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_forget)
