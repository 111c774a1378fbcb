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

from ._honest_consumer import Array, Consumer, Owner, changed, honest, subject_of
from .model import mutant

if TYPE_CHECKING:
    from interchange_conformance.subject import Subject
    from interchange_conformance.zoo import Description

Version = tuple[int, int]
_PLAIN: Final = ((2, 3), (3, 1), (2, 32, 1), 0)


def _refuse_if(wrong: bool) -> None:
    """Return a step that refuses a struct on a condition."""
    if wrong:
        raise BufferError("not known here")


@mutant("newer_majors_are_refused", twin=honest)
def takes_newer_majors() -> Subject:
    """It accepts structs of version 2.0 and newer as if they had version 1.0."""
    return changed(check_version=lambda _, version: _refuse_if(version[0] < 1))


class _Refusing(Consumer):
    """A consumer that drops the structs of newer versions."""

    def check_version(self, version: Version) -> None:
        """Record whether the version was refused."""
        self.newer = version[0] > 1
        super().check_version(version)

    def give_up(self, owner: Owner) -> None:
        """Release a tensor, unless its version was refused."""
        if self.newer:
            owner.deleter = None
        super().give_up(owner)


class _ReleasingTwice(_Refusing):
    """A consumer that releases the structs of newer versions twice."""

    def give_up(self, owner: Owner) -> None:
        """Release a tensor, and once more if its version was refused."""
        again = Owner(owner.address, owner.deleter if self.newer else None)
        self.newer = False
        super().give_up(owner)
        again.release()


@mutant("newer_majors_are_released", twin=honest)
def releases_newer_majors_twice() -> Subject:
    """It refuses structs of newer versions and releases them twice."""
    return subject_of(_ReleasingTwice())


@mutant("newer_majors_are_released", twin=honest)
def leaks_newer_majors() -> Subject:
    """It refuses structs of newer versions and does not release them."""
    return subject_of(_Refusing())


def _looked_at(consumer: Consumer, address: int, name: bytes) -> Any:
    """Return a struct, after reading its tensor."""
    found = Consumer.struct_at(consumer, address, name)
    _refuse_if(found.dl_tensor.ndim is None)
    return found


@mutant("nothing_of_a_newer_major_is_read", twin=honest)
def reads_before_it_looks_at_the_version() -> Subject:
    """It reads the number of axes before it checks the version."""
    return changed(struct_at=_looked_at)


@mutant("versioned_structs_of_major_0_are_refused", twin=honest)
def takes_major_0() -> Subject:
    """It accepts versioned structs of version 0.8."""
    return changed(check_version=lambda _, version: _refuse_if(version[0] > 1))


@mutant("every_minor_is_taken", twin=honest)
def refuses_newer_minors() -> Subject:
    """It refuses structs of version 1.4 and newer."""
    return changed(check_version=lambda _, version: _refuse_if(version[0] != 1 or version[1] > 3))


def _known_flags(_: Consumer, managed: Any) -> int:
    """Return the flags, if all are known."""
    flags = int(getattr(managed, "flags", 0))
    _refuse_if(flags >= 2**40)
    return flags & DLPACK_FLAG_BITMASK_READ_ONLY


def _no_copies(consumer: Consumer, managed: Any) -> int:
    """Return the flags, if the copy flag is not set."""
    _refuse_if(bool(getattr(managed, "flags", 0) & DLPACK_FLAG_BITMASK_IS_COPIED))
    return Consumer.flags_of(consumer, managed)


@mutant("flags_of_no_concern_are_ignored", twin=honest)
def refuses_copies() -> Subject:
    """It refuses structs with the copy flag."""
    return changed(flags_of=_no_copies)


@mutant("unknown_flags_are_ignored", twin=honest)
def refuses_unknown_flags() -> Subject:
    """It refuses structs with unknown flags."""
    return changed(flags_of=_known_flags)


class _Moved(Array):
    """An array that is read at another address."""

    place: int | None = None


class _Presuming(Consumer):
    """A consumer that requests the versioned struct, and reads all structs as versioned."""

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


@mutant("the_name_says_which_struct_it_is", twin=honest)
def reads_every_struct_as_a_versioned_one() -> Subject:
    """It reads data of a legacy struct at its offset in the versioned struct."""
    return subject_of(_Presuming())
