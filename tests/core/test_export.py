"""Exports: the struct in a capsule of ours, read back."""

from __future__ import annotations

import ctypes
import sys

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, reject

import interchange as ix
from interchange.abi import (
    DLPACK_VERSION,
    LEGACY,
    VERSIONED,
    DLManagedTensor,
    DLManagedTensorVersioned,
    capsule_destructor,
    capsule_name,
    capsule_pointer,
)
from interchange.abi.memory import ADDRESS_END, READABLE_END
from interchange.testing import producers

NEWEST = {"max_version": (1, 3)}
READ_ONLY, IS_COPIED, PADDED = 1, 2, 4
BLOCK = np.zeros(256, np.uint8)
ADDRESS = BLOCK.ctypes.data


def own(shape=(2, 3), dtype="float32", **more):
    """Return an Array over memory of ours."""
    return ix.from_pointer(ADDRESS, shape, dtype, owner=BLOCK, **more)


def struct_of(capsule):
    """Return the struct in an unconsumed capsule; valid while the capsule is alive."""
    name = capsule_name(capsule)
    struct = DLManagedTensorVersioned if name == VERSIONED else DLManagedTensor
    return struct.from_address(capsule_pointer(capsule, name))


def said(capsule):
    """Return everything that a struct says about the memory."""
    tensor = struct_of(capsule).dl_tensor
    ndim = tensor.ndim
    return {
        "data": tensor.data,
        "device": (tensor.device.device_type, tensor.device.device_id),
        "dtype": (tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes),
        "shape": tuple(tensor.shape[:ndim]) if ndim else (),
        "strides": tuple(tensor.strides[:ndim]) if ndim and tensor.strides else (),
        "byte_offset": tensor.byte_offset,
        "ndim": ndim,
    }


KINDS = {
    "own": own,
    "bfloat16": lambda: own(dtype="bfloat16"),
    "imported": lambda: ix.from_dlpack(np.ones((2, 3), np.float32)),
    "capsule": lambda: ix.from_dlpack(np.ones((2, 3), np.float32).__dlpack__()),
    "buffer": lambda: ix.from_buffer(memoryview(bytearray(24)).cast("f", (2, 3))),
}


@pytest.fixture(params=KINDS, name="array")
def _array(request):
    """Return an Array of every origin: exported through NumPy and through borrowed deleters."""
    return KINDS[request.param]()


@pytest.fixture(params=[None, (1, 0), (1, 3), (1, 99), (7, 0)], name="max_version")
def _max_version(request):
    return request.param


@pytest.mark.parametrize(
    ("max_version", "name"),
    [
        *((version, LEGACY) for version in (None, (0, 0), (0, 8), (0, 99), (-1, 0))),
        *(
            (version, VERSIONED)
            for version in [(1, 0), (1, 1), (1, 3), (1, 2**31), (2, 0), (2**40, 0)]
        ),
    ],
)
def test_the_generation_that_was_requested(array, max_version, name):
    """Major version 1 or newer gets the versioned struct, all others the legacy one (DLP-VER-4)."""
    first = capsule_name(array.__dlpack__(max_version=max_version))
    again = capsule_name(array.__dlpack__(max_version=max_version))

    assert (first, again) == (name, name)


def test_the_version_is_not_newer_than_the_rules(array):
    """Major 1, and a minor whose rules are kept."""
    capsule = array.__dlpack__(**NEWEST)
    version = struct_of(capsule).version

    assert (version.major, version.minor <= DLPACK_VERSION[1]) == (1, True)


def test_what_is_said_is_true(array, max_version):
    """Address, device, element type, shape and strides are those of the Array."""
    if max_version is None and array.readonly:
        pytest.skip("a legacy capsule of read-only memory is refused")
    capsule = array.__dlpack__(max_version=max_version)

    assert said(capsule) == {
        "data": array.ptr,
        "device": (1, 0),
        "dtype": array.dtype.__dlpack_data_type__(),
        "shape": (2, 3),
        "strides": (3, 1),
        "byte_offset": 0,
        "ndim": 2,
    }


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "complex128", "bool", "float8_e5m2"])
@pytest.mark.parametrize(
    ("shape", "strides"),
    [
        ((), ()),
        ((1,), (1,)),
        ((6,), (1,)),
        ((2, 3), (3, 1)),
        ((2, 3), (1, 2)),
        ((1, 1), (1, 1)),
        ((2, 1, 3), (3, 3, 1)),
        ((2, 1, 3), (3, 7, 1)),
        ((1, 6), (100, 1)),
        ((6, 1), (1, 100)),
        ((2, 3), (0, 0)),
        ((2, 3), (0, 1)),
        ((2, 3), (5, 2)),
        ((1,) * 64, (1,) * 64),
    ],
)
def test_strides_are_filled_and_kept(dtype, shape, strides, max_version):
    """Strides are always present, and those of axes of extent 1 are kept (P30, P38)."""
    array = own(shape, dtype, strides=strides)
    capsule = array.__dlpack__(max_version=max_version)

    assert said(capsule)["strides"] == strides


