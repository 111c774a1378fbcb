"""Exchange tables in the wrong place, with wrong fields, or with wrong exports.

Source: dlpack.h 1.3, DLPackExchangeAPI; `checks.exchange_api`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from interchange.abi import capsules
from interchange.abi.dlpack import DLPACK_VERSION, DLPackExchangeAPIHeader
from interchange.abi.exchange import ATTRIBUTES
from interchange_conformance.driver.cuda import LEGACY
from interchange_conformance.probes.opened_capsule import OpenedCapsule
from interchange_conformance.zoo import Description, Loan
from interchange_conformance.zoo.carriers import make_table, table_capsule

from ._honest_carrier import (
    Carrier,
    DeviceCarrier,
    carrier_of,
    carrying,
    changed,
    device_carrier_of,
    honest_carrier,
    honest_device_carrier,
)
from ._honest_producer import producer_mutant, producer_of
from .model import mutant, replacing

if TYPE_CHECKING:
    from interchange_conformance.subject import Subject

    from ._honest_producer import Honest


# ---------------------------------------------------------------- the table


@producer_mutant("exchange_tables_hang_on_the_type", counterpart=honest_carrier)
class hangs_the_table_on_objects(Carrier):
    """Sets a table on every array, and none on the type."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        vars(self).update({ATTRIBUTES[0]: table_capsule(make_table())})


@mutant("exchange_tables_are_in_a_capsule_of_their_name", counterpart=honest_carrier)
def gives_an_int() -> Subject:
    """Stores the address of the table as an int, as DLPack 1.2 did under another name."""
    return carrying(Carrier, make_table)


@mutant("exchange_tables_are_in_a_capsule_of_their_name", counterpart=honest_carrier)
def names_the_capsule_otherwise() -> Subject:
    """Gives the capsule of the table the name of a tensor capsule."""
    return carrying(Carrier, lambda: table_capsule(make_table(), capsules.LEGACY))


@mutant("exchange_tables_lead_to_older_majors", counterpart=honest_carrier)
def says_no_version() -> Subject:
    """Sets the version of the table to 0.0."""
    return carrier_of(version=(0, 0))


@mutant(
    "exchange_tables_lead_to_older_majors",
    counterpart=honest_carrier,
    build=lambda ring: carrying(Carrier, ring),
)
def leads_back_to_itself() -> Any:
    """Sets prev_api of a table to the table itself."""
    address = make_table()
    DLPackExchangeAPIHeader.from_address(address).prev_api = address
    return table_capsule(address)


@mutant("exchange_functions_are_not_null", counterpart=honest_carrier)
def has_no_allocator() -> Subject:
    """Has no allocator."""
    return carrier_of(managed_tensor_allocator=None)


@mutant("exchange_functions_are_not_null", counterpart=honest_carrier)
def has_no_work_stream() -> Subject:
    """Has no function for the current work stream."""
    return carrier_of(current_work_stream=None)


@mutant("exchange_tables_stay_where_they_are", counterpart=honest_carrier)
def makes_a_table_for_each_question() -> Subject:
    """Creates a new table for each access."""

    def fresh(_: type) -> Any:
        return table_capsule(make_table())

    metaclass: Any = type("Fresh", (type,), {ATTRIBUTES[0]: property(fresh)})
    return producer_of(metaclass("Carrier", (Carrier,), {}))


# ---------------------------------------------------------------- owned tensors


def _exporting(change: Any) -> Subject:
    """Return a subject whose table exports modified capsules; None keeps them."""

    def _for_table(x: Carrier) -> Any:
        capsule = Carrier._for_table(x)
        return change(x, OpenedCapsule(capsule)) or capsule

    return carrier_of(changed(_for_table=_for_table))


_export_mutant = partial(mutant, counterpart=honest_carrier, build=_exporting)


@_export_mutant("exchanged_tensors_agree_with_capsules")
def exports_another_shape(_: Honest, opened: OpenedCapsule) -> None:
    """Exports arrays of four axes by the table with two extents swapped."""
    if opened.ndim == 4:
        shape = opened.tensor.shape
        shape[2], shape[3] = shape[3], shape[2]


@_export_mutant("exchanged_tensors_agree_with_capsules")
def exports_another_element_type(_: Honest, opened: OpenedCapsule) -> None:
    """Exports bytes by the table as signed integers."""
    if opened.dtype == (1, 8, 1):
        opened.tensor.dtype.code = 0


