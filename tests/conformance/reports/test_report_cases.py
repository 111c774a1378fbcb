"""What every format of a report says of one item, one exchange, or a subject that is not judged."""

from __future__ import annotations

import pytest

from interchange_conformance.reports.html import as_html
from interchange_conformance.reports.markdown import as_markdown
from interchange_conformance.reports.model import Exchange
from interchange_conformance.reports.terminal import as_text

ITEM, UNEXPECTED = "capsules_are_named", "unexpected-failure"
OLD = {"reason": "it was old", "link": "http://a"}
GRID = {"grid": (Exchange("mylib", "other", "crash", "SIGSEGV ended the process"),)}
WRONG = {
    "grid": (
        Exchange("mylib", "other", "wrong", "it reads [1]"),
        Exchange("other", "mylib", "refused", "not today"),
    )
}
KNOWN = """\
mylib 1.0  1 known failure (0.5 s)

1 item, all as expected; interchange 0.1.0, Python 3.11.9 on Linux, CUDA driver: none
"""
CASES = {
    "text, not judged": (
        as_text, [], {"broken": "no module\nnamed mylib"},
        ["mylib 1.0  could not be judged: no module named mylib\n", "0 items, 1 unexpected"],
    ),
    "text, empty": (as_text, [], {}, ["mylib 1.0  nothing to judge"]),
    "text, no release": (as_text, [(ITEM,)], {"version": "unknown"}, ["mylib  1 pass"]),
    "text, known failure": (as_text, [(ITEM, "fail", "as-expected", OLD)], {}, [KNOWN]),
    "text, unexpected pass": (
        as_text, [(ITEM, "pass", "unexpected-pass", OLD)], {},
        ["NOW PASSES  mylib 1.0: capsules_are_named", "it was old http://a",
         "take it out of the list of known failures"],
    ),
    "text, escape sequences": (
        as_text, [(ITEM, "fail", UNEXPECTED, {"evidence": "\x1b[2J\x1b]0;title\x07"})], {},
        ["\\x1b[2J\\x1b]0;title\\x07"],
    ),
    "text, wrong exchange": (
        as_text, [], WRONG,
        ["WRONG       mylib to other [the grid]\n", "found   it reads [1]",
         "again   interchange check mylib.testing:subject other --grid", "0 items, 1 unexpected; "],
    ),
    "markdown, not judged": (
        as_markdown, [], {"broken": "it is gone"}, ["could not be judged: it is gone"] * 2,
    ),
    "markdown, crashed exchange": (
        as_markdown, [], GRID,
        ["## Unexpected\n\n- ✗ crash: **mylib** to **other**. SIGSEGV ended"],
    ),
    "markdown, no web address": (
        as_markdown, [(ITEM, "fail", "as-expected", {"reason": "old", "link": "javascript:x()"})],
        {}, ["| old javascript:x() |"],
    ),
    "html, title": (as_html, [(ITEM,)], {}, ["<title>Conformance report: mylib</title>"]),
    "html, not judged": (
        as_html, [], {"broken": "it is gone"}, ["could not be judged:</span> it is gone</td>"],
    ),
}  # fmt: skip
"""Case -> format, items, options of the report, and texts in the order of their places."""


@pytest.mark.parametrize("case", CASES)
def test_a_report_says_what_it_is_to_say(written, case):
    """The texts stand in this order; a refusal is no finding, and no table is without columns."""
    form, items, options, words = CASES[case]

    rest = told = written(form, *items, **options)

    assert form is not as_text or told.startswith(("mylib", *words))
    assert words != [KNOWN] or told == KNOWN
    for one in words:
        assert one in rest
        rest = rest.partition(one)[2]
    assert "not today" not in told
    assert '<table class="verdicts' not in told or "not judged" not in case
