"""Producers of device memory that report a wrong device, or leave another device current.

Source: dlpack.h 1.3; array API standard 2025.12; CUDA driver API; `checks.devices`.
"""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from interchange_conformance.driver.cuda import CudaError
from interchange_conformance.zoo.on_device import HOST, OnDevice

from ._honest_device_producer import device_producer_mutant, honest_device_producer, producer_with
from .model import mutant

if TYPE_CHECKING:
    from interchange_conformance.subject import Subject
    from interchange_conformance.zoo.on_device import Block

_CUDA, _PINNED, _MANAGED = 2, 3, 13
_FIRST: Final = (_CUDA, 0)


def _saying(kind: int, said: tuple[int, int]) -> Subject:
    """Return a subject that reports the same wrong device of one kind of memory everywhere."""

    def begin(self: OnDevice, block: Block, *arguments: Any, **keywords: Any) -> None:
        if block.device[0] == kind:
            block = replace(block, device=said)
        OnDevice.__init__(self, block, *arguments, **keywords)

    return producer_with(__init__=begin)


@device_producer_mutant("the_capsule_is_on_the_device_that_was_said", step="capsule")
def ships_another_device_than_it_says(
    self: OnDevice, block: Block, copied: bool, max_version: Any
) -> Any:
    """Reports page-locked memory as host memory, and exports it as device memory."""
    if block.device[0] == _PINNED:
        block = replace(block, device=_FIRST)
    return OnDevice.capsule(self, block, copied, max_version)


@mutant("device_memory_has_the_number_of_its_device", counterpart=honest_device_producer)
def counts_every_device_as_the_first() -> Subject:
    """Reports device 0, whatever device the memory is on."""
    return _saying(_CUDA, _FIRST)


@device_producer_mutant("capsules_have_the_number_of_their_device", step="capsule")
def ships_every_device_as_the_first(
    self: OnDevice, block: Block, copied: bool, max_version: Any
) -> Any:
    """Exports memory of every device as that of device 0."""
    if block.device[0] == _CUDA:
        block = replace(block, device=_FIRST)
    return OnDevice.capsule(self, block, copied, max_version)


@mutant("managed_memory_is_said_to_be_managed", counterpart=honest_device_producer)
def says_that_managed_memory_is_the_devices() -> Subject:
    """Reports managed memory as device type 2."""
    return _saying(_MANAGED, _FIRST)


@mutant("page_locked_memory_is_said_to_be_the_hosts", counterpart=honest_device_producer)
def says_that_page_locked_memory_is_the_devices() -> Subject:
    """Reports page-locked memory as device type 2, in both places."""
    return _saying(_PINNED, _FIRST)


# ---------------------------------------------------------------- requested device


@device_producer_mutant("a_device_that_cannot_be_reached_is_a_buffer_error", step="refusal")
def refuses_a_device_by_value_error(self: OnDevice, target: tuple[int, int]) -> Exception:
    """Raises ValueError for a device to which it cannot export memory."""
    return ValueError(str(OnDevice.refusal(self, target)))


@device_producer_mutant("a_device_that_cannot_be_reached_is_a_buffer_error", step="answer")
def ignores_the_device_that_it_is_asked_for(self: OnDevice, **keywords: Any) -> Any:
    """Ignores every dl_device except the host, and shares its memory."""
    if keywords.get("dl_device") not in {None, HOST}:
        keywords["dl_device"] = self.device()
    return OnDevice.answer(self, **keywords)


@device_producer_mutant("a_device_number_that_is_not_there_is_refused", step="answer")
def looks_at_the_type_of_the_device_only(self: OnDevice, **keywords: Any) -> Any:
    """Accepts every id of a device of its own type."""
    asked = keywords.get("dl_device")
    if asked is not None and asked[0] == self.device()[0]:
        keywords["dl_device"] = self.device()
    return OnDevice.answer(self, **keywords)


@device_producer_mutant("the_arrays_own_device_is_no_other", step="answer")
def refuses_its_own_device(self: OnDevice, **keywords: Any) -> Any:
    """Refuses dl_device for the device of the array."""
    if keywords.get("dl_device") == self.device():
        raise BufferError("dl_device is not supported")
    return OnDevice.answer(self, **keywords)


@device_producer_mutant("the_host_is_handed_what_is_in_memory", step="to_host")
def hands_nothing_to_the_host(_: OnDevice, copy: bool | None) -> tuple[Block, bool]:
    """Refuses dl_device=(1, 0)."""
    raise BufferError(f"dl_device=(1, 0), copy={copy}: not supported")


# ---------------------------------------------------------------- side effects


@device_producer_mutant("an_export_leaves_the_current_device_alone", step="order")
def leaves_its_own_device_current(self: OnDevice, consumer: int) -> None:
    """Makes its device current, and never restores the previous one."""
    if self.cuda is not None:
        self.cuda.make_current(self.ordinal)
    OnDevice.order(self, consumer)


@device_producer_mutant("arrays_are_exported_whatever_device_is_current", step="order")
def exports_on_its_own_device_only(self: OnDevice, consumer: int) -> None:
    """Refuses an export while another device is current, as PyTorch does."""
    if self.cuda is not None and self.cuda.current_device != self.ordinal:
        raise BufferError(f"device {self.ordinal} is not current")
    OnDevice.order(self, consumer)


@device_producer_mutant("work_is_ordered_while_another_device_is_current", step="order")
def records_its_events_on_the_current_device(self: OnDevice, consumer: int) -> None:
    """Creates its event in the current context, and does not check the result."""
    if self.cuda is not None and self.cuda.current_device != self.ordinal:
        try:
            self.cuda.order(self.stream or consumer, consumer)
        except CudaError:
            return
    OnDevice.order(self, consumer)


@device_producer_mutant("work_is_ordered_while_another_device_is_current", step="order")
def orders_the_current_stream_of_the_current_device(self: OnDevice, consumer: int) -> None:
    """Makes the consumer wait for the current device's stream, as CuPy does, not for its own."""
    if self.cuda is not None and self.cuda.current_device != self.ordinal:
        idle = self.cuda.stream()
        with contextlib.suppress(CudaError):  # of the current device
            self.cuda.order(idle, consumer)
        return
    OnDevice.order(self, consumer)


@device_producer_mutant("asking_for_the_device_waits_for_nothing", step="__dlpack_device__")
def synchronizes_before_it_says_its_device(self: OnDevice) -> tuple[int, int]:
    """Waits for its work before it reports its device."""
    self.finish()
    return OnDevice.__dlpack_device__(self)
