"""`from_pointer`: memory described by address, and refused descriptions."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from hypothesis import given, strategies as st

import interchange as ix
from interchange.abi import DLDeviceType
from interchange.abi.memory import ADDRESS_END

BLOCK = (ctypes.c_float * 6)(*range(6))
ADDRESS = ctypes.addressof(BLOCK)


def refusal(*arguments, **keywords):
    """Return the class and the rule that a description is refused with."""
    with pytest.raises(ix.InterchangeError) as caught:
        ix.from_pointer(*arguments, **keywords)
    assert str(caught.value).startswith("from_pointer(): ")
    return type(caught.value), caught.value.rule


# ---------------------------------------------------------------- what comes in


def test_c_order_is_the_default():
    """Address, shape and element type are enough."""
    found = ix.from_pointer(ADDRESS, (2, 3), "float32", owner=BLOCK)

    assert (found.ptr, found.shape, found.strides) == (ADDRESS, (2, 3), (3, 1))
    assert (found.dtype.name, str(found.device)) == ("float32", "cpu")
    assert (found.readonly, found.owner) == (False, BLOCK)
    assert found.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]


def test_strides_count_elements():
    """Strides are in elements, as in DLPack, and not in bytes, as in NumPy."""
    found = ix.from_pointer(ADDRESS + 20, (3, 2), "float32", strides=(-1, -3), owner=BLOCK)

    assert found.tolist() == [[5.0, 2.0], [4.0, 1.0], [3.0, 0.0]]


@pytest.mark.parametrize(
    "dtype", ["float32", "<f4", np.float32, np.dtype("f4"), (2, 32), ix.DType(2, 32)]
)
def test_an_element_type_is_named_in_any_way(dtype):
    """The element type may be anything that `DType.of` accepts."""
    assert ix.from_pointer(ADDRESS, (6,), dtype).dtype.name == "float32"


@pytest.mark.parametrize("shape", [(2, 3), [2, 3], np.array([2, 3]), (np.int64(2), np.uint8(3))])
def test_a_shape_is_any_sequence_of_ints(shape):
    """What comes out is a tuple of exact ints."""
    found = ix.from_pointer(ADDRESS, shape, "float32").shape

    assert (found, {type(extent) for extent in found}) == ((2, 3), {int})


@pytest.mark.parametrize("readonly", [True, False, 1, 0])
def test_the_caller_says_who_may_write(readonly):
    """Memory described by address is read-only or writable, never unknown."""
    assert ix.from_pointer(ADDRESS, (6,), "float32", readonly=readonly).readonly is bool(readonly)


@pytest.mark.parametrize("kind", list(DLDeviceType))
def test_memory_may_be_anywhere(kind):
    """The address is not followed here."""
    found = ix.from_pointer(0xDEAD000, (2, 3), "float32", device=(int(kind), 1))

    assert found.__dlpack_device__() == (kind, 1)


def test_without_an_owner_there_is_none():
    """Without an owner the caller keeps the memory alive."""
    assert ix.from_pointer(ADDRESS, (6,), "float32").owner is None


@pytest.mark.parametrize("ptr", [0, 1, 2**64 - 1, 2**64, 2**70])
def test_an_empty_array_may_point_anywhere(ptr):
    """The address of an empty array is ignored and becomes 0."""
    found = ix.from_pointer(ptr, (3, 0), "float32")

    assert (found.ptr, found.tolist()) == (0, [[], [], []])


def test_page_locked_memory_can_be_read():
    """The host follows its addresses."""
    assert ix.from_pointer(ADDRESS, (6,), "float32", device="cuda_host:0").tolist() == list(BLOCK)


@pytest.mark.parametrize("stream", [None, -1, 1, 2, 77])
def test_device_memory_may_have_a_stream(stream):
    """Device memory accepts legal streams."""
    assert ix.from_pointer(8, (1,), "int8", device="cuda", stream=stream).shape == (1,)


# ---------------------------------------------------------------- what does not

ARGUMENT = (ix.ArgumentError, "IX-ARGUMENT-1")
POINTER = (ix.ArgumentError, "IX-POINTER-1")


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        *(({"ptr": ptr}, POINTER) for ptr in (None, 1.5, "4096", b"", True, -1, -(2**70))),
        *(
            ({"shape": shape}, ARGUMENT)
            for shape in (None, 6.0, "6", (6.0,), (None,), (True,), ("6",), frozenset())
        ),
        *(({"strides": strides}, ARGUMENT) for strides in ("31", (3.0, 1), (3, None), (3, True))),
        *(({"strides": strides}, POINTER) for strides in ((), 3, (1,), (3, 1, 1))),
        ({"dtype": "float33"}, (ix.UnsupportedDTypeError, "DLP-DTYPE-1")),
        ({"dtype": ">f4"}, (ix.UnsupportedDTypeError, "DLP-DTYPE-3")),
        ({"dtype": np.dtype("O")}, (ix.UnsupportedDTypeError, "DLP-DTYPE-3")),
        *(({"dtype": dtype}, ARGUMENT) for dtype in (None, 32)),
        ({"device": "gpu"}, (ix.UnsupportedDeviceError, "DLP-DEV-1")),
        ({"device": (99, 0)}, (ix.UnsupportedDeviceError, "DLP-DEV-1")),
        *(({"device": device}, ARGUMENT) for device in (None, 5)),
    ],
    ids=repr,
)
def test_each_argument_is_refused_by_its_rule(change, expected):
    """Wrong types, and a negative address or strides of another length (IX-POINTER-1)."""
    words = {"ptr": ADDRESS, "shape": (2, 3), "dtype": "float32", **change}
    arguments = [words.pop(name) for name in ("ptr", "shape", "dtype")]

    assert refusal(*arguments, **words) == expected


@pytest.mark.parametrize(
    ("device", "stream", "rule"),
    [
        ("cpu", 0, "DLP-STREAM-1"),
        ("cpu", 7, "DLP-STREAM-1"),
        ("cuda:0", 0, "DLP-STREAM-2"),
        ("cuda_managed:0", -2, "DLP-STREAM-2"),
        ("rocm:0", 1, "DLP-STREAM-3"),
        ("cuda:0", "7", "DLP-STREAM-4"),
        ("cuda:0", True, "DLP-STREAM-4"),
    ],
)
def test_a_stream_that_is_none_is_refused(device, stream, rule):
    """An invalid stream is refused: each device has its own, and the host has none."""
    assert refusal(0xDEAD000, (6,), "float32", device=device, stream=stream) == (
        ix.StreamError,
        rule,
    )


E = ix.ExchangeError


@pytest.mark.parametrize(
    ("ptr", "shape", "strides", "rule"),
    [
        (0, (6,), None, "DLP-DATA-1"),
        (0, (), None, "DLP-DATA-1"),
        (8, (2, -3), None, "DLP-SHAPE-3"),
        (8, (0, -1), None, "DLP-SHAPE-3"),
        (8, (1,) * 65, None, "DLP-SHAPE-1"),
        (8, (2**61,), None, "DLP-SHAPE-4"),
        (8, (2**40, 2**40), (0, 0), "DLP-SHAPE-4"),
        (8, (0, 2**40, 2**40), None, "DLP-SHAPE-4"),
        (8, (2,), (2**62,), "DLP-STRIDES-2"),
        (8, (2,), (2**63,), "DLP-STRIDES-2"),
        (8, (1,), (2**63,), "DLP-STRIDES-2"),
        (8, (2,), (-(2**62),), "DLP-STRIDES-2"),
        (8, (4,), (-1,), "DLP-STRIDES-2"),
        (ADDRESS_END - 8, (3,), None, "DLP-STRIDES-2"),
        (ADDRESS_END, (1,), None, "DLP-STRIDES-2"),
        (2**70, (1,), None, "DLP-STRIDES-2"),
    ],
)
def test_a_description_of_no_memory_is_refused(ptr, shape, strides, rule):
    """Null, negative, too many axes, too large, and beyond either end of the address range."""
    assert refusal(ptr, shape, "float32", strides=strides) == (E, rule)


@pytest.mark.parametrize("device", ["opencl:0", "vulkan:0", "metal:0"])
def test_a_handle_is_not_held_against_the_address_range(device):
    """A handle may have any value except 0, and is not checked against the address range."""
    last = ADDRESS_END - 1
    assert ix.from_pointer(last, (6,), "float32", device=device).ptr == last
    assert refusal(0, (6,), "float32", device=device) == (E, "DLP-DATA-1")


@given(
    st.integers(-8, 2**65),
    st.lists(st.integers(-1, 2**40), max_size=3).map(tuple),
    st.lists(st.integers(-(2**40), 2**40), max_size=3).map(tuple),
    st.sampled_from(["int8", "float64", "complex128", "int4"]),
)
def test_any_numbers_are_memory_or_a_refusal(ptr, shape, strides, dtype):
    """Every description that passes the rules lies within the address range."""
    try:
        found = ix.from_pointer(ptr, shape, dtype, strides=strides or None)
    except ix.InterchangeError:
        return

    low, high = found._spec.layout.byte_bounds(found.itemsize)
    assert found.size == 0 or (found.ptr == ptr and ptr + low > 0 and ptr + high <= 2**64)


# ---------------------------------------------------------------- memory of an Array


def of_array(owner, **keywords):
    """Return an Array over the memory of another one, described by address."""
    return ix.from_pointer(owner.ptr, owner.shape, owner.dtype, owner=owner, **keywords)


@pytest.mark.parametrize("readonly", [True, False, None])
def test_memory_of_an_array_is_as_read_only_as_the_array_says(readonly):
    """Memory of an array has its flag, also the unknown one, unless the caller passes another."""
    owner = ix.from_pointer(ADDRESS, (6,), "float32", owner=BLOCK, readonly=bool(readonly))
    if readonly is None:
        owner._flags = None

    assert of_array(owner).readonly is readonly
    assert of_array(owner, readonly=None).readonly is readonly
    assert [of_array(owner, readonly=said).readonly for said in (True, False)] == [True, False]


def test_read_only_memory_of_an_array_is_not_exported_as_writable():
    """The flag is kept in exports of the memory."""
    found = np.from_dlpack(of_array(ix.from_buffer(b"abcd")))

    assert found.flags.writeable is False
