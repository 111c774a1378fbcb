"""Work that is held on a stream shows whether a consumer waits for it."""

from __future__ import annotations

import textwrap

import pytest

from interchange_conformance.driver.cuda import environment

pytestmark = [pytest.mark.emulated, pytest.mark.gpu]

BEGIN = """
from interchange_conformance.driver import cuda as kit
from interchange_conformance.probes.pending_work import PendingWork
cuda = kit.driver()
own, other, address = cuda.stream(), cuda.stream(), cuda.memory(64)
"""


@pytest.fixture
def with_pending(run_isolated, cuda_driver):
    """Return a function that runs a program on the chosen driver, with or without the detector."""

    def run(program, **variables):
        env = {**environment(cuda_driver), **variables}
        return run_isolated(BEGIN + textwrap.dedent(program), env=env).splitlines()

    return run


UNORDERED = """
pending = PendingWork(cuda, address, 64, own)
seen = pending.seen_on(other)
print(seen.is_ordered(), seen.overtook, len(seen.reports))
print(seen.evidence("nothing was done"))
"""


@pytest.mark.parametrize("detector", ["collect", "off"])
def test_a_missing_wait_is_seen_with_and_without_the_detector(with_pending, detector, cuda_driver):
    """A copy that is done before the work is released did not wait."""
    first, evidence = with_pending(UNORDERED, EMUCUDA_RACES=detector)

    reports = int(detector == "collect" and cuda_driver == "emulated")
    assert first == f"False True {reports}"
    assert evidence.startswith("nothing was done; a copy on the consumer's stream saw the data")
    assert evidence.count("detector reports: read after write (RAW)") == reports


ORDERED = """
pending = PendingWork(cuda, address, 64, own)
cuda.order(own, other)
seen = pending.seen_on(other)
print(seen.is_ordered(), seen.overtook, seen.data)
"""
SYNCHRONISED = """
pending = PendingWork(cuda, address, 64, own, patience=0.1)
cuda.synchronize(own)
print(pending.is_held, pending.release())
"""
RELEASED_LATER = """
pending = PendingWork(cuda, address, 64, own, patience=20)
pending.release_later(0.05)
cuda.synchronize(own)
print(pending.release(), set(cuda.read(address, 64)))
"""
EARLIER_WORK = """
cuda.fill(address, 1, 64, own)
cuda.fill(address, 2, 64, other)
cuda.synchronize()
pending = PendingWork(cuda, address, 64, own)
cuda.order(own, other)
print(pending.seen_on(other).is_ordered())
"""


@pytest.mark.parametrize(
    ("program", "printed"),
    [
        (ORDERED, "True False {7}"),
        (SYNCHRONISED, "False True"),
        (RELEASED_LATER, "False {7}"),
        (EARLIER_WORK, "True"),
    ],
    ids=["ordered", "the host waits", "released by a thread", "work before"],
)
def test_a_wait_is_seen(with_pending, program, printed):
    """The copy runs after the work, which ends at its limit or by a thread."""
    assert with_pending(program) == [printed]


@pytest.mark.parametrize("make", ["cuda.managed(64)", "cuda.pinned(64)"])
def test_work_is_held_on_memory_that_the_host_reaches(with_pending, make):
    """The host continues meanwhile, and sees the old contents."""
    printed = with_pending(
        f"""
        import ctypes
        address = {make}
        pending = PendingWork(cuda, address, 64, own, patience=20)
        print(set(ctypes.string_at(address, 64)), pending.is_held)
        pending.release()
        print(set(cuda.read(address, 64)))
        """
    )

    assert printed == ["{0} True", "{7}"]
