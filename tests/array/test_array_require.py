"""`Array.require`: contracts, and errors that state the argument, its value and the requirement."""

from __future__ import annotations

import ctypes
import gc
import weakref

import numpy as np
import pytest

import interchange as ix
from interchange.testing import producers

HOST = ix.asarray(np.zeros((2, 3), "f4"))
UNKNOWN = ix.from_dlpack(producers.host().but(generation="legacy"))
READ_ONLY = ix.from_buffer(b"abc")
ON_DEVICE = ix.from_pointer(0xDEAD000, (2, 3), "float32", device="cuda:1")


def complaint(array, **contract):
    """Return the violations that a contract reports."""
    with pytest.raises(ix.ContractError) as caught:
        array.require(**contract)
    assert caught.value.rule == "IX-REQUIRE-1"
    return caught.value.what


@pytest.mark.parametrize(
    "contract",
    [
        {},
        {"dtype": "float32"},
        {"dtype": np.float32},
        {"dtype": np.dtype("f4")},
        {"dtype": ("float64", "float32")},
        {"dtype": ["float64", ix.DType(2, 32)]},
        {"ndim": 2},
        {"ndim": (1, 2)},
        {"shape": (2, 3)},
        {"shape": [None, 3]},
        {"shape": (None, None)},
        {"shape": (-1, 3)},
        {"shape": ("n", "m")},
        {"shape": ("n", ...)},
        {"shape": (..., 3)},
        {"shape": (2, ..., 3)},
        {"shape": (...,)},
        {"dtype": "real floating"},
        {"dtype": ("integral", "numeric")},
        {"dtype": ["complex floating", "float32"]},
        {"order": "A"},
        {"align": 4},
        {"order": "C"},
        {"device": "cpu"},
        {"device": (1, 0)},
        {"device": ix.Device(1)},
        {"writable": True},
        {"writable": False},
        {"dtype": "float32", "ndim": 2, "shape": (2, None), "order": "C", "device": "cpu"},
    ],
    ids=repr,
)
def test_an_array_that_meets_its_contract_is_returned(contract):
    """The array itself is returned, so that calls can be chained."""
    assert HOST.require(**contract) is HOST


@pytest.mark.parametrize(
    ("contract", "expected"),
    [
        ({"dtype": "float64"}, "dtype float32, wanted float64"),
        ({"dtype": ("float64", "int8")}, "dtype float32, wanted float64 or int8"),
        ({"ndim": 3}, "ndim 2, wanted 3"),
        ({"ndim": (0, 1)}, "ndim 2, wanted 0 or 1"),
        ({"dtype": "integral"}, "dtype float32, wanted integral"),
        ({"dtype": ("bool", "integral")}, "dtype float32, wanted bool or integral"),
        (
            {"shape": (3, 2)},
            "shape (2, 3), wanted (3, 2): axis 0 is 2, not 3, axis 1 is 3, not 2",
        ),
        ({"shape": (2,)}, "shape (2, 3), wanted (2,): it has 2 axes, not 1"),
        ({"shape": (-1, 3, 1)}, "shape (2, 3), wanted (None, 3, 1): it has 2 axes, not 3"),
        (
            {"shape": (..., 1, 1, 1)},
            "shape (2, 3), wanted (..., 1, 1, 1): it has 2 axes, not at least 3",
        ),
        ({"shape": (..., 4)}, "shape (2, 3), wanted (..., 4): axis 1 is 3, not 4"),
        (
            {"shape": ("n", "n")},
            "shape (2, 3), wanted ('n', 'n'): axis 1 is 3, and n is 2 by axis 0 of 'array'",
        ),
        (
            {"order": "F"},
            "shape (2, 3) with strides (3, 1), wanted F order: axis 0 steps 3, not 1",
        ),
        ({"device": "cuda:0"}, "device cpu, wanted cuda:0"),
        ({"device": "cuda"}, "device cpu, wanted cuda"),
    ],
    ids=repr,
)
def test_a_complaint_says_what_came_and_what_was_wanted(contract, expected):
    """The error states both the actual and the required property."""
    assert complaint(HOST, **contract) == f"argument 'array' from numpy.ndarray has {expected}"


