"""A stride along an axis of length 1 leads to no element, and may be any number, everywhere."""

from __future__ import annotations

import ctypes
import sys

import numpy as np
import pytest
from hypothesis import given, strategies as st

import interchange as ix
from interchange.abi import LEGACY, DLManagedTensor, DLManagedTensorVersioned, capsule_pointer

NEWEST = {"max_version": (1, 3)}
INT64 = st.integers(-(2**63), 2**63 - 1) | st.sampled_from(
    [2**62, -(2**62), 2**61, 2**63 - 1, -(2**63), 2**60 + 1, -1, 0]
)
BLOCK = np.arange(48, dtype=np.float32)
PTR = BLOCK.ctypes.data


@st.composite
def layouts(draw):
    """Draw a shape with arbitrary strides along unit axes, and the elements."""
    extents = draw(st.permutations([2, 3]))
    steps = draw(st.sampled_from([(1, 2), (3, 1), (8, 5), (0, 1)]))
    axes = list(zip(extents, steps, strict=True))
    for _ in range(draw(st.integers(1, 3))):
        axes.insert(draw(st.integers(0, len(axes))), (1, draw(INT64)))
    shape, strides = (tuple(part) for part in zip(*axes, strict=True))
    plain = [step if extent > 1 else 0 for extent, step in axes]
    there = np.lib.stride_tricks.as_strided(BLOCK, shape, [4 * step for step in plain])
    return shape, strides, there


class Carrier:
    """A producer whose capsules are those of an ndarray, with other strides."""

    def __init__(self, shape, strides, there) -> None:
        self.there, self.strides = there, (ctypes.c_int64 * len(shape))(*strides)

    def __dlpack__(self, *, max_version=None, **_):
        capsule = self.there.__dlpack__(max_version=max_version)
        name = LEGACY if max_version is None else b"dltensor_versioned"
        struct = DLManagedTensor if max_version is None else DLManagedTensorVersioned
        tensor = struct.from_address(capsule_pointer(capsule, name)).dl_tensor
        if tensor.strides:
            ctypes.memmove(tensor.strides, self.strides, ctypes.sizeof(self.strides))
        else:  # NumPy before 2.4 does not report C order; the importer keeps this object alive
            tensor.strides = ctypes.cast(self.strides, ctypes.POINTER(ctypes.c_int64))
        return capsule

    def __dlpack_device__(self):
        return 1, 0


class Record:
    """An object with an array interface."""

    def __init__(self, **record) -> None:
        self.__array_interface__ = record


def from_pointer(shape, strides, there):
    """Return memory that is described."""
    return ix.from_pointer(there.ctypes.data, shape, "float32", strides=strides, owner=BLOCK)


def from_record(shape, strides, there):
    """Return the import of a record, of byte strides that may not be whole elements."""
    steps = [4 * step if extent > 1 else step for extent, step in zip(shape, strides, strict=True)]
    data, version = (there.ctypes.data, False), 3
    return ix.from_array_interface(
        Record(shape=shape, strides=tuple(steps), typestr="<f4", data=data, version=version)
    )


def from_buffer(shape, strides, _):
    """Return the import of a buffer with the strides that NumPy was given, which has no longer."""
    least, most = -sys.maxsize - 1, sys.maxsize
    steps = [
        4 * step if extent > 1 else min(max(step, least), most)
        for extent, step in zip(shape, strides, strict=True)
    ]
    return ix.from_buffer(np.lib.stride_tricks.as_strided(BLOCK, shape, steps))


WAYS_IN = {
    "pointer": from_pointer,
    "versioned": lambda *layout: ix.from_dlpack(Carrier(*layout)),
    "legacy": lambda *layout: ix.from_dlpack(Carrier(*layout).__dlpack__()),
    "record": from_record,
    "buffer": from_buffer,
}


@pytest.mark.parametrize("way", WAYS_IN)
@given(layout=layouts())
def test_any_unit_stride_comes_in(way, layout):
    """Arbitrary strides of unit axes do not change the elements, in any protocol."""
    array = WAYS_IN[way](*layout)

    assert array.shape == layout[0]
    assert array.copy().tolist() == layout[2].tolist()


@given(layouts())
def test_any_unit_stride_goes_out(layout):
    """DLPack, records and buffers show the same elements, in strides as wide as pointers."""
    array, expected = from_pointer(*layout), layout[2].tolist()
    record = array.__array_interface__

    assert np.from_dlpack(array).tolist() == expected
    assert np.asarray(array).tolist() == expected
    assert np.asarray(Record(**record)).tolist() == expected
    assert memoryview(array.as_memoryview()).tolist() == expected
    assert all(abs(step) <= sys.maxsize for step in record["strides"] or ())
    assert all(abs(step) <= sys.maxsize for step in array.strides_in_bytes)


@given(layouts())
def test_other_strides_stay_when_one_does_not_fit(layout):
    """A unit stride that does not fit is replaced, and all other strides are kept."""
    shape, strides, _ = layout
    found = from_pointer(*layout).strides
    changed = [at for at, (old, new) in enumerate(zip(strides, found, strict=True)) if old != new]

    assert all(shape[at] == 1 and abs(strides[at]) > sys.maxsize // 4 for at in changed)


@given(layouts(), INT64)
def test_a_write_stays_within_the_elements(layout, value):
    """Assignment writes where the elements are, and nowhere else."""
    shape, strides, there = layout
    block = np.zeros(48, np.float32)
    array = ix.from_pointer(block.ctypes.data, shape, "float32", strides=strides, owner=block)
    array[...] = float(value)
    expected = np.zeros(48, np.float32)
    view = np.lib.stride_tricks.as_strided(expected, there.shape, there.strides)
    view[...] = float(value)

    assert block.tolist() == expected.tolist()


@given(shape=st.permutations([0, 5, 1]), strides=st.tuples(INT64, INT64, INT64))
def test_no_stride_matters_without_elements(shape, strides):
    """Views of an array without elements are created for any strides."""
    array = ix.from_pointer(0, tuple(shape), "float64", strides=strides)

    assert array[None, ::2, ..., ::-1].size == 0
    assert np.asarray(array).shape == tuple(shape)


@pytest.mark.interop
@given(layouts())
def test_torch_and_back(need, layout):
    """torch imports and exports any unit strides, and the order of elements is unchanged."""
    need("torch")
    import torch

    shape, strides, there = layout
    positive = [abs(step) % 2**63 for step in strides]
    tensor = torch.as_strided(torch.from_numpy(BLOCK), shape, positive)

    assert ix.from_dlpack(tensor).copy().tolist() == there.tolist()
    assert torch.from_dlpack(from_pointer(*layout)).tolist() == there.tolist()
