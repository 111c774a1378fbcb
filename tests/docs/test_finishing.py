"""The last step for the HTML of a page: rule ids are marked, and table heads have texts."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="module")
def finished(docs_module):
    """The filter of the templates."""
    return docs_module("finishing").finished


@pytest.mark.parametrize("text", ["DLP-RO-1", "DLP-STREAM-*", "IX-DRIVER-3"])
def test_a_rule_id_is_marked(finished, text):
    """Rule ids, also those of areas, are marked in any text."""
    assert finished(f"<p>see {text}.</p>") == f'<p>see <span class="rule">{text}</span>.</p>'


@pytest.mark.parametrize(
    "html",
    [
        '<a title="DLP-RO-1">it</a>',
        "<script>'DLP-RO-1'</script>",
        '<svg><text x="1">DLP-RO-1</text></svg>',
        "<!-- DLP-RO-1 -->",
        "<p>UTF-8 and RFC-1</p>",
    ],
)
def test_nothing_else_is_marked(finished, html):
    """Attributes, programs, drawings and texts that resemble an id are not marked."""
    assert finished(html) == html


def test_a_head_without_words_goes(finished):
    """A table without head texts loses its empty head."""
    cell = '<th class="head"><p></p></th>'

    assert finished(f'<thead>\n<tr class="row-odd">{cell}\n{cell}\n</tr>\n</thead><tbody>') == (
        "<tbody>"
    )


def test_a_corner_without_words_is_no_head(finished):
    """The other heads stay."""
    html = '<thead><tr><th class="head"><p></p></th><th class="head"><p>a</p></th></tr></thead>'

    assert finished(html) == ('<thead><tr><td></td><th class="head"><p>a</p></th></tr></thead>')


def test_code_in_a_table_may_be_broken_between_words(finished):
    """Code in a cell may be broken after punctuation, but not inside a name; other code is kept."""
    html = "<td><p><code>np.from_dlpack(x)</code></p></td><code>np.ones(3)</code>"

    assert finished(html) == (
        "<td><p><code>np.<wbr>from_dlpack(<wbr>x)</code></p></td><code>np.ones(3)</code>"
    )
