"""`from_cai` with a device that the caller names: no driver is asked."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import interchange as ix


class Fake:
    """An object of a test without a GPU: its record is of host memory."""

    def __init__(self, memory, **changes):
        self.memory = memory
        self.reads = 0
        self.record = {**memory.__array_interface__, "version": 3, "stream": None, **changes}

    @property
    def __cuda_array_interface__(self):
        self.reads += 1
        return self.record


@pytest.fixture
def memory():
    """Return host memory."""
    return np.arange(6, dtype="f4").reshape(2, 3)


@pytest.fixture(autouse=True)
def no_driver(monkeypatch):
    """Fail every call that asks a driver."""
    from interchange._protocols import cuda_array_interface

    def refuse(call):
        raise AssertionError(f"{call} asks a driver")

    monkeypatch.setattr(cuda_array_interface, "_find_driver", refuse)
    monkeypatch.setattr(cuda_array_interface, "drivers", {})


@pytest.mark.parametrize("version", [0, 2, 3])
@pytest.mark.parametrize("stream", [None, 1, 7], ids=["no stream", "legacy", "stream"])
def test_host_memory_by_the_callers_word(memory, version, stream):
    """It is shared, no stream is waited for, and its flag is that of the record."""
    x = ix.from_cai(Fake(memory, version=version, stream=stream), device="cpu")
    memory[0, 0] = 9

    assert (str(x.device), x.tolist()) == ("cpu", memory.tolist())
    assert np.shares_memory(np.from_dlpack(x), memory)


def test_layout_and_flag_of_host_memory(memory):
    """Strides, read-only flags and arrays without elements are those of the record."""
    part = memory.T[::-1]
    part.flags.writeable = False
    x = ix.from_cai(Fake(part), device="cpu")
    empty = ix.from_cai(Fake(memory[:0], data=(0, False)), device="cpu")

    assert (x.tolist(), x.readonly) == (part.tolist(), True)
    assert (empty.shape, str(empty.device)) == ((0, 3), "cpu")


def test_a_dict_of_host_memory_keeps_its_owner():
    """The owner lives as long as the Array."""
    memory = np.ones(3, "i2")
    kept = weakref.ref(memory)
    record = {**memory.__array_interface__, "version": 3}
    x = ix.from_cai(record, owner=memory, device="cpu")
    del memory
    gc.collect()
    assert kept() is not None
    assert x.tolist() == [1, 1, 1]

    del x
    gc.collect()
    assert kept() is None


def test_a_mask_is_on_the_same_device(memory):
    """Data and mask are imported alike."""
    mask = Fake(memory > 2)
    x, found = ix.from_cai(Fake(memory, mask=mask), device="cpu", mask="separate")

    assert (str(found.device), found.tolist()) == ("cpu", (memory > 2).tolist())
    assert x.shape == (2, 3)


@pytest.mark.parametrize("device", ["cuda:1", "cuda_host", "cuda_managed", "rocm:0"])
def test_other_devices_by_the_callers_word(memory, device):
    """The description is made; its address is not verified."""
    x = ix.from_cai(Fake(memory), device=device, sync=False)

    assert (x.device, x.ptr) == (device, memory.ctypes.data)


@pytest.mark.parametrize("device", ["opencl:0", "metal:0"])
def test_devices_without_the_interface_are_refused(memory, device):
    """The interface is of CUDA and ROCm."""
    with pytest.raises(ix.UnsupportedDeviceError, match="CAI-DEV-1") as caught:
        ix.from_cai(Fake(memory), device=device)
    assert "pass 'cpu' or a device of CUDA or ROCm" in str(caught.value)


def test_malformed_records_are_refused_alike(memory):
    """The rules of records do not depend on the device."""
    with pytest.raises(ix.ExchangeError, match="CAI-DATA-2"):
        ix.from_cai(Fake(memory, data=(0, False)), device="cpu")
    with pytest.raises(ix.ExchangeError, match="CAI-MASK-1"):
        ix.from_cai(Fake(memory, mask=Fake(memory)), device="cpu")


def test_the_device_of_an_array_is_known(memory):
    """Another one is refused."""
    x = ix.from_pointer(0, (0,), "f4", device="cuda:0")

    assert ix.from_cai(x, device="cuda:0").device == "cuda:0"
    with pytest.raises(ix.ArgumentError, match="IX-ARGUMENT-1"):
        ix.from_cai(x, device="cpu")
    with pytest.raises(ix.UnsupportedDeviceError, match="DLP-DEV-1"):
        ix.from_cai(Fake(memory), device="gpu")
