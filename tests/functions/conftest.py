"""Fixtures for the tests of `convert`: a library of their own."""

from __future__ import annotations

import sys
import types

import pytest

from interchange._functions import targets
from interchange._libraries.target import Target

MINE = "library_of_this_test"


@pytest.fixture
def library(monkeypatch):
    """A library of our own, which drops read-only, and records what it was given."""
    module = types.ModuleType(MINE)
    module.given = []
    module.answer = module.given.append
    monkeypatch.setitem(sys.modules, MINE, module)
    row = Target(MINE, lambda m, array: m.answer(array), keeps_readonly=False)
    monkeypatch.setitem(targets.TARGETS, MINE, row)
    return module
