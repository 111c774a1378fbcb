"""A library to which too few rules apply is reported as insufficiently judged."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from interchange_conformance.findings import Verdict
from interchange_conformance.judging import minimum_coverage
from interchange_conformance.registry import load_checks
from interchange_conformance.reports.as_json import as_json, from_json
from interchange_conformance.reports.badge import message_of
from interchange_conformance.reports.html import as_html
from interchange_conformance.reports.junit import as_junit
from interchange_conformance.reports.markdown import as_markdown
from interchange_conformance.reports.model import Judged, Report, SubjectReport
from interchange_conformance.reports.terminal import as_text

BUFFERS = """
import array
from interchange_conformance.findings import CannotMakeError
from interchange_conformance.subject import Subject

def make(shape, dtype, device, readonly):
    if (dtype, device, readonly) != ("float64", "cpu", False) or len(shape) != 1:
        raise CannotMakeError("arrays of double with one axis")
    return array.array("d", [0]) * shape[0]

subject = Subject("lines", make=make)
"""
HARDLY = "as a producer by 3 of 64 rules that are a MUST; 5 are needed"
ITEMS = [item for check in load_checks().values() for item in check.items()]
COUNTING = minimum_coverage.counted_items(ITEMS, "producer")
COUNTED = "shared_memory_is_not_called_a_copy"
RULES = list(dict.fromkeys(COUNTING.values()))


@pytest.fixture
def lines(tmp_path, monkeypatch):
    """Return the spec of a library whose arrays only have a buffer."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    (tmp_path / "lines_of_doubles.py").write_text(BUFFERS, encoding="utf-8")
    return "lines_of_doubles:subject"


def verdicts(judged):
    """Return a run in which as many rules apply, each with its first item."""
    first = {rule: item for item, rule in reversed(COUNTING.items())}
    passing = {first[rule] for rule in RULES[:judged]}
    status = {True: "pass", False: "not-applicable"}
    return [Verdict("mine", item, status[item in passing]) for item in COUNTING]


@pytest.mark.parametrize(("judged", "is_hardly"), [(0, True), (4, True), (5, False)])
def test_five_rules_are_enough(judged, is_hardly):
    """Rules are counted, not cases."""
    told = minimum_coverage.missing_coverage(verdicts(judged), ["producer"])

    assert told == (f"as a producer by {judged} of {len(RULES)} rules that are a MUST; 5 are needed"
                    if is_hardly else "")  # fmt: skip


def test_checks_of_the_description_do_not_count():
    """They apply to every library."""
    checks = load_checks()

    assert {checks[item.partition("[")[0]].area for item in COUNTING}.isdisjoint({"subject"})


def test_no_more_is_run_than_is_needed():
    """The plugin's test runs items until five rules have applied."""
    ended = {one.item: one for one in verdicts(7)}
    ran = []

    def run(item):
        ran.append(item)
        return ended[item]

    assert minimum_coverage.run_for_coverage(ITEMS, ["producer"], run) == ""
    assert sum(ended[item].status == "pass" for item in ran) == 5


def test_a_library_that_is_hardly_judged_is_2(check, lines, tmp_path):
    """Although nothing is unexpected, the command, the JSON and the badge report it."""
    report, badge = tmp_path / "report.json", tmp_path / "badge.json"

    code, out, err = check(lines, "--json", report, "--badge", badge)

    (subject,) = json.loads(report.read_text(encoding="utf-8"))["subjects"]
    told = json.loads(badge.read_text(encoding="utf-8"))
    assert code == 2
    assert "all as expected" in out
    assert "; hardly judged: as a producer by 3 of " in out
    assert "lines was hardly judged: as a producer by 3 of " in err
    assert subject["hardly"].startswith("as a producer by 3 of ")
    assert (told["message"], told["color"]) == ("hardly judged", "lightgrey")


def test_a_part_of_the_checks_is_judged_by_what_was_asked(check, lines):
    """`--only` disables the minimum."""
    assert check(lines, "--only", "make_returns_an_array")[0] == 0


@pytest.mark.slow  # it runs all that might count, in a process of its own
def test_the_plugin_has_a_test_for_it(lines, tmp_path):
    """The plugin adds a test beside those that pass or are skipped."""
    arguments = ["-q", "-p", "no:cacheprovider", "-n0", "-k", "enough_is_judged"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", f"--interchange-subject={lines}", *arguments],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode == 1
    assert "the subject is hardly judged\nas a producer by 3 of " in done.stdout
    assert "1 failed" in done.stdout


@pytest.fixture
def report():
    """A report without unexpected results, in which few rules applied."""
    judged = Judged(Verdict("mylib", COUNTED, "pass"), "as-expected")
    subject = SubjectReport("spec", "mylib", "1", ("producer",), "", (judged,), 1.0, HARDLY)
    return Report("1", "3.11.7", "Linux", "none", (subject,))


@pytest.mark.parametrize(
    ("written", "said"),
    [
        (as_text, f"; hardly judged: {HARDLY} ("),
        (as_markdown, f"## Hardly judged\n\n- **mylib**: {HARDLY}."),
        (as_junit, f'<error message="hardly judged: {HARDLY}"'),
        (as_html, "all as expected, and hardly anything judged of mylib"),
        (as_html, f"<span>hardly judged</span> {HARDLY}"),
        (as_json, f'"hardly": "{HARDLY}"'),
        (lambda report: message_of(report).text, "hardly judged"),
    ],
)
def test_every_format_says_it(report, written, said):
    """The number of rules is included."""
    assert said in written(report)


def test_json_is_read_back_with_it(report):
    """A page can be made of the JSON later."""
    again, _ = from_json(as_json(report))

    assert again.subjects[0].hardly == HARDLY
