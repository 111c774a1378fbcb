"""Consumers that release too early, too often, too late or never.

Source: the rules DLP-LIFE-1, DLP-LIFE-5, DLP-LIFE-7 and DLP-LIFE-8.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from interchange.abi import capsules

from ._honest_consumer import Array, Consumer, Owner, changed, consumer_mutant, honest
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


_owner_mutant = partial(mutant, counterpart=honest, build=_owning)
_array_mutant = partial(mutant, counterpart=honest, build=_taken)


@_array_mutant("the_deleter_runs_once_when_the_array_dies")
def never_releases_what_it_takes(_: Description, owner: Owner) -> None:
    """It never releases imported tensors."""
    owner.deleter = None


@_array_mutant("the_deleter_runs_once_when_the_array_dies")
def releases_at_once(_: Description, owner: Owner) -> None:
    """It releases a tensor as soon as it has created the array."""
    owner.release()


@_owner_mutant("the_deleter_runs_once_when_the_array_dies")
class releases_twice(Owner):
    """It releases every tensor twice."""

    def release(self, _call: Callable[[int], Any] = capsules.deleter_at) -> None:
        """Call the deleter twice."""
        deleter = self.deleter
        super().release()
        if deleter:
            _call(deleter)(self.address)


@_owner_mutant("the_deleter_runs_once_when_the_array_dies")
class releases_again_when_it_is_collected(Owner):
    """It releases every tensor, and once more when cycles are collected."""

    def release(self, _call: Callable[[int], Any] = capsules.deleter_at) -> None:
        """Call the deleter, and leave a cycle that calls it again."""
        address, deleter = self.address, self.deleter
        super().release()
        if deleter:
            cycle: list[Any] = [Owner(address, deleter)]
            cycle.append(cycle)


@_array_mutant("the_deleter_runs_once_when_the_array_dies")
def releases_a_copy(_: Description, owner: Owner) -> None:
    """It calls the deleter with a copy of the struct."""
    copy = ctypes.create_string_buffer(ctypes.string_at(owner.address, 80), 80)
    _kept.append(copy)
    owner.address = ctypes.addressof(copy)


@_array_mutant("a_tensor_is_released_once_whatever_becomes_of_it")
def never_releases_arrays_without_elements(said: Description, owner: Owner) -> None:
    """It never releases arrays without elements."""
    if isinstance(said.shape, tuple) and 0 in said.shape:
        owner.deleter = None


@consumer_mutant("views_keep_the_memory", step="hand_on")
def hands_on_what_it_does_not_keep(self: Consumer, y: Array, *, versioned: bool) -> Any:
    """It exports memory, and does not keep it alive for consumers."""
    capsule = Consumer.hand_on(self, y, versioned=versioned)
    self.lent[-1] = (self.lent[-1][0], None)
    return capsule


@_owner_mutant("deleters_that_are_null_are_not_called")
class calls_deleters_that_are_null(Owner):
    """It calls the deleter without checking for NULL."""

    def release(self, _call: Callable[[int], Any] = capsules.deleter_at) -> None:
        """Call the deleter once, even if it is NULL."""
        address, self.address = self.address, 0
        if address:
            _call(self.deleter or 0)(address)


@consumer_mutant("arrays_without_a_deleter_are_taken", step="own")
def refuses_deleters_that_are_null(consumer: Consumer, address: int, name: bytes) -> Owner:
    """It refuses arrays with a NULL deleter."""
    owner = Consumer.own(consumer, address, name)
    if not owner.deleter:
        raise BufferError("the deleter is NULL")
    return owner


def _look_at_context(consumer: Consumer, managed: Any) -> int:
    """Return the flags, after reading the memory at ``manager_ctx``, unless it is NULL."""
    if managed.manager_ctx:
        ctypes.string_at(managed.manager_ctx, 8)
    return Consumer.flags_of(consumer, managed)


def _curious() -> Subject:
    """Return an honest consumer that reads ``manager_ctx``."""
    return changed(flags_of=_look_at_context)


@consumer_mutant("arrays_without_a_manager_ctx_are_taken", step="flags_of", counterpart=_curious)
def refuses_contexts_that_are_null(consumer: Consumer, managed: Any) -> int:
    """It refuses arrays with a NULL manager_ctx."""
    if not managed.manager_ctx:
        raise BufferError("manager_ctx is NULL")
    return _look_at_context(consumer, managed)


@consumer_mutant("the_struct_stays_as_the_producer_made_it", step="strides_of")
def counts_strides_in_bytes_in_place(
    consumer: Consumer, tensor: Any, shape: tuple[int, ...]
) -> tuple[int, ...]:
    """It converts the producer's strides to bytes in place."""
    strides = Consumer.strides_of(consumer, tensor, shape)
    if tensor.strides:
        for axis, step in enumerate(strides):
            tensor.strides[axis] = step * tensor.dtype.bits // 8
    return strides


@consumer_mutant("the_struct_stays_as_the_producer_made_it", step="strides_of")
def fills_strides_that_are_null(
    consumer: Consumer, tensor: Any, shape: tuple[int, ...]
) -> tuple[int, ...]:
    """It sets NULL strides of the producer's struct to a vector of its own."""
    strides = Consumer.strides_of(consumer, tensor, shape)
    if strides and not tensor.strides:
        vector = (ctypes.c_int64 * len(strides))(*strides)
        _kept.append(vector)
        tensor.strides = ctypes.cast(vector, type(tensor.strides))
    return strides


@consumer_mutant("the_struct_stays_as_the_producer_made_it", step="address_of")
def adds_the_offset_in_place(consumer: Consumer, tensor: Any) -> int:
    """It adds byte_offset to data in the producer's struct."""
    address = Consumer.address_of(consumer, tensor)
    tensor.data, tensor.byte_offset = address, 0
    return address


@consumer_mutant("the_struct_stays_as_the_producer_made_it", step="own")
def clears_the_deleter(consumer: Consumer, address: int, name: bytes) -> Owner:
    """It sets the deleter of the producer's struct to NULL after reading it."""
    owner = Consumer.own(consumer, address, name)
    consumer.struct_at(address, name).deleter = None
    return owner


class _Remembering(Array):
    """An array that keeps its producer."""

    producer: Any = None


@consumer_mutant("elements_are_read_without_asking_again")
class asks_again_whenever_it_reads(Consumer):
    """It requests a new capsule from the producer whenever elements are read."""

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


@_owner_mutant("arrays_may_die_on_another_thread")
class releases_on_its_own_thread_only(Owner):
    """It does not release arrays that are freed on another thread."""

    def __init__(self, address: int, deleter: int | None) -> None:
        super().__init__(address, deleter)
        self.home = threading.get_ident()

    def release(self, _call: Callable[[int], Any] = capsules.deleter_at) -> None:
        """Call the deleter, on that thread only."""
        if threading.get_ident() == self.home:
            super().release()


@_owner_mutant("arrays_may_outlive_the_interpreter")
class aborts_at_exit(Owner):
    """It aborts if an array is freed while the interpreter exits."""

    def __del__(
        self,
        _is_ending: Callable[[], bool] = sys.is_finalizing,
        _end: Callable[[], Any] = os.abort,
    ) -> None:
        if _is_ending() and self.deleter:
            _end()
        super().__del__()
