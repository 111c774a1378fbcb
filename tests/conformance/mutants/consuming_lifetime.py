"""Consumers that release too early, too often, too late or never.

Source: the rules DLP-LIFE-1, DLP-LIFE-5, DLP-LIFE-7 and DLP-LIFE-8.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from typing import TYPE_CHECKING, Any, Final

from interchange.abi import capsules

from ._honest_consumer import Array, Consumer, Owner, changed, honest, subject_of
from .model import mutant

if TYPE_CHECKING:
    from collections.abc import Callable

    from interchange_conformance.subject import Subject
    from interchange_conformance.zoo import Description

_kept: Final[list[Any]] = []


def _owning(kind: type[Owner]) -> Subject:
    """Return a consumer whose tensors are owned by a kind of owner."""
    return changed(
        own=lambda consumer, address, name: kind(address, consumer.struct_at(address, name).deleter)
    )


def _taken(step: Callable[[Description, Owner], None]) -> Subject:
    """Return a consumer that calls a function for each imported tensor."""

    def array(consumer: Consumer, said: Description, owner: Any) -> Array:
        step(said, owner)
        return Consumer.array(consumer, said, owner)

    return changed(array=array)


def _never(_: Description, owner: Owner) -> None:
    """Drop the deleter."""
    owner.deleter = None


@mutant("the_deleter_runs_once_when_the_array_dies", twin=honest)
def never_releases_what_it_takes() -> Subject:
    """It never releases imported tensors."""
    return _taken(_never)


@mutant("the_deleter_runs_once_when_the_array_dies", twin=honest)
def releases_at_once() -> Subject:
    """It releases a tensor as soon as it has created the array."""
    return _taken(lambda _, owner: owner.release())


class _Twice(Owner):
    """An owner that releases twice."""

    def release(self, _call: Callable[[int], Any] = capsules.deleter_at) -> None:
        """Call the deleter twice."""
        deleter = self.deleter
        super().release()
        if deleter:
            _call(deleter)(self.address)


@mutant("the_deleter_runs_once_when_the_array_dies", twin=honest)
def releases_twice() -> Subject:
    """It releases every tensor twice."""
    return _owning(_Twice)


class _TwiceLate(Owner):
    """An owner whose second release happens in the next garbage collection."""

    def release(self, _call: Callable[[int], Any] = capsules.deleter_at) -> None:
        """Call the deleter, and leave a cycle that calls it again."""
        address, deleter = self.address, self.deleter
        super().release()
        if deleter:
            cycle: list[Any] = [Owner(address, deleter)]
            cycle.append(cycle)


@mutant("the_deleter_runs_once_when_the_array_dies", twin=honest)
def releases_again_when_it_is_collected() -> Subject:
    """It releases every tensor, and once more when cycles are collected."""
    return _owning(_TwiceLate)


def _copy_struct(_: Description, owner: Owner) -> None:
    """Own a copy of the struct."""
    copy = ctypes.create_string_buffer(ctypes.string_at(owner.address, 80), 80)
    _kept.append(copy)
    owner.address = ctypes.addressof(copy)


@mutant("the_deleter_runs_once_when_the_array_dies", twin=honest)
def releases_a_copy() -> Subject:
    """It calls the deleter with a copy of the struct."""
    return _taken(_copy_struct)


def _never_if_empty(said: Description, owner: Owner) -> None:
    """Drop the deleter of an array without elements."""
    if isinstance(said.shape, tuple) and 0 in said.shape:
        owner.deleter = None


@mutant("a_tensor_is_released_once_whatever_becomes_of_it", twin=honest)
def never_releases_arrays_without_elements() -> Subject:
    """It never releases arrays without elements."""
    return _taken(_never_if_empty)


class _Ungrateful(Consumer):
    """A consumer that exports memory without keeping its owner."""

    def hand_on(self, y: Array, *, versioned: bool) -> Any:
        """Return a capsule of an array's memory, which is not kept alive."""
        capsule = super().hand_on(y, versioned=versioned)
        self.lent[-1] = (self.lent[-1][0], None)
        return capsule


@mutant("views_keep_the_memory", twin=honest)
def hands_on_what_it_does_not_keep() -> Subject:
    """It exports memory, and does not keep it alive for consumers."""
    return subject_of(_Ungrateful())


class _Reckless(Owner):
    """An owner that calls the deleter without a check."""

    def release(self, _call: Callable[[int], Any] = capsules.deleter_at) -> None:
        """Call the deleter once, even if it is NULL."""
        address, self.address = self.address, 0
        if address:
            _call(self.deleter or 0)(address)


@mutant("deleters_that_are_null_are_not_called", twin=honest)
def calls_deleters_that_are_null() -> Subject:
    """It calls the deleter without checking for NULL."""
    return _owning(_Reckless)


def _need_deleter(consumer: Consumer, address: int, name: bytes) -> Owner:
    """Return the owner of a struct, which must have a deleter."""
    owner = Consumer.own(consumer, address, name)
    if not owner.deleter:
        raise BufferError("nobody can release it")
    return owner


@mutant("arrays_without_a_deleter_are_taken", twin=honest)
def refuses_deleters_that_are_null() -> Subject:
    """It refuses arrays with a NULL deleter."""
    return changed(own=_need_deleter)


