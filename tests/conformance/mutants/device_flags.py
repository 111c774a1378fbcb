"""Producers of device memory whose structs lack a flag, or that copy when this is forbidden.

Source: array API standard 2025.12, ``array.__dlpack__``; dlpack.h 1.3; `checks.device_flags`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from interchange_conformance.zoo.on_device import OnDevice

from ._honest_device_producer import honest_device_producer, producer_with
from ._honest_recorder import honest_recorder, recorder_of
from .model import mutant

if TYPE_CHECKING:
    from interchange_conformance.subject import Subject
    from interchange_conformance.zoo.on_device import Block


@mutant("copies_of_device_memory_are_flagged", twin=honest_device_producer)
def forgets_that_it_copied_to_the_host() -> Subject:
    """Exports copies on the host as if they were the array's own memory."""

    def to_host(self: OnDevice, copy: bool | None) -> tuple[Block, bool]:
        block, _ = OnDevice.to_host(self, copy)
        return block, False

    return producer_with(to_host=to_host)


@mutant("copies_of_device_memory_are_flagged", twin=honest_device_producer)
def forgets_that_it_copied_on_the_device() -> Subject:
    """Exports copies on the device as if they were the array's own memory."""

    def capsule(self: OnDevice, block: Block, copied: bool, max_version: Any) -> Any:
        copied = copied and block.device[0] == 1
        return OnDevice.capsule(self, block, copied, max_version)

    return producer_with(capsule=capsule)


@mutant("copy_false_makes_no_copy_for_the_host", twin=honest_device_producer)
def copies_to_the_host_in_any_case() -> Subject:
    """Copies device memory to the host even if copy=False forbids it."""

    def to_host(self: OnDevice, copy: bool | None) -> tuple[Block, bool]:
        return OnDevice.to_host(self, None if copy is False else copy)

    return producer_with(to_host=to_host)


@mutant(
    "readonly_arrays_on_devices_are_flagged", "records_agree_with_capsules", twin=honest_recorder
)
def exports_read_only_memory_without_a_flag() -> Subject:
    """Marks memory as read-only in its record, but not in its capsules."""

    def capsule(self: OnDevice, block: Block, copied: bool, max_version: Any) -> Any:
        return OnDevice.capsule(self, block, copied, max_version)

    return recorder_of(capsule=capsule)
