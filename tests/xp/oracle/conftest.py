"""What the oracle tests share: their helpers as the package `xp_oracle`, and the strict library.

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
    """Let no test see flags that another one set: they are global in array-api-strict."""
    array_api_strict.reset_array_api_strict_flags()
    yield
    array_api_strict.reset_array_api_strict_flags()
