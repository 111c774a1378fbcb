"""`copy_into`: elements of targets with gaps, and the order of all work on both arrays."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import interchange as ix
from interchange._array.copy_into import copy_into

pytestmark = [pytest.mark.emulated, pytest.mark.usefixtures("machine")]

CUBE = np.arange(6 * 7 * 8, dtype=np.int32).reshape(6, 7, 8)
STEPS = {
    "whole": (),
    "columns": (..., slice(1, 4)),
    "a block": (slice(1, 5), slice(2, 6), slice(3, 7)),
    "reversed": (slice(None, None, -1),) * 3,
    "reversed, every second": (slice(None, None, -1), slice(None, None, 2), slice(None, None, -2)),
    "none": (slice(2, 2),),
}
PLACES = ["cpu", "cuda:0", "cuda:1", "cuda_host:0", "cuda_managed:0"]


def placed(machine, elements, place):
    """Return a writable Array with these elements on a device."""
    if place == "cuda_managed:0":
        ptr = machine.managed(max(elements.nbytes, 1))
        array = ix.from_pointer(ptr, elements.shape, "int32", device=place)
        np.from_dlpack(array.to_device("cpu"))[...] = elements
        return array
    return ix.asarray(elements.copy()).to_device(place)


@pytest.mark.parametrize("view", STEPS)
@pytest.mark.parametrize("is_dense", [True, False], ids=["dense source", "source with gaps"])
@pytest.mark.parametrize("there", PLACES)
@pytest.mark.parametrize("target", PLACES)
def test_the_elements_of_a_view_are_replaced_and_no_others(machine, target, there, is_dense, view):
    """The host and each driver write the elements of any view, and nothing between them."""
    steps, fresh = STEPS[view], -1 - CUBE
    whole = placed(machine, fresh, target)
    source = (
        placed(machine, CUBE[steps], there) if is_dense else placed(machine, CUBE, there)[steps]
    )

    copy_into(whole[steps], source, None, "copyto()")

    fresh[steps] = CUBE[steps]
    assert np.array_equal(np.asarray(whole.to_device("cpu")), fresh)


def test_a_target_that_needs_many_copies_is_written_without_a_plan():
    """A target of five separate axes is written, though its copies are more than a plan has."""
    shape = (5, 5, 5, 5, 5)
    elements = np.arange(5**5, dtype=np.int32).reshape(shape)
    whole = ix.asarray(np.zeros((10,) * 5, np.int32)).to_device("cuda:0")
    view = whole[(slice(None, None, 2),) * 5]

    copy_into(view, ix.asarray(elements[::-1]), None, "copyto()")

    found = np.asarray(whole.to_device("cpu"))
    assert np.array_equal(found[(slice(None, None, 2),) * 5], elements[::-1])
    assert np.count_nonzero(found) == np.count_nonzero(elements)


@pytest.mark.parametrize("named", [True, False], ids=["a stream", "no stream"])
def test_earlier_users_of_both_arrays_are_waited_for_and_wait(machine, emulator, named):
    """A copy follows the writes pending on both arrays, and later writes of both follow it."""
    size, streams = 4096, [machine.stream() for _ in range(3)]
    ptrs = [machine.memory(np.zeros(size, np.uint8)) for _ in range(2)]
    for ptr, stream, value in zip(ptrs, streams, (1, 2), strict=False):
        emulator.delay(stream, 0.02)
        emulator.fill(stream, ptr, size, value)
    source, target = (
        ix.from_pointer(ptr, (size,), "uint8", device="cuda:0", stream=stream)
        for ptr, stream in zip(ptrs, streams, strict=False)
    )
    if named:
        emulator.delay(streams[2], 0.02)

    copy_into(target[: size // 2], source[: size // 2], streams[2] if named else None, "copyto()")
    emulator.fill(streams[0], ptrs[0], size, 3)  # waits for the copy
    emulator.fill(streams[1], ptrs[1] + size - 1, 1, 4)

    found = np.asarray(target.to_device("cpu"))
    assert set(found[: size // 2]) == {1}
    assert set(found[size // 2 : -1]) == {2}


def test_a_source_is_kept_until_it_was_read_and_the_target_is_read_after_that(machine, emulator):
    """The source outlives a copy on a slow stream, which the next user of the target waits for."""
    size, stream = 4096, machine.stream()
    source = machine.owner(size, machine.stream())
    owner = weakref.ref(source)
    emulator.fill(source.stream, source.ptr, size, 7)
    array = ix.from_pointer(
        source.ptr, (size,), "uint8", device="cuda:0", stream=source.stream, owner=source
    )
    target = ix.from_pointer(
        machine.memory(np.zeros(size, np.uint8)), (size,), "uint8", device="cuda:0", stream=-1
    )
    emulator.delay(stream, 0.05)

    copy_into(target, array, stream, "copyto()")
    del array, source

    assert owner() is not None
    assert set(np.asarray(target.to_device("cpu"))) == {7}
    gc.collect()
    assert owner() is None
