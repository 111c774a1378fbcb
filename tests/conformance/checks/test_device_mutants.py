"""Mutants of streams and devices without the race detector: on a GPU, and with it disabled."""

from __future__ import annotations

import json

import pytest

from interchange_conformance.driver.cuda import environment

SPARED = ("only the emulated driver reports this", "two CUDA devices", "one device only")
"""Reasons for which an item cannot be decided on a real driver."""
CAUGHT = {"fail", "crash"}


@pytest.fixture(scope="module")
def results(run_isolated):
    """Return the results of every mutant and its honest counterpart, once for each driver."""
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
    """Return the results on the chosen driver."""
    return results(cuda_driver)


@pytest.mark.slow
@pytest.mark.emulated
@pytest.mark.gpu
def test_a_mutant_is_caught_without_the_detector(found, cuda_driver):
    """Its effect on data, streams and captures is sufficient; a real driver may not support it."""
    escaped = {
        name: items
        for name, items in found["mutants"].items()
        if not CAUGHT.intersection(status for status, _ in items.values())
        and not (cuda_driver == "real" and any(map(_is_spared, items.values())))
    }

    assert escaped == {}


def _is_spared(ending):
    """Return whether an item needs the emulated driver, or a second device."""
    status, evidence = ending
    return status == "not-applicable" and any(words in evidence for words in SPARED)


@pytest.mark.slow
@pytest.mark.emulated
@pytest.mark.gpu
def test_an_honest_counterpart_fails_nothing(found, cuda_driver):
    """An honest counterpart passes every item that the driver can decide."""
    failing = {
        item: ending
        for item, ending in found["counterparts"].items()
        if ending[0] != "pass" and not (cuda_driver == "real" and _is_spared(ending))
    }

    assert failing == {}
