"""The options ``--only`` and ``--role``."""

from __future__ import annotations

import pytest

from interchange_conformance.judging.selecting import UnknownWordError, select
from interchange_conformance.registry import AREAS, ROLES, load_checks


def checks_of(selection, roles=ROLES):
    """Return the checks of the items that are selected."""
    known = load_checks()
    return [known[item.partition("[")[0]] for item in selection.items(roles)]


def test_nothing_said_is_everything():
    """The order is that of the registry."""
    every = [item for check in load_checks().values() for item in check.items()]

    assert select().items(ROLES) == every
    assert select().is_whole


@pytest.mark.parametrize(
    ("word", "is_meant"),
    [
        ("MUST", lambda check: check.severity == "MUST"),
        ("subject", lambda check: check.area == "subject"),
        ("DLP-LIFE-*", lambda check: check.rule.startswith("DLP-LIFE-")),
        ("IX-SUBJECT-1", lambda check: check.rule == "IX-SUBJECT-1"),
        ("make_prints_nothing", lambda check: check.name == "make_prints_nothing"),
        ("*_prints_nothing", lambda check: check.name.endswith("_prints_nothing")),
    ],
)
def test_a_word_means_items(word, is_meant):
    """Severities, areas, rules and checks select all their items."""
    found = checks_of(select([word]))

    assert found
    assert all(is_meant(check) for check in found)
    assert {check.name for check in found} == {
        check.name for check in load_checks().values() if is_meant(check)
    }


def test_a_case_can_be_meant():
    """The name of a case includes its brackets."""
    item = "make_gives_the_shape_that_it_was_asked_for[none]"

    assert select([item]).items(ROLES) == [item]


def test_words_of_one_kind_add_up():
    """The words may be in one option or several."""
    both = {check.severity for check in checks_of(select(["MUST,QUIRK"]))}

    assert both == {"MUST", "QUIRK"}
    assert select(["MUST", "QUIRK"]) == select(["MUST, QUIRK"])


def test_kinds_narrow_each_other():
    """For example, a severity and an area select their intersection."""
    found = checks_of(select(["MUST", "subject"]))

    assert {(check.severity, check.area) for check in found} == {("MUST", "subject")}


def test_roles_narrow():
    """Roles that the subject does not have are not run."""
    selection = select(roles=["consumer"])

    assert {check.role for check in checks_of(selection)} == {"consumer"}
    assert selection.items(["producer"]) == []
    assert not selection.is_whole


@pytest.mark.parametrize("word", ["must", "", "DLP-NONE-1", "capsul", "no_such_check", "[none]"])
def test_a_word_that_means_nothing_is_refused(word):
    """The error has the valid words."""
    with pytest.raises(UnknownWordError) as raised:
        select([word])

    assert repr(word) in str(raised.value)
    assert all(area in str(raised.value) for area in AREAS)
