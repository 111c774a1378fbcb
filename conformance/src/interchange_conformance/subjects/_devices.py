"""Device memory for the descriptions of libraries; the current device does not change.

Source: CUDA driver API.  The names of the devices are those of `interchange_conformance.subject`.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import os
import weakref
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from interchange_conformance.driver.cuda import (
    VARIABLE,
    CudaError,
    chosen,
    find_driver,
    opened,
)
from interchange_conformance.findings import BrokenSubjectError, CannotMakeError, NotApplicable
from interchange_conformance.subject import HOST, KINDS
from interchange_conformance.zoo import host
from interchange_conformance.zoo.on_device import OnDevice, place

from ._common import load_host

if TYPE_CHECKING:
    from collections.abc import Iterator

    Shape = tuple[int, ...]

NUMBERS: Final = {"cuda": 0, "cuda:1": 1}
"""Name of a device -> its ordinal."""


def need_device(device: str, known: tuple[str, ...], library: str) -> None:
    """Refuse devices that a library does not support, or that are not available."""
    if device not in known:
        raise CannotMakeError(f"{library} has no memory of the kind {device!r}")
    if device == HOST or device in KINDS:
        return
    if chosen() == "none":
        raise CannotMakeError("there is no CUDA driver")
    if NUMBERS.get(device, 0) >= opened().devices:
        raise CannotMakeError("there is one CUDA device only")


def need_gpu(device: str, library: str) -> None:
    """Refuse an operation that needs the kernels of a library if there is no GPU."""
    if device != "cpu" and chosen() != "real":
        raise CannotMakeError(f"{library} finds no GPU: its kernels run on no emulated driver")


@contextlib.contextmanager
def on(device: str) -> Iterator[None]:
    """Make a device current while the block runs, and restore the previous one."""
    with opened().on_device(NUMBERS.get(device, 0)):
        yield


def load(address: int, nbytes: int) -> bytes:
    """Return the bytes at a device address, after all work on it."""
    with on("cuda"):
        return opened().read(address, nbytes)


def store(address: int, data: bytes) -> None:
    """Write bytes at a device address."""
    with on("cuda"):
        opened().write(address, data)


def memory_on(shape: Shape, dtype: str, device: str) -> Any:
    """Return a producer of new memory on a device, for libraries that do not allocate it."""
    if device in KINDS:
        return host(shape, dtype).but(device=(int(KINDS[device]), 0))
    kind = "cuda" if device in NUMBERS else device
    block, _ = place(opened(), kind, shape, dtype, device=NUMBERS.get(device, 0))
    return OnDevice(block, shape, dtype, cuda=opened())


# ---------------------------------------------------------------- the matrix


def lacks_driver(*_: object) -> str | None:
    """Return why the CUDA driver cannot be used in this process, or None.

    Unless a driver was chosen, it is the one that libraries find, which may be the emulated one.
    """
    try:
        importlib.import_module("cuda.bindings.driver")
    except ImportError:
        return "cuda-python is not installed"
    os.environ[VARIABLE] = chosen() if chosen() != "none" else find_driver()
    try:
        opened()
    except (NotApplicable, BrokenSubjectError, CudaError) as error:
        return str(error)
    return None


@cache
def streams() -> tuple[int, int]:
    """Return two streams of the first device: arrays are filled on one and read on the other."""
    with on("cuda"):
        return opened().stream(), opened().stream()


def upload(target: int, data: bytes) -> Any:
    """Enqueue a copy to device memory on the first stream, and return the owner of its source."""
    cuda, (stream, _) = opened(), streams()
    cuda.make_current(0)
    source = Pinned(data)
    cuda.copy(target, source.ptr, len(data), stream)
    return source


def download(address: int, nbytes: int) -> bytes:
    """Return the bytes of device memory, copied on the second stream."""
    cuda, (_, stream) = opened(), streams()
    target = Pinned(bytes(nbytes))
    cuda.copy(target.ptr, address, nbytes, stream)
    cuda.synchronize(stream)
    return load_host(target.ptr, nbytes)


class Pinned:
    """Page-locked host memory with some bytes, freed with this object."""

    def __init__(self, data: bytes) -> None:
        cuda = opened()
        cuda.make_current(0)
        self.ptr: int = cuda.pinned(len(data))
        ctypes.memmove(self.ptr, data, len(data))
        weakref.finalize(self, cuda.free_pinned, self.ptr, streams()[0]).atexit = False


class Block:
    """Device memory that is freed with this object."""

    def __init__(self, nbytes: int) -> None:
        with on("cuda"):
            self.ptr: int = opened().memory(nbytes)
        weakref.finalize(self, opened().free, self.ptr).atexit = False
