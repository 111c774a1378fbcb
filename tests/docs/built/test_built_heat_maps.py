"""The heat maps in Chromium: they fit a desktop, scroll on a telephone, and have their colours."""

from __future__ import annotations

import re

import pytest

pytestmark = pytest.mark.browser

PAGES = ("compatibility", "compatibility-columns", "conformance")
DESKTOP = (1280, 800)  # [pixels]
PHONE = (400, 800)  # [pixels]
TOO_WIDE = """
return [...document.querySelectorAll(".heat-map")].map((map) => map.scrollWidth - map.clientWidth)
"""
SCROLLED = """
return [...document.querySelectorAll(".heat-map")].map((map) => {
  map.scrollTo({left: 60, top: 90, behavior: "instant"});
  const area = map.getBoundingClientRect();
  const row = map.querySelector("tbody tr:nth-child(7) th").getBoundingClientRect();
  const column = map.querySelector("thead th:nth-child(5)").getBoundingClientRect();
  return [map.scrollLeft > 0, row.left - area.left, column.top - area.top];
});
"""
COLOURS = """
return ["pass", "must", "should", "quirk"].map((kind) => {
  const cell = document.querySelector(`.heat-map td.${kind}`);
  return getComputedStyle(cell).backgroundColor;
});
"""
LINKS = """
return [...document.querySelectorAll(".heat-map a")].map((link) => link.getAttribute("href"))
"""


@pytest.mark.parametrize("name", PAGES)
def test_a_heat_map_fits_a_desktop(browser, built, name):
    """All columns of every map are visible."""
    browser.show(built / f"{name}.html", size=DESKTOP)
    found = browser.run(TOO_WIDE)

    assert found
    assert max(found) <= 0


@pytest.mark.parametrize("name", PAGES)
def test_heads_stay_where_a_heat_map_scrolls(browser, built, name):
    """On a telephone the heads of rows stay at the left, and those of columns at the top."""
    browser.show(built / f"{name}.html", size=PHONE)
    (is_scrolled, left, top), *_ = browser.run(SCROLLED)

    assert is_scrolled
    assert (left, top) in {(0, 0), (0, 2)}  # with the space around the cells, or over it


@pytest.mark.parametrize("name", PAGES)
def test_the_links_of_a_heat_map_lead_somewhere(browser, built, name):
    """Every link leads to an existing page and anchor."""
    browser.show(built / f"{name}.html", size=DESKTOP)
    script = (
        "return [...document.querySelectorAll('.heat-map a')].map((a) => a.getAttribute('href'))"
    )
    found = sorted(set(browser.run(script)))
    ids = {}
    for page in {link.partition("#")[0] or f"{name}.html" for link in found}:
        ids[page] = set(re.findall(r'\bid="([^"]*)"', (built / page).read_text(encoding="utf-8")))

    assert found
    assert [
        link
        for link in found
        if (parts := link.partition("#"))[2] and parts[2] not in ids[parts[0] or f"{name}.html"]
    ] == []


def test_colours_follow_the_theme(browser, built):
    """The same by the system's dark and by the theme's own switch, and others by light."""
    page = built / "conformance.html"
    browser.show(page, media={"prefers-color-scheme": "light"})
    light = browser.run(COLOURS)
    browser.run("document.body.dataset.theme = 'dark'")
    switched = browser.run(COLOURS)
    browser.show(page, media={"prefers-color-scheme": "dark"})
    dark = browser.run(COLOURS)
    browser.run("document.body.dataset.theme = 'light'")

    assert browser.run(COLOURS) == light
    assert switched == dark
    assert set(light).isdisjoint(dark)
