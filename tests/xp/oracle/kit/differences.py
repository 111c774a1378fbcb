"""Accepted differences from array-api-strict, each with its reason.

Source: array API standard 2025.12.  Errors of another class; calls that array-api-strict refuses
although the standard leaves them open; calls that we refuse; calls for which it is no oracle.
"""

from __future__ import annotations

import warnings
from fnmatch import fnmatchcase
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from xp_oracle.worlds import Arr, Fact, Foreign, Named, Outcome

if TYPE_CHECKING:
    from collections.abc import Callable

Class = type[Exception] | tuple[type[Exception], ...]


class Row(NamedTuple):
    """One difference that is accepted."""

    paths: str  # patterns of the calls that it applies to, as of `fnmatch`
    theirs: Class  # the class that array-api-strict raises, if it raises
    says: str  # part of that error's message
    reason: str  # why it is accepted
    ours: Class = ()  # the class that we raise, if we raise
    as_numpy: bool = True  # if we return a value: whether it must equal NumPy's

    def covers(self, path: str, theirs: Exception) -> bool:
        """Whether the row applies to the call and to the difference."""
        about = any(fnmatchcase(path, one) for one in self.paths.split())
        return about and isinstance(theirs, self.theirs) and self.says in str(theirs)


_TAKES_A_DEVICE: Final = (
    "arange asarray astype empty* eye from_dlpack full* linspace ones* zeros* fft.*freq"
)

_SHOULD: Final = "the standard says which types an argument should have, not what happens otherwise"

ERRORS: Final = (
    Row("*", AttributeError, "object has no attribute",
        "array-api-strict looks into whatever it is given; the wrong type is a TypeError",
        TypeError),
    Row("*", TypeError, "dtypes are allowed",
        f"{_SHOULD}; NumPy may come upon another fault first, or word it as a ValueError",
        (TypeError, ValueError, OverflowError)),
    Row("*", (ValueError, AttributeError), "dtype",
        "what is no element type may be of the wrong type or of no known value",
        (TypeError, ValueError)),
    Row("finfo iinfo isdtype can_cast result_type astype cumulative_prod", TypeError, "",
        "types can be given by name here, and a name that is none is a wrong value", ValueError),
    Row("finfo iinfo", ValueError, "data type",
        "a type of another kind is a wrong value, or an argument of the wrong type", TypeError),
    Row(_TAKES_A_DEVICE, ValueError, "device",
        "what is no device may be of the wrong type or of no known value",
        (TypeError, ValueError, BufferError)),
    Row("unstack cumulative_* vecdot linalg.vecdot cross linalg.cross", TypeError, "tuple",
        "array-api-strict counts with the axis before NumPy says that it is none",
        (ValueError, IndexError)),
    Row("take", (TypeError, ValueError), "",
        "NumPy takes indices of any shape from arrays of any, and these are beyond the end",
        IndexError),
    Row("reshape", AttributeError, "Incompatible shape",
        "the standard's own class for a copy that would be needed and is forbidden", ValueError),
    Row("reshape", TypeError, "must be a tuple",
        "one number for a tuple of one is NumPy's, and so is what it may be", ValueError),
    Row("arange asarray full full_like", OverflowError, "",
        "a number that no element type can hold is none", (TypeError, ValueError)),
    Row("__bool__", TypeError, "0 dimensions", "NumPy's class for a truth that is ambiguous",
        ValueError),
    Row("full full_like", TypeError, "Python scalar",
        "NumPy reads a number out of a text, or says that it has none", ValueError),
    Row("clip", ValueError, "less than or equal",
        "a bound may be one that the array's type cannot hold", OverflowError),
    Row("arange", TypeError, "", "whole numbers beyond 64 bits have no element type",
        (BufferError, OverflowError, ValueError)),
    Row("*", TypeError, "Python int scalars cannot",
        "NumPy first asks whether the number is too large", OverflowError),
    Row("bitwise_left_shift bitwise_right_shift", ValueError, "only defined for x2 >= 0",
        "the number may be one that the other operand's type cannot hold", OverflowError),
    Row("__?etitem__", TypeError, "slice indices",
        "what slices are made of is part of what an index is", IndexError),
    Row("__?etitem__", ValueError, "step cannot be zero", "a slice that goes nowhere is no index",
        IndexError),
    Row("__setitem__", TypeError, "", "a value may be of the wrong type and of the wrong shape",
        (ValueError, IndexError)),
    Row("linalg.cross", ValueError, "at least 1",
        "what has no axis has not the axis that was asked for", IndexError),
    Row("tile", TypeError, "must be a tuple",
        "one number for a tuple of one is NumPy's, and so is what it may be", ValueError),
)  # fmt: skip
"""Errors of ours that are of another class."""

