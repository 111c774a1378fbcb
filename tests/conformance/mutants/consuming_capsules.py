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

from ._honest_consumer import Consumer, changed, consumer_mutant, honest
from .model import mutant

if TYPE_CHECKING:
    from interchange_conformance.subject import Subject

_USED_UP: Final = b"used_up"


@consumer_mutant("plain_arrays_are_taken", step="check_axes")
def refuses_every_array(*_: Any) -> Any:
    """It refuses every array."""
    raise BufferError("not today")


@consumer_mutant("capsules_of_other_names_are_refused", step="name_of")
def compares_the_beginning_of_the_name(consumer: Consumer, capsule: Any) -> bytes:
    """It only compares the prefix of a capsule's name."""
    if type(capsule) is capsules.PyCapsule:
        name = capsules.capsule_name(capsule) or b""
        if name.startswith(capsules.LEGACY) and name != capsules.LEGACY:
            return capsules.VERSIONED
    return Consumer.name_of(consumer, capsule)


@consumer_mutant("used_capsules_are_refused")
class takes_what_others_have_used(Consumer):
    """It refuses capsules that it has used itself, and accepts those used by other consumers."""

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


@consumer_mutant("taken_capsules_are_renamed", step="mark")
def renames_as_it_likes(_: Consumer, capsule: Any, __: bytes) -> None:
    """It renames a consumed capsule to a custom name."""
    capsules.rename_capsule(capsule, _USED_UP)
    capsules.set_capsule_destructor(capsule, None)


@consumer_mutant("a_capsule_is_taken_once")
class takes_a_capsule_again(Consumer):
    """It makes a second array of a consumed capsule, which owns nothing."""

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


@consumer_mutant("a_capsule_is_taken_once")
class releases_the_first_when_it_refuses_the_second(Consumer):
    """It refuses a consumed capsule, and releases the tensor of the first array."""

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


@consumer_mutant("a_refused_capsule_is_either_used_or_not", step="give_up")
def leaks_what_it_refuses(_: Consumer, owner: Any) -> None:
    """It renames a capsule and does not release the tensor, which it then refuses."""
    owner.deleter = None


@consumer_mutant(
    "a_refused_capsule_is_either_used_or_not",
    step="take_capsule",
    claiming=contextlib.nullcontext(),
)
def releases_what_it_leaves(consumer: Consumer, capsule: Any) -> Any:
    """It releases the tensor of a refused capsule, and does not rename the capsule."""
    name = consumer.name_of(capsule)
    owner = consumer.own(consumer.pointer_of(capsule), name)
    try:
        y = consumer.understand(owner, name)
    except Exception:
        owner.release()
        raise
    consumer.mark(capsule, name)
    return y


@consumer_mutant("the_destructor_of_a_taken_capsule_is_cleared", step="mark")
def leaves_the_destructor(_: Any, capsule: Any, name: Any) -> Any:
    """It leaves the destructor of a consumed capsule in place."""
    return capsules.rename_capsule(capsule, capsules.USED_NAME[name])


@consumer_mutant("what_is_no_capsule_is_refused", step="take_capsule")
def takes_none_for_an_empty_array(consumer: Consumer, capsule: Any) -> Any:
    """It accepts None from a producer as an array without elements."""
    if capsule is None:
        return consumer.array(Description((0,), (1,)), None)
    return Consumer.take_capsule(consumer, capsule)


@consumer_mutant(
    "of_two_threads_one_takes_a_capsule", step="pointer_of", claiming=contextlib.nullcontext()
)
def checks_and_then_claims(consumer: Consumer, capsule: Any) -> int:
    """It lets other threads run between checking a capsule's name and renaming it."""
    time.sleep(0.002)
    return Consumer.pointer_of(consumer, capsule)


@mutant("of_two_threads_one_takes_a_capsule", counterpart=honest)
def claims_without_a_lock() -> Subject:
    """It has no lock between checking a capsule's name and renaming it."""
    return changed(claiming=contextlib.nullcontext())