@pytest.mark.parametrize("stride", [-5, 0, 2, 3, 2**40])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_one_element_has_stride_1(stride, dtype, max_version):
    """An array of shape (1,) has stride 1, whatever its own stride is (P37)."""
    capsule = own((1,), dtype, strides=(stride,)).__dlpack__(max_version=max_version)

    assert said(capsule)["strides"] == (1,)


@pytest.mark.parametrize("steps", [(-3, 1), (3, -1), (-3, -1), (-1, -2)])
def test_negative_strides_are_said(steps, max_version):
    """With negative strides the address is that of the first element, the last one in memory."""
    array = ix.from_pointer(ADDRESS + 64, (2, 3), "float32", strides=steps, owner=BLOCK)
    found = said(array.__dlpack__(max_version=max_version))

    assert (found["data"], found["strides"]) == (ADDRESS + 64, steps)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (2, 0, 3), (0, 0)])
@pytest.mark.parametrize(
    "make",
    [
        own,
        lambda shape: own(shape, "bfloat16"),
        lambda shape: ix.from_dlpack(np.ones(shape, np.float32)),
        lambda shape: own((4, *shape[1:]))[:0] if shape[0] == 0 else own(shape),
    ],
    ids=["own", "bfloat16", "imported", "view"],
)
def test_empty_memory_is_null(make, shape, max_version):
    """Data of an array without elements is NULL, and its strides are there (DLP-DATA-3)."""
    capsule = make(shape).__dlpack__(max_version=max_version)
    tensor = struct_of(capsule).dl_tensor

    assert (tensor.data, bool(tensor.strides), said(capsule)["shape"]) == (None, True, shape)


def test_an_offset_is_folded_into_the_address(max_version):
    """byte_offset is 0 if data is an address (P31)."""
    source = producers.host((4,), byte_offset=8).but(generation="versioned")
    found = said(ix.from_dlpack(source).__dlpack__(max_version=max_version))

    assert (found["data"], found["byte_offset"]) == (source.said.data + 8, 0)


@pytest.mark.parametrize("device", [(4, 0), (7, 0), (8, 1)])
def test_a_handle_keeps_its_offset(device):
    """The offset is separate if data is a handle (P33)."""
    source = producers.host((4,), byte_offset=8).but(device=device)
    found = said(ix.from_dlpack(source)[2:].__dlpack__(**NEWEST))

    expected = {"data": source.said.data, "byte_offset": 16, "device": device}
    assert {key: found[key] for key in expected} == expected


# ---------------------------------------------------------------- flags


def flags_of(array, **keywords):
    """Return the flags of a versioned export."""
    capsule = array.__dlpack__(**NEWEST, **keywords)
    return struct_of(capsule).flags


@pytest.mark.parametrize(
    ("make", "flags"),
    [
        (own, 0),
        (lambda: own(readonly=True), READ_ONLY),
        (lambda: own(dtype="bfloat16", readonly=True), READ_ONLY),
        (lambda: ix.from_dlpack(np.ones(3)), 0),
        (lambda: ix.from_dlpack(np.ones(3).__dlpack__()), READ_ONLY),  # writability is unknown
        (lambda: ix.from_dlpack(np.ones(3).__dlpack__(), assume_writable=True), 0),
        (lambda: ix.from_buffer(b"abc"), READ_ONLY),
        (lambda: ix.from_dlpack(np.frombuffer(b"abc", "u1")), READ_ONLY),
        (lambda: ix.from_buffer(bytearray(3)), 0),
        (lambda: own(dtype="int4_padded"), PADDED),
        (lambda: own(dtype="int4_padded", readonly=True), PADDED | READ_ONLY),
        (lambda: own((4,), "int4"), 0),
        (lambda: own().broadcast_to((4, 2, 3)), READ_ONLY),
        (lambda: own().copy(), 0),
        (lambda: ix.from_buffer(b"abc").copy(), 0),
        (lambda: ix.from_buffer(b"abc")[1:], READ_ONLY),
        (lambda: ix.from_dlpack(producers.host().but(generation="versioned", flags=IS_COPIED)), 0),
        (lambda: ix.from_dlpack(producers.host().but(generation="versioned", flags=1 << 40)), 0),
    ],
)
def test_flags_are_carried(make, flags):
    """Read-only and padded are kept, unknown becomes read-only, and copied is not set."""
    array = make()

    assert (flags_of(array), flags_of(array)) == (flags, flags)


@pytest.mark.parametrize(
    "make",
    [
        lambda: own(readonly=True),
        lambda: own(dtype="bfloat16", readonly=True),
        lambda: ix.from_buffer(b"abc"),
        lambda: own().broadcast_to((4, 2, 3)),
    ],
)
def test_a_legacy_capsule_of_read_only_memory_is_refused(make):
    """A legacy capsule of read-only memory is refused at every call (DLP-RO-1)."""
    array = make()
    rules = []
    for _ in range(3):
        with pytest.raises(ix.ReadOnlyError) as caught:
            array.__dlpack__()
        rules.append(caught.value.rule)
        array.__dlpack__(**NEWEST)

    assert rules == ["DLP-RO-1"] * 3


