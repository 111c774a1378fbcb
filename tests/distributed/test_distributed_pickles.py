"""Pickles, counted: the bytes that leave out of band are those of the elements, and no others."""

from __future__ import annotations

import pickle
import tracemalloc

import numpy as np
import pytest

import interchange as ix

LARGE = 1_000_000  # elements of 8 bytes
LITTLE = 64 * 1024  # [bytes] maximum size of a pickle besides the elements


def out_of_band(array):
    """Return a pickle, and the buffers that left beside it."""
    buffers = []
    return pickle.dumps(array, 5, buffer_callback=buffers.append), buffers


def highest(call):
    """Return the most memory that was allocated at once during a call [bytes]."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_bytes_out_of_band_are_the_size_of_the_elements(traveller):
    """There is one buffer, as large as the elements, whatever the memory around them."""
    _, buffers = out_of_band(traveller)

    assert [buffer.raw().nbytes for buffer in buffers] == [traveller.nbytes]


def test_a_pickle_beside_its_buffer_holds_no_element(traveller):
    """The pickle without its buffer has metadata only."""
    pickled, _ = out_of_band(traveller)

    assert len(pickled) < 200


def test_what_was_sent_out_of_band_arrives(traveller, same):
    """Elements, type, shape and writability survive in new buffers."""
    pickled, buffers = out_of_band(traveller)
    arrived = [
        bytes(raw) if (raw := buffer.raw()).readonly else bytearray(raw) for buffer in buffers
    ]

    assert same(pickle.loads(pickled, buffers=arrived), traveller)


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_what_was_sent_in_band_arrives(traveller, same, protocol):
    """Pickles of every protocol restore the same array."""
    assert same(pickle.loads(pickle.dumps(traveller, protocol)), traveller)


@pytest.mark.parametrize("maker", [np.asarray, ix.asarray], ids=["numpy", "interchange"])
def test_a_dump_out_of_band_allocates_nothing_like_the_elements(maker):
    """Pickling NumPy's and interchange's arrays exports the memory without a copy."""
    array = maker(np.arange(float(LARGE)))

    assert highest(lambda: out_of_band(array)) < LITTLE


@pytest.mark.parametrize("maker", [np.asarray, ix.asarray], ids=["numpy", "interchange"])
def test_a_load_out_of_band_allocates_nothing_like_the_elements(maker):
    """Both arrays are over the received buffer."""
    pickled, buffers = out_of_band(maker(np.arange(float(LARGE))))

    assert highest(lambda: pickle.loads(pickled, buffers=buffers)) < LITTLE


def test_a_pickle_in_band_allocates_no_more_than_numpy():
    """A pickle without buffers copies the elements as often as NumPy's does."""
    memory = np.arange(float(LARGE))
    array = ix.asarray(memory)

    ours, theirs = (highest(lambda x=x: pickle.dumps(x, 4)) for x in (array, memory))

    assert ours <= theirs + LITTLE


@pytest.mark.parametrize("device", ["", "cpu\0", "cuda:-1", "nonsense", "cuda:0:1", 7, None])
def test_a_pickle_of_a_device_that_cannot_be_is_refused(device):
    """A forged device is an error, and creates no Array."""
    rebuild, facts = ix.asarray(np.arange(3)).__reduce_ex__(4)

    with pytest.raises((ix.ExchangeError, ix.ArgumentError)):
        rebuild(*facts, device)
