"""Host memory with strides that are not multiples of the element size: never shared, only copied.

Fields of packed records are examples: in ndarrays, memoryviews and array-interface records.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import interchange as ix
from interchange import xp
from interchange.compat import upgrade

DTYPES = ["i2", "i4", "u8", "f2", "f4", "f8", "c8", "c16"]


class Described:
    """Has a record of the array interface alone."""

    def __init__(self, array):
        self.array = array
        self.__array_interface__ = array.__array_interface__


class Converted:
    """Has ``__array__`` alone, which shares."""

    def __init__(self, array):
        self.array = array

    def __array__(self, dtype=None, copy=None):
        return self.array


def field(dtype, shape=(2, 3)):
    """Return a field of packed records, in neither C nor Fortran order."""
    records = np.zeros(shape, [("byte", "u1"), ("number", dtype)])
    records["number"] = np.arange(records.size).reshape(shape)
    return records["number"][::-1].T


MAKE = {"ndarray": lambda x: x, "memoryview": memoryview, "record": Described, "array": Converted}
COPY = {
    "asarray": lambda x: ix.asarray(x, copy=True),
    "asarray with a dtype": lambda x: ix.asarray(x, copy=True, dtype=x_dtype(x)),
    "xp.asarray": xp.asarray,
    "xp.asarray, copied": lambda x: xp.asarray(x, copy=True),
    "xp.asarray, cast": lambda x: xp.asarray(x, dtype="complex128"),
    "convert": lambda x: ix.from_dlpack(ix.convert(x, "numpy", copy=True)),
}
REFUSE = {
    "asarray": ix.asarray,
    "asarray, not copied": lambda x: ix.asarray(x, copy=False),
    "xp.asarray, not copied": lambda x: xp.asarray(x, copy=False),
    "convert": lambda x: ix.convert(x, "numpy", copy=False),
    "an argument": ix.accepts_arrays("x")(lambda x: x),
    "to_capsule": ix.to_capsule,
}


def x_dtype(x):
    """Return the element type of what holds elements."""
    return getattr(x, "array", np.asarray(x)).dtype


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("copy", COPY)
@pytest.mark.parametrize("make", MAKE)
def test_a_copy_has_the_elements(make, copy, dtype):
    """The elements are copied with ``copy=True``, and with the standard's ``copy=None``."""
    memory = field(dtype)
    if make == "array" and copy in {"xp.asarray", "xp.asarray, cast"}:
        copy = "asarray"  # `__array__` alone may copy and cast, so that `copy` is passed
    if make == "memoryview" and memory.dtype.kind == "c":
        make = "ndarray"  # ctypes and memoryviews know no complex numbers before Python 3.14
    found = COPY[copy](MAKE[make](memory))

    np.testing.assert_array_equal(np.asarray(found), memory)
    found[...] = found == 0  # it is writable, and has its own memory
    np.testing.assert_array_equal(memory, field(dtype))


@pytest.mark.parametrize("refuse", REFUSE)
@pytest.mark.parametrize("make", MAKE)
def test_sharing_is_refused_with_what_copies(make, refuse):
    """Sharing is a ValueError, as in the standard, and the suggested call works."""
    x = MAKE[make](field("f4"))
    with pytest.raises(ix.CopyNeededError) as caught:
        REFUSE[refuse](x)

    assert "copy=True" in caught.value.hint
    assert make == "array" or caught.value.rule == "DLP-STRIDES-3"
    assert make == "array" or "`interchange.asarray(x, copy=True)`" in caught.value.hint
    assert ix.asarray(x, copy=True).tolist() == field("f4").tolist()


@pytest.mark.parametrize("make", MAKE)
def test_an_upgraded_namespace_copies(need, make):
    """An upgraded namespace copies, as the standard's function does."""
    need("torch")
    import torch

    x = MAKE[make](field("f4"))
    assert upgrade(torch).asarray(x).tolist() == field("f4").tolist()
    assert upgrade(torch).asarray(x, copy=True).tolist() == field("f4").tolist()


@pytest.mark.parametrize("call", [ix.from_buffer, ix.from_array_interface])
def test_a_function_without_a_keyword_for_copies_names_one(call):
    """A function without `copy` refuses, and names a function with it."""
    with pytest.raises(ix.CopyNeededError, match=r"pass `interchange\.asarray\(x, copy=True\)`"):
        call(field("f8"))


def test_elements_that_numpy_lacks_are_copied_too():
    """Elements that NumPy lacks are copied by size, from the record, and typed by the dtype."""
    x = Described(field(ml_dtypes.bfloat16))
    x.dtype = x.array.dtype

    found = xp.asarray(x)

    assert (found.dtype, found.astype("float32").tolist()) == ("bfloat16", [[3, 0], [4, 1], [5, 2]])


def test_what_is_written_may_lie_uneven():
    """Writing copies such elements into the array."""
    x = xp.zeros((3, 2), dtype="float32")
    x[...] = field("f4")

    assert x.tolist() == field("f4").tolist()


@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (1, 3)])
def test_what_has_few_elements_is_copied_as_well(shape):
    """Arrays without elements, or with one along an axis, are copied as well."""
    assert xp.asarray(field("f4", shape)).tolist() == field("f4", shape).tolist()


def test_rows_that_lie_apart_are_copied():
    """A buffer with suboffsets has no strides at all."""
    testbuffer = pytest.importorskip("_testbuffer")
    rows = testbuffer.ndarray(list(range(6)), shape=[2, 3], format="i", flags=testbuffer.ND_PIL)

    assert xp.asarray(rows).tolist() == [[0, 1, 2], [3, 4, 5]]
    assert ix.asarray(rows, copy=True).tolist() == [[0, 1, 2], [3, 4, 5]]
    with pytest.raises(ix.CopyNeededError, match="BUF-SUBOFFSETS-1") as caught:
        ix.asarray(rows)
    assert caught.value.hint == "pass `interchange.asarray(x, copy=True)`"


@pytest.mark.parametrize("strides", [(2**62 + 1, 5), (-(2**62) - 1, 5)])
def test_strides_that_leave_the_address_range_are_refused(strides):
    """Strides beyond the address range are refused by their rule before a read."""
    x = Described(field("f4"))
    x.__array_interface__ = {**x.__array_interface__, "strides": strides}
    with pytest.raises(ix.ExchangeError, match=r"DLP-STRIDES-2"):
        xp.asarray(x)
