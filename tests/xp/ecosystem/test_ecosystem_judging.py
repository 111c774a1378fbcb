"""The verdicts detect silently wrong results: each kind of fault, made on purpose."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest


class Foreign:
    """An array of a stand-in library, whose attributes may be wrong."""

    def __init__(self, array, **says):
        self.array = np.asarray(array)
        self.dtype = says.get("dtype", self.array.dtype.name)
        self.shape = says.get("shape", self.array.shape)
        self.device = says.get("device", "here")

    def __array__(self, dtype=None, copy=None):
        return np.array(self.array, dtype=dtype, copy=copy)


class Bare(Foreign):
    """An array of the library's that NumPy cannot read: it would become an object array."""

    __array__ = None


NAMES = ("float64", "float32", "int64", "int32")
XP = SimpleNamespace(asarray=Foreign, **{name: name for name in NAMES})


def judged(judging, result, *, with_numpy):
    """Return the verdict on a function with a given result."""

    def function(x):
        return with_numpy if isinstance(x, np.ndarray) else result

    return judging.judge("function(h)", {"function": function}, XP)[0]


@pytest.mark.parametrize(
    ("result", "verdict"),
    [
        (Foreign([1.0, 2.0]), "ok"),
        (np.array([1.0, 2.0]), "numpy"),
        (np.array([1.0, 2.5]), "wrong"),
        (Foreign([1.0, 2.5]), "wrong"),
        (Foreign([1.0, np.nan]), "wrong"),
        (Foreign([[1.0, 2.0]]), "wrong"),
        (Foreign(np.float32([1.0, 2.0])), "wrong"),
        (Foreign([1, 2]), "wrong"),
        (Foreign([1.0, 2.0], dtype="float32"), "wrong"),
        (Foreign([1.0, 2.0], shape=(2, 1)), "wrong"),
        (Foreign([1.0, 2.0], device="there"), "wrong"),
        (np.array(object(), dtype=object), "wrong"),
        ([Foreign(1.0), Foreign(2.0)], "wrong"),
        (None, "wrong"),
    ],
)
def test_an_array_is_judged_by_everything_that_it_is(judging, result, verdict):
    """Values, shape, element type and reported attributes must be NumPy's."""
    assert judged(judging, result, with_numpy=np.array([1.0, 2.0])) == verdict


@pytest.mark.parametrize(
    ("result", "verdict"),
    [
        (2.0, "ok"),
        (Foreign(2.0), "ok"),
        (np.float64(2.0), "numpy"),
        (3.0, "wrong"),
        ("2.0", "wrong"),
        (2, "wrong"),
    ],
)
def test_a_scalar_may_be_an_array_without_dimensions(judging, result, verdict):
    """A 0-dimensional array is accepted where NumPy returns a scalar."""
    assert judged(judging, result, with_numpy=np.float64(2.0)) == verdict


@pytest.mark.parametrize(
    ("result", "verdict"),
    [
        ((Foreign([1.0]), {"a": Foreign([2])}), "ok"),
        ([Foreign([1.0]), {"a": np.array([2])}], "numpy"),
        ((Foreign([1.0]), {"a": Foreign([3])}), "wrong"),
        ((Foreign([1.0]), {"b": Foreign([2])}), "wrong"),
        ((Foreign([1.0]),), "wrong"),
    ],
)
def test_every_part_of_a_result_is_judged(judging, result, verdict):
    """Tuples, lists and dictionaries, however deep."""
    truth = (np.array([1.0]), {"a": np.array([2])})

    assert judged(judging, result, with_numpy=truth) == verdict


def test_what_the_judge_cannot_look_into_is_no_success(judging):
    """A result of an unknown kind is never accepted."""
    assert judged(judging, object(), with_numpy=object()) == "wrong"


def test_an_array_that_numpy_cannot_read_is_no_success(judging):
    """It is refused as an object array and in any other form."""
    assert judged(judging, Bare([1.0, 2.0]), with_numpy=np.array([1.0, 2.0])) == "wrong"


def test_a_result_that_refuses_to_be_read_is_no_success(judging):
    """An error raised when the result is read is not the error of the call."""

    class Refusing(Foreign):
        def __array__(self, dtype=None, copy=None):
            raise BufferError("no")

    verdict = judged(judging, Refusing([1.0, 2.0]), with_numpy=np.array([1.0, 2.0]))

    assert verdict == "wrong"


def test_an_input_that_was_written_into_is_seen(judging):
    """A modified input is wrong even if the result is right."""

    def function(x):
        if isinstance(x, Foreign):
            x.array[0] = 7.0
        return 1.0

    assert judging.judge("function(h)", {"function": function}, XP)[0] == "wrong"


def test_an_error_is_a_verdict_of_its_own(judging):
    """An error is a verdict with its class and the first line of its message."""

    def function(x):
        if type(x) is Foreign:
            raise BufferError("no\nmore")

    assert judging.judge("function(h)", {"function": function}, XP) == ("raised", "BufferError: no")


def test_a_function_that_is_not_there_is_absent(judging):
    """A function is absent in releases of the library before its introduction."""
    assert judging.judge("function(h)", {}, XP) == ("absent", "")


def test_a_call_that_fails_with_numpy_is_broken(judging):
    """A call that fails with NumPy is a fault of the list, not of the namespace."""
    assert judging.judge("function(h)", {"function": None}, XP)[0] == "broken"
