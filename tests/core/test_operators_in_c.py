"""`fast_operator`: results of both cores, and the cases that are passed to Python."""

from __future__ import annotations

import gc
import inspect
import operator
import pickle
import sys
import warnings
import weakref

import numpy as np
import pytest

import interchange as ix
from interchange import _core
from interchange._array.operators import Operators
from interchange._libraries.numpy import NumPyBackend
from interchange._libraries.standard_names import COMPARISONS, OPERATORS

NATIVE = pytest.mark.skipif(_core.core_name != "native", reason="of the native core")
REFLECTED = sorted(set(OPERATORS) - COMPARISONS)
NUMBERS = (2, 3.0, True, 1j)


def warm(values: object, dtype: str = "float64") -> ix.Array:
    """Return an Array whose library's array is kept already."""
    x = ix.asarray(np.asarray(values, dtype))
    assert (x == 0).dtype is ix.DType.of("bool")
    return x


def outcome(function, *operands):
    """Return the result of a call, or the class of its error."""
    try:
        found = function(*operands)
    except Exception as error:  # noqa: BLE001 - classes are compared
        return type(error)
    return np.asarray(found).dtype, repr(np.asarray(found).tolist())  # NaN equals itself there


@pytest.mark.parametrize("name", sorted(OPERATORS))
@pytest.mark.parametrize("dtype", ["float64", "int32", "uint8", "bool", "complex64"])
def test_arrays_and_arrays(name, dtype):
    """Two Arrays give NumPy's result for the underlying arrays, or the same kind of error."""
    function = getattr(operator, OPERATORS[name])
    left, right = np.asarray([1, 2, 3], dtype), np.asarray([1, 0, 1], dtype)
    with np.errstate(all="ignore"):
        found = outcome(function, warm(left, dtype), warm(right, dtype))
        assert found == outcome(function, left, right)


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("name", sorted(OPERATORS))
def test_arrays_and_numbers(name, number):
    """An Array and a Python number give NumPy's result."""
    function = getattr(operator, OPERATORS[name])
    values = np.asarray([1, 2, 3], "int32")
    assert outcome(function, warm(values, "int32"), number) == outcome(function, values, number)


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("name", REFLECTED)
def test_numbers_and_arrays(name, number):
    """A number on the left stays on the left."""
    function = getattr(operator, OPERATORS[name])
    values = np.asarray([1, 2, 3], "int32")
    assert outcome(function, number, warm(values, "int32")) == outcome(function, number, values)


def test_a_result_without_axes_is_an_array():
    """NumPy's scalar results are returned as Arrays."""
    found = warm(2.0) + warm(3.0)
    assert (type(found), found.shape, found.item()) == (ix.Array, (), 5.0)


def test_an_operand_of_another_kind_is_asked():
    """An operand that is neither an Array nor a number is passed to Python and to its operators."""

    class Other:
        def __radd__(self, other):
            return "asked", type(other)

    assert warm([1]) + Other() == ("asked", ix.Array)
    with pytest.raises(TypeError):
        warm([1]) + "text"


def test_results_of_a_subclass_are_of_it_and_its_overrides_are_called():
    """A subclass that overrides an operator has its own called, and reaches ours by super()."""

    class Mine(ix.Array):
        def __sub__(self, other):
            return "mine", super().__sub__(other).tolist()

    x = ix.asarray(np.ones(2))
    mine = _core.describe(x.ptr, x._spec, 0, x, x, Mine)
    assert type(mine + mine) is type(mine + 1) is Mine
    assert mine - 1 == ("mine", [0.0, 0.0])


@pytest.mark.parametrize(("count", "keywords"), [(0, {}), (1, {}), (3, {}), (1, {"other": 1})])
def test_wrong_operands_are_refused(count, keywords):
    """Too few or too many operands raise TypeError, and operands have no names."""
    with pytest.raises(TypeError):
        ix.Array.__add__(*[warm([1.0])] * count, **keywords)


