"""Pickles of Arrays: values, layout and rights survive, and dense memory is not copied."""

from __future__ import annotations

import gc
import pickle

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, strategies as st

import interchange as ix
from interchange._array.pickling import rebuild_array
from interchange.testing import producers
from interchange.testing.strategies import dtypes, shapes

PROTOCOLS = [2, 3, 4, 5]

every_protocol = pytest.mark.parametrize("protocol", PROTOCOLS)


def around(array, protocol):
    """Return an Array pickled and loaded again."""
    return pickle.loads(pickle.dumps(array, protocol))


# ---------------------------------------------------------------- what survives


@every_protocol
@given(shape=shapes(), name=dtypes(), data=st.data())
def test_values_survive(protocol, shape, name, data):
    """Shape, element type and every element are restored, for any layout."""
    size = int(np.prod(shape))
    memory = (np.arange(size) % 2).astype(name).reshape(shape)
    memory = memory.transpose(data.draw(st.permutations(range(len(shape)))))
    memory = memory[
        tuple(data.draw(st.sampled_from([slice(None), slice(None, None, -1)])) for _ in shape)
    ]

    again = around(ix.asarray(memory), protocol)

    assert (again.shape, again.dtype.name) == (memory.shape, name)
    assert again.tolist() == memory.tolist()


@every_protocol
@pytest.mark.parametrize(
    "name", ["bfloat16", "float8_e4m3fn", "float8_e5m2", "int4", "float6_e2m3fn", "float4_e2m1fn"]
)
def test_values_of_ml_dtypes_survive(protocol, name):
    """Types that NumPy has no name for travel by theirs."""
    memory = np.array([0, 1, 2, 1], getattr(ml_dtypes, name))

    again = around(ix.asarray(memory), protocol)

    assert again.dtype is ix.DType.of(memory.dtype)
    assert np.asarray(again).tobytes() == memory.tobytes()


@every_protocol
@pytest.mark.parametrize("dtype", ["int4", "uint1", "float6_e3m2fn", "float32x2", "opaque64"])
def test_bytes_that_numpy_does_not_know_survive(protocol, dtype):
    """Packed elements, short vectors and handles travel as bytes."""
    block = bytearray(range(64))
    array = ix.from_pointer(ix.from_buffer(block).ptr, (5,), dtype, owner=block)

    again = around(array, protocol)

    assert (again.dtype, again.shape, again.nbytes) == (array.dtype, (5,), array.nbytes)
    bytes_of = ix.from_pointer(again.ptr, (again.nbytes,), "uint8", owner=again)
    assert bytes(bytes_of.tolist()) == block[: array.nbytes]


@every_protocol
@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        *(({"flags": 0}, False), ({"flags": 1}, True), ({"flags": 2}, False)),
        ({"generation": "legacy"}, None),
    ],
    ids=str,
)
def test_the_right_to_write_survives(protocol, changes, expected):
    """Writable, read-only and unknown memory are restored as such."""
    array = ix.from_dlpack(producers.host().but(**changes))

    again = around(array, protocol)

    assert again.readonly is expected
    assert np.asarray(again).flags.writeable is (expected is False)


@every_protocol
def test_what_came_back_unknown_can_be_written_if_the_caller_says_so(protocol):
    """The memory under an unpickled Array is never that of an immutable object."""
    array = around(ix.from_dlpack(producers.host().but(generation="legacy")), protocol)

    np.asarray(ix.asarray(array, assume_writable=True))[...] = 7

    assert not isinstance(array.owner, bytes)


GRID = np.arange(12.0).reshape(3, 4)
LAYOUTS = {
    "C order": GRID,
    "F order": np.asfortranarray(GRID),
    "reversed": GRID[::-1],
    "strided": GRID[:, ::2],
    "repeated": np.broadcast_to(GRID[:1], (9, 4)),
    "empty": np.ones((0,)),
    "empty axis": np.ones((3, 0, 2)),
    "no axes": np.ones(()),
}


@every_protocol
@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_order_of_dense_memory_survives_and_all_else_comes_back_dense(protocol, layout):
    """Contiguous memory keeps its order; gaps and repeats are not pickled."""
    memory = LAYOUTS[layout]

    again = around(ix.asarray(memory), protocol)

    assert again.is_contiguous("F" if layout == "F order" else "C")
    assert (again.shape, again.tolist()) == (memory.shape, memory.tolist())


@every_protocol
def test_arrays_travel_within_containers(protocol):
    """An array that is in a container twice is one array after unpickling."""
    array = ix.asarray(np.arange(3))

    again = pickle.loads(pickle.dumps({"a": array, "b": [array]}, protocol))

    assert again["a"] is again["b"][0]
    assert again["a"].tolist() == [0, 1, 2]


# ---------------------------------------------------------------- without copies


@pytest.mark.parametrize("order", ["C", "F"])
def test_dense_memory_is_handed_out_of_band(order):
    """The pickler receives the memory itself, and the pickle has no elements."""
    memory = np.arange(1000.0).reshape((10, 100), order=order)
    buffers = []

    pickled = pickle.dumps(ix.asarray(memory), 5, buffer_callback=buffers.append)

    assert len(pickled) < 300
    assert [buffer.raw().nbytes for buffer in buffers] == [8000]
    assert ix.from_buffer(buffers[0].raw()).ptr == memory.ctypes.data