def test_a_legacy_capsule_keeps_unknown_and_refuses_padded_memory():
    """Unknown writability stays so; elements padded to a byte need a flag."""
    array = ix.from_dlpack(np.ones(3).__dlpack__())

    assert ix.from_dlpack(array.__dlpack__()).readonly is None
    with pytest.raises(ix.ExchangeError, match="DLP-DTYPE-4"):
        own(dtype="int4_padded").__dlpack__()


# ---------------------------------------------------------------- life


def test_every_call_gives_a_capsule_and_a_struct_of_its_own(array, max_version):
    """Every call creates a capsule and a struct (DLP-CAP-6)."""
    alive = [array.__dlpack__(max_version=max_version) for _ in range(5)]

    addresses = {capsule_pointer(capsule, capsule_name(capsule)) for capsule in alive}
    assert (len(addresses), len(set(map(id, alive)))) == (5, 5)


@pytest.mark.readable
def test_a_capsule_has_a_native_destructor_and_deleter(array, max_version):
    """Destructor and deleter are NumPy's native functions, for each generation (DLP-LIFE-4)."""
    capsule = array.__dlpack__(max_version=max_version)
    of_numpy = np.ones(1).__dlpack__(max_version=max_version and (1, 0))

    assert (capsule_destructor(capsule), struct_of(capsule).deleter) == (
        capsule_destructor(of_numpy),
        struct_of(of_numpy).deleter,
    )


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("end", ["dropped", "consumed", "released"])
def test_the_owner_is_released(dtype, end, max_version):
    """The reference count of the owner is restored, however a capsule ends."""
    owner = np.zeros(6)
    before = sys.getrefcount(owner)
    array = ix.from_pointer(owner.ctypes.data, (2, 3), dtype, owner=owner)
    capsules = [array.__dlpack__(max_version=max_version) for _ in range(10)]
    del array
    during = sys.getrefcount(owner)
    for capsule in capsules:
        if end == "consumed":
            ix.from_dlpack(capsule)
        elif end == "released":
            producers.Claim(capsule).release()
    del capsules
    capsule = None

    assert (during > before, sys.getrefcount(owner) - before) == (True, 0)


def test_a_capsule_outlives_its_array(array, max_version):
    """A capsule keeps the memory alive."""
    expected = array.ptr
    capsule = array.__dlpack__(max_version=max_version)
    del array
    for _ in range(3):
        bytearray(4096)  # would be put where the memory was

    assert said(capsule)["shape"] == (2, 3)
    assert said(capsule)["data"] == expected


def test_shape_and_strides_outlive_the_capsule():
    """A consumer reads them as long as it has not called the deleter."""
    claim = producers.Claim(own(dtype="bfloat16").__dlpack__(**NEWEST))
    tensor = claim.managed.dl_tensor
    found = (tuple(tensor.shape[:2]), tuple(tensor.strides[:2]))
    claim.release()

    assert found == ((2, 3), (3, 1))


def test_memory_is_shared(array):
    """A write through an export is visible in the Array."""
    address = said(array.__dlpack__(**NEWEST))["data"]
    ctypes.memset(address, 1, 24)

    assert bytes((ctypes.c_char * 24).from_address(array.ptr)) == b"\x01" * 24


# ---------------------------------------------------------------- random descriptions


EXTENTS = st.one_of(st.integers(0, 4), st.sampled_from([2**31, 2**40, 2**62, 2**63 - 1]))
STEPS = st.one_of(st.integers(-4, 4), st.sampled_from([2**40, 2**60, 2**62, -(2**62), 2**63 - 1]))
NAMES = ("int8", "float32", "float64", "complex128", "bool", "bfloat16", "float8_e5m2", "float32x3")


ADDRESSES = (
    *(1, 3, 4096, ADDRESS, 2**31, ADDRESS_END // 4),
    *(READABLE_END, ADDRESS_END // 2, ADDRESS_END - 8),
)


@st.composite
def descriptions(draw):
    """Draw address, shape, element type, strides and read-only; the memory is never read."""
    shape = tuple(draw(st.lists(EXTENTS, max_size=4)))
    strides = draw(st.one_of(st.none(), st.tuples(*[STEPS] * len(shape))))
    address = draw(st.sampled_from(ADDRESSES))
    return address, shape, draw(st.sampled_from(NAMES)), strides, draw(st.booleans())


@given(descriptions())
def test_whatever_can_be_described_can_be_lent(description):
    """Every Array is exported unchanged by each generation that can represent it."""
    address, shape, dtype, strides, readonly = description
    try:
        array = ix.from_pointer(address, shape, dtype, strides=strides, readonly=readonly)
    except ix.ExchangeError:
        reject()
    versions = [(1, 3), (1, 3)] if readonly else [None, (1, 3), None, (1, 3)]
    found = [said(array.__dlpack__(max_version=version)) for version in versions]

    expected = {
        "data": address if array.size else None,
        "device": (1, 0),
        "dtype": array.dtype.__dlpack_data_type__(),
        "shape": shape,
        "strides": (1,) if shape == (1,) else array.strides,
        "byte_offset": 0,
        "ndim": len(shape),
    }
    assert found == [expected] * len(versions)
