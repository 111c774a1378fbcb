"""`fast_description`: `from_buffer` and `from_pointer` give the results and errors of Python's."""

from __future__ import annotations

import array
import ctypes
import gc
import mmap
import sys
import weakref
from itertools import product

import numpy as np
import pytest

import interchange as ix
from interchange import _core

BYTES = bytes(range(48))
WRITABLE = bytearray(BYTES)
BLOCK = (ctypes.c_double * 6)(*range(6))
ADDRESS = ctypes.addressof(BLOCK)
DTYPES = (None, "int16", "<f4", "u1", "bool", "complex64", "float4_e2m1fn", ">i2", "no", float)
MORE_DTYPES = (np.float32, np.dtype("i4"), ix.DType.of("bfloat16"), (2, 32), "i2", 5)
SHAPES = (None, 3, (2, 3), (-1,), (2, -1), (), (0,), (-1, -1), (2, -2), [2, 3], (7, -1), 2**40, 1.5)
SHAPES += ((2**63, 2), (True,), (1,) * 65, (np.int64(2),))
NATIVE = pytest.mark.skipif(_core.core_name != "native", reason="of the native core")


def outcome(function, *args, **keywords):
    """Return the facts of a result, or the class, the rule and the text of the error."""
    try:
        found = function(*args, **keywords)
    except Exception as error:  # noqa: BLE001 - errors are compared
        return type(error), getattr(error, "rule", None), str(error)
    facts = found.dtype, found.shape, found.strides, found.ptr, found.readonly, found.device
    return *facts, found.owner, type(found._keepalive)


def agree(function, *args, **keywords):
    """Compare a function with the one in Python: the first call, and calls that it learned."""
    wanted = outcome(getattr(function, "__wrapped__", function), *args, **keywords)
    assert [outcome(function, *args, **keywords) for _ in range(2)] == [wanted] * 2


@pytest.mark.parametrize("dtype", [*DTYPES, *MORE_DTYPES], ids=repr)
def test_bytes_of_a_buffer(dtype):
    """Each element type with each shape and offset."""
    for shape, offset in product(SHAPES, (0, 4, 5)):
        agree(ix.from_buffer, BYTES, dtype=dtype, shape=shape, offset=offset)
    for x in (WRITABLE, memoryview(WRITABLE)[1:], np.arange(6)):
        agree(ix.from_buffer, x, dtype, shape=(2, -1))


@pytest.mark.parametrize(
    "x",
    [
        *(b"", b"abc", bytearray(), memoryview(BYTES)[::2], memoryview(BYTES)[::-1], "text", None),
        *(array.array("d", [1.5]), array.array("h", [1, 2]), mmap.mmap(-1, 16), BLOCK),
        *(memoryview(BYTES).cast("f", (3, 4)), memoryview(BYTES).cast("c"), np.zeros((2, 3))),
    ],
    ids=lambda x: type(x).__name__,
)
def test_other_buffers(x):
    """Of other formats and layouts, with and without arguments."""
    for words in ({}, {"dtype": "int16"}, {"shape": 1}, {"offset": 1}, {"offset": 99}):
        for readonly in (None, True, False, 1):
            agree(ix.from_buffer, x, readonly=readonly, **words)


@pytest.mark.parametrize(
    ("args", "words"),
    [
        *(((BYTES, "int16"), {}), ((BYTES, "int16", 3), {}), ((), {})),
        *(((BYTES, "int16"), {"dtype": "int8"}), ((BYTES,), {"type": "int8"})),
        *(((BYTES,), {"offset": offset}) for offset in (True, -1, 2.0, None, 2**70)),
    ],
    ids=repr,
)
def test_arguments_of_from_buffer(args, words):
    """The dtype may be given by position, as to `np.frombuffer`; errors are those of Python."""
    agree(ix.from_buffer, *args, **words)


@pytest.mark.parametrize("dtype", [*DTYPES, *MORE_DTYPES], ids=repr)
def test_memory_at_an_address(dtype):
    """Each element type at each address, with each shape, and with strides."""
    for ptr in (ADDRESS, ADDRESS + 1, 0, -1, 2**64 - 4, 2**64, "1", True):
        agree(ix.from_pointer, ptr, 3, dtype)
    for shape in SHAPES:
        agree(ix.from_pointer, ADDRESS, shape, dtype, owner=BLOCK)
    for strides in (None, 1, (3, 1), (-1, 2), (2**62, 1), (1.0, 1), [3, 1]):
        agree(ix.from_pointer, ADDRESS, (2, 3), dtype, strides=strides)


@pytest.mark.parametrize(
    "words",
    [
        *({"readonly": value} for value in (None, True, False, 1)),
        *({"owner": value} for value in (None, BLOCK, ix.asarray(BYTES), ix.asarray(WRITABLE))),
        *({"device": value} for value in ("cpu", "cpu:0", ix.Device("cpu"), "cuda", None, (1, 0))),
        *({"stream": value} for value in (None, 1)),
        {"sharing": True},
    ],
    ids="-".join,
)
def test_arguments_of_from_pointer(words):
    """All that describes memory, its owner and its device."""
    agree(ix.from_pointer, ADDRESS, (2, 3), "float64", **words)
    agree(ix.from_pointer, ADDRESS, (2, 3), **words)


class Owner:
    """An owner that can be watched."""


def test_the_owner_lives_as_long_as_the_array():
    """An Array, and each view of it, keeps the owner and the buffer."""
    for make in (lambda x: ix.from_pointer(ADDRESS, 6, "float64", owner=x) for _ in range(2)):
        owner = Owner()
        watch = weakref.ref(owner)
        view = make(owner)[2:]
        del owner
        gc.collect()
        assert watch() is view.owner
        del view
        gc.collect()
        assert watch() is None
    for block in (bytearray(16), bytearray(16)):
        view = ix.from_buffer(block, "int32")[1:]
        with pytest.raises(BufferError):
            block.clear()
        del view
        block.clear()


@NATIVE
def test_usual_calls_run_no_python():
    """What was described once is described again without a frame in Python."""
    names = []
    for _ in range(2):
        names.clear()
        sys.setprofile(lambda frame, event, _: names.append((event, frame.f_code.co_name)))
        ix.from_buffer(BYTES, "int16")
        ix.from_buffer(WRITABLE, dtype="float32", shape=(2, -1), offset=8, readonly=True)
        ix.from_buffer(BYTES)
        ix.from_pointer(ADDRESS, (2, 3), "float64", owner=BLOCK)
        sys.setprofile(None)
    assert [name for event, name in names if event == "call"] == []