@pytest.mark.parametrize("order", ["C", "F"])
def test_loading_lies_over_the_buffer_it_is_given(order):
    """An unpickled array is over the given buffer, without a copy."""
    memory = np.arange(6.0).reshape((2, 3), order=order)
    buffers = []
    pickled = pickle.dumps(ix.asarray(memory), 5, buffer_callback=buffers.append)

    again = pickle.loads(pickled, buffers=buffers)

    assert (again.ptr, again.tolist()) == (memory.ctypes.data, memory.tolist())
    assert again.readonly is False


def test_the_buffer_lives_as_long_as_the_array():
    """The Array keeps the buffer that the unpickler provides."""
    buffers = []
    pickled = pickle.dumps(ix.asarray(np.arange(6.0)), 5, buffer_callback=buffers.append)
    fresh = [bytearray(buffer.raw()) for buffer in buffers]
    del buffers
    again = pickle.loads(pickled, buffers=fresh)

    del fresh
    gc.collect()

    assert again.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    assert isinstance(again.owner, bytearray)


@pytest.mark.parametrize("generation", ["versioned", "legacy"])
def test_a_read_only_buffer_makes_a_read_only_array(generation):
    """Memory of an immutable object is read-only, whatever the pickle says."""
    array = ix.from_dlpack(producers.host().but(generation=generation))
    buffers = []
    pickled = pickle.dumps(array, 5, buffer_callback=buffers.append)

    again = pickle.loads(pickled, buffers=[bytes(buffer.raw()) for buffer in buffers])

    assert again.readonly is True


# ---------------------------------------------------------------- refused pickles


@every_protocol
@pytest.mark.parametrize(
    ("device", "rule"),
    [("metal:0", "DLP-DEV-6"), ("cuda:0", "IX-DRIVER-1"), ("rocm", "IX-DRIVER-1")],
)
@pytest.mark.usefixtures("no_driver")
def test_unreadable_memory_is_not_pickled(protocol, device, rule):
    """Memory that the host cannot read, and for which there is no driver, cannot be pickled."""
    array = ix.from_pointer(0xDEAD000, (3,), "float32", device=device)

    with pytest.raises(ix.ExchangeError) as caught:
        pickle.dumps(array, protocol)

    assert (caught.value.call, caught.value.rule) == ("pickle.dumps()", rule)


GOOD = {
    "cls": ix.Array,
    "data": bytes(24),
    "dtype": "float32",
    "shape": (2, 3),
    "order": "C",
    "readonly": False,
}


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        *(({"cls": cls}, "IX-POINTER-1") for cls in (bytearray, None)),
        *(({"data": data}, "IX-POINTER-1") for data in (bytes(23), bytes(25), b"")),
        ({"dtype": "float64"}, "IX-POINTER-1"),
        ({"dtype": "float33"}, "DLP-DTYPE-1"),
        ({"shape": (2, 4)}, "IX-POINTER-1"),
        ({"shape": (-2, -3)}, "DLP-SHAPE-3"),
        ({"shape": (2**62, 2**62), "data": b""}, "IX-POINTER-1"),
        ({"shape": (0, 2**62, 2**62), "data": b""}, "DLP-SHAPE-4"),
        ({"shape": (0, -1), "data": b""}, "DLP-SHAPE-3"),
        ({"shape": (1,) * 65, "data": bytes(4)}, "DLP-SHAPE-1"),
    ],
    ids=repr,
)
def test_a_pickle_that_contradicts_itself_is_refused(change, rule):
    """A truncated or forged pickle is an error with its rule, never an Array over other memory."""
    assert rebuild_array(*GOOD.values()).shape == (2, 3)  # each row differs in one value
    with pytest.raises(ix.InterchangeError, match=rule):
        rebuild_array(*{**GOOD, **change}.values())


@pytest.mark.parametrize(
    "change",
    [{"data": "text"}, {"data": None}, {"dtype": None}, {"shape": None}, {"shape": (2.0, 3.0)}],
    ids=repr,
)
def test_a_pickle_of_other_types_is_refused(change):
    """Entries of other types never make an Array."""
    with pytest.raises((TypeError, ValueError, BufferError)):
        rebuild_array(*{**GOOD, **change}.values())


@given(st.binary(max_size=40), st.lists(st.integers(-2, 2**40), max_size=4).map(tuple), dtypes())
def test_an_array_is_never_larger_than_its_pickle(data, shape, name):
    """An Array never extends beyond the received bytes, whatever shape a pickle claims."""
    try:
        array = rebuild_array(ix.Array, data, name, shape, "C", False)  # noqa: FBT003 - as pickled
    except ix.InterchangeError:
        return

    assert array.nbytes == len(data)
    assert array.size == 0 or array.ptr == ix.from_buffer(data).ptr


def test_a_cut_pickle_is_an_error_of_the_unpickler():
    """A truncated pickle creates no Array."""
    pickled = pickle.dumps(ix.asarray(np.arange(6.0)), 5)

    with pytest.raises((pickle.UnpicklingError, EOFError)):
        pickle.loads(pickled[:-30])
