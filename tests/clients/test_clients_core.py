"""cuda.core and interchange: views of our Arrays, imports of its objects, and lifetimes."""

from __future__ import annotations

import weakref

import numpy as np
import pytest

import interchange as ix

pytestmark = [pytest.mark.clients, pytest.mark.emulated]

NAMED = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
NAMED += ("float16", "float32", "float64", "complex64", "complex128")

LAYOUTS = {
    "C order": lambda array: array,
    "F order": lambda array: array.mT,
    "every other": lambda array: array[:, ::2],
    "backwards": lambda array: array[::-1],
    "one row": lambda array: array[1],
    "no axes": lambda array: array[1, 2],
    "repeated": lambda array: array[:1].broadcast_to((3, 4)),
}
WAYS = ("from_dlpack", "from_cuda_array_interface", "from_any_interface")

every_way = pytest.mark.parametrize("way", WAYS)


@pytest.fixture
def array(bindings):
    """Return an Array of 3 x 4 numbers on the first device."""
    data = np.arange(12, dtype="f4")
    return ix.from_pointer(bindings.upload(data.tobytes()), (3, 4), "float32", device="cuda:0")


@pytest.fixture
def look(cuda_core):
    """Return a function that creates a view of cuda.core without a wait."""

    def make(way, x, stream=-1):
        return getattr(cuda_core.View, way)(x, stream_ptr=stream)

    return make


# ---------------------------------------------------------------- as a consumer


@every_way
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_view_has_the_shape_and_strides_of_ours(array, look, way, layout):
    """Elements of every layout are at the expected addresses."""
    ours = LAYOUTS[layout](array)

    view = look(way, ours)

    strides = view.strides if view.strides is not None else ix.from_dlpack(view).strides
    assert (view.shape, strides, view.ptr) == (ours.shape, ours.strides, ours.ptr)
    assert (view.device_id, view.is_device_accessible) == (0, True)


@every_way
def test_a_view_of_no_elements_has_no_address(array, look, way):
    """A length of 0 is accepted."""
    view = look(way, array[:0])

    assert (view.shape, view.ptr) == ((0, 4), 0)


@every_way
@pytest.mark.parametrize("name", NAMED)
def test_a_view_has_the_element_type_of_ours(bindings, look, way, name):
    """All element types of the interface are accepted."""
    view = look(way, ix.from_pointer(bindings.memory(), (4,), name, device="cuda:0"))

    assert view.dtype == np.dtype(name)


@every_way
@pytest.mark.parametrize("readonly", [False, True])
def test_a_view_knows_whether_ours_may_be_written(bindings, look, way, readonly):
    """The flag is in the capsule and in the record."""
    ours = ix.from_pointer(bindings.memory(), (4,), "float32", device="cuda:0", readonly=readonly)

    assert look(way, ours).readonly is readonly


@every_way
def test_a_view_keeps_our_memory_alive(bindings, look, make_owner, way):
    """The memory lives until the view is freed."""
    owner = make_owner()
    gone = weakref.ref(owner)
    ours = ix.from_pointer(bindings.memory(), (4,), "float32", device="cuda:0", owner=owner)
    view = look(way, ours)

    del owner, ours
    alive = gone() is not None
    del view

    assert (alive, gone()) == (True, None)


def test_a_stream_that_we_name_is_published_to_it(array, cuda_core, emulator):
    """``to_cai(stream=)`` publishes a Stream object, and the view waits for no other."""
    stream = cuda_core.device.create_stream()
    view = ix.to_cai(array, stream=stream)

    with emulator.trace() as trace:
        cuda_core.View.from_cuda_array_interface(view, stream_ptr=int(stream.handle))

    assert view.__cuda_array_interface__["stream"] == int(stream.handle)
    assert {"cuStreamWaitEvent", "cuEventRecord"} & set(trace.names) == set()


