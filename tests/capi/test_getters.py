"""The getters of the C API return the values of Array's attributes in Python."""

from __future__ import annotations

import ctypes
import gc
import sys

import numpy as np
import pytest

import interchange as ix

ARRAYS = {
    "scalar": lambda: ix.asarray(np.float32(3).reshape(())),
    "block": lambda: ix.asarray(np.zeros((2, 3), "i2")),
    "view": lambda: ix.asarray(np.zeros((4, 6), "f8"))[::-2, 1:].T,
    "empty": lambda: ix.asarray(np.zeros((2, 0, 3), "c16")),
    "repeated": lambda: ix.asarray(np.zeros(3)).broadcast_to((2, 3)),
    "5-axes": lambda: ix.asarray(np.zeros((1, 2, 3, 2, 1), "u1")),
    "6-axes": lambda: ix.asarray(np.zeros((1, 2, 3, 2, 1, 2), "u2")),
    "7-axes": lambda: ix.asarray(np.zeros((1, 2, 3, 2, 1, 2, 1), "f4")),
    "64-axes": lambda: ix.asarray(np.zeros((2, *(1,) * 63))),
    "capsule": lambda: ix.from_dlpack(np.zeros((2, 3)).__dlpack__()),
    "bytes": lambda: ix.asarray(b"abc"),
    "computed": lambda: ix.asarray(np.ones((2, 3))) + 1,
    "vectors": lambda: ix.from_pointer(4096, (3,), ix.DType(2, 16, 2), device="cuda:0"),
    "device": lambda: ix.from_pointer(4096, (2, 3), "bfloat16", device="cuda:1", stream=7),
    "rocm": lambda: ix.from_pointer(4096, (2, 3), "float32", device="rocm:0"),
}


@pytest.fixture(params=ARRAYS)
def array(request):
    """Return Arrays of many kinds, none of which was described before."""
    return ARRAYS[request.param]()


GETTERS = {
    "data_ptr": lambda x: x.ptr or None,
    "ndim": lambda x: x.ndim,
    "itemsize": lambda x: x.itemsize,
    "device_type": lambda x: x.__dlpack_device__()[0],
    "device_id": lambda x: x.__dlpack_device__()[1],
    "readonly": lambda x: {True: 1, False: 0, None: -1}[x.readonly],
    "shape": lambda x: x.shape,
    "strides_in_elements": lambda x: x.strides,
    "strides_in_bytes": lambda x: x.strides_in_bytes,
}
"""Name of a getter -> the value that it has in Python."""
KINDS = {"data_ptr": ctypes.c_void_p, "ndim": ctypes.c_int64}


@pytest.mark.parametrize("getter", GETTERS)
def test_each_value_is_the_arrays(c_api, array, getter):
    """NULL for no elements; strides also in C order; writability is -1 if unknown.

    Strides in bytes have their own memory: shape and strides are the same afterwards.
    """
    name, is_vector = f"array_get_{getter}", getter.startswith(("shape", "strides"))
    before = array.shape, array.strides
    if is_vector:
        found = c_api.numbers(name, array)
    else:
        found = c_api.number(name, array, *filter(None, [KINDS.get(getter)]))

    assert found == GETTERS[getter](array)
    vectors = ("array_get_shape", "array_get_strides_in_elements")
    assert tuple(c_api.numbers(each, array) for each in vectors) == before


def test_the_element_type_is_the_arrays(c_api, array):
    """DLPack's code, and the size in bytes."""
    code, size = ctypes.c_int(), ctypes.c_int()
    get = c_api.function("array_get_dtype")

    assert get(c_api.handle(array), ctypes.byref(code), ctypes.byref(size)) == 0
    assert (code.value, size.value) == (array.dtype.code, array.itemsize)


def test_pointers_stay_valid_while_the_array_lives(c_api):
    """Pointers are borrowed, and the same at every call."""
    array = ix.asarray(np.zeros((2, 3, 4)))
    get = c_api.function("array_get_shape")
    found = []
    for _ in range(3):
        out = ctypes.POINTER(ctypes.c_int64)()
        get(c_api.handle(array), ctypes.byref(out))
        gc.collect()
        found.append(ctypes.addressof(out.contents))

    assert len(set(found)) == 1


def test_a_handle_borrows(c_api):
    """A handle is the object itself, without a new reference."""
    array = ix.asarray(b"abc")
    before = sys.getrefcount(array)
    handles = [c_api.handle(array) for _ in range(10)]

    assert (sys.getrefcount(array), {each.value for each in handles}) == (before, {id(array)})


def test_elements_that_share_bytes_have_no_strides_in_bytes(c_api):
    """Elements that share bytes have no strides in bytes, as in Python."""
    array = ix.from_pointer(4096, (3,), "int4", device="cuda:0")

    with pytest.raises(ix.UnsupportedDTypeError, match="DLP-DTYPE-5"):
        c_api.numbers("array_get_strides_in_bytes", array)


def test_a_stride_that_leads_nowhere_needs_no_bytes(c_api):
    """The stride along an axis of length 1 is that of a dense axis."""
    array = ix.from_pointer(4096, (2, 1), "float64", strides=(1, 2**62), device="cuda:0")

    assert c_api.numbers("array_get_strides_in_bytes", array) == (8, 8)


@pytest.mark.parametrize(
    "x", [b"abc", np.zeros(3), None, ix.Array, object()], ids=lambda x: type(x).__name__
)
def test_only_an_array_of_ours_has_a_handle(c_api, x):
    """Only an Array has a handle; `interchange_view` accepts other objects."""
    with pytest.raises(ix.ArgumentError, match="IX-CAPI-1"):
        c_api.handle(x)


def test_the_functions_are_symbols_of_the_shared_library(c_api):
    """The symbols are the functions of the table, for callers that look them up by name."""
    from interchange._core._native import _extension

    library = ctypes.PyDLL(_extension.__file__)
    table = c_api.table()
    found = {
        name: ctypes.cast(getattr(library, f"interchange_{name}"), ctypes.c_void_p).value
        for name, _ in c_api.FUNCTIONS
    }

    assert found == {name: getattr(table, name) for name, _ in c_api.FUNCTIONS}
