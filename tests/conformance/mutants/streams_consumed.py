"""Consumers that pass a wrong stream or none, or use memory before it is ready.

Source: array API standard 2025.12, ``array.__dlpack__`` (stream); `checks.streams_consumed`.
"""

from __future__ import annotations

import contextlib
import ctypes
import time
from typing import TYPE_CHECKING, Any, Final

from interchange.abi.dlpack import DLDeviceType
from interchange_conformance.driver.cuda import opened

from ._honest_consumer import Consumer, decode, itemsize
from ._honest_device_consumer import (
    DeviceConsumer,
    consumer_with,
    device_consumer_mutant,
    honest_device_consumer,
)
from .model import mutant

if TYPE_CHECKING:
    from interchange_conformance.subject import Subject

    from ._honest_consumer import Array, Device, Keywords

_CUDA, _ROCM = DLDeviceType.kDLCUDA, DLDeviceType.kDLROCM
_MANAGED: Final = DLDeviceType.kDLCUDAManaged
_NO_SYNC: Final = -1
_SLOW: Final = 0.15  # [seconds]


@device_consumer_mutant("producers_with_streams_are_sent_a_stream", step="keywords")
def leaves_out_its_default_stream(
    self: DeviceConsumer, device: Device, wanted: Keywords
) -> Keywords:
    """Passes no stream if it would be the default one."""
    keywords = DeviceConsumer.keywords(self, device, wanted)
    if self.stream is None:
        keywords.pop("stream", None)
    return keywords


@device_consumer_mutant("producers_with_streams_are_sent_a_stream", step="ask")
def loses_the_stream_of_older_producers(
    self: DeviceConsumer, method: Any, keywords: Keywords
) -> Any:
    """Calls a producer without keywords if it does not know all of them."""
    with self.there(self.device):
        try:
            return method(**keywords)
        except TypeError:
            return method()


@device_consumer_mutant("stream_0_is_never_sent_to_cuda", step="sent")
def sends_0_for_the_legacy_default(self: DeviceConsumer, device: Device, default: int) -> Any:
    """Passes 0, its own number of the default stream."""
    stream = DeviceConsumer.sent(self, device, default)
    return 0 if stream == 1 else stream


@device_consumer_mutant("default_streams_of_cuda_are_never_sent_to_rocm", step="sent")
def sends_1_to_rocm(self: DeviceConsumer, device: Device, default: int) -> Any:
    """Passes 1 for the default stream of ROCm, as for CUDA."""
    return 1 if device[0] == _ROCM else DeviceConsumer.sent(self, device, default)


@device_consumer_mutant("streams_are_sent_as_ints", step="sent")
def sends_a_number_that_is_no_int(self: DeviceConsumer, device: Device, default: int) -> Any:
    """Passes the default stream as a float."""
    return float(default) if self.stream is None else DeviceConsumer.sent(self, device, default)


@device_consumer_mutant("host_producers_are_sent_no_stream", step="keywords")
def sends_minus_1_to_the_host(self: DeviceConsumer, device: Device, wanted: Keywords) -> Keywords:
    """Passes -1 to producers of host memory."""
    keywords = DeviceConsumer.keywords(self, device, wanted)
    if device[0] == DLDeviceType.kDLCPU:
        keywords["stream"] = _NO_SYNC
    return keywords


@device_consumer_mutant("page_locked_producers_are_sent_no_stream", step="ask")
def sends_minus_1_to_page_locked_memory(
    self: DeviceConsumer, method: Any, keywords: Keywords
) -> Any:
    """Passes -1 to producers of page-locked memory, and calls them again if this is refused."""
    if self.device[0] == DLDeviceType.kDLCUDAHost:
        with contextlib.suppress(ValueError):
            return DeviceConsumer.ask(self, method, {**keywords, "stream": _NO_SYNC})
    return DeviceConsumer.ask(self, method, keywords)


# ---------------------------------------------------------------- order


