"""Memory described and computed with: writes are visible and read-only is kept in every alias."""

from __future__ import annotations

import numpy as np
import pytest

import interchange as ix
from interchange import xp

LIBRARIES = ["numpy", "torch", "jax"]

pytestmark = [pytest.mark.interop, pytest.mark.filterwarnings("default")]


@pytest.fixture(params=LIBRARIES)
def library(request, computing_with):
    """Each library in turn as the backend of the host."""
    computing_with(request.param)
    return request.param


@pytest.fixture
def mutable(library):
    """Each library whose arrays can be written."""
    if library == "jax":
        pytest.skip("arrays of JAX are never written")
    return library


def misaligned(count):
    """Return an ndarray that begins 4 bytes after a multiple of 64."""
    block = np.zeros(4 * count + 128, np.uint8)
    start = -block.ctypes.data % 64 + 4
    return block[start : start + 4 * count].view(np.float32)


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize("make", [lambda n: np.zeros(n, np.float32), misaligned])
def test_what_the_owner_writes_is_computed_with(make):
    """A write by the owner is used in later computations, for any alignment."""
    memory = make(3)
    x = ix.from_dlpack(memory)
    x + 1
    memory[:] = 5

    assert (x + 1).tolist() == [6.0, 6.0, 6.0]


@pytest.mark.usefixtures("mutable")
def test_what_is_written_is_seen_by_the_owner():
    """The owner sees writes of every kind."""
    memory = np.zeros(4, np.float32)
    x = ix.from_dlpack(memory)
    x[0] = 1
    x += 1
    x[xp.asarray([1])] = 5
    x[1:][1] = 7

    assert memory.tolist() == [2.0, 5.0, 7.0, 1.0]


SHARING = {
    "all over no axis": lambda x: xp.all(x, axis=()),
    "any over no axis": lambda x: xp.any(x, axis=()),
    "an index of no axes": lambda x: x[xp.asarray(0)],
    "a slice": lambda x: x[1:],
    "reshape": lambda x: xp.reshape(x, (3, 1)),
    "broadcast": lambda x: xp.broadcast_to(x, (2, 3)),
    "unstack": lambda x: xp.unstack(x)[0],
    "flip": xp.flip,
    "positive": lambda x: xp.positive(xp.astype(x, xp.int8, copy=False)),
    "diff of order 0": lambda x: xp.diff(xp.astype(x, xp.int8), n=0),
}


@pytest.mark.usefixtures("mutable")
@pytest.mark.parametrize("way", SHARING)
def test_read_only_memory_is_not_written_through_a_result(way):
    """The result is read-only, or it is a copy."""
    memory = np.array([True, False, True])
    memory.flags.writeable = False
    result = SHARING[way](ix.from_dlpack(memory))
    if result.readonly is False:
        result[...] = result.dtype.kind == "b" or 1

    assert memory.tolist() == [True, False, True]


@pytest.mark.usefixtures("mutable")
@pytest.mark.parametrize(
    ("values", "other"),
    [([1, 2], 1.5), ([1, 2], 1j), ([1.0, 2.0], 1j), ([1, 2], [0.5, 1.5]), ([1], [1, 2])],
)
def test_in_place_nothing_is_cut_off(values, other):
    """An operand for which the result would not fit is refused, and nothing is written."""
    x = xp.asarray(values)

    with pytest.raises((TypeError, ValueError)):
        x += xp.asarray(other) if isinstance(other, list) else other
    assert x.tolist() == values


@pytest.mark.usefixtures("mutable")
def test_division_in_place_does_not_round():
    """Integers have no quotient of their own type."""
    x = xp.asarray([1, 2, 3])

    with pytest.raises(TypeError):
        x /= 2


def test_results_say_at_once_whether_they_may_be_written(library):
    """Whether a result is read-only is known at once, and is unchanged by a memory description."""
    x = xp.ones(3)
    before = x.readonly
    x.ptr  # noqa: B018

    assert before is x.readonly is (library == "jax")


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize("other", ["a", None, [1]])
def test_what_is_no_number_is_in_no_array(other):
    """A value that is no number is not contained in an array, as in Python's containers."""
    assert other not in xp.asarray([1.0, 2.0])


