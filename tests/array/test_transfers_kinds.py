"""Page-locked and managed memory: copies of the same kind, and the streams that go with them."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

import interchange as ix
from interchange.abi import DLDeviceType

pytestmark = pytest.mark.emulated

SIZE = 4096
KINDS = ["cuda_host:0", "cuda_managed:0"]
SLOW = 0.02  # [seconds]


@pytest.fixture
def described(machine):
    """Return a function that describes new memory of a kind, filled with sevens."""

    def make(kind, shape=(SIZE,), stream=None):
        if kind == "cpu":
            return ix.asarray(np.full(shape, 7, np.uint8))
        ptr = machine.pinned(SIZE) if kind == "cuda_host:0" else machine.managed(SIZE)
        ctypes.memset(ptr, 7, SIZE)
        return ix.from_pointer(ptr, shape, "uint8", device=kind, stream=stream)

    return make


# ---------------------------------------------------------------- copies of the same kind


@pytest.mark.parametrize("said", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_a_capsule_of_a_copy_is_of_the_same_device(described, kind, said):
    """A capsule of a copy is on the same device, whether or not it is named (standard)."""
    array = described(kind)
    device = array.__dlpack_device__() if said else None

    capsule = array.__dlpack__(copy=True, dl_device=device, max_version=(1, 3))
    fields = ix.inspect(capsule).fields
    taken = ix.from_dlpack(capsule)

    assert fields["flags"] == "copied"
    assert taken.device is array.device
    assert taken.ptr != array.ptr
    assert np.asarray(taken).tobytes() == bytes([7]) * SIZE


@pytest.mark.parametrize("kind", KINDS)
def test_a_copy_of_the_same_kind_is_in_c_order(described, kind):
    """A copy of the same kind is in C order, whatever the order of the source."""
    array = described(kind, (64, 64))
    np.asarray(array)[:] = np.arange(SIZE, dtype=np.uint8).reshape(64, 64)

    taken = ix.from_dlpack(array.T[::2].__dlpack__(copy=True))

    assert taken.is_contiguous()
    assert np.array_equal(np.asarray(taken), np.asarray(array).T[::2])


@pytest.mark.parametrize("kind", KINDS)
def test_the_driver_says_of_which_kind_a_copy_is(machine, emulator, described, kind):
    """The driver reports the kind of each copy, and everything is freed."""
    before, array = emulator.live(), described(kind)

    taken = ix.from_dlpack(array.__dlpack__(copy=True))
    type_ = machine(
        "cuPointerGetAttribute",
        machine.api.CUpointer_attribute.CU_POINTER_ATTRIBUTE_IS_MANAGED,
        taken.ptr,
    )
    during = emulator.live()
    del taken

    assert bool(type_) == (array.device.type is DLDeviceType.kDLCUDAManaged)
    assert during != emulator.live()
    assert sum(emulator.live()[:2]) == sum(before[:2]) + (kind == "cuda_host:0")


def test_a_copy_of_managed_memory_waits_for_the_work_on_it(machine, emulator, described):
    """The host makes it."""
    stream = machine.stream()
    array = described("cuda_managed:0", stream=stream)
    emulator.delay(stream, SLOW)
    emulator.fill(stream, array.ptr, SIZE, 9)

    taken = ix.from_dlpack(array.__dlpack__(stream=1, copy=True))

    assert np.asarray(taken).tobytes() == bytes([9]) * SIZE


@pytest.mark.parametrize("kind", KINDS)
def test_a_copy_for_the_host_is_the_hosts(described, kind):
    """A copy to the CPU is in host memory."""
    taken = ix.from_dlpack(described(kind).__dlpack__(copy=True, dl_device=(1, 0)))

    assert str(taken.device) == "cpu"


@pytest.mark.parametrize("kind", KINDS)
def test_a_copy_without_elements_has_no_memory(described, kind):
    """A copy without elements allocates no memory."""
    taken = ix.from_dlpack(described(kind, (0, 3)).__dlpack__(copy=True))

    assert (taken.shape, taken.ptr, str(taken.device)) == ((0, 3), 0, kind)


# ---------------------------------------------------------------- streams


CALLS = {
    "copy": lambda array, stream: array.copy(stream=stream),
    "to_device": lambda array, stream: array.to_device("cpu", stream=stream),
    "page-locked": lambda array, stream: array.to_device("cuda_host:0", stream=stream),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("kind", ["cpu", *KINDS])
@pytest.mark.parametrize("stream", ["nonsense", 1.5, True, object(), -77, 2**64])
def test_what_is_no_stream_is_refused(described, call, kind, stream):
    """Also if the host copies and uses none; numbers for pageable memory by its own rule."""
    array = described(kind)
    plain = kind == "cpu" and call != "page-locked"
    of_number = "DLP-STREAM-1" if plain else "DLP-STREAM-2"

    with pytest.raises(ix.StreamError) as caught:
        CALLS[call](array, stream)

    assert caught.value.rule == (of_number if type(stream) is int else "DLP-STREAM-4")


@pytest.mark.parametrize("stream", [-1, 0, 1, 2, 1234])
def test_plain_host_memory_is_copied_on_no_stream(described, stream):
    """Pageable host memory is copied without a stream."""
    with pytest.raises(ix.StreamError, match="DLP-STREAM-1"):
        described("cpu").copy(stream=stream)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("stream", [None, 1, 2])
def test_streams_of_the_driver_are_taken(described, call, kind, stream):
    """Work on this memory is ordered on streams although the host copies it."""
    copied = CALLS[call](described(kind), stream)

    assert np.asarray(copied).tobytes() == bytes([7]) * SIZE
