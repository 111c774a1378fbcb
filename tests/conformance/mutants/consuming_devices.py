"""Consumers that mishandle the device of memory.

Source: the rules DLP-DEV-1, DLP-DEV-2, DLP-DEV-3 and DLP-DEV-6.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from interchange.abi import capsules
from interchange.abi.dlpack import DLDeviceType

from ._honest_consumer import (
    EVERY_TYPE,
    HOST_TYPES,
    Array,
    Consumer,
    consumer_mutant,
    subject_of,
)

if TYPE_CHECKING:
    from interchange_conformance.subject import Subject
    from interchange_conformance.zoo import Description

Device = tuple[int, int]
_HOST: Final = (1, 0)


@consumer_mutant("memory_of_a_device_is_not_taken_for_host_memory")
class takes_device_memory_for_host_memory(Consumer):
    """It treats memory of every device as host memory."""

    known = True

    def check_device(self, device: Device) -> None:
        """Refuse memory that is not treated as host memory."""
        if device[0] in HOST_TYPES or (device[0] in EVERY_TYPE) != self.known:
            super().check_device(device)

    def array(self, said: Description, owner: Any) -> Array:
        """Return an array that reports the host as its device."""
        return super().array(replace(said, device=_HOST), owner)


@consumer_mutant("memory_of_unknown_devices_is_not_taken_for_host_memory")
class takes_unknown_devices_for_the_host(takes_device_memory_for_host_memory):
    """It treats memory of unknown device types as host memory."""

    known = False


@consumer_mutant(
    "memory_of_a_device_is_not_taken_for_host_memory",
    "memory_of_unknown_devices_is_not_taken_for_host_memory",
    "the_device_in_the_capsule_counts",
)
class reads_device_memory_as_the_host(Consumer):
    """It keeps the device of memory, and reads the memory as if it were on the host."""

    def check_device(self, device: Device) -> None:
        """Accept every device."""

    def read(self, y: Array) -> list[Any]:
        """Return the elements, whatever the device."""
        return super().read(self.array(replace(y.said, device=_HOST), y.owner))


class _Silent(Array):
    """An array that cannot report its device."""

    def __dlpack_device__(self) -> Device:
        raise RuntimeError("somewhere")


@consumer_mutant("memory_of_a_device_is_not_taken_for_host_memory")
class reads_device_memory_and_does_not_say_where_it_is(reads_device_memory_as_the_host):
    """It reads device memory as host memory, and its arrays do not report their device."""

    def array(self, said: Description, owner: Any) -> Array:
        """Return an array that cannot report its device."""
        return _Silent(self, said, owner)


@consumer_mutant("memory_of_a_device_is_not_taken_for_host_memory")
class forgets_the_number_of_the_device(Consumer):
    """It treats memory of every CUDA device as that of the first."""

    def __init__(self) -> None:
        super().__init__(EVERY_TYPE)

    def array(self, said: Description, owner: Any) -> Array:
        """Return an array on the first device of its type."""
        return super().array(replace(said, device=(said.device[0], 0)), owner)


@consumer_mutant("the_device_in_the_capsule_counts")
class believes_what_was_said(Consumer):
    """It uses the result of __dlpack_device__() instead of the struct."""

    believed: Device | None = None

    def take(self, x: Any, **wanted: Any) -> Array:
        """Return an array on the device that the producer reports."""
        self.believed = self.device_of(x)
        try:
            return super().take(x, **wanted)
        finally:
            self.believed = None

    def check_place(self, device: Device) -> None:
        """Refuse memory that cannot be accessed, unless the producer reported a device."""
        if self.believed is None:
            super().check_place(device)

    def array(self, said: Description, owner: Any) -> Array:
        """Return an array on the reported device."""
        return super().array(replace(said, device=self.believed or said.device), owner)


@consumer_mutant("page_locked_memory_may_come_as_host_memory")
class wants_the_very_device(believes_what_was_said):
    """It refuses host memory that was reported as page-locked."""

    def check_place(self, device: Device) -> None:
        """Refuse memory that is not on the reported device."""
        if self.believed not in (None, device):
            raise BufferError(f"{self.believed} was said, and {device} came")
        Consumer.check_place(self, device)


_WITH_VULKAN: Final = HOST_TYPES | {DLDeviceType.kDLVulkan}


def _anywhere() -> Subject:
    """Return an honest consumer that also describes memory of Vulkan."""
    return subject_of(Consumer(_WITH_VULKAN))


@consumer_mutant("what_is_taken_onto_the_host_is_there", counterpart=_anywhere)
class ignores_the_device_that_is_wanted(Consumer):
    """It leaves device memory where it is, whatever device was requested."""

    def __init__(self) -> None:
        super().__init__(_WITH_VULKAN)

    def placed(self, keywords: dict[str, Any], *_: object) -> dict[str, Any]:
        """Return the keywords of a request, which do not depend on the device."""
        return keywords


@consumer_mutant("the_host_can_be_asked_for", step="take")
def refuses_the_host(self: Consumer, x: Any, **wanted: Any) -> Array:
    """It refuses device="cpu", also for host arrays."""
    if wanted.get("device") is not None:
        raise NotImplementedError("device= is not supported")
    return Consumer.take(self, x, **wanted)


@consumer_mutant("memory_that_the_host_reaches_too_is_read_right", step="array")
def never_releases_managed_memory(consumer: Consumer, said: Description, owner: Any) -> Array:
    """It never releases managed memory."""
    if said.device[0] == 13:
        owner.deleter = None
    return Consumer.array(consumer, said, owner)


@consumer_mutant("negative_device_ids_are_refused", step="check_device")
def takes_negative_ids(consumer: Any, device: Any) -> Any:
    """It accepts memory of device -1."""
    return Consumer.check_device(consumer, (device[0], 0))


@consumer_mutant("odd_answers_about_the_device_do_no_harm", step="device_of")
def asks_for_the_device_too_late(consumer: Consumer, x: Any) -> Device:
    """It reads the device after it has renamed the capsule, and then loses it."""
    try:
        return Consumer.device_of(consumer, x)
    except BufferError:
        capsule = x.__dlpack__()
        consumer.mark(capsule, capsules.capsule_name(capsule) or b"")
        raise
