"""Accessibility of the page: keyboard, telephones, paper, no script, and axe."""

from __future__ import annotations

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.slow]

PHONE = (390, 844)  # [pixels]
SMALL_PHONE = (320, 568)  # [pixels]
DARK = {"prefers-color-scheme": "dark"}
KNOWN_CELL = "producer/negotiation/DLP-VER-3/MUST/cuda.core"
FOCUSED = "return document.activeElement.dataset.name"
SHOWN = "return document.getElementById('details').open"
BODY_ROWS = "#producers tr.rule"


# ---------------------------------------------------------------- keyboard


def test_the_first_stop_skips_to_the_results(browser, page):
    """It is visible when it has the focus, and leads to the main part."""
    browser.show(page)

    browser.press("TAB")
    shown = browser.run(
        "const box = document.activeElement.getBoundingClientRect();"
        "return [document.activeElement.className, box.top >= 0]"
    )
    browser.press("ENTER")

    assert shown == ["skip", True]
    assert browser.run("return document.activeElement.id") == "main"


def test_details_open_and_close_by_keyboard(browser, page):
    """Enter opens a cell, Escape closes it, and the focus returns to the cell."""
    browser.show(page, "expand=copies")
    start = "producer/copies//NumPy"
    browser.run("document.querySelector(`[data-name='${arguments[0]}']`).focus()", start)

    browser.press("ARROW_DOWN", "ENTER")
    opened = browser.run(SHOWN), browser.run("return document.activeElement.id")
    browser.press("ESCAPE")

    assert opened == (True, "close")
    assert browser.run(SHOWN) is False
    assert browser.run(FOCUSED) == "producer/copies/DLP-COPY-1/MUST/NumPy"


def test_the_focus_stays_in_open_details(browser, page):
    """Tab cycles within the details."""
    browser.show(page, f"open={KNOWN_CELL}")
    inside = (
        "return document.activeElement === document.body"
        " || document.getElementById('details').contains(document.activeElement)"
    )

    stays = []
    for _ in range(6):
        browser.press("TAB")
        stays.append(browser.run(inside))

    assert all(stays)


def test_a_table_is_one_stop(browser, page):
    """Tab moves from table to table, not through hundreds of cells."""
    browser.show(page)

    stops = browser.run(
        "return [...document.querySelectorAll('table.verdicts')]"
        ".map((table) => table.querySelectorAll('button[tabindex=\"0\"]').length)"
    )
    assert stops == [1, 1, 1, 1]


def test_a_table_is_reached_with_tab(browser, page):
    """It is one of the next stops after the filters."""
    browser.show(page)
    browser.run("document.querySelector('#expand').focus()")
    inside = "return Boolean(document.activeElement.closest('#producers table'))"

    reached = []
    for _ in range(4):
        browser.press("TAB")
        reached.append(browser.run(inside))

    assert any(reached)


@pytest.mark.parametrize(
    ("key", "control", "reached"),
    [
        ("ARROW_RIGHT", False, "producer/readonly//PyTorch"),
        ("ARROW_LEFT", False, "producer/readonly//NumPy"),
        ("ARROW_DOWN", False, "producer/copies//array-api-strict"),
        ("ARROW_UP", False, "producer/lifetime//array-api-strict"),
        ("END", False, "producer/readonly//interchange"),
        ("PAGE_DOWN", False, "producer/exchange-api//array-api-strict"),
        ("PAGE_UP", False, "producer/capsule//array-api-strict"),
        ("END", True, "producer/exchange-api//interchange"),
    ],
)
def test_keys_move_in_a_table(browser, page, key, control, reached):
    """Arrows, Home and End, Page Up and Page Down follow the grid pattern of WAI-ARIA."""
    browser.show(page)
    start = "producer/readonly//array-api-strict"
    browser.run("document.querySelector(`[data-name='${arguments[0]}']`).focus()", start)

    browser.press(key, control=control)

    assert browser.run(FOCUSED) == reached


def test_home_moves_to_the_name_of_a_row(browser, page):
    """Enter on the name opens the rules of the area."""
    browser.show(page)
    start = "producer/copies//JAX"
    browser.run("document.querySelector(`[data-name='${arguments[0]}']`).focus()", start)

    browser.press("HOME", "ENTER")

    assert browser.run("return document.activeElement.ariaExpanded") == "true"
    assert browser.count(BODY_ROWS) == 4


