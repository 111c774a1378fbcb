"""`fast_function`: results of both cores, and the cases that are passed to Python."""

from __future__ import annotations

import copy
import inspect
import operator
import pickle
import sys
import warnings

import numpy as np
import pytest

import interchange as ix
from interchange import _core, xp
from interchange._core import fast_function
from interchange._libraries.numpy import NumPyBackend
from interchange._libraries.selection import backend_of_host

NATIVE = pytest.mark.skipif(_core.core_name != "native", reason="of the native core")
ONE = ("sin", "ceil", "isnan", "negative", "positive", "conj", "real", "imag", "count_nonzero")
TWO = ("add", "divide", "logaddexp", "equal", "hypot", "matmul", "vecdot", "pow", "bitwise_and")
KEYS = (
    *(0, -1, 2, 5, True, None, ..., slice(None), slice(1, None), slice(None, None, -2)),
    *((0, 1), (1,), (slice(1), 0), (None, 1, ...), (), (..., 0), (0, 0, 0), "a", 1.5, (0, 7)),
)


def warm(values: object, dtype: str = "float64") -> ix.Array:
    """Return an Array whose library's array is kept already."""
    x = ix.asarray(np.asarray(values, dtype))
    assert (x == 0).dtype is ix.DType.of("bool")
    return x


def outcome(function, *args, **keywords):
    """Return the facts of a result, or the class and the text of the error."""
    try:
        found = function(*args, **keywords)
    except Exception as error:  # noqa: BLE001 - errors are compared
        return type(error), str(error)
    strides = tuple(  # a NumPy below 2.3 gives axes that need none other strides by DLPack
        stride if extent > 1 and found.size else 0
        for extent, stride in zip(found.shape, found.strides, strict=True)
    )
    return str(found.dtype), found.shape, strides, found.readonly, repr(found.tolist())


def in_python(function):
    """Return the function in Python."""
    return getattr(function, "__wrapped__", function)


@pytest.mark.parametrize("name", ONE)
@pytest.mark.parametrize("dtype", ["float64", "int32", "uint8", "bool", "complex64"])
@pytest.mark.parametrize("values", [[1, 0, 2], 2, [], [[1, 2], [3, 4]]])
def test_functions_of_one_array(name, dtype, values):
    """The result, or the error, is that of the function in Python."""
    function, x = getattr(xp, name), warm(values, dtype)
    with np.errstate(all="ignore"):
        assert outcome(function, x) == outcome(in_python(function), x)


@pytest.mark.parametrize("name", TWO)
@pytest.mark.parametrize("dtype", ["float64", "int32", "bool", "complex64"])
def test_functions_of_two_operands(name, dtype):
    """Arrays, and numbers on either side, give the result or the error of Python's function."""
    function, x = getattr(xp, name), warm([1, 0, 2], dtype)
    others = (warm([3, 1, 1], dtype), warm([1.5, 2, 0]), warm([1, 2]), 2, 2.5, True, 1j, 2**70)
    with np.errstate(all="ignore"):
        for other in (*others, np.float32(2), "text", None, np.ones(3)):
            for pair in ((x, other), (other, x), (other, other)):
                assert outcome(function, *pair) == outcome(in_python(function), *pair)


@pytest.mark.parametrize("name", ["zeros", "ones", "arange", "asarray", "empty"])
def test_new_arrays(name):
    """Shapes and numbers give the result or the error of Python's function."""
    function = getattr(xp, name)
    given = [0, 3, (2, 0), [2, 0], (), True, 2.0, -1, (2, -1), (1, 2.5), "3", None, 2**64, [2**64]]
    given += [[[1], [2]], [1, "2"], [1, 2.5], [1] * 70, [1j, True], [None], warm([1, 2]), 1j]
    for x in given:
        if name == "empty" or (x == -1 if type(x) is int else x == (2, -1)):
            one, other = outcome(function, x)[:3], outcome(in_python(function), x)[:3]
            assert one == other
        else:
            assert outcome(function, x) == outcome(in_python(function), x)


@pytest.mark.parametrize("key", KEYS, ids=repr)
@pytest.mark.parametrize("values", [[1, 2, 3], [[1, 2], [3, 4], [5, 6]], 5, []])
def test_basic_indices(key, values):
    """A key gives the view, or the error, of the method in Python."""
    x = warm(values)
    select = inspect.getattr_static(ix.Array, "__getitem__")
    found = outcome(lambda: x[key])
    assert found == outcome(in_python(select), x, key)
    if len(found) > 2:
        assert x[key].owner is in_python(select)(x, key).owner


@pytest.mark.parametrize("name", ["T", "mT"])
@pytest.mark.parametrize("make", [warm, ix.asarray])
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0, 2), (2, 1, 3), (1,) * 7])
def test_transposes(name, make, shape):
    """A transpose is the view, or the error, of the property in Python, computed or described."""
    x = make(np.arange(np.prod(shape, dtype=int)).reshape(shape)[()])
    careful = in_python(inspect.getattr_static(ix.Array, name).fget)
    found = outcome(getattr, x, name)
    assert found == outcome(careful, x)
    if len(found) > 2:
        view = getattr(x, name)
        assert view.owner is careful(x).owner
        assert getattr(view, name).tolist() == x.tolist()
        assert (view + 1).tolist() == (careful(x) + 1).tolist()


