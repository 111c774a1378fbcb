"""The CUDA driver as the command line uses it: what it is, two streams, memory, copies to look at.

Source: CUDA driver API, through ``cuda.bindings.driver`` of cuda-python.  Nothing here goes through
interchange, so that what interchange did can be checked against it.
"""

from __future__ import annotations

import ctypes
import weakref
from functools import cached_property
from typing import Any, Final, NamedTuple

_EMULATED: Final = "emucuda"
"""How the names of the emulated driver's devices begin."""
_NON_BLOCKING: Final = 1  # a stream that does not wait for the legacy default one
_LONGEST_NAME: Final = 256


class NoDriverError(Exception):
    """There is no CUDA driver, or no way to call it; the text says why."""


class Facts(NamedTuple):
    """What a driver says of itself.

    Attributes
    ----------
    version : str
        The CUDA version that it is of, such as ``"13.0"``.
    devices : tuple[str, ...]
        Names of its devices.
    is_emulated : bool
        Whether they are those of the emulated driver, in host memory.
    """

    version: str
    devices: tuple[str, ...]
    is_emulated: bool


class Block:
    """Device memory with an address, given back when nobody holds it.

    Attributes
    ----------
    ptr : int
        Its first address.
    """

    def __init__(self, driver: Cuda, data: bytes) -> None:
        staging = driver.lock_pages(len(data))
        ctypes.memmove(staging, data, len(data))
        self.ptr: int = int(driver.call("cuMemAlloc", len(data)))
        weakref.finalize(self, _give_back, driver, self.ptr, staging)
        driver.call("cuMemcpyAsync", self.ptr, staging, len(data), driver.producer)


def _give_back(driver: Cuda, ptr: int, staging: int) -> None:
    """Free device memory and the host memory that it was filled from."""
    driver.api.cuMemFree(ptr)  # which waits for the copy
    driver.api.cuMemFreeHost(staging)


class Cuda:
    """The driver, initialised, and errors raised.

    Parameters
    ----------
    api : module
        ``cuda.bindings.driver``.
    """

    def __init__(self, api: Any) -> None:
        self.api = api

    def call(self, name: str, *arguments: Any) -> Any:
        """Call a function of the driver, and return what it gives.

        Raises
        ------
        RuntimeError
            It failed.
        """
        error, *answer = getattr(self.api, name)(*arguments)
        if error:
            raise RuntimeError(f"{name} failed with {error.name}")
        return answer[0] if len(answer) == 1 else answer

    @cached_property
    def facts(self) -> Facts:
        """What the driver says of itself."""
        number = self.call("cuDriverGetVersion")
        count = self.call("cuDeviceGetCount")
        names = tuple(
            self.call("cuDeviceGetName", _LONGEST_NAME, i).partition(b"\0")[0].decode()
            for i in range(count)
        )
        version = f"{number // 1000}.{number % 1000 // 10}"
        return Facts(version, names, any(name.startswith(_EMULATED) for name in names))

    # ------------------------------------------------------------ memory and streams

    @cached_property
    def _context(self) -> Any:
        """The primary context of the first device, current from now on."""
        context = self.call("cuDevicePrimaryCtxRetain", self.call("cuDeviceGet", 0))
        self.call("cuCtxSetCurrent", context)
        return context

    def _make_stream(self) -> int:
        """Return a fresh stream, which waits for no other."""
        _ = self._context
        return int(self.call("cuStreamCreate", _NON_BLOCKING))

    @cached_property
    def producer(self) -> int:
        """The stream on which samples are filled."""
        return self._make_stream()

    @cached_property
    def consumer(self) -> int:
        """The stream for which samples are taken, and on which they are read."""
        return self._make_stream()

    def lock_pages(self, nbytes: int) -> int:
        """Return the address of fresh page-locked memory."""
        _ = self._context
        return int(self.call("cuMemHostAlloc", nbytes, 0))

    def upload(self, data: bytes) -> Block:
        """Return device memory, into which a copy is pending on the producer's stream."""
        return Block(self, data)

    def download(self, ptr: int, nbytes: int) -> bytes:
        """Return what a copy on the consumer's stream finds at an address."""
        staging = self.lock_pages(nbytes)
        try:
            self.call("cuMemcpyAsync", staging, ptr, nbytes, self.consumer)
            self.call("cuStreamSynchronize", self.consumer)
            return ctypes.string_at(staging, nbytes)
        finally:
            self.api.cuMemFreeHost(staging)


_opened: Final[list[Cuda]] = []


def open_cuda() -> Cuda:
    """Return the driver of this process, initialised at the first need.

    Raises
    ------
    NoDriverError
        cuda-python or the driver is not here, or does not start.
    """
    if not _opened:
        try:
            from cuda.bindings import driver as api
        except ImportError as error:
            raise NoDriverError("cuda-python is not installed") from error
        try:
            (refusal,) = api.cuInit(0)
        except RuntimeError as missing:  # the bindings found no library of the driver
            raise NoDriverError("no CUDA driver") from missing
        if refusal:
            raise NoDriverError(f"the CUDA driver does not start: cuInit gave {refusal.name}")
        _opened.append(Cuda(api))
    return _opened[0]


def why_none(*_: object) -> str | None:
    """Return why there is no driver, or None where there is one."""
    try:
        open_cuda()
    except NoDriverError as error:
        return str(error)
    return None