@device_consumer_mutant("what_is_taken_is_ready_for_the_stream_it_is_taken_for", step="sent")
def asks_for_no_wait_on_a_named_stream(self: DeviceConsumer, _: Device, default: int) -> Any:
    """Passes -1 for a stream that the user passed, and does not make it wait."""
    return default if self.stream is None else _NO_SYNC


@device_consumer_mutant("what_is_taken_is_ready_for_the_stream_it_is_taken_for", step="sent")
def asks_for_no_wait_of_managed_memory(self: DeviceConsumer, device: Device, default: int) -> Any:
    """Passes -1 for managed memory, as if memory that the host can access were ready."""
    managed = device[0] == _MANAGED and self.stream is not None
    return _NO_SYNC if managed else DeviceConsumer.sent(self, device, default)


@device_consumer_mutant("managed_memory_is_read_when_the_work_is_done", step="read")
def reads_managed_memory_as_the_hosts(self: DeviceConsumer, y: Array) -> list[Any]:
    """Reads managed memory as host memory, and does not make the host wait."""
    if y.said.device[0] == _MANAGED:
        return Consumer.read(self, y)
    return DeviceConsumer.read(self, y)


@device_consumer_mutant("elements_are_read_when_the_work_is_done", step="sent")
def asks_for_no_wait_and_reads_on_its_own(
    self: DeviceConsumer, device: Device, default: int
) -> Any:
    """Passes -1 without a user's stream, and reads on the legacy default stream."""
    return _NO_SYNC if self.stream is None else DeviceConsumer.sent(self, device, default)


@mutant("elements_are_read_when_the_work_is_done", counterpart=honest_device_consumer)
def asks_for_no_wait_and_is_slow_to_read() -> Subject:
    """Does not order the read, and takes longer to read than work usually takes."""

    def sent(self: DeviceConsumer, device: Device, default: int) -> Any:
        return _NO_SYNC if self.stream is None else DeviceConsumer.sent(self, device, default)

    def read(self: DeviceConsumer, y: Array) -> list[Any]:
        if y.said.device[0] != _CUDA:
            return DeviceConsumer.read(self, y)
        time.sleep(_SLOW)
        with self.there(y.said.device):
            cuda, size = opened(), itemsize(y.said.dtype)
            addresses = self.addresses(y)
            stream, target = cuda.stream(), cuda.pinned(size * len(addresses))
            for i, address in enumerate(addresses):
                cuda.copy(target + i * size, address, size, stream)
            cuda.synchronize(stream)
        data = ctypes.string_at(target, size * len(addresses))
        return [decode(data[at : at + size], y.said.dtype) for at in range(0, len(data), size)]

    return consumer_with(sent=sent, read=read)


@device_consumer_mutant("an_import_does_not_block_the_host", step="take_on")
def synchronizes_what_it_takes(self: DeviceConsumer, stream: int, x: Any) -> Array:
    """Synchronizes its stream, which already waits for the producer's work."""
    y = DeviceConsumer.take_on(self, stream, x)
    if not opened().is_capturing(stream):
        opened().synchronize(stream)
    return y


@device_consumer_mutant("the_stream_that_is_sent_exists", step="sent")
def sends_the_address_of_its_stream_object(
    self: DeviceConsumer, device: Device, default: int
) -> Any:
    """Passes the address of its stream object, and not its handle."""
    return DeviceConsumer.sent(self, device, default) if self.stream is None else id(self)


@device_consumer_mutant("a_capture_survives_an_import", step="take_on")
def asks_whether_its_stream_is_done(self: DeviceConsumer, stream: int, x: Any) -> Array:
    """Queries its stream after an import, which invalidates a capture."""
    y = DeviceConsumer.take_on(self, stream, x)
    opened().is_done(stream)
    return y


@device_consumer_mutant("a_capture_survives_an_import", step="sent")
def sends_the_legacy_stream_under_capture(
    self: DeviceConsumer, device: Device, default: int
) -> Any:
    """Passes 1 while its stream captures, instead of -1 or the stream itself."""
    captures = self.stream is not None and opened().is_capturing(self.stream)
    return default if captures else DeviceConsumer.sent(self, device, default)
