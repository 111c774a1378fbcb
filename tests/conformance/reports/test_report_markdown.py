"""A report as Markdown: valid tables, and escaped text."""

from __future__ import annotations

import re

import pytest

from interchange_conformance.reports.markdown import as_markdown, plain
from interchange_conformance.reports.model import Exchange

ITEM = "capsules_are_named"
UNEXPECTED = "unexpected-failure"
HOSTILE = "a | b\n# c <script>x</script> **d** [e](f) `g` {h} $i$"


def tables_of(text):
    """Return the cells of every table."""
    found = [[]]
    for line in text.splitlines():
        if line.startswith("| "):
            found[-1].append(re.split(r" (?<!\\)\| ", f"{line[2:-2]} "[:-1]))
        elif found[-1]:
            found.append([])
    return [table for table in found if table]


@pytest.fixture(scope="module")
def text(report, catalogue):
    """The Markdown of the nine libraries."""
    return as_markdown(report, catalogue)


def test_every_table_has_as_many_cells_in_each_row(text):
    """Otherwise it would not be a table."""
    widths = [{len(row) for row in table} for table in tables_of(text)]

    assert len(widths) > 20
    assert [width for width in widths if len(width) != 1] == []


def test_it_has_every_part(text):
    """Each part has a heading of the second level."""
    assert re.findall("^## (.*)$", text, re.MULTILINE) == [
        "Unexpected",
        "Producers by rule",
        "Consumers by rule",
        "Producers of Arrow by rule",
        "Producers by consumers",
        "Known failures",
    ]


def test_it_says_how_it_was_made(text):
    """The first line says that the file is generated."""
    assert text.startswith("<!-- Written by: interchange check numpy array-api-strict torch")


def test_the_summary_counts(text):
    """Each library has a row."""
    assert tables_of(text)[0][2] == ["**NumPy**", "2.4.6", "0", "2", "0", "278", "227"]


def test_every_rule_has_its_row(text, catalogue):
    """The id is not marked up, so that the documentation can link it."""
    rules = set(re.findall(r"^\| ([A-Z]+(?:-[A-Z0-9]+)+): ", text, re.MULTILINE))

    assert rules == {check.rule for check in catalogue.checks.values()}


def test_a_known_failure_has_reason_link_releases_and_checks(text):
    """It is in the table of its library."""
    known = text[text.index("## Known failures") :]

    assert "### cuda.core" in known
    assert (
        "| DLP-VER-3 | MUST | It accepts capsules of major version 2. "
        "([discussion](<https://github.com/example/cuda-core/issues/602>)) | \\<1.3 | "
        "`producer_keeps_dlp_ver_3`, `consumer_keeps_dlp_ver_3` (4 cases) |"
    ) in known


def test_unexpected_results_are_a_list(text):
    """It has evidence, command and the number of cases."""
    assert (
        "- ✗ crash: **PyTorch**, DLP-STREAM-1 (MUST). A producer without streams takes stream=None"
        " only, and is passed nothing else. signal 11 (SIGSEGV) while reading the elements on the "
        "consumer's stream `interchange check torch --only 'producer_keeps_dlp_stream_1[0-d]'`"
        " and 3 more cases"
    ) in text


def test_the_grid_has_words(text):
    """There is a word beside every symbol."""
    part = text[text.index("## Producers by consumers") : text.index("## Known failures")]
    cells = [cell for row in tables_of(part)[0][2:] for cell in row[1:]]

    assert set(cells) == {"● shared", "○ copied", "— refused"}


def test_what_there_is_not_has_no_heading(written):
    """A run without unexpected results, grid and known failures is short."""
    told = written(as_markdown, (ITEM,))

    assert re.findall("^##.*$", told, re.MULTILINE) == ["## Producers by rule", "### Capsule form"]


def test_hostile_text_stays_text(written):
    """The text is on one line, without markup."""
    told = written(
        as_markdown,
        (ITEM, "fail", UNEXPECTED, {"evidence": HOSTILE}),
        ("copies_are_copies", "fail", "as-expected", {"reason": HOSTILE, "link": "https://a/|<>\n"}),
        name=HOSTILE, version=HOSTILE, spec=HOSTILE,
        grid=(Exchange(HOSTILE, HOSTILE, "wrong", HOSTILE),),
    )  # fmt: skip

    assert not re.search(r"(?<!\\)<script", told)
    assert re.findall(r"^# ", told, re.MULTILINE) == []
    assert all(len({len(row) for row in table}) == 1 for table in tables_of(told))


def test_backticks_do_not_end_code():
    """They are escaped."""
    assert plain("a `b` c") == "a \\`b\\` c"
