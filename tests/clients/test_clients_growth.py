"""10,000 round trips from numba-cuda through interchange to cuda.core and back leak nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytestmark = [pytest.mark.clients, pytest.mark.emulated, pytest.mark.isolated]

SCRIPT = Path(__file__).with_name("round_trips.py")
KINDS = ("one array", "fresh arrays", "fresh streams")
MOST = 20  # growth per trip [bytes]; one leaked Python object is larger


@pytest.fixture(scope="module")
def counts(run_isolated, need):
    """Return the resources left by each kind of trip, each in a separate process."""
    found = {}

    def count(kind):
        need("cuda.core")
        need("numba_cuda")
        if kind not in found:
            # freed device memory is held back up to this size [bytes], and counts as resident
            found[kind] = json.loads(
                run_isolated(str(SCRIPT), kind, env={"EMUCUDA_QUARANTINE": "65536"})
            )
        return found[kind]

    return count


@pytest.mark.parametrize("kind", KINDS)
def test_memory_does_not_grow(counts, kind):
    """The resident memory after 10,000 trips equals that after 2,000."""
    told = counts(kind)

    assert told["trips"] == 10_000
    assert told["after"]["resident"] - told["before"]["resident"] < MOST * told["trips"]


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_of_the_driver_is_left(counts, kind):
    """The numbers of allocations, events and streams are unchanged, and there is no report."""
    told = counts(kind)

    assert told["after"]["live"] == told["before"]["live"]
    assert told["after"]["reports"] == []
