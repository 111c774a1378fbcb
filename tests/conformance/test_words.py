"""The kit is written in words of the field: those that only its authors knew are gone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GONE = {
    "cradle": "a fork server with nothing loaded",
    "crew": "an executor",
    "desk": "a worker",
    "door": "the library under test",
    "exchanging": "pair_exchange",
    "following": "child_process",
    "having_driver": "driver.availability",
    "lifeline": "a pipe from the parent",
    "nursery": "a fork server",
    "nurseries": "fork servers",
    "saying": "array_metadata",
    "wording": "printable",
}
"""Word -> what it is called now."""
FREE = {"exchanging", "following", "saying"}
"""Words of the language, which are gone as names of modules only."""
FILES = sorted(
    path
    for top in ("conformance", "tests/conformance", "docs/conformance")
    for path in (ROOT / top).rglob("*")
    if path.suffix in {".md", ".py", ".toml"} and path != Path(__file__)
)


def words_of(path: Path) -> str:
    """Return the text of a file, with the words of its names apart."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", path.read_text(encoding="utf-8"))


def test_there_is_something_to_look_at():
    """The kit, its tests and its guides."""
    assert len(FILES) > 200


@pytest.mark.parametrize("word", sorted(GONE.keys() - FREE))
def test_a_word_is_gone(word):
    """From names, docstrings and pages."""
    pattern = re.compile(rf"(?<![a-z]){word}s?(?![a-z])", re.IGNORECASE)
    found = [path.relative_to(ROOT).as_posix() for path in FILES if pattern.search(words_of(path))]

    assert found == [], f"it is {GONE[word]} now"


@pytest.mark.parametrize("word", sorted(FREE | GONE.keys()))
def test_no_module_has_the_name(word):
    """Nor has a test."""
    assert [path for path in FILES if path.stem in {word, f"test_{word}"}] == []
