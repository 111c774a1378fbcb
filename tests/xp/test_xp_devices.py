"""Which library computes: dispatch by device, mixed devices, and moves."""

from __future__ import annotations

import numpy as np
import pytest

import interchange as ix
from interchange import xp
from interchange._array.native_arrays import backend_of_array, native_of


def on(device, values=(1.0, 2.0, 3.0)):
    """Return an Array on a device."""
    return xp.asarray(list(values), device=device)


def test_an_array_is_created_where_it_is_asked_for(ext):
    """The created array is on the requested device."""
    assert xp.zeros(3, device=ext).device is ext


@pytest.mark.parametrize("name", ["zeros_like", "ones_like", "empty_like"])
def test_an_array_is_created_where_another_is(ext, name):
    """The ``_like`` functions use the array's device, unless one is passed."""
    x = on(ext)

    assert getattr(xp, name)(x).device is ext
    assert getattr(xp, name)(x, device="cpu").device is ix.Device.of("cpu")


def test_the_library_of_the_device_computes(ext):
    """The library of the device computes: array-api-strict, on a device unknown to NumPy."""
    x = on(ext)

    assert type(native_of(x)).__module__.startswith("array_api_strict")
    assert (x + x).device is ext
    assert (x + x).to_device("cpu").tolist() == [2.0, 4.0, 6.0]


@pytest.mark.parametrize(
    "compute",
    [
        lambda x, y: x + y,
        lambda x, y: x == y,
        xp.add,
        lambda x, y: xp.where(x > 0, x, y),
        lambda x, y: xp.concat([x, y]),
        xp.matmul,
        lambda x, y: xp.clip(x, y, 2.0),
        xp.searchsorted,
        xp.result_type,
        lambda x, y: x.__iadd__(y),
        lambda x, y: x.__setitem__(0, y[0]),
        lambda x, y: x[xp.astype(y, xp.int64)],
    ],
)
def test_devices_are_not_mixed(ext, compute):
    """Mixed devices are refused in every function, in either order."""
    for x, y in ((on("cpu"), on(ext)), (on(ext), on("cpu"))):
        with pytest.raises(ix.MixedDevicesError, match="IX-XP-2") as caught:
            compute(x, y)

        assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("device", [(2, 0), (4, 0), (7, 1)])
@pytest.mark.parametrize(
    "compute",
    [lambda x, y: x + y, xp.add, lambda x, y: x.__iadd__(y), lambda x, y: x.__setitem__(0, y)],
)
def test_a_device_without_a_backend_is_another_device(device, compute):
    """An array of the host is not combined with it, since no library supports both."""
    there = ix.from_pointer(4096, (), "float64", device=device)

    with pytest.raises(ix.MixedDevicesError, match="IX-XP-2"):
        compute(on("cpu"), there)


def test_elements_move_there_and_back(ext):
    """The move goes through the host if no driver supports the device."""
    x = on("cpu").to_device(ext)

    assert x.device is ext
    assert x.to_device("cpu").tolist() == [1.0, 2.0, 3.0]


def test_a_move_is_a_copy(ext):
    """A later write is not visible on the other device."""
    x = on("cpu")
    y = x.to_device(ext)
    x[0] = 9.0

    assert y.to_device("cpu").tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize("call", [xp.asarray, xp.from_dlpack])
def test_functions_that_take_arrays_move_them(ext, call):
    """Functions with a parameter ``device`` move arrays to it."""
    assert call(on("cpu"), device=ext).device is ext


@pytest.mark.parametrize("call", [xp.asarray, xp.from_dlpack])
def test_no_copy_is_no_move(ext, call):
    """``copy=False`` is refused with an error of both classes that the standard asks for."""
    with pytest.raises(ix.CopyNeededError, match="DLP-COPY-1") as caught:
        call(on("cpu"), device=ext, copy=False)

    assert isinstance(caught.value, (BufferError, ValueError))


def test_astype_moves_before_it_casts(ext):
    """`astype` moves to its ``device``, as in the standard, before it casts."""
    found = xp.astype(on("cpu"), xp.float32, device=ext)

    assert (found.device, found.dtype) == (ext, xp.float32)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.copy(),
        lambda x: xp.asarray(x, copy=True),
        lambda x: xp.from_dlpack(x, copy=True),
        lambda x: xp.astype(x, x.dtype),
    ],
)
def test_a_copy_is_made_by_the_library(ext, call):
    """If no driver supports the device, its library makes the copy."""
    x = on(ext)
    y = call(x)
    x[0] = 9.0

    assert y.device is ext
    assert y.to_device("cpu").tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize("device", ["cpu:9", "cuda_host", "cuda_managed"])
def test_nothing_is_created_where_no_library_creates(device):
    """Other device types of host memory are no devices of this namespace."""
    with pytest.raises(ix.UnsupportedDeviceError, match=r"IX-XP-3"):
        xp.zeros(2, device=device)


def test_where_an_array_is_already_it_stays(ext):
    """`to_device` returns the same object."""
    x = on(ext)

    assert x.to_device(ext) is x


def test_a_device_in_use_is_listed(ext):
    """A device is listed after the host, once an array was computed there."""
    on(ext)

    assert xp.__array_namespace_info__().devices() == (ix.Device.of("cpu"), ext)


def test_defaults_are_asked_of_the_device(ext):
    """Default types are those of the device's library."""
    info = xp.__array_namespace_info__()

    assert info.default_dtypes(device=ext)["real floating"] is xp.float64
    assert set(info.dtypes(device=ext, kind="bool")) == {"bool"}


def test_memory_that_is_written_is_noted(ext):
    """A write is recorded, so that the next consumer waits for the library's stream."""
    x = on(ext)
    x[0] = 5.0
    x += 1.0

    assert backend_of_array(x).written == [x, x]


def test_views_share_memory_on_every_device(ext):
    """A basic index gives a view, with every backend."""
    x = on(ext)
    x[1:][0] = 7.0

    assert x.to_device("cpu").tolist() == [1.0, 7.0, 3.0]


@pytest.mark.parametrize("key", [[0], np.array([0]), [True, False]], ids=repr)
def test_an_index_of_the_host_writes_to_no_device(ext, key):
    """A host index for a device array is refused; the caller must move it first."""
    x = xp.asarray([1.0, 2.0], device=ext)

    with pytest.raises(ix.MixedDevicesError, match="IX-XP-2"):
        x[key] = 5.0
    assert x.tolist() == [1.0, 2.0]