@pytest.mark.usefixtures("mutable")
@pytest.mark.parametrize(
    "spread",
    [
        lambda x: xp.broadcast_to(x, (3, 2)),
        lambda x: xp.broadcast_arrays(x, xp.ones((3, 2)))[0],
        lambda x: xp.meshgrid(x, xp.ones(3))[0],
    ],
)
def test_elements_that_share_memory_are_not_written(spread):
    """A broadcast result whose elements share memory is read-only, or has its own memory."""
    x = xp.asarray([1.0, 2.0])
    found = spread(x)
    before = found.tolist()
    if found.readonly is False:
        found[0, 0] = 9.0
        before[0][0] = 9.0

    assert found.tolist() == before


@pytest.mark.usefixtures("mutable")
@pytest.mark.parametrize(
    ("shape", "wanted"), [((3,), (3,)), ((3,), (1, 3)), ((2, 1), (1, 2, 1)), ((1, 0), (4, 0))]
)
@pytest.mark.parametrize("readonly", [False, True])
def test_a_spread_array_that_repeats_nothing_is_written_as_its_source_is(shape, wanted, readonly):
    """A broadcast without repeated elements is as writable as `Array.broadcast_to` makes it."""
    memory = np.zeros(shape)
    memory.flags.writeable = not readonly
    x = ix.from_dlpack(memory)
    for found in (xp.broadcast_to(x, wanted), xp.broadcast_arrays(x, xp.ones(wanted))[0]):
        assert (found.shape, found.readonly) == (wanted, x.broadcast_to(wanted).readonly)
        assert found.readonly is readonly
        if not readonly:
            found[...] = found[...] + 1.0

    assert memory.tolist() == np.full(shape, 0.0 if readonly else 2.0).tolist()


@pytest.mark.usefixtures("mutable")
def test_an_assignment_reads_before_it_writes():
    """An overlapping assignment reads all elements before it writes."""
    x = xp.arange(5)
    x[1:] = x[:-1]

    assert x.tolist() == [0, 0, 1, 2, 3]


@pytest.mark.usefixtures("library")
def test_arrays_within_sequences_are_elements():
    """Arrays without axes, among numbers."""
    assert xp.asarray([xp.asarray(1.0), 2.0]).tolist() == [1.0, 2.0]


FRESHLY = {
    "all over no axis": lambda x: xp.all(x, axis=()),
    "any over no axis": lambda x: xp.any(x, axis=()),
    "ceil": lambda x: xp.ceil(xp.astype(x, xp.int8, copy=False)),
    "round": lambda x: xp.round(xp.astype(x, xp.int8, copy=False)),
    "positive": lambda x: xp.positive(xp.astype(x, xp.int8, copy=False)),
    "plus": lambda x: +xp.astype(x, xp.int8, copy=False),
    "diff of order 0": lambda x: xp.diff(xp.astype(x, xp.int8, copy=False), n=0),
    "a reshaped copy": lambda x: xp.reshape(x, (3, 1), copy=True),
    "a mask": lambda x: x[x],
}


@pytest.mark.usefixtures("mutable")
@pytest.mark.parametrize("way", FRESHLY)
@pytest.mark.parametrize("readonly", [False, True])
@pytest.mark.parametrize("dtype", [np.bool_, np.int8])
def test_a_fresh_result_is_written_alone(way, readonly, dtype):
    """A fresh result is writable, whatever its source is, and shares no memory."""
    if dtype is np.int8 and ("axis" in way or way == "a mask"):
        pytest.skip("truth is asked of truths")
    memory = np.array([1, 0, 1], dtype)
    memory.flags.writeable = not readonly
    result = FRESHLY[way](ix.from_dlpack(memory))
    result[...] = result.dtype.kind == "b" or 1

    assert memory.tolist() == np.array([1, 0, 1], dtype).tolist()
