"""Columns of Arrow on a device: which stream waits for the event, and when memory is released."""

from __future__ import annotations

import ctypes
import gc

import pytest

import interchange as ix
from interchange_conformance.zoo.arrow import (
    Chunk,
    DeviceArraySource,
    EverySource,
    Field,
    Place,
    extension,
)

pytestmark = [pytest.mark.emulated, pytest.mark.gpu]

SIZE = 4096  # [bytes], of memory
CUDA, PINNED, MANAGED = 2, 3, 13
CONSUMERS = ("own", "per-thread", "legacy", "default")
KINDS = ("array", "stream")


def column_at(ptr, event=None, *, kind="array", device_type=CUDA, device_id=0, text="C", **said):
    """Return a producer of a column of `SIZE` bytes on a device."""
    chunk = Chunk(length=SIZE, buffers=(None, ptr))
    place = Place(device_type, device_id, None if event is None else event.address)
    source = DeviceArraySource(Field(text), (chunk,), place=place)
    if said:
        source = source.but(**said)
    return source if kind == "array" else source.as_device_stream()


def pick(cuda, consumer):
    """Return the `stream` argument of a consumer, and the stream to which it refers."""
    named = {"own": cuda.stream(), "per-thread": 2, "legacy": 1, "default": None}[consumer]
    return named, 1 if named is None else named


def refusal(kind, function, *args, **keywords):
    """Return the rule id of the error that a call raises."""
    with pytest.raises(kind) as caught:
        function(*args, **keywords)
    assert str(caught.value).startswith("from_arrow(): ")
    caught.value.taken = None  # of a stream
    return caught.value.rule


# ---------------------------------------------------------------- waits


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("consumer", CONSUMERS)
def test_a_consumer_sees_what_was_written_before_the_event(cuda, record_event, consumer, kind):
    """The consumer's stream waits (ARROW-DEVICE-2); the host does not wait for the held stream."""
    producer, memory = cuda.stream(), cuda.memory()
    named, stream = pick(cuda, consumer)
    shut = cuda.fill_behind_gate(memory, 7, producer)
    array = ix.from_arrow(column_at(memory, record_event(producer), kind=kind), stream=named)

    assert cuda.read_around(shut, array.ptr, stream) == ({0}, {7})


@pytest.mark.parametrize("consumer", CONSUMERS)
def test_memory_without_an_event_is_ready(cuda, gate, consumer):
    """No wait is made, whatever streams are busy."""
    memory, target = cuda.memory(value=7), cuda.pinned()
    named, stream = pick(cuda, consumer)
    with gate(cuda.stream()):
        ix.from_arrow(column_at(memory), stream=named)
        cuda.copy(target, memory, stream)
        cuda("cuStreamSynchronize", stream)

        assert set(ctypes.string_at(target, SIZE)) == {7}


def test_no_sync_waits_for_nothing(cuda, record_event, gate):
    """With -1 the caller knows that the memory is ready: no stream waits or is published."""
    producer, stream, memory = cuda.stream(), cuda.stream(), cuda.memory()
    with gate(producer) as shut:
        cuda.fill(memory, 7, producer)
        array = ix.from_arrow(column_at(memory, record_event(producer)), stream=-1)
        published = array.__cuda_array_interface__["stream"]
        array.__dlpack__(stream=stream, max_version=(1, 1))
        cuda("cuStreamSynchronize", stream)

        assert (published, shut.is_open) == (None, False)


@pytest.mark.parametrize("consumer", CONSUMERS)
def test_the_next_protocol_waits_for_the_consumers_stream(cuda, record_event, consumer):
    """A column is exported as a DLPack capsule: the event is waited for through that stream."""
    producer, then, memory = cuda.stream(), cuda.stream(), cuda.memory()
    named, stream = pick(cuda, consumer)
    shut = cuda.fill_behind_gate(memory, 7, producer)
    array = ix.from_arrow(column_at(memory, record_event(producer)), stream=named)
    again = ix.from_dlpack(array.__dlpack__(stream=then, max_version=(1, 1)), stream=then)

    assert cuda.read_around(shut, again.ptr, then) == ({0}, {7})
    assert array.__cuda_array_interface__["stream"] == stream


