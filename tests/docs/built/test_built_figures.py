"""The figures in Chromium: texts are readable on a telephone, and do not overlap."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.browser

WITH_FIGURES = (
    "index",
    "how-it-works",
    "overhead",
    "guides/arrays-as-columns",
    "guides/columns-and-tensors",
    "guides/gpu-arrays",
)
LEAST = 9.0  # height of text on a telephone [pixels]
SIZES = {"desktop": (1280, 800), "telephone": (400, 800)}  # [pixels]
HEIGHTS = """
return [...document.querySelectorAll("article svg[role=img] text")].map((text) => {
  const scale = text.getScreenCTM().a;
  return [text.textContent, parseFloat(getComputedStyle(text).fontSize) * scale];
});
"""
OVERLAPS = """
const found = [];
for (const figure of document.querySelectorAll("article svg[role=img]")) {
  const area = figure.getBoundingClientRect();
  const texts = [...figure.querySelectorAll("text")].map((text) =>
    [text.textContent, text.getBoundingClientRect()]);
  texts.forEach(([one, a], place) => {
    if (a.left < area.left - 1 || a.right > area.right + 1) found.push([one, "outside"]);
    for (const [other, b] of texts.slice(place + 1)) {
      const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (wide > 1 && high > a.height / 3) found.push([one, other]);
    }
  });
}
return found;
"""
COLOURS = """
return ["text", ".chip, path"].map((kind) => {
  const style = getComputedStyle(document.querySelector("article svg[role=img]")
    .querySelector(kind));
  return style.fill + style.stroke;
});
"""


@pytest.mark.parametrize("name", WITH_FIGURES)
def test_words_can_be_read_on_a_telephone(browser, built, name):
    """Texts are at least 9 pixels high."""
    browser.show(built / f"{name}.html", size=SIZES["telephone"])
    found = browser.run(HEIGHTS)

    assert found
    assert [one for one in found if one[1] < LEAST] == []


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", WITH_FIGURES)
def test_no_word_is_over_another(browser, built, name, size):
    """No text overlaps another or leaves its figure."""
    browser.show(built / f"{name}.html", size=SIZES[size])

    assert browser.run(OVERLAPS) == []


@pytest.mark.parametrize("name", ["index", "how-it-works", "guides/gpu-arrays"])
def test_a_figure_follows_the_theme(browser, built, name):
    """The same by the system's dark and by the theme's own switch, and another by light."""
    browser.show(built / f"{name}.html", media={"prefers-color-scheme": "light"})
    light = browser.run(COLOURS)
    browser.run("document.body.dataset.theme = 'dark'")
    switched = browser.run(COLOURS)
    browser.show(built / f"{name}.html", media={"prefers-color-scheme": "dark"})

    assert browser.run(COLOURS) == switched
    assert set(light).isdisjoint(switched)
