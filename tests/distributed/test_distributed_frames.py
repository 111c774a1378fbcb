"""Dask's handling of Arrays: frames, sizes and tokens, compared with those of ndarrays."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import interchange as ix

pytestmark = pytest.mark.interop

protocol = pytest.importorskip("distributed.protocol")
sizeof = pytest.importorskip("dask.sizeof").sizeof
tokenize = pytest.importorskip("dask.tokenize").tokenize

LARGE = 1_000_000  # elements of 8 bytes
LITTLE = 64 * 1024  # [bytes] maximum size of a message besides the elements


def sent(frames):
    """Return how many bytes frames hold."""
    return sum(memoryview(frame).nbytes for frame in frames)


def over_the_wire(message, context=None):
    """Return a message made of its frames, each in its own writable memory."""
    frames = protocol.dumps(message, context=context)
    return protocol.loads([memoryview(bytearray(frame)) for frame in frames])


# ---------------------------------------------------------------- frames


def test_an_array_is_one_frame_of_its_own_size(traveller):
    """The elements that are not repeated, and no byte beside them."""
    header, frames = protocol.serialize(traveller)

    assert header["serializer"] == "dask"
    assert (len(frames), sent(frames)) == (1, sizeof(traveller))


def test_an_array_is_as_many_bytes_as_the_ndarray():
    """Repeats are left out by both."""
    memory = np.broadcast_to(np.arange(3.0), (1000, 3))

    ours, theirs = (protocol.serialize(x)[1] for x in (ix.asarray(memory), memory))

    assert sent(ours) == sent(theirs) == 24


def test_what_was_sent_arrives(traveller, same):
    """Elements, type, shape and writability survive a message."""
    message = {"x": protocol.to_serialize(traveller)}

    assert same(over_the_wire(message)["x"], traveller)


@pytest.mark.parametrize("order", ["C", "F"])
def test_the_frame_is_the_memory_itself(order):
    """Serialisation copies nothing."""
    memory = np.arange(1000.0).reshape((10, 100), order=order)

    _, (frame,) = protocol.serialize(ix.asarray(memory))

    assert ix.from_buffer(frame).ptr == memory.ctypes.data


@pytest.mark.parametrize("order", ["C", "F"])
def test_the_array_lies_over_the_frame(order):
    """Deserialisation copies nothing, and the order is kept."""
    array = ix.asarray(np.arange(6.0).reshape((2, 3), order=order))

    again = protocol.deserialize(*protocol.serialize(array))

    assert (again.ptr, again.strides) == (array.ptr, array.strides)


@pytest.mark.parametrize("readonly", [False, True])
def test_a_frame_that_cannot_be_written_is_copied_for_those_who_may(readonly):
    """Decompressed frames are immutable: a writable array is copied, a read-only one is not."""
    memory = np.arange(6.0)
    memory.flags.writeable = not readonly
    header, (frame,) = protocol.serialize(ix.asarray(memory))
    came = bytes(frame)

    again = protocol.deserialize(header, [came])

    assert again.readonly is readonly
    assert (again.ptr == ix.from_buffer(came).ptr) is readonly


def test_what_is_compressed_arrives(same):
    """An array of zeros is compressed by zlib, and decompressed to immutable bytes."""
    array = ix.asarray(np.zeros(100_000))
    message = {"x": protocol.to_serialize(array)}

    again = over_the_wire(message, {"compression": "zlib"})["x"]

    assert same(again, array)


def test_what_a_worker_spills_to_disk_comes_back(traveller, same):
    """An array that a worker spilled to disk is restored from the frames in its file."""
    spilled = protocol.serialize_bytes(traveller)

    assert same(protocol.deserialize_bytes(spilled), traveller)


def test_arrays_in_a_list_are_frames_as_well(same):
    """Dask serialises Arrays in lists."""
    arrays = [ix.asarray(np.arange(5.0)), ix.asarray(np.arange(7))]

    header, frames = protocol.serialize(arrays)
    again = protocol.deserialize(header, frames)

    assert [memoryview(frame).nbytes for frame in frames] == [40, 56]
    assert all(map(same, again, arrays))


def test_arrays_within_other_objects_leave_out_of_band(same):
    """Objects that Dask does not serialise are pickled, with buffers."""
    array = ix.asarray(np.arange(LARGE))

    header, (pickled, buffer) = protocol.serialize(("a task", slice(0), array))

    assert (len(pickled) < 300, memoryview(buffer).nbytes) == (True, array.nbytes)
    assert same(protocol.deserialize(header, [pickled, buffer])[2], array)


@pytest.mark.parametrize("maker", [np.asarray, ix.asarray], ids=["numpy", "interchange"])
def test_a_message_allocates_nothing_like_the_elements(maker):
    """Neither library copies between an array and its frame, in both directions."""
    random = np.random.default_rng(0).bytes(8 * LARGE)
    array = maker(np.frombuffer(bytearray(random)))
    message = {"x": protocol.to_serialize(array)}
    over_the_wire({"x": protocol.to_serialize(maker(np.arange(3)))})  # imports are no messages

    tracemalloc.start()
    try:
        protocol.loads(protocol.dumps(message, context={"compression": None}))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert peak < LARGE  # testing whether it compresses takes samples


@pytest.mark.parametrize(
    "change",
    [
        {"sent": (7,)},
        {"sent": (-1,)},
        {"dtype": "float33"},
        {"dtype": "float32"},
        {"shape": (5,)},
        {"device": "nowhere"},
    ],
    ids=lambda x: repr(x).partition(" at 0x")[0],
)
def test_facts_that_contradict_the_frame_are_refused(change):
    """A header that was cut or forged makes no Array over other memory."""
    header, frames = protocol.serialize(ix.asarray(np.arange(6.0)))
    header["sub-header"] |= change

    with pytest.raises(ix.InterchangeError):
        protocol.deserialize(header, frames)


@pytest.mark.parametrize("frames", [[], [b""], [bytes(47)], [bytes(49)]], ids=len)
def test_frames_of_another_size_are_refused(frames):
    """An Array never extends beyond the received bytes, whatever the header says."""
    header, _ = protocol.serialize(ix.asarray(np.arange(6.0)))

    with pytest.raises(ix.ExchangeError):
        protocol.deserialize(header, frames)


# ---------------------------------------------------------------- sizes and tokens


def test_the_size_is_that_of_the_elements(traveller):
    """Workers use it to count their memory; repeated elements are counted once, as in NumPy."""
    repeats = 9 if traveller.shape == (9, 4) and traveller.strides[0] == 0 else 1

    assert sizeof(traveller) == traveller.nbytes / repeats


def test_equal_arrays_have_equal_tokens(traveller):
    """Names in a graph follow from the elements, and not from where they are."""
    if traveller.dtype.is_packed:
        assert tokenize(traveller) == tokenize(traveller[:])
    else:
        assert tokenize(traveller.contiguous()) == tokenize(traveller.copy())


@pytest.mark.parametrize(
    "other",
    [
        np.arange(6.0).reshape(3, 2),
        np.arange(6).reshape(2, 3),
        np.arange(1.0, 7.0).reshape(2, 3),
        np.arange(6.0),
    ],
    ids=["shape", "dtype", "elements", "axes"],
)
def test_unequal_arrays_have_unequal_tokens(other):
    """Tokens depend on type, shape and elements."""
    array = ix.asarray(np.arange(6.0).reshape(2, 3))

    assert tokenize(array) != tokenize(ix.asarray(other))


def test_memory_that_cannot_be_read_has_a_token_of_its_own():
    """Memory that cannot be compared is never equal."""
    arrays = [ix.from_pointer(0xDEAD000, (3,), "float32", device="metal:0") for _ in range(2)]

    assert tokenize(arrays[0]) != tokenize(arrays[1])