def test_stream_objects_are_kept(cuda, record_event):
    """As in every import, an Array keeps the stream object that was passed."""
    stream = cuda.stream_object()
    array = ix.from_arrow(column_at(cuda.memory(), record_event(cuda.stream())), stream=stream)

    assert array._pending_work.keep is stream


def test_the_column_of_another_device_waits_there(cuda, record_event):
    """The default streams are those of the memory's device."""
    with cuda.device(1):
        producer, memory = cuda.stream(), cuda.memory()
        shut = cuda.fill_behind_gate(memory, 7, producer)
        event = record_event(producer)
    array = ix.from_arrow(column_at(memory, event, device_id=1))
    with cuda.device(1):
        assert cuda.read_around(shut, array.ptr, 1) == ({0}, {7})

    assert array.device == "cuda:1"


def test_the_host_waits_for_page_locked_memory(cuda, record_event):
    """Without a stream, the memory is filled when the import returns."""
    producer, memory = cuda.stream(), cuda.pinned()
    cuda.fill(memory, 7, producer)
    array = ix.from_arrow(column_at(memory, record_event(producer), device_type=PINNED))

    assert (array.device, set(ctypes.string_at(memory, SIZE))) == ("cuda_host", {7})


def test_managed_memory_is_read_by_the_host_when_it_is_ready(cuda, record_event):
    """The event is waited for on the default stream, and the host waits for it when it reads."""
    producer, memory = cuda.stream(), cuda.managed()
    cuda.fill(memory, 7, producer)
    array = ix.from_arrow(column_at(memory, record_event(producer), device_type=MANAGED))

    assert (array.device, set(array.tolist())) == ("cuda_managed", {7})


# ---------------------------------------------------------------- shapes and addresses


