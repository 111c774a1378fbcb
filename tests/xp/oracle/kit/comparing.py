"""When two outcomes agree, and which error classes are equivalent.

Source: array API standard 2025.12, "Accuracy": integers, booleans, shapes and types exactly, floats
closely, NaN where NaN is, the sign of zero kept.  Which class an error has is mostly left open; the
rule here: a class that shares its nearest built-in class with the one of array-api-strict, or a row
of `xp_oracle.differences`.
"""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from xp_oracle import differences
from xp_oracle.worlds import OURS, STRICT, Fact

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from xp_oracle.worlds import Outcome

_CLOSE: Final = {"float32": 1e-5, "complex64": 1e-5, "float64": 1e-12, "complex128": 1e-12}
_DEFAULT: Final = {"int64": np.dtype("int").name, "uint64": np.dtype("uint").name}
"""Default types of array-api-strict, and those of NumPy on this machine: as wide as pointers."""
_SIGNLESS: Final = ("linalg.", "fft.", "matmul", "tensordot", "vecdot", "cumulative_sum", "clip")
"""Functions in which a zero is a sum, or one of two equal bounds: its sign is not fixed."""


def built_in(error: Exception) -> set[type]:
    """Return the nearest built-in classes of an error, such as `IndexError` and `ValueError`."""
    found: set[type] = set()
    for one in type(error).__mro__:
        named = getattr(builtins, one.__name__, None) is one
        if named and not any(issubclass(below, one) for below in found):
            found.add(one)
    return found


def stands_for(path: str, strict: Exception, ours: Exception) -> bool:
    """Whether our error is of a class that will do where array-api-strict raises the other."""
    if built_in(strict) & built_in(ours):
        return True
    return any(
        row.covers(path, strict) and isinstance(ours, row.ours) for row in differences.ERRORS
    )


def in_order(path: str, told: Any) -> Any:
    """Sort the result of a ``unique_`` function by its values: their order is not specified."""
    if not path.startswith("unique_") or not (isinstance(told, Fact) or told[1]):
        return told
    if isinstance(told, Fact):
        return Fact(np.sort(told.values), told.dtype)
    kind, fields, *facts = told
    order = np.argsort(facts[0].values, stable=True)
    place = np.argsort(order)
    return (
        kind,
        fields,
        *(
            Fact(
                place[fact.values] if name == "inverse_indices" else fact.values[order], fact.dtype
            )
            for name, fact in zip(fields, facts, strict=True)
        ),
    )


def unlike(path: str, one: Any, other: Any) -> str:
    """Return the difference of two results, empty if they agree."""
    return next(_unlike(path, one, other), "")


def _unlike(path: str, one: Any, other: Any) -> Iterator[str]:
    """Yield every difference: types, containers, shapes, values."""
    if type(one) is not type(other):
        yield f"types: {type(one).__name__}, not {type(other).__name__}"
    elif isinstance(one, Fact):
        yield from _arrays_unlike(path, one, other)
    elif isinstance(one, tuple):
        if one[:2] != other[:2] or len(one) != len(other):
            yield f"containers: {one[:2]} of {len(one) - 2}, not {other[:2]} of {len(other) - 2}"
        for mine, theirs in zip(one[2:], other[2:], strict=False):
            yield from _unlike(path, mine, theirs)
    elif isinstance(one, dict):
        yield from _dicts_unlike(path, one, other)
    elif isinstance(one, (float, complex)):
        if not np.array_equal(one, other, equal_nan=True):
            yield f"values: {one!r}, not {other!r}"
    elif one != other:
        yield f"values: {one!r}, not {other!r}"


def _dicts_unlike(path: str, one: Any, other: Any) -> Iterator[str]:
    """Yield every difference of two results with the names of the parts."""
    if one.keys() != other.keys():
        yield f"names: {[*one]}, not {[*other]}"
    for name in one.keys() & other.keys():
        yield from _unlike(path, one[name], other[name])


def _arrays_unlike(path: str, one: Fact, other: Fact) -> Iterator[str]:
    """Yield every difference of two arrays."""
    if one.dtype not in {other.dtype, _DEFAULT.get(other.dtype)}:
        yield f"dtypes: {one.dtype}, not {other.dtype}"
    elif one.values.shape != other.values.shape:
        yield f"shapes: {one.values.shape}, not {other.values.shape}"
    elif path.startswith("empty"):
        return  # the elements are unspecified
    elif one.values.dtype.kind not in "fc":
        if not np.array_equal(one.values, other.values):
            yield f"values: {one.values.tolist()}, not {other.values.tolist()}"
    else:
        yield from _floats_unlike(path, one, other)


