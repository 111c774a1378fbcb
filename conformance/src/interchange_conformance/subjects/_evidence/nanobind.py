"""The behaviour of nanobind 3.1.0, through the extension of its description.

Source: https://github.com/wjakob/nanobind/blob/master/src/nb_ndarray.cpp
"""

from __future__ import annotations

import threading
from typing import Any, Final

from interchange_conformance.subjects._nanobind_build import extension
from interchange_conformance.zoo import host

ENDS: Final[dict[str, str]] = {}


def taken_capsules_are_renamed() -> None:
    """A capsule returned by ``__dlpack__`` keeps its name; its destructor is set to NULL."""
    x = host((6,))
    kept: Any = extension.take(x)
    assert x.loans[0].name == b"dltensor_versioned"
    assert x.loans[0].destructor_cleared
    del kept


def a_capsule_is_taken_once() -> None:
    """A capsule that a producer exports twice is imported twice."""
    x = host((6,)).but(repeat=True)
    first, second = extension.take(x), extension.take(x)
    assert extension.describe(first)[0] == extension.describe(second)[0]
    del first, second
    assert x.counts == (2,)


def of_two_threads_one_takes_a_capsule() -> None:
    """A capsule is imported by two threads."""
    x, taken = host((6,)).but(repeat=True), []
    threads = [threading.Thread(target=lambda: taken.append(extension.take(x))) for _ in range(2)]
    for step in (threading.Thread.start, threading.Thread.join):
        for thread in threads:
            step(thread)
    assert len(taken) == 2


def newer_majors_are_refused() -> None:
    """A struct of version 2.0 is imported, and its fields are read."""
    x = host((6,)).but(generation="versioned", version=(2, 0))
    _, shape, *_ = extension.describe(extension.take(x))
    assert shape == (6,)
