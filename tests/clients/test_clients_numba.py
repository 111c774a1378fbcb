"""numba-cuda and interchange: imports and exports of arrays, their streams, and lifetimes."""

from __future__ import annotations

import threading
import weakref

import numpy as np
import pytest

import interchange as ix

pytestmark = [pytest.mark.clients, pytest.mark.emulated]

SLOW = 0.005  # before each operation of a stream [seconds]
NAMED = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
NAMED += ("float16", "float32", "float64", "complex64", "complex128")

LAYOUTS = {
    "C order": lambda array: array,
    "F order": lambda array: array.mT,
    "every other": lambda array: array[:, ::2],
    "one row": lambda array: array[1],
    "no axes": lambda array: array[1, 2],
    "no elements": lambda array: array[:0],
}


@pytest.fixture
def array(bindings):
    """Return an Array of 3 x 4 numbers on the first device."""
    data = np.arange(12, dtype="f4")
    return ix.from_pointer(bindings.upload(data.tobytes()), (3, 4), "float32", device="cuda:0")


def address(x):
    """Return the address of an array of Numba."""
    return x.__cuda_array_interface__["data"][0]


# ---------------------------------------------------------------- as a producer


@pytest.mark.parametrize("order", ["C", "F"])
def test_what_numba_uploaded_is_read(numba, order):
    """``to_device`` keeps shape, strides and elements."""
    host = np.arange(12, dtype="f4").reshape(3, 4, order=order)

    array = ix.asarray(numba.to_device(host))

    assert (array.shape, array.strides_in_bytes, str(array.device)) == (
        host.shape,
        host.strides,
        "cuda:0",
    )
    assert array.to_device("cpu").tolist() == host.tolist()


def test_a_slice_of_numba_keeps_its_strides(numba):
    """The start of the slice is kept as well."""
    host = np.arange(12, dtype="i4").reshape(3, 4)
    x = numba.to_device(host)

    array = ix.asarray(x[1:, ::2])

    assert (array.ptr, array.strides) == (address(x) + 16, (4, 2))
    assert array.to_device("cpu").tolist() == host[1:, ::2].tolist()


@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (1,), (1, 1, 5)], ids=str)
def test_odd_shapes_of_numba_are_taken(numba, shape):
    """Arrays without axes, without elements, and with axes of one are accepted."""
    array = ix.asarray(numba.device_array(shape, "f4"))

    assert (array.shape, array.ptr == 0) == (shape, 0 in shape)


@pytest.mark.parametrize("name", NAMED)
def test_element_types_of_numba_are_ours(numba, name):
    """All element types of the interface are accepted."""
    assert ix.asarray(numba.device_array(4, name)).dtype.name == name


def test_bfloat16_of_numba_is_found_by_its_dtype(numba):
    """The record has elements of two bytes, and the array's dtype gives the type."""
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="bfloat16 takes ml_dtypes")

    assert ix.asarray(numba.device_array(4, ml_dtypes.bfloat16)).dtype.name == "bfloat16"


@pytest.mark.parametrize("dtype", [">i4", "M8[s]", "S4", [("a", "i4"), ("b", "f4")]], ids=str)
def test_elements_that_no_one_else_has_are_refused(numba, dtype):
    """Foreign byte order, times, strings and structs are refused."""
    with pytest.raises(ix.UnsupportedDTypeError):
        ix.asarray(numba.device_array(4, dtype))


@pytest.mark.parametrize(
    ("make", "number"),
    [("legacy_default_stream", 1), ("per_thread_default_stream", 2), ("stream", None)],
)
def test_the_stream_of_an_array_is_passed_on(numba, make, number):
    """The stream of ``device_array(stream=)`` is published."""
    stream = getattr(numba, make)()
    x = numba.device_array(4, "f4", stream=stream)

    published = ix.asarray(x).__cuda_array_interface__["stream"]

    assert published == (int(stream) if number is None else number)


def test_an_array_without_a_stream_publishes_none(numba):
    """Numba reports no pending work, and interchange reports none either."""
    assert ix.asarray(numba.device_array(4, "f4")).__cuda_array_interface__["stream"] is None


