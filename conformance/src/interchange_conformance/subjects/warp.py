"""NVIDIA Warp: arrays of up to four axes, on the host and on CUDA devices.

Source: https://nvidia.github.io/warp/modules/interoperability.html

It is initialised at its first use, because it then looks for a CUDA driver; pending work is on the
current stream.
"""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING, Any, Final

from interchange_conformance.driver.cuda import LEGACY, PER_THREAD, chosen
from interchange_conformance.findings import CannotMakeError
from interchange_conformance.subject import Kind, Subject

from ._common import REAL, need_dtype, need_writable
from ._devices import need_device, need_gpu

if TYPE_CHECKING:
    from collections.abc import Iterator

    Shape = tuple[int, ...]

_DTYPES: Final = ("bool", *REAL, "bfloat16")
_NAMES: Final = {"cuda": "cuda:0"}
_MOST_AXES: Final = 4
_HAS_GPU: Final = chosen() == "real"


def _warp() -> Any:
    """Return the module, initialised, with its messages disabled."""
    import warp as wp

    if hasattr(wp, "LOG_ERROR"):
        wp.config.log_level = wp.LOG_ERROR
    else:
        wp.config.quiet = True
    with _silent():
        wp.init()
    return wp


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    """Drop output of native code on standard error, such as the message that there is no driver."""
    sys.stderr.flush()
    kept, nothing = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nothing)


def make(shape: Shape, dtype: str, device: str, readonly: bool) -> Any:
    """Return an array."""
    need_device(device, ("cpu", "cuda", "cuda:1", "pinned"), "Warp")
    need_gpu(device, "Warp")
    need_writable(readonly, "Warp")
    need_dtype(dtype, _DTYPES, "Warp")
    if not 1 <= len(shape) <= _MOST_AXES:
        raise CannotMakeError("an array of Warp has one to four axes")
    wp = _warp()
    if device == "pinned":
        return wp.zeros(shape, dtype=getattr(wp, dtype), device="cpu", pinned=True)
    return wp.zeros(shape, dtype=getattr(wp, dtype), device=_NAMES.get(device, device))


def _stream(wp: Any, handle: int) -> Any:
    """Return the stream of a handle."""
    if handle == PER_THREAD:
        raise CannotMakeError("Warp has no per-thread default stream")
    return wp.Stream(wp.get_cuda_device(), cuda_stream=None if handle == LEGACY else handle)


def make_on(stream: int, shape: Shape, dtype: str) -> Any:
    """Return an array, with the given stream as the current one."""
    wp = _warp()
    device = wp.get_cuda_device()  # the current device
    wp.set_stream(_stream(wp, stream), device)
    return wp.zeros(shape, dtype=getattr(wp, dtype), device=device)


def take(x: Any) -> Any:
    """Import by DLPack."""
    return _warp().from_dlpack(x)


def take_on(stream: int, x: Any) -> Any:
    """Import by DLPack, with the given stream current."""
    wp = _warp()
    with wp.ScopedStream(_stream(wp, stream), sync_enter=False):
        return wp.from_dlpack(x)


def read(y: Any) -> list[Any]:
    """Return the elements."""
    need_gpu("cpu" if y.device.is_cpu else "cuda", "Warp")
    return list(y.numpy().ravel().tolist())


def write(y: Any) -> None:
    """Set every element, including the first: Warp has no function that sets a single element."""
    y.fill_(1)


subject: Subject = Subject(
    "Warp",
    make=make,
    take=take,
    read=read,
    write=write,
    take_capsule=take,
    make_on=make_on if _HAS_GPU else None,
    take_on=take_on if _HAS_GPU else None,
    distribution="warp-lang",
    preload=("warp",),
)

kinds: tuple[Kind, ...] = (
    Kind(
        "Warp",
        subject,
        lambda x: x.ptr,
        library="warp",
        module="warp",
        target="warp",
        head="Warp",
        dtype=lambda x: str(x.dtype.__name__),
        readonly=lambda x: bool(x.__array_interface__["data"][1]),
        lacks=lambda _: _warp() and None,
        order=9,
    ),
)
