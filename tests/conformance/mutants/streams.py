"""Producers of device memory that omit one duty towards the consumer's stream.

Source: array API standard 2025.12, ``array.__dlpack__``; CUDA driver API; `checks.streams`.
"""

from __future__ import annotations

import ctypes
import time
from typing import TYPE_CHECKING, Any, Final

from interchange_conformance.zoo.on_device import NO_SYNC, OnDevice

from ._honest_device_producer import device_producer_mutant

if TYPE_CHECKING:
    from interchange_conformance.driver.cuda import Cuda
    from interchange_conformance.zoo.on_device import Block

_LEGACY: Final = 1
_MANAGED: Final = 13
_REACHED: Final = frozenset({3, _MANAGED})  # by the host


# ---------------------------------------------------------------- order


@device_producer_mutant("pending_work_comes_before_the_consumers", step="wait")
def makes_no_stream_wait(self: OnDevice, pending: int, consumer: int) -> None:
    """Accepts the consumer's stream, and ignores it."""


@device_producer_mutant("pending_work_comes_before_the_consumers", step="wait")
def makes_the_wrong_stream_wait(self: OnDevice, pending: int, consumer: int) -> None:
    """Makes its own stream wait for the consumer's."""
    OnDevice.wait(self, consumer, pending)


@device_producer_mutant("pending_work_comes_before_the_consumers", step="wait")
def always_makes_the_legacy_stream_wait(self: OnDevice, pending: int, _: int) -> None:
    """Always makes the legacy default stream wait, whatever stream was passed."""
    OnDevice.wait(self, pending, _LEGACY)


@device_producer_mutant("pending_work_comes_before_the_consumers", step="order")
def orders_memory_of_a_device_alone(self: OnDevice, consumer: int) -> None:
    """Accepts the consumer's stream for managed memory, but does not order it, as for the host."""
    if self.device()[0] != _MANAGED:
        OnDevice.order(self, consumer)


@device_producer_mutant("a_stream_left_out_is_the_legacy_default", step="answer")
def takes_a_stream_left_out_for_minus_1(self: OnDevice, **keywords: Any) -> Any:
    """The default of its stream argument is -1, as in PyTorch."""
    on_device = keywords.get("dl_device") in {None, self.device()}
    with_streams = self.normal_stream(None) is not None
    default = {"stream": NO_SYNC} if on_device and with_streams else {}
    return OnDevice.answer(self, **{**default, **keywords})


@device_producer_mutant("every_export_waits_anew", step="order")
def waits_once_for_each_stream(self: OnDevice, consumer: int) -> None:
    """Records which streams have waited, and does not make them wait again."""
    waited = self.__dict__.setdefault("waited", set())
    if consumer not in waited:
        OnDevice.order(self, consumer)
    waited.add(consumer)


@device_producer_mutant("every_export_waits_anew", step="order")
def waits_in_the_first_export_only(self: OnDevice, consumer: int) -> None:
    """Assumes that no work is pending after the first wait."""
    OnDevice.order(self, consumer)
    if consumer != NO_SYNC:
        self.stream = None


@device_producer_mutant("copies_are_made_after_the_pending_work", step="copied_block")
def copies_on_a_stream_without_order(self: OnDevice, _: int | None) -> Block:
    """Makes copies on its own stream, and does not order it."""
    hidden = None if self.cuda is None else self.cuda.stream()
    return OnDevice.copied_block(self, hidden)


@device_producer_mutant("an_export_does_not_block_the_host", step="wait")
def lets_the_host_wait_in_place_of_the_stream(self: OnDevice, *_: int) -> None:
    """Synchronizes its stream, although an event would be sufficient."""
    self.finish()


# ---------------------------------------------------------------- -1, and equal streams


@device_producer_mutant("stream_minus_1_does_not_block_the_host", step="order")
def waits_until_its_work_is_done_for_minus_1(self: OnDevice, consumer: int) -> None:
    """Polls until its work is done, although no wait was requested."""
    if consumer == NO_SYNC and self.cuda is not None and self.stream is not None:
        while not self.cuda.is_done(self.stream):
            time.sleep(0.001)
    OnDevice.order(self, consumer)


