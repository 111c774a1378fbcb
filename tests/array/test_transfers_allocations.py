"""Blocks: memory of a driver, freed once, by the process that allocated it."""

from __future__ import annotations

import os
import weakref

import pytest

import interchange as ix
from interchange._array import allocations

CALL = "test"


class Heap:
    """A stand-in for a driver that returns one address and records its calls."""

    def __init__(self):
        self.calls = []

    def allocate(self, nbytes, ordinal, call):
        self.calls.append(("allocate", nbytes, ordinal, call))
        return 64

    def allocate_pinned(self, nbytes, ordinal, call):
        raise ix.ExchangeError(call, f"{nbytes} bytes by device {ordinal}", "IX-DRIVER-2")

    def free(self, ptr, ordinal, pinned):
        self.calls.append(("free", ptr, ordinal, pinned))


@pytest.fixture
def heap():
    """Return a stand-in for a driver."""
    return Heap()


def test_a_block_is_given_back_when_it_dies(heap):
    """A block is freed when it is collected."""
    block = allocations.allocate(heap, 8, 1, CALL)

    assert block.ptr == 64
    del block
    assert heap.calls == [("allocate", 8, 1, CALL), ("free", 64, 1, False)]


def test_a_block_is_given_back_once(heap):
    """A block that was freed explicitly is not freed again."""
    block = allocations.allocate(heap, 8, 0, CALL)

    block.release()
    block.release()
    del block

    assert heap.calls[1:] == [("free", 64, 0, False)]


def test_what_was_not_allocated_is_not_given_back(heap):
    """An error of the driver is raised, and nothing is freed."""
    with pytest.raises(ix.ExchangeError, match="8 bytes by device 1"):
        allocations.allocate_pinned(heap, 8, 1, CALL)

    assert heap.calls == []


def test_another_process_does_not_give_a_block_back(heap):
    """A forked child has a copy of the object, and not the memory."""
    block = allocations.allocate(heap, 8, 0, CALL)
    block._process = os.getpid() + 1

    del block

    assert heap.calls[1:] == []


def test_a_driver_that_fails_at_exit_says_nothing(heap, monkeypatch):
    """A driver that fails at exit prints nothing: its module may be gone before the last block."""
    monkeypatch.setattr(Heap, "free", None)
    block = allocations.allocate(heap, 8, 0, CALL)

    del block

    assert len(heap.calls) == 1


def test_a_copy_lets_its_source_go_last(heap):
    """Freeing the block waits for the copy made from the source."""

    class Source:
        def __del__(self):
            heap.calls.append("source")

    copy = allocations.CopyInProgress(allocations.allocate(heap, 8, 0, CALL), Source())

    del copy

    assert heap.calls[1:] == [("free", 64, 0, False), "source"]


def test_a_copy_that_is_done_lets_its_source_go(heap):
    """The block stays."""

    class Source:
        pass

    source = Source()
    gone = weakref.ref(source)
    copy = allocations.CopyInProgress(allocations.allocate(heap, 8, 0, CALL), source)
    del source

    copy.on_done()

    assert gone() is None
    assert allocations.allocation_of(copy).ptr == 64


@pytest.mark.parametrize("keep", [None, object(), b"bytes"])
def test_what_is_not_ours_has_no_block(keep):
    """Memory of other libraries is not freed by us."""
    assert allocations.allocation_of(keep) is None