LENIENT: Final = (
    Row("astype", TypeError, "to array_api_strict.bool should not be permitted",
        "the standard wants no cast of complex numbers to real ones; whether one is 0 is a truth"),
    Row("linalg.eig linalg.eigvals", TypeError, "dtypes are allowed", _SHOULD, as_numpy=False),
    Row("argsort sort", TypeError, "dtypes are allowed", _SHOULD, as_numpy=False),
    Row("clip", TypeError, "dtypes are allowed", _SHOULD, as_numpy=False),
    Row("*", TypeError, "dtypes are allowed", _SHOULD),
    Row("where", TypeError, "boolean data type", _SHOULD),
    Row("meshgrid", ValueError, "same dtype", _SHOULD),
    Row("*", TypeError, "cannot be type promoted together",
        "promotion between kinds of types is left to the implementation"),
    Row("*", TypeError, "Python ",
        "a Python scalar of another kind than the array is left to the implementation"),
    Row("less* greater* equal not_equal searchsorted isin", OverflowError, "within the bounds",
        "numbers that an element type cannot hold can be compared with those that it can"),
    Row("result_type", OverflowError, "within the bounds",
        "the type is the array's, whether or not it can hold the number", as_numpy=False),
    Row("isdtype", TypeError, "'kind' must be", "a union of unions is a union", as_numpy=False),
    Row("linalg.matrix_rank", ValueError, "zero-size array",
        "a matrix without elements has rank 0", as_numpy=False),
    Row("linalg.matrix_rank", ValueError, "at least two-dimensional",
        "what is no matrix has the rank that NumPy gives it", as_numpy=False),
    Row("reshape", AttributeError, "Incompatible shape",
        "array-api-strict sees no shared memory where there is none to share"),
    Row("clip", OverflowError, "out of bounds",
        "a bound may be beyond 64 bits when floats are not"),
    Row("clip", TypeError, " when x is ",
        "the standard leaves bounds of another kind open; the type stays the array's",
        as_numpy=False),
    Row("clip", ValueError, "less than or equal", "crossed bounds are the implementation's"),
    Row("clip", TypeError, "must be None, int", "Python's booleans are integers"),
    Row("reshape", TypeError, "must be a tuple", "NumPy takes one number for a tuple of one"),
    Row("repeat", TypeError, "must have an integer dtype", _SHOULD),
    Row("roll", ValueError, "`shift` can only be", "NumPy takes what it can round"),
    Row("vecdot linalg.vecdot linalg.cross", ValueError, "axis must be negative",
        "the standard says that it should be, and NumPy counts it from the front"),
    Row("cumulative_*", ValueError, "",
        "a number is taken for an array of one: the standard says that an axis should be there",
        as_numpy=False),
    Row("take", ValueError, "axis must be", "NumPy takes from what it has flattened"),
    Row("take", ValueError, "Only 1-dim indices", "NumPy takes indices of any shape"),
    Row("tile", TypeError, "must be a tuple", "NumPy takes one number for a tuple of one"),
    Row("bitwise_left_shift bitwise_right_shift", ValueError, "only defined for x2 >= 0",
        "the standard defines no shift by less than nothing"),
    Row("__?etitem__", IndexError, "Slice ", "NumPy cuts slices at the ends, as Python does"),
    Row("__?etitem__", IndexError, "multi-axes index", "NumPy takes the axes left out as whole"),
    Row("__?etitem__", IndexError, "Single-axes index", "NumPy takes masks beside other keys"),
    Row("__?etitem__", IndexError, "Integer index arrays", "NumPy takes them beside slices"),
    Row("__setitem__", IndexError, "Fancy indexing", "NumPy assigns to arrays of places too"),
    Row("__i*__", TypeError, "Cannot perform __i", "NumPy casts what it may into the array"),
    Row("arange", TypeError, "must be real number", "NumPy counts in complex numbers too"),
)  # fmt: skip
"""Calls that array-api-strict refuses and the standard leaves open; the first that fits rules."""


class RefusalRow(NamedTuple):
    """Calls that array-api-strict accepts and that we refuse."""

    paths: str
    when: Callable[[Any, Any], bool]
    ours: Class
    reason: str


def _below_minus_one(args: Any, kwargs: Any) -> bool:
    shape = kwargs.get("shape", args[1] if len(args) > 1 else ())
    return any(isinstance(n, int) and n < -1 for n in np.atleast_1d(shape).tolist())


def _beyond_64_bits(args: Any, kwargs: Any) -> bool:
    return any(isinstance(n, int) and abs(n) >> 64 for n in (*args, *kwargs.values()))


