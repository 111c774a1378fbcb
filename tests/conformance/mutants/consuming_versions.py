"""Consumers that mishandle versions: which structs they accept, and how they refuse others.

Source: the rules DLP-VER-1 and DLP-VER-3.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Final

from interchange.abi import capsules
from interchange.abi.dlpack import (
    DLPACK_FLAG_BITMASK_IS_COPIED,
    DLPACK_FLAG_BITMASK_READ_ONLY,
    DLManagedTensorVersioned,
)

from ._honest_consumer import Array, Consumer, Owner, consumer_mutant

if TYPE_CHECKING:
    from interchange_conformance.zoo import Description

Version = tuple[int, int]
_PLAIN: Final = ((2, 3), (3, 1), (2, 32, 1), 0)


def _refuse_if(wrong: bool) -> None:
    """Return a step that refuses a struct on a condition."""
    if wrong:
        raise BufferError("not known here")


@consumer_mutant("newer_majors_are_refused", step="check_version")
def takes_newer_majors(_: Any, version: Any) -> Any:
    """It accepts structs of version 2.0 and newer as if they had version 1.0."""
    return _refuse_if(version[0] < 1)


@consumer_mutant("newer_majors_are_released")
class leaks_newer_majors(Consumer):
    """It refuses structs of newer versions and does not release them."""

    def check_version(self, version: Version) -> None:
        """Record whether the version was refused."""
        self.newer = version[0] > 1
        super().check_version(version)

    def give_up(self, owner: Owner) -> None:
        """Release a tensor, unless its version was refused."""
        if self.newer:
            owner.deleter = None
        super().give_up(owner)


@consumer_mutant("newer_majors_are_released")
class releases_newer_majors_twice(leaks_newer_majors):
    """It refuses structs of newer versions and releases them twice."""

    def give_up(self, owner: Owner) -> None:
        """Release a tensor, and once more if its version was refused."""
        again = Owner(owner.address, owner.deleter if self.newer else None)
        self.newer = False
        super().give_up(owner)
        again.release()


@consumer_mutant("nothing_of_a_newer_major_is_read", step="struct_at")
def reads_before_it_looks_at_the_version(consumer: Consumer, address: int, name: bytes) -> Any:
    """It reads the number of axes before it checks the version."""
    found = Consumer.struct_at(consumer, address, name)
    _refuse_if(found.dl_tensor.ndim is None)
    return found


@consumer_mutant("versioned_structs_of_major_0_are_refused", step="check_version")
def takes_major_0(_: Any, version: Any) -> Any:
    """It accepts versioned structs of version 0.8."""
    return _refuse_if(version[0] > 1)


@consumer_mutant("every_minor_is_taken", step="check_version")
def refuses_newer_minors(_: Any, version: Any) -> Any:
    """It refuses structs of version 1.4 and newer."""
    return _refuse_if(version[0] != 1 or version[1] > 3)


@consumer_mutant("flags_of_no_concern_are_ignored", step="flags_of")
def refuses_copies(consumer: Consumer, managed: Any) -> int:
    """It refuses structs with the copy flag."""
    _refuse_if(bool(getattr(managed, "flags", 0) & DLPACK_FLAG_BITMASK_IS_COPIED))
    return Consumer.flags_of(consumer, managed)


@consumer_mutant("unknown_flags_are_ignored", step="flags_of")
def refuses_unknown_flags(_: Consumer, managed: Any) -> int:
    """It refuses structs with unknown flags."""
    flags = int(getattr(managed, "flags", 0))
    _refuse_if(flags >= 2**40)
    return flags & DLPACK_FLAG_BITMASK_READ_ONLY


class _Moved(Array):
    """An array that is read at another address."""

    place: int | None = None


@consumer_mutant("the_name_says_which_struct_it_is")
class reads_every_struct_as_a_versioned_one(Consumer):
    """It reads data of a legacy struct at its offset in the versioned struct."""

    def array(self, said: Description, owner: Any) -> Array:
        """Return an array that can have another address."""
        return _Moved(self, said, owner)

    def take_capsule(self, capsule: Any) -> Array:
        """Return an array at the address that the versioned struct would have."""
        legacy = capsules.capsule_name(capsule) == capsules.LEGACY
        y = super().take_capsule(capsule)
        said = y.said
        plain = (said.shape, said.strides, said.dtype, said.flags) == _PLAIN
        if isinstance(y, _Moved) and legacy and plain and y.owner.deleter:
            field = y.owner.address + DLManagedTensorVersioned.dl_tensor.offset
            y.place = ctypes.c_uint64.from_address(field).value  # offset of the strides
        return y

    def addresses(self, y: Array) -> list[int]:
        """Return the addresses at which elements are read."""
        place = y.place if isinstance(y, _Moved) else None
        return super().addresses(y) if place is None else [place] * 6