def test_the_decorator_of_cuda_core_takes_ours(array, cuda_core):
    """Functions with the decorator import our Arrays through DLPack."""
    utils = pytest.importorskip("cuda.core.utils")
    stream = cuda_core.device.create_stream()

    @utils.args_viewable_as_strided_memory((0,))
    def function(x, lane):
        return x.view(int(lane.handle))

    assert function(array, stream).ptr == array.ptr


# ---------------------------------------------------------------- as a producer


def test_a_buffer_is_taken_as_bytes(cuda_core, emulator):
    """Its capsule has int8 elements, one axis, and the device."""
    stream = cuda_core.device.create_stream()
    buffer = cuda_core.device.allocate(64, stream=stream)

    with emulator.trace() as trace:
        array = ix.from_dlpack(buffer, stream=stream)

    assert (array.shape, array.dtype.name, str(array.device)) == ((64,), "int8", "cuda:0")
    assert (array.ptr, array.readonly) == (int(buffer.handle), False)
    assert "cuStreamWaitEvent" not in trace.names


@pytest.mark.parametrize("readonly", [False, True])
def test_a_view_tells_us_whether_it_may_be_written(cuda_core, readonly):
    """Versioned capsules have the flag, and no other capsules are requested."""
    buffer = cuda_core.device.allocate(64, stream=cuda_core.device.default_stream)
    view = cuda_core.View.from_buffer(buffer, (4, 4), dtype=np.dtype("f4"), is_readonly=readonly)

    array = ix.from_dlpack(view)

    assert (array.readonly, array.shape, array.dtype.name) == (readonly, (4, 4), "float32")


def test_strides_of_a_view_count_elements(cuda_core):
    """Both count strides in elements."""
    buffer = cuda_core.device.allocate(64, stream=cuda_core.device.default_stream)
    view = cuda_core.View.from_buffer(buffer, (2, 3), (1, 2), dtype=np.dtype("f4"))

    assert ix.from_dlpack(view).strides == (1, 2)


@pytest.mark.parametrize("hold", ["buffer", "view"])
def test_memory_of_cuda_core_lives_as_long_as_our_array(cuda_core, emulator, hold):
    """The buffer is freed when the last view of it is freed."""
    stream = cuda_core.device.create_stream()
    before = emulator.live().device
    buffer = cuda_core.device.allocate(64, stream=stream)
    view = cuda_core.View.from_buffer(buffer, (64,), dtype=np.dtype("u1"))
    x = {"buffer": buffer, "view": view}[hold]
    array = ix.from_dlpack(x, stream=stream)[::2]

    del buffer, view, x
    stream.sync()
    meanwhile = emulator.live().device
    del array
    stream.sync()

    assert (meanwhile, emulator.live().device) == (before + 1, before)


def test_a_stream_lives_as_long_as_what_is_ready_on_it(cuda_core, bindings):
    """An Array that was made ready on a Stream keeps it alive, and so do its exports."""
    stream = cuda_core.device.create_stream()
    gone = weakref.ref(stream)
    array = ix.from_pointer(bindings.memory(), (4,), "uint8", device="cuda:0", stream=stream)
    view = ix.to_cai(array[::2])

    del stream, array
    alive = gone() is not None
    del view

    assert (alive, gone()) == (True, None)


@pytest.mark.parametrize("name", ["LEGACY_DEFAULT_STREAM", "PER_THREAD_DEFAULT_STREAM"])
def test_default_streams_of_cuda_core_are_1_and_2(cuda_core, bindings, name):
    """The numbers are those of the standard."""
    stream = getattr(cuda_core, name)
    array = ix.from_pointer(bindings.memory(), (4,), "uint8", device="cuda:0", stream=stream)

    number = {"LEGACY_DEFAULT_STREAM": 1, "PER_THREAD_DEFAULT_STREAM": 2}[name]
    assert array.__cuda_array_interface__["stream"] == number


