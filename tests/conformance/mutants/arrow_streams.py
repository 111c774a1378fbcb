"""Mutants of Arrow's streams, and of what is said of devices.

Source: the checks of the same name.
"""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

from interchange_conformance.zoo.arrow import Place

from ._honest_arrow_producer import honest_arrow_producer, saying
from .model import mutant

if TYPE_CHECKING:
    from interchange_conformance.subject import Subject


@mutant("callbacks_of_streams_are_there", twin=honest_arrow_producer)
def has_no_words_for_errors() -> Subject:
    """Its streams have no get_last_error."""
    return saying(lambda x: x.but(has_get_last_error=False))


@mutant("callbacks_of_streams_return_zero", twin=honest_arrow_producer)
def returns_positive_numbers() -> Subject:
    """get_schema of its streams returns 1."""
    return saying(lambda x: x.but(schema_error=1))


@mutant("callbacks_of_streams_return_zero", "streams_end_after_their_last_chunk",
        twin=honest_arrow_producer)  # fmt: skip
def ends_with_an_error() -> Subject:
    """Its streams return an error at their end."""
    return saying(lambda x: x.but(next_error=errno.ENODATA, fails_at=len(x.chunks)))


@mutant("streams_end_after_their_last_chunk", twin=honest_arrow_producer)
def ends_after_the_first_chunk() -> Subject:
    """Its streams give one chunk."""
    return saying(lambda x: type(x)(x.field, x.chunks[:1], x.values))


@mutant("memory_of_the_host_is_said_to_be_there", twin=honest_arrow_producer)
def counts_devices_from_zero() -> Subject:
    """It says device type 0 for the host."""
    return saying(lambda x: x.but(place=Place(0, 0)))


@mutant("reserved_bytes_are_zero", twin=honest_arrow_producer)
def leaves_reserved_bytes() -> Subject:
    """It leaves what is reserved as it was."""
    return saying(lambda x: x.but(place=Place(1, -1, reserved=0xAB)))


@mutant("memory_of_the_host_is_said_to_be_there", twin=honest_arrow_producer)
def has_events_on_the_host() -> Subject:
    """It has an event for memory of the host."""
    return saying(lambda x: x.but(place=Place(1, -1, 4096)))