@pytest.mark.parametrize("name", [one for one, what in vars(Operators).items() if callable(what)])
def test_methods_describe_themselves(name):
    """An operator has its name, and a signature in which operands have no keywords."""
    method = inspect.getattr_static(ix.Array, name)
    assert (method.__name__, method.__qualname__) == (name, f"Array.{name}")
    kinds = {one.kind for one in inspect.signature(method).parameters.values()}
    assert kinds == {inspect.Parameter.POSITIONAL_ONLY}


def test_bound_methods():
    """A bound operator of an Array is called with the other operand."""
    x = warm([1.0, 2.0])
    assert x.__add__(1).tolist() == [2.0, 3.0]
    assert x.__radd__(1).tolist() == [2.0, 3.0]
    assert x.__add__.__self__ is x


@NATIVE
def test_warnings_point_at_the_line_that_divides():
    """A warning of NumPy points at the line of the user's program."""
    x = warm([1.0])
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        here = sys._getframe().f_lineno
        x / 0
        x / warm([0.0])
        1 / warm([0.0])
    assert [one.filename for one in found] == [__file__] * 3
    assert [one.lineno - here for one in found] == [1, 2, 3]


def test_errors_of_the_library_arrive():
    """An error of the library is raised."""
    with pytest.raises(ValueError, match="broadcast"):
        warm([1, 2]) + warm([1, 2, 3])
    with pytest.raises(OverflowError):
        warm([1], "uint8") + 1000


class Strange(NumPyBackend):
    """A backend with its own implementation of one operator."""

    def _find_operators(self):
        found = super()._find_operators()
        return {**found, "add": lambda x, y: np.subtract(x, y)}  # noqa: PLW0108 - no builtin


def test_a_backend_with_an_operator_of_its_own():
    """A backend whose `operators` differ computes by those."""
    ix.set_backend("cpu", Strange)
    try:
        x = ix.asarray(np.asarray([5.0]))
        y = ix.asarray(np.asarray([2.0]))
        for _ in range(2):
            assert (x + y).tolist() == [3.0]
            assert (x * y).tolist() == [10.0]
    finally:
        ix.set_backend("cpu", None)


def test_more_backends_than_are_remembered():
    """Operators compute for every backend, however many there were."""
    try:
        for value in range(12):
            ix.set_backend("cpu", lambda device: NumPyBackend(device))  # noqa: PLW0108 - a new one
            x = ix.asarray(np.asarray([float(value)]))
            assert [(x + x).tolist(), (x + x + 1).tolist()] == [[2 * value], [2 * value + 1]]
    finally:
        ix.set_backend("cpu", None)


def test_what_is_computed_with_dies():
    """Neither operands nor results are kept after their last use."""
    values = np.ones(3)
    x = ix.asarray(values)
    before = sys.getrefcount(values)
    for _ in range(100):
        found = x + x - 1 == 1 * x
    alive = weakref.ref(found)
    del found
    gc.collect()
    assert alive() is None
    assert sys.getrefcount(values) <= before + 1  # the reference of the backing


def test_results_pickle():
    """A result is an Array like any other."""
    assert pickle.loads(pickle.dumps(warm([1.0]) + 1)).tolist() == [2.0]


@NATIVE
def test_an_interruption_while_a_backend_is_asked_is_raised():
    """An interrupt or a lack of memory is raised, and not read as a missing operator."""

    class Interrupted(NumPyBackend):
        interruptions = 1

        def __getattribute__(self, name):
            if name == "operators" and type(self).interruptions:
                type(self).interruptions -= 1
                raise KeyboardInterrupt
            return super().__getattribute__(name)

    x = warm([1.0])
    backend = Interrupted.__new__(Interrupted)
    backend.__dict__.update(x._library[0].__dict__)
    x._library = (backend, x._library[1], None)

    with pytest.raises(KeyboardInterrupt):
        x % 2  # of which few backends are known
    assert (x % 2).tolist() == [1.0]


def test_memory_that_is_found_to_be_read_only_does_not_meet_a_contract():
    """A computed array is described before its flags are checked."""
    found = warm([1.0]) + 1
    found._library[1].flags.writeable = False

    @ix.accepts_arrays(x=ix.Contract(writable=True))
    def write(x):
        return x.readonly

    for _ in range(2):
        with pytest.raises(ix.ContractError):
            write(found)
