"""Arrays that callers pass: other types, layouts and flags than those of NumPy's defaults."""

import numpy as np
import pytest
import total_plain

from interchange import testing


@pytest.mark.parametrize(
    ("shape", "strides"),
    [((2, 3), None), ((2, 3), (1, 2)), ((4,), (-2,)), ((3, 2), (0, 1)), ((0, 3), None), ((), None)],
    ids=["C order", "Fortran order", "negative", "broadcast", "empty", "scalar"],
)
def test_every_layout(shape, strides):
    """Strides may be anything, and an array may have no elements or no axes."""
    source = testing.host(shape, "float64", strides=strides)
    assert total_plain.total(source) == sum(source.values())


def test_read_only_memory():
    """A function that does not write takes it."""
    array = np.ones(3)
    array.flags.writeable = False
    assert total_plain.total(array) == 3.0


@pytest.mark.parametrize("bad", [np.ones(3, "f4"), np.ones(3, "i8"), b"abc", None, [1.0]])
def test_other_arguments_are_errors(bad):
    """Other element types, and objects that are no arrays, raise a TypeError."""
    with pytest.raises(TypeError):
        total_plain.total(bad)
