"""The page of all names: who computes what, as it was found, and as it is here."""

from __future__ import annotations

import json

import pytest

from interchange import xp
from interchange.xp._table import TABLE


@pytest.fixture(scope="module")
def computed(docs_module):
    """The module that finds out who computes what."""
    return docs_module("computed")


@pytest.fixture(scope="module")
def recorded(computed):
    """What was found, library by library."""
    return json.loads(computed.FOUND.read_text(encoding="utf-8"))


def test_every_library_was_asked(computed, recorded):
    """That there is a backend for."""
    assert set(recorded) == set(computed.NAMESPACES)


@pytest.mark.parametrize("library", ["numpy", "cupy", "torch", "jax"])
def test_what_is_written_is_so_here(computed, recorded, library):
    """Where the library is installed; otherwise only that the names are names."""
    found = computed.lacking(library)
    lacks = recorded[library]["lacks"]

    assert set(lacks) <= set(TABLE)
    assert found is None or found["lacks"] == lacks


def test_the_table_has_every_function():
    """Of the namespace and its extensions, and no other."""
    functions = {name for name in xp.__all__ if callable(getattr(xp, name)) and name[0] != "_"}
    for extension in ("fft", "linalg"):
        functions |= {f"{extension}.{name}" for name in getattr(xp, extension).__all__}
    dtypes = {name for name in functions if isinstance(getattr(xp, name, None), type(xp.float32))}

    assert functions - dtypes == set(TABLE)


def test_the_page_has_a_row_for_every_function(tables):
    """With what it does."""
    page = tables.namespace()

    assert all(f"interchange.xp.{name}`" in page for name in TABLE)
