"""The page in Chromium, with text that contains markup and scripts."""

from __future__ import annotations

import pytest

from interchange.abi import Rule
from interchange_conformance.reports.catalogue import Catalogue, CheckFacts
from interchange_conformance.reports.html import as_html
from interchange_conformance.reports.model import Exchange

pytestmark = [pytest.mark.browser, pytest.mark.slow]

HOSTILE = (
    "</script><script>window.pwned = 1</script><img src=x onerror='window.pwned = 2'>"
    "<!--<script>\"'`${window.pwned = 3}&lt;svg/onload=window.pwned=4>\u2028\x00\u202e\ud800"
)


@pytest.fixture(scope="module")
def hostile_page(make_small, judged, tmp_path_factory):
    """A page on which every text of a library or a check contains an attack."""
    check = CheckFacts(f"a{HOSTILE}", "X-1", "producer", "x", "MUST", HOSTILE, HOSTILE, HOSTILE)
    facts = Catalogue(
        {check.name: check}, {"X-1": Rule("X-1", HOSTILE, HOSTILE, HOSTILE)}, {"x": HOSTILE}
    )
    script = "javascript:window.pwned=5"
    texts = {"evidence": HOSTILE, "output": HOSTILE, "reason": HOSTILE, "link": script}
    report = make_small(
        judged(f"{check.name}[0]", "fail", "unexpected-failure", **texts),
        judged(f"{check.name}[1]", "fail", releases=HOSTILE, **texts),
        judged(f"{check.name}[2]", "pass", "unexpected-pass", **texts),
        judged(f"{check.name}[{HOSTILE}]", "not-applicable", evidence=HOSTILE),
        name=HOSTILE, spec=HOSTILE, version=HOSTILE,
        grid=(Exchange(HOSTILE, HOSTILE, "wrong", HOSTILE),),
    )  # fmt: skip
    path = tmp_path_factory.mktemp("hostile") / "report.html"
    path.write_text(as_html(report, facts), encoding="utf-8")
    return path


def test_hostile_text_stays_text(browser, hostile_page):
    """The text of a library is shown in all places, and never executed."""
    browser.show(hostile_page)
    browser.run("document.getElementById('expand').click()")
    opened = browser.run(
        "const found = []; const dialog = document.getElementById('details');"
        "for (const button of document.querySelectorAll('[data-name]')) {"
        "  button.click(); found.push(dialog.querySelectorAll('img, script, svg').length);"
        "  dialog.close(); } return found"
    )

    made = browser.count("img, main script, [onerror], [onload], a[href^='javascript']")
    assert len(opened) == 4
    assert set(opened) == {0}
    assert made == 0
    assert browser.run("return window.pwned ?? null") is None
    assert browser.logs()[0] == []


def test_hostile_text_can_be_filtered_by(browser, hostile_page):
    """Names are encoded in the address and decoded again."""
    browser.show(hostile_page)
    browser.run("document.querySelector('#filters [name=library]').click()")
    address = browser.run("return location.hash.slice(1)")

    browser.show(hostile_page, address)

    assert browser.run("return document.querySelectorAll('#filters :checked').length") == 1
    assert browser.count("#libraries tbody tr") == 1


def test_hidden_characters_are_written_out(browser, hostile_page):
    """Text cannot change the direction of a line, or be invisible."""
    browser.show(hostile_page, "")

    told = browser.run("return document.body.textContent")
    assert "\\u202e" in told
    assert not {"\x00", "\u202e", "\ud800"} & set(told)
