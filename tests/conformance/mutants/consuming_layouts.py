"""Consumers that misread legal layouts, or refuse them unnecessarily.

Source: the rules DLP-SHAPE-1, DLP-SHAPE-2, DLP-STRIDES-1, DLP-STRIDES-2, DLP-STRIDES-4,
DLP-DATA-2
and DLP-DATA-3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ._honest_consumer import Consumer, changed, honest, subject_of
from .model import mutant

if TYPE_CHECKING:
    from interchange_conformance.subject import Subject

    from ._honest_consumer import Array

Ints = tuple[int, ...]
_FEW: Final = 32  # axes


@mutant("strides_are_honoured", twin=honest)
def takes_stride_0_for_1() -> Subject:
    """It treats strides of 0 as strides of 1."""
    return changed(
        strides_of=lambda consumer, tensor, shape: tuple(
            step or 1 for step in Consumer.strides_of(consumer, tensor, shape)
        )
    )


def _given_strides(consumer: Consumer, tensor: Any, shape: Ints) -> Ints:
    """Return the strides, which must not be NULL."""
    if shape and not tensor.strides:
        raise BufferError("strides is NULL")
    return Consumer.strides_of(consumer, tensor, shape)


@mutant("strides_that_are_null_mean_c_order", twin=honest)
def refuses_strides_that_are_null() -> Subject:
    """It refuses arrays with NULL strides."""
    return changed(strides_of=_given_strides)


class _Trusting(Consumer):
    """A consumer that dereferences strides from version 1.2 on, where they are never NULL."""

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


@mutant("strides_that_may_not_be_null_do_no_harm", twin=honest)
def follows_strides_that_may_not_be_null() -> Subject:
    """It dereferences NULL strides in structs of version 1.3."""
    return subject_of(_Trusting())


@mutant("the_byte_offset_is_added", twin=honest)
def forgets_the_byte_offset() -> Subject:
    """It reads the first element at data, and ignores byte_offset."""
    return changed(
        address_of=lambda consumer, tensor: (
            Consumer.address_of(consumer, tensor) - tensor.byte_offset
        )
    )


def _shape_followed(consumer: Consumer, tensor: Any) -> Ints:
    """Return the extents, after reading the first one."""
    if tensor.shape and tensor.shape[0] < 0:
        raise BufferError("an extent is negative")
    return Consumer.shape_of(consumer, tensor)


@mutant("pointers_of_scalars_are_not_followed", twin=honest)
def follows_the_shape_of_scalars() -> Subject:
    """It reads the shape of an array without axes."""
    return changed(shape_of=_shape_followed)


def _something(consumer: Consumer, y: Array) -> list[Any]:
    """Return the elements, at least one."""
    return Consumer.read(consumer, y) or [0.0]


@mutant("arrays_without_elements_are_not_followed", twin=honest)
def reads_an_element_where_there_is_none() -> Subject:
    """It reads an element of an array without elements."""
    return changed(read=_something)


def _first_wanted(consumer: Consumer, tensor: Any, shape: Ints, strides: Ints, size: int) -> int:
    """Return the address of the first element, which must not be NULL."""
    consumer.address_of(tensor)
    return Consumer.first_of(consumer, tensor, shape, strides, size)


@mutant("arrays_without_elements_are_taken", twin=honest)
def refuses_data_that_is_null() -> Subject:
    """It refuses arrays without elements whose data is NULL."""
    return changed(first_of=_first_wanted)


def _usual_strides(consumer: Consumer, tensor: Any, shape: Ints) -> Ints:
    """Return the strides, which must be 1 for a single element."""
    strides = Consumer.strides_of(consumer, tensor, shape)
    if shape == (1,) and strides != (1,):
        raise BufferError("a single element with strides")
    return strides


@mutant("strides_of_single_elements_do_not_matter", twin=honest)
def minds_the_stride_of_a_single_element() -> Subject:
    """It refuses an array of shape (1,) with another stride than 1."""
    return changed(strides_of=_usual_strides)


@mutant("no_axes_are_lost", twin=honest)
def has_room_for_32_axes() -> Subject:
    """It drops the axes after the 32nd."""
    return changed(
        shape_of=lambda consumer, tensor: Consumer.shape_of(consumer, tensor)[:_FEW],
        strides_of=lambda consumer, tensor, shape: Consumer.strides_of(consumer, tensor, shape)[
            :_FEW
        ],
    )
