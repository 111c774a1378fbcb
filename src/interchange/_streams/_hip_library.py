"""The HIP runtime library: how it is found, its functions and structs.

Source: ``hip_runtime_api.h`` and ``driver_types.h`` of HIP 5.2, 5.5, 6 and 7.  The parts used here
are the same in all of them, except the numbers of ``hipMemoryType``, which changed with 6.0.
"""

from __future__ import annotations

import ctypes
import os
from ctypes import POINTER, Structure, c_char_p, c_int, c_size_t, c_uint, c_ulonglong, c_void_p
from typing import TYPE_CHECKING, Any, Final

from interchange._types.errors import DriverUnavailableError
from interchange.abi._records import NamedTuple
from interchange.abi.dlpack import DLDeviceType

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

VARIABLE: Final = "INTERCHANGE_HIP_LIBRARY"
"""Environment variable that names the one file to load."""
NAMES: Final = ("libamdhip64.so", "libamdhip64.so.6", "libamdhip64.so.7", "libamdhip64.so.5")
"""Names that are tried in this order if the variable is not set."""

# hipError_t
INVALID_VALUE: Final = 1
CAPTURE_RELAXED: Final = 2  # hipStreamCaptureModeRelaxed
COPY_DEFAULT: Final = 4  # hipMemcpyDefault: the runtime uses the addresses
RANGE_START: Final = 11  # HIP_POINTER_ATTRIBUTE_RANGE_START_ADDR

_VERSIONS_PER_MAJOR: Final = 10_000_000  # HIP_VERSION: 60443483 is 6.4.43483
_HINT: Final = f"install ROCm, or name its libamdhip64.so in {VARIABLE}"

# DLPack has no device type for managed memory of ROCm: it counts as device memory
_KINDS: Final = {
    1: DLDeviceType.kDLROCMHost,  # hipMemoryTypeHost
    2: DLDeviceType.kDLROCM,  # hipMemoryTypeDevice
    3: DLDeviceType.kDLROCM,  # hipMemoryTypeManaged
}
_KINDS_BEFORE_6: Final = {
    0: DLDeviceType.kDLROCMHost,
    1: DLDeviceType.kDLROCM,
    4: DLDeviceType.kDLROCM,
}


class PointerAttributes(Structure):
    """``hipPointerAttribute_t``."""

    _fields_ = (
        ("type", c_int),  # memoryType before 6.0
        ("device", c_int),
        ("device_pointer", c_void_p),
        ("host_pointer", c_void_p),
        ("is_managed", c_int),
        ("flags", c_uint),
    )


class PitchedPointer(Structure):
    """``hipPitchedPtr``: rows that are `pitch` bytes apart, `ysize` of them in a slice."""

    _fields_ = (("ptr", c_void_p), ("pitch", c_size_t), ("xsize", c_size_t), ("ysize", c_size_t))


class Triple(Structure):
    """``hipPos`` and ``hipExtent``."""

    _fields_ = (("x", c_size_t), ("y", c_size_t), ("z", c_size_t))


class Copy3D(Structure):
    """``hipMemcpy3DParms``."""

    _fields_ = (
        ("source_array", c_void_p),
        ("source_position", Triple),
        ("source", PitchedPointer),
        ("target_array", c_void_p),
        ("target_position", Triple),
        ("target", PitchedPointer),
        ("extent", Triple),
        ("kind", c_int),
    )


class IpcHandle(Structure):
    """``hipIpcMemHandle_t`` and ``hipIpcEventHandle_t``."""

    _fields_ = (("reserved", ctypes.c_ubyte * 64),)

    def getPtr(self) -> int:  # noqa: N802 - as the handles of cuda.bindings
        """Return the address of the content."""
        return ctypes.addressof(self)


class Uuid(Structure):
    """``hipUUID``."""

    _fields_ = (("bytes", ctypes.c_ubyte * 16),)


class _Answer(NamedTuple):
    """An output parameter of a function."""

    type: Any  # the type that it points to
    is_read: bool = False  # whether it is also an input


