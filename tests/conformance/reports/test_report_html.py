"""The page as text: complete, self-contained, readable without a script, and escaped."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import pytest

from interchange.abi import Rule
from interchange_conformance.reports.catalogue import Catalogue, CheckFacts
from interchange_conformance.reports.html import as_html
from interchange_conformance.reports.model import Exchange

VOID = {"meta", "link", "input", "img", "wbr"}
ITEM = "capsules_are_named"
HOSTILE = "</script><script>x()</script><img src=x onerror=x()>\"'&lt;<!--\x00\u202e\ud800"


class Reader(HTMLParser):
    """The contents of a page: its elements and their texts."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.elements = []
        self.texts = {}
        self.open = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        """Record an element."""
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
            self.texts.setdefault(tag, []).append("")

    def handle_endtag(self, tag):
        """End the innermost element, which must have this name."""
        assert self.open.pop() == tag

    def handle_startendtag(self, tag, attrs):
        """Record an element without contents."""
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data):
        """Add text to the innermost element."""
        if self.open:
            self.texts[self.open[-1]][-1] += data

    def all_of(self, name):
        """Return all values of an attribute."""
        return [attrs[name] or "" for _, attrs in self.elements if name in attrs]


@pytest.fixture(scope="module")
def text(report, catalogue):
    """The page of the nine libraries."""
    return as_html(report, catalogue)


@pytest.fixture(scope="module")
def page(text):
    """The parsed page."""
    return Reader(text)


# ---------------------------------------------------------------- form


def test_every_element_is_closed(page):
    """Elements are closed in reverse order."""
    assert page.open == []


def test_ids_are_unique(page):
    """Links and labels have unique targets."""
    ids = page.all_of("id")

    assert len(set(ids)) == len(ids)
    assert {link[1:] for link in page.all_of("href") if link.startswith("#")} <= set(ids)
    assert set(page.all_of("aria-labelledby")) <= set(ids)


def test_it_is_not_too_big(text):
    """A telephone can load it."""
    assert len(text.encode("utf-8")) < 1_000_000


def test_it_is_made_for_every_screen(page):
    """Language, width and both colour schemes are set."""
    names = {
        attrs.get("name"): attrs.get("content") for tag, attrs in page.elements if tag == "meta"
    }

    assert ("html", {"lang": "en"}) in page.elements
    assert names["viewport"] == "width=device-width, initial-scale=1"
    assert names["color-scheme"] == "light dark"


# ---------------------------------------------------------------- self-contained


def test_it_fetches_nothing(text, page):
    """Neither an element nor a style loads an address."""
    loaded = {"src", "srcset", "data", "poster", "action", "formaction", "background", "manifest"}
    style, *_ = page.texts["style"]

    assert [name for _, attrs in page.elements for name in attrs if name in loaded] == []
    assert [
        tag for tag, attrs in page.elements if tag == "link" and attrs["href"] != "data:,"
    ] == []
    assert not re.search(r"url\(|@import", style)
    assert "http-equiv" in text


