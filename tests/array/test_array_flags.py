"""`Array.flags`: NumPy's flags, under NumPy's names, computed when they are read."""

from __future__ import annotations

import numpy as np
import pytest

import interchange as ix

BLOCK = np.arange(24.0).reshape(2, 3, 4)
NAMES = ["c_contiguous", "f_contiguous", "writeable", "aligned"]
ITEMS = [
    *("C_CONTIGUOUS", "C", "CONTIGUOUS", "F_CONTIGUOUS", "F", "FORTRAN"),
    *("WRITEABLE", "W", "ALIGNED", "A"),
]
FROZEN = BLOCK.copy()
FROZEN.flags.writeable = False
UNALIGNED = np.frombuffer(bytearray(33), "u1")[1:].view("f8")


@pytest.mark.parametrize(
    "x",
    [
        *(BLOCK, BLOCK.T, BLOCK[::-1], BLOCK[:, 1:2], BLOCK[:0], BLOCK[0, 0], BLOCK[:1, :1, :1]),
        *(np.array(1.0), np.zeros((1, 3)).T, FROZEN, UNALIGNED, np.zeros(2, "c16")),
        np.broadcast_to(np.zeros(1), (3, 1)),
    ],
)
def test_the_flags_are_those_of_numpy(x):
    """Attributes and items equal those of the ndarray whose memory it is."""
    flags = ix.asarray(x).flags

    assert {name: getattr(flags, name) for name in NAMES} == {
        name: getattr(x.flags, name) for name in NAMES
    }
    assert {name: flags[name] for name in ITEMS} == {name: x.flags[name] for name in ITEMS}
    assert repr(flags).splitlines()[0] == f"  C_CONTIGUOUS : {x.flags.c_contiguous}"


def test_memory_belongs_to_its_owner():
    """`owndata` is False for every Array, also one whose memory was made for it."""
    flags = ix.asarray(b"abc", copy=True).flags

    assert (flags.owndata, flags["OWNDATA"], flags["O"]) == (False, False, False)


def test_memory_that_is_not_known_to_be_writable_is_not_writeable():
    """A legacy capsule cannot say; `__array_interface__` has the same answer."""
    x = ix.from_dlpack(ix.to_capsule(bytearray(8), max_version=None))

    assert x.readonly is None
    assert x.flags.writeable is not x.__array_interface__["data"][1]
    assert x.flags.writeable is False


def test_flags_of_device_memory_read_no_memory():
    """The flags are computed from the description."""
    flags = ix.from_pointer(4100, (2, 3), "float64", strides=(1, 2), device="cuda:0").flags

    assert [getattr(flags, name) for name in NAMES] == [False, True, True, False]


def test_flags_cannot_be_set():
    """Nor can the attribute itself: they describe memory of another library."""
    x = ix.asarray(bytearray(3))

    with pytest.raises(AttributeError):
        x.flags.writeable = False
    with pytest.raises(AttributeError):
        x.flags = None


@pytest.mark.parametrize("name", ["c_contiguous", "Q", 0])
def test_an_unknown_item_is_a_key_error(name):
    """As it is of NumPy; the error lists the names."""
    with pytest.raises(KeyError, match="'C_CONTIGUOUS', 'F_CONTIGUOUS', 'WRITEABLE'"):
        ix.asarray(b"abc").flags[name]
