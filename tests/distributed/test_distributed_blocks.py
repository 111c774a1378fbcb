"""Dask arrays of Arrays: which operations keep Arrays, and that all results are right."""

from __future__ import annotations

import numpy as np
import pytest

import interchange as ix

pytestmark = pytest.mark.interop

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")

NUMBERS = np.arange(24.0).reshape(4, 6)


@pytest.fixture(autouse=True)
def _here():
    """Let this thread compute."""
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture
def blocks():
    """Return a dask array of four blocks, and the blocks are Arrays."""
    return da.from_array(ix.asarray(NUMBERS), chunks=(2, 3), asarray=False)


def doubled(block):
    """Compute on a block in its own namespace."""
    xp = block.__array_namespace__()
    return xp.add(block, block)


def through_numpy(block):
    """Compute on a block with another library, and return an Array."""
    return ix.from_dlpack(np.from_dlpack(block) + 1)


STAYS = {
    "nothing": (lambda x: x, lambda x: x),
    "a function of xp": (lambda x: x.map_blocks(doubled), lambda x: 2 * x),
    "a function and its dtype": (
        lambda x: x.map_blocks(doubled, dtype=np.float64),
        lambda x: 2 * x,
    ),
    "a dtype that differs": (
        lambda x: x.map_blocks(
            lambda b: b.__array_namespace__().astype(b, ix.DType.of("int32")), dtype="int32"
        ),
        lambda x: x.astype("int32"),
    ),
    "another library": (lambda x: x.map_blocks(through_numpy), lambda x: x + 1),
    "reversal": (lambda x: x.map_blocks(lambda block: block[::-1]), None),
    "an operator": (lambda x: x + 1, lambda x: x + 1),
    "two operands": (lambda x: x * x, lambda x: x * x),
    "a comparison": (lambda x: x > 3, lambda x: x > 3),
    "concatenation": (lambda x: da.concatenate([x, x]), lambda x: np.concatenate([x, x])),
    "stacking": (lambda x: da.stack([x, x]), lambda x: np.stack([x, x])),
    "other chunks": (lambda x: x.rechunk((4, 2)), lambda x: x),
    "another shape": (lambda x: x.reshape(24), lambda x: x.reshape(24)),
    "a slice of a result": (lambda x: (x + 1)[1:3, ::2], lambda x: (x + 1)[1:3, ::2]),
    "division": (lambda x: x / 2, lambda x: x / 2),
}
"""Operations on a dask array of Arrays, and on an ndarray; None where blocks matter."""


@pytest.mark.parametrize("name", STAYS)
def test_what_stays_an_array(blocks, name):
    """The result is an Array, with the elements that NumPy has."""
    asked, expected = STAYS[name]

    found = asked(blocks).compute()

    assert type(found) is ix.Array
    if expected is not None:
        np.testing.assert_array_equal(np.asarray(found), expected(NUMBERS), strict=True)


BECOMES_NUMPY = {
    "a slice at once": (lambda x: x[1:3, ::2], lambda x: x[1:3, ::2]),
    "transposition": (lambda x: x.T, lambda x: x.T),
    "a sum": (lambda x: x.sum(axis=0), lambda x: x.sum(axis=0)),
    "a mean": (lambda x: x.mean(), lambda x: x.mean()),
    "a product of matrices": (lambda x: x @ x.T, lambda x: x @ x.T),
    "a ufunc": (da.sin, np.sin),
    "asarray": (lambda x: x.map_blocks(np.asarray), lambda x: x),
}
"""NumPy functions that Dask calls, which accept Arrays on the host and return ndarrays."""


@pytest.mark.parametrize("name", BECOMES_NUMPY)
def test_what_dask_asks_numpy_for_is_right(blocks, name):
    """The elements are NumPy's, whichever type they come in."""
    asked, expected = BECOMES_NUMPY[name]

    found = np.asarray(asked(blocks).compute())

    np.testing.assert_allclose(found, expected(NUMBERS), rtol=1e-14)


