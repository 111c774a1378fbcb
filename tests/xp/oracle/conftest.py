"""Fixtures of the oracle tests: the helper package `xp_oracle`, and array-api-strict.

Source: array API standard 2025.12; the oracle is array-api-strict with its default flags.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import array_api_strict
import pytest

_PACKAGE = ModuleType("xp_oracle")
_PACKAGE.__path__ = [str(Path(__file__).parent / "kit")]
sys.modules.setdefault(_PACKAGE.__name__, _PACKAGE)


@pytest.fixture(autouse=True)
def _default_flags():
    """Reset the flags of array-api-strict, which are global, for every test."""
    array_api_strict.reset_array_api_strict_flags()
    yield
    array_api_strict.reset_array_api_strict_flags()
