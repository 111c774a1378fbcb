"""The C exchange table of a library's arrays: its attribute, and its exports.

Source: dlpack.h 1.3, ``DLPackExchangeAPI`` (1.2 has another attribute name, and an int as its
value).  The table is read by `interchange.abi.exchange`; its functions are called with the GIL
held.  An object of another type is an error of the caller, which is not tested.
"""

from __future__ import annotations

import contextlib
import itertools
import struct
from typing import TYPE_CHECKING, Any, Final

from interchange.abi import capsules
from interchange.abi.dlpack import (
    DLPACK_FLAG_BITMASK_READ_ONLY,
    DLDeviceType,
    DLPackExchangeAPI,
    DLPackExchangeAPIHeader,
)
from interchange.abi.exchange import ATTRIBUTES
from interchange_conformance.findings import Found, NotApplicable, expect, note
from interchange_conformance.probes.forms import DTYPES, forms_of
from interchange_conformance.probes.under_test import collect
from interchange_conformance.registry import area
from interchange_conformance.zoo.memory import c_strides

from ._exchange import (
    address_of_table,
    attributes_of,
    borrowed,
    carrier_of,
    described,
    of_the_carrier,
    opened_at,
    owned,
    silent,
    table_of,
)
from ._memory import references_gained
from ._on_devices import exported

if TYPE_CHECKING:
    from interchange.abi.exchange import ExchangeTable
    from interchange_conformance.probes.opened_capsule import OpenedCapsule
    from interchange_conformance.probes.under_test import ProducerUnderTest
    from interchange_conformance.registry import Decorator

check: Decorator = area("exchange-api")

_API: Final = "dlpack.h 1.3, DLPackExchangeAPI"
_STRIDES_SINCE: Final = (1, 2)  # since then, strides are not NULL
_MOST_TABLES: Final = 16  # in a chain of major versions
_MAY_BE_NULL: Final = "dltensor_from_py_object_no_sync"
_PATTERN: Final = b"\xa5\x5a\xc3\x3c"
_COUNT: Final = 256  # of memory that is observed [elements]
_WATCHED: Final = 1024  # [bytes]
_OTHERS: Final = 8  # arrays that reuse memory that was freed too early


# ---------------------------------------------------------------- the table


@check("DLP-API-1", source=f"{_API}: this must be defined on the type")
def exchange_tables_hang_on_the_type(producer: ProducerUnderTest) -> None:
    """The exchange table of an array is an attribute of its type.

    Make __dlpack_c_exchange_api__ a class attribute: consumers read it from type(x), and may cache
    it for all objects of that type.
    """
    cls, x = carrier_of(producer), producer.make()
    found = attributes_of(x if type(x) is cls else cls)
    if not found:
        raise NotApplicable(f"{cls.__name__} has no exchange table")
    missing = set(found) - set(attributes_of(cls))

    expect(not missing, f"the object has {', '.join(missing)}, and type {cls.__name__} has not")


@check("DLP-API-1", source=f"{_API}: a Python PyCapsule with name dlpack_exchange_api")
def exchange_tables_are_in_a_capsule_of_their_name(producer: ProducerUnderTest) -> None:
    """__dlpack_c_exchange_api__ is a capsule named 'dlpack_exchange_api'.

    Pass that name to PyCapsule_New; the attribute of DLPack 1.2, __c_dlpack_exchange_api__, was an
    int.
    """
    cls = carrier_of(producer)
    value = getattr(cls, ATTRIBUTES[0], None)
    if value is None:
        raise NotApplicable(f"{cls.__name__} has no {ATTRIBUTES[0]}")
    what = f"{cls.__name__}.{ATTRIBUTES[0]} is"
    expect(type(value) is capsules.PyCapsule, f"{what} {value!r:.200}, which is no PyCapsule")
    name = capsules.capsule_name(value)

    expect(name == capsules.EXCHANGE_API, f"{what} a capsule named {name!r}")


