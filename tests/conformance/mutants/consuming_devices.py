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
    changed,
    honest,
    subject_of,
)
from .model import mutant

if TYPE_CHECKING:
    from interchange_conformance.subject import Subject
    from interchange_conformance.zoo import Description

Device = tuple[int, int]
_HOST: Final = (1, 0)


class _Presuming(Consumer):
    """A consumer that treats memory of some devices as host memory.

    Parameters
    ----------
    known : bool
        Whether these are the known device types, or the unknown ones.
    """

    def __init__(self, *, known: bool) -> None:
        super().__init__()
        self.known = known

    def check_device(self, device: Device) -> None:
        """Refuse memory that is not treated as host memory."""
        if device[0] in HOST_TYPES or (device[0] in EVERY_TYPE) != self.known:
            super().check_device(device)

    def array(self, said: Description, owner: Any) -> Array:
        """Return an array that reports the host as its device."""
        return super().array(replace(said, device=_HOST), owner)


@mutant("memory_of_a_device_is_not_taken_for_host_memory", twin=honest)
def takes_device_memory_for_host_memory() -> Subject:
    """It treats memory of every device as host memory."""
    return subject_of(_Presuming(known=True))


def _read_everything(consumer: Consumer, y: Array) -> list[Any]:
    """Return the elements, whatever the device."""
    there = y.consumer.array(replace(y.said, device=_HOST), y.owner)
    return Consumer.read(consumer, there)


@mutant(
    "memory_of_a_device_is_not_taken_for_host_memory",
    "memory_of_unknown_devices_is_not_taken_for_host_memory",
    "the_device_in_the_capsule_counts",
    twin=honest,
)
def reads_device_memory_as_the_host() -> Subject:
    """It keeps the device of memory, and reads the memory as if it were on the host."""
    return changed(read=_read_everything, check_device=lambda *_: None)


class _Silent(Array):
    """An array that cannot report its device."""

    def __dlpack_device__(self) -> Device:
        raise RuntimeError("somewhere")


def _silent(consumer: Consumer, said: Description, owner: Any) -> Array:
    """Return an array that cannot report its device."""
    return _Silent(consumer, said, owner)


@mutant("memory_of_a_device_is_not_taken_for_host_memory", twin=honest)
def reads_device_memory_and_does_not_say_where_it_is() -> Subject:
    """It reads device memory as host memory, and its arrays do not report their device."""
    return changed(
        read=_read_everything,
        check_device=lambda *_: None,
        array=_silent,
    )


def _first_of_its_kind(consumer: Consumer, said: Description, owner: Any) -> Array:
    """Return an array on the first device of its type."""
    return Consumer.array(consumer, replace(said, device=(said.device[0], 0)), owner)


@mutant("memory_of_a_device_is_not_taken_for_host_memory", twin=honest)
def forgets_the_number_of_the_device() -> Subject:
    """It treats memory of every CUDA device as that of the first."""
    return changed(__init__=_with_every_type, array=_first_of_its_kind)


def _with_every_type(consumer: Consumer) -> None:
    """Accept memory of every device."""
    Consumer.__init__(consumer, EVERY_TYPE)


@mutant("memory_of_unknown_devices_is_not_taken_for_host_memory", twin=honest)
def takes_unknown_devices_for_the_host() -> Subject:
    """It treats memory of unknown device types as host memory."""
    return subject_of(_Presuming(known=False))


class _Believing(Consumer):
    """A consumer that uses the result of __dlpack_device__() instead of the struct."""

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


@mutant("the_device_in_the_capsule_counts", twin=honest)
def believes_what_was_said() -> Subject:
    """It uses the result of __dlpack_device__() instead of the struct."""
    return subject_of(_Believing())


class _Strict(_Believing):
    """A consumer that requires the reported device in the struct."""

    def check_place(self, device: Device) -> None:
        """Refuse memory that is not on the reported device."""
        if self.believed not in (None, device):
            raise BufferError(f"{self.believed} was said, and {device} came")
        Consumer.check_place(self, device)


@mutant("page_locked_memory_may_come_as_host_memory", twin=honest)
def wants_the_very_device() -> Subject:
    """It refuses host memory that was reported as page-locked."""
    return subject_of(_Strict())


_WITH_VULKAN: Final = HOST_TYPES | {DLDeviceType.kDLVulkan}


def _anywhere() -> Subject:
    """Return an honest consumer that also describes memory of Vulkan."""
    return subject_of(Consumer(_WITH_VULKAN))


class _Immobile(Consumer):
    """A consumer that accepts ``device``, and leaves memory where it is."""

    def placed(self, keywords: dict[str, Any], *_: object) -> dict[str, Any]:
        """Return the keywords of a request, which do not depend on the device."""
        return keywords


@mutant("what_is_taken_onto_the_host_is_there", twin=_anywhere)
def ignores_the_device_that_is_wanted() -> Subject:
    """It leaves device memory where it is, whatever device was requested."""
    return subject_of(_Immobile(_WITH_VULKAN))


class _Homeless(Consumer):
    """A consumer that has the parameter ``device``, and refuses all devices."""

    def take(self, x: Any, **wanted: Any) -> Array:
        """Return an array over the memory of `x`, if no device is requested."""
        if wanted.get("device") is not None:
            raise NotImplementedError("device= is not supported")
        return super().take(x, **wanted)


@mutant("the_host_can_be_asked_for", twin=honest)
def refuses_the_host() -> Subject:
    """It refuses device="cpu", also for host arrays."""
    return subject_of(_Homeless())


def _managed_for_ever(consumer: Consumer, said: Description, owner: Any) -> Array:
    """Return an array; managed memory is never released."""
    if said.device[0] == 13:
        owner.deleter = None
    return Consumer.array(consumer, said, owner)


@mutant("memory_that_the_host_reaches_too_is_read_right", twin=honest)
def never_releases_managed_memory() -> Subject:
    """It never releases managed memory."""
    return changed(array=_managed_for_ever)


@mutant("negative_device_ids_are_refused", twin=honest)
def takes_negative_ids() -> Subject:
    """It accepts memory of device -1."""
    return changed(
        check_device=lambda consumer, device: Consumer.check_device(consumer, (device[0], 0))
    )


def _device_asked_too_late(consumer: Consumer, x: Any) -> Device:
    """Return the device that a producer reports, or lose a capsule."""
    try:
        return Consumer.device_of(consumer, x)
    except BufferError:
        capsule = x.__dlpack__()
        consumer.mark(capsule, capsules.capsule_name(capsule) or b"")
        raise


@mutant("odd_answers_about_the_device_do_no_harm", twin=honest)
def asks_for_the_device_too_late() -> Subject:
    """It reads the device after it has renamed the capsule, and then loses it."""
    return changed(device_of=_device_asked_too_late)
