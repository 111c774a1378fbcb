"""`fast_checks`: arguments imported and held against contracts in one step of the core."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import interchange as ix
from interchange import _core
from interchange._array.contract import plans_of

X = ix.asarray(np.zeros((2, 3), "f4"))


def asked(*values):
    """Stand-in for the Python function."""
    return ["asked", *values]


def checks(*contracts, careful=asked):
    """Return the core's representation of contracts."""
    return _core.fast_checks(careful, plans_of(contracts))


@pytest.mark.parametrize(
    "value",
    [b"abc", [1, 2], 7, "text", np.float32(1), (X,), {"x": X}],
    ids=lambda value: type(value).__name__,
)
def test_what_is_neither_an_ndarray_nor_an_array_is_left_to_python(value):
    """Other values are passed to Python, once, as the same object."""
    _, found = checks(ix.Contract(ndim=2))(value)

    assert found is value


@pytest.mark.parametrize("count", [0, 1, 3])
def test_another_number_of_arguments_is_left_to_python(count):
    """A call with another number of arguments is passed to Python."""
    take = checks(None, None)

    assert take(*[X] * count) == ["asked", *[X] * count]


def test_python_hears_what_was_passed():
    """Python receives the original arguments, not the converted ones."""
    x = np.zeros(3)
    _, first, second = checks(None, ix.Contract(ndim=7))(x, X)

    assert (first is x, second is X) == (True, True)


def test_an_error_of_python_comes_through():
    """An error raised by Python reaches the user unchanged."""

    def refuse(*values):
        raise ix.ViewError("f()", f"{len(values)}", "IX-VIEW-1")

    with pytest.raises(ix.ViewError, match=r"f\(\): 2;"):
        checks(None, ix.Contract(ndim=7), careful=refuse)(X, X)


@pytest.mark.parametrize("extent", [2**63, 2**80, 10**5000], ids=["2**63", "2**80", "10**5000"])
def test_extents_beyond_all_memory_fit_nothing(extent):
    """Extents beyond all memory match no array and are no error of the contract, on both cores."""
    function = ix.accepts_arrays(x=ix.Contract(shape=(extent, 3)))(lambda x: x)

    with pytest.raises(ix.ContractError) as caught:
        function(X)

    assert len(str(caught.value)) < 600
    assert repr(ix.Contract(shape=(extent, 3)))


def test_more_names_than_the_core_counts():
    """Python handles the names that the core cannot count."""
    names = [f"n{place}" for place in range(40)]
    function = ix.accepts_arrays(x=ix.Contract(shape=tuple(names)))(lambda x: x.ndim)

    assert function(np.zeros((1,) * 40)) == 40


def test_as_many_axes_as_there_can_be():
    """Axes count from both ends, with names at each."""
    pattern = ("a", *(1,) * 31, ..., *(1,) * 31, "a")
    function = ix.accepts_arrays(x=ix.Contract(shape=pattern))(lambda x: x.ndim)

    assert function(np.zeros((1,) * 64)) == 64
    assert function(np.zeros((5, *(1,) * 62, 5), "u1")) == 64
    with pytest.raises(ix.ContractError, match="axis 63 is 4, and a is 5 by axis 0 of 'x'"):
        function(np.zeros((5, *(1,) * 62, 4), "u1"))


def test_contracts_go_with_the_function():
    """A cycle through the wrapped function is collected."""

    class Careful:
        """Refers to its caller."""

        def __call__(self, *values):
            return values

    careful = Careful()
    contracts = ix.Contract(shape=("n", 3)), ix.Contract(dtype="numeric")
    careful.take = checks(*contracts, careful=careful)
    gone = weakref.ref(careful)
    del careful
    gc.collect()

    assert gone() is None
