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


@pytest.fixture(scope="module")
def api_pages(docs_module):
    """The module that describes the pages of objects."""
    return docs_module("api_pages")


def test_related_names_are_documented(api_pages, documented):
    """Every name under "See also" has an entry."""
    named = {
        f"{package}.{name}"
        for package, families in api_pages.RELATED.items()
        for family in families
        for name in family.split()
    }

    assert sorted(named - documented) == []


@pytest.mark.parametrize("package", [interchange, interchange.xp])
def test_every_function_has_related_names(api_pages, package):
    """Every public function of the two packages of functions refers to others."""
    names = [name for name in package.__all__ if inspect.isroutine(getattr(package, name))]

    assert len(names) > 10
    assert [name for name in names if not api_pages.related(f"{package.__name__}.{name}")] == [
        name for name in names if name == "viewable"
    ]


def test_options_belong_to_listed_classes(api_pages, docs_module):
    """Every class whose members are shown has a page."""
    assert {*api_pages.OPTIONS, *api_pages.METHODS, *api_pages.NAMES} <= docs_module(
        "api_names"
    ).listed()


def test_no_two_pages_differ_in_case_only(api_pages, docs_module):
    """The file names of pages are distinct on file systems that ignore case."""
    pages = [api_pages.NAMES.get(name, name) for name in docs_module("api_names").listed()]

    assert len({page.lower() for page in pages}) == len(pages)