def _bound_beyond(args: Any, kwargs: Any) -> bool:
    if not isinstance(args[0], Arr) or args[0].values.dtype.kind not in "iu":
        return False
    limits = np.iinfo(args[0].dtype)
    bounds = [one for one in (*args[1:], *kwargs.values()) if isinstance(one, int)]
    return not all(limits.min <= bound <= limits.max for bound in bounds)


def _axis_that_one_lacks(args: Any, kwargs: Any) -> bool:
    axis = kwargs.get("axis", -1)
    ranks = [one.ndim for one in args if isinstance(one, Arr)]
    return isinstance(axis, int) and not all(-ndim <= axis < ndim for ndim in ranks)


_NO_SUCH_AXIS: Final = "array-api-strict 2.6.1 takes an axis that one of two arrays does not have"
REFUSED: Final = (
    RefusalRow("vecdot linalg.vecdot", _axis_that_one_lacks, ValueError, _NO_SUCH_AXIS),
    RefusalRow("clip", _bound_beyond, OverflowError,
        "array-api-strict 2.6.1 wraps a bound that the array's type cannot hold"),
    RefusalRow("arange", _beyond_64_bits, (BufferError, OverflowError, TypeError, ValueError),
        "whole numbers beyond 64 bits have no element type"),
    RefusalRow("reshape", _below_minus_one, ValueError, "NumPy takes any negative number for -1"),
)  # fmt: skip


class OracleRow(NamedTuple):
    """Calls of which array-api-strict gives a wrong answer, or one of several right ones."""

    paths: str
    when: Callable[[Any, Any], bool]
    reason: str


def _complex(args: Any, kwargs: Any) -> bool:
    del kwargs
    return isinstance(args[0], Arr) and np.iscomplexobj(args[0].values)


def _without_axes(args: Any, kwargs: Any) -> bool:
    del kwargs
    return any(isinstance(one, Arr) and not one.ndim for one in args)


def _complex_and_scalar(args: Any, kwargs: Any) -> bool:
    return _complex(args, kwargs) and not isinstance(args[1], Arr)


INSTEAD: Final = (
    OracleRow("__pow__ __ipow__", _complex_and_scalar,
        "NumPy takes roots and squares for some powers, array-api-strict makes arrays of them"),
    OracleRow("vecdot linalg.vecdot", _without_axes,
        "array-api-strict 2.6.1 gives a number an axis"),
    OracleRow("isin", lambda _, kwargs: kwargs.get("invert", False),
        "array-api-strict 2.6.1 ignores invert=True"),
    OracleRow("sign", _complex,
        "array-api-strict 2.6.1 divides complex numbers by their size, infinite ones too"),
    OracleRow("cumulative_prod",
        lambda args, kwargs: _complex(args, kwargs) or "complex" in repr(kwargs.get("dtype")),
        "array-api-strict 2.6.1 multiplies by the initial 1, which turns inf*1j into nan + inf*1j"),
    OracleRow("can_cast", lambda *_: True,
        "across kinds the answer is the implementation's, as promotion is"),
)  # fmt: skip
"""Calls for which NumPy is the oracle."""


_NUMPY_NAMES: Final = {"linalg.cross": "cross"}


def _plain(thing: Any) -> Any:
    """Turn a description into an object that NumPy accepts."""
    if isinstance(thing, Arr):
        return thing.fresh()
    if isinstance(thing, slice):
        return slice(*map(_plain, (thing.start, thing.stop, thing.step)))
    if isinstance(thing, Named):
        return None if thing.name == "device" else np.dtype(thing.name)
    if isinstance(thing, Foreign):
        return thing.values
    return type(thing)(map(_plain, thing)) if type(thing) in {tuple, list} else thing


def _told(result: Any) -> Any:
    """Turn a result of NumPy into plain facts."""
    if isinstance(result, (np.ndarray, np.generic)):
        return Fact(np.asarray(result), result.dtype.name)
    if isinstance(result, np.dtype):
        return Named(result.name)
    if isinstance(result, tuple):
        return ("tuple", getattr(result, "_fields", ()), *map(_told, result))
    return result


def by_numpy(path: str, action: Any, args: Any, kwargs: Any) -> Outcome:
    """Do the same with NumPy, whose names are those of the standard, near enough."""
    given = [_plain(one) for one in args]
    named = {key: _plain(one) for key, one in kwargs.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            todo = action or attrgetter(_NUMPY_NAMES.get(path, path))(np)
            return Outcome(_told(todo(*given, **named)))
        except Exception as error:  # noqa: BLE001 - any error is reported
            return Outcome(error=error)
