"""The statements of the pages are correct: names, rule ids, layers, paths, versions, examples."""

from __future__ import annotations

import doctest
import pkgutil
import re

import pytest

from interchange import abi
from interchange._core import CORES
from interchange._libraries.selection import GROUP

_OURS = re.compile(r"(?<![\w./@-])(?:ix|interchange)((?:\.[A-Za-z_]\w*)+)")
_RULE = re.compile(r"\b(?:DLP|CAI|BUF|AI|ARROW|IX|HOST|CPY)(?:-[A-Z]+)*-\d+\b")


def _names_nothing(dotted):
    """Whether ``.a.b`` leads nowhere from the package, over attributes and modules."""
    try:
        pkgutil.resolve_name(f"interchange{dotted}")
    except (ImportError, AttributeError):
        return True
    return False


def test_names_of_ours_exist(page):
    """Every ``ix.name`` and ``interchange.name`` on a page exists."""
    text = page.read_text(encoding="utf-8")

    found = [name for name in _OURS.findall(text) if _names_nothing(name)]

    assert [name for name in found if f"interchange{name}" != GROUP] == []


def test_rule_ids_exist(page):
    """Every rule id on a page is in the rule book, or is the example of a future one."""
    cited = set(_RULE.findall(page.read_text(encoding="utf-8")))

    assert sorted(cited - set(abi.RULES) - {"DLP-CAP-7"}) == []


def test_the_example_of_a_rule_to_come_is_still_to_come():
    """The id with which contributing.md shows how a rule is added is free."""
    assert "DLP-CAP-7" not in abi.RULES


def test_examples_run(page):
    """Every example on a page has the output shown below it."""
    text = page.read_text(encoding="utf-8")
    blocks = re.findall(r"^```\{doctest\}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    example = doctest.DocTestParser().get_doctest("".join(blocks), {}, page.name, str(page), 0)
    told = []

    failed, _ = doctest.DocTestRunner().run(example, out=told.append)

    assert failed == 0, "".join(told)


def test_examples_are_in_doctest_blocks(page):
    """A prompt that no builder would run is on no page."""
    run = {"{doctest}", "{native-doctest}"}
    text = page.read_text(encoding="utf-8")
    blocks = re.findall(r"^```(\S*)[^\n]*\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)

    assert [name for name, body in blocks if ">>> " in body and name not in run] == []


def test_no_page_writes_a_version_that_the_code_knows(page):
    """Versions on pages are substitutions, so that no page becomes outdated."""
    text = page.read_text(encoding="utf-8")

    assert re.findall(r"(?:Python|NumPy) \d[\d.]* or newer", text) == []
    assert re.findall(r"dlpack\.h`? \d\.\d", text) == []


def test_substitutions_exist(page, tables):
    """Every ``{{ name }}`` on a page is defined."""
    asked = set(re.findall(r"\{\{ (\w+) \}\}", page.read_text(encoding="utf-8")))

    assert asked <= set(tables.facts())


def test_every_layer_is_in_the_table(pages, project):
    """The layers of how-it-works.md are those that the linter enforces."""
    layers = re.search(r'containers = \["interchange"\]\nlayers = \[(.*?)\]', project, re.DOTALL)
    assert layers is not None
    rows = re.findall(r"^\| \d \| (.*?) \|", pages["docs/how-it-works.md"], re.MULTILINE)

    assert re.findall(r"`(\w+)`", " ".join(rows)) == re.findall(r'"(\w+)"', layers[1])


def test_the_paths_of_the_contributors_exist(pages, root):
    """Every path in contributing.md exists in the repository."""
    named = re.findall(r"`((?:src|tests|docs|\.ci)/[\w./-]*)`", pages["docs/contributing.md"])

    assert named
    assert [path for path in named if not (root / path).exists()] == []


def test_free_threaded_pythons_are_described_consistently(pages, tables):
    """compatibility.md names the release that was run in its text and in its table."""
    text, _, table = pages["docs/compatibility.md"].partition("### What was run\n")
    run = tables.facts()["pythons_run"].splitlines()

    assert run[-1].startswith(f"| {tables.facts()['free_threaded']}, free-threaded |")
    assert "free-threaded CPython {{ free_threaded }}" in text
    assert "{{ pythons_run }}\n\nAll but the last were built with the global interp" in table
    assert "on {{ free_threaded }} it was tested" in pages["docs/support.md"]


def test_every_core_is_named_where_its_name_is_explained(pages):
    """The page lists exactly the values of ``core_name``."""
    entry = pages["docs/api/interchange.md"].partition(".. py:data:: core_name\n")[2]

    assert sorted(re.findall(r'``"(\w+)"``', entry.partition(".. py:data::")[0])) == sorted(CORES)


@pytest.mark.parametrize("kind", ["feature", "fix", "break", "rule"])
def test_the_kinds_of_changes_are_those_of_towncrier(kind, project, root):
    """Each kind of change on the contributors' page is configured, and explained."""
    assert f'directory = "{kind}"' in project
    assert f"`{kind}`" in (root / "docs" / "changes" / "README.md").read_text(encoding="utf-8")


def test_every_fragment_has_a_kind(root, project):
    """No changelog fragment is left out because of its name."""
    kinds = re.findall(r'\{ directory = "(\w+)"', project)
    names = {path.name for path in (root / "docs" / "changes").iterdir()} - {"README.md"}

    assert [name for name in names if name.split(".")[-2:] not in [[k, "md"] for k in kinds]] == []


def test_the_changelog_has_towncriers_mark(pages, project):
    """towncrier finds where to write."""
    mark = re.search(r'start_string = "(.*?)\\n"', project)

    assert mark is not None
    assert f"{mark[1]}\n" in pages["docs/changelog.md"]


def test_the_pythons_of_the_classifiers_are_those_of_tox_and_of_ci(project, root):
    """Every Python version in the classifiers is tested."""
    classified = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', project)
    tox = re.search(r"env_list = \[(.*?)\]", project)
    ci = re.search(r'versions="(.*?)"', (root / ".ci" / "run").read_text(encoding="utf-8"))
    assert tox is not None
    assert ci is not None

    assert re.findall(r"3\.\d+", tox[1]) == classified
    assert set(classified) - set(ci[1].split()) == {"3.11"}  # runs all the rest, as python3


def test_every_classified_python_is_in_the_table_of_what_was_run(tables, project):
    """compatibility.md lists the tested release of each version, and the tests."""
    table = tables.facts()["pythons_run"]
    classified = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', project)
    ran = re.findall(r"\b(3\.\d+)\.\d+\b", table)

    assert sorted(ran) == sorted(classified)
