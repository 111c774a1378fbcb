"""Arrow streams, and the device fields of exports.

Source: the Arrow C stream interface; the C device data interface.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Final

from interchange.abi import capsules
from interchange.abi.arrow import ARROW_CHUNK, ARROW_SCHEMA, ARROW_STRUCTS, ArrowDeviceArray
from interchange_conformance.driver.cuda import driver
from interchange_conformance.findings import NotApplicable, expect, note
from interchange_conformance.probes.opened_arrow import (
    METHODS,
    Opened,
    Struct,
    capsules_of,
    pointer_in,
)
from interchange_conformance.probes.pending_work import PendingWork
from interchange_conformance.probes.under_test import collect
from interchange_conformance.registry import area

from ._arrow import CAPSULE, COLUMNS, DEVICE, ON_DEVICES, PLAIN, STREAM, STREAMS, made

if TYPE_CHECKING:
    from interchange_conformance.probes.under_test import ArrowProducerUnderTest
    from interchange_conformance.registry import Decorator

check: Decorator = area("arrow")

_CALLBACKS: Final = ("get_schema", "get_next", "get_last_error", "release")
_Callback: Final = capsules.Prototype(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
_HOST: Final = 1
_CUDA: Final = 2
_NBYTES: Final = 4096
_FEW: Final = 16  # elements
_MOST: Final = 100  # chunks
_EXPORTS: Final = 8  # exports into reused memory, some of which may be clean by chance


def _stream(producer: ArrowProducerUnderTest, kind: str, column: Any = PLAIN) -> tuple[Any, bytes]:
    """Return the struct of a stream, in a capsule that owns it, and the capsule's name."""
    method, names = METHODS[kind]
    (capsule,) = capsules_of(producer.export(made(producer, column), kind), method, names)
    stream = ARROW_STRUCTS[names[0]].from_address(pointer_in(capsule))
    stream.capsule = capsule
    return stream, names[0]


@check("ARROW-STREAM-1", source=f"{STREAM}, ArrowArrayStream", cases=STREAMS)
def callbacks_of_streams_are_there(arrow_producer: ArrowProducerUnderTest, case: str) -> None:
    """All four callbacks of a stream are set.

    Set get_last_error, too: it may return NULL, but must be callable.
    """
    stream, _ = _stream(arrow_producer, case)

    missing = [name for name in _CALLBACKS if not getattr(stream, name)]
    expect(not missing, f"of the stream, {', '.join(missing)} is NULL")


@check("ARROW-STREAM-1", source=f"{STREAM}, Error codes",
       cases={f"{kind}-{name}": (kind, name) for kind in STREAMS for name in
              ("numbers", "chunks", "no-elements", "nulls")})  # fmt: skip
def callbacks_of_streams_return_zero(
    arrow_producer: ArrowProducerUnderTest, case: tuple[str, str]
) -> None:
    """get_schema and get_next return 0 on success, however often they are called.

    Return an errno for an error, and 0 otherwise.
    """
    kind, name = case
    stream, struct = _stream(arrow_producer, kind, COLUMNS[name][0])
    for call in range(2):
        schema = Struct(ARROW_SCHEMA)
        note("calling get_schema")
        code = _Callback(stream.get_schema)(ctypes.addressof(stream), schema.address)
        expect(code == 0, f"call {call + 1} of get_schema returned {code}")
        expect(not schema.released, "get_schema returned 0, and gave a released schema")
    for call in range(_MOST):
        chunk = Struct(ARROW_CHUNK[struct])
        note("calling get_next")
        code = _Callback(stream.get_next)(ctypes.addressof(stream), chunk.address)
        expect(code == 0, f"call {call + 1} of get_next returned {code}")
        if chunk.released:
            return


@check("ARROW-STREAM-2", source=f"{STREAM}, ArrowArrayStream.get_next",
       cases={f"{kind}-{count}": (kind, count) for kind in STREAMS for count in (1, 2, 3)}
       )  # fmt: skip
def streams_end_after_their_last_chunk(
    arrow_producer: ArrowProducerUnderTest, case: tuple[str, int]
) -> None:
    """A stream returns all chunks, and then a released array, however often it is called.

    At the end return 0, and set release to NULL in the struct that is passed.
    """
    kind, count = case
    column = COLUMNS["chunks"][0]._replace(chunks=count)
    opened = Opened(arrow_producer.export(made(arrow_producer, column), kind), kind)
    found = opened.column()
    expect(found == column.due, f"{column.due} in {count} chunks came as {found}")

    _, names = METHODS[kind]
    stream = ARROW_STRUCTS[names[0]].from_address(pointer_in(opened.capsules[0]))
    chunk = Struct(opened.names[1])
    note("asking an ended stream for more")
    code = _Callback(stream.get_next)(ctypes.addressof(stream), chunk.address)
    expect(code == 0, f"an ended stream returned {code}")
    expect(chunk.released, "an ended stream gave another chunk")


# ---------------------------------------------------------------- devices


@check("ARROW-DEVICE-1", source=f"{DEVICE}, ArrowDeviceArray", cases=ON_DEVICES)
def memory_of_the_host_is_said_to_be_there(
    arrow_producer: ArrowProducerUnderTest, case: str
) -> None:
    """A column in host memory has device type 1 and no event.

    Set device_type to 1 and device_id to -1 or 0, and sync_event to NULL.
    """
    opened = arrow_producer.open(made(arrow_producer, PLAIN), case)
    _, names = METHODS[case]
    if len(names) == 1:
        stream = ARROW_STRUCTS[names[0]].from_address(pointer_in(opened.capsules[0]))
        expect(stream.device_type == _HOST, f"the stream says device type {stream.device_type}")
    for chunk in opened.chunks:
        said = ArrowDeviceArray.from_address(chunk)
        place = f"an array of the host says device ({said.device_type}, {said.device_id})"
        expect(said.device_type == _HOST and said.device_id in (-1, 0), place)
        expect(not said.sync_event, "an array of the host has an event to wait for")


