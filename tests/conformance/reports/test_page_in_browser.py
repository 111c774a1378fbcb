"""The page in Chromium: its contents, filters, addresses and the details of a cell."""

from __future__ import annotations

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.slow]

KNOWN_CELL = "producer/negotiation/DLP-VER-3/MUST/cuda.core"
DETAILS = "return document.getElementById('details').textContent"
BODY_ROWS = "#producers tr.rule"


# ---------------------------------------------------------------- loading


def test_it_shows_every_section(browser, page):
    """The sections are libraries, findings, a table per role, the grid and the known failures."""
    browser.show(page)

    assert browser.texts("main h2") == [
        "Libraries",
        "Producers by rule",
        "Consumers by rule",
        "Producers of Arrow by rule",
        "Producers by consumers",
        "Not as expected",
        "Known failures",
    ]


def test_it_asks_for_nothing_and_says_nothing(browser, page):
    """All features work without requests and without console messages."""
    browser.show(page)
    browser.choose("known", "MUST", "NumPy")
    browser.run("document.querySelector('#producers td button').click()")

    messages, asked = browser.logs()
    assert messages == []
    assert {address.partition("#")[0] for address in asked} <= {page.as_uri(), "data:,"}


def test_its_policy_forbids_the_network(browser, page):
    """A script in the page could not fetch anything."""
    browser.show(page)

    blocked = browser.driver.execute_async_script(
        "document.addEventListener('securitypolicyviolation', "
        "(event) => arguments[0](event.effectiveDirective));"
        "fetch('http://127.0.0.1:9/').catch(() => {});"
    )
    assert blocked == "connect-src"


def test_areas_are_closed_at_first(browser, page):
    """The initial view has one row per area."""
    browser.show(page)

    assert browser.count("#producers tr.area") == 10
    assert browser.count(BODY_ROWS) == 0


def test_an_area_opens_and_closes(browser, page):
    """The header shows and hides its rules, and its state is available to screen readers."""
    browser.show(page)
    click = "document.querySelector('#producers [data-area=copies] th button').click()"
    expanded = (
        "return document.querySelector('#producers [data-area=copies] th button').ariaExpanded"
    )

    before = browser.run(expanded)
    browser.run(click)
    opened = browser.run(expanded), browser.count(BODY_ROWS), browser.fragment()
    browser.run(click)

    assert before == "false"
    assert opened == ("true", 4, "#expand=copies")
    assert browser.count(BODY_ROWS) == 0


def test_every_rule_can_be_shown_at_once(browser, page, catalogue):
    """A button opens all areas."""
    browser.show(page)

    browser.run("document.getElementById('expand').click()")

    rules = {one.rule for one in catalogue.checks.values() if one.role == "producer"}
    assert browser.count(BODY_ROWS) >= len(rules)


# ---------------------------------------------------------------- filters


def test_libraries_are_columns_and_rows(browser, page):
    """Only the selected libraries remain, in every table."""
    browser.show(page)

    browser.choose("NumPy", "JAX")

    heads = browser.texts("#producers thead th[data-library]")
    rows = browser.texts("#libraries tbody th")
    grid = browser.count("#grid tbody td")
    assert [head.split()[0] for head in heads] == ["NumPy", "JAX"]
    assert [row.split()[0] for row in rows] == ["NumPy", "JAX"]
    assert grid == 4
    assert browser.fragment() == "#library=NumPy&library=JAX"


def test_an_area_that_is_chosen_is_the_only_one(browser, page):
    """The selected area is opened."""
    browser.show(page)

    browser.choose("copies")

    assert browser.texts("#producers tr.area .name") == ["Copies"]
    assert browser.count(BODY_ROWS) == 4


def test_severities_are_rows(browser, page):
    """Only the selected severity remains, and the sums of areas are updated."""
    browser.show(page)
    sums = "#producers [data-area=capsule] tr.area td"
    before = browser.texts(sums)

    browser.choose("SHOULD")
    browser.run("document.getElementById('expand').click()")

    severities = set(browser.texts(f"{BODY_ROWS} .severity"))
    assert severities == {"SHOULD"}
    assert browser.texts(sums) != before


