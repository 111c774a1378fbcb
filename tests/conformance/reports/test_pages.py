"""HTML pages: all facts are escaped, and a template with a missing fact is an error."""

from __future__ import annotations

import re

import pytest
from jinja2 import UndefinedError

from interchange_conformance.reports.exchanges import Cell, Exchanges, Fact, Row
from interchange_conformance.reports.pages import Section, render, why_no_pages

HOSTILE = "</style><script>x()</script><img src=x onerror=x()>\"'&lt;<!--"
HIDDEN = "\x00\x1b\u202e\u2028\ud800\U000e0001"
FACTS = {"title": "A title", "is_bad": False, "found": "It is well.", "facts": (), "sections": ()}


def page_of(words):
    """Return a page with a text in every place."""
    row = Row(words, words, [Cell("pass", words, words, [Fact(words, words, is_code=True)]), None])
    table = Exchanges(words, [("pass", words, words, words)], [words, words], [row])
    section = Section("grid", words, "exchanges.html", table)
    facts = {"title": words, "found": words, "facts": [words], "sections": [section]}
    return render("page.html", **{**FACTS, **facts})


def test_text_is_no_markup():
    """Text with markup creates and ends no element; only the style is not escaped."""
    tags = re.compile(r"<[a-z/!][^>]*")

    shown = page_of(HOSTILE)

    assert "<script" not in shown
    assert "<img" not in shown
    assert [one.split()[0] for one in tags.findall(shown)] == [
        one.split()[0] for one in tags.findall(page_of("harmless"))
    ]


def test_text_hides_nothing():
    """Hidden characters are escaped everywhere on the page."""
    shown = page_of(f"a{HIDDEN}b")

    assert not set(HIDDEN) & set(shown)
    assert shown.count(r"a\x00\x1b\u202e\u2028\ud800\U000e0001b") > 10
    assert shown.encode("utf-8")


def test_names_may_be_broken_after_their_dots():
    """The parts between the dots are escaped."""
    assert ">a&lt;b.<wbr>c</th>" in page_of("a<b.c")


@pytest.mark.parametrize("fact", FACTS)
def test_a_fact_that_is_forgotten_is_an_error(fact):
    """No page with missing facts is returned."""
    facts = {name: told for name, told in FACTS.items() if name != fact}

    with pytest.raises(UndefinedError, match=fact):
        render("page.html", **facts)


@pytest.mark.parametrize("cell", [None, Cell("pass", "●", "shared")])
def test_a_cell_opens_where_there_is_something_behind_it(cell):
    """An empty cell has no contents, which the script of the kit's page relies on."""
    table = Exchanges("", (), ["c"], [Row("p", "", [cell])])
    section = Section("grid", "Grid", "exchanges.html", table)

    shown = render("page.html", **{**FACTS, "sections": [section]})

    assert "<details>" not in shown
    assert ("<td></td>" in shown) is (cell is None)


@pytest.mark.parametrize("missing", ["jinja2", "markupsafe"])
def test_without_jinja2_it_is_said_what_to_install(run_isolated, missing):
    """The command uses the current interpreter."""
    program = (
        f"import sys; sys.modules[{missing!r}] = None\n"
        "from interchange_conformance.reports.pages import why_no_pages\nprint(why_no_pages())"
    )

    said = run_isolated(program).strip()

    assert said.startswith("pages need Jinja2, which is not installed; install it with: ")
    assert said.endswith(" -m pip install 'jinja2>=3.1'")
    assert why_no_pages() is None


def test_nothing_loads_jinja2_before_a_page_is_made(run_isolated):
    """Neither the command nor the module of pages loads it."""
    program = (
        "import sys, interchange_conformance.cli.options, interchange_conformance.reports.pages\n"
        "print([name for name in ('jinja2', 'markupsafe') if name in sys.modules])"
    )

    assert run_isolated(program).strip() == "[]"
