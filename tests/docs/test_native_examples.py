"""Examples that need the native core and libraries of columns run, each page in one process."""

from __future__ import annotations

import re

import pytest

from .conftest import PAGES

BLOCK = re.compile(r"^```\{native-doctest\}([^\n]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
GUIDES = [path for path in PAGES if "```{native-doctest}" in path.read_text(encoding="utf-8")]
NEEDED = ("cuda.bindings.driver", "duckdb", "nanoarrow", "polars", "pyarrow")


def test_there_are_such_pages():
    """The guides on the C API, on columns and on read-only memory, the symptoms, and recipes."""
    names = ["arrays-as-columns.md", "c-api.md", "columns-and-tensors.md", "columns-on-a-gpu.md"]
    names += ["faq.md", "media.md", "read-only.md", "tables.md"]

    assert sorted(path.name for path in GUIDES) == names


@pytest.mark.interop
@pytest.mark.isolated
@pytest.mark.parametrize("guide", GUIDES, ids=lambda guide: guide.name)
def test_they_give_what_stands_below_them(programs, need, guide):
    """The output is the one shown, and standard error is empty."""
    found = BLOCK.findall(guide.read_text(encoding="utf-8"))
    blocks = [body for _, body in found]
    for name in {*NEEDED, *(name for libraries, _ in found for name in libraries.split())}:
        need(name)

    assert sum(block.count(">>> ") for block in blocks) > len(blocks)
    programs.run_examples(guide.name, "\n".join(blocks))


@pytest.mark.isolated
@pytest.mark.parametrize("example", [">>> 1 + 1\n3\n", ">>> raise SystemExit(1)\n"])
def test_an_example_that_gives_something_else_ends_the_build(programs, example):
    """The error names the page."""
    with pytest.raises(RuntimeError, match=r"^a page: "):
        programs.run_examples("a page", example)


@pytest.mark.isolated
def test_they_run_with_the_core_that_is_there(programs, monkeypatch):
    """The examples run with the available core, whichever core the docs are built with."""
    monkeypatch.setenv("INTERCHANGE_CORE", "none of these")

    programs.run_examples("a page", ">>> import interchange\n")
