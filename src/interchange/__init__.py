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
from ._doors import distributed as _distributed  # noqa: F401 - it waits for Dask
from ._doors.borrowing import borrow
from ._doors.cuda_array_interface import CudaArrayView, from_cai, to_cai
from ._doors.exports import TARGETS, Target, convert, to_capsule
from ._doors.host_imports import from_array_interface, from_buffer
from ._doors.imports import asarray, from_dlpack, from_pointer
from ._doors.inspection import Finding, Report, inspect
from ._doors.likeness import like
from ._doors.namespaces import array_namespace
from ._doors.producer import Producer
from ._doors.viewable import viewable
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