def test_the_blocks_of_an_array_are_views():
    """Cutting an Array into blocks moves no element."""
    array = ix.asarray(NUMBERS)
    cut = da.from_array(array, chunks=(2, 6), asarray=False)

    block = cut.to_delayed()[1, 0].compute()

    assert block.ptr == array[2:].ptr


def test_blocks_of_numpy_become_arrays_in_a_task():
    """A function that imports its argument converts the blocks of a dask array."""
    found = da.from_array(NUMBERS, chunks=(2, 3)).map_blocks(ix.from_dlpack).compute()

    assert type(found) is ix.Array
    assert found.tolist() == NUMBERS.tolist()


def test_blocks_become_arrays_of_numpy_on_the_way_in():
    """Unless told otherwise, Dask converts blocks to ndarrays."""
    found = da.from_array(ix.asarray(NUMBERS), chunks=(2, 3)).compute()

    assert type(found) is np.ndarray


def test_mixed_blocks_are_joined_to_an_array():
    """An Array stays one beside an ndarray."""
    ours = da.from_array(ix.asarray(NUMBERS), chunks=(4, 6), asarray=False)

    found = da.concatenate([ours, da.from_array(NUMBERS, chunks=(4, 6))], axis=1).compute()

    assert type(found) is ix.Array
    assert found.tolist() == np.concatenate([NUMBERS, NUMBERS], axis=1).tolist()


@pytest.mark.parametrize("source", [lambda x: x, lambda x: x + 1], ids=["at once", "of a result"])
@pytest.mark.parametrize(
    "key", [[2, 0, 1], np.array([True, False, True, False])], ids=["integers", "mask"]
)
def test_an_index_of_host_elements_selects_as_in_numpy(blocks, source, key):
    """Dask passes ndarrays as indices to blocks, and Arrays on the host accept them."""
    found = source(blocks)[key].compute()

    assert type(found) is ix.Array
    assert found.tolist() == source(NUMBERS)[key].tolist()


def test_equal_arrays_are_one_in_a_graph():
    """Names follow from the elements."""
    names = {da.from_array(ix.asarray(NUMBERS.copy()), chunks=2, asarray=False).name for _ in "ab"}

    assert len(names) == 1


INDICES = np.array([2, 0, 1])
LOOKUPS = {
    "concatenate": (([NUMBERS, NUMBERS],), {"axis": 1}, np.concatenate),
    "take": ((NUMBERS, INDICES), {"axis": 0}, np.take),
    "tensordot": ((NUMBERS, NUMBERS.T), {"axes": 1}, np.tensordot),
    "divide": ((NUMBERS, NUMBERS + 1), {"dtype": "float32"}, None),
}
"""Functions that Dask looks up by block type: arguments, and the NumPy function."""


def as_array(argument):
    """Return an Array for an ndarray, and lists of them."""
    if isinstance(argument, list):
        return [as_array(one) for one in argument]
    return ix.asarray(argument) if argument.dtype == float else argument


@pytest.mark.parametrize("name", LOOKUPS)
def test_what_dask_looks_up_is_computed_by_the_namespace(name):
    """An Array of NumPy's elements comes of Arrays, and of ndarrays among them."""
    dispatch = pytest.importorskip("dask.array.dispatch")
    arguments, keywords, numpys = LOOKUPS[name]
    function = getattr(dispatch, f"{name}_lookup").dispatch(ix.Array)

    found = function(*map(as_array, arguments), **keywords)

    assert type(found) is ix.Array
    expected = numpys(*arguments, **keywords) if numpys else (NUMBERS / (NUMBERS + 1))
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-6)
    assert found.dtype.name == keywords.get("dtype", "float64")


def test_an_empty_block_is_made_as_numpy_makes_one():
    """An empty block has the requested shape and element type."""
    dispatch = pytest.importorskip("dask.array.dispatch")

    found = dispatch.empty_lookup.dispatch(ix.Array)(3, dtype=np.dtype("int16"))

    assert (type(found), found.shape, found.dtype.name) == (ix.Array, (3,), "int16")
