"""Blocks of a launch on the CPU are shared out among worker threads.

Source: "Python support for free threading", Known limitations (threads that share an iterator may
see items twice).
"""

from __future__ import annotations

import sys
from collections import deque
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from interchange import cuda
from interchange.cuda import host_launch

pytestmark = pytest.mark.interop

WORKERS = 8


@pytest.fixture
def quick_switches():
    """Let threads run a few instructions at a time."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@cuda.jit
def count_calls(x):
    x[cuda.blockIdx.x] += 1


@pytest.mark.usefixtures("quick_switches")
@pytest.mark.parametrize("threads", [8, 64])
def test_each_block_runs_once(monkeypatch, threads):
    """In launches of few shares and of many."""
    monkeypatch.setattr(host_launch._pool, "count", WORKERS)
    x = np.zeros(1024, np.int32)
    for _ in range(10):
        count_calls[1024, threads](x)

    assert x.tolist() == [10 * threads] * 1024


@pytest.mark.usefixtures("quick_switches")
def test_no_share_is_taken_twice():
    """By threads that take at the same time; all are taken."""
    shares = deque(range(5000))
    with ThreadPoolExecutor(WORKERS) as pool:
        taken = list(pool.map(lambda _: list(host_launch._taken_from(shares)), range(WORKERS)))

    assert sorted(share for each in taken for share in each) == list(range(5000))


@pytest.mark.parametrize(
    ("workers", "threads", "shares"),
    [(1, 1 << 20, 1), (2, 4097, 2), (2, 8 * 4096, 8), (2, 1 << 20, 16), (16, 8192, 16)],
)
def test_shares_are_as_many_as_their_work_is_worth(workers, threads, shares):
    """Each worker has one, and up to eight that are not small."""
    assert host_launch._shares_of(workers, threads) == shares
