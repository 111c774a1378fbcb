"""Moves between devices, the driver that makes them, and moves refused before any call."""

from __future__ import annotations

import numpy as np
import pytest

import interchange as ix
from interchange._array import device_copies
from interchange._streams.driver import driver_of, drivers

SIZE = 64

ROUTES = {
    ("cpu", "cuda:0"): "move_by_driver",
    ("cpu", "rocm:1"): "move_by_driver",
    ("cpu:1", "cuda:0"): "move_by_driver",
    ("cuda_host:0", "cuda:1"): "move_by_driver",
    ("cuda_managed:0", "cuda:1"): "move_by_driver",
    ("cuda_host:0", "rocm:0"): "move_by_driver",
    ("cuda:0", "cuda:1"): "move_between",
    ("rocm:1", "rocm:0"): "move_between",
    ("cuda:1", "cpu"): "move_by_driver",
    ("rocm:0", "cpu"): "move_by_driver",
    ("cuda:0", "cuda_host:0"): "move_by_driver",
    ("rocm:0", "rocm_host:0"): "move_by_driver",
    ("cpu", "cuda_host:0"): "copy_to_host_kind",
    ("cuda_managed:0", "cuda_host:0"): "copy_to_host_kind",
    ("rocm_host:0", "cuda_host:0"): "copy_to_host_kind",
}
REFUSED = [
    ("cuda:0", "rocm:0"),
    ("cuda:0", "rocm_host:0"),
    ("cuda:0", "cuda_managed:0"),
    ("cpu", "cuda_managed:0"),
    ("cpu", "cpu:1"),
    ("cpu", "metal:0"),
    ("opencl:0", "cpu"),
    ("vulkan:0", "cuda:0"),
    ("oneapi:0", "cuda_host:0"),
]


def described(device, ptr=0xDEAD000, dtype="uint8"):
    """Return an Array over memory that must not be accessed."""
    return ix.from_pointer(ptr, (SIZE,), dtype, device=device)


def caught(error, function, *arguments, **keywords):
    """Return the error of a call, which has exactly that class."""
    with pytest.raises(error) as found:
        function(*arguments, **keywords)
    assert type(found.value) is error
    return found.value


@pytest.mark.parametrize(("there", "target"), ROUTES)
def test_each_pair_of_devices_has_its_way(there, target):
    """Each pair of devices is copied by one function."""
    move = device_copies.find_move(ix.Device.of(there), ix.Device.of(target))

    assert move.__name__ == ROUTES[there, target]


@pytest.mark.parametrize(("there", "target"), [*ROUTES, *REFUSED])
def test_a_move_that_needs_a_copy_is_refused_without_one(there, target):
    """``copy=False`` is one error between all devices, which names both, without a driver."""
    array, device = described(there), ix.Device.of(target)
    number = device.__dlpack_device__()
    errors = [caught(ix.CopyNeededError, ix.from_dlpack, array, device=target, copy=False)]
    if (there, target) in ROUTES:
        errors += [caught(ix.CopyNeededError, array.__dlpack__, dl_device=number, copy=False)]

    for error in errors:
        assert (error.rule, error.what) == ("DLP-COPY-1", f"moving from {array.device} to {device}")


@pytest.mark.parametrize("copy", [None, True])
@pytest.mark.parametrize(("there", "target"), REFUSED)
def test_other_moves_are_refused(there, target, copy):
    """Other moves are refused with source and target; the device's owner can move memory."""
    array = described(there)

    error = caught(ix.UnsupportedDeviceError, ix.from_dlpack, array, device=target, copy=copy)

    assert error.rule == "DLP-DEV-6"
    assert error.what == f"moving from {there} to {target}"
    fix = "'cpu', which is the whole host" if target == "cpu:1" else "library that owns the device"
    assert fix in error.hint


@pytest.mark.parametrize(
    ("there", "target", "stream", "rule"),
    [
        *((there, target, "7", "DLP-STREAM-4") for there, target in REFUSED),
        *(("rocm:0", "cpu", stream, "DLP-STREAM-3") for stream in (1, -1)),
        *(("cpu", "rocm:0", stream, "DLP-STREAM-3") for stream in (2, -1)),
        *(("cpu", "cuda:0", stream, "DLP-STREAM-2") for stream in (0, -1)),
        ("cuda:0", "cuda_host:0", -1, "DLP-STREAM-2"),
        ("cuda_managed:0", "cpu", 0, "DLP-STREAM-2"),
    ],
)
def test_an_invalid_stream_is_refused_first(monkeypatch, there, target, stream, rule):
    """By the device's own rules, for any devices, without calling a driver."""
    monkeypatch.setattr(device_copies, "driver_of", None)

    error = caught(ix.StreamError, described(there).to_device, target, stream=stream)

    assert error.rule == rule


@pytest.mark.parametrize(
    ("there", "target"),
    [
        *(pair for pair in ROUTES if "cuda" in "".join(pair)),
        *(("cuda:0", None), ("rocm:0", None)),
    ],
)
@pytest.mark.parametrize("shape", [(0,), (3, 0, 2)])
def test_no_elements_are_moved_or_copied_without_a_driver(monkeypatch, there, target, shape):
    """An array without elements has no memory anywhere."""
    monkeypatch.setattr(device_copies, "driver_of", None)
    array = ix.from_pointer(0, shape, "float32", device=there)

    found = array.to_device(target) if target else array.copy(order="F")

    assert (found.shape, found.ptr, str(found.device)) == (shape, 0, target or there)


# ---------------------------------------------------------------- ROCm, by a stand-in driver


@pytest.fixture
def rocm(machine, monkeypatch):
    """Use the CUDA driver as a stand-in for the ROCm driver, whose default stream is 0."""
    found = driver_of(ix.Device(2), "test")
    monkeypatch.setitem(drivers, "hip", found)
    return machine


@pytest.mark.emulated
@pytest.mark.usefixtures("rocm")
def test_memory_goes_to_rocm_and_back():
    """The same copies, on ROCm's default stream and with its names."""
    elements = np.arange(60, dtype=np.int16).reshape(3, 4, 5)

    there = ix.asarray(elements).to_device("rocm")
    copied = there[:, ::2].copy()
    locked = copied.to_device("rocm_host")
    here = copied.to_device("cpu")

    assert [str(array.device) for array in (there, copied, locked, here)] == [
        "rocm:0",
        "rocm:0",
        "rocm_host:0",
        "cpu",
    ]
    assert (there._pending_work.stream, copied._pending_work.stream) == (0, 0)
    assert np.array_equal(np.asarray(here), elements[:, ::2])
    assert np.array_equal(np.asarray(locked), elements[:, ::2])


@pytest.mark.emulated
@pytest.mark.parametrize("kind", ["cuda_host:0", "cuda_managed:0"])
def test_memory_of_another_vendor_goes_by_the_host(rocm, emulator, kind):
    """Memory of another vendor goes through the host, which waits for its streams first."""
    ptr = rocm.managed(SIZE) if kind == "cuda_managed:0" else rocm.pinned(SIZE)
    stream = rocm.stream()
    emulator.delay(stream, 0.02)
    emulator.fill(stream, ptr, SIZE, 7)
    array = described(kind, ptr)
    array._pending_work = ix.from_pointer(
        ptr, (SIZE,), "uint8", device="cuda", stream=stream
    )._pending_work

    with emulator.trace() as trace:
        moved = array.to_device("rocm:0")

    assert "cuStreamWaitEvent" not in trace.names
    assert rocm.read(moved.ptr, SIZE) == bytes([7]) * SIZE