@pytest.mark.parametrize(
    ("array", "contract", "expected"),
    [
        (
            HOST,
            {"dtype": "int8", "ndim": 1, "device": "cuda:0"},
            "dtype float32, wanted int8; ndim 2, wanted 1; device cpu, wanted cuda:0",
        ),
        (READ_ONLY, {"writable": True}, "read-only memory, wanted writable"),
        (
            UNKNOWN,
            {"writable": True},
            "memory that its producer did not say may be written, wanted writable",
        ),
        (ON_DEVICE, {"device": "cuda:0"}, "device cuda:1, wanted cuda:0"),
    ],
    ids=["all differences", "read-only", "unknown", "ordinal"],
)
def test_an_error_lists_everything(array, contract, expected):
    """All differences; unknown writability apart from read-only; a device of another ordinal."""
    assert complaint(array, **contract).endswith(f" has {expected}")


def test_an_error_names_the_argument_and_its_library():
    """The error names the argument and the library that produced it."""
    assert complaint(READ_ONLY, ndim=2, name="weights") == (
        "argument 'weights' from builtins.bytes has ndim 1, wanted 2"
    )


@pytest.mark.parametrize("device", ["cuda", "cuda:1", (2, 1)], ids=repr)
def test_a_bare_type_means_any_device_of_it(device):
    """A device type without an ordinal accepts any device of it."""
    assert ON_DEVICE.require(device=device) is ON_DEVICE


@pytest.mark.parametrize(
    ("contract", "error"),
    [
        ({"dtype": "float33"}, ix.UnsupportedDTypeError),
        ({"device": "gpu"}, ix.UnsupportedDeviceError),
        *(
            (contract, ix.ArgumentError)
            for contract in (
                *({"dtype": 5}, {"device": 5}, {"order": "K"}, {"shape": 6}, {"shape": "23"}),
                *({"ndim": "2"}, {"ndim": 7, "name": 3}),
            )
        ),
    ],
    ids=repr,
)
def test_an_invalid_contract_is_a_wrong_argument(contract, error):
    """A mistake of the callee is not blamed on the caller's array."""
    with pytest.raises(error) as caught:
        HOST.require(**contract)

    assert type(caught.value) is error
    assert "name" not in contract or "name=3 is not a name" in caught.value.what


def test_memory_without_an_owner_is_reported_as_such():
    """Memory of a capsule or an address has no known owner, and the error names no type."""
    block = (ctypes.c_float * 2)()
    of_address = ix.from_pointer(ctypes.addressof(block), (2,), "float32")
    of_capsule = ix.from_dlpack(np.ones(2, "f4").__dlpack__(max_version=(1, 0)))

    for array in (of_address, of_capsule):
        what = complaint(array, ndim=3, name="x")
        assert what == "argument 'x' of memory without an owner has ndim 1, wanted 3"


@pytest.mark.parametrize("name", ["array", "x"])
def test_a_refused_array_is_released_with_its_error(name):
    """The memory waits for no run of the collector of cycles."""

    class Memory(bytearray):
        """Bytes that can be watched."""

    memory = Memory(8)
    alive = weakref.ref(memory)
    array = ix.asarray(memory)
    del memory
    gc.disable()
    try:
        with pytest.raises(ix.ContractError):
            array.require(ndim=2, name=name)
        del array

        assert alive() is None
    finally:
        gc.enable()


def test_extents_of_equal_tuples_are_read_each_time():
    """NumPy integers are stored as ints, and no equal cached tuple is used instead."""
    for extent in range(600):
        shape = (np.int64(extent % 3), 3)
        if extent % 3 == 2:
            HOST.require(shape=shape)
        else:
            assert complaint(HOST, shape=shape).endswith(f"axis 0 is 2, not {extent % 3}")
