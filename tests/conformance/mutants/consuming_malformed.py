"""Consumers that use what a malformed struct says.

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
    """Refuse too many axes, and not too few."""
    if ndim > MOST_AXES:
        raise BufferError(f"{ndim} axes")


@mutant("impossible_numbers_of_axes_are_refused", twin=honest)
def takes_negative_numbers_of_axes_for_none() -> Subject:
    """It takes an array of -1 axes for a scalar."""
    return changed(check_axes=_not_many)


def _ones(consumer: Consumer, tensor: Any) -> Ints:
    """Return the extents, which are 1 where there are none."""
    return Consumer.shape_of(consumer, tensor) if tensor.shape else (1,) * tensor.ndim


@mutant("shapes_that_are_null_are_refused", twin=honest)
def makes_a_shape_up() -> Subject:
    """It takes extents of 1 where shape is NULL."""
    return changed(shape_of=_ones)


@mutant("negative_extents_are_refused", twin=honest)
def takes_the_amount_of_an_extent() -> Subject:
    """It takes an extent of -3 for one of 3."""
    return changed(
        shape_of=lambda consumer, tensor: (
            tuple(min(abs(tensor.shape[axis]), 3) for axis in range(tensor.ndim))
            if tensor.ndim and tensor.shape and min(tensor.shape[: tensor.ndim]) < 0
            else Consumer.shape_of(consumer, tensor)
        )
    )


@mutant("sizes_beyond_64_bits_are_refused", twin=honest)
def counts_elements_without_a_limit() -> Subject:
    """It takes arrays with more elements than there can be."""
    return changed(check_size=lambda *_: None)


@mutant("strides_that_leave_the_address_space_are_refused", twin=honest)
def follows_strides_anywhere() -> Subject:
    """It takes strides that lead out of the address space."""
    return changed(check_reach=lambda *_: None)


def _address_made_up(consumer: Consumer, tensor: Any) -> int:
    """Return the address of the first element, which is one of ours where there is none."""
    if tensor.data is None:
        return ctypes.addressof(_own)
    return Consumer.address_of(consumer, tensor)


@mutant("elements_without_memory_are_refused", twin=honest)
def allocates_where_data_is_null() -> Subject:
    """It shows memory of its own where data is NULL."""
    return changed(address_of=_address_made_up)


def _wrapped(consumer: Consumer, tensor: Any) -> int:
    """Return the address of the first element, counted in 64 bits."""
    if tensor.data is None:
        return Consumer.address_of(consumer, tensor)
    return int(tensor.data + tensor.byte_offset) % _END


@mutant("offsets_that_leave_the_address_space_are_refused", twin=honest)
def adds_offsets_without_a_limit() -> Subject:
    """It adds byte_offset to data in 64 bits, and does not see that the sum wraps."""
    return changed(address_of=_wrapped)
