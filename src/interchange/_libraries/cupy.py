"""CuPy, on CUDA and on ROCm.

Source: CuPy's API, which follows NumPy's; ``cupy.cuda.Device``; array API standard 2025.12.
"""

from __future__ import annotations

import importlib
import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, ClassVar, Final

from interchange._types.devices import CPU, Device
from interchange._types.library import Library
from interchange.abi.dlpack import DLDeviceType

from .array_api import GPUS, ArrayAPI, gpu
from .array_api_gaps import fill_gaps
from .dlpack_backend import DLPackBackend
from .target import Target, by_from_dlpack

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from interchange._core import Tensor
    from interchange._types.library import Pair

# ---------------------------------------------------------------- devices and streams


def _read_device(device: Any, _: str) -> Pair:
    """Read a ``cupy.cuda.Device``."""
    return gpu(device.id, is_rocm=bool(sys.modules["cupy"].cuda.runtime.is_hip))


def _find_device(device: Any) -> Device | None:
    """Read a ``cupy.cuda.Device``; ``"cpu"`` is array-api-compat's word for NumPy arrays."""
    ordinal = getattr(device, "id", device)
    if not isinstance(ordinal, int):
        return CPU if device == "cpu" else None
    return Device(*gpu(ordinal, is_rocm=bool(sys.modules["cupy"].cuda.runtime.is_hip)))


def _write_device(device: Device) -> Any:
    """Return a ``cupy.cuda.Device``."""
    return sys.modules["cupy"].cuda.Device(device.id) if device.type in GPUS else None


def _move(x: Any, device: Any, stream: Any, _: str) -> Any:
    """Move an array; to the host as an ndarray, as array-api-compat does."""
    cupy = sys.modules["cupy"]
    if isinstance(stream, int):
        stream = cupy.cuda.ExternalStream(stream)
    if device == "cpu":
        return x.get(stream=stream)
    if x.device == cupy.cuda.Device(device):
        return x
    with cupy.cuda.Device(device), nullcontext() if stream is None else stream:
        return cupy.array(x)


def _current_stream(ordinal: int) -> Any:
    """Return the current stream of a device, which CuPy's arrays publish."""
    return sys.modules["cupy"].cuda.get_current_stream(ordinal)


def _on_current_device(function: Callable[..., Any], device: Any) -> Callable[..., Any]:
    """Return a function that runs with a device current."""

    def call(*args: Any, **keywords: Any) -> Any:
        with sys.modules["cupy"].cuda.Device(device):
            return function(*args, **keywords)

    return call


# ---------------------------------------------------------------- backend


class CuPyBackend(DLPackBackend):
    """CuPy, whose functions run on the current device."""

    name: ClassVar[str] = "cupy"

    def __init__(self, device: Device, cupy: Any, namespace: Any) -> None:
        self.array_type = self.plain_type = cupy.ndarray
        self._cupy = cupy
        self._place = cupy.cuda.Device(device.id)
        super().__init__(device, namespace)

    def import_tensor(self, tensor: Tensor) -> Any:
        """Return an array of CuPy over described memory."""
        with self._place:
            return self._cupy.from_dlpack(tensor)

    def current(self) -> AbstractContextManager[Any]:
        """Return a context in which the device is current."""
        place: AbstractContextManager[Any] = self._place
        return place

    def _find_function(self, name: str) -> Callable[..., Any]:
        """Return CuPy's function, called on this device."""
        found = super()._find_function(name)
        place = self._place

        def on_device(*args: Any, **keywords: Any) -> Any:
            with place:
                return found(*args, **keywords)

        return on_device

    def stream(self) -> tuple[int | None, Any]:
        """Return CuPy's current stream, and what keeps it alive."""
        with self._place:
            current = self._cupy.cuda.get_current_stream()
        return int(current.ptr) or 1, current

    def may_share(self, one: Any, other: Any) -> bool:
        """Whether two arrays lie within one allocation."""
        return bool(one.data.mem.ptr == other.data.mem.ptr)

    def to_host(self, native: Any) -> Any:
        """Return a copy."""
        return self._cupy.asnumpy(native)


def _make_backend(device: Device) -> CuPyBackend:
    """Return the CuPy backend of a device.

    Raises LookupError: CuPy does not compute on that device.
    """
    cupy = importlib.import_module("cupy")
    own = DLDeviceType.kDLROCM if cupy.cuda.runtime.is_hip else DLDeviceType.kDLCUDA
    if device.type is not own or device.id >= cupy.cuda.runtime.getDeviceCount():
        raise LookupError(device)
    try:
        namespace: Any = importlib.import_module("array_api_compat.cupy")
    except ModuleNotFoundError:
        namespace = fill_gaps(cupy)
    return CuPyBackend(device, cupy, namespace)


class _Pool:
    """CuPy's current memory pool: pointers that return their memory when they are destroyed."""

    def __init__(self, device: Device) -> None:
        self._device = device

    def allocate(self, size: int, *, stream: Any) -> Any:
        """Return a ``MemoryPointer``, allocated in the order of a stream."""
        cuda = importlib.import_module("cupy").cuda
        with cuda.Device(self._device.id), cuda.ExternalStream(stream.handle):
            return cuda.alloc(size)


LIBRARY: Final = Library(
    "cupy",
    is_array_library=True,
    may_mask_records=False,
    current_stream=_current_stream,
    device_types=frozenset({"Device"}),
    read_device=_read_device,
    allocator=_Pool,
    array_api=ArrayAPI(
        "cupy",
        "cupy",
        (("cupy", "ndarray"),),
        "array_api_compat.cupy",
        read_device=_find_device,
        write_device=_write_device,
        move=_move,
        on_device=_on_current_device,
        memory="device",
        words=frozenset({"cpu"}),
        takes_host=False,
    ),
    targets={"cupy": Target("cupy", by_from_dlpack, keeps_readonly=False, memory="device")},
    result_types=(("cupy", "ndarray", "cupy"),),
    preference={DLDeviceType.kDLCUDA: 0, DLDeviceType.kDLROCM: 0},
    make_backend=_make_backend,
)
