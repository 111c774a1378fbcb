"""The array-interchange layer of Python: any array in, one `Array`, any protocol out.

An exchange is three questions: where is the memory, who keeps it alive, who waits for whom.
Importing this package imports neither NumPy nor any array library nor a driver, and of its own
modules those that are needed for a name, when it is first used.  `abi`, `compat` and `xp` are
modules.
"""

import os as _os
import sys as _sys
import typing as _typing
from importlib import import_module as _import_module
from types import FunctionType as _FunctionType

from ._functions import dask_hook as _dask_hook  # noqa: F401 - it waits for Dask

if _typing.TYPE_CHECKING:  # what checkers see; `_LATER` says the same
    from . import abi as abi, compat as compat, xp as xp
    from ._array import Array
    from ._backends.backend import Backend
    from ._backends.selection import set_backend
    from ._core import core_name
    from ._functions.borrow import borrow
    from ._functions.cai import CudaArrayView, from_cai, to_cai
    from ._functions.exporting import TARGETS, Target, convert, to_capsule
    from ._functions.host_importing import from_array_interface, from_buffer
    from ._functions.importing import asarray, from_dlpack, from_pointer
    from ._functions.inspect import Finding, Report, inspect
    from ._functions.like import like
    from ._functions.namespaces import array_namespace
    from ._functions.producer import Producer
    from ._functions.viewable import viewable
    from ._streams.rules import LEGACY_DEFAULT_STREAM, NO_SYNC, PER_THREAD_DEFAULT_STREAM
    from ._types.devices import Device
    from ._types.dtypes import DType
    from ._types.errors import (
        ArgumentError,
        BackendUnavailableError,
        ConsumedCapsuleError,
        ContractError,
        CopyNeededError,
        DriverUnavailableError,
        ExchangeError,
        InterchangeError,
        MixedDevicesError,
        NoProtocolError,
        OutOfBoundsError,
        OutOfDeviceMemoryError,
        ReadOnlyError,
        StreamError,
        UnsupportedDeviceError,
        UnsupportedDTypeError,
        VersionError,
        ViewError,
    )

    __version__: str

__all__ = [
    "LEGACY_DEFAULT_STREAM",
    "NO_SYNC",
    "PER_THREAD_DEFAULT_STREAM",
    "TARGETS",
    "ArgumentError",
    "Array",
    "Backend",
    "BackendUnavailableError",
    "ConsumedCapsuleError",
    "ContractError",
    "CopyNeededError",
    "CudaArrayView",
    "DType",
    "Device",
    "DriverUnavailableError",
    "ExchangeError",
    "Finding",
    "InterchangeError",
    "MixedDevicesError",
    "NoProtocolError",
    "OutOfBoundsError",
    "OutOfDeviceMemoryError",
    "Producer",
    "ReadOnlyError",
    "Report",
    "StreamError",
    "Target",
    "UnsupportedDTypeError",
    "UnsupportedDeviceError",
    "VersionError",
    "ViewError",
    "__version__",
    "array_namespace",
    "asarray",
    "borrow",
    "convert",
    "core_name",
    "from_array_interface",
    "from_buffer",
    "from_cai",
    "from_dlpack",
    "from_pointer",
    "inspect",
    "like",
    "set_backend",
    "to_cai",
    "to_capsule",
    "viewable",
]

_LATER = {
    "_array": ("Array",),
    "_backends.backend": ("Backend",),
    "_backends.selection": ("set_backend",),
    "_core": ("core_name",),
    "_functions.borrow": ("borrow",),
    "_functions.cai": ("CudaArrayView", "from_cai", "to_cai"),
    "_functions.exporting": ("TARGETS", "Target", "convert", "to_capsule"),
    "_functions.host_importing": ("from_array_interface", "from_buffer"),
    "_functions.importing": ("asarray", "from_dlpack", "from_pointer"),
    "_functions.inspect": ("Finding", "Report", "inspect"),
    "_functions.like": ("like",),
    "_functions.namespaces": ("array_namespace",),
    "_functions.producer": ("Producer",),
    "_functions.viewable": ("viewable",),
    "_streams.rules": ("LEGACY_DEFAULT_STREAM", "NO_SYNC", "PER_THREAD_DEFAULT_STREAM"),
    "_types.devices": ("Device",),
    "_types.dtypes": ("DType",),
    "_types.errors": (
        "ArgumentError",
        "BackendUnavailableError",
        "ConsumedCapsuleError",
        "ContractError",
        "CopyNeededError",
        "DriverUnavailableError",
        "ExchangeError",
        "InterchangeError",
        "MixedDevicesError",
        "NoProtocolError",
        "OutOfBoundsError",
        "OutOfDeviceMemoryError",
        "ReadOnlyError",
        "StreamError",
        "UnsupportedDeviceError",
        "UnsupportedDTypeError",
        "VersionError",
        "ViewError",
    ),
}
"""Module that is imported when one of its names is first used -> those names."""
_HOMES = {name: module for module, names in _LATER.items() for name in names}
_MODULES = ("abi", "compat", "xp")
_THIS = _sys.modules[__name__]


def _publish(name: str, value: _typing.Any) -> None:
    """Keep a public object under its name; what somebody put there before stays, such as a double.

    Functions say that they are from here, where users import them; classes say so themselves.
    """
    if isinstance(value, _FunctionType):
        value.__module__ = __name__
    vars(_THIS).setdefault(name, value)


def _find_version() -> str:
    """Return the version that is installed; the metadata of packages takes long to import."""
    from importlib import metadata

    try:
        return metadata.version("array-interchange")
    except metadata.PackageNotFoundError:  # run from a source tree that is not installed
        return "0+unknown"


if not _typing.TYPE_CHECKING:

    def __getattr__(name: str) -> _typing.Any:
        """Import what a name needs, when it is first used."""
        if name in _MODULES:
            return _import_module(f"{__name__}.{name}")
        if name == "__version__":
            _publish(name, _find_version())
        elif name in _HOMES:
            module = _import_module(f"{__name__}.{_HOMES[name]}")
            for each in _LATER[_HOMES[name]]:
                _publish(each, getattr(module, each))
        else:
            message = f"module {__name__!r} has no attribute {name!r}"
            raise AttributeError(message, name=name, obj=_THIS)
        return vars(_THIS)[name]


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted({*globals(), *__all__, *_MODULES})


if _os.environ.get("INTERCHANGE_CORE"):  # what is demanded and cannot be had fails now, not later
    _import_module(f"{__name__}._core")