def test_a_stream_that_is_bound_later_counts(numba):
    """``bind`` returns a new array with another stream; the record is read at the export."""
    first, second = numba.stream(), numba.stream()
    x = numba.device_array(4, "f4", stream=first)
    array = ix.asarray(x)
    x.stream = second

    assert array.__cuda_array_interface__["stream"] == int(second)
    assert ix.asarray(x.bind(first)).__cuda_array_interface__["stream"] == int(first)


@pytest.mark.parametrize(
    ("make", "device"), [("managed_array", "cuda_managed:0"), ("mapped_array", "cuda_host:0")]
)
def test_memory_that_the_host_reaches_is_distinguished(numba, make, device):
    """The record describes managed or page-locked memory, and `from_cai` queries the driver."""
    x = getattr(numba, make)(4, "f4")

    assert str(ix.from_cai(x).device) == device


def test_our_array_keeps_numbas_alive(numba):
    """The memory and the published stream are kept alive."""
    stream = numba.stream()
    x = numba.device_array(4, "f4", stream=stream)
    gone, stream_gone = weakref.ref(x), weakref.ref(stream)
    view = ix.to_cai(ix.asarray(x)[::2])

    del x, stream
    alive = gone() is not None, stream_gone() is not None
    del view

    assert (alive, gone(), stream_gone()) == ((True, True), None, None)


def test_the_stream_of_an_array_waits_for_a_copy_of_ours(numba, bindings, emulator):
    """The next write runs after the copy, even if the array was made ready on another stream."""
    stream, ours = numba.stream(), bindings.stream()
    x = numba.to_device(np.full(bindings.size, 7, "u1"), stream=stream)
    emulator.delay(ours, SLOW)

    copied = ix.from_cai(x, stream=ours).copy()
    emulator.fill(stream, address(x), bindings.size, 9, "kernel")

    assert set(copied.to_device("cpu").tobytes()) == {7}


def test_a_loan_orders_numbas_next_kernel(numba, bindings, emulator):
    """The array's stream waits for the borrower's read before it overwrites the memory."""
    stream, ours = numba.stream(), bindings.stream()
    x = numba.to_device(np.full(bindings.size, 7, "u1"), stream=stream)
    emulator.delay(ours, SLOW)
    target = bindings.pinned()

    with ix.borrow(x, stream=ours) as array:
        bindings("cuMemcpyAsync", target, array.ptr, bindings.size, ours)
    emulator.fill(stream, address(x), bindings.size, 9, "kernel")
    bindings.synchronize()

    assert emulator.read(target, bindings.size) == bytes([7]) * bindings.size


def test_a_loan_for_writing_is_seen_by_numba(numba, bindings, emulator):
    """``copy_to_host`` on the array's stream reads what the borrower wrote."""
    stream, ours = numba.stream(), numba.external_stream(int(bindings.stream()))
    x = numba.device_array(bindings.size, "u1", stream=stream)
    emulator.delay(ours, SLOW)

    with ix.borrow(x, stream=ours, writable=True) as array:
        emulator.fill(ours, array.ptr, array.nbytes, 9, "kernel")

    assert set(x.copy_to_host().tolist()) == {9}


def test_the_per_thread_stream_of_numba_is_the_callers(numba, bindings, emulator):
    """Stream 2 differs in each thread: the reading stream waits for the writing one."""
    writer = bindings.stream()
    emulator.delay(writer, SLOW)
    ptr = bindings.memory()
    bindings.fill(ptr, 7, writer)
    made = ix.from_pointer(ptr, (bindings.size,), "uint8", device="cuda:0", stream=writer)
    found = []

    def consume():
        bindings("cuCtxSetCurrent", bindings.context)
        x = ix.convert(made, "numba", stream=numba.per_thread_default_stream())
        found.append(x.copy_to_host())

    thread = threading.Thread(target=consume)
    thread.start()
    thread.join()

    assert set(found[0].tolist()) == {7}


