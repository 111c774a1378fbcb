"""`interchange_view` has the values of `asarray` for arrays of any library."""

from __future__ import annotations

import array
import ctypes
import gc
import weakref

import numpy as np
import pytest

import interchange as ix

DTYPES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
)
LAYOUTS = {
    "scalar": lambda a: a.reshape(-1)[5:6].reshape(()),
    "line": lambda a: a[0, 0],
    "block": lambda a: a,
    "transposed": lambda a: a.T,
    "backwards": lambda a: a[::-1, :, ::-2],
    "sliced": lambda a: a[1:, :, 1:3],
    "repeated": lambda a: np.broadcast_to(a[0], (5, 3, 4)),
    "empty": lambda a: a[:, :0],
    "ones": lambda a: a[:1, :1, :1],
    "8-axes": lambda a: a.reshape((1, 2, 1, 3, 1, 4, 1, 1)),
    "9-axes": lambda a: a.reshape((1, 2, 1, 3, 1, 4, 1, 1, 1)),
    "64-axes": lambda a: a.reshape((*a.shape, *(1,) * 61)),
}


def expected(array, flags=None):
    """Return the fields of a view of the memory that an Array describes."""
    known = {False: 0, True: 1, None: 2}[array.readonly]
    return {
        "ptr": array.ptr,
        "shape": array.shape,
        "strides": array.strides,
        "itemsize": array.itemsize,
        "dtype": (int(array.dtype.code), array.dtype.bits, array.dtype.lanes),
        "device": array.__dlpack_device__(),
        "byte_offset": array.byte_offset,
        "flags": known if flags is None else flags,
        "stream": None,
    }


def make(layout="block", dtype="int32"):
    """Return an ndarray with numbers in it."""
    return LAYOUTS[layout](np.arange(24).astype(dtype).reshape((2, 3, 4)))


# ---------------------------------------------------------------- NumPy


def test_a_read_only_ndarray_is_flagged(c_api):
    """A read-only ndarray is flagged, and a writable one over the same memory is not."""
    x = make()
    frozen = x.view()
    frozen.flags.writeable = False

    assert (c_api.fields(x)["flags"], c_api.fields(frozen)["flags"]) == (0, c_api.READ_ONLY)


OF_DOUBLE = ctypes.alignment(ctypes.c_double)  # [bytes]; 4 on i386
ALIGNMENTS = {"u1": 1, "f2": 2, "i4": 4, "f8": OF_DOUBLE, "c8": 4, "c16": OF_DOUBLE}