def _floats_unlike(path: str, one: Fact, other: Fact) -> Iterator[str]:
    """Yield every difference of two arrays of floats; parts are held against the whole number."""
    close, mine, theirs = _CLOSE.get(one.dtype, 1e-2), one.values, other.values
    with np.errstate(all="ignore"):
        scale = np.where(np.isfinite(theirs), np.abs(theirs), 0)
    if path.startswith(_SIGNLESS):
        scale = np.max(scale, initial=0)
    for part in (np.real, np.imag)[: 1 + np.iscomplexobj(mine)]:
        left, right = part(mine), part(theirs)
        with np.errstate(all="ignore"):
            far = ~np.isclose(left, right, rtol=close, atol=0, equal_nan=True)
            far &= ~(np.abs(left - right) <= close * scale)
        flipped = (left == 0) & (right == 0) & (np.signbit(left) != np.signbit(right))
        if far.any():
            yield f"values: {mine.tolist()}, not {theirs.tolist()}"
        if not path.startswith(_SIGNLESS) and flipped.any():
            yield f"sign of zero: {mine.tolist()}, not {theirs.tolist()}"


def verdict(path: str, strict: Outcome, ours: Outcome, numpy: Callable[[], Outcome] | None) -> str:
    """Return what is wrong with our outcome, empty if it agrees or a row of differences allows it.

    `numpy` does the same with NumPy, whose result ours must equal where array-api-strict refuses a
    call that the standard leaves open.
    """
    if strict.error is None and ours.error is None:
        return unlike(path, in_order(path, ours.value), in_order(path, strict.value))
    if strict.error is None:
        return f"raised {ours.error!r}, where {strict!r} is expected"
    if ours.error is not None:
        fits = stands_for(path, strict.error, ours.error)
        return "" if fits else f"raised {ours.error!r}, where {strict!r} is expected"
    rows = [row for row in differences.LENIENT if row.covers(path, strict.error)]
    if not rows:
        return f"gave {ours!r}, where {strict!r} is expected"
    if not rows[0].as_numpy or numpy is None:
        return ""
    expected = numpy()
    if expected.error is not None:
        return f"gave {ours!r}, where array-api-strict and NumPy refuse: {expected.error!r}"
    return unlike(path, ours.value, expected.value)


def _is_elsewhere(path: str, args: Any, kwargs: Any) -> bool:
    """Whether array-api-strict is not an oracle for a call."""
    return any(path in row.paths.split() and row.when(args, kwargs) for row in differences.INSTEAD)


def _is_stricter(path: str, args: Any, kwargs: Any, error: Exception) -> bool:
    """Whether a refusal of ours is written down."""
    return any(
        path in row.paths.split() and isinstance(error, row.ours) and row.when(args, kwargs)
        for row in differences.REFUSED
    )


def _by_strict(path: str, action: Any, args: Any, kwargs: Any) -> Outcome:
    """Do it with array-api-strict."""
    return STRICT.call(path if action is None else action, *args, **kwargs)


def check(
    path: str, action: Any = None, *args: Any, refusable: bool = False, **kwargs: Any
) -> None:
    """Do the same on both sides and fail unless the outcomes agree.

    `path` names the operation in the tables of differences, and is called without an `action`.  If
    `refusable`, an argument has a type that its parameter does not accept: a TypeError of ours is
    right, whatever the oracle does.
    """
    todo = path if action is None else action
    oracle = differences.by_numpy if _is_elsewhere(path, args, kwargs) else _by_strict
    expected = oracle(path, action, args, kwargs)
    ours = OURS.call(todo, *args, **kwargs)
    if refusable and isinstance(ours.error, (TypeError, DeprecationWarning)):
        return
    if ours.error is not None and _is_stricter(path, args, kwargs, ours.error):
        return
    wrong = verdict(path, expected, ours, lambda: differences.by_numpy(path, action, args, kwargs))
    given = ", ".join([*map(repr, args), *(f"{key}={one!r}" for key, one in kwargs.items())])
    assert not wrong, f"{path}({given}): {wrong}"