def test_a_status_leaves_the_rows_that_have_it(browser, page):
    """Rows with an unexpected result remain, and their other cells are dimmed."""
    browser.show(page)

    browser.choose("unexpected")

    rows = browser.texts("main tr.rule[data-rule]", "dataset.rule")
    bright = browser.texts("tr.rule[data-rule] td[data-state]:not(.dim)", "className")
    assert set(rows) == {"DLP-VER-2", "DLP-LIFE-2", "DLP-STREAM-1"}
    assert set(bright) == {"unexpected"}


def test_what_filters_leave_is_announced(browser, page):
    """A status line for screen readers has the number of rows."""
    browser.show(page)
    line = "return document.querySelector('#showing[role=status]').textContent"
    before = browser.run(line)

    browser.choose("NumPy", "copies")

    assert before.startswith("All 9 libraries and ")
    assert browser.run(line).startswith("1 of 9 libraries, 8 of ")


def test_filters_that_leave_nothing_say_so(browser, page):
    """An empty table is replaced by a sentence."""
    browser.show(page)

    browser.choose("arrow", "NumPy")

    assert browser.texts("#producers .nothing") == ["Nothing here matches the filters."]
    assert browser.count("#producers .scroll") == 0


def test_filters_are_cleared(browser, page):
    """One button removes all filters, also from the address."""
    browser.show(page, "library=NumPy&status=known&severity=MUST")

    browser.run("document.getElementById('clear').click()")
    browser.wait()

    assert browser.count("#libraries tbody tr") == 9
    assert browser.fragment() == ""


def test_an_address_brings_its_filters(browser, page):
    """A copied address shows the same view in another browser."""
    browser.show(page, "library=cuda.core&area=negotiation&severity=MUST&status=known")

    chosen = "return [...document.querySelectorAll('#filters :checked')].map((e) => e.value)"
    assert browser.run(chosen) == ["cuda.core", "negotiation", "MUST", "known"]
    assert browser.count("#producers thead th[data-library]") == 1


def test_an_address_that_changes_is_followed(browser, page):
    """The back button restores the earlier filters."""
    browser.show(page, "library=NumPy")

    browser.run("location.hash = 'library=JAX&library=PyTorch'")
    browser.wait()

    assert browser.count("#libraries tbody tr") == 2


def test_an_address_of_nonsense_is_harmless(browser, page):
    """Unknown names are ignored."""
    browser.show(page, "library=&area=%00&open=../../x&expand=__proto__&%%%=1")

    assert browser.count("#libraries tbody tr") == 9
    assert browser.logs()[0] == []


# ---------------------------------------------------------------- details


def test_a_cell_opens_what_is_behind_it(browser, page):
    """Rule, fix, source, claim, evidence, reason, link, releases, advice and command are shown."""
    browser.show(page, f"open={KNOWN_CELL}")

    told = browser.run(DETAILS)
    links = browser.texts("#details a", "href")
    for words in (
        "cuda.core: DLP-VER-3",
        "Fix",
        "Source",
        "gave a capsule; BufferError was due.",
        "It accepts capsules of major version 2.",
        "<1.3",
        "If it fails",
        "interchange check cuda-core --only",
    ):
        assert words in told
    assert links == ["https://github.com/example/cuda-core/issues/602"]


def test_a_rule_opens_what_every_library_does(browser, page):
    """The header of a row shows all libraries side by side."""
    browser.show(page, "open=producer/negotiation/DLP-VER-3/MUST")

    heads = browser.texts("#details h3")
    assert heads[:3] == ["NumPy", "array-api-strict", "PyTorch"]
    assert len(heads) == 9


def test_an_area_opens_its_rules_the_worst_first(browser, page):
    """A cell of an area shows all results that it sums up."""
    browser.show(page, "open=producer/streams//cuda.core")

    heads = browser.texts("#details .rule > h3")
    assert heads[0] == "DLP-STREAM-3"
    assert len(heads) == 10


def test_an_exchange_opens_its_evidence(browser, page):
    """A cell of the grid shows the error."""
    browser.show(page, "open=grid/pyarrow/numba-cuda")

    assert "BufferError: only host memory" in browser.run(DETAILS)


def test_the_address_names_what_is_open(browser, page):
    """The address links to an open cell; closing the cell removes it."""
    browser.show(page, f"open={KNOWN_CELL}")
    opened = browser.fragment()

    browser.run("document.getElementById('close').click()")
    browser.wait()

    assert opened == f"#expand=negotiation&open={KNOWN_CELL}"
    assert browser.fragment() == "#expand=negotiation"