@pytest.mark.parametrize("offset", [0, 1, 2, 4, 8])
@pytest.mark.parametrize("dtype", ALIGNMENTS)
@pytest.mark.parametrize("way", [lambda x: x, ix.asarray, ix.from_dlpack, memoryview])
def test_elements_that_are_not_aligned_are_flagged(c_api, way, dtype, offset):
    """Unaligned elements are flagged for any producer; complex numbers by their halves."""
    itemsize = np.dtype(dtype).itemsize
    x = np.zeros(16 + 2 * itemsize, "u1")
    start = -x.ctypes.data % 16 + offset
    x = x[start:][: (x.size - start) // itemsize * itemsize].view(dtype)
    flag = c_api.UNALIGNED if offset % ALIGNMENTS[dtype] else 0

    assert [c_api.fields(way(x))["flags"] for _ in range(3)] == 3 * [flag]


@pytest.mark.parametrize(
    ("element", "device", "is_flagged"),
    [
        ("float32x4", "cpu", False),
        ("float32x4", "cuda", True),
        ("float8_e4m3fn", "cuda", False),
        ("float64", "opencl", False),
        ("float64", "cuda", True),
    ],
)
def test_alignment_is_that_of_a_number_in_memory_with_addresses(c_api, element, device, is_flagged):
    """A vector is aligned as its lanes are, and a handle has no alignment."""
    ptr = 4096 + (4 if device == "cpu" else 1)
    x = ix.from_pointer(ptr, (3,), element, device=device)

    assert bool(c_api.fields(x)["flags"] & c_api.UNALIGNED) is is_flagged


@pytest.mark.parametrize(
    "x",
    [
        np.arange(3, dtype=">i4"),
        np.array(["a"]),
        np.zeros(2, "i4,f8"),
        np.zeros(2, [("a", "u1"), ("b", "f8")])["b"],
        np.zeros(3, "M8[s]"),
        np.ma.masked_array([1.0, 2.0], [True, False]),
    ],
    ids=["byte-order", "text", "structs", "odd-strides", "times", "masked"],
)
def test_what_asarray_refuses_is_refused_alike(c_api, x):
    """Refusals have the class and the rule of asarray's."""
    with pytest.raises(ix.InterchangeError) as wanted:
        ix.asarray(x)
    with pytest.raises(type(wanted.value)) as caught:
        c_api.fill(x)

    assert caught.value.rule == wanted.value.rule


@pytest.mark.parametrize(
    "export",
    [lambda x: x, ix.asarray, lambda x: x.__dlpack__(max_version=(1, 3))],
    ids=["ndarray", "Array", "capsule"],
)
def test_memory_is_kept_until_the_view_is_released(c_api, export):
    """The view keeps a reference to the ndarray, to an Array's memory, and what it consumed."""
    block = np.ones(3)
    alive = weakref.ref(block)
    view = c_api.fill(export(block))
    del block
    gc.collect()
    was_kept = alive() is not None
    c_api.release(view)

    assert (was_kept, alive()) == (True, None)


def test_a_shape_that_is_set_in_place_does_not_reach_into_the_view(c_api):
    """The view has its own shape."""
    x = make()
    with c_api.viewed(x) as view:
        x.resize((24,), refcheck=False)

        assert tuple(view.shape[:3]) == (2, 3, 4)


# ---------------------------------------------------------------- arrays of ours

ARRAYS = {
    "writable": lambda: ix.asarray(bytearray(6)),
    "read-only": lambda: ix.asarray(b"abcdef"),
    "unknown": lambda: ix.from_dlpack(np.arange(3).__dlpack__()),
    "viewed": lambda: ix.asarray(make())[1:, ::-1],
    "seven-axes": lambda: ix.asarray(np.ones((1, 2, 1, 2, 1, 2, 1))),
    "empty": lambda: ix.asarray(np.ones((2, 0, 3))),
    "computed": lambda: ix.asarray(make()) + ix.asarray(make()),
    "packed": lambda: ix.from_pointer(4096, (3,), "int4", device="cuda:0"),
    "vector": lambda: ix.from_pointer(4096, (3,), ix.DType(2, 32, 4), device="cuda:0"),
    "device": lambda: ix.from_pointer(4096, (2, 3), "float32", device="cuda:1"),
    "handle": lambda: ix.from_pointer(4096, (2, 3), "float32", device="opencl:0")[1:],
}


@pytest.mark.parametrize("kind", ARRAYS)
def test_arrays_are_reported_with_their_attributes(c_api, kind):
    """A view has the Array's attributes, for any device and elements."""
    x = ARRAYS[kind]()

    assert c_api.fields(x) == expected(x)


def test_padded_elements_are_flagged(c_api):
    """A type of 4 bits, of which each has a byte."""
    x = ix.from_pointer(4096, (3,), ix.DType(0, 4, padded=True), device="cuda:0")
    found = c_api.fields(x)

    assert (found["flags"], found["itemsize"], found["dtype"]) == (c_api.PADDED, 1, (0, 4, 1))


def test_the_shape_of_an_array_is_borrowed(c_api):
    """Two views of one Array have the same numbers, and not copies of them."""
    x = ix.asarray(make())
    with c_api.viewed(x) as one, c_api.viewed(x) as other:
        addresses = {ctypes.addressof(view.shape.contents) for view in (one, other)}

        assert len(addresses) == 1


# ---------------------------------------------------------------- streams


@pytest.mark.parametrize(
    ("device", "stream"), [("cuda:0", 7), ("cuda:0", 1), ("cuda:0", 2), ("rocm:0", 0)]
)
def test_the_stream_of_pending_work_is_reported(c_api, device, stream):
    """The producer's handle, or a default stream, as in the CUDA runtime; 0 is one of ROCm."""
    x = ix.from_pointer(4096, (3,), "float32", device=device, stream=stream)

    assert c_api.fields(x)["stream"] == stream


# ---------------------------------------------------------------- other objects


class Interface:
    """An object with the array interface alone."""

    def __init__(self, x):
        self.x = x
        self.__array_interface__ = x.__array_interface__


OBJECTS = {
    **{dtype: lambda dtype=dtype: make(dtype=dtype) for dtype in DTYPES},
    **{layout: lambda layout=layout: make(layout) for layout in LAYOUTS},
    "bytes": lambda: b"abc",
    "bytearray": lambda: bytearray(4),
    "memoryview": lambda: memoryview(make())[::-1],
    "array.array": lambda: array.array("d", [1.0, 2.0]),
    "ctypes": ctypes.c_float * 6,
    "interface": lambda: Interface(make("sliced")),
    "subclass": lambda: make().view(type("Block", (np.ndarray,), {})),
    "scalar of NumPy": lambda: np.float64(3.0),
}


@pytest.mark.parametrize("kind", OBJECTS)
def test_objects_of_every_protocol_have_the_values_of_asarray(c_api, kind):
    """The first time, and when their type is known; whether or not a shape fits the struct."""
    x = OBJECTS[kind]()
    known = expected(ix.asarray(x))
    if kind == "scalar of NumPy":  # each call makes a copy
        known["ptr"] = None
    found = [c_api.fields(x) for _ in range(3)]

    assert [{**each, "ptr": known["ptr"] and each["ptr"]} for each in found] == 3 * [known]


def consumed():
    """Return a capsule that was consumed."""
    capsule = np.ones(3).__dlpack__()
    ix.from_dlpack(capsule)
    return capsule


@pytest.mark.parametrize(
    ("x", "error"),
    [
        *((x, TypeError) for x in (None, 3, "text", object(), np.ndarray, ix.Array, [1.0])),
        (consumed(), ix.ConsumedCapsuleError),
    ],
    ids=[*("none", "int", "str", "object", "ndarray-type", "Array-type", "list", "consumed")],
)
def test_what_is_no_array_is_refused(c_api, x, error):
    """The error is asarray's, and that of `from_dlpack` for a consumed capsule."""
    with pytest.raises(error):
        c_api.fill(x)


def test_what_a_producer_raises_comes_through(c_api):
    """The producer's error is raised unchanged, and the view is not filled."""

    class Producer:
        def __dlpack__(self, **_):
            raise ZeroDivisionError

        def __dlpack_device__(self):
            return 1, 0

    view = c_api.empty_view()
    with pytest.raises(ZeroDivisionError):
        c_api.fill(Producer(), view)

    assert (view.self, view.owner) == (None, None)


def test_a_view_is_filled_again_once_it_was_released(c_api):
    """A struct can be filled again after its release."""
    view = c_api.empty_view()
    seen = []
    for x in (make(), b"abc", make("9-axes")):
        c_api.fill(x, view)
        seen.append(tuple(view.shape[: view.ndim]))
        c_api.release(view)

    assert seen == [(2, 3, 4), (3,), (1, 2, 1, 3, 1, 4, 1, 1, 1)]


def test_what_only_says_that_it_is_an_array_is_refused(c_api):
    """A weak proxy, which asarray returns unchanged, is refused: it has no fields in C."""
    array = ix.asarray(np.arange(3.0))

    with pytest.raises(ix.ExchangeError, match="DLP-API-1"):
        c_api.fields(weakref.proxy(array))
