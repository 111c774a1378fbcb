"""Mutants of host devices: wrong types and ids, and ``dl_device`` ignored or misread.

Source: the checks of the same name.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any, Final

from interchange_conformance.zoo.on_device import OnDevice

from ._honest_device_producer import honest_device_producer, subject_of as device_subject_of
from ._honest_producer import HOST, Honest, asks_version, honest_producer, producer_of
from .model import mutant

if TYPE_CHECKING:
    from interchange_conformance.subject import Subject

_EXTENSION: Final = 12  # kDLExtDev
_ONEAPI: Final = 14


class _Elsewhere(Honest):
    """An array in host memory that reports another device.

    Attributes
    ----------
    said, written : tuple of int
        Type and id, in ``__dlpack_device__`` and in the struct.
    """

    said: Any = HOST
    written = HOST

    def __dlpack_device__(self) -> Any:
        return self.said

    def __dlpack__(self, *, dl_device: Any = None, **keywords: Any) -> Any:
        own = HOST if isinstance(dl_device, tuple) and dl_device == self.said else dl_device
        return super().__dlpack__(dl_device=own, **keywords)

    def capsule(self, *, versioned: bool, copy: bool) -> Any:
        """Return a capsule."""
        from interchange_conformance.probes.opened_capsule import OpenedCapsule

        capsule = super().capsule(versioned=versioned, copy=copy)
        device = OpenedCapsule(capsule).tensor.device
        device.device_type, device.device_id = self.written
        return capsule


class _Kind(enum.Enum):
    """Kinds of devices, which are not ints."""

    CPU = 1


class _Naming(Honest):
    """An array that returns its device with the standard's type."""

    def __dlpack_device__(self) -> Any:
        return (_Kind.CPU, 0)


def _naming() -> Subject:
    """Return an honest producer whose device type is a member of an enum."""
    return producer_of(_Naming)


@mutant("devices_are_tuples_of_two_ints", twin=_naming)
def devices_without_id() -> Subject:
    """__dlpack_device__() returns only the device type."""

    class Bare(_Elsewhere):
        """An array that returns 1."""

        said = HOST[0]

    return producer_of(Bare)


@mutant("device_types_are_known_numbers", twin=honest_producer)
def device_type_5() -> Subject:
    """The device type is 5, which DLDeviceType does not define."""

    class Unheard(_Elsewhere):
        """An array on a device of unknown type."""

        said = written = (5, 0)

    return producer_of(Unheard)


@mutant("capsules_are_on_the_device_that_was_said", twin=honest_producer)
def one_device_said_and_another_shipped() -> Subject:
    """__dlpack_device__() returns Vulkan, and the struct has the host."""

    class Divided(_Elsewhere):
        """An array whose struct differs from the reported device."""

        said = (7, 0)

    return producer_of(Divided)


@mutant("capsules_are_on_the_device_that_was_said", twin=honest_device_producer)
def memory_of_a_vendor_that_is_an_extension() -> Subject:
    """__dlpack_device__() returns oneAPI, and the capsule has an extension device."""

    class Extension(OnDevice):
        """An array whose capsules have another kind of device."""

        def __dlpack_device__(self) -> tuple[int, int]:
            kind, number = super().__dlpack_device__()
            return (_ONEAPI if kind == _EXTENSION else kind), number

    return device_subject_of(Extension)


@mutant("host_memory_has_device_id_0", twin=honest_producer)
def second_host() -> Subject:
    """Host memory has device id 1."""

    class Second(_Elsewhere):
        """An array on the second host."""

        said = written = (1, 1)

    return producer_of(Second)


@mutant("host_memory_is_handed_to_the_host", twin=honest_producer)
def every_device_refused() -> Subject:
    """Every dl_device is refused, including the array's own."""

    class Immobile(Honest):
        """An array that refuses dl_device."""

        def __dlpack__(self, *, dl_device: Any = None, **keywords: Any) -> Any:
            capsule = super().__dlpack__(dl_device=dl_device, **keywords)
            if dl_device is not None:
                raise BufferError("dl_device other than None is not supported")
            return capsule

    return producer_of(Immobile)


@mutant("devices_out_of_reach_raise_buffer_error", twin=honest_producer)
def every_device_granted() -> Subject:
    """dl_device is checked and then ignored."""

    class Deaf(Honest):
        """An array that returns host memory for every dl_device."""

        def __dlpack__(self, *, dl_device: Any = None, **keywords: Any) -> Any:
            try:
                return super().__dlpack__(dl_device=dl_device, **keywords)
            except BufferError:
                return super().__dlpack__(**keywords)

    return producer_of(Deaf)


@mutant("devices_out_of_reach_raise_buffer_error", twin=honest_producer)
def devices_refused_with_runtime_error() -> Subject:
    """An unsupported dl_device is refused with RuntimeError."""

    class Rough(Honest):
        """An array that raises RuntimeError."""

        def __dlpack__(self, *, dl_device: Any = None, **keywords: Any) -> Any:
            try:
                return super().__dlpack__(dl_device=dl_device, **keywords)
            except BufferError as error:
                if dl_device is None:
                    raise
                raise RuntimeError("no such backend") from error

    return producer_of(Rough)


@mutant("malformed_devices_are_refused", twin=honest_producer)
def malformed_devices_ignored() -> Subject:
    """A dl_device that is not a pair of ints is treated as None."""

    class Lenient(Honest):
        """An array that ignores malformed arguments."""

        def __dlpack__(self, *, dl_device: Any = None, **keywords: Any) -> Any:
            try:
                return super().__dlpack__(dl_device=dl_device, **keywords)
            except TypeError:
                if isinstance(dl_device, list):
                    raise
                return super().__dlpack__(**keywords)

    return producer_of(Lenient)


@mutant("malformed_devices_are_refused", "devices_in_a_list_are_refused", twin=honest_producer)
def every_device_ignored_without_legacy() -> Subject:
    """There is no legacy struct, and if a version is sent, every dl_device is ignored."""

    class Modern(Honest):
        """An array that only uses the version of a request."""

        def __dlpack__(self, *, dl_device: Any = None, **keywords: Any) -> Any:
            if not asks_version(keywords):
                raise BufferError("ask with max_version")
            return super().__dlpack__(dl_device=None if dl_device else dl_device, **keywords)

    return producer_of(Modern)


@mutant("devices_in_a_list_are_refused", twin=honest_producer)
def devices_in_lists() -> Subject:
    """A list is accepted as dl_device."""

    class Listing(Honest):
        """An array that accepts any two numbers."""

        def __dlpack__(self, *, dl_device: Any = None, **keywords: Any) -> Any:
            pair = tuple(dl_device) if isinstance(dl_device, list) else dl_device
            return super().__dlpack__(dl_device=pair, **keywords)

    return producer_of(Listing)
