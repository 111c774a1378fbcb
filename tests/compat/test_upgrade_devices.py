"""`compat.upgrade` of a library with device arrays only: a stand-in for CuPy."""

from __future__ import annotations

import contextlib
import sys
import types

import numpy as np
import pytest

import interchange as ix
from interchange._functions.like import like
from interchange._functions.namespaces import array_namespace
from interchange.compat import upgrade
from interchange.testing import producers


class Device:
    """A device of the stand-in, which can be made current."""

    current = 0

    def __init__(self, device=0):
        self.id = getattr(device, "id", device)

    def __eq__(self, other):
        return isinstance(other, Device) and self.id == other.id

    def __hash__(self):
        return self.id

    def __enter__(self):
        self._before, Device.current = Device.current, self.id

    def __exit__(self, *error):
        Device.current = self._before


class NDArray:
    """An array of the stand-in: its source, and its device."""

    def __init__(self, source, device):
        self.source = source
        self.device = device

    def get(self, stream):
        """Return the source of the array."""
        assert stream is None

        return np.asarray(self.source)

    def __dlpack_device__(self):
        return (2, self.device.id)


@pytest.fixture
def xp(monkeypatch):
    """The stand-in, imported under CuPy's name, and upgraded."""
    module = types.ModuleType("cupy")
    module.ndarray = NDArray
    module.cuda = types.SimpleNamespace(
        Device=Device,
        runtime=types.SimpleNamespace(is_hip=False),
        ExternalStream=contextlib.nullcontext,
    )
    module.asarray = lambda x: NDArray(x, Device(Device.current))
    module.array = lambda x: NDArray(x.source, Device(Device.current))
    module.from_dlpack = lambda x: NDArray(x, Device(x.__dlpack_device__()[1]))
    for name in ("zeros", "reshape", "matmul"):
        setattr(module, name, getattr(np, name))
    monkeypatch.setitem(sys.modules, "cupy", module)
    monkeypatch.setitem(sys.modules, "array_api_compat.cupy", module)
    return upgrade(module)


def on_device(ordinal=0):
    """Return an Array that reports a device, and is writable."""
    return ix.from_pointer(4096, (3,), "float32", device=(2, ordinal))


def test_device_memory_is_taken_where_it_is(xp):
    """The library receives an Array, which supports all protocols."""
    x = on_device(1)

    found = xp.from_dlpack(x)

    assert (type(found), found.device, found.source.ptr) == (NDArray, Device(1), x.ptr)


def test_an_object_with_the_cuda_array_interface_alone_is_taken(xp):
    """An object with only the CUDA Array Interface is imported by its record."""
    x = ix.to_cai(ix.from_pointer(0, (0, 2), "float32", device="cuda:0"))

    assert [f(x).source.shape for f in (xp.from_dlpack, xp.asarray)] == [(0, 2)] * 2


@pytest.mark.parametrize(
    "name",
    ["cuda:1", (2, 1), ix.Device(2, 1), 1, Device(1)],
    ids=lambda x: repr(x).partition(" at 0x")[0],
)
def test_host_memory_is_copied_to_a_device_that_is_named(xp, name):
    """The device may be named in either convention."""
    x = np.arange(3.0)

    found = [xp.from_dlpack(x, device=name), xp.asarray(x, device=name), xp.to_device(x, name)]

    assert [one.device for one in found] == [Device(1)] * 3
    assert all(one.source.tolist() == [0, 1, 2] for one in found)


def test_host_memory_goes_to_the_current_device_by_asarray(xp):
    """`asarray` copies host memory to the current device, as the library's function does."""
    with Device(2):
        found = xp.asarray(bytearray(b"abc"))

    assert (found.device, found.source.tolist()) == (Device(2), [97, 98, 99])


def test_scalars_and_sequences_go_to_a_device_that_is_named(xp):
    """The library's own function has no keyword for it."""
    found = xp.asarray([1, 2], device="cuda:1")

    assert (found.device, found.source) == (Device(1), [1, 2])


def test_an_exchange_names_the_device(xp):
    """A device must be named for a move: the standard requires an explicit request."""
    with pytest.raises(ix.UnsupportedDeviceError, match="name a device of the library") as caught:
        xp.from_dlpack(np.arange(3.0))

    assert (caught.value.call, caught.value.rule) == ("from_dlpack()", "IX-CONVERT-2")


@pytest.mark.parametrize("options", [{"copy": False}, {"device": "cpu"}], ids=str)
def test_what_cannot_be_is_refused(xp, options):
    """Host memory is not shared, and the library has no arrays on the host."""
    with pytest.raises(ix.UnsupportedDeviceError):
        xp.asarray(np.arange(3.0), **options)


def test_read_only_memory_is_refused_where_nothing_may_be_copied(xp):
    """The library would forget it."""
    x = ix.from_pointer(4096, (3,), "float32", device="cuda", readonly=True)

    with pytest.raises(ix.ReadOnlyError) as caught:
        xp.from_dlpack(x, copy=False)

    assert (caught.value.call, caught.value.rule) == ("from_dlpack()", "DLP-RO-3")


def test_arrays_move_between_devices(xp):
    """The library moves arrays between devices, unless they are there already."""
    x = NDArray("memory", Device(0))

    assert xp.to_device(x, "cuda:0") is x
    assert xp.to_device(x, Device(1)).device == Device(1)
    assert xp.to_device(x, 1, stream=7).device == Device(1)


def test_arrays_come_to_the_host_as_ndarrays(xp):
    """Moves to the host return ndarrays, as in array-api-compat."""
    assert isinstance(xp.to_device(NDArray([1, 2], Device(0)), "cpu"), np.ndarray)


def test_device_tells_where_foreign_memory_is_in_its_words(xp):
    """`device` reports foreign memory's device in the library's terms, without an export."""
    assert xp.device(producers.claiming((2, 1))) == Device(1)
    with pytest.raises(ix.UnsupportedDeviceError, match="cupy has no arrays on cpu"):
        xp.device(np.ones(2))


def test_memory_of_every_kind_goes_with_it(xp, monkeypatch):
    """Memory of every kind can be combined with it; host memory is copied to the device."""
    from interchange._functions import namespaces

    monkeypatch.setattr(namespaces, "find_spec", lambda _: None)
    namespaces._namespace_of.cache_clear()
    try:
        found = array_namespace(NDArray("memory", Device(0)), on_device(), b"abc")
    finally:
        namespaces._namespace_of.cache_clear()

    assert found is xp
    assert all(isinstance(found.asarray(x), NDArray) for x in (on_device(), b"abc"))


@pytest.mark.usefixtures("xp")
def test_results_come_back_as_its_arrays():
    """Results are returned as the library's arrays, on the same device."""
    result = on_device()

    found = like(result, NDArray("memory", Device(0)))

    assert (type(found), found.source.ptr) == (NDArray, result.ptr)
    with pytest.raises(ix.UnsupportedDeviceError, match="cupy has arrays on devices only"):
        like(np.ones(3), NDArray("memory", Device(0)))
