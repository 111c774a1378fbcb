"""Elements and layout of copies and moves of device memory, compared with NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import interchange as ix

pytestmark = [pytest.mark.emulated, pytest.mark.gpu, pytest.mark.usefixtures("machine")]

CUBE = np.arange(6 * 7 * 8, dtype=np.int32).reshape(6, 7, 8)
FLAT = np.arange(300, dtype=np.int32)
VIEWS = {
    "whole": (CUBE, ()),
    "a scalar": (CUBE, (1, 2, 3)),
    "rows": (CUBE, (slice(None, None, 2),)),
    "columns": (CUBE, (..., slice(1, 4))),
    "a block": (CUBE, (slice(1, 5), slice(2, 6), slice(3, 7))),
    "every second": (CUBE, (..., slice(None, None, 2))),
    "none": (CUBE, (slice(2, 2),)),
    "reversed rows": (CUBE, (slice(None, None, -1),)),
    "reversed": (CUBE, (slice(None, None, -1),) * 3),
    "reversed and long": (FLAT, (slice(None, None, -1),)),
    "a new axis": (CUBE, (slice(None, 2), None, 3)),
}


def on_device(machine, elements, device="cuda:0", dtype=None):
    """Return an Array over device memory with the bytes of an ndarray."""
    ptr = machine.memory(elements)
    itemsize = elements.itemsize
    return ix.from_pointer(
        ptr,
        elements.shape,
        dtype or str(elements.dtype),
        strides=tuple(step // itemsize for step in elements.strides),
        device=device,
    )


def to_numpy(machine, array):
    """Return the elements of a dense array on a device, read by the driver itself."""
    order = "C" if array.is_contiguous() else "F"
    assert array.is_contiguous(order)
    dtype = np.dtype(str(array.dtype))
    return np.frombuffer(machine.read(array.ptr, array.nbytes), dtype).reshape(
        array.shape, order=order
    )


# ---------------------------------------------------------------- copies on a device


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("view", VIEWS)
def test_a_copy_of_a_view_has_its_elements(machine, view, order):
    """A copy of a view has its elements for any strides, in both orders.

    This includes views that the host has to rearrange.
    """
    elements, key = VIEWS[view]

    copied = on_device(machine, elements)[key].copy(order=order)

    assert np.array_equal(to_numpy(machine, copied), elements[key])
    assert (str(copied.device), copied.is_contiguous(order)) == ("cuda:0", True)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("axes", [(0, 2, 1), (2, 1, 0), (1, 2, 0)])
def test_a_copy_of_permuted_axes_has_its_elements(machine, axes, order):
    """Transposes are rearranged."""
    copied = on_device(machine, CUBE).permute_dims(axes).copy(order=order)

    assert np.array_equal(to_numpy(machine, copied), CUBE.transpose(axes))


@pytest.mark.parametrize("shape", [(3, 300), (300, 3, 300)])
def test_a_copy_of_what_is_spread_has_all_elements(machine, shape):
    """Strides of 0 repeat elements, in a few copies or by the host."""
    copied = on_device(machine, FLAT).broadcast_to(shape).copy()

    assert np.array_equal(to_numpy(machine, copied), np.broadcast_to(FLAT, shape))
    assert copied.readonly is False


@st.composite
def views(draw):
    """Draw an index on the cube, and an order of axes after it."""
    steps = st.sampled_from([1, 1, 1, 2, 3, -1])
    places = st.none() | st.integers(-9, 9)
    key = tuple(draw(st.builds(slice, places, places, steps)) for _ in range(3))
    return key, tuple(draw(st.permutations(range(3)))), draw(st.sampled_from("CF"))


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(views())
def test_any_view_is_copied_as_numpy_copies_it(machine, drawn):
    """Index, permute, copy: the same as NumPy's on the host."""
    key, axes, order = drawn
    array = on_device(machine, CUBE)

    copied = array[key].permute_dims(axes).copy(order=order)

    assert np.array_equal(to_numpy(machine, copied), CUBE[key].transpose(axes))


@pytest.mark.parametrize("dtype", ["float16", "complex128", "bool", "uint8"])
def test_elements_of_any_size_are_copied(machine, dtype):
    """Rows are counted in bytes."""
    elements = (np.arange(40).reshape(5, 8) % 2).astype(dtype)

    copied = on_device(machine, elements)[::2, 1:5].copy()

    assert np.array_equal(to_numpy(machine, copied), elements[::2, 1:5])


def test_elements_that_numpy_does_not_know_are_rearranged(machine):
    """Bytes are bytes, also where the host puts them in order."""
    elements = np.arange(100, dtype=np.int64)

    copied = on_device(machine, elements, dtype="float32x2")[::-1].copy()

    assert copied.dtype.name == "float32x2"
    assert machine.read(copied.ptr, copied.nbytes) == elements[::-1].tobytes()


def test_packed_elements_are_copied_as_a_whole(machine):
    """An odd number of halves is rounded up to whole bytes."""
    ptr = machine.memory(np.arange(1, 9, dtype=np.uint8))
    array = ix.from_pointer(ptr, (3, 5), "uint4", device="cuda")

    assert machine.read(array.copy().ptr, 8) == bytes(range(1, 9))
    with pytest.raises(ix.UnsupportedDTypeError, match="DLP-DTYPE-5"):
        array.copy(order="F")


