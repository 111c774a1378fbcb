"""Random numbers in kernels: a xoroshiro128+ generator per thread, in the kernel language.

Source: Blackman and Vigna, "Scrambled Linear Pseudorandom Number Generators" (xoroshiro128+ of
2016, rotations 55, 14 and 36, and its jump); Steele, Lea and Flood, "Fast Splittable Pseudorandom
Number Generators" (SplitMix64).  The names, and the sequence of a seed, are those of
``numba.cuda.random``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from interchange._functions.importing import asarray
from interchange._types.errors import ArgumentError, show
from interchange._types.numpy_dtypes import load_numpy

from .arrays import to_device
from .configuration import is_index
from .intrinsics import grid
from .kernel import jit
from .types import float32, float64, int64, uint64

if TYPE_CHECKING:
    from interchange import Array

_UNIT: Final = 2.0**-53
_TWO_PI: Final = 2 * math.pi
_JUMP: Final = 0xBEAC0467EBA5FACB, 0xD86B048B86AA9922
_FIRST_JUMP, _SECOND_JUMP = _JUMP


# ---------------------------------------------------------------- in kernels


def _rotated(x: Any, count: Any) -> Any:
    """Return the bits of a number rotated to the left."""
    return (x << uint64(count)) | (x >> uint64(64 - count))


def xoroshiro128p_next(states: Any, index: Any) -> Any:
    """Return the next uint64 of the generator at an index, and advance its state."""
    at = int64(index)
    s0 = uint64(states[at, 0])
    s1 = uint64(states[at, 1])
    mixed = s0 ^ s1
    states[at, 0] = _rotated(s0, 55) ^ mixed ^ (mixed << uint64(14))
    states[at, 1] = _rotated(mixed, 36)
    return s0 + s1


def xoroshiro128p_uniform_float64(states: Any, index: Any) -> Any:
    """Return a float64 from 0 to 1, not 1 itself, and advance the state."""
    return float64(xoroshiro128p_next(states, index) >> uint64(11)) * float64(_UNIT)


def xoroshiro128p_uniform_float32(states: Any, index: Any) -> Any:
    """Return a float32 from 0 to 1, rounded from a float64, and advance the state."""
    return float32(xoroshiro128p_uniform_float64(states, index))


def xoroshiro128p_normal_float32(states: Any, index: Any) -> Any:
    """Return a float32 of the standard normal distribution, and advance the state twice."""
    u = xoroshiro128p_uniform_float32(states, index)
    v = xoroshiro128p_uniform_float32(states, index)
    return math.sqrt(float32(-2.0) * math.log(u)) * math.cos(float32(_TWO_PI) * v)


def xoroshiro128p_normal_float64(states: Any, index: Any) -> Any:
    """Return a float64 of the standard normal distribution, and advance the state twice.

    It is computed from two numbers of float32, and a logarithm of float32, as by numba.
    """
    u = xoroshiro128p_uniform_float32(states, index)
    v = xoroshiro128p_uniform_float32(states, index)
    return math.sqrt(float64(-2.0) * math.log(u)) * math.cos(float64(_TWO_PI) * v)


# ---------------------------------------------------------------- states


def _jump(states: Any, index: Any) -> None:
    """Advance the state at an index by 2**64 numbers."""
    s0 = uint64(0)
    s1 = uint64(0)
    for word in range(2):
        bits = uint64(_FIRST_JUMP) if word == 0 else uint64(_SECOND_JUMP)
        for bit in range(64):
            if (bits >> uint64(bit)) & uint64(1):
                s0 ^= states[index, 0]
                s1 ^= states[index, 1]
            xoroshiro128p_next(states, index)
    states[index, 0] = s0
    states[index, 1] = s1


@jit
def _fill_states(states: Any, seed: Any, start: Any) -> None:
    """Set the states of generators, one subsequence after the other."""
    z = uint64(seed) + uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> uint64(30))) * uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> uint64(27))) * uint64(0x94D049BB133111EB)
    z = z ^ (z >> uint64(31))
    states[0, 0] = z
    states[0, 1] = z
    jumps = uint64(0)
    while jumps < uint64(start):
        _jump(states, 0)
        jumps += uint64(1)
    for i in range(1, states.shape[0]):
        states[i, 0] = states[i - 1, 0]
        states[i, 1] = states[i - 1, 1]
        _jump(states, i)


@jit
def _copy_states(source: Any, states: Any) -> None:
    """Copy states."""
    i = grid(1)  # type: ignore[var-annotated]
    if i < states.shape[0]:
        states[i, 0] = source[i, 0]
        states[i, 1] = source[i, 1]


def create_xoroshiro128p_states(
    n: int, seed: int, subsequence_start: int = 0, stream: Any = 0
) -> Array:
    """Return the states of generators for a kernel, on the device that `to_device` uses.

    Parameters
    ----------
    n : int
        Number of generators, usually of threads.
    seed : int
        Seed, modulo 2**64.
    subsequence_start : int, default 0
        Number of subsequences that the first generator skips.
    stream : int or object, default 0
        The stream of the copy.

    Returns
    -------
    Array
        Of shape ``(n, 2)`` and uint64.  Each generator has its own subsequence of 2**64 numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from interchange import cuda
    >>> from interchange.cuda.random import (
    ...     create_xoroshiro128p_states, xoroshiro128p_uniform_float32)
    >>> @cuda.jit
    ... def fill(states, x):
    ...     i = cuda.grid(1)
    ...     if i < x.size:
    ...         x[i] = xoroshiro128p_uniform_float32(states, i)
    >>> x = cuda.to_device(np.zeros(3, "f4"))
    >>> fill[1, 32](create_xoroshiro128p_states(32, seed=1), x)
    >>> x.to_device("cpu").tolist()
    [0.13312..., 0.87634..., 0.87109...]
    """
    call = "create_xoroshiro128p_states()"
    if not is_index(n) or n < 0:
        raise ArgumentError(call, f"n={show(n)}", "CPY-ARG-1", "pass 0 or more")
    return to_device(_states_on_host(int(n), seed, subsequence_start, call), stream)


def init_xoroshiro128p_states(
    states: Any, seed: int, subsequence_start: int = 0, stream: Any = 0
) -> None:
    """Set existing states, as `create_xoroshiro128p_states` makes them.

    Parameters
    ----------
    states : object
        An array of uint64 of shape ``(n, 2)``, on any device.
    seed : int
        Seed, modulo 2**64.
    subsequence_start : int, default 0
        Number of subsequences that the first generator skips.
    stream : int or object, default 0
        The stream on which they are set.
    """
    call = "init_xoroshiro128p_states()"
    array = asarray(states)
    if array.ndim != 2 or array.shape[1] != 2 or str(array.dtype) != "uint64":
        what = f"an array of {array.dtype} and shape {array.shape}"
        raise ArgumentError(call, what, "CPY-ARG-1", "pass an array of uint64, of shape (n, 2)")
    made = asarray(_states_on_host(array.shape[0], seed, subsequence_start, call))
    source = made if array.device == made.device else made.to_device(array.device)
    _copy_states.forall(array.shape[0], stream=stream)(source, states)


def _states_on_host(n: int, seed: int, start: int, call: str) -> Any:
    """Return states in host memory."""
    np = load_numpy()
    for name, value in (("seed", seed), ("subsequence_start", start)):
        if not is_index(value) or (name != "seed" and value < 0):
            raise ArgumentError(call, f"{name}={show(value)}", "CPY-ARG-1", "pass an int")
    states = np.empty((n, 2), np.uint64)
    if n:
        _fill_states[1, 1](states, np.uint64(int(seed) % 2**64), np.uint64(start))
    return states
