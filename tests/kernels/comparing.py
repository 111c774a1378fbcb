"""Comparison of the results of a kernel with the expected results.

Source: IEEE 754 (units in the last place).
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np

from interchange import cuda

if TYPE_CHECKING:
    from collections.abc import Callable

    from .programs import Case

CLOSE = 8  # units in the last place of a case's `scale`


def ulps(found: np.ndarray, expected: np.ndarray) -> float:
    """Return the largest distance of two arrays in units of the last place.

    For complex numbers the maximum of both parts; infinite if only one is NaN.

    Examples
    --------
    >>> ulps(np.float32([1, np.nan]), np.float32([1 - 2**-23, np.nan]))
    2.0
    """
    found, expected = (_real(each) for each in (found, expected))
    with np.errstate(all="ignore"):
        unit = np.spacing(np.abs(expected)).astype(np.float64)
        away = np.abs(found.astype(np.float64) - expected.astype(np.float64)) / unit
    is_same = (found == expected) | (np.isnan(found) & np.isnan(expected))
    away = np.where(is_same, 0.0, np.where(np.isnan(away), math.inf, away))
    return float(away.max(initial=0.0))


def _real(array: np.ndarray) -> np.ndarray:
    """Return the parts of complex numbers; other numbers unchanged."""
    array = np.ascontiguousarray(array)
    if array.dtype.name == "bfloat16":
        return array.astype(np.float32)
    return array.view(array.real.dtype) if array.dtype.kind == "c" else array


def is_same(found: np.ndarray, expected: np.ndarray) -> bool:
    """Return whether two arrays have the same bits, except for the payloads of NaN."""
    if found.dtype != expected.dtype or found.shape != expected.shape:
        return False
    if found.dtype.names:
        return all(is_same(found[name], expected[name]) for name in found.dtype.names)
    found, expected = (_real(each) for each in (found, expected))
    if found.dtype.kind != "f":
        return np.array_equal(found, expected)
    is_sign_same = (np.signbit(found) == np.signbit(expected)) | np.isnan(found)
    return np.array_equal(found, expected, equal_nan=True) and bool(is_sign_same.all())


def wrong(case: Case, found: dict[int, np.ndarray], expected: dict[int, np.ndarray]) -> list[str]:
    """Return the arguments that are not as expected, and their distance from it."""
    findings = []
    for place, array in expected.items():
        if case.scale:
            away = np.abs(found[place] - array).max(initial=0) / np.spacing(case.scale)
            is_right = bool(away <= CLOSE)
        else:
            is_right = is_same(found[place], array)
            away = ulps(found[place], array) if array.dtype.kind in "fc" else math.nan
        if not is_right:
            findings.append(f"argument {place}: {away} ulp\n{found[place]}\n{array}")
    return findings


def run_in_threads(count: int, work: Callable[[int], Any]) -> None:
    """Call a function with each number below a count, every call in a thread of its own."""
    with ThreadPoolExecutor(count) as pool:
        for done in [pool.submit(work, number) for number in range(count)]:
            done.result()


def on_host(kernel: Any, dynamic: int = 0) -> Callable[..., Any]:
    """Return a function for `left_by` that runs a kernel over the arrays themselves."""
    return lambda grid, block, given: kernel[grid, block, None, dynamic](*given)


def on_device(kernel: Any, dynamic: int = 0) -> Callable[..., Any]:
    """Return a function for `left_by` that runs a kernel over copies on the device."""

    def launch(grid: Any, block: Any, given: Any) -> None:
        there = [cuda.to_device(x) if isinstance(x, np.ndarray) else x for x in given]
        kernel[grid, block, None, dynamic](*there)
        for x, copy in zip(given, there, strict=True):
            if x is not copy:
                x[...] = np.asarray(copy.to_device("cpu"))

    return launch


def left_by(run: Callable[..., Any], case: Case) -> dict[int, np.ndarray]:
    """Return the arguments of a case after a run, which uses copies of them."""
    arguments = [np.copy(each) if isinstance(each, np.ndarray) else each for each in case.arguments]
    run(case.grid, case.block, arguments)
    return {place: arguments[place] for place in case.expected}
