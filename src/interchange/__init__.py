"""The array-interchange layer of Python: any array in, one `Array`, any protocol out.

An exchange has three questions: where the memory is, what keeps it alive, and which stream waits
for which. Importing this package imports neither NumPy nor any array library nor a driver, and only
the most used functions: `asarray`, `from_dlpack` and their dependencies.  The others are imported
on first use, as are the modules `xp` and `compat`.
"""

import os as _os
import sys as _sys
import typing as _typing
from importlib import import_module as _import_module
from types import FunctionType as _FunctionType

_IS_OURS = True  # the module of another distribution does not define it
_ENTRIES = {
    *("__init__.pxd", "__init__.py", "__main__.py", "__pycache__", "_array", "_core"),
    *("_functions", "_installation.py", "_libraries", "_protocols", "_streams", "_types"),
    *("abi", "cli", "cmake", "compat.py", "cuda", "include", "pkgconfig", "py.typed"),
    *("testing", "typing.py", "xp"),
}  # what is in this folder; other names are a sign of another distribution

try:
    from ._array import Array
    from ._array.pickling import (  # pickles name them here, not in modules that may be renamed
        rebuild_array as _rebuild_array,  # noqa: F401
        rebuild_writable as _rebuild_writable,  # noqa: F401
    )
    from ._core import core_name
    from ._functions import import_hook as _import_hook  # noqa: F401 - it waits for libraries
    from ._functions.importing import asarray, from_dlpack, from_pointer
    from ._functions.producer import Producer
    from ._libraries.backend import Backend
    from ._libraries.selection import set_backend
    from ._streams.rules import LEGACY_DEFAULT_STREAM, NO_SYNC, PER_THREAD_DEFAULT_STREAM
    from ._types.devices import Device
    from ._types.dtypes import DType, dtype_named as _dtype_named  # noqa: F401 - likewise
    from ._types.errors import (
        ArgumentError,
        AxesError,
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
except ImportError as _error:
    from ._installation import explain as _explain

    _explain(_error)
    raise

if _typing.TYPE_CHECKING:  # for type checkers; `_LATER` has the same names
    from . import compat as compat, typing as typing, xp as xp
    from ._array.contract import Contract
    from ._functions.accepts_arrays import accepts_arrays, viewable
    from ._functions.allocating import empty, set_allocator
    from ._functions.arrow_batches import Batches, batches
    from ._functions.arrow_in import from_arrow
    from ._functions.arrow_out import ArrowExport, to_arrow
    from ._functions.arrow_streams import ArrowStreamExport, to_arrow_stream
    from ._functions.borrow import borrow
    from ._functions.cai import CudaArrayView, from_cai, to_cai
    from ._functions.copying import copyto
    from ._functions.exporting import convert, to_capsule
    from ._functions.headers import get_include, get_library
    from ._functions.host_importing import from_array_interface, from_buffer
    from ._functions.inspect import inspect
    from ._functions.like import like
    from ._functions.namespaces import array_namespace
    from ._functions.report import Finding, Report
    from ._functions.sent_arrays import shared_by_default
    from ._functions.sharing import open_shared, share
    from ._functions.targets import TARGETS
    from ._libraries.target import Target
    from ._protocols.arrow.meaning import Meaning
    from ._protocols.sharing.handles import SharedHandle

    __version__: str

__all__ = [
    "LEGACY_DEFAULT_STREAM",
    "NO_SYNC",
    "PER_THREAD_DEFAULT_STREAM",
    "TARGETS",
    "ArgumentError",
    "Array",
    "ArrowExport",
    "ArrowStreamExport",
    "AxesError",
    "Backend",
    "BackendUnavailableError",
    "Batches",
    "ConsumedCapsuleError",
    "Contract",
    "ContractError",
    "CopyNeededError",
    "CudaArrayView",
    "DType",
    "Device",
    "DriverUnavailableError",
    "ExchangeError",
    "Finding",
    "InterchangeError",
    "Meaning",
    "MixedDevicesError",
    "NoProtocolError",
    "OutOfBoundsError",
    "OutOfDeviceMemoryError",
    "Producer",
    "ReadOnlyError",
    "Report",
    "SharedHandle",
    "StreamError",
    "Target",
    "UnsupportedDTypeError",
    "UnsupportedDeviceError",
    "VersionError",
    "ViewError",
    "__version__",
    "accepts_arrays",
    "array_namespace",
    "asarray",
    "batches",
    "borrow",
    "convert",
    "copyto",
    "core_name",
    "empty",
    "from_array_interface",
    "from_arrow",
    "from_buffer",
    "from_cai",
    "from_dlpack",
    "from_pointer",
    "get_include",
    "get_library",
    "inspect",
    "like",
    "open_shared",
    "set_allocator",
    "set_backend",
    "share",
    "shared_by_default",
    "to_arrow",
    "to_arrow_stream",
    "to_cai",
    "to_capsule",
    "viewable",
]

_LATER = {
    "_array.contract": ("Contract",),
    "_functions.accepts_arrays": ("accepts_arrays", "viewable"),
    "_functions.allocating": ("empty", "set_allocator"),
    "_functions.arrow_batches": ("Batches", "batches"),
    "_functions.arrow_in": ("from_arrow",),
    "_functions.arrow_out": ("ArrowExport", "to_arrow"),
    "_functions.arrow_streams": ("ArrowStreamExport", "to_arrow_stream"),
    "_functions.borrow": ("borrow",),
    "_functions.cai": ("CudaArrayView", "from_cai", "to_cai"),
    "_functions.copying": ("copyto",),
    "_functions.exporting": ("convert", "to_capsule"),
    "_functions.headers": ("get_include", "get_library"),
    "_functions.host_importing": ("from_array_interface", "from_buffer"),
    "_functions.inspect": ("inspect",),
    "_functions.like": ("like",),
    "_functions.namespaces": ("array_namespace",),
    "_functions.report": ("Finding", "Report"),
    "_functions.sent_arrays": ("shared_by_default",),
    "_functions.sharing": ("open_shared", "share"),
    "_functions.targets": ("TARGETS",),
    "_libraries.target": ("Target",),
    "_protocols.arrow.meaning": ("Meaning",),
    "_protocols.sharing.handles": ("SharedHandle",),
}
"""Module that is imported when one of its names is first used -> those names."""
_OF_PICKLES = {
    "_open_sent": "_functions.sent_arrays",
    "_rebuild_handle": "_protocols.sharing.handles",
}
"""Name in pickles, with an underscore before it -> the module of the function."""
_HOMES = {name: module for module, names in _LATER.items() for name in names}
_MODULES = ("compat", "typing", "xp")
_THIS = _sys.modules[__name__]


def _publish(name: str, value: _typing.Any) -> None:
    """Store a public object under its name, unless the name is set already, for instance by a mock.

    The ``__module__`` of functions is set to this package, where users import them; classes set it
    themselves.
    """
    if isinstance(value, _FunctionType):
        value.__module__ = __name__
    vars(_THIS).setdefault(name, value)


if not _typing.TYPE_CHECKING:

    def __getattr__(name: str) -> _typing.Any:
        """Import the module of a name on first use."""
        try:
            return _find(name)
        except ImportError as error:
            from ._installation import explain

            explain(error)
            raise

    def _find(name: str) -> _typing.Any:
        """Return the value of a name that was not used before."""
        if name in _MODULES:
            return _import_module(f"{__name__}.{name}")
        if name == "__version__":
            from ._installation import DISTRIBUTION, installed_release

            _publish(name, installed_release(DISTRIBUTION) or "0+unknown")
        elif name in _OF_PICKLES:
            module = _import_module(f"{__name__}.{_OF_PICKLES[name]}")
            _publish(name, getattr(module, name[1:]))
        elif name == "_C_API" and core_name == "native":  # for PyCapsule_Import()
            _publish(name, _import_module(f"{__name__}._core._native._extension")._C_API)
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


for _name in set(__all__) & set(globals()):
    _publish(_name, vars(_THIS)[_name])


def _look_around() -> None:
    """Warn if the folder of this package has files of another distribution."""
    try:
        unknown = set(_os.listdir(__path__[0])) - _ENTRIES  # noqa: PTH208 - no pathlib
    except OSError:  # in an archive
        return
    if unknown:
        from ._installation import warn_of_others

        warn_of_others(__path__[0])


_look_around()
