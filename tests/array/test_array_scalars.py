"""Every import and every export, compared with NumPy's own view of the same memory.

For every shape, strides, element type, offset and protocol, each element is where NumPy finds it.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, strategies as st

import interchange as ix
from interchange.testing import producers
from interchange.testing.strategies import layouts

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
PLAIN = ("bool", *INTEGERS, "float16", "float32", "float64", "complex64", "complex128")
EXTENSION = ("bfloat16", "float8_e4m3fn", "float8_e5m2", "int4_padded", "float4_e2m1fn_padded")


def numpy_dtype(name):
    """Return NumPy's dtype of a name."""
    bare = name.removesuffix("_padded")
    return np.dtype(getattr(ml_dtypes, bare) if name in EXTENSION else bare)


class Memory(NamedTuple):
    """A block of numbered elements, and NumPy's strided view of a part of it."""

    block: np.ndarray  # of bytes
    offset: int  # of the view's first element [bytes]
    view: np.ndarray
    name: str  # of the element type

    @property
    def base(self):
        """Address of the block."""
        return self.block.ctypes.data

    @property
    def strides(self):
        """Strides of the view [elements]."""
        return tuple(step // self.view.itemsize for step in self.view.strides)


@st.composite
def memories(draw, names=PLAIN):
    """Draw a view: 0 to 6 axes, empty ones too, any strides, any element type, any offset."""
    name = draw(st.sampled_from(names))
    shape, strides = draw(layouts())
    lead = draw(st.integers(0, 40))  # [bytes]: elements need not be aligned
    dtype = numpy_dtype(name)
    ends = [(extent - 1) * step for extent, step in zip(shape, strides, strict=True)]
    low, high = (
        (0, 0) if 0 in shape else (sum(e for e in ends if e < 0), sum(e for e in ends if e > 0))
    )
    numbers = np.arange(high - low + 1) % (2 if name == "bool" else 8)
    block = np.zeros(lead + numbers.size * dtype.itemsize, np.uint8)
    block[lead:] = np.frombuffer(numbers.astype(dtype).tobytes(), np.uint8)
    offset = lead - low * dtype.itemsize
    in_bytes = [step * dtype.itemsize for step in strides]
    view = np.ndarray(shape, dtype, block, offset, in_bytes)
    view.flags.writeable = draw(st.booleans())
    return Memory(block, offset, view, name)


# ---------------------------------------------------------------- ways in


class Interface:
    """An object with an array-interface record, and a dtype if a typestr cannot represent it."""

    def __init__(self, record, dtype):
        self.__array_interface__ = record
        self.dtype = dtype


def _record(memory, data, **more):
    """Return a record of the view with other data."""
    record = {**memory.view.__array_interface__, "data": data, **more}
    return Interface({**record, "strides": memory.view.strides}, memory.view.dtype)


def _source(memory, generation):
    """Return a producer whose struct points to the block and names the offset."""
    view, dtype = memory.view, ix.DType.of(memory.view.dtype)
    flags = 0 if view.flags.writeable else 1
    flags |= 4 * dtype.padded
    source = producers.host(view.shape).but(
        strides=memory.strides,
        dtype=dtype.__dlpack_data_type__(),
        data=memory.base if view.size else None,
        byte_offset=memory.offset,
        flags=flags,
        generation=generation,
    )
    source.keep = memory
    return source


WAYS_IN = {
    "from_dlpack": lambda m: ix.from_dlpack(m.view),
    "versioned-capsule": lambda m: ix.from_dlpack(m.view.__dlpack__(max_version=(1, 3))),
    "buffer": lambda m: ix.from_buffer(m.view),
    "memoryview": lambda m: ix.from_buffer(memoryview(m.view)),
}
WAYS_IN_OF_ALL_TYPES = {
    "asarray": lambda m: ix.asarray(m.view),
    "versioned-byte-offset": lambda m: ix.from_dlpack(_source(m, "versioned")),
    "array-interface": lambda m: ix.from_array_interface(m.view),
    "array-interface-strides": lambda m: ix.from_array_interface(
        _record(m, (m.base + m.offset, not m.view.flags.writeable))
    ),
    "array-interface-buffer": lambda m: ix.from_array_interface(
        _record(m, memoryview(m.block), offset=m.offset)
    ),
    "from_pointer": lambda m: ix.from_pointer(
        m.base + m.offset,
        m.view.shape,
        m.view.dtype,
        strides=m.strides,
        owner=m.block,
        readonly=not m.view.flags.writeable,
    ),
    "interchange": lambda m: ix.from_dlpack(ix.asarray(m.view)),
    "copy": lambda m: ix.asarray(m.view, copy=True),
}
LEGACY_WAYS_IN = {
    "legacy-capsule": lambda m: ix.from_dlpack(m.view.__dlpack__()),
    "legacy-byte-offset": lambda m: ix.from_dlpack(_source(m, "legacy")),
    "legacy-producer": lambda m: ix.asarray(_source(m, "legacy")),
}


def assert_same(array, memory, *, shares=True):
    """Compare all attributes of an Array, and every element, with NumPy's view."""
    view = memory.view
    assert (array.shape, array.ndim, array.size) == (view.shape, view.ndim, view.size)
    assert (array.dtype.name, array.itemsize, array.nbytes) == (
        memory.name,
        view.itemsize,
        view.nbytes,
    )
    assert array.tolist() == view.tolist()
    assert [array[at].item() for at in np.ndindex(view.shape)] == view.ravel().tolist()
    if shares:
        assert array.ptr == (memory.base + memory.offset if view.size else 0)
        assert array.is_contiguous() == view.flags.c_contiguous
        assert array.is_contiguous("F") == view.flags.f_contiguous
        assert view.size == 0 or all(
            extent < 2 or ours == theirs
            for extent, ours, theirs in zip(
                view.shape, array.strides_in_bytes, view.strides, strict=True
            )
        )


@pytest.mark.parametrize("way", WAYS_IN)
@given(memory=memories())
def test_every_way_in_finds_the_elements_of_numpy(way, memory):
    """Memory imported by every protocol of NumPy has NumPy's elements and NumPy's writability."""
    array = WAYS_IN[way](memory)

    assert_same(array, memory)
    assert array.readonly is (not memory.view.flags.writeable)


@pytest.mark.parametrize("way", WAYS_IN_OF_ALL_TYPES)
@given(memory=memories(PLAIN + EXTENSION))
def test_every_way_in_of_all_types_finds_the_elements(way, memory):
    """Element types of ml_dtypes are imported by every protocol that can represent them."""
    if way == "array-interface-buffer":
        memory.block.flags.writeable = memory.view.flags.writeable

    array = WAYS_IN_OF_ALL_TYPES[way](memory)

    assert_same(array, memory, shares=way != "copy")
    assert array.readonly is (way != "copy" and not memory.view.flags.writeable)


@pytest.mark.parametrize("way", LEGACY_WAYS_IN)
@given(memory=memories())
def test_every_legacy_way_in_finds_the_elements(way, memory):
    """Legacy capsules have the same elements; what they cannot represent is unknown."""
    memory.view.flags.writeable = True

    array = LEGACY_WAYS_IN[way](memory)

    assert_same(array, memory)
    assert array.readonly is None


# ---------------------------------------------------------------- fixes


class Capsuled:
    """Exports the capsule that it was created with, once."""

    def __init__(self, capsule):
        self.capsule = capsule

    def __dlpack__(self, **_):
        return self.capsule

    def __dlpack_device__(self):
        return (1, 0)


WAYS_OUT = {
    "from_dlpack": np.from_dlpack,
    "versioned-capsule": lambda a: np.from_dlpack(Capsuled(ix.to_capsule(a, max_version=(1, 3)))),
    "asarray": np.asarray,
    "array": lambda a: a.__array__(),
    "array-interface": lambda a: np.asarray(Interface(a.__array_interface__, None)),
    "memoryview": lambda a: np.asarray(a.as_memoryview()),
    "convert": lambda a: ix.convert(a, "numpy"),
    "twice": lambda a: np.from_dlpack(ix.from_dlpack(ix.from_dlpack(a))),
}
if sys.version_info >= (3, 12):
    WAYS_OUT["buffer"] = lambda a: np.asarray(memoryview(a))


@pytest.mark.parametrize("way", WAYS_OUT)
@given(memory=memories())
def test_every_way_out_shows_the_elements_of_numpy(way, memory):
    """Every export has the same memory and elements, and the same writability."""
    array = ix.from_pointer(
        memory.base + memory.offset,
        memory.view.shape,
        memory.view.dtype,
        strides=memory.strides,
        owner=memory.block,
        readonly=not memory.view.flags.writeable,
    )

    out = WAYS_OUT[way](array)

    assert out.dtype == memory.view.dtype
    np.testing.assert_array_equal(out, memory.view)
    if out.size:  # NumPy does not keep the flag if there is nothing to write
        assert out.flags.writeable == memory.view.flags.writeable
        assert out.__array_interface__["data"][0] == array.ptr


@given(memory=memories())
def test_a_legacy_capsule_shows_the_elements_of_numpy(memory):
    """Consumers of before 1.0 see the same memory."""
    memory.view.flags.writeable = True
    array = ix.asarray(memory.view)

    out = np.from_dlpack(Capsuled(ix.to_capsule(array)))

    assert out.size == 0 or out.__array_interface__["data"][0] == array.ptr
    np.testing.assert_array_equal(out, memory.view)


@given(memory=memories(EXTENSION))
def test_types_of_ml_dtypes_leave_as_arrays(memory):
    """Elements that only ml_dtypes has are exported by ``__array__`` with that dtype."""
    out = np.asarray(ix.asarray(memory.view))

    assert (out.dtype, out.flags.writeable) == (memory.view.dtype, memory.view.flags.writeable)
    np.testing.assert_array_equal(out, memory.view)


# ---------------------------------------------------------------- writing and copying


@given(memory=memories(("int32", "float64")), value=st.integers(100, 120))
def test_what_one_side_writes_the_other_sees(memory, value):
    """An exchange shares memory: writes on either side are visible on the other."""
    memory.view.flags.writeable = True
    out = np.asarray(ix.asarray(memory.view))

    out[...] = value

    assert (memory.view == value).all()


@pytest.mark.parametrize("order", ["C", "F"])
@given(memory=memories(PLAIN + EXTENSION))
def test_a_copy_has_the_elements_and_its_own_memory(order, memory):
    """A copy is contiguous in the requested order, aligned, writable, and in other memory."""
    array = ix.asarray(memory.view)

    copied = array.copy(order=order)

    assert copied.tolist() == memory.view.tolist()
    assert copied.is_contiguous(order)
    assert (copied.ptr % 64, copied.readonly) == (0, False)
    if memory.view.size:
        low = memory.block.ctypes.data
        assert not low <= copied.ptr < low + memory.block.size


@pytest.mark.parametrize("order", ["C", "F"])
@given(memory=memories())
def test_contiguous_copies_only_what_is_not(order, memory):
    """`contiguous` returns a contiguous array itself."""
    array = ix.asarray(memory.view)

    dense = array.contiguous(order)

    assert (dense is array) == array.is_contiguous(order)
    assert dense.is_contiguous(order)
    assert dense.tolist() == memory.view.tolist()
