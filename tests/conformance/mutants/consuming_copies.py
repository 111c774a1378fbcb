"""Consumers that copy or share memory contrary to the request.

Source: the rules DLP-COPY-1 and DLP-COPY-2.
"""

from __future__ import annotations

import ctypes
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from interchange_conformance.zoo.memory import c_strides

from ._honest_consumer import FORMATS, Consumer, changed, honest, itemsize, subject_of
from .model import mutant

if TYPE_CHECKING:
    from interchange_conformance.subject import Subject
    from interchange_conformance.zoo import Description

    from ._honest_consumer import Array


class _Copying(Consumer):
    """A consumer that copies all input for a value of ``copy``.

    Parameters
    ----------
    when : bool or None
        The value.
    """

    def __init__(self, when: bool | None) -> None:
        super().__init__()
        self.when = when
        self.wanted: bool | None = None

    def take(self, x: Any, **wanted: Any) -> Array:
        """Return an array, and record the request."""
        self.wanted = wanted.get("copy")
        return super().take(x, **wanted)

    def array(self, said: Description, owner: Any) -> Array:
        """Return an array over separate memory if the request matches."""
        y = super().array(said, owner)
        if self.wanted is not self.when or said.dtype not in FORMATS:
            return y
        size = itemsize(said.dtype)
        elements = b"".join(ctypes.string_at(place, size) for place in self.addresses(y))
        memory = ctypes.create_string_buffer(elements, max(1, len(elements)))
        owner.release()
        strides = c_strides(y.shape)
        data = ctypes.addressof(memory) if elements else None
        return super().array(replace(said, strides=strides, data=data), memory)


@mutant("memory_is_shared_by_default", twin=honest)
def copies_by_default() -> Subject:
    """It copies every array unless copy=False is passed."""
    return subject_of(_Copying(None))


@mutant("copy_false_shares_or_refuses", twin=honest)
def copies_with_copy_false() -> Subject:
    """It copies with copy=False."""
    return subject_of(_Copying(False))  # noqa: FBT003 - as above


class _CopyingOdd(_Copying):
    """A consumer that copies with copy=False unless the array is in C order and 8-byte aligned."""

    def array(self, said: Description, owner: Any) -> Array:
        """Return an array, over separate memory if the producer's layout is unusual."""
        odd = isinstance(said.shape, tuple) and said.strides != c_strides(said.shape)
        self.when = False if odd or (said.data or 0) % 8 else None
        if self.wanted is None:
            self.when = False
        return super().array(said, owner)


@mutant("copy_false_shares_or_refuses", twin=honest)
def copies_odd_layouts_with_copy_false() -> Subject:
    """It copies with copy=False if the array is not in C order or not aligned."""
    return subject_of(_CopyingOdd(None))


def _refuse_copy_false(consumer: Consumer, x: Any, *, copy: bool | None = None) -> Array:
    """Return an array, or refuse copy=False."""
    if copy is False:
        raise BufferError("nobody knows whether there will be a copy")
    return Consumer.take(consumer, x, copy=copy)


@mutant("copy_false_takes_what_is_shared_anyway", twin=honest)
def refuses_copy_false() -> Subject:
    """It refuses copy=False for all input."""
    return changed(take=_refuse_copy_false)


def _without(value: bool) -> Subject:
    """Return a consumer that does not pass a value of ``copy`` on."""

    def take(consumer: Consumer, x: Any, *, copy: bool | None = None) -> Array:
        return Consumer.take(consumer, x, copy=None if copy is value else copy)

    return changed(take=take)


@mutant("copy_true_copies_or_refuses", twin=honest)
def shares_with_copy_true() -> Subject:
    """It shares memory with copy=True."""
    return _without(True)  # noqa: FBT003 - as above


def _ask_without_copy(consumer: Consumer, method: Any, keywords: dict[str, Any]) -> Any:
    """Request a capsule with every keyword or with none."""
    try:
        return method(**keywords)
    except TypeError:
        return Consumer.ask(consumer, method, {})


@mutant("copy_true_copies_or_refuses", twin=honest)
def forgets_the_copy_when_it_asks_again() -> Subject:
    """It repeats a request without copy=True if the producer refuses it, and does not copy."""
    return changed(ask=_ask_without_copy)


@mutant("copy_false_reaches_the_producer", twin=honest)
def keeps_copy_false_to_itself() -> Subject:
    """It does not pass copy=False to the producer."""
    return _without(False)  # noqa: FBT003 - as above