@_export_mutant("exchanged_tensors_are_of_the_version_of_the_table")
def leaves_the_version_of_the_tensor_out(_: Honest, opened: OpenedCapsule) -> None:
    """Exports tensors of version 0.0."""
    opened.managed.version.major = opened.managed.version.minor = 0


@mutant(
    "exchanged_tensors_hold_the_values_of_the_array", counterpart=honest_carrier, build=carrier_of
)
class exports_what_is_still_to_be_conjugated(Carrier):
    """Exports lazy conjugates by the table, which __dlpack__ refuses."""

    marked = False

    def conj(self) -> Any:
        """Return an array of the same memory, with a lazy conjugation."""
        found = self._like(self.array)
        found.marked = True
        return found

    def __dlpack__(self, **keywords: Any) -> Any:
        if self.marked:
            raise BufferError("this array is still to be conjugated")
        return super().__dlpack__(**keywords)

    def _for_table(self) -> Any:
        return Carrier.__dlpack__(self._like(self.array), max_version=DLPACK_VERSION)


@_export_mutant("exchanged_read_only_arrays_say_so")
def exports_no_flags(_: Honest, opened: OpenedCapsule) -> None:
    """Exports every array by the table without flags."""
    opened.managed.flags = 0


@mutant("exchanged_tensors_give_their_references_back", counterpart=honest_carrier)
def takes_a_reference_too_many() -> Subject:
    """Takes a reference to the array in each export, which the deleter does not drop."""
    return carrier_of(managed_tensor_from_py_object_no_sync="from_object_holding_on")


@_export_mutant("exchanged_tensors_keep_their_memory")
def owns_nothing(_: Honest, opened: OpenedCapsule) -> Any:
    """Exports tensors that do not keep the memory alive."""
    said = Description(
        opened.shape,
        opened.strides,
        dtype=opened.dtype,
        data=opened.data,
        flags=opened.flags,
        version=DLPACK_VERSION,
    )
    return Loan(said, None, versioned=True).offer(capsules.VERSIONED, None)


# ---------------------------------------------------------------- borrowed tensors, and streams


@mutant("borrowed_tensors_agree_with_owned_ones", counterpart=honest_carrier)
def borrowed_tensors_without_strides() -> Subject:
    """Leaves the strides of borrowed tensors NULL."""
    return carrier_of(dltensor_from_py_object_no_sync="lend_object_without_strides")


@mutant("borrowed_tensors_take_no_reference", counterpart=honest_carrier)
def borrowed_tensors_that_are_kept() -> Subject:
    """Takes a reference to the array for each borrowed tensor."""
    return carrier_of(dltensor_from_py_object_no_sync="lend_object_holding_on")


@mutant("the_host_has_no_work_stream", counterpart=honest_carrier)
def has_a_stream_on_the_host() -> Subject:
    """Returns a stream for the host."""
    return carrier_of(current_work_stream="some_stream")


@mutant("the_host_has_no_work_stream", counterpart=honest_carrier)
def refuses_the_host_a_stream() -> Subject:
    """Fails if the work stream of the host is requested."""
    return carrier_of(current_work_stream="refused_stream")


_device_mutant = partial(
    mutant, counterpart=honest_device_carrier, build=replacing(device_carrier_of)
)


@_device_mutant("exchange_functions_do_not_synchronise", step="_for_table")
def waits_before_it_exports(x: DeviceCarrier) -> Any:
    """Makes the host wait for pending work in the table's export."""
    x.finish()
    return DeviceCarrier._for_table(x)


@_device_mutant("exchange_functions_do_not_synchronise", step="_for_table")
def orders_what_it_exports(x: DeviceCarrier) -> Any:
    """Makes the legacy default stream wait for pending work in the table's export."""
    x.order(LEGACY)
    return DeviceCarrier._for_table(x)


def _refuse(_: DeviceCarrier) -> Any:
    """Refuse to export."""
    raise BufferError("work may be pending; ask __dlpack__(stream=...)")


def refusing_device_carrier() -> Subject:
    """Refuse every export by the table, as an array with pending work on another stream is."""
    return device_carrier_of(_for_table=_refuse)


@_device_mutant(
    "exchange_functions_do_not_synchronise",
    step="_for_table",
    counterpart=refusing_device_carrier,
)
def orders_what_it_refuses(x: DeviceCarrier) -> Any:
    """Makes the legacy default stream wait for pending work, and then refuses."""
    x.order(LEGACY)
    _refuse(x)
