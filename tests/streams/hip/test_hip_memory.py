"""ROCm, memory: attributes of addresses, allocations, copies, devices and errors."""

from __future__ import annotations

import ctypes
from ctypes import byref, c_size_t, c_void_p

import pytest

import interchange as ix
from interchange._streams.device_driver import PitchedCopy, PointerAttributes
from interchange.abi import DLDeviceType

pytestmark = pytest.mark.emulated

CALL = "f()"
SIZE = 256  # [bytes], of an allocation
ON_DEVICE, ON_HOST = DLDeviceType.kDLROCM, DLDeviceType.kDLROCMHost

# ---------------------------------------------------------------- memory


@pytest.mark.parametrize(("pinned", "kind"), [(False, ON_DEVICE), (True, ON_HOST)])
@pytest.mark.parametrize("ordinal", [0, 1])
def test_an_address_has_a_place(rocm_of_each_version, pinned, kind, ordinal):
    """Type, device and allocation are found from an address inside, for each runtime version."""
    rocm = rocm_of_each_version
    start = rocm.memory(ordinal, pinned=pinned)

    found = rocm.driver.pointer_attributes(start + 100, CALL)

    assert found == PointerAttributes(kind, ordinal, start, start + SIZE)


def test_managed_memory_counts_as_the_devices(rocm_of_each_version):
    """DLPack has no type for managed memory on ROCm."""
    rocm, found = rocm_of_each_version, c_void_p()
    rocm.do("hipMallocManaged", byref(found), c_size_t(SIZE), 1)
    place = rocm.driver.pointer_attributes(found.value, CALL)
    rocm.do("hipFree", found)

    assert place == PointerAttributes(ON_DEVICE, 0, found.value, found.value + SIZE)


def test_registered_memory_has_a_place(rocm_of_each_version):
    """The runtime reports the start of registered host memory differently."""
    rocm, buffer = rocm_of_each_version, ctypes.create_string_buffer(3 * 4096)
    start = -(-ctypes.addressof(buffer) // 4096) * 4096
    rocm.do("hipHostRegister", c_void_p(start), c_size_t(SIZE), 0)
    place = rocm.driver.pointer_attributes(start + 8, CALL)
    rocm.do("hipHostUnregister", c_void_p(start))

    assert place == PointerAttributes(ON_HOST, 0, start, start + SIZE)


def test_an_unknown_address_has_none(rocm_of_each_version):
    """The runtime keeps no error that another library could take for its own."""
    rocm, mine = rocm_of_each_version, ctypes.create_string_buffer(8)

    assert rocm.driver.pointer_attributes(ctypes.addressof(mine), CALL) is None
    assert rocm.last_error() == 0


@pytest.mark.parametrize("pinned", [False, True])
@pytest.mark.parametrize("ordinal", [0, 1])
def test_memory_comes_and_goes(rocm, pinned, ordinal):
    """Memory is allocated on its device, whichever device is current."""
    before = rocm.emulator.live()
    make = rocm.driver.allocate_pinned if pinned else rocm.driver.allocate
    memory = make(SIZE, ordinal, CALL)
    place = rocm.driver.pointer_attributes(memory, CALL)
    rocm.driver.free(memory, ordinal, pinned)

    assert (place.type, place.ordinal) == (ON_HOST if pinned else ON_DEVICE, ordinal)
    assert rocm.emulator.live() == before


@pytest.mark.parametrize(("address", "ordinal"), [(64, 0), (0, 99)])
def test_nothing_is_raised_when_memory_is_freed(rocm, address, ordinal):
    """A finalizer cannot raise; the runtime keeps no error either."""
    rocm.driver.free(address, ordinal, False)  # noqa: FBT003 - as it is called

    assert rocm.last_error() == 0


def test_the_device_reaches_pinned_memory(rocm):
    """The runtime knows the device's address of pinned memory."""
    memory = rocm.memory(pinned=True)

    assert rocm.driver.device_pointer(memory, CALL) == memory


def test_bytes_are_copied_from_host_to_device_and_back(rocm):
    """Bytes are copied between addresses of every kind."""
    text, stream = ctypes.create_string_buffer(bytes(range(SIZE)), SIZE), rocm.stream()
    memory, back = rocm.memory(), rocm.memory(pinned=True)
    rocm.driver.copy(memory, ctypes.addressof(text), SIZE, stream, 0, CALL)
    rocm.driver.copy(back, memory, SIZE, stream, 0, CALL)
    rocm.driver.synchronize(stream, 0, CALL)

    assert rocm.emulator.read(back, SIZE) == bytes(range(SIZE))


@pytest.mark.parametrize("depth", [1, 2])
def test_rows_and_slices_are_copied(rocm, depth):
    """Separate rows on one side are contiguous on the other."""
    text, stream = ctypes.create_string_buffer(bytes(range(SIZE)), SIZE), rocm.stream()
    memory, back = rocm.memory(), rocm.memory(pinned=True)
    width, height, pitch, rows = 3, 4, 10, 6
    copy = PitchedCopy(width, height, depth, (back, width, height), (memory, pitch, rows))
    rocm.driver.copy(memory, ctypes.addressof(text), SIZE, stream, 0, CALL)
    rocm.driver.copy_pitched(copy, stream, 0, CALL)
    rocm.driver.synchronize(stream, 0, CALL)

    assert list(rocm.emulator.read(back, width * height * depth)) == [
        k * pitch * rows + j * pitch + i
        for k in range(depth)
        for j in range(height)
        for i in range(width)
    ]


@pytest.mark.parametrize(("depth", "name"), [(1, "hipMemcpy2DAsync"), (2, "hipMemcpy3DAsync")])
def test_a_copy_that_does_not_fit_is_told(rocm, depth, name):
    """The error names the function that refused: rows do not need the function for slices."""
    start, stream = rocm.memory(), rocm.stream()
    copy = PitchedCopy(8, SIZE, depth, (start, 8, SIZE), (start, 8, SIZE))
    with pytest.raises(ix.ExchangeError) as caught, rocm.emulator.trace() as trace:
        rocm.driver.copy_pitched(copy, stream, 0, CALL)

    assert caught.value.what == f"{name} failed with hipErrorInvalidValue"
    assert name.replace("hip", "cu") in {called.removesuffix("_v2") for called in trace.names}


# ---------------------------------------------------------------- devices and errors


def test_devices_are_counted(rocm):
    """The count is that of the runtime."""
    assert (rocm.driver.count_devices(CALL), rocm.driver.current_device(CALL)) == (2, 0)


def test_a_device_is_current_for_a_while(rocm):
    """The previous device is restored, also if the body raises."""

    def ask(divisor):
        with rocm.driver.on_device(1, CALL):
            return rocm.driver.current_device(CALL) / divisor

    with pytest.raises(ZeroDivisionError):
        ask(0)

    assert (ask(1), rocm.driver.current_device(CALL)) == (1, 0)


def test_an_error_is_told_by_its_name(rocm):
    """The error has its name and the function that failed, and the runtime's error is cleared."""
    with pytest.raises(ix.ExchangeError) as caught:
        rocm.driver.allocate(SIZE, 99, CALL)

    failed = "hipSetDevice(99) failed with hipErrorInvalidDevice"
    assert caught.value.what == f"there is no device 99 ({failed})"
    assert (caught.value.rule, rocm.last_error()) == ("IX-DRIVER-2", 0)
