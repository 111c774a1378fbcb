"""Consumers that misread legal layouts, or refuse them unnecessarily.

Source: the rules DLP-SHAPE-1, DLP-SHAPE-2, DLP-STRIDES-1, DLP-STRIDES-2, DLP-STRIDES-4,
DLP-DATA-2
and DLP-DATA-3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ._honest_consumer import Consumer, consumer_mutant

if TYPE_CHECKING:
    from ._honest_consumer import Array

Ints = tuple[int, ...]
_FEW: Final = 32  # axes


@consumer_mutant("strides_are_honoured", step="strides_of")
def takes_stride_0_for_1(consumer: Any, tensor: Any, shape: Any) -> Any:
    """It treats strides of 0 as strides of 1."""
    return tuple(step or 1 for step in Consumer.strides_of(consumer, tensor, shape))


@consumer_mutant("strides_that_are_null_mean_c_order", step="strides_of")
def refuses_strides_that_are_null(consumer: Consumer, tensor: Any, shape: Ints) -> Ints:
    """It refuses arrays with NULL strides."""
    if shape and not tensor.strides:
        raise BufferError("strides is NULL")
    return Consumer.strides_of(consumer, tensor, shape)


@consumer_mutant("strides_that_may_not_be_null_do_no_harm")
class follows_strides_that_may_not_be_null(Consumer):
    """It dereferences NULL strides in structs of version 1.3."""

    since = (0, 0)

    def check_version(self, version: tuple[int, int]) -> None:
        """Record the version."""
        self.since = version
        super().check_version(version)

    def strides_of(self, tensor: Any, shape: Ints) -> Ints:
        """Return the strides, read from NULL if they are missing."""
        if self.since >= (1, 2) and shape and not tensor.strides:
            return (0,) * len(shape)
        return super().strides_of(tensor, shape)


@consumer_mutant("the_byte_offset_is_added", step="address_of")
def forgets_the_byte_offset(consumer: Any, tensor: Any) -> Any:
    """It reads the first element at data, and ignores byte_offset."""
    return Consumer.address_of(consumer, tensor) - tensor.byte_offset


@consumer_mutant("pointers_of_scalars_are_not_followed", step="shape_of")
def follows_the_shape_of_scalars(consumer: Consumer, tensor: Any) -> Ints:
    """It reads the shape of an array without axes."""
    if tensor.shape and tensor.shape[0] < 0:
        raise BufferError("an extent is negative")
    return Consumer.shape_of(consumer, tensor)


@consumer_mutant("arrays_without_elements_are_not_followed", step="read")
def reads_an_element_where_there_is_none(consumer: Consumer, y: Array) -> list[Any]:
    """It reads an element of an array without elements."""
    return Consumer.read(consumer, y) or [0.0]


@consumer_mutant("arrays_without_elements_are_taken", step="first_of")
def refuses_data_that_is_null(
    consumer: Consumer, tensor: Any, shape: Ints, strides: Ints, size: int
) -> int:
    """It refuses arrays without elements whose data is NULL."""
    consumer.address_of(tensor)
    return Consumer.first_of(consumer, tensor, shape, strides, size)


@consumer_mutant("strides_of_single_elements_do_not_matter", step="strides_of")
def minds_the_stride_of_a_single_element(consumer: Consumer, tensor: Any, shape: Ints) -> Ints:
    """It refuses an array of shape (1,) with another stride than 1."""
    strides = Consumer.strides_of(consumer, tensor, shape)
    if shape == (1,) and strides != (1,):
        raise BufferError("a single element with strides")
    return strides


@consumer_mutant(
    "no_axes_are_lost",
    step="shape_of",
    strides_of=lambda consumer, tensor, shape: Consumer.strides_of(consumer, tensor, shape)[:_FEW],
)
def has_room_for_32_axes(consumer: Any, tensor: Any) -> Any:
    """It drops the axes after the 32nd."""
    return Consumer.shape_of(consumer, tensor)[:_FEW]