def test_a_copy_may_be_written_and_is_not_the_original(machine):
    """Fresh memory is the caller's own."""
    ptr = machine.memory(CUBE)
    array = ix.from_pointer(ptr, CUBE.shape, "int32", device="cuda", readonly=True)

    copied = array.copy()

    assert copied.readonly is False
    assert copied.ptr != ptr


@pytest.mark.parametrize("shape", [(0,), (3, 0, 2)])
def test_a_copy_of_nothing_is_nothing(machine, shape):
    """An array without elements has no address."""
    copied = on_device(machine, np.zeros(shape, np.float32)).copy()

    assert (copied.shape, copied.ptr, str(copied.device)) == (shape, 0, "cuda:0")


# ---------------------------------------------------------------- moves


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_goes_to_the_device_and_back(machine, view):
    """Up from any strides, down from any strides."""
    elements, key = VIEWS[view]

    there = ix.asarray(elements)[key].to_device("cuda")
    back = on_device(machine, elements)[key].to_device("cpu")

    assert np.array_equal(to_numpy(machine, there), elements[key])
    assert np.array_equal(np.asarray(back), elements[key])
    assert (there.readonly, back.readonly, str(back.device)) == (False, False, "cpu")


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_goes_to_another_device(machine, view):
    """A non-contiguous view is gathered before it moves to another device."""
    if len(machine.contexts) < 2:
        pytest.skip("there is one device")
    elements, key = VIEWS[view]

    there = on_device(machine, elements)[key].to_device("cuda:1")

    assert str(there.device) == "cuda:1"
    assert np.array_equal(np.asarray(there.to_device("cpu")), elements[key])


@pytest.mark.parametrize("target", ["cuda:0", "cuda_host:0"])
def test_memory_in_f_order_stays_in_it(target):
    """A contiguous array moves in its own order."""
    elements = np.asfortranarray(CUBE)

    moved = ix.asarray(elements).to_device(target)
    back = moved.to_device("cpu")

    assert (moved.strides, back.strides) == ((1, 6, 42), (1, 6, 42))
    assert np.array_equal(np.asarray(back), CUBE)


def test_page_locked_memory_is_copied_to_both_sides(machine):
    """From the host, from a device, and to it; and shared with the host under its name."""
    locked = ix.asarray(CUBE).to_device("cuda_host:0")
    there = locked.to_device("cuda")
    again = there[::2].to_device("cuda_host:0")
    shared = locked.to_device("cpu")

    assert str(again.device) == "cuda_host:0"
    assert np.array_equal(np.asarray(again), CUBE[::2])
    assert np.array_equal(to_numpy(machine, there), CUBE)
    assert (shared.ptr, str(shared.device)) == (locked.ptr, "cpu")


def test_managed_memory_is_shared_with_the_host_and_copied_to_a_device(machine):
    """The host reads managed memory directly; moving it to a device copies."""
    ptr = machine.managed(FLAT.nbytes)
    machine("cuMemcpyHtoD", ptr, FLAT.ctypes.data, FLAT.nbytes)
    array = ix.from_pointer(ptr, FLAT.shape, "int32", device="cuda_managed:0")

    here, there, copied = array.to_device("cpu"), array.to_device("cuda:0"), array.copy()

    assert (here.ptr, str(here.device), str(copied.device)) == (ptr, "cpu", "cpu")
    assert np.array_equal(np.asarray(here), FLAT)
    assert np.array_equal(np.asarray(copied), FLAT)
    assert there.ptr != ptr
    assert np.array_equal(to_numpy(machine, there), FLAT)


def test_reversed_device_memory_goes_to_page_locked_memory(machine):
    """Reversed device memory is rearranged by the host and arrives in page-locked memory."""
    locked = on_device(machine, FLAT)[::-1].to_device("cuda_host:0")

    assert str(locked.device) == "cuda_host:0"
    assert np.array_equal(np.asarray(locked), FLAT[::-1])


@pytest.mark.parametrize("target", ["cuda:0", "cuda_host:0", "cpu"])
def test_packed_elements_are_moved_as_a_whole(target):
    """Bytes that elements share stay together."""
    block = bytearray(range(1, 9))
    array = ix.from_pointer(ix.from_buffer(block).ptr, (3, 5), "uint4", owner=block)
    device = array.to_device("cuda")

    moved = (array if target != "cpu" else device).to_device(target)

    back = moved.to_device("cpu")
    assert (back.dtype.name, back.shape) == ("uint4", (3, 5))
    assert bytes(ix.from_pointer(back.ptr, (8,), "uint8", owner=back).tolist()) == bytes(block)


def test_dlpack_exports_copies(machine):
    """``copy=True`` copies on the device; ``dl_device``, as NumPy passes it, on the host."""
    array = on_device(machine, CUBE)

    copied = ix.from_dlpack(array.__dlpack__(copy=True, max_version=(1, 0)))

    assert copied.ptr != array.ptr
    assert np.array_equal(to_numpy(machine, copied), CUBE)
    assert np.array_equal(np.from_dlpack(array[:, ::2], device="cpu"), CUBE[:, ::2])
