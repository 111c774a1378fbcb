"""The tables of the docs have every row of the code's tables, and are well-formed."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, strategies as st
from stream_duties import DUTIES

import interchange
from interchange import abi
from interchange._streams.handles import ATTRIBUTES
from interchange._types.dtypes import all_dtypes
from interchange._types.library import all_deviations

STRUCTS = [name for name in abi.__all__ if hasattr(getattr(abi, name), "_fields_")]
STRUCTS = [name for name in STRUCTS if name.startswith("DL")]


def _render(tables):
    """Return every table, by name."""
    areas = sorted({tables.area(rule) for rule in abi.RULES})
    found = {
        name: getattr(tables, name)()
        for name in ("dtypes", "devices", "errors", "stream_objects", "targets", "deviations")
    }
    found |= {one.title: tables.duty_table(one) for one in DUTIES}
    return {**found, "rules": tables.rules(*areas), **{n: tables.struct(n) for n in STRUCTS}}


def _cells(row):
    """Return the cells of a row, split at pipes that are not escaped."""
    return re.split(r"(?<!\\)\|", row)[1:-1]


@pytest.mark.parametrize("rule", abi.RULES.values(), ids=lambda rule: rule.id)
def test_every_rule_is_on_the_page_once(tables, pages, rule):
    """Each rule is in one table, on the page of its address, with its id as an anchor."""
    page = pages[f"docs/{tables.address(rule.id).partition('.')[0]}.md"]
    asked = re.findall(r"^```\{rulebook\} (.*)$", page, re.MULTILINE)

    rows = [
        row
        for prefixes in asked
        for row in tables.rules(*prefixes.split()).splitlines()
        if f"[{rule.id}]{{#{rule.id.lower()}}} {rule.severity} " in row
    ]

    assert len(rows) == 1


@pytest.mark.parametrize("rule", abi.RULES.values(), ids=lambda rule: rule.id)
def test_a_rules_row_says_what_the_rule_says(tables, rule):
    """A rule's row has its text and fix verbatim, without the markup."""
    table = tables.rules(tables.area(rule.id))

    (row,) = [row for row in table.splitlines() if f"[{rule.id}]" in row]

    _, text, hint, source = (_plain(cell) for cell in _cells(row))
    assert (text, hint) == (rule.text.replace("`", ""), rule.hint.replace("`", ""))
    assert rule.source.partition(",")[0].partition(";")[0] in source


def _plain(cell):
    """Return a cell without the marks of Markdown."""
    return re.sub(r"\\([\\*_<>\[\]{}|$])", r"\1", cell.replace("`", "")).strip()


def test_an_area_without_rules_is_an_error(tables):
    """A misspelt area makes no empty table."""
    with pytest.raises(ValueError, match="no rule"):
        tables.rules("DLP-NOTHING")


def test_areas_below_an_area_belong_to_it(tables):
    """``BUF`` includes BUF-1 and BUF-FORMAT-1, and no name with merely the same beginning."""
    assert [tables.in_area(rule, "BUF") for rule in ("BUF-1", "BUF-FORMAT-1", "BUFFER-1")] == [
        True,
        True,
        False,
    ]


def test_every_element_type_has_a_row(tables):
    """The dtype table begins its rows with the names of all types, in their order."""
    rows = tables.dtypes().splitlines()[2:]

    assert [_plain(_cells(row)[0]) for row in rows] == [str(dtype) for dtype in all_dtypes()]


@pytest.mark.parametrize("one", DUTIES, ids=lambda one: one.title)
def test_every_duty_has_a_row(tables, one):
    """The table of a protocol has its values in order, and marks the illegal ones."""
    rows = [_cells(row) for row in tables.duty_table(one).splitlines()[2:]]

    assert [(_plain(row[0]), _plain(row[4])) for row in rows] == [
        (duty.value if duty.is_legal else f"{duty.value} ✗", duty.rule) for duty in one.rows
    ]


def test_every_table_of_duties_is_on_the_page(tables):
    """Each table is headed by its protocol and its device types."""
    text = tables.duties()

    assert [f"**{one.title}.**" in text and tables.duty_table(one) in text for one in DUTIES] == [
        True
    ] * len(DUTIES)
    assert "Types of device: `cuda_managed`." in text


def test_every_attribute_of_streams_has_a_row(tables):
    """The protocol comes first, then the attributes in the order of their lookup."""
    rows = tables.stream_objects().splitlines()[2:]

    assert [_plain(_cells(row)[0]) for row in rows] == ["__cuda_stream__()", *ATTRIBUTES]


def test_every_deviation_has_a_row(tables):
    """The deviation table is as long as the code's."""
    assert len(tables.deviations().splitlines()) == len(all_deviations()) + 2


def test_every_error_has_a_row(tables):
    """The error table has each public error, and what else catches it."""
    table = tables.errors()
    public = [getattr(interchange, name) for name in interchange.__all__]
    errors = [one for one in public if isinstance(one, type) and issubclass(one, Exception)]

    assert [f"| `{error.__name__}` |" in table for error in errors] == [True] * len(errors)
    assert "| `CopyNeededError` | `ExchangeError`, `BufferError`, `ValueError` |" in table


def test_every_target_has_a_row(tables):
    """The table of libraries is that of `convert`."""
    assert len(tables.targets().splitlines()) == len(interchange.TARGETS) + 2


def test_struct_tables_give_offsets(tables):
    """A struct's table has the offset of each field, with its C type."""
    assert tables.struct("DLDataType").splitlines()[2:] == [
        "| `code` | `uint8_t` | 0 |",
        "| `bits` | `uint8_t` | 1 |",
        "| `lanes` | `uint16_t` | 2 |",
    ]


def test_every_row_has_as_many_cells_as_the_head(tables):
    """Every row has as many cells as the head, for any text."""
    ragged = [
        (name, row)
        for name, table in _render(tables).items()
        for row in table.splitlines()
        if len(_cells(row)) != len(_cells(table.splitlines()[0]))
    ]

    assert ragged == []


@given(text=st.text("ab_.|`*<>[]{}()=' 1\\"))
def test_a_sentence_stays_in_its_cell(tables, text):
    """Any text is escaped so that it stays in its cell."""
    row = f"| {tables.sentence(text)} | end |"

    assert _cells(row)[-1] == " end "
    assert len(_cells(row)) == 2


def test_every_next_change_is_shown(tables, pages):
    """The pages of the changelog show each fragment once, as long as there are any."""
    asked = re.findall(r"^```\{next-release\} (.*)$", "\n".join(pages.values()), re.MULTILINE)
    kinds = " ".join(asked).split()
    folder = tables.DOCS / "changes"
    fragments = [path for kind in kinds for path in folder.glob(f"*.{kind}.md")]
    shown = tables.fragments(*kinds)

    assert sorted(kinds) == ["break", "feature", "fix", "rule"]
    assert shown.count("\n- ") == len(fragments)


def test_what_is_asked_in_order_is_said_in_one_place(tables):
    """The guide prints the steps of the docstring of ``asarray``, and has no separate list."""
    guide = (tables.DOCS / "guides" / "accept-any-array.md").read_text(encoding="utf-8")
    steps = re.findall(r"^(\d)\. ", tables.protocols(), re.MULTILINE)

    assert steps == re.findall(r"^ *(\d)\. ", interchange.asarray.__doc__ or "", re.MULTILINE)
    assert len(steps) > 5
    assert "```{protocol-order}\n```" in guide
    assert re.findall(r"^\d\. ", guide, re.MULTILINE) == []
