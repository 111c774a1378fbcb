"""Device Arrays as columns of Arrow: the event for consumers, and its lifetime."""

from __future__ import annotations

import ctypes

import pytest

import interchange as ix
from interchange.abi import capsule_pointer
from interchange.abi.arrow import ARROW_DEVICE_ARRAY, ArrowDeviceArray

pytestmark = [
    pytest.mark.emulated,
    pytest.mark.gpu,
    pytest.mark.skipif(ix.core_name != "native", reason="exports are the native core's"),
]

SIZE = 4096  # [bytes], of memory
METHODS = ("__arrow_c_device_array__", "__arrow_c_device_stream__")
BUSY = (0, 1, 3)


class Only:
    """A producer that has one of the methods of another."""

    def __init__(self, export, method):
        setattr(type(self), method, lambda _self: getattr(export, method)())

    @classmethod
    def of(cls, export, method):
        """Return a producer of a separate class."""
        return type("Only", (cls,), {})(export, method)


def array_of(ptr, device="cuda:0", stream=-1):
    """Return an Array over memory."""
    return ix.from_pointer(ptr, (SIZE,), "uint8", device=device, stream=stream)


def struct_of(capsule):
    """Return the struct of a capsule without consuming the capsule."""
    return ArrowDeviceArray.from_address(capsule_pointer(capsule, ARROW_DEVICE_ARRAY))


def event_of(struct):
    """Return the handle of the event in a struct."""
    return ctypes.c_void_p.from_address(struct.sync_event).value


def refusal(kind, function, *args):
    """Return the rule id of the error that a call raises."""
    with pytest.raises(kind) as caught:
        function(*args)
    assert "__arrow_c_device_array__(): " in str(caught.value)
    return caught.value.rule


# ---------------------------------------------------------------- fields of the struct


def test_the_struct_says_where_memory_is(cuda):
    """Device type and id are those of DLPack, the buffer is the array's, and the rest is zero."""
    array = array_of(cuda.memory())
    _schema, capsule = ix.to_arrow(array).__arrow_c_device_array__()
    struct = struct_of(capsule)

    assert (struct.device_type, struct.device_id, struct.sync_event) == (2, 0, None)
    assert (struct.array.length, struct.array.buffers[1]) == (SIZE, array.ptr)
    assert list(struct.reserved) == [0, 0, 0]


@pytest.mark.parametrize(("device", "number"), [("cuda_host", 3), ("cuda_managed", 13)])
def test_memory_that_the_host_reads_goes_out_by_both_methods(cuda, device, number):
    """Such memory is exported as memory of its kind, and as host memory."""
    array = array_of(cuda.pinned() if number == 3 else cuda.managed(), device, None)
    export = ix.to_arrow(array)
    struct = struct_of(export.__arrow_c_device_array__()[1])

    assert struct.device_type == number
    assert ix.from_arrow(Only.of(export, "__arrow_c_array__")).device == "cpu"


def test_memory_of_a_device_is_not_the_hosts(cuda):
    """A consumer without device support is refused."""
    export = ix.to_arrow(array_of(cuda.memory()))
    with pytest.raises(ix.UnsupportedDeviceError) as caught:
        export.__arrow_c_array__()

    assert caught.value.rule == "DLP-DEV-6"


# ---------------------------------------------------------------- waits


@pytest.mark.parametrize("busy", BUSY)
def test_who_waits_for_the_event_sees_what_was_written(cuda, produce, gate, busy):
    """The event is behind the work of all streams; without pending work there is no event."""
    producer = produce(*(cuda.stream() for _ in range(busy)))
    target, stream = cuda.pinned(), cuda.stream()
    held = [gate(producer.streams[-1])] if busy else []
    producer.write(7)
    _schema, capsule = ix.to_arrow(ix.from_cai(producer)).__arrow_c_device_array__()
    struct = struct_of(capsule)
    if busy:
        cuda("cuStreamWaitEvent", stream, event_of(struct), 0)
    cuda.copy(target, struct.array.buffers[1], stream)
    before = set(ctypes.string_at(target, SIZE))
    for shut in held:
        shut.open()
    cuda.synchronize()

    assert bool(struct.sync_event) == bool(busy)
    assert before == {0}
    assert set(ctypes.string_at(target, SIZE)) == ({7} if busy else {0})


