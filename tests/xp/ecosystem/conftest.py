"""Fixtures for the tests of other libraries: the written calls, and their results.

SciPy decides at its import whether it accepts other arrays, so the calls are made in a child
process, one per library and namespace; `calls` has the programs that run there.
"""

from __future__ import annotations

import importlib
import json
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from packaging.version import Version

STANDS_FOR = {"elsewhere": "array_api_strict"}
"""Name of a backend in the scripts -> the library that computes."""
collect_ignore_glob = ["calls/*"]  # run by children, not collected

CALLS = Path(__file__).parent / "calls"
DOCS = Path(__file__).parents[3] / "docs"
LIBRARIES = {
    "scipy": ("scipy", "1.17"),
    "sklearn": ("scikit-learn", "1.9"),
    "array_api_extra": ("array-api-extra", "0.11"),
}
"""Module -> its distribution, and the release that the lists were written for, or a later one."""


def load(name):
    """Return a module of the folder of the calls."""
    sys.path.insert(0, str(CALLS))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(CALLS))


def pytest_generate_tests(metafunc):
    """Run what asks for a `library` with each, what asks for a `call`, too, with each of those."""
    if "call" in metafunc.fixturenames:
        rows = [
            (library, place, call)
            for library in LIBRARIES
            for place, calls in load(f"{library}_calls").CALLS.items()
            for call in calls
        ]
        ids = [".".join(filter(None, row)) for row in rows]
        metafunc.parametrize(("library", "place", "call"), rows, ids=ids)
    elif "library" in metafunc.fixturenames:
        metafunc.parametrize("library", LIBRARIES)


@pytest.fixture(scope="session")
def judging():
    """Return the module that judges a call."""
    return load("ecosystem_judging")


@pytest.fixture(scope="session")
def calls_of():
    """Return a function that gives the written calls of a library: place -> calls."""
    return lambda library: load(f"{library}_calls").CALLS


@pytest.fixture(scope="session")
def pages():
    """Return the module that writes the pages of verdicts."""
    sys.path.insert(0, str(DOCS / "_ext"))
    try:
        return importlib.import_module("ecosystem")
    finally:
        sys.path.remove(str(DOCS / "_ext"))


@pytest.fixture(scope="session")
def need_recent(need):
    """Return a function that skips a test where a library is missing, or too old for its list."""

    def check(library):
        need(library)
        distribution, floor = LIBRARIES[library]
        if Version(version(distribution)) < Version(floor):
            pytest.skip(f"{distribution} is older than {floor}")

    return check


@pytest.fixture(scope="session")
def report(run_isolated, need, need_recent):
    """Return a function that returns the results of the calls of a library."""
    found = {}

    def ask(library, namespace, layout="as-is", backend="numpy"):
        need_recent(library)
        need(namespace)
        need(STANDS_FOR.get(backend, backend))
        asked = (library, namespace, layout, backend)
        if asked not in found:
            found[asked] = json.loads(run_isolated(str(CALLS / "judge_calls.py"), *asked))
        return found[asked]

    return ask


@pytest.fixture(scope="session")
def verdicts(report):
    """Return a function that returns module, call -> verdict, detail."""

    def ask(library, *how):
        found = report(library, *how)["calls"]
        return {(place, call): found[place][call] for place in found for call in found[place]}

    return ask
