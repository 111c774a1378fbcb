"""The page of the matrix in Chromium looks like that of a report, and works without a script."""

from __future__ import annotations

import pytest

from interchange_conformance.matrix.exchanging import VERDICTS, Cell, Matrix
from interchange_conformance.matrix.html import as_html
from interchange_conformance.matrix.samples import Sample
from interchange_conformance.matrix.tables import kinds_of

pytestmark = [pytest.mark.browser, pytest.mark.slow]

DESKTOP = (1280, 900)  # [pixels]
PHONE = (390, 844)  # [pixels]
DARK = {"prefers-color-scheme": "dark"}
REASON = "read-only memory, which the library cannot represent; pass copy=True"


@pytest.fixture(scope="module")
def matrix_page(tmp_path_factory):
    """A page with every library of the matrix, and every verdict."""
    kinds = kinds_of("cpu")
    samples = [Sample(one, None, "float32", [], 4096, readonly=True) for one in kinds]
    consumers = [one for one in kinds if one.target is not None]
    found = Matrix("float32", "cpu", samples, consumers, {}, {"MLX": "not installed"})
    for y, producer in enumerate(kinds):
        for x, consumer in enumerate(consumers):
            pair, verdict = (producer.name, consumer.name), VERDICTS[(x + y) % len(VERDICTS)]
            found.cells[pair] = Cell(*pair, verdict, "DLP-RO-3", REASON, REASON, 4096, 8192)
    path = tmp_path_factory.mktemp("matrix") / "matrix.html"
    path.write_text(as_html(found), encoding="utf-8")
    return path


@pytest.mark.parametrize("media", [{}, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "telephone"])
def test_axe_has_no_complaint(browser, matrix_page, media, size):
    """The page is checked with cells closed and open: names, roles, contrast and order."""
    browser.show(matrix_page, media=media, size=size)
    closed = browser.axe()
    browser.run("for (const one of document.querySelectorAll('details')) one.open = true")

    assert closed == []
    assert browser.axe() == []


def test_a_telephone_need_not_scroll_sideways(browser, matrix_page):
    """The table scrolls in its box, and the names of its rows stay visible."""
    browser.show(matrix_page, size=PHONE)

    widths = browser.run("return [document.documentElement.scrollWidth, innerWidth]")
    moved, left = browser.run(
        "const box = document.querySelector('#grid .scroll'); box.scrollLeft = 400;"
        "const head = document.querySelector('#grid tbody th');"
        "return [box.scrollLeft, head.getBoundingClientRect().x - box.getBoundingClientRect().x]"
    )

    assert widths == [PHONE[0], PHONE[0]]
    assert moved > 100
    assert left <= 2


def test_it_asks_for_nothing_and_says_nothing(browser, matrix_page):
    """Only the page is loaded, and its policy allows all of its contents."""
    browser.show(matrix_page)

    messages, asked = browser.logs()
    assert messages == []
    assert {address.partition("#")[0] for address in asked} <= {matrix_page.as_uri(), "data:,"}


def test_a_cell_opens_without_a_script(browser, matrix_page):
    """The reason, its rule and the links are then visible; the keyboard works as well."""
    browser.show(matrix_page)
    browser.run("document.querySelector('#grid td summary').focus()")
    before = browser.count("#grid td dl")

    browser.press("ENTER")

    assert (before, browser.count("#grid td dl")) == (0, 1)
    told = browser.run("return document.querySelector('#grid td dl').textContent")
    for words in (REASON, "DLP-RO-3", "0x1000", "0x2000"):
        assert words in told
