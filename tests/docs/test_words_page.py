"""The page of words: every module has a line, and odd words become fewer."""

from __future__ import annotations

import re

import pytest

LEFT = {"conformance": 8, "docs": 4, "src": 1, "tests": 117}
"""Folder -> maximum count of words of ``docs/_ext/words_left.txt``, which may only decrease."""
ENDINGS = {".c", ".h", ".md", ".py", ".toml"}
OTHERS = {
    "_build",
    "_generated",
    "build",
    "changelog.md",
    "changes",
    "words.md",
    "words-cuda.md",
    "words-conformance.md",
}


@pytest.fixture(scope="module")
def modules(docs_module):
    """The module that lists modules."""
    return docs_module("modules")


@pytest.mark.parametrize("package", ["interchange", "interchange_conformance"])
def test_every_module_has_a_line(modules, package):
    """Each module has one row, under its folder, with a sentence."""
    listed = [name for name in modules.PACKAGES if f"{name}.".startswith(f"{package}.")]
    page = "\n\n".join(map(modules.words, listed))

    for folder in modules.folders(package):
        for path in folder.glob("*.py"):
            line = modules.first_line(path)
            assert line, path
            assert modules.sentence(line) in page
    assert page.count("\n| `") == sum(
        path.name != "__init__.py" for path in modules.PACKAGES[package].rglob("*.py")
    )


def test_the_table_of_packages_is_that_of_the_docstrings(modules):
    """``python docs/_ext/modules.py`` writes it again."""
    assert_is_filled(modules, "contributing.md")


def test_the_tables_of_modules_are_those_of_the_docstrings(modules):
    """The same program writes them."""
    assert_is_filled(modules, "words.md")
    assert_is_filled(modules, "words-cuda.md")
    assert_is_filled(modules, "words-conformance.md")


def assert_is_filled(modules, name):
    """Assert that the tables of a page are up to date."""
    (page,) = (page for page in modules.PAGES if page.name == name)
    text = page.read_text(encoding="utf-8")
    assert "<!-- " in text
    assert modules.filled(text) == text, f"{name}: run python docs/_ext/modules.py"


def test_odd_words_become_fewer(root):
    """The words are to be replaced by plain ones; codespell refuses those that are gone."""
    lines = (root / "docs/_ext/words_left.txt").read_text(encoding="utf-8").splitlines()
    words = "|".join(line.partition("->")[0] for line in lines)
    pattern = re.compile(rf"(?<![A-Za-z])(?:{words})(?![A-Za-z])", re.IGNORECASE)
    found = {
        folder: sum(
            len(pattern.findall(path.read_text(encoding="utf-8")))
            for path in (root / folder).rglob("*")
            if path.suffix in ENDINGS and not OTHERS & {path.name, *path.parts}
        )
        for folder in LEFT
    }

    assert {folder: count for folder, count in found.items() if count > LEFT[folder]} == {}
