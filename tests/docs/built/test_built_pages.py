"""Every page of the docs in Chromium: axe, unbroken rule ids and code, and the length of pages."""

from __future__ import annotations

from typing import NamedTuple

import pytest

pytestmark = pytest.mark.browser

LOOKS = {
    "desktop, light": ((1280, 800), {}),
    "telephone, dark": ((400, 800), {"prefers-color-scheme": "dark"}),
}
"""The views of a page: the size of the screen [pixels], and the colours."""

BROKEN_RULES = r"""
const rule = /\b(?:DLP|CAI|BUF|AI|ARROW|IX|HOST|CPY)(?:-[A-Z]+)*-\d+\b/g;
const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
const broken = [];
while (texts.nextNode()) {
  for (const found of texts.currentNode.data.matchAll(rule)) {
    const range = document.createRange();
    range.setStart(texts.currentNode, found.index);
    range.setEnd(texts.currentNode, found.index + found[0].length);
    const lines = new Set([...range.getClientRects()].map((line) => Math.round(line.top)));
    if (lines.size > 1) broken.push(found[0]);
  }
}
return broken;
"""
BROKEN_CODE = r"""
const broken = [];
for (const code of document.querySelectorAll("td code")) {
  const texts = document.createTreeWalker(code, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    for (const found of texts.currentNode.data.matchAll(/\w+/g)) {
      const range = document.createRange();
      range.setStart(texts.currentNode, found.index);
      range.setEnd(texts.currentNode, found.index + found[0].length);
      const lines = new Set([...range.getClientRects()].map((line) => Math.round(line.top)));
      if (lines.size > 1) broken.push(found[0]);
    }
  }
}
return broken;
"""
TOO_WIDE = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"

SCREEN = (1920, 1080)  # [pixels]
MOST_SCREENS = 12


class Seen(NamedTuple):
    """The results for a page, by view."""

    violations: dict[str, list[str]]
    broken_rules: dict[str, list[str]]
    broken_code: dict[str, list[str]]
    too_wide: dict[str, int]


@pytest.fixture(scope="module")
def seen(browser, built, name):
    """Check a page once for all tests, since loading it takes longest."""
    found = Seen({}, {}, {}, {})
    for look, (size, media) in LOOKS.items():
        browser.show(built / f"{name}.html", size=size, media=media)
        browser.wait()
        found.broken_rules[look] = browser.run(BROKEN_RULES)
        found.broken_code[look] = browser.run(BROKEN_CODE)
        found.too_wide[look] = browser.run(TOO_WIDE)
        found.violations[look] = browser.axe()
    return found


def test_axe_finds_nothing(seen):
    """axe finds no violation, on a light desktop and on a dark telephone."""
    assert seen.violations == {look: [] for look in LOOKS}


def test_rule_ids_are_whole(seen):
    """No rule id is broken across lines."""
    assert seen.broken_rules == {look: [] for look in LOOKS}


def test_words_of_code_are_whole(seen):
    """No name or number in the code of a table is broken across lines."""
    assert seen.broken_code == {look: [] for look in LOOKS}


def test_nothing_is_wider_than_the_screen(seen):
    """Wide elements scroll within the page, and the page does not scroll sideways."""
    assert seen.too_wide == dict.fromkeys(LOOKS, 0)


@pytest.mark.parametrize(
    "guide",
    [
        "faq",
        "guides/packaging",
        *(f"guides/cookbook/{one}" for one in ("memory", "media", "tables")),
    ],
)
def test_pages_to_look_things_up_in_are_short(browser, built, guide):
    """Symptoms, recipes and the guide on packaging are at most ten screens long."""
    browser.show(built / f"{guide}.html", size=(1920, 1080))

    assert browser.run("return document.documentElement.scrollHeight") / 1080 <= 10


def test_no_page_is_longer_than_twelve_screens(browser, built):
    """Every page, also of each object of the API, is at most twelve screens long on a desktop."""
    screens = {}
    for page in built.rglob("*.html"):
        browser.show(page, size=SCREEN)
        height = browser.run("return document.documentElement.scrollHeight")
        screens[page.relative_to(built).as_posix()] = height / SCREEN[1]

    assert {name: length for name, length in screens.items() if length > MOST_SCREENS} == {}
