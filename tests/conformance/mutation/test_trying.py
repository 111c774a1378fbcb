"""How mutants are run, and the contents of the page about them."""

from __future__ import annotations

import os

import pytest

from interchange_conformance.registry import load_checks
from mutants import load_mutants
from mutants.__main__ import Caught, as_markdown, main
from mutants.trying import (
    Outcome,
    Trials,
    caught,
    complaints,
    complaints_of_twin,
    items_of_role,
    twins,
)

MUTANTS = load_mutants()
LISTS = MUTANTS["subject.a_producer_of_lists"]
MOVES = MUTANTS["subject.a_producer_that_moves"]
SPEAKS = MUTANTS["subject.a_producer_that_speaks"]
STATES = [f"make_leaves_the_process_as_it_was[{one}]" for one in ("signals", "directory")]


@pytest.fixture(scope="module")
def trials():
    """Return a process that runs checks, without a CUDA driver."""
    with Trials(os.environ) as tried:
        yield tried


def test_each_item_has_an_outcome(trials):
    """The items may share one process or not."""
    items = ["make_returns_an_array", "make_prints_nothing", *STATES]

    together = trials.of("mutant:subject.a_producer_that_speaks", items)
    apart = trials.of(
        "mutant:subject.a_producer_that_speaks",
        items,
        alone=[item.partition("[")[0] for item in items],
    )

    assert list(together) == items
    assert together == apart
    assert [item for item in items if together[item].status != "pass"] == ["make_prints_nothing"]


def test_what_a_mutant_changes_once_is_seen_alone(trials):
    """An earlier item in the same process would already have made the change."""
    together = trials.of(f"mutant:{MOVES.name}", STATES)
    alone = trials.of(f"mutant:{MOVES.name}", STATES, alone={MOVES.check})

    assert caught(together) == {}
    assert list(caught(alone)) == [STATES[1]]


def test_a_process_that_ends_is_replaced(trials):
    """The item that ended the process is a crash."""
    trials.of(f"twin:{LISTS.name}", ["make_prints_nothing"])
    trials._server.kill()

    ended = trials.of(f"twin:{LISTS.name}", ["make_prints_nothing"])
    again = trials.of(f"twin:{LISTS.name}", ["make_prints_nothing"])

    assert ended["make_prints_nothing"].status == "pass"  # alone, in the next process
    assert again["make_prints_nothing"].status == "pass"


# ---------------------------------------------------------------- complaints


class Told:
    """Trials with given outcomes, for the mutant and for its honest counterpart."""

    def __init__(self, mutant, twin="pass"):
        self._statuses = {"mutant": mutant, "twin": twin}

    def of(self, spec, items, **_):
        """Return the same outcome for each item."""
        return {item: Outcome(self._statuses[spec.partition(":")[0]], "why") for item in items}


@pytest.mark.parametrize("status", ["fail", "crash", "hang", "exit"])
def test_a_mutant_that_its_check_catches_is_fine(status):
    """The check fails for the reason of the rule."""
    assert complaints(SPEAKS, Told(status)) == []


@pytest.mark.parametrize("status", ["pass", "not-applicable"])
def test_a_mutant_that_nothing_catches_is_told(status):
    """Its check does not catch it."""
    assert complaints(SPEAKS, Told(status)) == ["make_prints_nothing does not catch it"]


def test_a_mutant_that_is_caught_by_accident_is_told():
    """An unexpected error is not a finding."""
    assert complaints(SPEAKS, Told("raised")) == ["make_prints_nothing ended as raised: why"]


def test_a_broken_description_is_what_some_checks_look_for():
    """Only checks of the subject itself look for it."""
    other = next(
        mutant for mutant in MUTANTS.values() if load_checks()[mutant.check].area == "capsule"
    )

    assert complaints(SPEAKS, Told("broken-subject")) == []
    assert complaints(other, Told("broken-subject")) != []


@pytest.mark.parametrize("status", ["not-applicable", "fail", "raised"])
def test_a_twin_that_does_not_pass_is_told(status):
    """Otherwise the check might fail for any subject."""
    (words,) = complaints(SPEAKS, Told("fail", status))

    assert words.startswith("its twin passes none of what catches it; make_prints_nothing: ")
    assert words.endswith(f"{status}: why")


def test_a_mutant_of_ours_is_fine(trials):
    """The mutant is run, and its honest counterpart as well."""
    assert complaints(SPEAKS, trials) == []


def test_whatever_is_found_in_a_twin_is_told():
    """The complaint has the item and the evidence."""
    words = complaints_of_twin("any", "producer", Told("pass", "hang"))

    assert len(words) == len(items_of_role("producer"))
    assert "make_prints_nothing: hang: why" in words


def test_an_honest_twin_is_fine():
    """This also holds for checks without findings."""
    assert complaints_of_twin("any", "producer", Told("pass", "pass")) == []
    assert complaints_of_twin("any", "producer", Told("pass", "not-applicable")) == []


def test_twins_are_tried_once():
    """Each one is run once for each role."""
    found = twins([LISTS, MOVES])

    assert found == {("_honest_producer.honest_producer", "producer"): LISTS.name}


# ---------------------------------------------------------------- the page


def test_the_page_has_a_row_for_each_mutant():
    """The row has its error, its check, and other checks that catch it."""
    page = as_markdown(
        [
            Caught([LISTS], {LISTS.check: "broken-subject"}, {"make_prints_nothing": "fail"}),
            Caught([MOVES], {MOVES.check: "fail"}, {}),
        ]
    )

    assert "2 mutants; 1 of them are caught by no check but those" in page
    assert "## The subject itself" in page
    row = "| IX-SUBJECT-1 | make() returns a list. | `make_returns_an_array` (broken-subject) |"
    assert f"{row} `make_prints_nothing` |" in page
    assert "| `make_leaves_the_process_as_it_was` |  |" in page


def test_a_bar_in_a_text_ends_no_cell():
    """In Markdown a bar would end the cell."""
    barred = LISTS._replace(breaks="a | b.")

    assert "| a \\| b. |" in as_markdown([Caught([barred], {}, {})])


def test_a_mutant_that_was_missed_is_told():
    """The message has each check that should catch it."""
    assert Caught([LISTS], {}, {"make_prints_nothing": "fail"}).missed == ["make_returns_an_array"]


def test_a_page_that_cannot_be_written_is_refused_before_the_run(capsys):
    """The exit code is that of the other commands."""
    assert main(["--markdown", "/nowhere/page.md"]) == 2
    assert "there is no directory /nowhere" in capsys.readouterr().err