# ---------------------------------------------------------------- as a consumer


@pytest.mark.parametrize("layout", LAYOUTS)
def test_numba_finds_our_elements(array, numba, layout):
    """Elements are found for every layout."""
    ours = LAYOUTS[layout](array)

    x = numba.as_cuda_array(ours)

    assert (x.shape, address(x)) == (ours.shape, ours.ptr)
    assert x.copy_to_host().tolist() == ours.to_device("cpu").tolist()


@pytest.mark.parametrize("name", NAMED)
def test_our_element_types_are_numbas(bindings, numba, name):
    """All element types of the interface are accepted."""
    ours = ix.from_pointer(bindings.memory(), (4,), name, device="cuda:0")

    assert numba.as_cuda_array(ours).dtype == np.dtype(name)


@pytest.mark.usefixtures("numba")
def test_our_bfloat16_is_numbas_where_convert_hands_it_over(bindings):
    """A record cannot express bfloat16: `convert` sets the dtype of the array."""
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="bfloat16 takes ml_dtypes")
    ours = ix.from_pointer(bindings.memory(), (4,), "bfloat16", device="cuda:0")

    assert ix.convert(ours, "numba").dtype == np.dtype(ml_dtypes.bfloat16)


@pytest.mark.usefixtures("numba")
def test_read_only_memory_is_not_handed_to_numba(bindings):
    """Numba's arrays cannot be read-only: `convert` refuses, or copies."""
    ptr = bindings.upload(bytes(range(16)))
    ours = ix.from_pointer(ptr, (16,), "uint8", device="cuda:0", readonly=True)

    with pytest.raises(ix.ReadOnlyError) as caught:
        ix.convert(ours, "numba")
    copied = ix.convert(ours, "numba", copy=True)

    assert caught.value.rule == "DLP-RO-3"
    assert address(copied) != ptr
    assert copied.copy_to_host().tolist() == list(range(16))


def test_as_cuda_array_keeps_our_memory_alive(bindings, numba, make_owner):
    """The array keeps the exporter alive (CAI, Lifetime management in Numba)."""
    owner = make_owner()
    gone = weakref.ref(owner)
    ours = ix.from_pointer(bindings.memory(), (4,), "float32", device="cuda:0", owner=owner)
    x = numba.as_cuda_array(ix.to_cai(ours))

    del owner, ours
    alive = gone() is not None
    del x

    assert (alive, gone()) == (True, None)


def test_sync_waits_for_the_stream_that_we_publish(bindings, numba, emulator):
    """The host waits for the published stream only, so that any stream may read."""
    stream = bindings.stream()
    emulator.delay(stream, SLOW)
    ptr = bindings.memory()
    bindings.fill(ptr, 7, stream)
    ours = ix.from_pointer(ptr, (bindings.size,), "uint8", device="cuda:0", stream=stream)

    with emulator.trace() as trace:
        x = numba.as_cuda_array(ours)

    waits = [call.args["stream"] for call in trace.calls if call.name == "cuStreamSynchronize"]
    assert waits == [int(stream)]
    assert int(x.stream) == int(stream)
    assert set(bindings.read_on(address(x), bindings.stream())) == {7}


def test_without_sync_another_stream_races(bindings, numba, emulator):
    """As Numba documents, a caller that passes ``sync=False`` must order the streams."""
    stream = bindings.stream()
    emulator.delay(stream, SLOW)
    ptr = bindings.memory()
    bindings.fill(ptr, 7, stream)
    ours = ix.from_pointer(ptr, (bindings.size,), "uint8", device="cuda:0", stream=stream)

    x = numba.as_cuda_array(ours, sync=False)
    bindings.read_on(address(x), bindings.stream())

    emulator.expect_reports(match=r"\(RAW\)")


