"""The C exchange table of a library's arrays: how its functions fail, and its stream on a device.

Source: dlpack.h 1.3, ``DLPackManagedTensorFromPyObjectNoSync``,
``DLPackDLTensorFromPyObjectNoSync`` and ``DLPackCurrentWorkStream``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from interchange.abi.dlpack import DLDeviceType
from interchange_conformance.driver.cuda import LEGACY, PER_THREAD, driver
from interchange_conformance.findings import NotApplicable, expect, note
from interchange_conformance.registry import area

from ._exchange import of_the_carrier, opened_at, silent, table_of
from .element_types import UNSPEAKABLE, array_of

if TYPE_CHECKING:
    from interchange_conformance.probes.under_test import ProducerUnderTest
    from interchange_conformance.registry import Decorator

check: Decorator = area("exchange-api")

_FAILING: Final = "0 on success, -1 on failure with a Python exception set"
_ASKED: Final = {"plain": None, **UNSPEAKABLE}


@check(
    "DLP-API-2",
    source=f"dlpack.h 1.3, DLPackManagedTensorFromPyObjectNoSync: {_FAILING}",
    cases=_ASKED,
)
def refused_exports_of_tables_leave_an_error(producer: ProducerUnderTest, case: Any) -> None:
    """A table that cannot export an array sets a Python error.

    Return -1 exactly if an error is set: a BufferError if the array cannot be described. On 0,
    consumers dereference the pointer.
    """
    x = of_the_carrier(producer, array_of(producer, case) if case else producer.make())
    table = table_of(producer, x)
    note("a table exports an array")
    try:
        address = table.managed_from(x)
    except Exception as error:  # noqa: BLE001 - the error under test
        _expect_message(error, f"the export of {case or 'a plain array'!r:.60}")
        return
    opened_at(address).consume().release()


@check(
    "DLP-API-2",
    source=f"dlpack.h 1.3, DLPackDLTensorFromPyObjectNoSync: {_FAILING}",
    cases=_ASKED,
)
def refused_loans_of_tables_leave_an_error(producer: ProducerUnderTest, case: Any) -> None:
    """A table that cannot lend an array sets a Python error.

    Return -1 exactly if an error is set.
    """
    x = of_the_carrier(producer, array_of(producer, case) if case else producer.make())
    table = table_of(producer, x)
    if not table.has_tensor_from:
        raise NotApplicable("dltensor_from_py_object_no_sync is NULL, as it may be")
    note("a table exports a borrowed tensor")
    try:
        table.tensor_from(x)
    except Exception as error:  # noqa: BLE001 - the error under test
        _expect_message(error, f"the loan of {case or 'a plain array'!r:.60}")


def _expect_message(error: Exception, what: str) -> None:
    """Raise an error unless a failed function has returned -1 with an exception set."""
    expect(not silent(error), f"{what} failed, and no error was set")
    expect(not isinstance(error, SystemError), f"{what}: {error!r:.200}, so 0 came with an error")


@check("DLP-API-2", source="dlpack.h 1.3, DLPackCurrentWorkStream: of a device", on="cuda")
def the_work_stream_of_a_device_exists(producer: ProducerUnderTest) -> None:
    """current_work_stream of a device with arrays returns a stream of the driver.

    Return the handle of the stream on which your library currently works; NULL, 1 and 2 are the
    default streams.
    """
    cuda = driver()
    x = of_the_carrier(producer, producer.make(device="cuda"))
    table = table_of(producer, x)
    kind, number = x.__dlpack_device__()  # it may have pending work, for which the table may refuse
    if kind != DLDeviceType.kDLCUDA:
        raise NotApplicable(f"the array is on device {(kind, number)}")
    try:
        stream = table.current_work_stream(kind, number)
    except Exception as error:
        _expect_message(error, f"current_work_stream({kind}, {number})")
        raise NotApplicable(f"it names no stream: {error!r:.200}") from error

    exists = stream in {None, LEGACY, PER_THREAD} or cuda.knows(stream)
    expect(exists, f"current_work_stream({kind}, {number}) gave a handle that the driver never did")