@check("DLP-API-1", source="dlpack.h 1.3, DLPackExchangeAPIHeader")
def exchange_tables_lead_to_older_majors(producer: ProducerUnderTest) -> None:
    """A table has its major version, and prev_api points to older ones, the last to NULL.

    Set header.version to DLPACK_MAJOR_VERSION and DLPACK_MINOR_VERSION, and header.prev_api to NULL
    unless there is a table of an older major.
    """
    address: int | None = address_of_table(carrier_of(producer))
    majors: list[int] = []
    note("walking the chain of exchange tables")
    while address and len(majors) < _MOST_TABLES:
        header = DLPackExchangeAPIHeader.from_address(address)
        majors.append(header.version.major)
        address = header.prev_api
    falling = all(first > then for first, then in itertools.pairwise(majors))

    due = "due are falling numbers, 1 or more"
    expect(min(majors) > 0 and falling, f"the majors along prev_api are {majors}; {due}")


@check("DLP-API-2", source=f"{_API}: this function must not be NULL")
def exchange_functions_are_not_null(producer: ProducerUnderTest) -> None:
    """All functions of the table are set; only dltensor_from_py_object_no_sync may be NULL.

    Give every member a function; unsupported ones return -1 with an error set.
    """
    table = DLPackExchangeAPI.from_address(table_of(producer).address)
    members = [name for name, *_ in DLPackExchangeAPI._fields_ if name != "header"]
    null = [name for name in members if name != _MAY_BE_NULL and not getattr(table, name)]

    expect(not null, f"NULL in the table: {', '.join(null)}")


@check("DLP-API-1", source=f"{_API}: must stay alive throughout the lifetime of the process")
def exchange_tables_stay_where_they_are(producer: ProducerUnderTest) -> None:
    """A type always returns the same table.

    Make one static table: consumers cache its address.
    """
    cls = carrier_of(producer)
    first = address_of_table(cls)
    collect()
    again = address_of_table(cls)

    expect(first == again, f"the table was at {first:#x}, and then at {again:#x}")


# ---------------------------------------------------------------- owned tensors


SHAPES: Final[dict[str, tuple[tuple[int, ...], str]]] = {
    "plain": ((2, 3), "float32"),
    "scalar": ((), "float64"),
    "empty": ((0, 3), "float32"),
    "bytes": ((5,), "uint8"),
    "deep": ((2, 1, 3, 4), "int64"),
}


@check("DLP-API-1", source=f"{_API}; array API standard 2025.12, __dlpack__", cases=SHAPES)
def exchanged_tensors_agree_with_capsules(
    producer: ProducerUnderTest, case: tuple[Any, str]
) -> None:
    """The table describes an array as its __dlpack__ does.

    Fill both by one function: address, device, element type, shape and strides.
    """
    table = table_of(producer)
    shape, dtype = case
    x = of_the_carrier(producer, producer.first_of(forms_of([shape], (dtype, *DTYPES)))[0])
    capsule = exported(producer, x)
    tensor = owned(table, x)
    differences = _differences(tensor, capsule)
    tensor.consume().release()

    expect(not differences, f"the table and the capsule differ: {differences}")


def _differences(one: OpenedCapsule, other: OpenedCapsule) -> str:
    """Return the differences of two descriptions, as text."""
    here, there = _description(one), _description(other)
    pairs = ((name, here[name], there[name]) for name in here)
    return "; ".join(f"{name} {a}, and {b}" for name, a, b in pairs if a != b)


def _description(opened: OpenedCapsule) -> dict[str, Any]:
    """Return the relevant fields of a struct."""
    shape, strides = opened.shape or (), opened.strides
    if strides is None and (opened.version or (0, 0)) < _STRIDES_SINCE:
        strides = c_strides(shape)
    empty = 0 in shape
    steps: Any = []
    if not empty:  # the stride of an axis of length 1 has no meaning
        steps = strides and [step for step, n in zip(strides, shape, strict=True) if n != 1]
    return {
        "device": opened.device,
        "element type": opened.dtype,
        "shape": shape,
        "strides": steps,
        "address": 0 if empty else hex(opened.first),
    }


