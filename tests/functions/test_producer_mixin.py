"""`Producer`: one method makes a class support every protocol."""

from __future__ import annotations

import copy
import ctypes
import gc
import sys
import weakref

import numpy as np
import pytest

import interchange as ix


class Samples(ix.Producer):
    """A block of six floats."""

    def __init__(self, *, readonly=False):
        self.block = (ctypes.c_float * 6)(*range(6))
        self.readonly = readonly

    def __interchange__(self):
        address = ctypes.addressof(self.block)
        return ix.from_pointer(address, (2, 3), "float32", owner=self, readonly=self.readonly)


class Answering(ix.Producer):
    """A producer with any answer."""

    def __init__(self, answer):
        self.answer = answer

    def __interchange__(self):
        return self.answer


VALUES = [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]

WAYS = {
    "asarray": ix.asarray,
    "from_dlpack": ix.from_dlpack,
    "from_array_interface": ix.from_array_interface,
    "capsule": lambda x: ix.from_dlpack(x.__dlpack__(max_version=(1, 3))),
    "np.from_dlpack": np.from_dlpack,
    "np.asarray": np.asarray,
    "__array__": lambda x: x.__array__(),
    "__buffer__": lambda x: x.__buffer__(0),
    "convert": lambda x: ix.convert(x, "numpy"),
    "accepts_arrays": ix.accepts_arrays("x")(lambda x: x),
}
if sys.version_info >= (3, 12):
    WAYS["memoryview"] = memoryview
    WAYS["from_buffer"] = ix.from_buffer


@pytest.mark.parametrize("way", WAYS)
def test_every_protocol_shares_the_memory(way):
    """Writes to the block are visible in every export."""
    samples = Samples()

    found = WAYS[way](samples)
    samples.block[5] = 50.0

    assert found.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 50.0]]


@pytest.mark.parametrize("way", WAYS)
def test_every_protocol_keeps_the_producer_alive(way):
    """The producer is kept alive by its exports, and no longer."""
    samples = Samples()
    alive = weakref.ref(samples)
    found = WAYS[way](samples)
    del samples
    gc.collect()
    assert alive() is not None

    del found
    gc.collect()

    assert alive() is None


@pytest.mark.parametrize("way", WAYS)
def test_read_only_memory_is_read_only_in_every_protocol(way):
    """Every protocol exports read-only memory as read-only, also to NumPy."""
    found = WAYS[way](Samples(readonly=True))

    assert (not found.flags.writeable if isinstance(found, np.ndarray) else found.readonly) is True


def test_the_device_is_that_of_the_memory():
    """The device can be read without an export; a record is there for its kind of device."""
    on_device = Answering(ix.from_pointer(0xDEAD000, (3,), "float32", device="cuda:1"))

    assert on_device.__dlpack_device__() == (2, 1)
    for producer, is_host in ((on_device, False), (Samples(), True)):
        assert hasattr(producer, "__array_interface__") is is_host
        assert hasattr(producer, "__cuda_array_interface__") is not is_host


def test_keywords_are_handed_on():
    """Copies, devices and versions are those of `Array.__dlpack__`."""
    samples = Samples()
    copied = ix.from_dlpack(samples.__dlpack__(max_version=(1, 3), copy=True))
    samples.block[0] = 9.0

    assert copied.tolist() == VALUES
    with pytest.raises(ix.UnsupportedDeviceError):
        samples.__dlpack__(dl_device=(2, 0))
    with pytest.raises(ix.StreamError):
        samples.__dlpack__(stream=1)


def test_a_capsule_a_call():
    """Each call creates a new capsule."""
    samples = Samples()
    first, second = samples.__dlpack__(), samples.__dlpack__()

    assert ix.from_dlpack(first).ptr == ix.from_dlpack(second).ptr


@pytest.mark.parametrize(
    "answer", [None, 5, b"abc", np.zeros(3)], ids=lambda x: repr(x).partition(" at 0x")[0]
)
def test_an_answer_that_is_no_array_is_refused(answer):
    """An invalid return value is refused, and the error tells the author what to return."""
    with pytest.raises(ix.ExchangeError) as caught:
        ix.asarray(Answering(answer))

    assert caught.value.rule == "IX-PRODUCER-1"
    assert "Answering" in caught.value.what


def test_a_wrong_answer_is_not_taken_for_an_old_producer():
    """A TypeError out of ``__dlpack__`` would make consumers ask again with fewer keywords."""
    with pytest.raises(Exception, match="IX-PRODUCER-1") as caught:
        Answering(None).__dlpack__(max_version=(1, 3))

    assert not isinstance(caught.value, TypeError)


@pytest.mark.parametrize("call", [ix.asarray, np.from_dlpack])
def test_a_class_without_the_method_is_refused(call):
    """The one method must be defined."""

    class Unfinished(ix.Producer):
        pass

    with pytest.raises(NotImplementedError, match="Unfinished defines no __interchange__"):
        call(Unfinished())


def test_an_error_of_the_producers_own_comes_through():
    """An error in ``__interchange__`` reaches the caller unchanged."""

    class Closed(ix.Producer):
        def __interchange__(self):
            raise ValueError("closed")

    for call in (ix.asarray, ix.from_dlpack, np.from_dlpack, np.asarray):
        with pytest.raises(ValueError, match="closed"):
            call(Closed())


def test_the_mixin_takes_no_room():
    """A class with slots stays without a dict, and the mixin defines no copying."""

    class Slim(ix.Producer):
        __slots__ = ()

    assert not hasattr(Slim(), "__dict__")
    assert copy.copy(Answering(5)).answer == 5


def test_another_method_is_enough_without_the_mixin():
    """asarray() asks any class that defines ``__interchange__``."""

    class Alone:
        def __interchange__(self):
            return ix.from_buffer(b"abc")

    assert ix.asarray(Alone()).tolist() == [97, 98, 99]
