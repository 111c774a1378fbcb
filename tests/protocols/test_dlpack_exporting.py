"""``Array.__dlpack__``: its arguments, its errors, and its allocations."""

from __future__ import annotations

import sys
from enum import IntEnum

import numpy as np
import pytest

import interchange as ix
from interchange.abi import (
    LEGACY,
    VERSIONED,
    DLDeviceType,
    DLManagedTensor,
    DLManagedTensorVersioned,
    capsule_name,
    capsule_pointer,
)
from interchange.testing import producers

NEWEST = {"max_version": (1, 3)}
BLOCK = np.arange(64, dtype=np.uint8)
IS_COPIED = 2


def own(dtype="float32", **more):
    """Return an Array over memory of ours."""
    return ix.from_pointer(BLOCK.ctypes.data, (2, 3), dtype, owner=BLOCK, **more)


KINDS = {
    "own": own,
    "bfloat16": lambda: own("bfloat16"),
    "readonly": lambda: own(readonly=True),
    "imported": lambda: ix.from_dlpack(np.ones((2, 3), np.float32)),
    "unknown": lambda: ix.from_dlpack(np.ones((2, 3), np.float32).__dlpack__()),
}


@pytest.fixture(params=KINDS, name="array")
def _array(request):
    return KINDS[request.param]()


@pytest.fixture(params=["never exported", "exported"], name="used")
def _used(request, array):
    """Return an Array that has been exported before, and one that has not."""
    if request.param == "exported":
        array.__dlpack__(**NEWEST)
        array.__dlpack__(**NEWEST)
        if array.readonly is not True:
            array.__dlpack__()
    return array


def struct_of(capsule):
    """Return the struct in an unconsumed capsule; valid while the capsule is alive."""
    name = capsule_name(capsule)
    struct = DLManagedTensorVersioned if name == VERSIONED else DLManagedTensor
    return struct.from_address(capsule_pointer(capsule, name))


# ---------------------------------------------------------------- bad arguments

BAD = [
    *(
        ("max_version", value, "DLP-VER-2")
        for value in (
            *(1, "1.0", (1,), [1, 0], (1, 0, 0), (1, "0"), ("1", 0), (1.0, 0), (True, 0)),
            *((1, False), (None, None), {1: 0}, {0: 1, 1: 1}, (np.int64(1), 0)),
        )
    ),
    *(
        ("dl_device", value, "DLP-DEV-4")
        for value in (1, "cpu", (1,), [1, 0], (1, 0, 0), (1, "0"), (True, 0), (1.0, 0))
    ),
    *(("copy", value, "DLP-COPY-3") for value in (0, 1, "no", (), np.False_)),
    *(("stream", value, "DLP-STREAM-4") for value in ("1", 1.0, True, False, (0, 1), object())),
]


@pytest.mark.parametrize(("name", "value", "rule"), BAD)
def test_a_bad_argument_is_a_type_error(used, name, value, rule):
    """It is refused at the first export and at the tenth, before others, and without effects."""
    before = sys.getrefcount(BLOCK)
    others = {"dl_device": (2, 0), "stream": 7, "copy": True}
    others.pop(name, None)

    for array, keywords in ((used, {}), (used, others), (own(readonly=True), others)):
        with pytest.raises(TypeError, match=rule):
            array.__dlpack__(**{name: value}, **keywords)
    del array
    assert sys.getrefcount(BLOCK) == before


def test_arguments_have_names(used):
    """All arguments are keyword-only, as in the standard."""
    with pytest.raises(TypeError):
        used.__dlpack__(None)


def test_only_bad_arguments_are_type_errors(used):
    """Only invalid arguments raise TypeError, which consumers read as an old producer (P89)."""
    refused = []
    for keywords in (
        {"dl_device": (2, 0)},
        {"dl_device": (99, 0)},
        {"stream": 1},
        {"stream": 0},
        {"max_version": (1, 3), "dl_device": (2, 0), "copy": False},
    ):
        with pytest.raises((BufferError, ValueError)) as caught:
            used.__dlpack__(**keywords)
        refused.append(isinstance(caught.value, TypeError))

    assert refused == [False] * 5


@pytest.mark.parametrize(
    ("max_version", "name"),
    [
        *(
            (version, VERSIONED)
            for version in [(2**31, 0), (2**63, 0), (2**80, 0), (1, 2**80), (1, -1)]
        ),
        *((version, LEGACY) for version in [(0, 0), (0, 2**80), (-(2**80), 0)]),
    ],
)
def test_any_int_is_a_version(max_version, name):
    """Any large version gives the newest struct, and any small one the legacy struct."""
    array = own()

    assert [capsule_name(array.__dlpack__(max_version=max_version)) for _ in range(2)] == [name] * 2


# ---------------------------------------------------------------- dl_device


class Numbers(IntEnum):
    cpu = 1
    first = 0