@check("DLP-API-1", source="dlpack.h 1.3, DLManagedTensorVersioned.version")
def exchanged_tensors_are_of_the_version_of_the_table(producer: ProducerUnderTest) -> None:
    """The tensors of a table have the table's major version.

    Write the version of the rules that the export follows into managed.version.
    """
    table = table_of(producer)
    tensor = described(table, of_the_carrier(producer, producer.make()))
    version = tensor.version or (0, 0)
    tensor.consume().release()

    due = table.version
    expect(version[0] == due[0], f"the table is of version {due}, and its tensor of {version}")


@check("DLP-DTYPE-6", source="array API standard 2025.12, array.__dlpack__, Raises")
def exchanged_tensors_hold_the_values_of_the_array(producer: ProducerUnderTest) -> None:
    """Lazy conjugation is applied before the table exports an array, or the export is refused.

    Check such bits in the table's functions as in __dlpack__: consumers read only the memory.
    """
    table = table_of(producer)
    x = of_the_carrier(producer, producer.make((2,), "complex64"))
    base = described(table, x)
    if base.readonly or producer.subject.immutable or base.device[0] != DLDeviceType.kDLCPU:
        raise NotApplicable("needs writable host memory")
    base.write([struct.pack("=ff", 1, 2)] * 2)
    try:
        y = of_the_carrier(producer, x.conj())
    except Exception as error:
        raise NotApplicable(f"it has no conj() of its arrays: {error!r:.200}") from error
    try:
        tensor = opened_at(table.managed_from(y))
    except Exception:  # noqa: BLE001 - a refusal is correct
        return
    found = [struct.unpack("=ff", element) for element in tensor.read()]
    tensor.consume().release()
    base.consume().release()

    expect(found == [(1, -2)] * 2, f"conjugates of 1+2j, due: 1-2j, were exported as {found}")


@check("DLP-RO-2", source="dlpack.h 1.3, DLPACK_FLAG_BITMASK_READ_ONLY")
def exchanged_read_only_arrays_say_so(producer: ProducerUnderTest) -> None:
    """A tensor of read-only memory has the read-only flag.

    Set DLPACK_FLAG_BITMASK_READ_ONLY in managed.flags.
    """
    table = table_of(producer)
    tensor = described(table, of_the_carrier(producer, producer.make(readonly=True)))
    flags = tensor.flags
    tensor.consume().release()

    expect(flags & DLPACK_FLAG_BITMASK_READ_ONLY, f"flags are {flags:#x} of a read-only array")


@check("DLP-LIFE-1", source="dlpack.h 1.3, DLPackManagedTensorFromPyObjectNoSync: owning")
def exchanged_tensors_give_their_references_back(producer: ProducerUnderTest) -> None:
    """The deleter of a tensor drops its reference to the array.

    Take one reference in the export and drop it in the deleter; or none, if the memory is counted
    elsewhere.
    """
    table = table_of(producer)
    x = of_the_carrier(producer, producer.make())
    more = references_gained(x, lambda: described(table, x).consume().release())

    expect(not more, f"three exports were released, and the array has {more} more references")


@check("DLP-LIFE-1", source="dlpack.h 1.3, DLPackManagedTensorFromPyObjectNoSync: owning")
def exchanged_tensors_keep_their_memory(producer: ProducerUnderTest) -> None:
    """A tensor keeps its memory after the array is destroyed.

    Let managed.manager_ctx own the array or its memory until the deleter is called.
    """
    table = table_of(producer)
    form = producer.block(_WATCHED)
    x = of_the_carrier(producer, producer.make(*form))
    tensor = described(table, x)
    if tensor.readonly or tensor.device[0] != DLDeviceType.kDLCPU:
        raise NotApplicable("needs writable host memory")
    due = [(_PATTERN * 4)[: tensor.itemsize] for _ in tensor.addresses()]
    tensor.write(due)
    del x
    collect()
    producer.subject.release()
    others = [producer.make(*form) for _ in range(_OTHERS)]
    note("reading memory whose array is gone")
    kept = tensor.read() == due
    del others
    tensor.consume().release()

    expect(kept, "the array was dropped, and its memory holds something else now")


# ---------------------------------------------------------------- borrowed tensors, and streams


