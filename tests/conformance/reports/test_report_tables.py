"""The states of results, and their tables."""

from __future__ import annotations

import pytest

from interchange.abi import RULES
from interchange_conformance.findings import BAD, STATUSES
from interchange_conformance.registry import load_checks
from interchange_conformance.reports import states, tabulating
from interchange_conformance.reports.catalogue import catalogue_of
from interchange_conformance.reports.model import Exchange

CAPSULE, COPY, ERROR = "capsules_are_named", "copies_are_copies", "errors_are_kind"


# ---------------------------------------------------------------- states


@pytest.mark.parametrize("status", STATUSES)
@pytest.mark.parametrize("standing", ["as-expected", "unexpected-failure", "unexpected-pass"])
def test_every_result_has_a_state(judged, status, standing):
    """A state is unexpected if and only if the standing is."""
    state = states.state_of(judged(CAPSULE, status, standing))

    wrong = standing != "as-expected" and (status in BAD or standing == "unexpected-pass")
    assert (state.group == "unexpected") == wrong


def test_a_failure_that_is_expected_is_known(judged):
    """This holds for all kinds of failures."""
    assert {states.state_of(judged(CAPSULE, status)).key for status in BAD} == {"known"}


def test_no_two_states_look_alike():
    """Each has a different word, so that no information depends on symbols or colours."""
    words = [state.word for state in states.STATES]

    assert len(set(words)) == len(words)


def test_the_worst_wins():
    """The order is crash, failure, known failure, pass, not applicable."""
    order = ["crash", "fail", "known", "pass", "not-applicable"]
    found = [states.worst(states.BY_KEY[key] for key in order[at:]) for at in range(len(order))]

    assert [state.key for state in found if state] == order


def test_the_worst_of_nothing_is_none():
    """A cell in which nothing was run has no state."""
    assert states.worst([]) is None


def test_counts_have_every_group(judged):
    """Empty groups are counted as well."""
    counts = states.count([judged(CAPSULE), judged(COPY, "fail")])

    assert counts == {
        "unexpected": 0,
        "known": 1,
        "quirk": 0,
        "pass": 1,
        "not-applicable": 0,
    }


# ---------------------------------------------------------------- rows and columns


def test_a_table_per_role(report, catalogue):
    """The order is that of the registry, each with the subjects of the role."""
    found = {table.role: table for table in tabulating.tables(report, catalogue)}

    assert list(found) == ["producer", "consumer", "arrow_producer"]
    assert [subject.name for subject in found["arrow_producer"].subjects] == ["interchange"]
    assert len(found["producer"].subjects) == 9


def test_every_item_is_counted_once(report, catalogue):
    """The passes of all tables are those of the report."""
    cells = [
        cell
        for table in tabulating.tables(report, catalogue)
        for block in table.blocks
        for row in block.rows
        for cell in row.cells
    ]

    passes = states.total(subject.judged for subject in report.subjects)["pass"]
    assert sum(cell.passed for cell in cells) == passes


def test_an_area_sums_up_its_rows(report, catalogue):
    """Passes and applicable items are added; the state is the worst one."""
    for table in tabulating.tables(report, catalogue):
        for block in table.blocks:
            for at, cell in enumerate(block.cells):
                rows = [row.cells[at] for row in block.rows]
                assert cell.passed == sum(row.passed for row in rows)
                assert cell.applicable == sum(row.applicable for row in rows)
                assert cell.state == states.worst(row.state for row in rows if row.state)


def test_severities_of_a_rule_are_rows(report, catalogue):
    """The most severe is first, so that a filter by severity hides whole rows."""
    block = tabulating.tables(report, catalogue)[0].blocks[0]

    assert [row.severity for row in block.rows if row.rule.id == "DLP-CAP-1"] == ["MUST", "SHOULD"]


def test_what_was_not_run_has_no_state(make_small, judged, small_catalogue):
    """A subject for which a check was not run has an empty cell."""
    first = make_small(judged(CAPSULE), name="a")
    second = make_small(judged(COPY), name="b")
    both = first._replace(subjects=first.subjects + second.subjects)

    blocks = tabulating.tables(both, small_catalogue)[0].blocks
    assert [[cell.state is None for cell in block.cells] for block in blocks] == [
        [False, True], [True, False],
    ]  # fmt: skip


# ---------------------------------------------------------------- findings


def test_cases_that_end_alike_are_one_finding(make_small, judged, small_catalogue):
    """Other evidence or another check is a separate finding; the worst come first."""
    unexpected = "unexpected-failure"
    report = make_small(
        judged(ERROR, "fail", unexpected, evidence="x"),
        judged(f"{CAPSULE}[a]", "fail", unexpected, evidence="x"),
        judged(f"{CAPSULE}[b]", "fail", unexpected, evidence="y"),
        judged(f"{CAPSULE}[c]", "fail", unexpected, evidence="x"),
        judged(COPY, "crash", unexpected, evidence="x"),
    )

    found = tabulating.unexpected_of(report.subjects[0], small_catalogue)
    assert [[one.verdict.item for one in alike] for alike in found] == [
        [COPY], [f"{CAPSULE}[a]", f"{CAPSULE}[c]"], [f"{CAPSULE}[b]"],
        [ERROR],
    ]  # fmt: skip


def test_checks_that_fail_for_one_reason_share_a_line(make_small, judged, small_catalogue):
    """Each has its number of cases."""
    why = {"reason": "it is old", "link": "https://example.org", "releases": "<2"}
    report = make_small(
        judged(f"{CAPSULE}[a]", "fail", **why), judged(f"{CAPSULE}[b]", "crash", **why)
    )

    (known,) = tabulating.known_failures_of(report.subjects[0], small_catalogue)
    assert known.checks == [(CAPSULE, 2)]
    assert (known.rule, known.reason, known.releases) == ("DLP-CAP-1", "it is old", "<2")


def test_the_grid_has_the_order_of_its_exchanges(make_small):
    """Pairs that were not run are missing."""
    report = make_small(grid=(Exchange("b", "a", "shared"), Exchange("a", "b", "refused", "no")))

    grid = tabulating.grid_of(report)
    assert (grid.producers, grid.consumers) == (("b", "a"), ("a", "b"))
    assert ("a", "a") not in grid.cells


# ---------------------------------------------------------------- the catalogue


def test_a_catalogue_has_what_a_report_needs(make_small, judged):
    """It has the checks with results, their rules and their areas, and no others."""
    check = next(iter(load_checks().values()))
    report = make_small(*(judged(item) for item in check.items()))

    found = catalogue_of(report)
    assert list(found.checks) == [check.name]
    assert found.rules == {check.rule: RULES[check.rule]}
    assert list(found.areas) == [check.area]


def test_a_check_that_is_not_there_is_named(make_small, judged):
    """A report of another release uses the catalogue in its JSON."""
    with pytest.raises(KeyError, match="no_such_check"):
        catalogue_of(make_small(judged("no_such_check[a]")))
