"""Mutants whose exchange tables fail without an error, or return invalid streams."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._honest_carrier import (
    carrier_of,
    changed,
    device_carrier_of,
    honest_carrier,
    honest_device_carrier,
)
from .model import mutant

if TYPE_CHECKING:
    from interchange_conformance.subject import Subject


@mutant("refused_exports_of_tables_leave_an_error", counterpart=honest_carrier)
def refuses_exports_in_silence() -> Subject:
    """Returns -1 for unsupported exports without setting an error."""
    return carrier_of(managed_tensor_from_py_object_no_sync="from_object_in_silence")


@mutant("refused_exports_of_tables_leave_an_error", counterpart=honest_carrier)
def exports_nothing() -> Subject:
    """Returns 0 for unsupported exports, and NULL as the tensor."""
    return carrier_of(managed_tensor_from_py_object_no_sync="from_object_without_result")


def _fail(_: object) -> None:
    """Return no capsule for the table."""
    raise ValueError("the table makes nothing")


@mutant("refused_exports_of_tables_leave_an_error", counterpart=honest_carrier)
def table_fails_silently() -> Subject:
    """Returns -1 for every array, including plain ones, without setting an error."""
    functions = {"managed_tensor_from_py_object_no_sync": "from_object_in_silence"}
    return carrier_of(changed(_for_table=_fail), **functions)


@mutant("refused_loans_of_tables_leave_an_error", counterpart=honest_carrier)
def refuses_loans_in_silence() -> Subject:
    """Returns -1 for tensors that it cannot lend, without setting an error."""
    return carrier_of(dltensor_from_py_object_no_sync="lend_object_in_silence")


@mutant("the_work_stream_of_a_device_exists", counterpart=honest_device_carrier)
def works_on_a_stream_of_its_own_making() -> Subject:
    """Returns an address that is not a stream as the work stream of a device."""
    return device_carrier_of({"current_work_stream": "some_stream"})


@mutant("the_work_stream_of_a_device_exists", counterpart=honest_device_carrier)
def has_no_stream_and_no_error() -> Subject:
    """Returns -1 for the work stream of a device, without setting an error."""
    return device_carrier_of({"current_work_stream": "silent_stream"})
