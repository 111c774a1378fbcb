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
    counterparts,
    failures,
    failures_of_counterpart,
    items_of_role,
)

MUTANTS = load_mutants()
LISTS = MUTANTS["subject.a_producer_of_lists"]
CHANGES_DIRECTORY = MUTANTS["subject.a_producer_that_moves"]
PRINTS = MUTANTS["subject.a_producer_that_prints"]
STATES = [f"make_leaves_the_process_as_it_was[{one}]" for one in ("signals", "directory")]


@pytest.fixture(scope="module")
def trials():
    """Return a process that runs checks, without a CUDA driver."""
    with Trials(os.environ) as tried:
        yield tried


def test_each_item_has_an_outcome(trials):
    """The items may share one process or not."""
    items = ["make_returns_an_array", "make_prints_nothing", *STATES]

    together = trials.of("mutant:subject.a_producer_that_prints", items)
    apart = trials.of(
        "mutant:subject.a_producer_that_prints",
        items,
        alone=[item.partition("[")[0] for item in items],
    )

    assert list(together) == items
    assert together == apart
    assert [item for item in items if together[item].status != "pass"] == ["make_prints_nothing"]


def test_what_a_mutant_changes_once_is_seen_alone(trials):
    """An earlier item in the same process would already have made the change."""
    together = trials.of(f"mutant:{CHANGES_DIRECTORY.name}", STATES)
    alone = trials.of(f"mutant:{CHANGES_DIRECTORY.name}", STATES, alone={CHANGES_DIRECTORY.check})

    assert caught(together) == {}
    assert list(caught(alone)) == [STATES[1]]


def test_a_process_that_ends_is_replaced(trials):
    """The item that ended the process is a crash."""
    trials.of(f"counterpart:{LISTS.name}", ["make_prints_nothing"])
    trials._server.kill()

    ended = trials.of(f"counterpart:{LISTS.name}", ["make_prints_nothing"])
    again = trials.of(f"counterpart:{LISTS.name}", ["make_prints_nothing"])

    assert ended["make_prints_nothing"].status == "pass"  # alone, in the next process
    assert again["make_prints_nothing"].status == "pass"


# ---------------------------------------------------------------- failures


class FixedOutcomes:
    """Trials with given outcomes, for the mutant and for its honest counterpart."""

    def __init__(self, mutant, counterpart="pass"):
        self._statuses = {"mutant": mutant, "counterpart": counterpart}

    def of(self, spec, items, **_):
        """Return the same outcome for each item."""
        return {item: Outcome(self._statuses[spec.partition(":")[0]], "why") for item in items}


CAPSULE = next(one for one in MUTANTS.values() if load_checks()[one.check].area == "capsule")


@pytest.mark.parametrize(
    ("mutant", "status", "counterpart", "complaint"),
    [
        *((PRINTS, status, "pass", None) for status in ("fail", "crash", "hang", "exit")),
        (PRINTS, "pass", "pass", "make_prints_nothing does not catch it"),
        (PRINTS, "not-applicable", "pass", "make_prints_nothing does not catch it"),
        (PRINTS, "raised", "pass", "make_prints_nothing ended as raised: why"),
        (PRINTS, "broken-subject", "pass", None),  # this check of subjects looks for it
        (CAPSULE, "broken-subject", "pass", " ended as broken-subject: why"),
        *(
            (PRINTS, "fail", status, f"its counterpart passes none of what catches it; {words}")
            for status in ("not-applicable", "fail", "raised")
            for words in [f"make_prints_nothing: {status}: why"]
        ),
    ],
)
def test_what_is_wrong_with_a_mutant_is_reported(mutant, status, counterpart, complaint):
    """Its check catches it by its rule, and not its counterpart, or the complaint says why."""
    found = failures(mutant, FixedOutcomes(status, counterpart))

    assert bool(found) == (complaint is not None)
    assert all(complaint in one for one in found)


def test_a_mutant_and_its_counterpart_are_run(trials):
    """This mutant has no failures."""
    assert failures(PRINTS, trials) == []


@pytest.mark.parametrize("status", ["hang", "pass", "not-applicable"])
def test_whatever_is_found_in_a_counterpart_is_reported(status):
    """The complaint has the item and the evidence; other outcomes are no findings."""
    words = failures_of_counterpart("any", "producer", FixedOutcomes("pass", status))
    found = items_of_role("producer") if status == "hang" else []

    assert words == [f"{item}: hang: why" for item in found]


def test_counterparts_are_tried_once():
    """Each one is run once for each role."""
    found = counterparts([LISTS, CHANGES_DIRECTORY])

    assert found == {("_honest_producer.honest_producer", "producer"): LISTS.name}


# ---------------------------------------------------------------- the page


def test_the_page_has_a_row_for_each_mutant():
    """The row has its error, its check, and other checks that catch it."""
    page = as_markdown(
        [
            Caught([LISTS], {LISTS.check: "broken-subject"}, {"make_prints_nothing": "fail"}),
            Caught([CHANGES_DIRECTORY], {CHANGES_DIRECTORY.check: "fail"}, {}),
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


def test_a_mutant_that_was_missed_is_reported():
    """The message has each check that should catch it."""
    assert Caught([LISTS], {}, {"make_prints_nothing": "fail"}).missed == ["make_returns_an_array"]


def test_a_page_that_cannot_be_written_is_refused_before_the_run(capsys):
    """The exit code is that of the other commands."""
    assert main(["--markdown", "/nowhere/page.md"]) == 2
    assert "there is no directory /nowhere" in capsys.readouterr().err
