"""The C exchange table of a library's arrays: how it imports tensors, and allocates new ones.

Source: dlpack.h 1.3, ``DLPackManagedTensorToPyObjectNoSync`` and ``DLPackManagedTensorAllocator``.
The header does not specify the owner of a refused tensor: it may be released, but not twice.
"""

from __future__ import annotations

import itertools
import sys
from typing import TYPE_CHECKING, Any, Final

from interchange.abi.dlpack import DLDeviceType
from interchange_conformance.findings import Found, NotApplicable, expect, note
from interchange_conformance.probes.opened_capsule import ConsumedTensor
from interchange_conformance.probes.under_test import collect, settled
from interchange_conformance.registry import area
from interchange_conformance.zoo import ELEMENTS, Loan, host

from ._exchange import allocate, calls_in, carrier_of, opened_at, owned, silent, table_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from interchange.abi.exchange import ExchangeTable
    from interchange_conformance.probes.opened_capsule import OpenedCapsule
    from interchange_conformance.probes.under_test import ProducerUnderTest
    from interchange_conformance.registry import Decorator

    from ._exchange import Allocated

check: Decorator = area("exchange-api")

_TO_OBJECT: Final = "dlpack.h 1.3, DLPackManagedTensorToPyObjectNoSync"
_ALLOCATOR: Final = "dlpack.h 1.3, DLPackManagedTensorAllocator"
_HOST: Final = (int(DLDeviceType.kDLCPU), 0)
_STRIDES_SINCE: Final = (1, 2)  # strides are not NULL


# ---------------------------------------------------------------- to an object


def _loan(**changes: Any) -> Loan:
    """Return a tensor of host memory that counts its releases."""
    source = host().but(**changes)
    return Loan(source.said, source.memory, versioned=True)


def _taken(table: ExchangeTable, loan: Loan) -> Any:
    """Return the object that a table makes of a plain tensor."""
    try:
        return table.managed_to(loan.address)
    except Exception as error:
        if silent(error):
            raise Found("a tensor was refused, and no error was set") from error
        raise NotApplicable(f"it refuses a plain tensor of the host: {error!r:.300}") from error


@check("DLP-API-1", source=f"{_TO_OBJECT}: the Python tensor with the correct type")
def taken_tensors_are_arrays_of_the_type(producer: ProducerUnderTest) -> None:
    """The table imports a tensor as an array of its type, on the same memory.

    Return a new reference to an object of your own array type.
    """
    cls, table, loan = carrier_of(producer), table_of(producer), _loan()
    y = _taken(table, loan)
    expect(isinstance(y, cls), f"the table of {cls.__name__} made a {type(y).__name__}")
    if type(y) is not cls:
        return
    tensor = owned(table, y)
    found = (tensor.first, tensor.shape, tensor.dtype)
    tensor.consume().release()
    due = (loan.said.data, loan.said.shape, loan.said.dtype)

    expect(found == due, f"address, shape and element type are {found}, due: {due}")


@check("DLP-LIFE-1", source=f"{_TO_OBJECT}: the ownership of the tensor is stolen")
def taken_tensors_are_released_once(producer: ProducerUnderTest) -> None:
    """The deleter of an imported tensor runs once, when its array is destroyed.

    Own the tensor in the new object, and return the only reference to that.
    """
    table, loan = table_of(producer), _loan()
    y = _taken(table, loan)
    early = loan.deleter_calls
    references = sys.getrefcount(y)
    note("freeing an array that the table made")
    del y
    settled(producer.subject, lambda: loan.deleter_calls > 0)
    calls = loan.deleter_calls

    expect(not early, f"the deleter had run {early} times while the array was there")
    what = f"the array was dropped ({references} references to it at first)"
    expect(calls == 1, f"{what}, and the deleter has run {calls} times, due: 1")


@check("DLP-LIFE-5", source="dlpack.h 1.3, DLManagedTensorVersioned.deleter: can be NULL")
def taken_tensors_may_have_no_deleter(producer: ProducerUnderTest) -> None:
    """A table imports a tensor whose deleter is NULL.

    Check the pointer before the call.
    """
    table, loan = table_of(producer), _loan(deleter=False)
    note("freeing an array of a tensor without a deleter")
    _taken(table, loan)
    collect()
    producer.subject.release()


STRANGE: Final[dict[str, object]] = {
    "code": {"dtype": (200, 32, 1)},
    "bits": {"dtype": (2, 24, 1)},
    "lanes": {"dtype": (2, 32, 3)},
    "opaque": {"dtype": (3, 64, 1)},
    "device": {"device": (int(DLDeviceType.kDLVulkan), 0)},
    "unknown-device": {"device": (99, 0)},
}
"""Name -> differences from a plain tensor, which may be refused."""


