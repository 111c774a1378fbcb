"""The API reference has exactly the public names."""

from __future__ import annotations

import importlib
import inspect
import pkgutil

import pytest

import interchange
from interchange.testing import producers, recording, strategies

NO_REFERENCE = {"interchange.abi.rules", "interchange.cli", "interchange.cuda.llvm"}
"""The rule book, whose public part is in `interchange.abi`; the command; the code generator."""


def _public_modules():
    """Return the public modules, and the names in each one's ``__all__``."""
    found = {"interchange": [*interchange.__all__]}
    for module in pkgutil.walk_packages(interchange.__path__, "interchange."):
        parents = {module.name, module.name.rpartition(".")[0]}
        if "._" not in module.name and not parents & NO_REFERENCE:
            names = getattr(importlib.import_module(module.name), "__all__", [])
            found |= {module.name: [*names]} if names else {}
    found[strategies.__name__] = [
        name
        for name, value in vars(strategies).items()
        if not name.startswith("_")
        and (
            name in strategies.__annotations__
            or (inspect.isfunction(value) and value.__module__ == strategies.__name__)
        )
    ]
    return found


MODULES = _public_modules()


@pytest.mark.parametrize(
    ("module", "name"), [(module, name) for module, names in MODULES.items() for name in names]
)
def test_every_public_name_is_documented(documented, module, name):
    """Every public name of a module has an entry under the name that users import."""
    parent = module.rpartition(".")[0]
    is_of_parent = name in MODULES.get(parent, ())  # which is where users import it from

    assert f"{parent if is_of_parent else module}.{name}" in documented


def test_every_entry_exists(documented):
    """What has an entry can be imported."""
    missing = [name for name in sorted(documented) if not _exists(name)]

    assert missing == []


def test_testing_modules_are_entered(documented):
    """The modules that `interchange.testing` exports are entries, too."""
    assert {producers.__name__, recording.__name__, strategies.__name__} <= documented


def _exists(name):
    try:
        pkgutil.resolve_name(name)
    except (ImportError, AttributeError):
        return False
    return True