@pytest.mark.usefixtures("numba")
def test_convert_without_a_stream_lets_the_host_wait(bindings, emulator):
    """Without a stream the array may be used on any, so the host waits."""
    stream = bindings.stream()
    emulator.delay(stream, SLOW)
    ptr = bindings.memory()
    bindings.fill(ptr, 7, stream)
    ours = ix.from_pointer(ptr, (bindings.size,), "uint8", device="cuda:0", stream=stream)

    with emulator.trace() as trace:
        x = ix.convert(ours, "numba")

    assert "cuStreamSynchronize" in trace.names
    assert set(bindings.read_on(address(x), bindings.stream())) == {7}


def test_convert_for_a_stream_lets_only_it_wait(bindings, numba, emulator):
    """One event is recorded, the host does not wait, and the array has the stream passed."""
    stream, mine = bindings.stream(), numba.stream()
    ptr = bindings.memory()
    ours = ix.from_pointer(ptr, (bindings.size,), "uint8", device="cuda:0", stream=stream)

    with emulator.held(stream), emulator.trace() as trace:
        bindings.fill(ptr, 7, stream)
        x = ix.convert(ours, "numba", stream=mine)
        waiting = emulator.pending(stream)

    assert int(x.stream) == int(mine)
    assert waiting > 0  # reached while the producer was held
    assert (trace.names.count("cuStreamWaitEvent"), "cuStreamSynchronize" in trace.names) == (
        1,
        False,
    )
    assert set(x.copy_to_host().tolist()) == {7}


def test_a_copy_is_made_on_the_stream_that_is_named(bindings, numba, emulator):
    """``copy=True`` returns new memory, filled after the producer's write."""
    stream, mine = bindings.stream(), numba.stream()
    emulator.delay(stream, SLOW)
    ptr = bindings.memory()
    bindings.fill(ptr, 7, stream)
    ours = ix.from_pointer(ptr, (bindings.size,), "uint8", device="cuda:0", stream=stream)

    x = ix.convert(ours, "numba", copy=True, stream=mine)

    assert (int(x.stream), address(x) == ptr) == (int(mine), False)
    assert set(x.copy_to_host().tolist()) == {7}


@pytest.mark.usefixtures("numba")
def test_host_memory_reaches_numba_as_a_copy():
    """The error of `convert` names the argument that allows the copy."""
    host = np.arange(6, dtype="f4").reshape(2, 3)

    with pytest.raises(ix.UnsupportedDeviceError, match="pass `copy=True`") as caught:
        ix.convert(host, "numba")

    assert caught.value.rule == "IX-CONVERT-2"
    assert ix.convert(host, "numba", copy=True).copy_to_host().tolist() == host.tolist()


def test_a_round_trip_is_the_same_memory(numba):
    """An export followed by an import keeps the memory."""
    x = numba.to_device(np.arange(12, dtype="f4").reshape(3, 4))

    back = numba.as_cuda_array(ix.asarray(x)[1:, ::2])

    assert (address(back), back.shape, back.strides) == (address(x) + 16, (2, 2), (16, 8))
    assert back.copy_to_host().tolist() == [[4.0, 6.0], [8.0, 10.0]]


# ---------------------------------------------------------------- host memory, by convert()


def test_host_memory_is_uploaded_on_the_stream_that_is_named(numba, bindings, emulator):
    """Numba's array publishes the stream on which it is ready."""
    host, stream = np.arange(12, dtype="f4"), bindings.stream()

    with emulator.trace() as trace:
        x = ix.convert(host, "numba", copy=True, stream=stream)

    copies = [call for call in trace.calls if call.name.startswith("cuMemcpy")]
    assert [call.args["stream"] for call in copies] == [int(stream)]
    own = numba.external_stream(int(stream))
    assert x.copy_to_host(stream=own).tolist() == host.tolist()


@pytest.mark.parametrize("where", ["host", "device"])
def test_a_copy_runs_on_a_stream(array, where):
    """-1 is refused (DLP-STREAM-2): a consumer of the copy could not know when it is done."""
    x = np.arange(3, dtype="f4") if where == "host" else array

    with pytest.raises(ix.StreamError) as caught:
        ix.convert(x, "numba", copy=True, stream=-1)
    assert caught.value.rule == "DLP-STREAM-2"
