"""The functions of interchange for columns of Arrow in memory of a GPU: who waits for whom.

Source: the Arrow C device data interface, ArrowDeviceArray.sync_event; CUDA driver API, Event
Management.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Final

from interchange.abi.arrow import ARROW_DEVICE_ARRAY, ArrowDeviceArray
from interchange_conformance.driver.cuda import driver
from interchange_conformance.findings import expect, note
from interchange_conformance.probes.opened_arrow import Opened, Struct
from interchange_conformance.probes.pending_work import PendingWork
from interchange_conformance.probes.under_test import collect
from interchange_conformance.registry import area
from interchange_conformance.zoo import arrow

from ._arrow import DEVICE
from ._columns import need_columns, taken
from ._refusals import granted
from ._sent_columns import need_native

if TYPE_CHECKING:
    from interchange_conformance.driver.cuda import Cuda
    from interchange_conformance.probes.under_test import FunctionsUnderTest
    from interchange_conformance.registry import Decorator

check: Decorator = area("functions")

_EVENT: Final = f"{DEVICE}, ArrowDeviceArray.sync_event"
_NBYTES: Final = 4096
_NO_TIMING: Final = 2
_CUDA: Final = 2


def _pending(cuda: Cuda) -> tuple[PendingWork, int]:
    """Return memory that work is pending on, and the stream of the work."""
    cuda.make_current(0)
    stream = cuda.stream()
    return PendingWork(cuda, cuda.memory(_NBYTES), _NBYTES, stream), stream


def _column(address: int, event: Any) -> arrow.Source:
    """Return a column of bytes on a device, ready after an event."""
    chunk = arrow.Chunk(_NBYTES, 0, 0, (None, address))
    place = arrow.Place(_CUDA, 0, ctypes.addressof(event))
    return arrow.DeviceArraySource(arrow.Field("C"), (chunk,), (), place)


@check("ARROW-DEVICE-2", source=_EVENT, on="cuda")
def imports_wait_for_the_event(functions: FunctionsUnderTest) -> None:
    """The stream that from_arrow() is given waits for the event of the column.

    Follow the pointer to the handle, and let the stream wait for the event before you return.
    """
    need_columns()
    cuda = driver()
    work, stream = _pending(cuda)
    event = ctypes.c_void_p()
    cuda("cuEventCreate", ctypes.byref(event), _NO_TIMING)
    cuda("cuEventRecord", event, stream)
    consumer = cuda.stream()
    note("importing a column that is not ready")
    array = taken(functions, _column(work.address, event), stream=consumer)

    seen = work.seen_on(consumer, array.ptr)
    expect(seen.is_ordered(), seen.evidence("from_arrow(stream=...) of a column with an event"))


def _exported(ix: Any, address: int, stream: int) -> Struct:
    """Return the array of a column that work is pending on; everything else is gone."""
    array = ix.from_pointer(address, (_NBYTES,), "uint8", device="cuda:0", stream=stream)
    column = granted(lambda: ix.to_arrow(array), "to_arrow()")
    opened = Opened(column.__arrow_c_device_array__(), "device-array")
    return Struct(ARROW_DEVICE_ARRAY, opened.chunks[0])


@check("ARROW-DEVICE-3", source=_EVENT, on="cuda")
def exports_have_an_event_after_their_work(functions: FunctionsUnderTest) -> None:
    """The event of an exported column comes after the work that is pending on the array.

    Record an event on the array's stream when you export, and keep it until release.
    """
    ix = functions.namespace
    need_native(ix)
    cuda = driver()
    work, stream = _pending(cuda)
    note("exporting an array that work is pending on")
    struct = _exported(ix, work.address, stream)
    collect()
    said = ArrowDeviceArray.from_address(struct.address)
    place = (said.device_type, said.device_id)
    expect(place == (_CUDA, 0), f"the array is on device {place}, due: {(_CUDA, 0)}")
    expect(said.sync_event, "work is pending, and sync_event is NULL")
    consumer = cuda.stream()
    event = ctypes.c_void_p.from_address(said.sync_event)
    note("waiting for the event of an export")
    code = cuda.code("cuStreamWaitEvent", consumer, event, 0)
    expect(code == 0, f"the event cannot be waited for: error {code}")

    seen = work.seen_on(consumer)
    expect(seen.is_ordered(), seen.evidence("a wait for the event of an export"))
    struct.release()
