"""The array-interchange layer of Python: any array in, one `Array`, any protocol out.

An exchange is three questions: where is the memory, who keeps it alive, who waits for whom.
Importing this package imports neither NumPy nor any array library nor a driver.
"""

from importlib.metadata import PackageNotFoundError as _NotInstalled
from importlib.metadata import version as _version

from ._array import Array
from ._core import core_name
from ._doors.borrowing import borrow
from ._doors.cuda_array_interface import CudaArrayView, from_cai, to_cai
from ._doors.exports import TARGETS, Target, convert, to_capsule
from ._doors.imports import (
    asarray,
    from_array_interface,
    from_buffer,
    from_dlpack,
    from_pointer,
)
from ._doors.inspection import Finding, Report, inspect
from ._doors.producer import Producer
from ._doors.viewable import viewable
from ._streams.rules import LEGACY_DEFAULT_STREAM, NO_SYNC, PER_THREAD_DEFAULT_STREAM
from ._terms.devices import Device
from ._terms.dtypes import DType
from ._terms.errors import (
    ArgumentError,
    BackendUnavailableError,
    ConsumedCapsuleError,
    ContractError,
    CopyNeededError,
    DriverUnavailableError,
    ExchangeError,
    InterchangeError,
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
    "to_cai",
    "to_capsule",
    "viewable",
]

for _name in __all__:
    _public = globals()[_name]
    if isinstance(_public, type) and issubclass(_public, InterchangeError):
        _public.__module__ = __name__  # so that tracebacks name what users can import
