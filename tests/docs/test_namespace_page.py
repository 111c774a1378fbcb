"""The page of all names: the libraries that compute each, as recorded and as installed here."""

from __future__ import annotations

import json

import pytest

from interchange import xp
from interchange.xp._table import TABLE


@pytest.fixture(scope="module")
def computed(docs_module):
    """The module that records which library computes each name."""
    return docs_module("computed")


@pytest.fixture(scope="module")
def recorded(computed):
    """The records, by library."""
    return json.loads(computed.FOUND.read_text(encoding="utf-8"))


def test_every_library_was_asked(computed, recorded):
    """Every library with a backend was recorded."""
    assert set(recorded) == set(computed.NAMESPACES)


@pytest.mark.parametrize("library", ["numpy", "cupy", "torch", "jax"])
def test_what_is_written_is_so_here(computed, recorded, library):
    """The record is right for installed libraries; for others the names exist."""
    found = computed.lacking(library)
    lacks = recorded[library]["lacks"]

    assert set(lacks) <= set(TABLE)
    assert found is None or found["lacks"] == lacks


def test_the_table_has_every_function():
    """The table has exactly the functions of the namespace and its extensions."""
    functions = {name for name in xp.__all__ if callable(getattr(xp, name)) and name[0] != "_"}
    for extension in ("fft", "linalg"):
        functions |= {f"{extension}.{name}" for name in getattr(xp, extension).__all__}
    dtypes = {name for name in functions if isinstance(getattr(xp, name, None), type(xp.float32))}

    assert functions - dtypes == set(TABLE)


def test_the_page_has_a_row_for_every_function(tables):
    """Every function has a row with its description."""
    page = tables.namespace()

    assert all(f"interchange.xp.{name}`" in page for name in TABLE)
