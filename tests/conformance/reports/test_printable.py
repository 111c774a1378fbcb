"""All reports write out hidden characters."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, strategies as st

from interchange_conformance.reports import texts


@given(st.text())
def test_nothing_is_hidden(text):
    """Control, format and unassigned characters are escaped, except line breaks and tabs."""
    shown = texts.printable(text)

    hidden = {one for one in shown if unicodedata.category(one)[0] == "C"} - {"\n", "\t"}
    assert hidden == set()


@given(st.text())
def test_what_is_printed_has_an_encoding(text):
    """A lone surrogate is escaped."""
    assert texts.printable(text).encode("utf-8") is not None


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("größer → ∞", "größer → ∞"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("a\r\nb\rc", "a\nb\\x0dc"),
        ("\u202eabc", "\\u202eabc"),
        ("\ud800", "\\ud800"),
        ("\U000e0001", "\\U000e0001"),
        ("two\nlines\tand a tab", "two\nlines\tand a tab"),
    ],
)
def test_hidden_characters_are_written_out_as_in_python(text, shown):
    """All other characters are unchanged."""
    assert texts.printable(text) == shown
