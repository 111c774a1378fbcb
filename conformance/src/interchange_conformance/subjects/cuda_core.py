"""cuda.core's StridedMemoryView: a description of foreign memory, on the host or a device.

Source: https://nvidia.github.io/cuda-python/cuda-core/latest/interoperability.html

On the host it is a view of a NumPy array, on a device of a buffer of cuda.core.  It has no element
access: its elements are read and written at the address that it reports.
"""

from __future__ import annotations

import ctypes
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from interchange_conformance.driver.cuda import LEGACY, PER_THREAD, chosen, opened
from interchange_conformance.findings import CannotMakeError
from interchange_conformance.subject import Kind, Subject, unknown
from interchange_conformance.zoo import host

from ._common import (
    EXTENDED,
    PLAIN,
    described,
    elements,
    load_host,
    need_dtype,
    numpy_array,
    numpy_dtype,
    one,
)  # fmt: skip
from ._devices import download, lacks_driver, load, need_device, on, store

if TYPE_CHECKING:
    from collections.abc import Callable

    Shape = tuple[int, ...]

_HOST_TYPES: Final = frozenset({1, 3})  # the CPU, and page-locked memory
_UNORDERED: Final = -1  # no synchronization
_HAS_DRIVER: Final = chosen() != "none"


def make(shape: Shape, dtype: str, device: str, readonly: bool) -> Any:
    """Return a view."""
    need_device(device, ("cpu", *ALLOCATES), "cuda.core")
    need_dtype(dtype, PLAIN, "cuda.core")
    return _make(shape, dtype, device, readonly)


def _make(shape: Shape, dtype: str, device: str, readonly: bool) -> Any:
    """Return a view of any element type that NumPy or ml_dtypes supports."""
    from cuda.core.utils import StridedMemoryView

    if device == "cpu":
        is_plain = dtype not in EXTENDED
        x = numpy_array(shape, dtype, readonly=readonly) if is_plain else host(shape, dtype)
        return StridedMemoryView.from_dlpack(x, stream_ptr=_UNORDERED)
    with on(device):
        buffer = ALLOCATES[device](math.prod(shape) * numpy_dtype(dtype).itemsize, LEGACY)
        return _view(buffer, shape, dtype, readonly)


def _view(buffer: Any, shape: Shape, dtype: str, readonly: bool) -> Any:
    """Return a view of a buffer."""
    from cuda.core.utils import StridedMemoryView

    elements = numpy_dtype(dtype)
    try:
        return StridedMemoryView.from_buffer(buffer, shape, dtype=elements, is_readonly=readonly)
    except ValueError as error:  # too many axes
        raise CannotMakeError(f"{len(shape)} axes: {error}") from error


def allocate(nbytes: int, stream: int) -> Any:
    """Return a new buffer of the current device, ready on a stream."""
    from cuda.core import Device

    device = Device()
    device.set_current()  # already current, unless there is none
    return device.allocate(max(1, nbytes), stream=stream_of(stream))


def _managed(nbytes: int, stream: int) -> Any:
    """Return a new buffer of managed memory of the current device."""
    from cuda import core

    device = core.Device()
    device.set_current()
    options = core.ManagedMemoryResourceOptions(preferred_location=device.device_id)
    resource = core.ManagedMemoryResource(options)
    return resource.allocate(max(1, nbytes), stream=stream_of(stream))


def _pinned(nbytes: int, _: int) -> Any:
    """Return a buffer of page-locked memory, allocated by the driver."""
    from cuda.core import Buffer

    cuda = opened()
    return Buffer.from_handle(cuda.pinned(nbytes), max(1, nbytes), owner=cuda)


ALLOCATES: Final[dict[str, Callable[[int, int], Any]]] = {
    "cuda": allocate,
    "cuda:1": allocate,
    "managed": _managed,
    "pinned": _pinned,
}
"""Name of a device -> function that makes a buffer of some bytes there, ready on a stream."""


def stream_of(handle: int) -> Any:
    """Return the stream of a handle."""
    from cuda import core

    named = {LEGACY: core.LEGACY_DEFAULT_STREAM, PER_THREAD: core.PER_THREAD_DEFAULT_STREAM}
    return named.get(handle) or core.Stream.from_handle(handle)


def make_on(stream: int, shape: Shape, dtype: str, device: str = "cuda") -> Any:
    """Return a view of a buffer that was allocated on a stream."""
    buffer = ALLOCATES[device](math.prod(shape) * numpy_dtype(dtype).itemsize, stream)
    return _view(buffer, shape, dtype, False)


def take(x: Any) -> Any:
    """Import by DLPack, without a wait: no stream is given."""
    return take_on(_UNORDERED, x)


def take_on(stream: int, x: Any) -> Any:
    """Import by DLPack, for a stream."""
    from cuda.core.utils import StridedMemoryView

    return StridedMemoryView.from_dlpack(x, stream_ptr=stream)


def take_cai(x: Any) -> Any:
    """Import by the CUDA Array Interface, for the legacy default stream."""
    from cuda.core.utils import StridedMemoryView

    return StridedMemoryView.from_cuda_array_interface(x, stream_ptr=LEGACY)


def take_array_interface(x: Any) -> Any:
    """Import by NumPy's array interface, for which cuda.core queries a loaded driver."""
    from cuda.core.utils import StridedMemoryView

    with on("cuda"):
        return StridedMemoryView.from_array_interface(x)


def read(y: Any) -> list[Any]:
    """Return the elements."""
    return elements(y.ptr, y.shape, y.strides, str(y.dtype), load_host if _is_on_host(y) else load)


def _is_on_host(y: Any) -> bool:
    """Return whether the host can read the memory without a driver."""
    return y.__dlpack_device__()[0] in _HOST_TYPES


def write(y: Any) -> None:
    """Set the first element, unless the view is read-only."""
    if y.readonly:
        raise BufferError("the view is read-only")
    data = one(str(y.dtype))
    if _is_on_host(y):
        ctypes.memmove(y.ptr, data, len(data))
    else:
        store(y.ptr, data)


subject: Subject = Subject(
    "cuda.core",
    make=make,
    take=take,
    read=read,
    write=write,
    take_cai=take_cai if _HAS_DRIVER else None,
    take_array_interface=take_array_interface if _HAS_DRIVER else None,
    make_on=make_on,
    take_on=take_on,
    distribution="cuda-core",
    preload=("cuda.core", "cuda.core.utils"),
)

_VIEW: Final = Kind(
    "cuda.core view",
    subject,
    lambda x: x.ptr,
    library="cuda.core",
    module="cuda.core",
    target="cuda.core",
    head="cuda\nview",
    readonly=lambda x: x.readonly,
    make=_make,
    read=lambda x: described(x.ptr, x, download),
    lacks=lacks_driver,
    order=3,
    is_ordered=False,
)
kinds: tuple[Kind, ...] = (
    replace(
        _VIEW,
        name="cuda.core",
        module="cuda.core.utils",
        head="cuda",
        read=lambda x: described(x.ptr, x),
        lacks=unknown,
        order=8,
    ),
)
kinds_on_devices: tuple[Kind, ...] = (
    _VIEW,
    replace(_VIEW, name="cuda.core view, read-only", target=None, is_readonly=True),
)
