"""NumPy's warnings of floating-point errors name the line that computes, and not one of ours."""

from __future__ import annotations

import contextlib
import itertools
import operator
import sys
import threading
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import interchange as ix
from interchange import xp
from interchange.xp import elementwise

if TYPE_CHECKING:
    from collections.abc import Callable

HUGE = 3e38  # in float32, twice of which is too much


def array(*values: float) -> ix.Array:
    return ix.asarray(np.array(values, "f4"))


def set_element(x: ix.Array) -> None:
    x[0] = 1e300


def divide_in_place(x: ix.Array) -> None:
    x /= 0


COMPUTED: dict[str, tuple[Callable[[], Any], str]] = {
    "x / 0": (lambda: array(1) / 0, "divide by zero encountered in divide"),
    "x / y": (lambda: array(1) / array(0), "divide by zero encountered in divide"),
    "1 / x": (lambda: 1 / array(0), "divide by zero encountered in divide"),
    "x / y, views": (lambda: array(1, 2)[1:] / array(1, 0)[1:], "divide by zero encountered in"),
    "0-d": (lambda: ix.asarray(np.array(1.0)) / 0, "divide by zero encountered in"),
    "x + y": (lambda: array(HUGE) + array(HUGE), "overflow encountered in add"),
    "x * y": (lambda: array(HUGE) * array(HUGE), "overflow encountered in multiply"),
    "x - y": (lambda: array(np.inf) - array(np.inf), "invalid value encountered in subtract"),
    "x ** 9": (lambda: array(HUGE) ** 9, "overflow encountered in power"),
    "x // 0": (lambda: array(1) // 0, "divide by zero encountered in floor_divide"),
    "x % 0": (lambda: array(1) % 0, "invalid value encountered in remainder"),
    "int // 0": (lambda: ix.asarray(np.array([1])) // 0, "divide by zero encountered in"),
    "x @ y": (lambda: array(np.inf) @ array(0), "invalid value encountered in"),
    "x /= 0": (lambda: divide_in_place(array(1)), "divide by zero encountered in divide"),
    "x[0] = 1e300": (lambda: set_element(array(1)), "overflow encountered in cast"),
    "xp.divide": (lambda: xp.divide(array(1), array(0)), "divide by zero encountered in divide"),
    "xp.log": (lambda: xp.log(array(0)), "divide by zero encountered in log"),
    "xp.sqrt": (lambda: xp.sqrt(array(-1)), "invalid value encountered in sqrt"),
    "xp.exp": (lambda: xp.exp(array(1000)), "overflow encountered in exp"),
    "xp.sum": (lambda: xp.sum(array(HUGE, HUGE)), "overflow encountered in reduce"),
    "xp.prod": (lambda: xp.prod(array(HUGE, HUGE)), "overflow encountered in reduce"),
    "xp.std": (lambda: xp.std(array(np.inf, 1)), "invalid value encountered in"),
    "xp.astype": (
        lambda: xp.astype(ix.asarray(np.array([1e300])), xp.float32),
        "overflow encountered in cast",
    ),
    "Array.astype": (
        lambda: ix.asarray(np.array([1e300])).astype("float32"),
        "overflow encountered in cast",
    ),
    "xp.reciprocal": (lambda: xp.reciprocal(array(0)), "divide by zero encountered in reciprocal"),
    "xp.cumulative_sum": (
        lambda: xp.cumulative_sum(array(HUGE, HUGE)),
        "overflow encountered in accumulate",
    ),
    "xp.linalg.vector_norm": (lambda: xp.linalg.vector_norm(array(HUGE, HUGE)), "overflow"),
}


def elementwise_functions() -> list[str]:
    """Return the names of the functions of elements, but for `clip`, which has other operands."""
    found = {id(value) for value in vars(elementwise).values() if callable(value)}
    return [name for name in xp.__all__ if id(getattr(xp, name)) in found and name != "clip"]


def warnings_of(compute: Callable[[], Any]) -> list[Any]:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        compute()
    return found


@pytest.mark.parametrize("what", COMPUTED)
def test_a_warning_names_the_line_of_the_caller(what: str) -> None:
    """The warning has the user's file and line, and NumPy's text."""
    compute, words = COMPUTED[what]

    found = warnings_of(compute)

    assert [one.category for one in found] == [RuntimeWarning]
    assert words in str(found[0].message)
    code = compute.__code__
    inner = {"x /= 0": divide_in_place, "x[0] = 1e300": set_element}.get(what)
    lines = {line for *_, line in (inner or compute).__code__.co_lines() if line}
    assert found[0].filename == code.co_filename == __file__
    assert found[0].lineno in lines


@pytest.mark.parametrize("what", COMPUTED)
def test_numpy_is_as_quiet_as_it_was_told_to_be(what: str) -> None:
    """With NumPy's errors ignored, no warning is issued."""
    with np.errstate(all="ignore"):
        assert warnings_of(COMPUTED[what][0]) == []


@pytest.mark.parametrize("what", COMPUTED)
def test_numpy_raises_where_it_was_told_to(what: str) -> None:
    """An error is NumPy's."""
    with np.errstate(all="raise"), pytest.raises(FloatingPointError):
        COMPUTED[what][0]()


@pytest.mark.parametrize("mode", ["call", "log"])
def test_numpys_callback_and_log_are_used(mode: str) -> None:
    """NumPy's modes call and log are honoured: the function or log is called, without a warning."""
    told: list[Any] = []

    class Listener:
        def write(self, text: str) -> None:
            told.append(text)

        def __call__(self, text: str, _: int) -> None:
            told.append(text)

    with np.errstate(divide=mode, call=Listener()):
        found = warnings_of(lambda: (xp.divide(array(1), array(0)), array(1) / 0))

    assert found == []
    assert len(told) == 2
    assert all("divide by zero" in text for text in told)


def test_modes_that_differ_are_each_heeded() -> None:
    """Each error has its own mode: ignored errors are ignored, the others are reported."""

    def compute() -> None:
        xp.log(array(0))
        xp.sqrt(array(-1))

    with np.errstate(divide="ignore"):
        assert [str(one.message) for one in warnings_of(compute)] == [
            "invalid value encountered in sqrt"
        ]


def test_modes_are_the_callers_afterwards() -> None:
    """The caller's modes are restored, also if a warning is an error."""
    before, callback = np.geterr(), np.geterrcall()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning, match="divide by zero"):
            xp.log(array(0))
        with pytest.raises(RuntimeWarning, match="divide by zero"):
            operator.truediv(array(1), 0)

    assert (np.geterr(), np.geterrcall()) == (before, callback)


def test_a_line_warns_once_by_default() -> None:
    """A warning is shown once per line of the caller, as in NumPy."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("default")
        for _ in range(3):
            xp.log(array(0))
        for _ in range(3):
            xp.log(array(0))

    assert len(found) == 2


def test_a_function_of_the_user_is_named_and_not_who_calls_it() -> None:
    """The frame is the first one outside interchange and NumPy: the user's function."""
    names: dict[str, Any] = {"xp": xp, "x": array(0), "__name__": "theirs"}
    program = compile("def f():\n\n    return xp.log(x)\n", "theirs.py", "exec")
    exec(program, names)  # noqa: S102 - a program of this test

    (found,) = warnings_of(names["f"])

    assert (found.filename, found.lineno) == ("theirs.py", 3)


def test_threads_do_not_see_each_others_modes() -> None:
    """Modes that are set while one computes are of its thread alone."""
    seen: list[Any] = []
    old = sys.getswitchinterval()
    done = threading.Event()

    def look() -> None:
        while not done.is_set():
            seen.append(np.geterr()["divide"])

    watcher = threading.Thread(target=look)
    sys.setswitchinterval(1e-5)
    try:
        watcher.start()
        for _ in range(3000):
            xp.add(array(1), array(1))
    finally:
        done.set()
        watcher.join()
        sys.setswitchinterval(old)

    assert set(seen) == {"warn"}


def test_numpy_that_keeps_its_modes_otherwise_is_left_alone() -> None:
    """With a NumPy that stores its modes differently the functions are unchanged."""
    from interchange._libraries.numpy_warnings import guards_of

    class Other:
        @staticmethod
        def geterr() -> dict[str, str]:
            return {"divide": "warn"}

        @staticmethod
        def seterr(**_: str) -> None:
            return None

        seterrcall = print

    assert [guard(operator.add) for guard in guards_of(Other)] == [operator.add] * 2


ODD = [
    np.array([0, -1, HUGE, np.inf, np.nan], "f4"),
    np.array([0j, 1e300 + 1e300j], "c16"),
    np.array([0, -1, 127], "i1"),
]


@pytest.mark.parametrize("name", elementwise_functions())
def test_no_function_of_elements_warns_elsewhere(name: str) -> None:
    """No element-wise function warns with a file of interchange or of NumPy."""
    function = getattr(xp, name)
    found = []
    for one, other in itertools.product(ODD, ODD):
        for operands in ((ix.asarray(one),), (ix.asarray(one), ix.asarray(other[:2]))):
            with warnings.catch_warnings(record=True) as warned:
                warnings.simplefilter("always")
                with contextlib.suppress(TypeError, ValueError, NotImplementedError):
                    function(*operands)
            found += [one.filename for one in warned]

    assert set(found) <= {__file__}
