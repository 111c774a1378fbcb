"""Other libraries read exported Arrow memory in place and keep it alive while they use it."""

from __future__ import annotations

import ctypes
import gc
import weakref

import pytest

from interchange.abi.arrow import ArrowColumn, ArrowField

pytestmark = pytest.mark.interop


class Owner:
    """Keeps memory alive, and can be referred to weakly."""


@pytest.fixture
def native(cores):
    """Return the core that exports."""
    return cores["native"]


class Given:
    """Re-exports an exported array."""

    def __init__(self, native, keep, field, column):
        self._native, self._what = native, (field, column, keep)

    def __arrow_c_array__(self, requested_schema=None):
        return self._native.make_arrow(*self._what, None)

    def __arrow_c_stream__(self, requested_schema=None):
        return self._native.make_arrow_stream(*self._what)


def floats(keep):
    """Return field and column of 6 floats, in lists of 3."""
    keep.block = (ctypes.c_float * 6)(*range(6))
    item = ArrowColumn(6, 0, 0, (0, ctypes.addressof(keep.block)))
    field = ArrowField("+w:3", "lists", None, 0, (ArrowField("f", "item"),))
    return field, ArrowColumn(2, 0, 0, (0,), (item,))


@pytest.mark.parametrize("method", ["array", "chunked_array"])
def test_pyarrow_reads_the_memory(native, need, method):
    """pyarrow reads the memory in place, and a slice keeps it alive."""
    need("pyarrow")
    import pyarrow as pa

    keep = Owner()
    alive, (field, column) = weakref.ref(keep), floats(keep)
    given = Given(native, keep, field, column)
    taken = getattr(pa, method)(given)
    values = (taken.chunk(0) if method == "chunked_array" else taken).flatten()
    said = taken.to_pylist(), values.buffers()[1].address == ctypes.addressof(keep.block)
    del keep, given, taken
    held = alive() is not None, values[5].as_py()
    del values
    gc.collect()

    assert said == ([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]], True)
    assert (held, alive()) == ((True, 5.0), None)


@pytest.mark.parametrize("method", ["c_array", "c_array_stream"])
def test_nanoarrow_reads_the_memory(native, need, method):
    """nanoarrow reads the memory in place, and a slice keeps it alive."""
    need("nanoarrow")
    import nanoarrow

    keep = Owner()
    alive, (field, column) = weakref.ref(keep), floats(keep)
    given = Given(native, keep, field, column)
    taken = getattr(nanoarrow, method)(given)
    if method == "c_array_stream":
        taken = next(iter(taken))
    said = taken.length, taken.child(0).buffers[1] == ctypes.addressof(keep.block)
    del keep, given
    held = alive() is not None
    del taken
    gc.collect()

    assert (said, held, alive()) == ((2, True), True, None)
