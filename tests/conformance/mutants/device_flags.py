"""Producers of device memory whose structs lack a flag, or that copy when this is forbidden.

Source: array API standard 2025.12, ``array.__dlpack__``; dlpack.h 1.3; `checks.device_flags`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from interchange_conformance.zoo.on_device import OnDevice

from ._honest_device_producer import device_producer_mutant
from ._honest_recorder import recorder_mutant

if TYPE_CHECKING:
    from interchange_conformance.zoo.on_device import Block


@device_producer_mutant("copies_of_device_memory_are_flagged", step="to_host")
def forgets_that_it_copied_to_the_host(self: OnDevice, copy: bool | None) -> tuple[Block, bool]:
    """Exports copies on the host as if they were the array's own memory."""
    block, _ = OnDevice.to_host(self, copy)
    return block, False


@device_producer_mutant("copies_of_device_memory_are_flagged", step="capsule")
def forgets_that_it_copied_on_the_device(
    self: OnDevice, block: Block, copied: bool, max_version: Any
) -> Any:
    """Exports copies on the device as if they were the array's own memory."""
    copied = copied and block.device[0] == 1
    return OnDevice.capsule(self, block, copied, max_version)


@device_producer_mutant("copy_false_makes_no_copy_for_the_host", step="to_host")
def copies_to_the_host_in_any_case(self: OnDevice, copy: bool | None) -> tuple[Block, bool]:
    """Copies device memory to the host even if copy=False forbids it."""
    return OnDevice.to_host(self, None if copy is False else copy)


@recorder_mutant(
    "readonly_arrays_on_devices_are_flagged", "records_agree_with_capsules", step="capsule"
)
def exports_read_only_memory_without_a_flag(
    self: OnDevice, block: Block, copied: bool, max_version: Any
) -> Any:
    """Marks memory as read-only in its record, but not in its capsules."""
    return OnDevice.capsule(self, block, copied, max_version)
