"""The API reference has every public name, and no other."""

from __future__ import annotations

import inspect
import pkgutil

import pytest

import interchange
from interchange import abi, testing, xp
from interchange.testing import producers, recording, strategies

MODULES = {
    "interchange": interchange.__all__,
    "interchange.xp": [name for name in xp.__all__ if name not in {"fft", "linalg"}],
    "interchange.xp.fft": xp.fft.__all__,
    "interchange.xp.linalg": xp.linalg.__all__,
    "interchange.abi": abi.__all__,
    "interchange.testing": testing.__all__,
    "interchange.testing.producers": [
        name for name in producers.__all__ if name not in testing.__all__
    ],
    "interchange.testing.strategies": [
        name
        for name, value in vars(strategies).items()
        if not name.startswith("_")
        and (
            name in strategies.__annotations__
            or (inspect.isfunction(value) and value.__module__ == strategies.__name__)
        )
    ],
}


@pytest.mark.parametrize(
    ("module", "name"), [(module, name) for module, names in MODULES.items() for name in names]
)
def test_every_public_name_is_documented(documented: set[str], module: str, name: str) -> None:
    """What a module promises has an entry under the name that people import it by."""
    assert f"{module}.{name}" in documented


def test_every_entry_exists(documented: set[str]) -> None:
    """What has an entry can be imported."""
    missing = [name for name in sorted(documented) if not _exists(name)]

    assert missing == []


def test_testing_modules_are_entered(documented: set[str]) -> None:
    """The modules that `interchange.testing` exports are entries, too."""
    assert {producers.__name__, recording.__name__, strategies.__name__} <= documented


def _exists(name: str) -> bool:
    try:
        pkgutil.resolve_name(name)
    except (ImportError, AttributeError):
        return False
    return True