@check("DLP-API-1", source="dlpack.h 1.3, DLPackDLTensorFromPyObjectNoSync: non-owning")
def borrowed_tensors_agree_with_owned_ones(producer: ProducerUnderTest) -> None:
    """dltensor_from_py_object_no_sync describes an array as the owning function does.

    Fill both from the same fields.
    """
    table = _lending_table(producer)
    x = of_the_carrier(producer, producer.make())
    tensor = described(table, x)
    tensor_of_x = borrowed(table, x)  # its struct must exist while it is read
    differences = _differences(tensor_of_x.opened, tensor)
    tensor.consume().release()

    expect(not differences, f"the borrowed and the owned tensor differ: {differences}")


@check("DLP-LIFE-1", source="dlpack.h 1.3, DLPackDLTensorFromPyObjectNoSync: non-owning")
def borrowed_tensors_take_no_reference(producer: ProducerUnderTest) -> None:
    """dltensor_from_py_object_no_sync does not change the array's reference count.

    Return pointers to what the array owns: there is no call at the end of the loan.
    """
    table = _lending_table(producer)
    x = of_the_carrier(producer, producer.make())
    more = references_gained(x, lambda: borrowed(table, x))

    expect(not more, f"three tensors were borrowed, and the array has {more} more references")


def _lending_table(producer: ProducerUnderTest) -> Any:
    """Return the table, if it has the function that may be NULL."""
    table = table_of(producer)
    if not table.has_tensor_from:
        raise NotApplicable(f"{_MAY_BE_NULL} is NULL, as it may be")
    return table


@check("DLP-API-2", source="dlpack.h 1.3, DLPackCurrentWorkStream", severity="SHOULD")
def the_host_has_no_work_stream(producer: ProducerUnderTest) -> None:
    """current_work_stream succeeds for the host, and returns NULL.

    Set *out_current_stream to NULL for kDLCPU and return 0.
    """
    table = table_of(producer)
    try:
        stream = table.current_work_stream(DLDeviceType.kDLCPU, 0)
    except Exception as error:
        raise Found(f"current_work_stream(kDLCPU, 0) failed: {error!r:.300}") from error

    expect(stream is None, f"current_work_stream(kDLCPU, 0) gave {stream}, due: NULL")


_ORDERING: Final = frozenset(
    {
        "cuStreamWaitEvent",
        "cuEventRecord",
        "cuEventSynchronize",
        "cuStreamSynchronize",
        "cuCtxSynchronize",
    }
)
"""Driver functions that order work."""


@check("DLP-API-1", source=f"{_API}: does not perform any stream synchronization", on="cuda")
def exchange_functions_do_not_synchronise(producer: ProducerUnderTest) -> None:
    """An array with pending work is exported at once or refused, and nothing is enqueued.

    Do not wait, and record no event: consumers call current_work_stream, and work there. Refuse
    arrays with work on other streams, so that consumers call __dlpack__, which takes a stream.
    """
    from interchange_conformance.driver.cuda import driver
    from interchange_conformance.probes.pending_work import LONG_PATIENCE, PendingWork

    cuda = driver()
    stream = cuda.stream()
    x = of_the_carrier(producer, producer.make_on(stream, (_COUNT,), "float32"))
    table = table_of(producer, x)
    with cuda.trace() if cuda.is_emulated else contextlib.nullcontext() as trace:
        first = _export_or_refusal(table, x)
    waited = False
    if first is not None:
        pending = PendingWork(cuda, first.first, first.nbytes, stream, LONG_PATIENCE)
        first.consume().release()
        with cuda.trace() if cuda.is_emulated else contextlib.nullcontext() as trace:
            address = table.managed_from(x)
        waited = pending.release()
        opened_at(address).consume().release()
    ordering = sorted(_ORDERING.intersection(trace.names if trace else ()))

    expect(not waited, "the export returned when the pending work was done, due: at once")
    expect(not ordering, f"the export called {', '.join(ordering)}")


def _export_or_refusal(table: ExchangeTable, x: Any) -> OpenedCapsule | None:
    """Return a tensor, or None if a table refuses with a BufferError."""
    try:
        address = table.managed_from(x)
    except BufferError as error:
        if silent(error):
            raise Found("the export failed, and no error was set") from error
        return None
    return opened_at(address)
