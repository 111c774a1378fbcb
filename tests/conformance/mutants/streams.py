"""Producers of device memory that omit one duty towards the consumer's stream.

Source: array API standard 2025.12, ``array.__dlpack__``; CUDA driver API; `checks.streams`.
"""

from __future__ import annotations

import ctypes
import time
from typing import TYPE_CHECKING, Any, Final

from interchange_conformance.zoo.on_device import NO_SYNC, OnDevice

from ._honest_device_producer import honest_device_producer, producer_with
from .model import mutant

if TYPE_CHECKING:
    from interchange_conformance.driver.cuda import Cuda
    from interchange_conformance.subject import Subject
    from interchange_conformance.zoo.on_device import Block

_LEGACY: Final = 1
_MANAGED: Final = 13
_REACHED: Final = frozenset({3, _MANAGED})  # by the host


# ---------------------------------------------------------------- order


@mutant("pending_work_comes_before_the_consumers", twin=honest_device_producer)
def makes_nobody_wait() -> Subject:
    """Accepts the consumer's stream, and ignores it."""

    def wait(self: OnDevice, pending: int, consumer: int) -> None:
        """Do nothing."""

    return producer_with(wait=wait)


@mutant("pending_work_comes_before_the_consumers", twin=honest_device_producer)
def makes_the_wrong_stream_wait() -> Subject:
    """Makes its own stream wait for the consumer's."""

    def wait(self: OnDevice, pending: int, consumer: int) -> None:
        OnDevice.wait(self, consumer, pending)

    return producer_with(wait=wait)


@mutant("pending_work_comes_before_the_consumers", twin=honest_device_producer)
def always_makes_the_legacy_stream_wait() -> Subject:
    """Always makes the legacy default stream wait, whatever stream was passed."""

    def wait(self: OnDevice, pending: int, _: int) -> None:
        OnDevice.wait(self, pending, _LEGACY)

    return producer_with(wait=wait)


@mutant("pending_work_comes_before_the_consumers", twin=honest_device_producer)
def orders_memory_of_a_device_alone() -> Subject:
    """Accepts the consumer's stream for managed memory, but does not order it, as for the host."""

    def order(self: OnDevice, consumer: int) -> None:
        if self.device()[0] != _MANAGED:
            OnDevice.order(self, consumer)

    return producer_with(order=order)


@mutant("a_stream_left_out_is_the_legacy_default", twin=honest_device_producer)
def takes_a_stream_left_out_for_minus_1() -> Subject:
    """The default of its stream argument is -1, as in PyTorch."""

    def answer(self: OnDevice, **keywords: Any) -> Any:
        on_device = keywords.get("dl_device") in {None, self.device()}
        with_streams = self.normal_stream(None) is not None
        default = {"stream": NO_SYNC} if on_device and with_streams else {}
        return OnDevice.answer(self, **{**default, **keywords})

    return producer_with(answer=answer)


@mutant("every_export_waits_anew", twin=honest_device_producer)
def waits_once_for_each_stream() -> Subject:
    """Records which streams have waited, and does not make them wait again."""

    def order(self: OnDevice, consumer: int) -> None:
        waited = self.__dict__.setdefault("waited", set())
        if consumer not in waited:
            OnDevice.order(self, consumer)
        waited.add(consumer)

    return producer_with(order=order)


@mutant("every_export_waits_anew", twin=honest_device_producer)
def waits_in_the_first_export_only() -> Subject:
    """Assumes that no work is pending after the first wait."""

    def order(self: OnDevice, consumer: int) -> None:
        OnDevice.order(self, consumer)
        if consumer != NO_SYNC:
            self.stream = None

    return producer_with(order=order)


@mutant("copies_are_made_after_the_pending_work", twin=honest_device_producer)
def copies_on_a_stream_that_nobody_waits_for() -> Subject:
    """Makes copies on its own stream, and does not order it."""

    def copied_block(self: OnDevice, _: int | None) -> Block:
        hidden = None if self.cuda is None else self.cuda.stream()
        return OnDevice.copied_block(self, hidden)

    return producer_with(copied_block=copied_block)


@mutant("an_export_does_not_block_the_host", twin=honest_device_producer)
def lets_the_host_wait_in_place_of_the_stream() -> Subject:
    """Synchronizes its stream, although an event would be sufficient."""

    def wait(self: OnDevice, *_: int) -> None:
        self.finish()

    return producer_with(wait=wait)


# ---------------------------------------------------------------- -1, and equal streams


@mutant("stream_minus_1_does_not_block_the_host", twin=honest_device_producer)
def waits_until_its_work_is_done_for_minus_1() -> Subject:
    """Polls until its work is done, although no wait was requested."""

    def order(self: OnDevice, consumer: int) -> None:
        if consumer == NO_SYNC and self.cuda is not None and self.stream is not None:
            while not self.cuda.is_done(self.stream):
                time.sleep(0.001)
        OnDevice.order(self, consumer)

    return producer_with(order=order)


