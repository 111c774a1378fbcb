"""The HIP runtime library: which file it is, its functions with their types, its structs.

Source: ``hip_runtime_api.h`` and ``driver_types.h`` of HIP 5.2, 5.5, 6 and 7.  What is used here is
the same in all of them, but for the numbers of ``hipMemoryType``, which changed with 6.0.
"""

from __future__ import annotations

import ctypes
import os
from ctypes import POINTER, Structure, c_char_p, c_int, c_size_t, c_uint, c_ulonglong, c_void_p
from typing import TYPE_CHECKING, Any, Final

from interchange._types.errors import DriverUnavailableError
from interchange.abi.dlpack import DLDeviceType

if TYPE_CHECKING:
    from collections.abc import Mapping

VARIABLE: Final = "INTERCHANGE_HIP_LIBRARY"
"""Environment variable with the one file that is to be loaded."""
NAMES: Final = ("libamdhip64.so", "libamdhip64.so.6", "libamdhip64.so.7", "libamdhip64.so.5")
"""What is looked for where the variable is not set, in this order."""

# hipError_t
INVALID_VALUE: Final = 1
INVALID_HANDLE: Final = 400
CONTEXT_IS_DESTROYED: Final = 709
STREAM_CAPTURE_IMPLICIT: Final = 906
OF_CAPTURES: Final = range(900, 909)  # hipErrorStreamCapture* and hipErrorCapturedEvent
# hipStreamCaptureStatus
NOT_CAPTURING: Final = 0
CAPTURE_INVALIDATED: Final = 2
CAPTURE_RELAXED: Final = 2  # hipStreamCaptureModeRelaxed
EVENT_WITHOUT_TIMING: Final = 2  # hipEventDisableTiming
HOST_PORTABLE: Final = 1  # hipHostMallocPortable: page-locked for all devices
COPY_DEFAULT: Final = 4  # hipMemcpyDefault: the runtime tells from the addresses
RANGE_START: Final = 11  # HIP_POINTER_ATTRIBUTE_RANGE_START_ADDR

_VERSIONS_PER_MAJOR: Final = 10_000_000  # HIP_VERSION: 60443483 is 6.4.43483
_WAY_OUT: Final = f"install ROCm, or name its libamdhip64.so in {VARIABLE}"

# DLPack has no device type for managed memory of ROCm: it is the device's
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
    """``hipPitchedPtr``: rows that lie `pitch` bytes apart, `ysize` of them to a slice."""

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


_INT_OUT: Final = POINTER(c_int)
_POINTER_OUT: Final = POINTER(c_void_p)
_STREAM = _EVENT = _ADDRESS = c_void_p
_ARGUMENTS: Final[dict[str, tuple[Any, ...]]] = {
    "hipDeviceSynchronize": (),
    "hipEventCreateWithFlags": (_POINTER_OUT, c_uint),
    "hipEventDestroy": (_EVENT,),
    "hipEventQuery": (_EVENT,),
    "hipEventRecord": (_EVENT, _STREAM),
    "hipEventSynchronize": (_EVENT,),
    "hipFree": (_ADDRESS,),
    "hipGetDevice": (_INT_OUT,),
    "hipGetDeviceCount": (_INT_OUT,),
    "hipGetErrorName": (c_int,),
    "hipGetLastError": (),
    "hipGetStreamDeviceId": (_STREAM,),
    "hipHostFree": (_ADDRESS,),
    "hipHostGetDevicePointer": (_POINTER_OUT, _ADDRESS, c_uint),
    "hipHostMalloc": (_POINTER_OUT, c_size_t, c_uint),
    "hipMalloc": (_POINTER_OUT, c_size_t),
    "hipMemGetAddressRange": (_POINTER_OUT, POINTER(c_size_t), _ADDRESS),
    "hipMemcpy2DAsync": (
        *(_ADDRESS, c_size_t, _ADDRESS, c_size_t),
        *(c_size_t, c_size_t, c_int, _STREAM),
    ),
    "hipMemcpy3DAsync": (POINTER(Copy3D), _STREAM),
    "hipMemcpyAsync": (_ADDRESS, _ADDRESS, c_size_t, c_int, _STREAM),
    "hipPointerGetAttribute": (c_void_p, c_int, _ADDRESS),
    "hipPointerGetAttributes": (POINTER(PointerAttributes), _ADDRESS),
    "hipRuntimeGetVersion": (_INT_OUT,),
    "hipSetDevice": (c_int,),
    "hipStreamGetCaptureInfo": (_STREAM, _INT_OUT, POINTER(c_ulonglong)),
    "hipStreamIsCapturing": (_STREAM, _INT_OUT),
    "hipStreamCreateWithFlags": (_POINTER_OUT, c_uint),
    "hipStreamDestroy": (_STREAM,),
    "hipStreamSynchronize": (_STREAM,),
    "hipStreamWaitEvent": (_STREAM, _EVENT, c_uint),
    "hipThreadExchangeStreamCaptureMode": (_INT_OUT,),
}
"""Function -> types of its arguments; what it returns is an int, unless `_RESULTS` tells."""
_RESULTS: Final = {"hipGetErrorName": c_char_p}


def open_library(call: str) -> ctypes.CDLL:
    """Return the runtime, a handle of our own on it, whose calls release the GIL.

    Raises
    ------
    DriverUnavailableError
        There is none here, or it lacks a function (IX-DRIVER-1).
    """
    library = _load(call)
    for name, arguments in _ARGUMENTS.items():
        function = getattr(library, name, None)
        if function is None:
            raise _missing(call, f"{library._name} has no function {name}")
        function.argtypes, function.restype = arguments, _RESULTS.get(name, c_int)
    return library


def _load(call: str) -> ctypes.CDLL:
    """Load the file that the user names; else the runtime that is loaded; else the first found."""
    if named := os.environ.get(VARIABLE):
        found, said = _try(named)
        if found is None:
            raise _missing(call, f"{VARIABLE}={named} cannot be loaded ({said})")
        return found
    # a second runtime would not know the streams and the memory of the first, a wheel's own say
    for mode in (os.RTLD_NOLOAD, ctypes.DEFAULT_MODE):
        for name in NAMES:
            found, said = _try(name, mode)
            if found is not None:
                return found
            if mode == ctypes.DEFAULT_MODE and not said.startswith(f"{name}: cannot open"):
                raise _missing(call, f"the HIP runtime {name} cannot be loaded ({said})")
    raise _missing(call, f"the HIP runtime is not found (none of {', '.join(NAMES)})")


def _try(name: str, mode: int = ctypes.DEFAULT_MODE) -> tuple[ctypes.CDLL | None, str]:
    """Return a library, or None and what the loader said."""
    try:
        return ctypes.CDLL(name, mode=mode), ""
    except OSError as error:
        return None, str(error)


def _missing(call: str, what: str) -> DriverUnavailableError:
    """Return the error for a driver that is not there."""
    return DriverUnavailableError(call, what, "IX-DRIVER-1", _WAY_OUT)


def memory_kinds(api: Any) -> Mapping[int, DLDeviceType]:
    """Return what the numbers of memory types mean in this runtime; others are no plain memory."""
    version = c_int()
    error = api.hipRuntimeGetVersion(ctypes.byref(version))
    is_old = not error and version.value < 6 * _VERSIONS_PER_MAJOR
    return _KINDS_BEFORE_6 if is_old else _KINDS
