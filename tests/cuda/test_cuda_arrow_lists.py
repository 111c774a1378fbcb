"""Lists of Arrow on a device: offsets are copied to the host to be checked, and shared there."""

from __future__ import annotations

import ctypes
import struct

import pytest

import interchange as ix
from interchange_conformance.zoo.arrow import Chunk, DeviceArraySource, Field, Place

pytestmark = [pytest.mark.emulated, pytest.mark.gpu]

CUDA = 2


class Column:
    """A column of lists of int32 on a device, which a held stream writes.

    `ptr`: addresses of the values and of the offsets.
    """

    def __init__(self, cuda, event_of, offsets, *, count=6, **said):
        self.stream = cuda.stream()
        blocks = [
            struct.pack(f"={count}i", *range(count)),
            struct.pack(f"={len(offsets)}i", *offsets),
        ]
        self.ptr = [cuda.memory() for _ in blocks]
        self.kept = []
        for ptr, block in zip(self.ptr, blocks, strict=True):
            pinned = cuda.pinned()
            ctypes.memmove(pinned, block, len(block))
            cuda.copy(ptr, pinned, self.stream, len(block))
        self.event = event_of(self.stream)
        child = Chunk(length=count, buffers=(None, self.ptr[0]))
        top = Chunk(length=len(offsets) - 1, buffers=(None, self.ptr[1]), children=(child,))
        field = Field("+l", children=(Field("i", "item"),))
        place = Place(CUDA, 0, self.event.address)
        self.source = DeviceArraySource(field, (top,), place=place)
        if said:
            self.source = self.source.but(chunk=said)


def on_host(array):
    """Return the elements of an Array on a device."""
    return array.to_device("cpu").tolist()


def test_lists_of_one_length_are_axes_on_the_device(cuda, record_event):
    """The offsets are read after the event; the values are not copied."""
    column = Column(cuda, record_event, [0, 2, 4, 6], offset=1, length=2)
    array = ix.from_arrow(column.source)

    assert (array.shape, array.ptr, array.device) == ((2, 2), column.ptr[0] + 8, "cuda:0")
    assert on_host(array) == [[2, 3], [4, 5]]


def test_values_and_offsets_are_shared_on_the_device(cuda, record_event):
    """Both stay on the device, and wait for the event of the column."""
    column = Column(cuda, record_event, [0, 2, 2, 5], offset=1, length=2)
    values, offsets = ix.from_arrow(column.source, ragged=True)

    assert (values.ptr, offsets.ptr) == (column.ptr[0], column.ptr[1] + 4)
    assert (values.device, offsets.device) == ("cuda:0", "cuda:0")
    assert (on_host(values), on_host(offsets)) == (list(range(5)), [2, 2, 5])


@pytest.mark.parametrize("keywords", [{"copy": True}, {"device": "cpu"}])
def test_lists_of_a_device_are_copied_and_moved(cuda, record_event, keywords):
    """A copy begins with the first list in use; a move keeps the offsets."""
    column = Column(cuda, record_event, [0, 2, 2, 5], offset=1, length=2)
    values, offsets = ix.from_arrow(column.source, ragged=True, **keywords)
    is_copy = "copy" in keywords

    assert {str(values.device), str(offsets.device)} == {"cuda:0" if is_copy else "cpu"}
    assert on_host(offsets) == ([0, 0, 3] if is_copy else [2, 2, 5])
    assert on_host(values) == ([2, 3, 4] if is_copy else [0, 1, 2, 3, 4])


@pytest.mark.parametrize(
    ("offsets", "rule"),
    [([0, 3, 2], "ARROW-OFFSET-2"), ([0, 5, 7], "ARROW-LENGTH-2"), ([-1, 2], "ARROW-OFFSET-1")],
)
@pytest.mark.parametrize("ragged", [False, True])
def test_invalid_offsets_of_a_device_are_refused(cuda, record_event, offsets, rule, ragged):
    """The copy of the offsets is checked, and the column is released."""
    column = Column(cuda, record_event, offsets, count=4)
    with pytest.raises(ix.InterchangeError) as caught:
        ix.from_arrow(column.source, ragged=ragged)
    is_uneven = not ragged and rule == "ARROW-LENGTH-2"

    assert caught.value.rule == ("ARROW-TYPE-1" if is_uneven else rule)
    assert column.source.counts == column.source.due