@pytest.mark.parametrize("name", ["__neg__", "__pos__", "__abs__", "__invert__"])
@pytest.mark.parametrize("dtype", ["float64", "int8", "uint8", "bool", "complex64"])
def test_operators_of_one_array(name, dtype):
    """The result, or the error, is that of the method in Python."""
    x, method = warm([1, 0, 2], dtype), inspect.getattr_static(ix.Array, name)
    assert outcome(getattr(operator, name), x) == outcome(in_python(method), x)


def test_views_of_read_only_memory_are_read_only():
    """Views have the flag of the memory, and new arrays have none."""
    values = np.arange(3.0)
    values.flags.writeable = False
    x = ix.asarray(values)
    assert (xp.sin(x).readonly, xp.zeros_like(x).readonly) == (False, False)
    assert [x[0].readonly, x[1:].readonly, xp.real(x).readonly] == [True] * 3


def test_memory_of_unknown_flags_stays_unknown():
    """A view of memory that may be read-only may be read-only."""
    x = ix.asarray(np.arange(3.0))
    assert (x == 0).shape == (3,)
    x._flags = None
    assert [x[0].readonly, x[1:].readonly] == [None, None]
    assert xp.sin(x).readonly is False


def test_a_view_writes_to_its_array():
    """A view shares the memory."""
    x = warm([1, 2, 3])
    x[1:][0] = 7
    assert (x.tolist(), float(x[1])) == ([1.0, 7.0, 3.0], 7.0)


@pytest.mark.parametrize("name", ["sin", "add", "zeros", "asarray", "zeros_like", "matmul"])
def test_functions_describe_themselves(name):
    """A function has its name, module, signature and docstring, and is copied by its name."""
    function = getattr(xp, name)
    assert (function.__name__, function.__module__) == (name, "interchange.xp")
    assert "Parameters" in (function.__doc__ or "")
    assert inspect.isroutine(function)
    assert inspect.signature(function).return_annotation == "Array"
    assert function.__annotations__["return"] == "Array"
    assert copy.deepcopy(function) is function
    assert pickle.loads(pickle.dumps(function)) is function


@NATIVE
def test_warnings_point_at_the_line_that_computes():
    """A warning of NumPy points at the line of the user's program."""
    x = warm([0.0])
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        here = sys._getframe().f_lineno
        xp.log(x)
        xp.divide(x, 0)
    assert [(one.filename, one.lineno - here) for one in found] == [(__file__, 1), (__file__, 2)]


LOGGED = """
import logging
logging.getLogger("interchange").setLevel("DEBUG")
"""
FRAMES = """
import sys
from interchange import xp
{first}
def compute():
    x, y = xp.zeros(3), xp.ones(3)
    return xp.add(x, y), xp.sin(x), x + y, x[1:], x[0], xp.asarray([1.0]), xp.empty_like(x)
compute()
{then}
compute()
names = []
def note(frame, event, _):
    if event == "call" and "interchange" in frame.f_code.co_filename:
        names.append(frame.f_code.co_name)
sys.setprofile(note)
compute()
sys.setprofile(None)
print(*sorted(set(names)))
"""


@NATIVE
@pytest.mark.isolated
@pytest.mark.parametrize("first", ["", LOGGED])
def test_no_ndarray_has_to_be_imported_first(first, run_isolated):
    """Programs that only create and compute run no Python code, also once the log is off again."""
    then = "logging.getLogger('interchange').setLevel('INFO')" if first else ""
    said = run_isolated(FRAMES.format(first=first, then=then))
    assert said.split() == ["backend_of_host"]


class Strange(NumPyBackend):
    """A backend with its own functions."""

    def __init__(self, device):
        super().__init__(device)
        self.namespace.sin = lambda x: x + 1
        self._direct = {}
        self.namespace.zeros = np.ones


def test_a_backend_with_functions_of_its_own():
    """A function that the backend replaces is called, and new arrays are of the library set."""
    ix.set_backend("cpu", Strange)
    try:
        assert xp.sin(xp.asarray([0.0])).tolist() == [1.0]
        assert xp.zeros(2).tolist() == [1.0, 1.0]
        assert type(backend_of_host("x")) is Strange
    finally:
        ix.set_backend("cpu", None)
    assert xp.zeros(2).tolist() == [0.0, 0.0]


@NATIVE
@pytest.mark.parametrize("operands", [0, 3])
def test_functions_of_other_numbers_of_operands_are_refused(operands):
    """Only one or two operands are converted."""
    with pytest.raises(ValueError, match="one operand or two"):
        fast_function("sin", len, operands)


def test_the_type_of_a_result_is_found_once():
    """Promotion depends on types only, except for arrays of no axes and numbers."""
    x, y = warm([1], "int8"), warm([1.0], "float32")
    for _ in range(2):
        assert xp.result_type(x, y) is xp.result_type(x, xp.float32) is xp.result_type(y, x)
        assert xp.result_type(x, xp.int16) is ix.DType.of("int16")
        assert xp.result_type(x, 2.5) is ix.DType.of("float64")
        assert xp.result_type(xp.asarray(1, dtype="int64"), x) is ix.DType.of("int64")
    with pytest.raises(ix.ViewError, match="neither an array nor a dtype"):
        xp.result_type(1, 2)


def test_the_first_read_of_an_element_keeps_the_ndarray():
    """Later reads of an imported array need no new description of its memory."""
    x = ix.asarray(np.arange(3.0))
    assert (float(x[1]), x._library[1] is not None) == (1.0, True)
    y = ix.asarray(np.asarray(1.5))
    assert (float(y), int(y), y.item(), y._library[1] is not None) == (1.5, 1, 1.5, True)
