"""Consumers with errors in the acceptance, renaming or reuse of capsules.

Source: the rules DLP-CAP-1, DLP-CAP-2, DLP-CAP-3 and DLP-CAP-5.
"""

from __future__ import annotations

import contextlib
import time
import weakref
from typing import TYPE_CHECKING, Any, Final

from interchange.abi import capsules
from interchange_conformance.zoo.structs import Description

from ._honest_consumer import Consumer, changed, honest, subject_of
from .model import mutant

if TYPE_CHECKING:
    from interchange_conformance.subject import Subject

_USED_UP: Final = b"used_up"


def _refuse(*_: Any) -> Any:
    """Raise an error."""
    raise BufferError("not today")


@mutant("plain_arrays_are_taken", twin=honest)
def refuses_every_array() -> Subject:
    """It refuses every array."""
    return changed(check_axes=_refuse)


def _name_that_begins_right(consumer: Consumer, capsule: Any) -> bytes:
    """Return the name of any capsule with the prefix of a tensor's name."""
    if type(capsule) is capsules.PyCapsule:
        name = capsules.capsule_name(capsule) or b""
        if name.startswith(capsules.LEGACY) and name != capsules.LEGACY:
            return capsules.VERSIONED
    return Consumer.name_of(consumer, capsule)


@mutant("capsules_of_other_names_are_refused", twin=honest)
def compares_the_beginning_of_the_name() -> Subject:
    """It only compares the prefix of a capsule's name."""
    return changed(name_of=_name_that_begins_right)


class _Remembering(Consumer):
    """A consumer that recognises used capsules by their address, and not by their name."""

    def __init__(self) -> None:
        super().__init__()
        self.used: set[int] = set()

    def name_of(self, capsule: Any) -> bytes:
        """Return the name that a capsule had before it was used."""
        if type(capsule) is not capsules.PyCapsule:
            return super().name_of(capsule)
        name = capsules.capsule_name(capsule)
        before = {used: unused for unused, used in capsules.USED_NAME.items()}
        if name not in before or self.pointer_of(capsule) in self.used:
            return super().name_of(capsule)
        return before[name]

    def mark(self, capsule: Any, name: bytes) -> None:
        """Mark a capsule, and record it."""
        self.used.add(self.pointer_of(capsule))
        super().mark(capsule, name)


@mutant("used_capsules_are_refused", twin=honest)
def takes_what_others_have_used() -> Subject:
    """It refuses capsules that it has used itself, and accepts those used by other consumers."""
    return subject_of(_Remembering())


def _rename_otherwise(_: Consumer, capsule: Any, __: bytes) -> None:
    """Give a capsule a custom name."""
    capsules.rename_capsule(capsule, _USED_UP)
    capsules.set_capsule_destructor(capsule, None)


@mutant("taken_capsules_are_renamed", twin=honest)
def renames_as_it_likes() -> Subject:
    """It renames a consumed capsule to a custom name."""
    return changed(mark=_rename_otherwise)


class _Generous(Consumer):
    """A consumer that imports the tensor of a capsule as often as requested."""

    def __init__(self) -> None:
        super().__init__()
        self.mine: dict[int, Any] = {}

    def take_capsule(self, capsule: Any) -> Any:
        """Return the array of a capsule that was imported before, if there is one."""
        if type(capsule) is not capsules.PyCapsule:
            return super().take_capsule(capsule)
        address = capsules.capsule_pointer(capsule, capsules.capsule_name(capsule))
        used = capsules.capsule_name(capsule) in capsules.USED_NAME.values()
        if used and address in self.mine:
            return self.array(self.mine[address], None)
        y = super().take_capsule(capsule)
        self.mine[address] = y.said
        return y


@mutant("a_capsule_is_taken_once", twin=honest)
def takes_a_capsule_again() -> Subject:
    """It makes a second array of a consumed capsule, which owns nothing."""
    return subject_of(_Generous())


class _Harming(Consumer):
    """A consumer that releases the last tensor when it finds a used capsule."""

    last: Any = None

    def name_of(self, capsule: Any) -> bytes:
        """Return the name of a capsule, and release the tensor of a used one."""
        try:
            return super().name_of(capsule)
        except ValueError:
            owner = None if self.last is None else self.last()
            if owner is not None:
                owner.release()
            raise

    def array(self, said: Description, owner: Any) -> Any:
        """Return an array, and record its owner."""
        self.last = weakref.ref(owner)
        return super().array(said, owner)


@mutant("a_capsule_is_taken_once", twin=honest)
def releases_the_first_when_it_refuses_the_second() -> Subject:
    """It refuses a consumed capsule, and releases the tensor of the first array."""
    return subject_of(_Harming())


def _forget(_: Consumer, owner: Any) -> None:
    """Drop a tensor without releasing it."""
    owner.deleter = None


@mutant("a_refused_capsule_is_either_used_or_not", twin=honest)
def leaks_what_it_refuses() -> Subject:
    """It renames a capsule and does not release the tensor, which it then refuses."""
    return changed(give_up=_forget)


def _release_and_leave(consumer: Consumer, capsule: Any) -> Any:
    """Return an array; for a refused capsule, release the tensor without renaming the capsule."""
    name = consumer.name_of(capsule)
    owner = consumer.own(consumer.pointer_of(capsule), name)
    try:
        y = consumer.understand(owner, name)
    except Exception:
        owner.release()
        raise
    consumer.mark(capsule, name)
    return y


@mutant("a_refused_capsule_is_either_used_or_not", twin=honest)
def releases_what_it_leaves() -> Subject:
    """It releases the tensor of a refused capsule, and does not rename the capsule."""
    return changed(take_capsule=_release_and_leave, claiming=contextlib.nullcontext())


@mutant("the_destructor_of_a_taken_capsule_is_cleared", twin=honest)
def leaves_the_destructor() -> Subject:
    """It leaves the destructor of a consumed capsule in place."""
    return changed(
        mark=lambda _, capsule, name: capsules.rename_capsule(capsule, capsules.USED_NAME[name])
    )


def _nothing_for_none(consumer: Consumer, capsule: Any) -> Any:
    """Return an array without elements instead of None."""
    if capsule is None:
        return consumer.array(Description((0,), (1,)), None)
    return Consumer.take_capsule(consumer, capsule)


@mutant("what_is_no_capsule_is_refused", twin=honest)
def takes_none_for_an_empty_array() -> Subject:
    """It accepts None from a producer as an array without elements."""
    return changed(take_capsule=_nothing_for_none)


def _slow_pointer(consumer: Consumer, capsule: Any) -> int:
    """Return the address in a capsule, some time after checking its name."""
    time.sleep(0.002)
    return Consumer.pointer_of(consumer, capsule)


@mutant("of_two_threads_one_takes_a_capsule", twin=honest)
def checks_and_then_claims() -> Subject:
    """It lets other threads run between checking a capsule's name and renaming it."""
    return changed(claiming=contextlib.nullcontext(), pointer_of=_slow_pointer)


@mutant("of_two_threads_one_takes_a_capsule", twin=honest)
def claims_without_a_lock() -> Subject:
    """It has no lock between checking a capsule's name and renaming it."""
    return changed(claiming=contextlib.nullcontext())
