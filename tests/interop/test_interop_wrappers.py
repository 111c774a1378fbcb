"""Wrappers of other libraries' arrays: xarray, marray and pint around Arrays, as either operand.

Operators leave wrappers to their own methods; arrays of an array library are refused.
"""

from __future__ import annotations

import operator

import numpy as np
import pytest

import interchange as ix
from interchange import xp

pytestmark = [pytest.mark.interop, pytest.mark.filterwarnings("default")]

ARITHMETIC = [operator.add, operator.sub, operator.mul, operator.truediv, operator.pow]
COMPARISONS = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]
IN_PLACE = [operator.iadd, operator.isub, operator.imul, operator.itruediv]
SCALING = [operator.mul, operator.truediv]
VALUES = [1.0, 2.0, 4.0]
OTHERS = [3.0, 0.5, 4.0]


def wrap_xarray(array):
    """Return a named array of xarray."""
    return pytest.importorskip("xarray").DataArray(array, dims="x")


def wrap_variable(array):
    """Return a variable of xarray."""
    return pytest.importorskip("xarray").Variable(("x",), array)


def wrap_marray(array):
    """Return a masked array, whose second element is masked."""
    masked = pytest.importorskip("marray").masked_namespace(xp)
    return masked.asarray(array, mask=xp.asarray([False, True, False]))


def wrap_pint(array):
    """Return a quantity without a dimension."""
    return pytest.importorskip("pint").UnitRegistry().Quantity(array, "metre")


WRAPPERS = {
    "xarray": (wrap_xarray, "data"),
    "xarray.Variable": (wrap_variable, "data"),
    "marray": (wrap_marray, "data"),
    "pint": (wrap_pint, "magnitude"),
}
CASES = [
    (name, do)
    for name in WRAPPERS
    # pint adds and compares bare arrays of NumPy's protocols alone: it asks for their one truth.
    for do in (SCALING if name == "pint" else [*ARITHMETIC, *COMPARISONS])
]


@pytest.mark.parametrize(("name", "do"), CASES)
@pytest.mark.parametrize("side", ["left", "right"])
def test_a_wrapper_computes_with_an_array_on_either_side(name, do, side):
    """The result is a wrapper around an Array, with NumPy's values."""
    wrap, inner = WRAPPERS[name]
    wrapped, array = wrap(xp.asarray(VALUES)), xp.asarray(OTHERS)
    found = do(array, wrapped) if side == "left" else do(wrapped, array)
    expected = do(*map(np.asarray, (OTHERS, VALUES) if side == "left" else (VALUES, OTHERS)))

    assert type(found) is type(wrapped)
    assert type(getattr(found, inner)) is ix.Array
    assert getattr(found, inner).tolist() == expected.tolist()


@pytest.mark.parametrize("name", WRAPPERS)
@pytest.mark.parametrize("do", IN_PLACE)
def test_an_array_becomes_what_wraps_the_result_in_place(name, do):
    """An in-place operator rebinds the name to the wrapped result, and memory is unchanged."""
    if name == "pint" and do in {operator.iadd, operator.isub}:
        do = operator.imul
    wrap, inner = WRAPPERS[name]
    array = xp.asarray(OTHERS)
    found = do(array, wrap(xp.asarray(VALUES)))
    expected = do(np.asarray(OTHERS), np.asarray(VALUES))

    assert getattr(found, inner).tolist() == expected.tolist()
    assert array.tolist() == OTHERS


def test_a_mask_survives_an_operator():
    """The wrapper computes, and keeps the mask."""
    assert (xp.asarray(OTHERS) + wrap_marray(xp.asarray(VALUES))).mask.tolist() == [0, 1, 0]


def test_units_survive_an_operator():
    """The wrapper computes, and keeps the units."""
    found = xp.asarray(OTHERS) * wrap_pint(xp.asarray(VALUES))

    assert str(found.units) == "meter"
    assert f"{found[0]:.2f}" == "3.00 meter"


class Wrapping:
    """Has the attributes of an array, and operators that leave Arrays to Arrays."""

    __array_priority__ = 1

    def __array__(self, *_, **__):
        return np.ones(3)

    def __add__(self, other):
        return NotImplemented

    __radd__ = __add__


class Alike(Wrapping):
    """The same, and one operator that computes."""

    def __radd__(self, other):
        return "mine"

    def __eq__(self, other):
        return "equal"

    __hash__ = None


def test_an_operator_is_asked_of_the_right_operand():
    """The right operand of any class is asked, unless it is an array of a library."""
    assert xp.ones(3) + Alike() == "mine"
    assert (xp.ones(3) == Alike()) == "equal"


@pytest.mark.parametrize("add", [lambda x, y: x + y, lambda x, y: y + x])
def test_what_neither_side_computes_is_a_type_error(add):
    """Python raises TypeError after both operands were asked."""
    with pytest.raises(TypeError, match="unsupported operand"):
        add(xp.ones(3), Wrapping())


