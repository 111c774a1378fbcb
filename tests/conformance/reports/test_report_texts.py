"""Texts of all formats: sentences, shell commands and links."""

from __future__ import annotations

import shlex

import pytest

from interchange_conformance.reports import texts


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("a capsule is consumed once", "A capsule is consumed once."),
        ("__dlpack__() returns a PyCapsule", "__dlpack__() returns a PyCapsule."),
        ("max_version is a tuple", "max_version is a tuple."),
        ("Done!", "Done!"),
        ("", ""),
    ],
)
def test_rules_become_sentences(words, sentence):
    """Names keep their first letter."""
    assert texts.sentence(words) == sentence


@pytest.mark.parametrize("item", ["plain", "check[0-d]", "check[a b]", "check['$(x)`]"])
def test_a_shell_gives_the_item_back(item):
    """All characters in the brackets are quoted."""
    assert shlex.split(texts.again("my lib:x", item)) == [
        "interchange", "check", "my lib:x", "--only", item,
    ]  # fmt: skip


@pytest.mark.parametrize(
    "link", ["javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "x", "", "http:// a"]
)
def test_only_the_web_is_linked(link):
    """Other addresses are not linked."""
    assert texts.safe_link(link) == ""


def test_the_web_is_linked():
    """The address is unchanged."""
    assert texts.safe_link("https://example.org/1?a=b#c") == "https://example.org/1?a=b#c"


@pytest.mark.parametrize(("number", "words"), [(0, ""), (1, " (1 case)"), (3, " (3 cases)")])
def test_cases_are_counted(number, words):
    """Checks without cases have no count."""
    assert texts.cases(number) == words