def test_a_cell_with_the_focus_is_seen(browser, page):
    """It is not covered by the sticky headers, and has an outline."""
    browser.show(page, "expand=capsule&expand=cai", size=PHONE)
    browser.run("document.querySelector('#producers table button[tabindex=\"0\"]').focus()")

    browser.press("END", *["PAGE_DOWN"] * 3)
    seen = browser.run(
        "const button = document.activeElement; const box = button.getBoundingClientRect();"
        "const at = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);"
        "return [button.contains(at), getComputedStyle(button).outlineStyle]"
    )

    assert seen == [True, "solid"]


# ---------------------------------------------------------------- every reader


@pytest.mark.parametrize("size", [PHONE, SMALL_PHONE], ids=["390", "320"])
@pytest.mark.parametrize("fragment", ["", "expand=capsule&expand=cai", f"open={KNOWN_CELL}"])
def test_a_telephone_need_not_scroll_sideways(browser, page, size, fragment):
    """Tables scroll in their boxes; the page does not."""
    browser.show(page, fragment, size=size)
    browser.run("document.getElementById('panel').open = true")

    widths = browser.run("return [document.documentElement.scrollWidth, innerWidth]")
    assert widths == [size[0], size[0]]


def test_names_of_rows_stay_while_a_table_scrolls(browser, page):
    """The first column is visible at the end of the row."""
    browser.show(page, size=PHONE)

    left = browser.run(
        "const box = document.querySelector('#producers .scroll'); box.scrollLeft = 400;"
        "const head = document.querySelector('#producers tbody th');"
        "return [box.scrollLeft, head.getBoundingClientRect().x - box.getBoundingClientRect().x]"
    )
    assert left[0] > 100
    assert left[1] <= 2


def test_it_is_readable_without_a_script(browser, page):
    """All tables are open with words in their cells; controls that need the script are hidden."""
    browser.show(page, script=False)
    source = browser.tell("DOM.getDocument", depth=0)["root"]["nodeId"]

    def look(selector):
        found = browser.tell("DOM.querySelectorAll", nodeId=source, selector=selector)["nodeIds"]
        return [node for node in found if has_box(browser, node)]

    assert len(look("#producers tr.rule")) > 60
    assert look("#filters") == []
    assert look("dialog") == []
    assert look("main button") == []


def has_box(browser, node):
    """Return whether an element is rendered."""
    from selenium.common.exceptions import WebDriverException

    try:
        browser.tell("DOM.getBoxModel", nodeId=node)
    except WebDriverException:
        return False
    return True


@pytest.mark.parametrize("media", [{}, DARK], ids=["light", "dark"])
@pytest.mark.parametrize(
    ("fragment", "size"),
    [
        ("", (1280, 900)),
        ("expand=negotiation&expand=streams&library=PyTorch&status=unexpected", (1280, 900)),
        (f"open={KNOWN_CELL}", (1280, 900)),
        ("open=producer/streams//PyTorch", PHONE),
    ],
    ids=["first look", "filtered", "details", "telephone"],
)
def test_axe_has_no_complaint(browser, page, media, fragment, size):
    """Names, roles, contrast and order follow the requirements of assistive technology."""
    browser.show(page, fragment, media=media, size=size)

    assert browser.axe() == []


def test_nothing_moves_for_those_who_ask(browser, page):
    """Details slide in, unless reduced motion is preferred."""
    names = []

    for value in ("no-preference", "reduce"):
        media = {"prefers-reduced-motion": value}
        browser.show(page, f"open={KNOWN_CELL}", media=media)
        style = "getComputedStyle(document.getElementById('details')).animationName"
        names.append(browser.run(f"return {style}"))

    assert names == ["slide", "none"]


def test_paper_has_the_tables_only(browser, page):
    """Interactive elements are not printed, and no table is cut off."""
    browser.show(page)
    browser.tell("Emulation.setEmulatedMedia", media="print")

    hidden = browser.count("#filters, nav, .skip, dialog")
    overflow = browser.run("return getComputedStyle(document.querySelector('.scroll')).overflow")
    browser.tell("Emulation.setEmulatedMedia", media="")

    assert hidden == 0
    assert overflow == "visible"