def test_jax_computes_with_an_array_on_its_right(need):
    """It takes an Array as it takes an ndarray; on the left an Array refuses JAX's arrays."""
    need("jax")
    other = pytest.importorskip("jax.numpy").ones(3)

    assert (other + xp.ones(3, dtype="float32")).tolist() == [2, 2, 2]
    with pytest.raises(ix.ArgumentError, match="IX-XP-1"):
        xp.ones(3) + other


@pytest.mark.parametrize("library", ["torch", "array_api_strict", "dask.array"])
def test_arrays_of_libraries_are_refused_on_either_side(need, library):
    """Arrays of libraries are refused: array-api-strict would convert an Array, or fail."""
    need(library)
    other = pytest.importorskip(library).ones(3)
    with pytest.raises(ix.ArgumentError, match="IX-XP-1"):
        xp.ones(3) + other
    with pytest.raises(TypeError, match=r"IX-XP-1|interchange"):
        other + xp.ones(3)


@pytest.mark.parametrize("kind", [np.ndarray, np.matrix, np.ma.MaskedArray, np.recarray])
def test_subclasses_of_numpys_array_are_refused(kind):
    """Their own operators would read an Array through ``__array__``."""
    other = np.ones(3).view(kind)
    for add in (lambda x, y: x + y, lambda x, y: y + x):
        with pytest.raises(ix.ArgumentError, match="IX-XP-1"):
            add(xp.ones(3), other)


# ---------------------------------------------------------------- what asks otherwise


def test_jax_takes_an_array_where_it_takes_ndarrays():
    """JAX accepts an Array by its NumPy dtype, with the values and types of an ndarray."""
    jnp = pytest.importorskip("jax.numpy")
    for memory in (
        np.arange(3.0),
        np.arange(3, dtype=np.int8),
        np.full((), 1, bool),
        np.ones((2, 0)),
    ):
        for take in (jnp.asarray, jnp.array):
            ours, theirs = take(ix.from_dlpack(memory)), take(memory)

            assert (ours.dtype, ours.tolist()) == (theirs.dtype, theirs.tolist())


@pytest.mark.parametrize(
    "key", [[0, 2], [-1], slice(1, None), np.array([2, 0]), np.array([True, False, True]), 1, []]
)
def test_xarray_selects_by_position_what_it_selects_of_numpy(key):
    """xarray selects with lists, ndarrays and masks, which it passes on as ndarrays."""
    found = wrap_xarray(xp.asarray(VALUES)).isel(x=key)

    assert type(found.data) is ix.Array
    assert found.data.tolist() == wrap_xarray(np.asarray(VALUES)).isel(x=key).data.tolist()


def test_xarray_groups_and_sorts():
    """Grouping and sorting select rows by index arrays."""
    xarray = pytest.importorskip("xarray")
    for wrap in (xp.asarray, np.asarray):
        named = wrap_xarray(wrap(VALUES)).assign_coords(g=("x", [1, 0, 1]))

        assert named.groupby("g").sum().data.tolist() == [2.0, 5.0]
        order = xarray.DataArray(np.array([3, 1, 2]), dims="x")
        assert named.sortby(order).data.tolist() == [2.0, 4.0, 1.0]


@pytest.mark.parametrize("key", [[1, 0], np.array([2, 1, 1]), np.array([True, False, True]), 2])
def test_dask_slices_blocks_of_arrays(key):
    """Blocks of a dask array stay Arrays when they are sliced by ndarrays."""
    dask = pytest.importorskip("dask.array")
    memory = np.arange(12.0).reshape(3, 4)
    blocks = dask.from_array(ix.from_dlpack(memory), chunks=(2, 3), asarray=False)

    assert np.asarray(blocks[key].compute()).tolist() == memory[key].tolist()


def test_xarray_writes_numbers_and_ndarrays_into_arrays():
    """xarray passes numbers and ndarrays on as ndarrays, which are written."""
    named = wrap_xarray(xp.asarray(VALUES))
    named[0] = 7.0
    named[1:] = np.array([8.0, 9.0])

    assert type(named.data) is ix.Array
    assert named.data.tolist() == [7.0, 8.0, 9.0]


def test_dask_writes_numbers_and_ndarrays_into_blocks_of_arrays():
    """Each block receives its part of an ndarray."""
    dask = pytest.importorskip("dask.array")
    blocks = dask.from_array(xp.asarray(VALUES), chunks=2, asarray=False)
    blocks[0] = 7.0
    blocks[1:] = np.array([8.0, 9.0])

    assert np.asarray(blocks.compute()).tolist() == [7.0, 8.0, 9.0]


@pytest.mark.parametrize("name", WRAPPERS)
def test_functions_refuse_wrappers_with_a_type_error(name):
    """Functions raise TypeError; NotImplemented is no answer to a call.

    Wrappers have their own functions, which unwrap, or pass their arrays on.
    """
    wrapped = WRAPPERS[name][0](xp.asarray(VALUES))
    for args in ((xp.asarray(OTHERS), wrapped), (wrapped, xp.asarray(OTHERS))):
        with pytest.raises(TypeError, match=r"\[IX-XP-1\]$"):
            xp.add(*args)