@device_producer_mutant("stream_minus_1_makes_no_stream_wait", step="order")
def takes_minus_1_for_the_legacy_default(self: OnDevice, consumer: int) -> None:
    """Makes the legacy default stream wait for -1."""
    OnDevice.order(self, _LEGACY if consumer == NO_SYNC else consumer)


@device_producer_mutant("stream_minus_1_records_no_event", step="order")
def records_an_event_without_need(self: OnDevice, consumer: int) -> None:
    """Records an event in every export, even if no stream waits for it."""
    if consumer == NO_SYNC and self.cuda is not None and self.stream is not None:
        _record(self.cuda, self.stream)
    OnDevice.order(self, consumer)


def _record(cuda: Cuda, stream: int) -> None:
    """Record an event on a stream, unless the stream captures."""
    event = ctypes.c_void_p()
    if not cuda.is_capturing(stream):
        cuda("cuEventCreate", ctypes.byref(event), 0)
        cuda("cuEventRecord", event, stream)


@device_producer_mutant("an_export_to_the_arrays_own_stream_needs_no_wait", step="order")
def makes_its_stream_wait_for_itself(self: OnDevice, consumer: int) -> None:
    """Makes its own stream wait for itself, since it does not compare streams."""
    if consumer == self.stream and not (self.cuda and self.cuda.is_capturing(consumer)):
        self.wait(consumer, consumer)
    OnDevice.order(self, consumer)


# ---------------------------------------------------------------- captures and handles


@device_producer_mutant("a_capture_survives_stream_minus_1", step="order")
def allocates_memory_for_minus_1(self: OnDevice, consumer: int) -> None:
    """Allocates memory in every export, which invalidates a capture."""
    if consumer == NO_SYNC and self.cuda is not None:
        self.cuda.code("cuMemAlloc_v2", ctypes.byref(ctypes.c_uint64()), 1)
    OnDevice.order(self, consumer)


@device_producer_mutant("a_capture_survives_an_export_to_its_own_stream", step="order")
def asks_whether_its_own_stream_is_done(self: OnDevice, consumer: int) -> None:
    """Queries the stream that it shares with the consumer, which invalidates a capture."""
    if consumer == self.stream and self.cuda is not None:
        self.cuda.is_done(consumer)
    OnDevice.order(self, consumer)


@device_producer_mutant("a_capture_survives_an_export_from_another_stream", step="order")
def ignores_whether_a_stream_captures(self: OnDevice, consumer: int) -> None:
    """Makes the consumer's stream wait for work outside its capture."""
    if consumer == NO_SYNC or self.stream in {None, consumer} or self.cuda is None:
        return
    with self.cuda.on_device(self.ordinal):
        self.wait(self.stream, consumer)


@device_producer_mutant("the_consumers_stream_may_go_before_the_memory", step="order")
def uses_the_stream_of_the_consumer_before(self: OnDevice, consumer: int) -> None:
    """Keeps the handle of each consumer's stream, and makes the next one wait for it."""
    before = self.__dict__.get("before", consumer)
    if before not in {NO_SYNC, consumer} and consumer != NO_SYNC:
        self.wait(before, consumer)
    OnDevice.order(self, consumer)
    self.__dict__["before"] = consumer


# ---------------------------------------------------------------- to the host


@device_producer_mutant("the_host_gets_memory_when_the_work_is_done", step="finish")
def copies_to_the_host_before_its_work_is_done(self: OnDevice) -> None:
    """Copies to the host without waiting for its stream."""


@device_producer_mutant("the_host_gets_memory_when_the_work_is_done", step="finish")
def hands_what_the_host_reaches_out_at_once(self: OnDevice) -> None:
    """Makes the host wait for device memory only, not for memory that the host can access."""
    if self.device()[0] not in _REACHED:
        OnDevice.finish(self)


@device_producer_mutant("a_stream_for_the_host_is_refused", step="check_host_stream")
def takes_a_stream_for_the_host(self: OnDevice, stream: Any) -> None:
    """Accepts any stream with dl_device=(1, 0), and ignores it."""
