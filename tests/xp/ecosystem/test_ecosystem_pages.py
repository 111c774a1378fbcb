"""The pages on SciPy and scikit-learn: examples run, and verdicts are those there are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[3] / "docs"
GUIDES = {"scipy": "scipy.md", "sklearn": "scikit-learn.md"}
TABLES = {"scipy": "scipy-calls.md", "sklearn": "scikit-learn.md"}
ANEW = "stale: write it anew with `python docs/_ext/ecosystem.py`"

_RUN = """
import doctest
import sys

flags = doctest.ELLIPSIS | doctest.DONT_ACCEPT_TRUE_FOR_1
example = doctest.DocTestParser().get_doctest({examples!r}, {{}}, {page!r}, {page!r}, 0)
failed, tried = doctest.DocTestRunner(optionflags=flags).run(example)
print("tried", tried)
sys.exit(failed > 0)
"""

every_guide = pytest.mark.parametrize("about", GUIDES)


@pytest.mark.interop
@pytest.mark.isolated
@every_guide
def test_examples_of_the_guides_run(run_child, need_recent, about):
    """Every example has the output shown below it.

    It runs in its own process, in which SciPy was not imported before.
    """
    need_recent(about)
    text = (DOCS / "guides" / GUIDES[about]).read_text(encoding="utf-8")
    blocks = re.findall(rf"^```\{{doctest\}} {about}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)

    done = run_child(_RUN.format(examples="".join(blocks), page=GUIDES[about]))

    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert re.search(r"^tried [1-9]", done.stdout, re.MULTILINE)


@every_guide
def test_the_guide_shows_the_verdicts(about):
    """The generated page is included in the published one."""
    text = (DOCS / "guides" / TABLES[about]).read_text(encoding="utf-8")

    assert f"```{{include}} ../_generated/{about}.md\n```" in text


@every_guide
def test_the_verdicts_are_those_of_the_calls_there_are(pages, about):
    """A changed call, or a changed judgement, makes the page out of date."""
    text = pages.page_of(about).read_text(encoding="utf-8")

    assert text.partition("Fingerprint: ")[2].partition(" ")[0] == pages.fingerprint(about), ANEW


@every_guide
def test_nothing_on_the_page_is_wrong(pages, about):
    """No verdict is a silently wrong result."""
    text = pages.page_of(about).read_text(encoding="utf-8")
    cells = {
        cell
        for row in re.findall(r"^\| `.*\)` \| (.*) \|$", text, re.MULTILINE)
        for cell in row.split(" | ")
    }

    assert [cell for cell in cells if not re.fullmatch(r"✓( NumPy's)?|`\w+Error`", cell)] == []


@pytest.mark.interop
@pytest.mark.isolated
@every_guide
def test_the_page_says_what_happens(pages, report, about):
    """With the releases of the page, generating it again gives the same page."""
    text = pages.page_of(about).read_text(encoding="utf-8")
    reports = [report(about, namespace) for namespace in pages.NAMESPACES]
    if f" {reports[0]['release']}: of " not in text:
        pytest.skip("the page is about other releases")

    assert pages.render(about, *reports) == text, ANEW
