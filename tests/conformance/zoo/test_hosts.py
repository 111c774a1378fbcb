"""Host memory by buffers and records has the requested fields."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from interchange_conformance.zoo.hosts import Interfaced, kept, view

FLOATS = struct.pack("=6f", *range(6))


def test_a_view_has_the_given_fields():
    """All fields are as given."""
    found = view(kept(FLOATS), (3, 2), (4, 12), "f", 4, readonly=True)

    assert (found.shape, found.strides, found.format, found.itemsize, found.readonly) == (
        (3, 2), (4, 12), "f", 4, True
    )  # fmt: skip
    assert found.tolist() == [[0, 3], [1, 4], [2, 5]]


def test_a_view_may_have_rows_that_lie_apart():
    """Python follows the pointers of suboffsets."""
    rows = [kept(FLOATS[:12]), kept(FLOATS[12:])]
    pointers = kept(struct.pack("2P", *rows))

    found = view(pointers, (2, 3), (8, 4), "f", 4, suboffsets=(0, -1))

    assert found.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_a_view_may_have_a_format_that_python_does_not_know():
    """Other libraries know such formats."""
    found = view(kept(FLOATS), (3,), (8,), "Zf", 8)

    assert np.asarray(found).tolist() == [1j, 2 + 3j, 4 + 5j]


def test_memory_that_is_kept_stays():
    """Later allocations do not overwrite it."""
    address = kept(FLOATS)
    others = [kept(bytes(range(24))) for _ in range(100)]

    assert len({address, *others}) == 101
    assert view(address, (24,), (1,), "B", 1).tobytes() == FLOATS


def test_a_record_is_fresh_each_time():
    """A consumer cannot change the record of other consumers."""
    x = Interfaced(shape=(1,), version=3)
    x.__array_interface__["shape"] = (2,)

    assert x.__array_interface__ == {"shape": (1,), "version": 3}
    assert x.read == 2


def test_a_record_has_no_other_protocol():
    """Consumers can only use the record."""
    x = Interfaced(shape=(6,), typestr="<f4", data=(kept(FLOATS), False), version=3)

    assert not hasattr(x, "__dlpack__")
    assert np.asarray(x).tolist() == [0, 1, 2, 3, 4, 5]
    with pytest.raises(TypeError):
        memoryview(x)
