"""An honest consumer of device memory: it passes its stream, and reads through the driver.

Source: array API standard 2025.12, ``from_dlpack``; CUDA driver API.  Structs are handled as in
`_honest_consumer`; a driver is used to read memory and to make a device current.
"""

from __future__ import annotations

import contextlib
import ctypes
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from interchange.abi.dlpack import DLDeviceType
from interchange_conformance.driver.cuda import LEGACY, chosen, opened

from ._honest_consumer import HOST_TYPES, Consumer, decode, encode, itemsize, subject_of
from .model import mutant, replacing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from interchange_conformance.driver.cuda import Cuda
    from interchange_conformance.subject import Subject

    from ._honest_consumer import Array, Device, Keywords

CUDA: Final = DLDeviceType.kDLCUDA
_TYPES: Final = HOST_TYPES | {CUDA, DLDeviceType.kDLROCM}
_REACHED: Final = {CUDA, DLDeviceType.kDLCUDAManaged}  # by CUDA streams


class DeviceConsumer(Consumer):
    """The steps of an import of device memory, for a stream of the device that was reported."""

    def __init__(self) -> None:
        super().__init__(frozenset(_TYPES))
        self.stream: int | None = None
        self.device = (1, 0)

    def take_on(self, stream: int, x: Any) -> Array:
        """Return an array over the memory of `x`, for a stream."""
        self.stream = stream
        try:
            return self.take(x)
        finally:
            self.stream = None

    def check_device(self, device: Device) -> None:
        """Refuse memory that cannot be accessed, and record the device."""
        super().check_device(device)
        self.device = device

    def keywords(self, device: Device, wanted: Keywords) -> Keywords:
        """Return the keywords of a request to a producer."""
        keywords = super().keywords(device, wanted)
        if device[0] == DLDeviceType.kDLCUDAManaged:
            keywords |= {"stream": LEGACY, "dl_device": None}
        if "stream" in keywords:
            keywords["stream"] = self.sent(device, keywords["stream"])
        return keywords

    def sent(self, _device: Device, default: int) -> Any:
        """Return the stream that is passed to a producer."""
        return default if self.stream is None else self.stream

    def ask(self, method: Any, keywords: Keywords) -> Any:
        """Request a capsule, with the producer's device current."""
        with self.there(self.device):
            return super().ask(method, keywords)

    @contextlib.contextmanager
    def there(self, device: Device) -> Iterator[Cuda | None]:
        """Make a device, if there is one, current while the block runs."""
        if device[0] not in _REACHED or chosen() == "none" or device[1] >= opened().devices:
            yield None
            return
        with opened().on_device(device[1]):
            yield opened()

    # ------------------------------------------------------------ using

    def read(self, y: Array) -> list[Any]:
        """Return the elements as the legacy default stream sees them."""
        with self.there(y.said.device) as cuda:
            if cuda is None:
                return super().read(y)
            cuda.synchronize(LEGACY)
            if y.said.device[0] != CUDA:
                return super().read(y)
            size = itemsize(y.said.dtype)
            return [
                decode(self.load(cuda, address, size), y.said.dtype)
                for address in self.addresses(y)
            ]

    def load(self, cuda: Cuda, address: int, size: int) -> bytes:
        """Return bytes of device memory."""
        block = ctypes.create_string_buffer(size)
        cuda("cuMemcpyDtoH_v2", block, address, size)
        return block.raw

    def write(self, y: Array) -> None:
        """Set the first element to 1, unless the memory is read-only."""
        with self.there(y.said.device) as cuda:
            if cuda is None or y.said.device[0] != CUDA or y.readonly:
                super().write(y)
            else:
                cuda.write(y.said.data or 0, encode(1, y.said.dtype))


def consumer_with(**steps: Any) -> Subject:
    """Return the subject of a consumer with some steps replaced, each by ``f(consumer, ...)``."""
    consumer: Any = type("Changed", (DeviceConsumer,), steps)()
    return subject_of(consumer, take_on=consumer.take_on)


def honest_device_consumer() -> Subject:
    """Return the honest counterpart: it keeps every rule."""
    return consumer_with()


device_consumer_mutant = partial(
    mutant, counterpart=honest_device_consumer, build=replacing(consumer_with)
)
