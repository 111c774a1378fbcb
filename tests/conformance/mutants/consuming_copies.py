"""Consumers that copy or share memory contrary to the request.

Source: the rules DLP-COPY-1 and DLP-COPY-2.
"""

from __future__ import annotations

import ctypes
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from interchange_conformance.zoo.memory import c_strides

from ._honest_consumer import (
    FORMATS,
    Consumer,
    consumer_mutant,
    itemsize,
)

if TYPE_CHECKING:
    from interchange_conformance.zoo import Description

    from ._honest_consumer import Array, Keywords


@consumer_mutant("memory_is_shared_by_default")
class copies_by_default(Consumer):
    """It copies every array unless copy=False is passed."""

    when: bool | None = None
    wanted: bool | None = None

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


@consumer_mutant("copy_false_shares_or_refuses")
class copies_with_copy_false(copies_by_default):
    """It copies with copy=False."""

    when = False


@consumer_mutant("copy_false_shares_or_refuses")
class copies_odd_layouts_with_copy_false(copies_by_default):
    """It copies with copy=False if the array is not in C order or not aligned."""

    def array(self, said: Description, owner: Any) -> Array:
        """Return an array, over separate memory if the producer's layout is unusual."""
        odd = isinstance(said.shape, tuple) and said.strides != c_strides(said.shape)
        self.when = False if odd or (said.data or 0) % 8 or self.wanted is None else None
        return super().array(said, owner)


@consumer_mutant("copy_false_takes_what_is_shared_anyway", step="take")
def refuses_copy_false(consumer: Consumer, x: Any, *, copy: bool | None = None) -> Array:
    """It refuses copy=False for all input."""
    if copy is False:
        raise BufferError("whether there will be a copy is unknown")
    return Consumer.take(consumer, x, copy=copy)


@consumer_mutant("copy_true_copies_or_refuses", step="take")
def shares_with_copy_true(consumer: Consumer, x: Any, *, copy: bool | None = None) -> Array:
    """It shares memory with copy=True."""
    return Consumer.take(consumer, x, copy=None if copy else copy)


@consumer_mutant("copy_true_copies_or_refuses", step="ask")
def forgets_the_copy_when_it_asks_again(consumer: Consumer, method: Any, keywords: Keywords) -> Any:
    """It repeats a request without copy=True if the producer refuses it, and does not copy."""
    try:
        return method(**keywords)
    except TypeError:
        return Consumer.ask(consumer, method, {})


@consumer_mutant("copy_false_reaches_the_producer", step="take")
def keeps_copy_false_to_itself(consumer: Consumer, x: Any, *, copy: bool | None = None) -> Array:
    """It does not pass copy=False to the producer."""
    return Consumer.take(consumer, x, copy=copy or None)
