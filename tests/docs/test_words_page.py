"""The page of words: every module has its line, and words of a private vocabulary are gone."""

from __future__ import annotations

import importlib.util
import re
import sys

import pytest

GONE = {
    r"doors?": "functions, imports",
    r"habits?": "capabilities",
    r"leases?": "owners of managed tensors",
    r"lenders?": "exporters, producers",
    r"(check|choose)_lane|await_lane": "copy streams",
    r"nurser(y|ies)": "fork servers",
    r"_terms|tests/terms": "_types",
    r"_doors|tests/doors": "_functions",
    r"_core[./](_loans|_leases|_borrow|_reading)": "modules of the core",
    r"_array[./](halves|lanes|pieces|blocks|moving|speaking|keys)": "modules of Array",
    r"_streams[./](work|unfinished)": "pending work, completion",
    r"(?-i:STRAIGHT)|import-straight|export-loan": "what needs no negotiation, exported structs",
    r"take_fresh|take_managed|straight_import": "what the core consumes",
}
"""A word of a private vocabulary -> what stands there now."""


@pytest.fixture(scope="module")
def modules(root):
    """Return the module that lists modules."""
    folder = root / "docs" / "_ext"
    sys.path.insert(0, str(folder))
    try:
        spec = importlib.util.spec_from_file_location("modules_of_docs", folder / "modules.py")
        found = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(found)
    finally:
        sys.path.remove(str(folder))
    return found


@pytest.mark.parametrize("package", ["interchange", "interchange_conformance"])
def test_every_module_has_a_line(modules, package):
    """One row for each, under its folder, and what it says is a sentence."""
    page = modules.words(package)

    for folder in modules.folders(package):
        for path in folder.glob("*.py"):
            line = modules.first_line(path)
            assert line, path
            assert modules.sentence(line) in page
    assert page.count("\n| `") == sum(
        path.name != "__init__.py" for path in modules.PACKAGES[package].rglob("*.py")
    )


@pytest.mark.parametrize("word", GONE)
def test_words_of_a_private_vocabulary_are_gone(root, word):
    """From names and from sentences, in the source, the kit, the tests and the pages."""
    pattern = re.compile(rf"(?<![A-Za-z]){word}(?![A-Za-z])", re.IGNORECASE)
    files = [root / "README.md"]
    for folder, ending in (
        *(("src", "*.py"), ("conformance", "*.py"), ("tests", "*.py"), ("docs", "*.md")),
        *(("docs/_ext", "*.py"), ("conformance", "*.md")),
    ):
        files += (root / folder).rglob(ending)
    own = ("test_words_page.py", "test_words.py", "changelog.md")
    found = [
        f"{path.relative_to(root)}: {line.strip()}"
        for path in files
        if path.name not in own and not {"changes", "_build", ".venv"} & set(path.parts)
        for line in path.read_text(encoding="utf-8").splitlines()
        if pattern.search(line)
    ]
    found += [str(path) for path in files if path.name not in own and pattern.search(path.name)]

    assert not found, f"{GONE[word]}: " + "\n".join(found)
