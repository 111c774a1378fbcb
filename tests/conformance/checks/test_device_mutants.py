"""Mutants of streams and devices where there is no detector: on a GPU, and with it turned off."""

from __future__ import annotations

import json

import pytest

from interchange_conformance.driver.cuda import environment

SPARED = ("only the emulated driver reports this", "two CUDA devices", "one device only")
"""What may be said of an item that a real driver cannot decide."""
CAUGHT = {"fail", "crash"}


@pytest.fixture(scope="module")
def results(run_isolated):
    """Return what every mutant and every twin did, once for each driver."""
    known = {}

    def run(driver):
        if driver not in known:
            variables = {**environment(driver), "EMUCUDA_RACES": "off"}
            printed = run_isolated("device_mutants.py", env=variables, warnings="default")
            known[driver] = json.loads(printed)
        return known[driver]

    return run


@pytest.fixture
def found(results, cuda_driver):
    """Return what was found on the driver that was chosen."""
    return results(cuda_driver)


@pytest.mark.slow
@pytest.mark.emulated
@pytest.mark.gpu
def test_a_mutant_is_caught_without_the_detector(found, cuda_driver):
    """By what it does to data, streams and captures alone; a real driver may lack what it takes."""
    escaped = {
        name: items
        for name, items in found["mutants"].items()
        if not CAUGHT.intersection(status for status, _ in items.values())
        and not (cuda_driver == "real" and any(map(_is_spared, items.values())))
    }

    assert escaped == {}


def _is_spared(ending):
    """Whether an item says that it needs the emulated driver, or a second device."""
    status, evidence = ending
    return status == "not-applicable" and any(words in evidence for words in SPARED)


@pytest.mark.slow
@pytest.mark.emulated
@pytest.mark.gpu
def test_a_twin_fails_nothing(found, cuda_driver):
    """It passes every item that the driver can decide."""
    failing = {
        item: ending
        for item, ending in found["twins"].items()
        if ending[0] != "pass" and not (cuda_driver == "real" and _is_spared(ending))
    }

    assert failing == {}
