"""ROCm, columns of Arrow: the event is waited for, and imported columns are released once."""

from __future__ import annotations

import ctypes
import gc
from ctypes import byref, c_void_p

import pytest

import interchange as ix
from interchange._functions import arrow_columns
from interchange._streams import driver as drivers
from interchange._streams.events import wait_for_foreign_event
from interchange_conformance.zoo.arrow import Chunk, DeviceArraySource, Field, Place

pytestmark = pytest.mark.emulated

CALL = "f()"
SIZE = 256  # [bytes], of an allocation
WITHOUT_TIMING = 2  # hipEventDisableTiming
ROCM, PINNED = 10, 11


class Program:
    """A program that writes on one stream, imports the column, and uses it on another stream."""

    def __init__(self, rocm):
        self.rocm, self.emulator = rocm, rocm.emulator
        self.producer = rocm.stream()
        self.event = c_void_p()
        with rocm.device(0):
            rocm.do("hipEventCreateWithFlags", byref(self.event), WITHOUT_TIMING)

    def column(self, memory, device_type=ROCM):
        """Return a producer whose event is recorded after the write to its memory."""
        self.emulator.fill(self.producer, memory, SIZE, 1)
        self.rocm.do("hipEventRecord", self.event, c_void_p(self.producer))
        chunk = Chunk(length=SIZE, buffers=(None, memory))
        place = Place(device_type, 0, ctypes.addressof(self.event))
        return DeviceArraySource(Field("C"), (chunk,), place=place)

    def read(self, array, stream):
        """Read on a stream."""
        self.rocm.driver.copy(self.rocm.memory(), array.ptr, SIZE, stream, 0, CALL)
        self.rocm.driver.synchronize(stream, 0, CALL)

    def share(self):
        """Share the memory, and read it on the caller's stream."""
        stream = self.rocm.stream()
        self.read(ix.from_arrow(self.column(self.rocm.memory()), stream=stream), stream)

    def share_on_default(self):
        """Share the memory, and read it on the default stream, which is 0."""
        self.read(ix.from_arrow(self.column(self.rocm.memory())), 0)

    def move(self):
        """Copy to the host."""
        ix.from_arrow(self.column(self.rocm.memory()), device="cpu")

    def copy(self):
        """Copy on the device."""
        ix.from_arrow(self.column(self.rocm.memory()), copy=True)

    def read_page_locked(self):
        """Read page-locked memory on the host, without a copy."""
        memory = self.rocm.memory(pinned=True)
        ix.from_arrow(self.column(memory, PINNED))
        self.emulator.host_access(memory, SIZE, write=False)


@pytest.fixture
def program(rocm, monkeypatch):
    """Return the parts of a program, on the driver under test."""
    monkeypatch.setitem(drivers.drivers, "hip", rocm.driver)
    found = Program(rocm)
    yield found
    rocm.do("hipEventDestroy", found.event)


USES = ("share", "share_on_default", "move", "copy", "read_page_locked")


@pytest.mark.parametrize("use", USES)
def test_whatever_is_done_comes_after_the_event(program, use):
    """The detector finds no read that is not ordered after the write."""
    getattr(program, use)()
    gc.collect()

    assert program.emulator.reports() == []


def forget(tensor, _event, *rest):
    """Record the stream as an import does, without waiting for the event."""
    wait_for_foreign_event(tensor, 0, *rest)


@pytest.mark.parametrize("use", USES)
def test_an_import_that_forgets_the_event_is_caught(program, use, monkeypatch):
    """The same programs have a race if the import does not wait for the event."""
    monkeypatch.setattr(arrow_columns, "wait_for_foreign_event", forget)
    getattr(program, use)()

    program.emulator.expect_reports(match="RAW")


def test_a_column_is_on_the_device(program):
    """The device types of ROCm are the same in DLPack and Arrow."""
    array = ix.from_arrow(program.column(program.rocm.memory()))
    pinned = ix.from_arrow(program.column(program.rocm.memory(pinned=True), PINNED))

    assert (array.device, pinned.device, array.readonly) == ("rocm:0", "rocm_host", True)


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("kind", ["array", "stream"])
def test_masks_and_bools_are_on_the_device(program, named, kind):
    """The host reads the bits after the event; masks and bools are bytes on the device."""
    memory = program.rocm.memory()
    source = program.column(memory).but(
        field={"format": "b"}, chunk={"length": 16, "null_count": -1, "buffers": (memory, memory)}
    )
    source = source if kind == "array" else source.as_device_stream()
    stream = program.rocm.stream() if named else None
    data, mask = ix.from_arrow(source, nulls="separate", stream=stream)
    bits = [place % 8 == 0 for place in range(16)]

    assert (data.device, mask.device) == ("rocm:0", "rocm:0")
    assert data.to_device("cpu").tolist() == mask.to_device("cpu").tolist() == bits


@pytest.mark.parametrize("stream", [1, 2])
def test_the_numbers_of_cuda_are_no_streams(program, stream):
    """The numbers of CUDA's default streams are refused on ROCm; the column is released."""
    source = program.column(program.rocm.memory())
    with pytest.raises(ix.StreamError) as caught:
        ix.from_arrow(source, stream=stream)

    assert (caught.value.rule, source.counts) == ("DLP-STREAM-3", source.due)


def test_an_event_that_is_gone_is_refused(program):
    """The column is released, and the runtime keeps no error."""
    source = program.column(program.rocm.memory())
    gone = c_void_p(program.event.value)
    source = source.but(place=Place(ROCM, 0, ctypes.addressof(gone)))
    program.rocm.do("hipEventDestroy", program.event)
    with pytest.raises(ix.ExchangeError) as caught:
        ix.from_arrow(source)
    program.rocm.do("hipEventCreateWithFlags", byref(program.event), WITHOUT_TIMING)

    assert (caught.value.rule, source.counts) == ("ARROW-DEVICE-3", source.due)
    assert program.rocm.last_error() == 0


@pytest.mark.parametrize("keywords", [{}, {"copy": True}, {"device": "cpu"}, {"stream": -1}])
def test_imports_leave_nothing_on_the_driver(program, keywords):
    """A hundred imports of each kind leave no event and no memory, and release each struct once."""
    source = program.column(program.rocm.memory())

    def cycle(count):
        for _ in range(count):
            ix.from_arrow(source, **keywords)
        program.rocm.driver.synchronize_device(0, CALL)
        gc.collect()

    cycle(1)
    before = program.emulator.live()
    cycle(100)

    assert program.emulator.live() == before
    assert source.counts == source.due


# ---------------------------------------------------------------- exports


@pytest.mark.skipif(ix.core_name != "native", reason="exports are the native core's")
@pytest.mark.parametrize("method", ["__arrow_c_device_array__", "__arrow_c_device_stream__"])
@pytest.mark.parametrize("default", [False, True])
def test_a_column_goes_out_with_an_event_and_comes_back(program, method, default):
    """A consumer that waits for the event reads after the write; release destroys the event."""
    rocm, stream, memory = program.rocm, program.rocm.stream(), program.rocm.memory()
    producer, source = 0 if default else program.producer, rocm.memory()
    rocm.driver.copy(memory, source, SIZE, producer, 0, CALL)
    array = ix.from_pointer(memory, (SIZE,), "uint8", device="rocm:0", stream=producer)
    export, before = ix.to_arrow(array), rocm.events()
    one = type("One", (), {method: lambda _: getattr(export, method)()})()
    back = ix.from_arrow(one, stream=stream)
    during = rocm.events()
    program.read(back, stream)
    del back

    assert rocm.emulator.reports() == []
    assert (during - before, rocm.events() - before) == (1, 0)
