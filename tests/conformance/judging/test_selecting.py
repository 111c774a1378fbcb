"""What ``--only`` and ``--role`` mean."""

from __future__ import annotations

import pytest

from interchange_conformance.judging.selecting import UnknownWordError, select
from interchange_conformance.registry import AREAS, ROLES, load_checks


def checks_of(selection, roles=ROLES):
    """Return the checks of the items that are selected."""
    known = load_checks()
    return [known[item.partition("[")[0]] for item in selection.items(roles)]


def test_nothing_said_is_everything():
    """In the order of the registry."""
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
    """By severity, by area, by rule and by check, and all that it means."""
    found = checks_of(select([word]))

    assert found
    assert all(is_meant(check) for check in found)
    assert {check.name for check in found} == {
        check.name for check in load_checks().values() if is_meant(check)
    }


def test_a_case_can_be_meant():
    """With its brackets."""
    item = "make_gives_the_shape_that_it_was_asked_for[none]"

    assert select([item]).items(ROLES) == [item]


def test_words_of_one_kind_add_up():
    """Given together or one by one."""
    both = {check.severity for check in checks_of(select(["MUST,QUIRK"]))}

    assert both == {"MUST", "QUIRK"}
    assert select(["MUST", "QUIRK"]) == select(["MUST, QUIRK"])


def test_kinds_narrow_each_other():
    """The severities of an area."""
    found = checks_of(select(["MUST", "subject"]))

    assert {(check.severity, check.area) for check in found} == {("MUST", "subject")}


def test_roles_narrow():
    """And what a subject is no such thing of is not run."""
    selection = select(roles=["consumer"])

    assert {check.role for check in checks_of(selection)} == {"consumer"}
    assert selection.items(["producer"]) == []
    assert not selection.is_whole


@pytest.mark.parametrize("word", ["must", "", "DLP-NONE-1", "capsul", "no_such_check", "[none]"])
def test_a_word_that_means_nothing_is_refused(word):
    """With what there is."""
    with pytest.raises(UnknownWordError) as raised:
        select([word])

    assert repr(word) in str(raised.value)
    assert all(area in str(raised.value) for area in AREAS)
