"""Consumers that accept malformed structs.

Source: the rules DLP-SHAPE-1 to DLP-SHAPE-4, DLP-STRIDES-2, DLP-DATA-1 and DLP-DATA-2.
"""

from __future__ import annotations

import ctypes
from typing import Any, Final

from ._honest_consumer import MOST_AXES, Consumer, consumer_mutant

Ints = tuple[int, ...]
_own: Final = ctypes.create_string_buffer(64)
_END: Final = 2**64


@consumer_mutant("impossible_numbers_of_axes_are_refused", step="check_axes")
def takes_negative_numbers_of_axes_for_none(_: Consumer, ndim: int) -> None:
    """It treats an array of -1 axes as a scalar."""
    if ndim > MOST_AXES:
        raise BufferError(f"{ndim} axes")


@consumer_mutant("shapes_that_are_null_are_refused", step="shape_of")
def makes_a_shape_up(consumer: Consumer, tensor: Any) -> Ints:
    """It uses extents of 1 if shape is NULL."""
    return Consumer.shape_of(consumer, tensor) if tensor.shape else (1,) * tensor.ndim


@consumer_mutant("negative_extents_are_refused", step="shape_of")
def takes_the_amount_of_an_extent(consumer: Any, tensor: Any) -> Any:
    """It treats an extent of -3 as 3."""
    return (
        tuple(min(abs(tensor.shape[axis]), 3) for axis in range(tensor.ndim))
        if tensor.ndim and tensor.shape and min(tensor.shape[: tensor.ndim]) < 0
        else Consumer.shape_of(consumer, tensor)
    )


@consumer_mutant("sizes_beyond_64_bits_are_refused", step="check_size")
def counts_elements_without_a_limit(*_: object) -> None:
    """It accepts arrays with more elements than possible."""


@consumer_mutant("strides_that_leave_the_address_space_are_refused", step="check_reach")
def follows_strides_anywhere(*_: object) -> None:
    """It accepts strides that lead out of the address space."""


@consumer_mutant("elements_without_memory_are_refused", step="address_of")
def allocates_where_data_is_null(consumer: Consumer, tensor: Any) -> int:
    """It uses its own memory if data is NULL."""
    if tensor.data is None:
        return ctypes.addressof(_own)
    return Consumer.address_of(consumer, tensor)


@consumer_mutant("offsets_that_leave_the_address_space_are_refused", step="address_of")
def adds_offsets_without_a_limit(consumer: Consumer, tensor: Any) -> int:
    """It adds byte_offset to data in 64 bits without an overflow check."""
    if tensor.data is None:
        return Consumer.address_of(consumer, tensor)
    return int(tensor.data + tensor.byte_offset) % _END
