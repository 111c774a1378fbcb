"""Verdicts on a call: whether the result equals NumPy's, its array type, or the error raised.

A call is *wrong* if it returns without an error and any part of the result differs from NumPy's:
values, shape, element type, the dtype or device that an array reports, or the inputs afterwards.
"""

from __future__ import annotations

import builtins
import re
import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import ecosystem_data
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from types import ModuleType

_HOST = 1  # kDLCPU
_SCALARS = (bool, int, float, complex)
_OF_A_LATER_RELEASE = re.compile(
    r"NameError|TypeError.*unexpected keyword argument|InvalidParameterError"
)


class WrongError(Exception):
    """A difference from NumPy."""


def judge(
    call: str, names: Mapping[str, Any], xp: ModuleType, give: Callable[..., Any] | None = None
) -> tuple[str, str]:
    """Return a verdict on a call, and an explanation.

    ``ok``: as NumPy, in arrays of `xp` (or in scalars, as NumPy).  ``numpy``: as NumPy, and some
    of it in arrays or scalars of NumPy.  ``wrong``: see above.  ``raised``: an error.
    ``absent``: this release of the library has no such function or option.  ``broken``: with NumPy
    it is an error, too.
    """
    if re.split(r"[.(]", call)[0] not in {"xp", *names}:
        return "absent", ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the libraries, about themselves
        known = ecosystem_data.make()
        try:
            truth = _evaluate(call, names, np, known)
        except Exception as error:  # noqa: BLE001 - the other calls are judged all the same
            return "absent" if _OF_A_LATER_RELEASE.match(repr(error)) else "broken", repr(error)
        give = give or xp.asarray
        given = {name: give(array) for name, array in ecosystem_data.make().items()}
        try:
            found = _evaluate(call, names, xp, given)
        except Exception as error:  # noqa: BLE001 - any error of a library is a verdict
            return "raised", f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}"
        try:
            places = {xp.asarray(0.0).device, *(array.device for array in given.values())}
            foreign = sum([_compare(*pair, xp, places) for pair in _pairs("", truth, found)])
            _compare_inputs(known, given)
        except WrongError as error:
            return "wrong", str(error)
        except Exception as error:  # noqa: BLE001 - an unreadable result is no result
            return "wrong", f"the result cannot be read: {error!r}"
    return ("numpy", "") if foreign else ("ok", "")


def _evaluate(call: str, names: Mapping[str, Any], xp: ModuleType, arrays: dict[str, Any]) -> Any:
    """Return the result of a call with arrays of one library."""
    scope = {**names, "__builtins__": builtins, "xp": xp, "np": np, **arrays}
    return eval(call, scope)  # noqa: S307 - the calls are written beside this file


def _pairs(where: str, truth: Any, found: Any) -> Iterator[tuple[str, Any, Any]]:
    """Yield every leaf of a result, with its expected value."""
    if type(truth).__module__.startswith(("scipy.", "sklearn.")) and not isinstance(
        truth, Iterable
    ):
        truth, found = vars(truth), getattr(found, "__dict__", found)
    if isinstance(truth, dict):
        if not isinstance(found, dict) or set(truth) != set(found):
            raise WrongError(f"{where}: {type(found).__name__} in place of these keys: {[*truth]}")
        for key in truth:
            yield from _pairs(f"{where}[{key!r}]", truth[key], found[key])
    elif isinstance(truth, (tuple, list)):
        if not isinstance(found, (tuple, list)) or len(truth) != len(found):
            raise WrongError(f"{where}: {found!r:.60} in place of {len(truth)} parts")
        for i, (one, other) in enumerate(zip(truth, found, strict=True)):
            yield from _pairs(f"{where}[{i}]", one, other)
    else:
        yield where, truth, found


def _compare(where: str, truth: Any, found: Any, xp: ModuleType, places: set[Any]) -> bool:
    """Refuse a part that is not as it should be; whether it is an array of NumPy instead of ours.

    Where NumPy gives one of its scalars a scalar is as good as an array without dimensions.
    """
    if truth is None or isinstance(truth, str):
        if truth != found:
            raise WrongError(f"result{where}: {found!r:.60} in place of {truth!r:.60}")
        return False
    if not isinstance(truth, (np.ndarray, np.generic, *_SCALARS)):
        raise WrongError(f"result{where}: the table must ask for arrays, not {type(truth)}")
    ours = type(found) is type(xp.asarray(0.0))
    if not ours and not isinstance(found, (np.ndarray, np.generic, *_SCALARS)):
        raise WrongError(f"result{where}: {type(found).__name__} in place of an array")
    _compare_values(f"result{where}", np.asarray(truth), _read(found))
    if ours and xp is not np:
        _compare_words(f"result{where}", found, xp, places)
    return not ours and xp is not np and type(found) not in _SCALARS


def _compare_values(where: str, truth: np.ndarray, found: np.ndarray) -> None:
    """Refuse other shapes, element types or values."""
    if (found.shape, found.dtype) != (truth.shape, truth.dtype):
        raise WrongError(
            f"{where}: {found.dtype} {found.shape} in place of {truth.dtype} {truth.shape}"
        )
    if truth.dtype.kind in "fc":
        near = float(np.sqrt(np.finfo(truth.dtype).eps))
        equal = np.allclose(found, truth, rtol=near, atol=near, equal_nan=True)
    else:
        equal = bool(np.all(found == truth))
    if not equal:
        raise WrongError(f"{where}: {found!r:.200} in place of {truth!r:.200}")


def _compare_words(where: str, found: Any, xp: ModuleType, places: set[Any]) -> None:
    """Refuse an array whose attributes are wrong."""
    array = _read(found)
    says = (found.dtype, found.shape)
    is_so = (getattr(xp, array.dtype.name), array.shape)
    if says != is_so or found.device not in places:
        raise WrongError(f"{where}: says {says} on {found.device}, is {is_so} on one of {places}")


def _read(found: Any) -> np.ndarray:
    """Return an array, or a number, of any library as NumPy's."""
    is_elsewhere = hasattr(found, "__dlpack_device__") and found.__dlpack_device__()[0] != _HOST
    return np.asarray(found.to_device("cpu") if is_elsewhere else found)


def _compare_inputs(known: Mapping[str, np.ndarray], given: Mapping[str, Any]) -> None:
    """Refuse a call that modified its inputs, unless it does so with NumPy."""
    for name, array in known.items():
        _compare_values(f"{name} afterwards", array, _read(given[name]))