@check("ARROW-DEVICE-3", source=f"{DEVICE}, ArrowDeviceArray.sync_event; Memory management",
       cases=ON_DEVICES, on="cuda")  # fmt: skip
def events_come_after_pending_work(arrow_producer: ArrowProducerUnderTest, case: str) -> None:
    """A consumer that waits for the event of a column sees the result of pending work.

    Record an event on the stream of the work at export, and keep it until release; leave sync_event
    NULL only if the work is finished.
    """
    cuda = driver()
    cuda.make_current(0)
    stream, consumer = cuda.stream(), cuda.stream()
    x = arrow_producer.make([0] * _NBYTES, "uint8", stream=stream)
    (node,) = arrow_producer.open(x, case).nodes
    address = (node.buffers[1] or 0) + node.offset
    work = PendingWork(cuda, address, _NBYTES, stream)
    note("exporting a column that work is pending on")
    opened = arrow_producer.open(x, case)
    chunk = Struct(opened.names[1], opened.chunks[0])
    del x, opened
    collect()
    said = ArrowDeviceArray.from_address(chunk.address)
    place = (said.device_type, said.device_id)
    expect(place == (_CUDA, 0), f"the array is on device {place}, due: {(_CUDA, 0)}")
    if said.sync_event:
        note("waiting for the event of a column")
        event = ctypes.c_void_p.from_address(said.sync_event)
        code = cuda.code("cuStreamWaitEvent", consumer, event, 0)
        expect(code == 0, f"the event cannot be waited for: error {code}")

    seen = work.seen_on(consumer)
    what = "a wait for the event" if said.sync_event else "sync_event is NULL"
    expect(seen.is_ordered(), seen.evidence(f"work is pending on a column, and {what}"))


@check("ARROW-DEVICE-1", source=f"{DEVICE}, ArrowDeviceArray", on="cuda",
       cases={f"{kind}-{device}": (kind, device) for kind in ON_DEVICES for device in (0, 1)}
       )  # fmt: skip
def columns_of_devices_say_where_they_are(
    arrow_producer: ArrowProducerUnderTest, case: tuple[str, int]
) -> None:
    """A column in CUDA memory has the type and the number of the device of its memory.

    Set device_type to 2 and device_id to the number of the device that allocated the memory, and
    not to that of the current one.
    """
    kind, device = case
    cuda = driver()
    if device:
        cuda.need_second_device()
    cuda.make_current(device)
    x = arrow_producer.make([0] * _FEW, "uint8", stream=cuda.stream())
    cuda.make_current(0)
    opened = arrow_producer.open(x, kind)
    for chunk, node in zip(opened.chunks, opened.nodes, strict=True):
        said = ArrowDeviceArray.from_address(chunk)
        place = (said.device_type, said.device_id)
        expect(place == (_CUDA, device), f"memory of device {device} is said to be on {place}")
        _, there = cuda.kind((node.buffers[1] or 0) + node.offset)
        expect(there == device, f"memory of device {device} is at an address of device {there}")


@check("ARROW-DEVICE-1", source=f"{CAPSULE}, Device Support", on="cuda",
       cases={kind: kind for kind in METHODS if kind not in ON_DEVICES})  # fmt: skip
def memory_of_devices_is_not_exported_as_that_of_the_host(
    arrow_producer: ArrowProducerUnderTest, case: str
) -> None:
    """The methods for host memory raise for a column on a device, or export a copy on the host.

    Raise in __arrow_c_array__ and __arrow_c_stream__, or leave them out: their structs cannot state
    a device, and consumers dereference the pointers.
    """
    cuda = driver()
    cuda.make_current(0)
    x = arrow_producer.make([0] * _FEW, "uint8", stream=cuda.stream())
    try:
        found = arrow_producer.export(x, case)
    except NotApplicable:
        raise
    except Exception:  # noqa: BLE001 - any exception is a refusal
        return
    for node in Opened(found, case).nodes:
        kind, _ = cuda.kind((node.buffers[1] or 0) + node.offset)
        expect(kind != "cuda", "a struct for memory of the host points at that of a device")


def _leave_junk() -> None:
    """Write to the memory that the next allocation of a struct returns."""
    library = ctypes.CDLL(None)
    library.malloc.restype = ctypes.c_void_p
    size = ctypes.sizeof(ArrowDeviceArray)
    blocks = [library.malloc(ctypes.c_size_t(size)) for _ in range(4)]
    for block in blocks:
        ctypes.memset(block, 0xAB, size)
    for block in blocks:
        library.free(ctypes.c_void_p(block))


@check("ARROW-DEVICE-1", source=f"{DEVICE}, ArrowDeviceArray.reserved", severity="SHOULD",
       cases=ON_DEVICES)  # fmt: skip
def reserved_bytes_are_zero(arrow_producer: ArrowProducerUnderTest, case: str) -> None:
    """The reserved bytes of a device array are zero.

    Zero the whole struct before you fill it: later versions may give these bytes a meaning.
    """
    x = made(arrow_producer, PLAIN)
    for _ in range(_EXPORTS):
        _leave_junk()
        for chunk in (opened := arrow_producer.open(x, case)).chunks:
            said = list(ArrowDeviceArray.from_address(chunk).reserved)
            expect(not any(said), f"reserved bytes are {said}")
        del opened
