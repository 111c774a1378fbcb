"""CuPy: arrays on CUDA devices.

Source: https://docs.cupy.dev/en/stable/user_guide/interoperability.html
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Final

from interchange_conformance.driver.cuda import LEGACY, PER_THREAD, chosen
from interchange_conformance.subject import Kind, Subject

from ._common import PLAIN, need_dtype, need_writable
from ._devices import NUMBERS, need_device, need_gpu

if TYPE_CHECKING:
    Shape = tuple[int, ...]

_HAS_GPU: Final = chosen() == "real"


def make(shape: Shape, dtype: str, device: str, readonly: bool) -> Any:
    """Return an array."""
    need_device(device, ("cuda", "cuda:1", "managed"), "CuPy")
    need_gpu(device, "CuPy")
    need_writable(readonly, "CuPy")
    need_dtype(dtype, PLAIN, "CuPy")

    import cupy

    with contextlib.ExitStack() as stack:
        stack.enter_context(cupy.cuda.Device(NUMBERS.get(device, 0)))
        if device == "managed":
            pool = cupy.cuda.MemoryPool(cupy.cuda.malloc_managed)
            stack.enter_context(cupy.cuda.using_allocator(pool.malloc))
        return cupy.zeros(shape, dtype)


def _stream(handle: int) -> Any:
    """Return the stream of a handle."""
    import cupy

    named = {LEGACY: cupy.cuda.Stream.null, PER_THREAD: cupy.cuda.Stream.ptds}
    return named.get(handle) or cupy.cuda.ExternalStream(handle)


def make_on(stream: int, shape: Shape, dtype: str) -> Any:
    """Return an array; the stream stays current, and CuPy orders its work at the export."""
    import cupy

    _stream(stream).use()
    return cupy.zeros(shape, dtype)


def take(x: Any) -> Any:
    """Import by DLPack."""
    import cupy

    return cupy.from_dlpack(x)


def take_on(stream: int, x: Any) -> Any:
    """Import by DLPack, with the given stream current."""
    import cupy

    with _stream(stream):
        return cupy.from_dlpack(x)


def take_cai(x: Any) -> Any:
    """Import by the CUDA Array Interface."""
    import cupy

    return cupy.asarray(x)


def read(y: Any) -> list[Any]:
    """Return the elements, after synchronising the device."""
    import cupy

    cupy.cuda.Device().synchronize()
    return list(y.get().ravel().tolist())


def write(y: Any) -> None:
    """Set the first element, through the host."""
    elements = y.get()
    elements.flat[0] = 1
    y.set(elements)


def release() -> None:
    """Free pooled device memory."""
    import cupy

    cupy.get_default_memory_pool().free_all_blocks()


subject: Subject = Subject(
    "CuPy",
    make=make,
    take=take if _HAS_GPU else None,
    read=read,
    write=write,
    take_cai=take_cai if _HAS_GPU else None,
    take_capsule=take if _HAS_GPU else None,
    make_on=make_on if _HAS_GPU else None,
    take_on=take_on if _HAS_GPU else None,
    release=release,
    distribution="cupy",
    preload=("cupy",),
)

kinds_on_devices: tuple[Kind, ...] = (
    Kind(
        "CuPy",
        subject,
        lambda x: x.data.ptr,
        library="cupy",
        module="cupy",
        target="cupy",
        head="CuPy",
        order=5,
        lacks=lambda module: None if module.cuda.is_available() else "finds no GPU",
    ),
)
