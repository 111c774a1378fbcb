"""Mutants of host devices: wrong types and ids, and ``dl_device`` ignored or misread."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any, Final

from interchange_conformance.probes.opened_capsule import OpenedCapsule
from interchange_conformance.zoo.on_device import OnDevice

from ._honest_device_producer import device_producer_mutant
from ._honest_producer import (
    HOST,
    Honest,
    asks_version,
    changed,
    producer_mutant,
)

if TYPE_CHECKING:
    from interchange_conformance.subject import Subject

_EXTENSION: Final = 12  # kDLExtDev
_ONEAPI: Final = 14


class _Elsewhere(Honest):
    """An array in host memory with another device in ``__dlpack_device__`` and in the struct."""

    said: Any = HOST
    written = HOST

    def __dlpack_device__(self) -> Any:
        return self.said

    def __dlpack__(self, *, dl_device: Any = None, **keywords: Any) -> Any:
        own = HOST if isinstance(dl_device, tuple) and dl_device == self.said else dl_device
        return super().__dlpack__(dl_device=own, **keywords)

    def capsule(self, *, versioned: bool, copy: bool) -> Any:
        """Return a capsule."""
        capsule = super().capsule(versioned=versioned, copy=copy)
        device = OpenedCapsule(capsule).tensor.device
        device.device_type, device.device_id = self.written
        return capsule


class _Kind(enum.Enum):
    """Kinds of devices, which are not ints."""

    CPU = 1


def _naming() -> Subject:
    """Return an honest producer whose device type is a member of an enum."""
    return changed(__dlpack_device__=lambda _: (_Kind.CPU, 0))


@producer_mutant("devices_are_tuples_of_two_ints", counterpart=_naming)
class devices_without_id(_Elsewhere):
    """__dlpack_device__() returns only the device type."""

    said = HOST[0]


@producer_mutant("device_types_are_known_numbers")
class device_type_5(_Elsewhere):
    """The device type is 5, which DLDeviceType does not define."""

    said = written = (5, 0)


@producer_mutant("capsules_are_on_the_device_that_was_said")
class one_device_said_and_another_shipped(_Elsewhere):
    """__dlpack_device__() returns Vulkan, and the struct has the host."""

    said = (7, 0)


@device_producer_mutant("capsules_are_on_the_device_that_was_said", step="__dlpack_device__")
def memory_of_a_vendor_that_is_an_extension(x: OnDevice) -> tuple[int, int]:
    """__dlpack_device__() returns oneAPI, and the capsule has an extension device."""
    kind, number = OnDevice.__dlpack_device__(x)
    return (_ONEAPI if kind == _EXTENSION else kind), number


@producer_mutant("host_memory_has_device_id_0")
class second_host(_Elsewhere):
    """Host memory has device id 1."""

    said = written = (1, 1)


@producer_mutant("host_memory_is_handed_to_the_host", step="__dlpack__")
def every_device_refused(self: Honest, *, dl_device: Any = None, **keywords: Any) -> Any:
    """Every dl_device is refused, including the array's own."""
    capsule = Honest.__dlpack__(self, dl_device=dl_device, **keywords)
    if dl_device is not None:
        raise BufferError("dl_device other than None is not supported")
    return capsule


@producer_mutant("devices_out_of_reach_raise_buffer_error", step="__dlpack__")
def every_device_granted(self: Honest, *, dl_device: Any = None, **keywords: Any) -> Any:
    """dl_device is checked and then ignored."""
    try:
        return Honest.__dlpack__(self, dl_device=dl_device, **keywords)
    except BufferError:
        return Honest.__dlpack__(self, **keywords)


@producer_mutant("devices_out_of_reach_raise_buffer_error", step="__dlpack__")
def devices_refused_with_runtime_error(
    self: Honest, *, dl_device: Any = None, **keywords: Any
) -> Any:
    """An unsupported dl_device is refused with RuntimeError."""
    try:
        return Honest.__dlpack__(self, dl_device=dl_device, **keywords)
    except BufferError as error:
        if dl_device is None:
            raise
        raise RuntimeError("no such backend") from error


@producer_mutant("malformed_devices_are_refused", step="__dlpack__")
def malformed_devices_ignored(self: Honest, *, dl_device: Any = None, **keywords: Any) -> Any:
    """A dl_device that is not a pair of ints is treated as None."""
    try:
        return Honest.__dlpack__(self, dl_device=dl_device, **keywords)
    except TypeError:
        if isinstance(dl_device, list):
            raise
        return Honest.__dlpack__(self, **keywords)


@producer_mutant(
    "malformed_devices_are_refused", "devices_in_a_list_are_refused", step="__dlpack__"
)
def every_device_ignored_without_legacy(
    self: Honest, *, dl_device: Any = None, **keywords: Any
) -> Any:
    """There is no legacy struct, and if a version is sent, every dl_device is ignored."""
    if not asks_version(keywords):
        raise BufferError("ask with max_version")
    return Honest.__dlpack__(self, dl_device=None if dl_device else dl_device, **keywords)


@producer_mutant("devices_in_a_list_are_refused", step="__dlpack__")
def devices_in_lists(self: Honest, *, dl_device: Any = None, **keywords: Any) -> Any:
    """A list is accepted as dl_device."""
    pair = tuple(dl_device) if isinstance(dl_device, list) else dl_device
    return Honest.__dlpack__(self, dl_device=pair, **keywords)