def test_a_column_of_lists_is_a_matrix_on_the_device(cuda):
    """The addresses are on the device; the shape is read from the structs on the host."""
    memory = cuda.memory()
    inner = Chunk(length=SIZE // 4, buffers=(None, memory))
    outer = Chunk(length=SIZE // 16 - 1, offset=1, buffers=(None,), children=(inner,))
    field = Field("+w:4", children=(Field("f", "item"),))
    array = ix.from_arrow(DeviceArraySource(field, (outer,), place=Place(CUDA)))

    assert (array.shape, array.ptr) == ((SIZE // 16 - 1, 4), memory + 16)
    assert (str(array.dtype), array.device, array.readonly) == ("float32", "cuda:0", True)


@pytest.mark.parametrize("consumer", CONSUMERS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_column_is_moved_to_the_host(cuda, record_event, kind, consumer):
    """The copy runs on the stream that waits for the event, and the host waits for the copy."""
    producer, memory = cuda.stream(), cuda.memory()
    cuda.fill(memory, 7, producer)
    source, (named, _) = column_at(memory, record_event(producer), kind=kind), pick(cuda, consumer)
    array = ix.from_arrow(source, device="cpu", stream=named)

    assert (set(array.tolist()), source.counts) == ({7}, source.due)


def test_a_move_runs_on_a_stream(cuda, record_event):
    """-1 is not accepted for a move, as for every copy."""
    source = column_at(cuda.memory(), record_event(cuda.stream()))

    assert refusal(ix.StreamError, ix.from_arrow, source, device="cpu", stream=-1) == "DLP-STREAM-2"


@pytest.mark.parametrize("device", [None, "cuda:0"])
@pytest.mark.parametrize("consumer", ["own", "default"])
def test_a_copy_is_made_after_the_event(cuda, record_event, device, consumer):
    """The copy is writable and does not depend on the producer's memory."""
    producer, memory = cuda.stream(), cuda.memory()
    named, _ = pick(cuda, consumer)
    then = cuda.stream()
    shut = cuda.fill_behind_gate(memory, 7, producer)
    source = column_at(memory, record_event(producer))
    array = ix.from_arrow(source, device=device, copy=True, stream=named)
    capsule = array.__dlpack__(stream=then, max_version=(1, 1))

    assert cuda.read_around(shut, array.ptr, then) == ({0}, {7})
    assert (array.ptr != memory, array.readonly) == (True, False)
    del capsule


def test_a_copy_is_not_made_where_it_is_forbidden(cuda, record_event):
    """A move to another device requires a copy; on the same device nothing is copied."""
    memory, event = cuda.memory(), record_event(cuda.stream())

    assert ix.from_arrow(column_at(memory, event), copy=False).ptr == memory
    assert refusal(
        ix.CopyNeededError, ix.from_arrow, column_at(memory, event), device="cpu", copy=False
    ) == ("DLP-COPY-1")


def test_several_chunks_become_one_copy(cuda, record_event):
    """The events of all chunks are waited for."""
    producer = cuda.stream()
    memory = [cuda.memory(), cuda.memory()]
    for i, ptr in enumerate(memory):
        cuda.fill(ptr, 7 + i, producer)
    chunks = tuple(Chunk(length=SIZE, buffers=(None, ptr)) for ptr in memory)
    place = Place(CUDA, 0, record_event(producer).address)
    source = DeviceArraySource(Field("C"), chunks, place=place).as_device_stream()
    array = ix.from_arrow(source, copy=True)

    assert refusal(ix.CopyNeededError, ix.from_arrow, source) == "ARROW-CHUNK-1"
    assert (array.device, array.shape) == ("cuda:0", (2 * SIZE,))
    assert array.to_device("cpu").tolist() == [7] * SIZE + [8] * SIZE


# ---------------------------------------------------------------- nulls and bools


def bits_on_device(cuda, bits, stream):
    """Return the address of a bitmap on the device, written on a stream."""
    host, device = cuda.pinned(), cuda.memory()
    ctypes.memmove(host, bytes(bits), len(bits))
    cuda.copy(device, host, stream, len(bits))
    return device


@pytest.mark.parametrize("consumer", CONSUMERS)
def test_nulls_and_their_mask_stay_on_the_device(cuda, record_event, consumer):
    """The host reads the bitmap after the event; the mask is returned as bytes on the device."""
    producer, memory = cuda.stream(), cuda.memory(value=3)
    bitmap = bits_on_device(cuda, [0b1011_0101], producer)
    chunk = {"length": 6, "offset": 1, "null_count": -1, "buffers": (bitmap, memory)}
    source = column_at(memory, record_event(producer), chunk=chunk)
    named, _ = pick(cuda, consumer)
    data, mask = ix.from_arrow(source, nulls="separate", stream=named)

    assert (data.ptr, data.device, mask.device) == (memory + 1, "cuda:0", "cuda:0")
    assert mask.to_device("cpu").tolist() == [False, True, False, True, True, False]
    assert refusal(ix.ExchangeError, ix.from_arrow, source, stream=named) == "ARROW-NULL-2"


@pytest.mark.parametrize("consumer", CONSUMERS)
def test_bits_become_bytes_on_the_device(cuda, record_event, consumer):
    """Bits are expanded to bytes in a copy, which may be forbidden."""
    producer = cuda.stream()
    memory = bits_on_device(cuda, [0b1011_0101], producer)
    chunk = {"length": 5, "offset": 2}
    source = column_at(memory, record_event(producer), text="b", chunk=chunk)
    named, _ = pick(cuda, consumer)
    array = ix.from_arrow(source, stream=named)

    assert (array.device, str(array.dtype)) == ("cuda:0", "bool")
    assert array.to_device("cpu").tolist() == [True, False, True, True, False]
    assert refusal(ix.CopyNeededError, ix.from_arrow, source, copy=False) == "ARROW-BOOL-1"


@pytest.mark.parametrize("stream", [None, 1, -1])
@pytest.mark.parametrize(
    ("device_type", "name"), [(PINNED, "cuda_host"), (MANAGED, "cuda_managed")]
)
def test_what_is_made_of_bits_is_in_memory_of_their_kind(cuda, device_type, name, stream):
    """Masks and bools of memory that the host can read are in memory that devices reach as well."""
    memory = cuda.pinned() if device_type == PINNED else cuda.managed()
    ctypes.memset(memory, 0b0101_0011, SIZE)
    chunk = Chunk(length=8, null_count=-1, buffers=(memory, memory))
    source = DeviceArraySource(Field("b"), (chunk,), place=Place(device_type))
    data, mask = ix.from_arrow(source, nulls="separate", stream=stream)

    assert (data.device, mask.device) == (name, name)
    assert data.tolist() == mask.tolist() == [True, True, False, False, True, False, True, False]


@pytest.mark.parametrize("device_type", [PINNED, MANAGED])
def test_several_chunks_become_one_of_their_kind(cuda, device_type):
    """The host fills the memory of the copy."""
    memory = [cuda.pinned() if device_type == PINNED else cuda.managed() for _ in range(2)]
    for i, ptr in enumerate(memory):
        ctypes.memset(ptr, i, SIZE)
    chunks = tuple(Chunk(length=SIZE, buffers=(None, ptr)) for ptr in memory)
    source = DeviceArraySource(Field("C"), chunks, place=Place(device_type)).as_device_stream()
    array = ix.from_arrow(source, copy=True)

    assert array.device == ix.Device(device_type)
    assert array.tolist() == [0] * SIZE + [1] * SIZE


def test_a_count_of_no_nulls_is_believed_on_a_device(cuda, record_event, gate):
    """Reading the bitmap would make the host wait for the producer."""
    producer, memory = cuda.stream(), cuda.memory()
    chunk = {"length": 8, "null_count": 0, "buffers": (cuda.memory(), memory)}
    with gate(producer):
        source = column_at(memory, record_event(producer), chunk=chunk)

        assert ix.from_arrow(source, stream=cuda.stream()).ptr == memory


def test_bytes_of_bools_are_shared(cuda, record_event):
    """Bytes are checked first: values other than 0 and 1 are refused."""
    memory, event = cuda.memory(value=1), record_event(cuda.stream())
    field = {"metadata": extension("arrow.bool8")}
    array = ix.from_arrow(column_at(memory, event, text="c", field=field))
    cuda("cuMemsetD8", memory + 5, 2, 1)

    assert (array.ptr, str(array.dtype)) == (memory, "bool")
    assert refusal(
        ix.ExchangeError, ix.from_arrow, column_at(memory, event, text="c", field=field)
    ) == ("ARROW-BOOL-1")


# ---------------------------------------------------------------- release


@pytest.mark.parametrize("kind", KINDS)
def test_everything_is_released_once(cuda, record_event, kind):
    """Schema and stream are released at once, and the chunk with its last Array."""
    source = column_at(cuda.memory(), record_event(cuda.stream()), kind=kind)
    array = ix.from_arrow(source)
    view = array[::2]
    del array
    meanwhile = source.alive
    del view

    assert (meanwhile, source.counts) == (1, source.due)


def test_release_comes_after_the_wait(cuda, record_event):
    """A producer may destroy its event in the release callback, so the wait precedes it."""
    producer, stream, memory = cuda.stream(), cuda.stream(), cuda.memory()
    shut = cuda.fill_behind_gate(memory, 7, producer)
    event = record_event(producer)
    spoilt = ctypes.c_void_p(event.handle)
    address = ctypes.addressof(spoilt)
    chunk = Chunk(length=SIZE, buffers=(None, memory), spoils=(address, 8))
    source = DeviceArraySource(Field("C"), (chunk,), place=Place(CUDA, 0, address))
    array = ix.from_arrow(source, stream=stream)
    del array
    event.destroy()

    assert spoilt.value != event.handle  # the release callback has run
    assert cuda.read_around(shut, memory, stream) == ({0}, {7})


def test_a_copy_lets_the_producer_go_when_it_was_made(cuda, record_event):
    """The producer is released only after the copy, which is checked at garbage collection."""
    producer, memory = cuda.stream(), cuda.memory()
    shut = cuda.fill_behind_gate(memory, 7, producer)
    source = column_at(memory, record_event(producer))
    copied = ix.from_arrow(source, copy=True)
    meanwhile = source.alive
    shut.open()
    cuda.synchronize()
    gc.collect()

    assert (meanwhile, source.counts) == (1, source.due)
    del copied


# ---------------------------------------------------------------- invalid arguments


UNKNOWN_TYPES = [(device_type, 0) for device_type in (0, -1, 5, 6, 99, 2**31 - 1)]
INVALID_IDS = [(CUDA, device_id) for device_id in (-1, -2, 2**31, 2**62)]


@pytest.mark.parametrize(("device_type", "device_id"), [*UNKNOWN_TYPES, *INVALID_IDS])
def test_an_invalid_device_is_refused(cuda, device_type, device_id):
    """Unknown types and ids of no device are refused, and the memory is released."""
    source = column_at(cuda.memory(), device_type=device_type, device_id=device_id)

    assert refusal(ix.ExchangeError, ix.from_arrow, source) == "ARROW-DEVICE-1"
    assert source.counts == source.due


def test_a_device_that_is_not_there_is_found_out_by_its_event(cuda, record_event):
    """The driver returns an error for the wait on a missing device."""
    source = column_at(cuda.memory(), record_event(cuda.stream()), device_id=99)

    assert refusal(ix.ExchangeError, ix.from_arrow, source) == "IX-DRIVER-2"
    assert source.counts == source.due


@pytest.mark.parametrize("kind", KINDS)
def test_null_for_an_event_is_refused(cuda, kind):
    """A producer without an event must pass NULL, not the address of a NULL event."""
    word = ctypes.c_void_p(0)
    source = column_at(cuda.memory(), kind=kind)
    source = source.but(place=Place(CUDA, 0, ctypes.addressof(word)))

    assert refusal(ix.ExchangeError, ix.from_arrow, source) == "ARROW-DEVICE-3"
    assert source.counts == source.due


@pytest.mark.parametrize("stream", [0, -2, 2**64])
def test_what_is_no_stream_is_refused(cuda, record_event, stream):
    """The stream is checked before any wait."""
    source = column_at(cuda.memory(), record_event(cuda.stream()))

    assert refusal(ix.StreamError, ix.from_arrow, source, stream=stream) == "DLP-STREAM-2"
    assert source.counts == source.due


def test_a_capturing_stream_is_refused_and_its_capture_stays_whole(cuda, record_event):
    """The event is not part of the capture, which stays valid."""
    event, stream, memory = record_event(cuda.stream()), cuda.stream(), cuda.memory()
    with cuda.capture(stream):
        source = column_at(memory, event)
        rule = refusal(ix.StreamError, ix.from_arrow, source, stream=stream)

    assert (rule, source.counts) == ("DLP-STREAM-8", source.due)


# ---------------------------------------------------------------- selected method


def test_the_method_of_devices_is_asked_first(cuda, record_event):
    """Only the device method is called if a producer has all of them."""
    chunk = Chunk(length=SIZE, buffers=(None, cuda.memory()))
    place = Place(CUDA, 0, record_event(cuda.stream()).address)
    source = EverySource(Field("C"), (chunk,), place=place)
    array = ix.from_arrow(source)

    assert array.device == "cuda:0"
    assert [call.method for call in source.log] == ["__arrow_c_device_array__"]


def test_a_library_is_asked_by_asarray(cuda, record_event):
    """An object that only implements Arrow is imported as by `from_arrow`."""
    producer, stream, memory = cuda.stream(), cuda.stream(), cuda.memory()
    shut = cuda.fill_behind_gate(memory, 7, producer)
    array = ix.asarray(column_at(memory, record_event(producer)), stream=stream)

    assert array.ptr == memory
    assert cuda.read_around(shut, memory, stream) == ({0}, {7})
