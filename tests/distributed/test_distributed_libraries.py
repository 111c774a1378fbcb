"""Memory of a device that no driver copies from: a library fetches it, and brings it back."""

from __future__ import annotations

import pickle

import array_api_strict as strict
import numpy as np
import pytest

import interchange as ix
from interchange._core import describe
from interchange._types.devices import Device
from interchange._types.spec import Spec

EXT = Device.of("ext_dev")
NUMBERS = np.arange(12.0).reshape(3, 4)


class OnExtension(ix.Backend):
    """array-api-strict, whose memory is the host's, under the name of another device."""

    name = "strict"
    keeps_readonly = False

    def __init__(self, device):
        self.array_type = type(strict.asarray(0))
        super().__init__(device, strict)

    def view(self, tensor):
        elements = ix.from_pointer(
            tensor.ptr, tensor.shape, tensor.dtype, strides=tensor.strides, owner=tensor._keepalive
        )
        return strict.from_dlpack(elements)

    def describe(self, native, cls):
        host = ix.from_dlpack(native)
        spec = Spec(host.dtype, self.device, host._spec.layout)
        return describe(host.ptr, spec, 0, native, native, cls)

    def to_host(self, native):
        return np.array(np.from_dlpack(native))


@pytest.fixture
def array():
    """Return an Array on a device that array-api-strict computes on, until the test is over."""
    ix.set_backend(EXT, OnExtension)
    yield ix.asarray(NUMBERS).to_device(EXT)
    ix.set_backend(EXT, None)


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_memory_of_a_library_comes_back_on_its_device(array, protocol):
    """An array is restored on its device if its library computes in the other process."""
    again = pickle.loads(pickle.dumps(array, protocol))

    assert (again.device, again.dtype, again.shape) == (EXT, array.dtype, (3, 4))
    assert again.to_device("cpu").tolist() == NUMBERS.tolist()


def test_what_a_library_fetched_leaves_out_of_band(array):
    """The fetched elements are one out-of-band buffer of their size."""
    buffers = []
    pickle.dumps(array, 5, buffer_callback=buffers.append)

    assert [buffer.raw().nbytes for buffer in buffers] == [array.nbytes]


def test_a_process_without_the_library_is_told_so(array):
    """A process without the library refuses the array, and does not move it elsewhere."""
    pickled = pickle.dumps(array)
    ix.set_backend(EXT, None)

    with pytest.raises(ix.ExchangeError, match="INTERCHANGE_LOAD_DEVICE=cpu"):
        pickle.loads(pickled)


def test_a_process_without_the_library_loads_on_the_host_if_asked(array, monkeypatch):
    """The elements are in the pickle, and need no library."""
    pickled = pickle.dumps(array)
    ix.set_backend(EXT, None)
    monkeypatch.setenv("INTERCHANGE_LOAD_DEVICE", "cpu")

    assert pickle.loads(pickled).tolist() == NUMBERS.tolist()


@pytest.mark.interop
def test_frames_are_fetched_by_the_library(array):
    """Dask sends the elements once, and brings them back to the device."""
    protocol = pytest.importorskip("distributed.protocol")

    header, frames = protocol.serialize(array)
    again = protocol.deserialize(header, frames)

    assert (header["serializer"], [frame.nbytes for frame in frames]) == ("dask", [96])
    assert again.device is EXT
    assert again.to_device("cpu").tolist() == NUMBERS.tolist()


@pytest.mark.interop
def test_blocks_are_computed_where_they_are(array):
    """Blocks of a dask array are views on the device, and so are concatenated results."""
    da = pytest.importorskip("dask.array")
    blocks = da.from_array(array, chunks=(2, 4), asarray=False)

    found = (blocks + 1).rechunk((3, 2)).compute(scheduler="synchronous")

    assert (type(found), found.device) == (ix.Array, EXT)
    assert found.to_device("cpu").tolist() == (NUMBERS + 1).tolist()