def _look_at_context(consumer: Consumer, managed: Any) -> int:
    """Return the flags, after reading the memory at ``manager_ctx``, unless it is NULL."""
    if managed.manager_ctx:
        ctypes.string_at(managed.manager_ctx, 8)
    return Consumer.flags_of(consumer, managed)


def _curious() -> Subject:
    """Return an honest consumer that reads ``manager_ctx``."""
    return changed(flags_of=_look_at_context)


def _need_context(consumer: Consumer, managed: Any) -> int:
    """Return the flags of a struct that has a ``manager_ctx``."""
    if not managed.manager_ctx:
        raise BufferError("the tensor belongs to nobody")
    return _look_at_context(consumer, managed)


@mutant("arrays_without_a_manager_ctx_are_taken", twin=_curious)
def refuses_contexts_that_are_null() -> Subject:
    """It refuses arrays with a NULL manager_ctx."""
    return changed(flags_of=_need_context)


def _scaled(consumer: Consumer, tensor: Any, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the strides, converted to bytes in the producer's memory."""
    strides = Consumer.strides_of(consumer, tensor, shape)
    if tensor.strides:
        for axis, step in enumerate(strides):
            tensor.strides[axis] = step * tensor.dtype.bits // 8
    return strides


@mutant("the_struct_stays_as_the_producer_made_it", twin=honest)
def counts_strides_in_bytes_in_place() -> Subject:
    """It converts the producer's strides to bytes in place."""
    return changed(strides_of=_scaled)


def _filled(consumer: Consumer, tensor: Any, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the strides, written into the struct if they are NULL."""
    strides = Consumer.strides_of(consumer, tensor, shape)
    if strides and not tensor.strides:
        vector = (ctypes.c_int64 * len(strides))(*strides)
        _kept.append(vector)
        tensor.strides = ctypes.cast(vector, type(tensor.strides))
    return strides


@mutant("the_struct_stays_as_the_producer_made_it", twin=honest)
def fills_strides_that_are_null() -> Subject:
    """It sets NULL strides of the producer's struct to a vector of its own."""
    return changed(strides_of=_filled)


def _moved(consumer: Consumer, tensor: Any) -> int:
    """Return the address of the first element, written into data."""
    address = Consumer.address_of(consumer, tensor)
    tensor.data, tensor.byte_offset = address, 0
    return address


@mutant("the_struct_stays_as_the_producer_made_it", twin=honest)
def adds_the_offset_in_place() -> Subject:
    """It adds byte_offset to data in the producer's struct."""
    return changed(address_of=_moved)


def _emptied(consumer: Consumer, address: int, name: bytes) -> Owner:
    """Return the owner of a struct, after clearing its deleter."""
    owner = Consumer.own(consumer, address, name)
    consumer.struct_at(address, name).deleter = None
    return owner


@mutant("the_struct_stays_as_the_producer_made_it", twin=honest)
def clears_the_deleter() -> Subject:
    """It sets the deleter of the producer's struct to NULL after reading it."""
    return changed(own=_emptied)


class _Remembering(Array):
    """An array that keeps its producer."""

    producer: Any = None


class _Lazy(Consumer):
    """A consumer that calls the producer whenever elements are read."""

    def array(self, said: Description, owner: Any) -> Array:
        """Return an array that can keep its producer."""
        return _Remembering(self, said, owner)

    def take(self, x: Any, **wanted: Any) -> Array:
        """Return an array that keeps its producer."""
        y = super().take(x, **wanted)
        if isinstance(y, _Remembering):
            y.producer = x
        return y

    def read(self, y: Array) -> list[Any]:
        """Return the current elements of the producer."""
        producer = y.producer if isinstance(y, _Remembering) else None
        return super().read(y if producer is None else super().take(producer))


@mutant("elements_are_read_without_asking_again", twin=honest)
def asks_again_whenever_it_reads() -> Subject:
    """It requests a new capsule from the producer whenever elements are read."""
    return subject_of(_Lazy())


class _Homebound(Owner):
    """An owner that only releases on the thread that created it."""

    def __init__(self, address: int, deleter: int | None) -> None:
        super().__init__(address, deleter)
        self.home = threading.get_ident()

    def release(self, _call: Callable[[int], Any] = capsules.deleter_at) -> None:
        """Call the deleter, on that thread only."""
        if threading.get_ident() == self.home:
            super().release()


@mutant("arrays_may_die_on_another_thread", twin=honest)
def releases_on_its_own_thread_only() -> Subject:
    """It does not release arrays that are freed on another thread."""
    return _owning(_Homebound)


class _Abrupt(Owner):
    """An owner that aborts at the exit of the interpreter."""

    def __del__(
        self,
        _is_ending: Callable[[], bool] = sys.is_finalizing,
        _end: Callable[[], Any] = os.abort,
    ) -> None:
        if _is_ending() and self.deleter:
            _end()
        super().__del__()


@mutant("arrays_may_outlive_the_interpreter", twin=honest)
def aborts_at_exit() -> Subject:
    """It aborts if an array is freed while the interpreter exits."""
    return _owning(_Abrupt)