@pytest.mark.parametrize(
    "keywords",
    [
        *({"copy": None}, {"copy": False}, {"dl_device": None}, {"dl_device": (1, 0)}),
        {"dl_device": (DLDeviceType.kDLCPU, 0)},
        {"dl_device": (Numbers.cpu, Numbers.first)},
    ],
    ids=str,
)
def test_memory_is_shared_where_it_is(array, keywords):
    """Its own device is no move; without copy=True host memory is always shared."""
    capsule = array.__dlpack__(**keywords, **NEWEST)

    assert struct_of(capsule).dl_tensor.data == array.ptr


@pytest.mark.parametrize("dl_device", [(2, 0), (1, 1), (13, 0), (3, 0), (99, 0), (0, 0), (2, -1)])
def test_another_device_is_refused(used, dl_device):
    """Another device is refused with the standard's BufferError (DLP-DEV-5)."""
    with pytest.raises(BufferError) as caught:
        used.__dlpack__(dl_device=dl_device, **NEWEST)

    assert (type(caught.value), caught.value.rule) == (ix.UnsupportedDeviceError, "DLP-DEV-5")


@pytest.mark.parametrize("device", [(3, 0), (11, 0)])
def test_page_locked_memory_goes_to_the_host(device):
    """The same memory under the other name."""
    array = own(device=device)
    capsule = array.__dlpack__(dl_device=(1, 0), **NEWEST)
    tensor = struct_of(capsule).dl_tensor

    assert (tensor.device.device_type, tensor.data) == (1, array.ptr)


# ---------------------------------------------------------------- copy


def test_a_copy_is_flagged(array):
    """A copy is in new writable memory and has the copied flag (DLP-COPY-2), or is legacy."""
    capsule, legacy = array.__dlpack__(copy=True, **NEWEST), array.__dlpack__(copy=True)
    struct = struct_of(capsule)

    assert (struct.flags, capsule_name(legacy)) == (IS_COPIED, LEGACY)
    assert array.ptr not in {struct.dl_tensor.data, struct_of(legacy).dl_tensor.data}


def test_a_copy_holds_the_elements():
    """A copy has the elements in the Array's order, for any strides."""
    array = ix.from_dlpack(np.arange(12.0).reshape(3, 4))[::-1, ::2]
    copy = ix.from_dlpack(array.__dlpack__(copy=True, **NEWEST))

    assert (copy.tolist(), copy.strides) == (array.tolist(), (2, 1))


def test_a_copy_keeps_nothing_of_its_origin():
    """The origin may go."""
    owner = np.zeros(6)
    before = sys.getrefcount(owner)
    array = ix.from_pointer(owner.ctypes.data, (6,), "float64", owner=owner)
    capsule = array.__dlpack__(copy=True, **NEWEST)
    del array

    assert (sys.getrefcount(owner) - before, capsule_name(capsule)) == (0, VERSIONED)


# ---------------------------------------------------------------- streams


@pytest.mark.parametrize("stream", [-1, 0, 1, 2, 7])
def test_host_memory_has_no_streams(used, stream):
    """For host memory only the stream None is accepted (DLP-STREAM-1)."""
    with pytest.raises(ix.StreamError, match="DLP-STREAM-1"):
        used.__dlpack__(stream=stream, **NEWEST)


@pytest.mark.parametrize(
    ("device", "streams", "rule"),
    [
        ((2, 0), (0, -2), "DLP-STREAM-2"),
        ((2, 1), (0,), "DLP-STREAM-2"),
        ((13, 0), (0,), "DLP-STREAM-2"),
        ((10, 0), (1, 2), "DLP-STREAM-3"),
    ],
)
def test_what_is_no_stream_is_refused(device, streams, rule):
    """A value that names no stream on that device is refused; -1 requests no ordering."""
    array = own(device=device)
    for stream in streams:
        with pytest.raises(ix.StreamError, match=rule):
            array.__dlpack__(stream=stream, **NEWEST)
    capsule = array.__dlpack__(stream=-1, **NEWEST)
    found = struct_of(capsule).dl_tensor.device

    assert (found.device_type, found.device_id) == device


def test_where_it_is_is_said_without_an_export(array):
    """``__dlpack_device__`` answers with two ints."""
    found = array.__dlpack_device__()

    assert (found, [type(number) for number in found]) == ((1, 0), [int, int])


# ---------------------------------------------------------------- round trips


@pytest.mark.parametrize("max_version", [None, (1, 3)])
def test_what_goes_out_comes_back(array, max_version):
    """A re-imported export has the same memory and description."""
    if max_version is None and array.readonly:
        pytest.skip("a legacy capsule of read-only memory is refused")
    back = ix.from_dlpack(array.__dlpack__(max_version=max_version))

    assert (back.ptr, back.shape, back.strides, back.dtype) == (
        array.ptr,
        array.shape,
        array.strides,
        array.dtype,
    )


def test_an_export_outlives_everything_on_the_way():
    """A chain of imports and exports keeps the first owner, and releases it at the end."""
    source = producers.host().but(generation="versioned")
    chain = ix.from_dlpack(source)
    for _ in range(5):
        chain = ix.from_dlpack(chain.__dlpack__(**NEWEST))
    before = (source.deleter_calls, chain.tolist())
    del chain

    assert (before, source.deleter_calls) == ((0, [[0, 1, 2], [3, 4, 5]]), 1)
