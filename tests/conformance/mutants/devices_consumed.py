"""Consumers that mishandle the device of memory, or leave another device current.

Source: dlpack.h 1.3; CUDA driver API; `checks.devices_consumed`.
"""

from __future__ import annotations

import ctypes
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from interchange.abi.dlpack import DLDeviceType
from interchange_conformance.driver.cuda import opened

from ._honest_consumer import Consumer
from ._honest_device_consumer import (
    CUDA,
    DeviceConsumer,
    consumer_with,
    device_consumer_mutant,
    honest_device_consumer,
)
from .model import mutant

if TYPE_CHECKING:
    from interchange_conformance.driver.cuda import Cuda
    from interchange_conformance.subject import Subject
    from interchange_conformance.zoo import Description

    from ._honest_consumer import Array, Device, Keywords


@device_consumer_mutant("memory_that_a_device_reaches_is_read_right", step="load")
def follows_addresses_of_devices(_: DeviceConsumer, __: Cuda, address: int, size: int) -> bytes:
    """Reads device memory as host memory."""
    return ctypes.string_at(address, size)


@device_consumer_mutant("memory_that_the_host_reaches_is_taken", step="check_device")
def refuses_managed_memory(self: DeviceConsumer, device: Device) -> None:
    """Accepts host and device memory, and refuses managed memory."""
    if device[0] == DLDeviceType.kDLCUDAManaged:
        raise BufferError("managed memory is not known here")
    DeviceConsumer.check_device(self, device)


@device_consumer_mutant("what_is_taken_is_on_the_producers_device", step="array")
def counts_every_taken_array_to_the_first_device(
    self: DeviceConsumer, said: Description, owner: Any
) -> Array:
    """Reports device 0 for all imported arrays."""
    if said.device[0] == CUDA:
        said = replace(said, device=(CUDA, 0))
    return DeviceConsumer.array(self, said, owner)


@mutant("the_number_of_the_capsules_device_counts", counterpart=honest_device_consumer)
def believes_the_device_that_was_said() -> Subject:
    """Uses the device id from __dlpack_device__(), and not that of the struct."""
    named = [(2, 0)]

    def device_of(self: DeviceConsumer, x: Any) -> Device:
        named[0] = DeviceConsumer.device_of(self, x)
        return named[0]

    def array(self: DeviceConsumer, said: Description, owner: Any) -> Array:
        if said.device[0] == CUDA == named[0][0]:
            said = replace(said, device=named[0])
        return DeviceConsumer.array(self, said, owner)

    return consumer_with(device_of=device_of, array=array)


@device_consumer_mutant("a_refused_import_leaves_the_current_device_alone", step="take")
def leaves_the_device_current_of_what_it_refuses(
    self: DeviceConsumer, x: Any, **wanted: Any
) -> Array:
    """Restores the previous device after an import, but not after an error."""
    try:
        return DeviceConsumer.take(self, x, **wanted)
    except Exception:
        with self.there(self.device) as cuda:
            is_there = cuda is not None
        if is_there:
            opened().make_current(self.device[1])
        raise


@device_consumer_mutant("an_import_leaves_the_current_device_alone", step="ask")
def leaves_the_producers_device_current(
    self: DeviceConsumer, method: Any, keywords: Keywords
) -> Any:
    """Makes the producer's device current, and never restores the previous one."""
    capsule = DeviceConsumer.ask(self, method, keywords)
    with self.there(self.device) as cuda:
        is_there = cuda is not None
    if is_there:
        opened().make_current(self.device[1])
    return capsule


@device_consumer_mutant(
    "a_producer_that_needs_its_device_to_be_current_is_taken",
    "a_producer_that_orders_the_current_device_is_waited_for",
    step="ask",
)
def asks_whatever_device_is_current(self: DeviceConsumer, method: Any, keywords: Keywords) -> Any:
    """Requests a capsule with any device current."""
    return Consumer.ask(self, method, keywords)