_STREAM = _EVENT = _ADDRESS = c_void_p
_FUNCTIONS: Final[dict[str, tuple[Any, ...]]] = {
    "hipDeviceSynchronize": (),
    "hipEventCreateWithFlags": (_Answer(c_void_p), c_uint),
    "hipEventDestroy": (_EVENT,),
    "hipEventQuery": (_EVENT,),
    "hipEventRecord": (_EVENT, _STREAM),
    "hipEventSynchronize": (_EVENT,),
    "hipFree": (_ADDRESS,),
    "hipGetDevice": (_Answer(c_int),),
    "hipGetDeviceCount": (_Answer(c_int),),
    "hipHostFree": (_ADDRESS,),
    "hipHostGetDevicePointer": (_Answer(c_void_p), _ADDRESS, c_uint),
    "hipHostMalloc": (_Answer(c_void_p), c_size_t, c_uint),
    "hipMalloc": (_Answer(c_void_p), c_size_t),
    "hipMemGetAddressRange": (_Answer(c_void_p), _Answer(c_size_t), _ADDRESS),
    "hipMemcpy2DAsync": (
        *(_ADDRESS, c_size_t, _ADDRESS, c_size_t),
        *(c_size_t, c_size_t, c_int, _STREAM),
    ),
    "hipMemcpy3DAsync": (POINTER(Copy3D), _STREAM),
    "hipMemcpyAsync": (_ADDRESS, _ADDRESS, c_size_t, c_int, _STREAM),
    "hipPointerGetAttribute": (_Answer(c_void_p), c_int, _ADDRESS),
    "hipPointerGetAttributes": (_Answer(PointerAttributes), _ADDRESS),
    "hipRuntimeGetVersion": (_Answer(c_int),),
    "hipSetDevice": (c_int,),
    "hipStreamGetCaptureInfo": (_STREAM, _Answer(c_int), _Answer(c_ulonglong)),
    "hipStreamIsCapturing": (_STREAM, _Answer(c_int)),
    "hipStreamCreateWithFlags": (_Answer(c_void_p), c_uint),
    "hipStreamDestroy": (_STREAM,),
    "hipStreamSynchronize": (_STREAM,),
    "hipStreamWaitEvent": (_STREAM, _EVENT, c_uint),
    "hipThreadExchangeStreamCaptureMode": (_Answer(c_int, is_read=True),),
}
"""Function that returns an error -> its parameters."""
_OPTIONAL: Final[dict[str, tuple[Any, ...]]] = {
    "hipDeviceGetUuid": (_Answer(Uuid), c_int),
    "hipIpcCloseMemHandle": (_ADDRESS,),
    "hipIpcGetEventHandle": (_Answer(IpcHandle), _EVENT),
    "hipIpcGetMemHandle": (_Answer(IpcHandle), _ADDRESS),
    "hipIpcOpenEventHandle": (_Answer(c_void_p), IpcHandle),
    "hipIpcOpenMemHandle": (_Answer(c_void_p), IpcHandle, c_uint),
}
"""Likewise, for functions that a runtime need not have."""
_OTHERS: Final[dict[str, tuple[tuple[Any, ...], Any]]] = {
    "hipGetErrorName": ((c_int,), c_char_p),
    "hipGetLastError": ((), c_int),
    "hipGetStreamDeviceId": ((_STREAM,), c_int),
}
"""Other functions -> types of parameters and result."""


class HipError(int):
    """An error of HIP, 0 for success."""

    name: str = "hipSuccess"  # such as ``"hipErrorInvalidValue"``


_SUCCESS: Final = HipError(0)


