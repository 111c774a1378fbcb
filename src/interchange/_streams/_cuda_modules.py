"""CUDA modules: loading a kernel in a context, and launching it.

Source: CUDA driver API, Module Management and Execution Control.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Final

from ._cuda_calls import LIBRARY, find_quick_calls
from .rules import LEGACY_DEFAULT_STREAM

if TYPE_CHECKING:
    from collections.abc import Callable

    from .cuda import CudaDriver

_POINTER, _UINT = ctypes.c_void_p, ctypes.c_uint
_LAUNCH: Final[tuple[Any, ...]] = (_POINTER, *[_UINT] * 7, _POINTER, _POINTER, _POINTER)
_LEGACY: Final = ctypes.c_void_p(LEGACY_DEFAULT_STREAM)
_EMULATED: Final = "emu_annotate"  # which no other driver has


class LaunchCalls:
    """The functions of a launch, without result objects."""

    # ``f(function, grid x, y, z, block x, y, z, shared [bytes], stream, parameters, None)``, which
    # returns the driver's code; `parameters` is the address of a list of addresses.
    launch: Callable[..., int]
    launch_together: Callable[..., int]  # the same, without the last, for a cooperative launch
    has_several: bool  # whether there are several GPUs

    def __init__(self, driver: CudaDriver, call: str) -> None:
        self._api: Any = driver.api
        self._capturing = find_quick_calls(driver.api)[0]
        self._answer = ctypes.c_int()
        self._status = ctypes.c_void_p(ctypes.addressof(self._answer))
        self.has_several = driver.count_devices(call) > 1
        try:
            library: Any = ctypes.CDLL(LIBRARY)  # an object of our own, with its types
        except OSError:
            self._library = None
            self.launch = lambda *given: int(self._api.cuLaunchKernel(*given[:-1], 0)[0])
            self.launch_together = lambda *given: int(
                self._api.cuLaunchCooperativeKernel(*given)[0]
            )
            return
        self._library = library
        self.launch = library.cuLaunchKernel
        library.cuLaunchKernel.argtypes = _LAUNCH
        self.launch_together = library.cuLaunchCooperativeKernel
        library.cuLaunchCooperativeKernel.argtypes = _LAUNCH[:-1]

    def is_disturbing(self) -> bool:
        """Whether the use of the legacy default stream would end the capture of another stream.

        It never captures itself, so that the error code is reliable, and the result may be shared
        by all streams.
        """
        return bool(self._capturing(_LEGACY, self._status))

    def is_captured(self, stream: int) -> bool:
        """Whether a stream captures: a launch becomes a part of a graph."""
        answer = ctypes.c_int()
        status = ctypes.c_void_p(ctypes.addressof(answer))
        return bool(self._capturing(ctypes.c_void_p(stream), status) or answer.value)

    def current_context(self) -> int:
        """Return the context of the calling thread, 0 for none."""
        if self._library is None:
            return int(self._api.cuCtxGetCurrent()[1])
        answer = ctypes.c_void_p()
        self._library.cuCtxGetCurrent(ctypes.byref(answer))
        return answer.value or 0


def find_addresses(*names: str) -> list[int] | None:
    """Return the addresses of functions of the driver, None if the bindings hide them."""
    try:
        library = ctypes.CDLL(LIBRARY)
    except OSError:
        return None
    return [ctypes.cast(getattr(library, name), _POINTER).value or 0 for name in names]


def takes_host_code() -> bool:
    """Whether the driver is the emulated one, which runs a kernel's code for the CPU."""
    try:
        return hasattr(ctypes.CDLL(LIBRARY), _EMULATED)
    except OSError:
        return False


def have_context(driver: CudaDriver, ordinal: int, call: str) -> None:
    """Make the primary context of a device current if none is, as the CUDA runtime does.

    A launch needs one, and would otherwise change contexts each time.
    """
    error, current = driver.api.cuCtxGetCurrent()
    driver.check(error, "cuCtxGetCurrent", call)
    if not int(current):
        with driver.on_device(ordinal, call):
            error, current = driver.api.cuCtxGetCurrent()
            driver.check(error, "cuCtxGetCurrent", call)
        (error,) = driver.api.cuCtxSetCurrent(current)
        driver.check(error, "cuCtxSetCurrent", call)


def launches_together(driver: CudaDriver, ordinal: int, call: str) -> bool:
    """Whether a device has cooperative launches."""
    kind = driver.api.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH
    error, number = driver.api.cuDeviceGetAttribute(kind, ordinal)
    driver.check(error, "cuDeviceGetAttribute", call)
    return bool(number)


def compute_capability(driver: CudaDriver, ordinal: int, call: str) -> tuple[int, int]:
    """Return the compute capability of a device: major and minor version."""
    kinds = driver.api.CUdevice_attribute
    found = []
    for kind in (
        kinds.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
        kinds.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
    ):
        error, number = driver.api.cuDeviceGetAttribute(kind, ordinal)
        driver.check(error, "cuDeviceGetAttribute", call)
        found.append(int(number))
    return found[0], found[1]


def load_function(driver: CudaDriver, image: bytes, name: str, call: str) -> tuple[int, int]:
    """Return a kernel of an image, loaded in the current context, and its module.

    `image`: PTX, or the image of the emulated driver; it ends with a null byte.
    `name`: name of the kernel.
    """
    with driver.unnoticed():
        error, module = driver.api.cuModuleLoadData(image)
        driver.check(error, "cuModuleLoadData", call)
        error, function = driver.api.cuModuleGetFunction(module, name.encode())
        driver.check(error, "cuModuleGetFunction", call)
    return int(function), int(module)


def allow_shared(driver: CudaDriver, function: int, size: int) -> int:
    """Let blocks of a kernel have dynamic shared memory above 48 KiB; return the driver's code."""
    attribute = driver.api.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
    with driver.unnoticed():
        (error,) = driver.api.cuFuncSetAttribute(function, attribute, size)
    return int(error)


def error_name(driver: CudaDriver, code: int) -> str:
    """Return the name of the error code of a call."""
    found: Any = driver.api.CUresult(code)
    return str(found.name)