def test_a_stream_of_another_library_orders_cuda_core(cuda_core, bindings, emulator):
    """After a loan on a Stream, the producer's next write waits for the read on it."""
    theirs, ours = cuda_core.device.create_stream(), cuda_core.device.create_stream()
    buffer = cuda_core.device.allocate(bindings.size, stream=theirs)
    buffer.fill(7, stream=theirs)
    made = ix.from_pointer(
        int(buffer.handle), (bindings.size,), "uint8", device="cuda:0", owner=buffer, stream=theirs
    )
    emulator.delay(ours.handle, 0.005)

    with ix.borrow(made, stream=ours) as array:
        target = cuda_core.LegacyPinnedMemoryResource().allocate(bindings.size, stream=ours)
        source = cuda_core.Buffer.from_handle(array.ptr, bindings.size)
        source.copy_to(target, stream=ours)
    buffer.fill(9, stream=theirs)
    bindings.synchronize()

    assert set(ix.from_dlpack(target).tolist()) == {7}


@pytest.mark.parametrize("back", [True, False], ids=["named", "not named"])
def test_a_loan_of_a_buffer_is_handed_back(cuda_core, bindings, emulator, back):
    """A Buffer does not know its stream: the borrower passes it, or the host waits."""
    theirs, ours = cuda_core.device.create_stream(), cuda_core.device.create_stream()
    buffer = cuda_core.device.allocate(bindings.size, stream=theirs)
    theirs.sync()
    emulator.delay(ours.handle, 0.005)

    with (
        emulator.trace() as trace,
        ix.borrow(buffer, stream=ours, writable=True, back=theirs if back else None) as array,
    ):
        bindings.fill(array.ptr, 9, ours.handle)
    found = bindings.read_on(int(buffer.handle), theirs.handle)

    assert set(found) == {9}
    assert ("cuStreamSynchronize" in trace.names) is not back


def test_an_event_of_cuda_core_orders_what_we_cannot(cuda_core, bindings, emulator):
    """A stream that waited for an Event may use a Buffer."""
    theirs, ours = cuda_core.device.create_stream(), cuda_core.device.create_stream()
    buffer = cuda_core.device.allocate(bindings.size, stream=theirs)
    emulator.delay(theirs.handle, 0.005)
    buffer.fill(7, stream=theirs)

    ours.wait(theirs.record())
    array = ix.from_dlpack(buffer, stream=ours)

    assert set(bindings.read_on(array.ptr, ours.handle)) == {7}


@pytest.mark.parametrize(
    ("resource", "device"),
    [
        ("LegacyPinnedMemoryResource", "cuda_host:0"),
        ("PinnedMemoryResource", "cuda_host:0"),
        ("ManagedMemoryResource", "cuda_managed:0"),
    ],
)
def test_memory_that_the_host_reaches_is_distinguished(cuda_core, resource, device):
    """Page-locked and managed buffers are not treated as device memory."""
    stream = cuda_core.device.default_stream
    buffer = getattr(cuda_core, resource)().allocate(64, stream=stream)
    stream.sync()

    assert str(ix.from_dlpack(buffer).device) == device


def test_a_closed_stream_is_refused(cuda_core, bindings):
    """The error of cuda.core is raised, and no wait is left pending."""
    stream = cuda_core.device.create_stream()
    array = ix.from_pointer(bindings.memory(), (4,), "uint8", device="cuda:0")
    stream.close()

    with pytest.raises(RuntimeError, match="closed"):
        ix.to_cai(array, stream=stream)


def test_a_round_trip_is_the_same_memory(array, cuda_core):
    """An export followed by an import keeps the memory, in both directions."""
    out = cuda_core.View.from_dlpack(array[1:, ::2], stream_ptr=1)

    back = ix.from_dlpack(out)

    assert (back.ptr, back.shape, back.strides, back.dtype) == (
        array[1:, ::2].ptr,
        (2, 2),
        (4, 2),
        array.dtype,
    )
    assert back.copy().to_device("cpu").tolist() == [[4.0, 6.0], [8.0, 10.0]]
