"""Random numbers of kernels: the sequence of numba.cuda.random, on every target.

Source: numba.cuda.random; Blackman and Vigna, "Scrambled Linear Pseudorandom Number Generators".
"""

from __future__ import annotations

import numpy as np
import pytest

import interchange as ix
from interchange import cuda
from interchange.cuda import random

from .comparing import left_by
from .programs import Case
from .test_atomics import TARGETS

pytestmark = pytest.mark.interop
SEED, START = 77, 3


@pytest.fixture(params=TARGETS)
def target(request):
    """How a kernel is run."""
    if "device" in request.node.callspec.id:
        request.getfixturevalue("cuda_driver")
    return request.param


@cuda.jit
def draw(states, integers, x, y, z, w):
    i = cuda.grid(1)
    integers[i] = random.xoroshiro128p_next(states, i)
    x[i] = random.xoroshiro128p_uniform_float32(states, i)
    y[i] = random.xoroshiro128p_uniform_float64(states, i)
    z[i] = random.xoroshiro128p_normal_float32(states, i)
    w[i] = random.xoroshiro128p_normal_float64(states, i)


def states_of(n, seed=SEED, start=START):
    """Return states as a NumPy array."""
    made = ix.asarray(random.create_xoroshiro128p_states(n, seed, subsequence_start=start))
    return np.array(made.to_device("cpu"))


@pytest.mark.usefixtures("cuda_driver")  # Numba looks for a driver once in a process
def test_the_sequence_is_that_of_numba(target):
    """Uniform numbers are the same; normal ones use the functions of math of each target."""
    numba = pytest.importorskip("numba.cuda.random")
    n = 6
    theirs = np.zeros(n, numba.xoroshiro128p_dtype)
    numba.init_xoroshiro128p_states_cpu(theirs, SEED, START)
    states = states_of(n)
    assert (states.ravel() == theirs.view("u8")).all()

    out = [np.zeros(n, dtype) for dtype in ("u8", "f4", "f8", "f4", "f8")]
    case = Case((2,), (3,), (states, *out), dict.fromkeys(range(6)))
    found = left_by(target(draw), case)
    names = ("next", "uniform_float32", "uniform_float64", "normal_float32", "normal_float64")
    expected = [
        [getattr(numba, f"xoroshiro128p_{name}")(theirs, i) for name in names] for i in range(n)
    ]
    for place, column in enumerate(zip(*expected, strict=True), 1):
        if place < 4:
            assert found[place].tolist() == list(column)
        else:
            assert found[place] == pytest.approx(column, rel=1e-6)
    assert (found[0].ravel() == theirs.view("u8")).all()


def test_the_first_numbers_of_a_seed(target):
    """These are the numbers of the C code by Vigna, for the state that SplitMix64 gives seed 1."""
    out = [np.zeros(1, dtype) for dtype in ("u8", "f4", "f8", "f4", "f8")]
    case = Case((1,), (1,), (states_of(1, 1, 0), *out), dict.fromkeys(range(6)))
    found = left_by(target(draw), case)
    s0 = s1 = 0x910A2DEC89025CC1
    mask = 2**64 - 1

    assert found[1][0] == s0 + s1 & mask
    s1 ^= s0
    s0, s1 = (s0 << 55 | s0 >> 9) & mask ^ s1 ^ s1 << 14 & mask, (s1 << 36 | s1 >> 28) & mask
    assert found[2][0] == np.float32(((s0 + s1 & mask) >> 11) * 2.0**-53)


def test_generators_are_subsequences_of_one_sequence():
    """The generator of an index is the first one of as many subsequences later."""
    states = states_of(5, SEED, 0)

    assert len(np.unique(states, axis=0)) == 5
    for start in range(4):
        assert (states_of(2, SEED, start) == states[start : start + 2]).all()


@pytest.mark.usefixtures("where")
def test_existing_states_are_set():
    """On the device of the array; other arrays are refused."""
    states = cuda.to_device(np.zeros((4, 2), "u8"))
    random.init_xoroshiro128p_states(states, SEED, START)

    assert np.array(states.to_device("cpu")).tolist() == states_of(4).tolist()
    for wrong in (np.zeros((4, 2), "i8"), np.zeros((4, 3), "u8"), np.zeros(4, "u8")):
        with pytest.raises(ix.InterchangeError, match="CPY-ARG-1"):
            random.init_xoroshiro128p_states(wrong, SEED)


def test_impossible_numbers_are_refused():
    """A seed is any int, modulo 2**64."""
    assert random.create_xoroshiro128p_states(0, 1).shape == (0, 2)
    assert (states_of(2, -1) == states_of(2, 2**64 - 1)).all()
    for given in ((-1, 1), (1.5, 1), (2, 1.5), (2, 1, -1)):
        with pytest.raises(ix.InterchangeError, match="CPY-ARG-1"):
            random.create_xoroshiro128p_states(*given)


def test_a_monte_carlo_estimate_is_close():
    """Each thread has its own generator."""

    @cuda.jit
    def inside(states, count, rounds):
        i = cuda.grid(1)
        found = 0
        for _ in range(rounds):
            x = random.xoroshiro128p_uniform_float32(states, i)
            y = random.xoroshiro128p_uniform_float32(states, i)
            if x * x + y * y < 1:
                found += 1
        cuda.atomic.add(count, 0, found)

    count = np.zeros(1, "i8")
    states = states_of(512)
    inside[4, 128](states, count, 500)

    assert 4 * count[0] / (512 * 500) == pytest.approx(np.pi, abs=0.02)