@pytest.mark.parametrize("stream", [1, 2])
def test_work_on_a_default_stream_is_behind_an_event(cuda, stream):
    """The event is behind work on a default stream as well."""
    memory, consumer = cuda.memory(), cuda.stream()
    shut = cuda.fill_behind_gate(memory, 7, stream)
    _schema, capsule = ix.to_arrow(array_of(memory, stream=stream)).__arrow_c_device_array__()
    cuda("cuStreamWaitEvent", consumer, event_of(struct_of(capsule)), 0)

    assert cuda.read_around(shut, memory, consumer) == ({0}, {7})


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", ["array", "table"])
def test_a_column_comes_back(cuda, method, kind):
    """The recorded event is waited for in this process; nothing is copied."""
    memory = cuda.memory()
    producer, stream = cuda.stream(), cuda.stream()
    shut = cuda.fill_behind_gate(memory, 7, producer)
    array = array_of(memory, stream=producer)
    export = Only.of(ix.to_arrow(array if kind == "array" else {"x": array}), method)
    back = ix.from_arrow(export, stream=stream)

    assert (back.ptr, back.device, back.readonly) == (memory, "cuda:0", True)
    assert cuda.read_around(shut, back.ptr, stream) == ({0}, {7})


def test_a_table_has_one_event_behind_all_columns(cuda, gate):
    """Each column is written on a separate stream."""
    streams = [cuda.stream(), cuda.stream(), 2]
    memory = [cuda.memory() for _ in streams]
    target, consumer = cuda.pinned(3 * SIZE), cuda.stream()
    shut = gate(streams[1])
    for ptr, stream in zip(memory, streams, strict=True):
        cuda.fill(ptr, 7, stream)
    pairs = zip(memory, streams, strict=True)
    columns = {f"x{i}": array_of(*pair[:1], stream=pair[1]) for i, pair in enumerate(pairs)}
    _schema, capsule = ix.to_arrow(columns).__arrow_c_device_array__()
    struct = struct_of(capsule)
    cuda("cuStreamWaitEvent", consumer, event_of(struct), 0)
    for i in range(3):
        ptr = struct.array.children[i].contents.buffers[1]
        cuda.copy(target + i * SIZE, ptr, consumer)
    shut.open()
    cuda.synchronize()

    assert set(ctypes.string_at(target, 3 * SIZE)) == {7}


def test_a_copy_on_its_way_goes_out(cuda, produce):
    """The copy is pending on the producer's stream; the producer may be freed before it runs."""
    producer, stream = produce(cuda.stream()), cuda.stream()
    shut = producer.write_behind_gate(7)
    _schema, capsule = ix.to_arrow(ix.from_cai(producer).copy()).__arrow_c_device_array__()
    struct = struct_of(capsule)
    cuda("cuStreamWaitEvent", stream, event_of(struct), 0)

    assert cuda.read_around(shut, struct.array.buffers[1], stream) == ({0}, {7})


@pytest.mark.parametrize("method", [*METHODS, "__arrow_c_array__", "__arrow_c_stream__"])
def test_page_locked_memory_is_filled_when_it_goes_out(cuda, method):
    """The host has waited for the memory, so there is no event."""
    memory, stream = cuda.pinned(), cuda.stream()
    array = ix.from_cai(
        type("Pinned", (), {"__cuda_array_interface__": {
            "shape": (SIZE,), "typestr": "|u1", "data": (memory, False), "version": 3,
            "stream": stream,
        }})()
    )  # fmt: skip
    cuda.fill(memory, 7, stream)
    getattr(ix.to_arrow(array), method)()

    assert set(ctypes.string_at(memory, SIZE)) == {7}


@pytest.mark.parametrize("method", ["__arrow_c_array__", "__arrow_c_stream__"])
def test_managed_memory_is_filled_when_the_host_is_to_read_it(cuda, method):
    """The struct for the host has no event."""
    memory, stream = cuda.managed(), cuda.stream()
    cuda.fill(memory, 7, stream)
    getattr(ix.to_arrow(array_of(memory, "cuda_managed", stream)), method)()

    assert set(ctypes.string_at(memory, SIZE)) == {7}


# ---------------------------------------------------------------- invalid arguments


def test_work_in_a_capture_does_not_go_out(cuda):
    """A consumer outside of the capture could not wait for it, and the capture stays valid."""
    stream = cuda.stream()
    export = ix.to_arrow(array_of(cuda.memory(), stream=stream))
    with cuda.capture(stream):
        rule = refusal(ix.StreamError, export.__arrow_c_device_array__)

    assert rule == "DLP-STREAM-8"


def test_columns_on_several_devices_are_no_table(cuda):
    """One struct has one device for all columns."""
    arrays = {"x": array_of(cuda.memory()), "y": array_of(cuda.pinned(), "cuda_host", None)}
    with pytest.raises(ix.ViewError) as caught:
        ix.to_arrow(arrays)

    assert caught.value.rule == "ARROW-OUT-3"
