"""SciPy, scikit-learn and array-api-extra with interchange Arrays: results of NumPy, or an error.

The calls are the written lists in the folder `calls`; array-api-strict is the reference for how
many of them can be expected to work with arrays of no known library.
"""

from __future__ import annotations

import importlib
import re

import pytest

pytestmark = [pytest.mark.interop, pytest.mark.isolated]

OURS = "interchange.xp"
STRICT = "array_api_strict"
WORKS = ("ok", "numpy")
FEWEST = {"scipy": 60, "sklearn": 40, "array_api_extra": 30}  # different functions and estimators

CHAPTERS = [
    *("linalg", "signal", "stats", "ndimage", "fft", "special", "cluster", "optimize"),
    *("integrate", "interpolate", "spatial", "differentiate"),
]


def working(found):
    """Return the calls that work."""
    return {call for call, (verdict, _) in found.items() if verdict in WORKS}


def test_no_call_is_silently_wrong(verdicts, library, place, call):
    """A call returns what it returns for NumPy arrays, and does not modify its inputs."""
    verdict, detail = verdicts(library, OURS)[place, call]
    if verdict == "absent":
        pytest.skip(f"this release of {library} has no such function or option")

    assert verdict in {*WORKS, "raised"}, detail


@pytest.mark.parametrize("layout", ["read-only", "strided"])
def test_no_layout_of_memory_makes_a_call_wrong(verdicts, library, layout):
    """Memory that must not be written is not, and that it is in pieces changes no result."""
    found = verdicts(library, OURS, layout)

    assert {call: detail for call, (verdict, detail) in found.items() if verdict == "wrong"} == {}


def test_what_works_with_numpy_works_where_torch_computes(verdicts, need, library):
    """The backend of the namespace changes no verdict: no call relies on NumPy."""
    need("array_api_compat")
    found = verdicts(library, OURS, "as-is", "torch")
    missing = working(verdicts(library, OURS)) - working(found)

    assert {call: found[call] for call in missing} == {}


def test_no_call_is_silently_wrong_off_the_host(verdicts, library):
    """On a device that NumPy cannot read, a call computes there or raises."""
    found = verdicts(library, OURS, "as-is", "elsewhere")

    assert {call: detail for call, (verdict, detail) in found.items() if verdict == "wrong"} == {}
    assert working(found)


def test_what_works_with_strict_works_here(verdicts, library, place, call):
    """Every call that works with array-api-strict works with interchange."""
    strict, _ = verdicts(library, STRICT)[place, call]
    verdict, detail = verdicts(library, OURS)[place, call]

    assert verdict in WORKS or strict not in WORKS, detail


def test_as_many_calls_work_as_with_strict(verdicts, library):
    """At least as many calls work as with array-api-strict."""
    ours, strict = (len(working(verdicts(library, xp))) for xp in (OURS, STRICT))

    assert ours >= strict > 0


def test_every_call_works_with_numpy(verdicts, library):
    """The reference of a call exists, and is the same when the call is repeated."""
    found = verdicts(library, "numpy")

    assert [call for call, (verdict, _) in found.items() if verdict not in {"ok", "absent"}] == []


def test_most_calls_work(verdicts, library):
    """The lists include calls that fail, and three of five calls work."""
    found = verdicts(library, OURS)
    there = [call for call, (verdict, _) in found.items() if verdict != "absent"]

    assert len(working(found)) >= 0.6 * len(there)


def test_the_list_is_long(calls_of, library):
    """Enough different functions are called for the claims to mean something."""
    called = {
        (place, re.split(r"[.(]", call)[0])
        for place, calls in calls_of(library).items()
        for call in calls
    }

    assert len(called) >= FEWEST[library]


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_every_chapter_of_scipy_is_called(calls_of, chapter):
    """Every function that accepts such arrays is called."""
    places = [place for place in calls_of("scipy") if place.partition(".")[0] == chapter]

    assert places


@pytest.mark.parametrize("module", ["array_api_extra", "array_api_extra.testing"])
def test_every_public_name_of_extra_is_called(calls_of, need_recent, module):
    """A name that a new version adds is missed here until it is written into the list."""
    need_recent("array_api_extra")
    public = set(importlib.import_module(module).__all__)
    called = {name for call in calls_of("array_api_extra")[""] for name in re.findall(r"\w+", call)}

    assert public - called == set()


def test_every_call_of_extra_works(verdicts):
    """No call of this library is refused."""
    found = verdicts("array_api_extra", OURS)

    assert [call for call, (verdict, _) in found.items() if verdict not in {"ok", "absent"}] == []
