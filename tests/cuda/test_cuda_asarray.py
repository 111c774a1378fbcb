"""`asarray` with a stream: the order is that of `from_dlpack`, for every protocol."""

from __future__ import annotations

import pytest

import interchange as ix

pytestmark = [pytest.mark.emulated, pytest.mark.gpu]

SIZE = 4096


class ByDLPack:
    """Implements DLPack for an Array."""

    def __init__(self, array):
        self.array = array

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __dlpack__(self, **keywords):
        return self.array.__dlpack__(**keywords)


class ByRecord:
    """Implements the CUDA Array Interface for an Array."""

    def __init__(self, array):
        self.array = array

    @property
    def __cuda_array_interface__(self):
        return self.array.__cuda_array_interface__


class Described:
    """Returns an Array that describes it."""

    def __init__(self, array):
        self.array = array

    def __interchange__(self):
        return self.array


SPEAK = {
    "an Array": lambda array: array,
    "DLPack": ByDLPack,
    "a record": ByRecord,
    "described": Described,
    "a capsule": lambda array: array.__dlpack__(stream=-1, max_version=(1, 1)),
}


@pytest.fixture
def memory(cuda):
    """Return the address of device memory, and the producer's stream."""
    return cuda.memory(), cuda.stream()


def busy(memory):
    """Return an Array whose work is pending on the producer's stream."""
    ptr, own = memory
    return ix.from_pointer(ptr, (SIZE,), "uint8", device="cuda:0", stream=own)


@pytest.mark.parametrize("speak", [word for word in SPEAK if word != "a capsule"])
def test_the_stream_waits_for_the_producer(cuda, memory, speak):
    """Work enqueued on the stream reads what the producer wrote, and the host does not wait."""
    ptr, own = memory
    stream = cuda.stream()
    shut = cuda.fill_behind_gate(ptr, 1, own)
    array = ix.asarray(SPEAK[speak](busy(memory)), stream=stream)

    assert cuda.read_around(shut, array.ptr, stream) == ({0}, {1})


@pytest.mark.parametrize("speak", SPEAK)
def test_who_takes_it_next_waits_for_the_stream(cuda, memory, speak):
    """The Array publishes the stream on which it is ready."""
    stream = cuda.stream()

    array = ix.asarray(SPEAK[speak](busy(memory)), stream=stream)

    assert array.__cuda_array_interface__["stream"] == stream


def test_an_array_itself_is_left_as_it_was(cuda, memory):
    """The stream is recorded on an alias."""
    array = busy(memory)

    ix.asarray(array, stream=cuda.stream())

    assert array.__cuda_array_interface__["stream"] == memory[1]
    assert ix.asarray(array) is array


@pytest.mark.parametrize("stream", [0, -2, 2**64, 10**30])
@pytest.mark.parametrize("speak", SPEAK)
def test_a_wrong_stream_is_refused_as_by_from_dlpack(cuda, memory, speak, stream):
    """The class and the rule of the error are those of `from_dlpack`."""
    with pytest.raises(ix.StreamError) as expected:
        ix.from_dlpack(ByDLPack(busy(memory)), stream=stream)
    with pytest.raises(ix.StreamError) as caught:
        ix.asarray(SPEAK[speak](busy(memory)), stream=stream)

    assert (type(caught.value), caught.value.rule) == (type(expected.value), expected.value.rule)
    assert caught.value.call == "asarray()"
    assert cuda is not None


@pytest.mark.parametrize("speak", [word for word in SPEAK if word != "a capsule"])
@pytest.mark.parametrize("keywords", [{"copy": True}, {"device": "cpu"}], ids=["copied", "moved"])
def test_what_is_moved_is_moved_after_the_work(cuda, memory, speak, keywords):
    """The move runs on the stream that is passed."""
    ptr, own = memory
    cuda.fill(ptr, 1, own)

    array = ix.asarray(SPEAK[speak](busy(memory)), stream=cuda.stream(), **keywords)

    assert array.ptr != ptr
    assert set(array.to_device("cpu").tolist()) == {1}