@mutant("stream_minus_1_makes_no_stream_wait", twin=honest_device_producer)
def takes_minus_1_for_the_legacy_default() -> Subject:
    """Makes the legacy default stream wait for -1."""

    def order(self: OnDevice, consumer: int) -> None:
        OnDevice.order(self, _LEGACY if consumer == NO_SYNC else consumer)

    return producer_with(order=order)


@mutant("stream_minus_1_records_no_event", twin=honest_device_producer)
def records_an_event_for_nobody() -> Subject:
    """Records an event in every export, even if no stream waits for it."""

    def order(self: OnDevice, consumer: int) -> None:
        if consumer == NO_SYNC and self.cuda is not None and self.stream is not None:
            _record(self.cuda, self.stream)
        OnDevice.order(self, consumer)

    return producer_with(order=order)


def _record(cuda: Cuda, stream: int) -> None:
    """Record an event on a stream, unless the stream captures."""
    event = ctypes.c_void_p()
    if not cuda.is_capturing(stream):
        cuda("cuEventCreate", ctypes.byref(event), 0)
        cuda("cuEventRecord", event, stream)


@mutant("an_export_to_the_arrays_own_stream_needs_no_wait", twin=honest_device_producer)
def makes_its_stream_wait_for_itself() -> Subject:
    """Makes its own stream wait for itself, since it does not compare streams."""

    def order(self: OnDevice, consumer: int) -> None:
        if consumer == self.stream and not (self.cuda and self.cuda.is_capturing(consumer)):
            self.wait(consumer, consumer)
        OnDevice.order(self, consumer)

    return producer_with(order=order)


# ---------------------------------------------------------------- captures and handles


@mutant("a_capture_survives_stream_minus_1", twin=honest_device_producer)
def allocates_memory_for_minus_1() -> Subject:
    """Allocates memory in every export, which invalidates a capture."""

    def order(self: OnDevice, consumer: int) -> None:
        if consumer == NO_SYNC and self.cuda is not None:
            self.cuda.code("cuMemAlloc_v2", ctypes.byref(ctypes.c_uint64()), 1)
        OnDevice.order(self, consumer)

    return producer_with(order=order)


@mutant("a_capture_survives_an_export_to_its_own_stream", twin=honest_device_producer)
def asks_whether_its_own_stream_is_done() -> Subject:
    """Queries the stream that it shares with the consumer, which invalidates a capture."""

    def order(self: OnDevice, consumer: int) -> None:
        if consumer == self.stream and self.cuda is not None:
            self.cuda.is_done(consumer)
        OnDevice.order(self, consumer)

    return producer_with(order=order)


@mutant("a_capture_survives_an_export_from_another_stream", twin=honest_device_producer)
def asks_nobody_whether_a_stream_captures() -> Subject:
    """Makes the consumer's stream wait for work outside its capture."""

    def order(self: OnDevice, consumer: int) -> None:
        if consumer == NO_SYNC or self.stream in {None, consumer} or self.cuda is None:
            return
        with self.cuda.on_device(self.ordinal):
            self.wait(self.stream, consumer)

    return producer_with(order=order)


@mutant("the_consumers_stream_may_go_before_the_memory", twin=honest_device_producer)
def uses_the_stream_of_the_consumer_before() -> Subject:
    """Keeps the handle of each consumer's stream, and makes the next one wait for it."""

    def order(self: OnDevice, consumer: int) -> None:
        before = self.__dict__.get("before", consumer)
        if before not in {NO_SYNC, consumer} and consumer != NO_SYNC:
            self.wait(before, consumer)
        OnDevice.order(self, consumer)
        self.__dict__["before"] = consumer

    return producer_with(order=order)


# ---------------------------------------------------------------- to the host


@mutant("the_host_gets_memory_when_the_work_is_done", twin=honest_device_producer)
def copies_to_the_host_before_its_work_is_done() -> Subject:
    """Copies to the host without waiting for its stream."""

    def finish(self: OnDevice) -> None:
        """Do nothing."""

    return producer_with(finish=finish)


@mutant("the_host_gets_memory_when_the_work_is_done", twin=honest_device_producer)
def hands_what_the_host_reaches_out_at_once() -> Subject:
    """Makes the host wait for device memory only, not for memory that the host can access."""

    def finish(self: OnDevice) -> None:
        if self.device()[0] not in _REACHED:
            OnDevice.finish(self)

    return producer_with(finish=finish)


@mutant("a_stream_for_the_host_is_refused", twin=honest_device_producer)
def takes_a_stream_for_the_host() -> Subject:
    """Accepts any stream with dl_device=(1, 0), and ignores it."""

    def check_host_stream(self: OnDevice, stream: Any) -> None:
        """Do nothing."""

    return producer_with(check_host_stream=check_host_stream)