@check(
    "DLP-API-2", source=f"{_TO_OBJECT}: -1 on failure with a Python exception set", cases=STRANGE
)
def refused_tensors_leave_an_error(producer: ProducerUnderTest, case: dict[str, Any]) -> None:
    """A table that cannot import a tensor sets a Python error.

    Call PyErr_SetString before you return -1, with PyExc_BufferError for unsupported tensors.
    """
    table, loan = table_of(producer), _loan(**case)
    note(f"giving a tensor with {case} to the table")
    try:
        y = table.managed_to(loan.address)
    except Exception as error:  # noqa: BLE001 - any exception, if it is set
        expect(not silent(error), f"{case}: -1 was returned, and no error was set")
        y = None
    del y
    collect()
    producer.subject.release()
    calls = loan.deleter_calls

    expect(calls <= 1, f"{case}: the deleter has run {calls} times")


# ---------------------------------------------------------------- the allocator


SHAPES: Final[dict[str, tuple[tuple[int, ...], str]]] = {
    "plain": ((2, 3), "float32"),
    "scalar": ((), "float64"),
    "empty": ((0, 3), "int32"),
    "deep": ((2, 1, 3, 4), "uint8"),
}


@check("DLP-API-2", source=f"{_ALLOCATOR}: the prototype", cases=SHAPES)
def allocated_tensors_are_as_asked(producer: ProducerUnderTest, case: tuple[Any, str]) -> None:
    """The allocator makes a tensor of the prototype's element type, shape and device, with strides.

    Copy dtype, ndim, shape and device of the prototype, write the table's major version, and fill
    the strides, which must not be NULL since DLPack 1.2.
    """
    shape, dtype = case
    table = table_of(producer)
    made = allocate(table, shape, ELEMENTS[dtype], _HOST)
    if made.code:
        raise NotApplicable(f"the allocator refuses: {made.kind or 'and says nothing'}")
    expect(made.address, "0 was returned, and the tensor is NULL")
    tensor = opened_at(made.address)
    found = (tensor.dtype, tensor.shape, tensor.device)
    due = (ELEMENTS[dtype], shape, _HOST)
    expect(found == due, f"element type, shape and device are {found}, due: {due}")
    _expect_strides(tensor, table.version[0])
    note("writing to memory that the allocator made")
    if tensor.nbytes:
        tensor.write([b"\x5a" * tensor.itemsize] * (tensor.nbytes // tensor.itemsize))
    ConsumedTensor(made.address, tensor.deleter).release()


def _expect_strides(tensor: OpenedCapsule, major: int) -> None:
    """Raise `Found` unless a tensor has a given major version, and its elements are contiguous."""
    version, size = tensor.version or (0, 0), tensor.itemsize
    expect(version[0] == major, f"the tensor is of version {version}, due: {major} and any minor")
    legal = tensor.strides is not None or version < _STRIDES_SINCE
    expect(legal, f"strides are NULL in a tensor of version {version}")
    places = sorted(tensor.addresses())
    apart = all(then - one >= size for one, then in itertools.pairwise(places))
    expect(apart, f"shape {tensor.shape} with strides {tensor.strides}: elements overlap")


IMPOSSIBLE: Final[dict[str, tuple[tuple[int, int, int], tuple[int, int]]]] = {
    "code": ((200, 32, 1), _HOST),
    "device": ((2, 32, 1), (99, 0)),
}
"""Arguments that no allocator can fulfil: name -> element type and device."""


@check("DLP-API-2", source=f"{_ALLOCATOR}: SetError is called exactly when", cases=IMPOSSIBLE)
def refused_allocations_leave_an_error(producer: ProducerUnderTest, case: tuple[Any, Any]) -> None:
    """An allocator calls SetError once if it fails, and never if it succeeds.

    Call SetError(error_ctx, kind, message) before you return -1: kind is the name of a Python
    exception, such as "MemoryError".
    """
    note(f"asking the allocator for element type and device {case}")
    _expect_message(lambda: allocate(table_of(producer), (2, 3), *case), f"asked for {case}")


@check("DLP-API-2", source=f"{_ALLOCATOR}: SetError is called exactly when")
def made_allocations_leave_no_error(producer: ProducerUnderTest) -> None:
    """An allocator that succeeds does not call SetError, and one that fails does.

    Call SetError(error_ctx, kind, message) exactly when you return -1.
    """
    table = table_of(producer)
    _expect_message(
        lambda: allocate(table, (2, 3), ELEMENTS["float32"], _HOST), "asked for float32"
    )


def _expect_message(ask: Callable[[], Allocated], what: str) -> None:
    """Raise `Found` unless an allocator reports one error if it fails, and none otherwise."""
    made = ask()
    if made.code:
        expect(made.kind, f"{what}: -1 was returned, and SetError was not called")
        expect(calls_in(made.kind) == 1, f"{what}: SetError was called several times: {made.kind}")
    else:
        expect(not made.kind, f"{what}: 0 was returned, and SetError was called: {made.kind}")
        ConsumedTensor(made.address, opened_at(made.address).deleter).release()