class Runtime:
    """The functions of the HIP runtime, which return an error and their results.

    `library`: the runtime.
    """

    IpcHandle = IpcHandle

    def __init__(self, library: ctypes.CDLL) -> None:
        self.library = library
        for name, parameters in _known_to(library).items():
            setattr(self, name, self._wrap(getattr(library, name), parameters))

    def _wrap(self, function: Any, parameters: tuple[Any, ...]) -> Callable[..., tuple[Any, ...]]:
        """Return a function that takes the input parameters."""

        def call(*arguments: Any) -> tuple[Any, ...]:
            given, passed, answers = iter(arguments), [], []
            for kind in parameters:
                if isinstance(kind, _Answer):
                    answers.append(kind.type(next(given)) if kind.is_read else kind.type())
                    passed.append(ctypes.byref(answers[-1]))
                else:
                    passed.append(next(given))
            code = function(*passed)
            error = self._error(code) if code else _SUCCESS
            return error, *map(_value_of, answers)

        return call

    def _error(self, code: int) -> HipError:
        """Return an error with its name, and clear the last error of the runtime.

        Programs read the last error of a thread to check their own launches.
        """
        self.library.hipGetLastError()
        error = HipError(code)
        name: bytes | None = self.library.hipGetErrorName(code)
        error.name = (name or b"an unknown error").decode(errors="replace")
        return error


def _known_to(library: ctypes.CDLL) -> dict[str, tuple[Any, ...]]:
    """Return the functions of a runtime that return an error, and their parameters."""
    found = {name: kinds for name, kinds in _OPTIONAL.items() if hasattr(library, name)}
    return {**_FUNCTIONS, **found}


def _value_of(answer: Any) -> Any:
    """Return a number, or a struct unchanged."""
    return answer if isinstance(answer, Structure) else answer.value or 0


def open_library(call: str) -> Any:
    """Return the `Runtime`, with a handle of our own on the library; calls release the GIL.

    Raises DriverUnavailableError: there is no runtime here, or it lacks a function (IX-DRIVER-1).
    """
    library = _load(call)
    for name in (*_FUNCTIONS, *_OTHERS):
        if not hasattr(library, name):
            raise _missing(call, f"{library._name} has no function {name}")
    for name, parameters in _known_to(library).items():
        getattr(library, name).argtypes = [
            POINTER(kind.type) if isinstance(kind, _Answer) else kind for kind in parameters
        ]
    for name, (arguments, result) in _OTHERS.items():
        function = getattr(library, name)
        function.argtypes, function.restype = arguments, result
    return Runtime(library)


def _load(call: str) -> ctypes.CDLL:
    """Load the file that the user names; else the loaded runtime; else the first found."""
    if named := os.environ.get(VARIABLE):
        found, said = _try(named)
        if found is None:
            raise _missing(call, f"{VARIABLE}={named} cannot be loaded ({said})")
        return found
    # a second runtime would not know the streams and the memory of the first, such as a wheel's
    for mode in (os.RTLD_NOLOAD, ctypes.DEFAULT_MODE):
        for name in NAMES:
            found, said = _try(name, mode)
            if found is not None:
                return found
            if mode == ctypes.DEFAULT_MODE and not said.startswith(f"{name}: cannot open"):
                raise _missing(call, f"the HIP runtime {name} cannot be loaded ({said})")
    raise _missing(call, f"the HIP runtime is not found (none of {', '.join(NAMES)})")


def _try(name: str, mode: int = ctypes.DEFAULT_MODE) -> tuple[ctypes.CDLL | None, str]:
    """Return a library, or None and the loader's message."""
    try:
        return ctypes.CDLL(name, mode=mode), ""
    except OSError as error:
        return None, str(error)


def _missing(call: str, what: str) -> DriverUnavailableError:
    """Return the error for a missing driver."""
    return DriverUnavailableError(call, what, "IX-DRIVER-1", _HINT)


def memory_kinds(api: Any) -> Mapping[int, DLDeviceType]:
    """Return the meaning of memory types in this runtime; other numbers are not plain memory."""
    error, version = api.hipRuntimeGetVersion()
    is_old = not error and version < 6 * _VERSIONS_PER_MAJOR
    return _KINDS_BEFORE_6 if is_old else _KINDS
