"""The search of the docs: a search for a rule finds its row in the rule book first."""

from __future__ import annotations

import time

import pytest

from interchange.abi import RULES

pytestmark = pytest.mark.browser

ANSWER = "return document.querySelector('#search-results ul.search li a')?.getAttribute('href')"
TIME = 20.0  # that a search may take [seconds]


def _first(browser, built, words):
    """Return where the first result leads."""
    browser.driver.get(f"{(built / 'search.html').as_uri()}?q={words}")
    end = time.monotonic() + TIME
    while time.monotonic() < end:
        if found := browser.run(ANSWER):
            return str(found)
        browser.wait()
    raise AssertionError(f"no result for {words}")


@pytest.mark.parametrize(
    "rule", ["DLP-STREAM-2", "DLP-CAP-1", "IX-DRIVER-3", "BUF-FORMAT-2", "CPY-NPM-1"]
)
def test_a_rule_is_found_in_the_rule_book(browser, built, tables, rule):
    """The first result is its row."""
    assert rule in RULES

    assert _first(browser, built, rule) == tables.address(rule)


def test_every_rule_is_in_the_index(built, tables):
    """The entry has the anchor of the row: the search ranks index entries with all words first."""
    index = (built / "genindex.html").read_text(encoding="utf-8")

    assert [rule for rule in RULES if f'"{tables.address(rule)}"' not in index] == []
