"""Fixtures for tests of the docs: the repository, its pages, and the module that prints tables.

Nothing here needs Sphinx.
"""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs" / "_ext"))  # Sphinx is not needed for its modules
PAGES = sorted(
    path
    for path in (ROOT / "docs").rglob("*.md")
    if not {"_build", "_generated", "changes"} & set(path.relative_to(ROOT / "docs").parts)
)


def pytest_generate_tests(metafunc):
    """Run what asks for a `page` with each of them."""
    if "page" in metafunc.fixturenames:
        names = [str(path.relative_to(ROOT / "docs")) for path in PAGES]
        metafunc.parametrize("page", PAGES, ids=names)


@pytest.fixture(scope="session")
def root():
    """The repository."""
    return ROOT


@pytest.fixture(scope="session")
def pages():
    """Path of each page -> its text."""
    return {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in PAGES}


@pytest.fixture(scope="session")
def project():
    """The text of pyproject.toml (3.10 has no parser for it)."""
    return (ROOT / "pyproject.toml").read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def docs_module():
    """Return the function that imports a module of the docs' extensions, by its name."""
    return importlib.import_module


@pytest.fixture(scope="session")
def tables(docs_module):
    """The module that prints the tables of the docs."""
    return docs_module("tables")


@pytest.fixture
def programs(docs_module):
    """The module that runs programs for the docs."""
    return docs_module("programs")


@pytest.fixture(scope="session")
def documented(pages, docs_module):
    """Full names of the entries of the API pages, those of `other-names` included."""
    found = docs_module("api_names").described()
    for text in pages.values():
        for module in re.findall(r"^```\{other-names\} (\S+)$", text, re.MULTILINE):
            found |= {f"{module}.{name}" for name in importlib.import_module(module).__all__}
    return found
