"""numba-cuda: device arrays that support the CUDA Array Interface, but not DLPack.

Source: https://nvidia.github.io/numba-cuda/user/cuda_array_interface.html
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

from interchange_conformance.driver.cuda import LEGACY, PER_THREAD, chosen
from interchange_conformance.findings import CannotMakeError
from interchange_conformance.subject import Kind, Subject

from ._common import EXTENDED, PLAIN, need_dtype, need_writable, numpy_dtype
from ._devices import lacks_driver, need_device, on

if TYPE_CHECKING:
    Shape = tuple[int, ...]

_ALLOCATES: Final = {
    "cuda": "device_array",
    "cuda:1": "device_array",
    "managed": "managed_array",
    "pinned": "mapped_array",
}
"""Name of a device -> function that makes arrays there."""
_OF_NUMPY: Final = frozenset({"managed", "pinned"})
_MOST_AXES: Final = 64


def _cuda() -> Any:
    """Return the module, which has no type annotations."""
    return importlib.import_module("numba.cuda")


def make(shape: Shape, dtype: str, device: str, readonly: bool) -> Any:
    """Return an array."""
    need_device(device, tuple(_ALLOCATES), "numba-cuda")
    need_writable(readonly, "numba-cuda")
    need_dtype(dtype, PLAIN, "numba-cuda")
    if device in _OF_NUMPY and (0 in shape or len(shape) > _MOST_AXES):
        raise CannotMakeError("such arrays are NumPy's too, of memory that cannot be empty")
    with on(device):
        return getattr(_cuda(), _ALLOCATES[device])(shape, dtype)


def make_on(stream: int, shape: Shape, dtype: str) -> Any:
    """Return an array that exports a stream."""
    cuda = _cuda()
    named = {LEGACY: cuda.legacy_default_stream, PER_THREAD: cuda.per_thread_default_stream}
    found = named[stream]() if stream in named else cuda.external_stream(stream)
    return cuda.device_array(shape, dtype, stream=found)


def take_cai(x: Any) -> Any:
    """Import by the CUDA Array Interface; the host waits for the exported stream."""
    return _cuda().as_cuda_array(x)


def read(y: Any) -> list[Any]:
    """Return the elements."""
    found = y.copy_to_host()
    if y.stream:
        y.stream.synchronize()
    return list(found.ravel().tolist())


def write(y: Any) -> None:
    """Set the first element, through the host, which needs no kernel."""
    elements = y.copy_to_host()
    elements.flat[0] = 1
    y.copy_to_device(elements)


def _make_any_on(stream: int, shape: Shape, dtype: str) -> Any:
    """Return an array that exports a stream, also of element types that Numba cannot make."""
    if dtype not in EXTENDED:
        return make_on(stream, shape, dtype)
    found = numpy_dtype(dtype)
    return make_on(stream, shape, f"u{found.itemsize}").view(found)


subject: Subject = Subject(
    "numba-cuda",
    make=make,
    read=read,
    write=write,
    take_cai=take_cai if chosen() != "none" else None,
    make_on=make_on,
    distribution="numba-cuda",
    preload=("numba.cuda",),
)

kinds_on_devices: tuple[Kind, ...] = (
    Kind(
        "numba-cuda",
        subject,
        lambda x: x.device_ctypes_pointer.value,
        library="numba",
        module="numba.cuda",
        target="numba",
        head="numba",
        make_on=_make_any_on,
        lacks=lacks_driver,
        order=4,
    ),
)