def test_its_policy_knows_its_style_and_script_only(text, page):
    """The policy has their hashes: nothing else on the page may run."""
    (policy,) = (attrs["content"] for _, attrs in page.elements if "http-equiv" in attrs)
    style, script = page.texts["style"][0], page.texts["script"][1]

    assert policy is not None
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    for part in (style, script):
        digest = base64.b64encode(hashlib.sha256(part.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
        assert f">{part}<" in text


def test_no_element_has_a_style_or_a_handler(page):
    """The policy would block them."""
    attributes = {name for _, attrs in page.elements for name in attrs}

    assert {name for name in attributes if name == "style" or name.startswith("on")} == set()


# ---------------------------------------------------------------- before scripts run


def test_every_subject_has_its_row_and_columns(page, report):
    """Each is in the table of libraries, in two or three tables of rules, and in the grid."""
    heads = [
        attrs["data-library"]
        for tag, attrs in page.elements
        if tag == "th" and "data-library" in attrs
    ]

    for subject in report.subjects:
        assert heads.count(subject.name) == len(subject.roles) + 1


def test_every_cell_says_in_a_word_how_it_went(text):
    """Colours and symbols are not sufficient, since symbols are not read out."""
    cells = re.findall(r'<td class="[\w-]+" data-state="[\w-]+" data-of="[\d/]+">(.*?)</td>', text)

    assert len(cells) > 2000
    for cell in cells:
        assert re.fullmatch(
            r'<i aria-hidden="true">.</i> '
            r'(?:<span>[a-z/ ]+</span>|<span class="unseen">[a-z/ ]+, </span><span>\d+/\d+</span>)',
            cell,
        ), cell


def test_filters_are_hidden_until_they_work(page):
    """Without a script they would have no effect."""
    (form,) = (attrs for tag, attrs in page.elements if tag == "form")

    assert "hidden" in form


def test_findings_are_there(text, page):
    """Unexpected failures have evidence, advice and command; known ones have reasons."""
    assert "signal 11 (SIGSEGV) while reading the elements" in " ".join(page.texts["pre"])
    assert "interchange check torch --only" in " ".join(page.texts["code"])
    assert "It accepts capsules of major version 2." in text


@pytest.mark.parametrize(
    ("item", "words", "verdict"),
    [
        ((ITEM,), "1 library, 1 result, all as expected.", "good"),
        ((ITEM, "fail", "unexpected-failure"), "1 library, 1 result, 1 not as ", "bad"),
    ],
)
def test_it_says_how_the_run_went(written, item, words, verdict):
    """The result is at the top."""
    told = written(as_html, item)

    assert re.sub("<a [^>]*>", "", told).count(f'<p class="found {verdict}"><span>{words}') == 1


# ---------------------------------------------------------------- data


def test_its_data_is_the_report(page, report, catalogue):
    """It has every item, check and rule, so that details need no other source."""
    told = json.loads(page.texts["script"][0])["report"]

    texts = json.loads(page.texts["script"][0])["texts"]
    items = [[texts[one["item"]] for one in subject["results"]] for subject in told["subjects"]]
    assert items == [[one.verdict.item for one in subject.judged] for subject in report.subjects]
    assert set(told["checks"]) == set(catalogue.checks)
    assert set(told["rules"]) == {check.rule for check in catalogue.checks.values()}


def test_hostile_text_makes_no_element(make_small, judged):
    """The page has the same elements as without the text."""

    def tags(words):
        check = CheckFacts("a", "X-1", "producer", "x", "MUST", words, words, words)
        facts = Catalogue({"a": check}, {"X-1": Rule("X-1", words, words, words)}, {"x": words})
        texts = {"evidence": words, "output": words, "reason": words, "link": f"javascript:{words}"}
        report = make_small(
            judged(f"a[{words}]", "fail", "unexpected-failure", **texts),
            judged("a[1]", "crash", releases=words, **texts),
            name=words, spec=words, version=words,
            grid=(Exchange(words, words, "wrong", words),),
        )  # fmt: skip
        text = as_html(report, facts)
        page = Reader(text)
        assert "\x00" not in text
        assert json.loads(page.texts["script"][0])
        assert [link for link in page.all_of("href") if link.startswith("javascript")] == []
        return [tag for tag, _ in page.elements]

    assert tags(HOSTILE) == tags("harmless")


def test_the_data_cannot_end_its_element(written):
    """The data contains no angle bracket."""
    evidence = {"evidence": "</script><!--<script>&"}

    text = written(as_html, (ITEM, "fail", "unexpected-failure", evidence))

    data = text.partition('id="data">')[2].partition("</script>")[0]
    assert not set("<>&") & set(data)
    assert "</script><!--<script>&" in json.dumps(json.loads(data))
