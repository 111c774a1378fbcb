"""Mutants whose memory of a device without a driver here is said to be another's.

Source: the checks of the same name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from interchange_conformance.zoo.on_device import OnDevice

from ._honest_device_producer import honest_device_producer, subject_of
from .model import mutant

if TYPE_CHECKING:
    from interchange_conformance.subject import Subject

_EXTENSION: Final = 12  # kDLExtDev
_ONEAPI: Final = 14


@mutant("the_capsule_is_of_the_kind_that_was_said", twin=honest_device_producer)
def memory_of_a_vendor_that_is_an_extension() -> Subject:
    """__dlpack_device__() says oneAPI, and the capsule an extension device."""

    class Extension(OnDevice):
        """An array whose capsules say another kind of device."""

        def __dlpack_device__(self) -> tuple[int, int]:
            kind, number = super().__dlpack_device__()
            return (_ONEAPI if kind == _EXTENSION else kind), number

    return subject_of(Extension)
