"""Consumers that accept malformed structs.

Source: the rules DLP-SHAPE-1 to DLP-SHAPE-4, DLP-STRIDES-2, DLP-DATA-1 and DLP-DATA-2.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Final

from ._honest_consumer import MOST_AXES, Consumer, changed, honest
from .model import mutant

if TYPE_CHECKING:
    from interchange_conformance.subject import Subject

Ints = tuple[int, ...]
_own: Final = ctypes.create_string_buffer(64)
_END: Final = 2**64


def _not_many(_: Consumer, ndim: int) -> None:
    """Refuse too many axes, but not negative numbers."""
    if ndim > MOST_AXES:
        raise BufferError(f"{ndim} axes")


@mutant("impossible_numbers_of_axes_are_refused", twin=honest)
def takes_negative_numbers_of_axes_for_none() -> Subject:
    """It treats an array of -1 axes as a scalar."""
    return changed(check_axes=_not_many)


def _ones(consumer: Consumer, tensor: Any) -> Ints:
    """Return the extents, which are 1 if shape is NULL."""
    return Consumer.shape_of(consumer, tensor) if tensor.shape else (1,) * tensor.ndim


@mutant("shapes_that_are_null_are_refused", twin=honest)
def makes_a_shape_up() -> Subject:
    """It uses extents of 1 if shape is NULL."""
    return changed(shape_of=_ones)


@mutant("negative_extents_are_refused", twin=honest)
def takes_the_amount_of_an_extent() -> Subject:
    """It treats an extent of -3 as 3."""
    return changed(
        shape_of=lambda consumer, tensor: (
            tuple(min(abs(tensor.shape[axis]), 3) for axis in range(tensor.ndim))
            if tensor.ndim and tensor.shape and min(tensor.shape[: tensor.ndim]) < 0
            else Consumer.shape_of(consumer, tensor)
        )
    )


@mutant("sizes_beyond_64_bits_are_refused", twin=honest)
def counts_elements_without_a_limit() -> Subject:
    """It accepts arrays with more elements than possible."""
    return changed(check_size=lambda *_: None)


@mutant("strides_that_leave_the_address_space_are_refused", twin=honest)
def follows_strides_anywhere() -> Subject:
    """It accepts strides that lead out of the address space."""
    return changed(check_reach=lambda *_: None)


def _address_made_up(consumer: Consumer, tensor: Any) -> int:
    """Return the address of the first element, or of its own memory if data is NULL."""
    if tensor.data is None:
        return ctypes.addressof(_own)
    return Consumer.address_of(consumer, tensor)


@mutant("elements_without_memory_are_refused", twin=honest)
def allocates_where_data_is_null() -> Subject:
    """It uses its own memory if data is NULL."""
    return changed(address_of=_address_made_up)


def _wrapped(consumer: Consumer, tensor: Any) -> int:
    """Return the address of the first element, computed modulo 2**64."""
    if tensor.data is None:
        return Consumer.address_of(consumer, tensor)
    return int(tensor.data + tensor.byte_offset) % _END


@mutant("offsets_that_leave_the_address_space_are_refused", twin=honest)
def adds_offsets_without_a_limit() -> Subject:
    """It adds byte_offset to data in 64 bits without an overflow check."""
    return changed(address_of=_wrapped)
