"""The checks find what they are made for, and nothing else: each mutant is caught, no twin is."""

from __future__ import annotations

import os

import pytest

import interchange
from interchange.abi import RULES
from interchange_conformance.driver import cuda
from interchange_conformance.registry import load_checks
from mutants import load_mutants
from mutants.trying import (
    Trials,
    complaints,
    complaints_of_twin,
    items_of,
    twins,
)

CHECKS = load_checks()
MUTANTS = load_mutants()
TWINS = twins(MUTANTS.values())
ONE_OF_EACH_ROLE = set({role: f"{twin}-{role}" for twin, role in reversed(TWINS)}.values())
ONE_OF_EACH_MODULE = set({name.partition(".")[0]: name for name in reversed(MUTANTS)}.values())


@pytest.fixture(scope="module")
def trials():
    """Return a process that tries checks, with the emulated driver where that can be built."""
    with Trials({**os.environ, **cuda.environment()}) as tried:
        yield tried


@pytest.fixture(scope="module")
def is_emulated():
    """Return whether there is an emulated driver."""
    return cuda.environment()[cuda.VARIABLE] == "emulated"


OF_THE_READABLE_CORE = {
    "columns_go_out_by_the_native_core",
    "deleters_are_borrowed_from_a_numpy_that_passes_the_test",
}
"""What asks for something that the native core has of its own."""
OF_THE_NATIVE_CORE = {
    "arrays_that_are_no_columns_are_refused",
    "elements_that_lie_apart_are_refused",
    "exports_have_an_event_after_their_work",
    "further_axes_go_out_as_lists",
    "numbers_go_out_where_they_are",
    "tables_have_their_columns_by_name",
    "tables_of_uneven_columns_are_refused",
    "tensors_go_out_with_their_permutation",
}
"""What asks for columns of Arrow that interchange hands out: the ctypes core has none."""


@pytest.mark.exhaustive(but=ONE_OF_EACH_MODULE)
@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_is_caught(trials, is_emulated, name):
    """By the check that it is made for, and its twin passes what catches it."""
    mutant = MUTANTS[name]
    if CHECKS[mutant.check].on == "cuda" and not is_emulated:
        pytest.skip("needs a CUDA driver, and the emulated one cannot be built here")
    if mutant.check in OF_THE_READABLE_CORE and interchange.core_name != "ctypes":
        pytest.skip("of the ctypes core: runs with INTERCHANGE_CORE=ctypes")
    if mutant.check in OF_THE_NATIVE_CORE and interchange.core_name != "native":
        pytest.skip("of the native core: runs with INTERCHANGE_CORE=native")

    assert complaints(mutant, trials) == []


@pytest.mark.exhaustive(but=ONE_OF_EACH_ROLE)
@pytest.mark.parametrize(("twin", "role"), TWINS)
def test_nothing_is_found_in_an_honest_subject(trials, twin, role):
    """By no check of its role, at any severity."""
    assert complaints_of_twin(TWINS[twin, role], role, trials) == []


@pytest.mark.parametrize("name", CHECKS)
def test_a_check_can_fail(name):
    """Somebody breaks the rule on purpose: a check that finds nothing is none."""
    assert [mutant for mutant in MUTANTS.values() if mutant.check == name]


MUST = [rule for rule in RULES if RULES[rule].severity == "MUST"]


@pytest.mark.parametrize("rule", [rule for rule in MUST if not rule.startswith("CPY-")])
def test_every_rule_that_must_be_kept_is_checked(rule):
    """By one check at least, unless it is about kernels, which no library of arrays has."""
    assert [check for check in CHECKS.values() if check.rule == rule]


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_says_what_it_breaks(name):
    """In a sentence, for the page that lists them; its check is one that there is."""
    mutant = MUTANTS[name]

    assert mutant.breaks.endswith(".")
    assert mutant.check in CHECKS
    assert items_of(mutant)
