"""The array-interchange layer of Python: any array in, one `Array`, any protocol out.

An exchange is three questions: where is the memory, who keeps it alive, who waits for whom.
Importing this package imports neither NumPy nor any array library nor a driver.  `xp` and `compat`
are modules, imported when they are first named.
"""

import sys as _sys
from importlib import import_module as _import_module
from importlib.metadata import PackageNotFoundError as _NotInstalled, version as _version
from typing import Any as _Any

from ._array import Array
from ._backends.backend import Backend
from ._backends.selection import set_backend
from ._core import core_name
from ._functions import dask as _dask  # noqa: F401 - it waits for Dask
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

try:
    __version__ = _version("array-interchange")
except _NotInstalled:  # run from a source tree that is not installed
    __version__ = "0+unknown"

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

_MODULES = ("compat", "xp")


def __getattr__(name: str) -> _Any:
    """Import the parts that few need, when they are first named."""
    if name in _MODULES:
        return _import_module(f"{__name__}.{name}")
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message, name=name, obj=_sys.modules[__name__])


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted({*globals(), *_MODULES})


for _name in __all__:
    _public = globals()[_name]
    if isinstance(_public, type) and issubclass(_public, InterchangeError):
        _public.__module__ = __name__  # so that tracebacks name what users can import
