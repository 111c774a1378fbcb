"""Exchange tables that import foreign tensors wrongly, or allocate wrongly.

Source: dlpack.h 1.3, DLPackExchangeAPI; `checks.exchange_taking`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from interchange_conformance.zoo.carriers import make_table, table_capsule, use_taker

from ._honest_carrier import Carrier, carrier_of, carrying, honest_carrier, import_capsule
from .model import mutant

if TYPE_CHECKING:
    from typing import Any

    from interchange_conformance.subject import Subject


def _taking(take: Any) -> Subject:
    """Return a subject whose table converts a capsule with a function."""

    def table() -> Any:
        return table_capsule(make_table())

    return carrying(Carrier, table, lambda cls: use_taker(lambda capsule: take(cls, capsule)))


_taking_mutant = partial(mutant, counterpart=honest_carrier, build=_taking)


@_taking_mutant("taken_tensors_are_arrays_of_the_type")
def makes_arrays_of_another_type(_: Any, capsule: Any) -> Any:
    """Makes arrays of NumPy, although the table belongs to another type."""
    return import_capsule(capsule)


@_taking_mutant("taken_tensors_are_arrays_of_the_type")
def copies_what_it_takes(cls: Any, capsule: Any) -> Any:
    """Makes an array over separate memory, with the same elements."""
    taken = import_capsule(capsule)
    found = cls(taken.copy())
    found.source = taken
    return found


@mutant("taken_tensors_are_released_once", counterpart=honest_carrier)
def keeps_what_it_makes() -> Subject:
    """Takes one reference too many to the array that it makes."""
    return carrier_of(managed_tensor_to_py_object_no_sync="to_object_holding_on")


@mutant("taken_tensors_are_released_once", counterpart=honest_carrier)
def releases_what_it_takes() -> Subject:
    """Calls the deleter of a tensor after it has made the array."""
    return carrier_of(managed_tensor_to_py_object_no_sync="to_object_released")


@mutant("taken_tensors_may_have_no_deleter", counterpart=honest_carrier)
def calls_any_deleter() -> Subject:
    """Calls a NULL deleter."""
    return carrier_of(managed_tensor_to_py_object_no_sync="to_object_trusting")


@mutant("refused_tensors_leave_an_error", counterpart=honest_carrier)
def refuses_in_silence() -> Subject:
    """Clears the error before it returns -1, as cuda.core does for devices."""
    return carrier_of(managed_tensor_to_py_object_no_sync="to_object_in_silence")


@mutant("allocated_tensors_are_as_asked", counterpart=honest_carrier)
def allocates_one_axis() -> Subject:
    """Creates tensors with one axis only."""
    return carrier_of(managed_tensor_allocator="allocate_flat")


@mutant("allocated_tensors_are_as_asked", counterpart=honest_carrier)
def allocates_without_strides() -> Subject:
    """Leaves the strides of new tensors NULL, as was allowed before DLPack 1.2."""
    return carrier_of(managed_tensor_allocator="allocate_without_strides")


@mutant("allocated_tensors_are_as_asked", counterpart=honest_carrier)
def allocates_rows_that_overlap() -> Subject:
    """Sets the stride of the first axis of new tensors to 1, whatever the length of rows."""
    return carrier_of(managed_tensor_allocator="allocate_overlapping")


@mutant("allocated_tensors_are_as_asked", counterpart=honest_carrier)
def leaves_the_version_of_new_tensors_out() -> Subject:
    """Sets the version of new tensors to 0.0."""
    return carrier_of(managed_tensor_allocator="allocate_of_version_0")


@mutant("refused_allocations_leave_an_error", counterpart=honest_carrier)
def says_three_times_that_it_failed() -> Subject:
    """Calls SetError three times before it returns -1."""
    return carrier_of(managed_tensor_allocator="allocate_shouting")


@mutant("refused_allocations_leave_an_error", counterpart=honest_carrier)
def fails_to_allocate_in_silence() -> Subject:
    """Returns -1 from the allocator without SetError."""
    return carrier_of(managed_tensor_allocator="allocate_in_silence")


@mutant("made_allocations_leave_no_error", counterpart=honest_carrier)
def complains_of_what_it_allocated() -> Subject:
    """Calls SetError and returns 0."""
    return carrier_of(managed_tensor_allocator="allocate_complaining")
