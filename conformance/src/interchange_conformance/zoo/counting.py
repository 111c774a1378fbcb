"""The deleter of every struct of the zoo: a function of the C library that counts its calls.

Source: POSIX.1-2024, ``jrand48``; dlpack.h 1.3, the deleters.  A deleter is native code, and takes
the address of its struct (DLP-LIFE-4).  ``jrand48`` takes an address, too: it reads the 48-bit
number X at that address, replaces it with a X + c and accesses no other memory.  The standard
specifies a and c, and the sequence has a period of 2**48, so that two such numbers determine the
number of calls between them exactly.  It needs neither Python nor the GIL, and may run with a
pending exception.

Limits: concurrent calls for one struct, from threads that share no lock, may be counted once;
and ``lcong48`` in the same process changes a and c until ``srand48`` restores them.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any, Final

from interchange.abi import capsules

COUNTED: Final = 6
"""Size of the part of a struct in which its deleter counts, from the first byte on [bytes]."""
MOST: Final = 2**20
"""A higher count is impossible: it means that the memory was overwritten."""

_FACTOR, _ADDEND = 0x5DEECE66D, 0xB
_BITS: Final = 8 * COUNTED
_MASK: Final = 2**_BITS - 1
_Numbers: Final = ctypes.c_uint16 * 3  # the least significant comes first on every platform
_EXAMPLES: Final = (0, 1, 0x3_0000_0001, 0x7FFF_C000_0000, 0xFFFF_FFFF_FFFF)


def _doubled_steps() -> tuple[tuple[int, int], ...]:
    """Return the factors and addends of 1, 2, 4, ... consecutive calls."""
    steps = [(_FACTOR, _ADDEND)]
    while len(steps) < _BITS:
        factor, addend = steps[-1]
        steps.append((factor * factor & _MASK, addend * (factor + 1) & _MASK))
    return tuple(steps)


_STEPS: Final = _doubled_steps()


def number_at(address: int) -> int:
    """Return the number in which the deleter counts."""
    low, middle, high = _Numbers.from_address(address)
    return int(low | middle << 16 | high << 32)


def calls_between(before: int, after: int) -> int:
    """Return the number of calls between two numbers.

    The lowest bits of the numbers repeat first: 2**n calls leave the lowest n bits unchanged, so
    that each differing bit determines one bit of the count.

    Examples
    --------
    >>> calls_between(0, 0xB)
    1
    """
    calls = 0
    for bit, (factor, addend) in enumerate(_STEPS):
        if before == after:
            break
        if (before ^ after) >> bit & 1:
            before = factor * before + addend & _MASK
            calls |= 1 << bit
    return calls


def _counting_function() -> int:
    """Return the address of the C library's ``jrand48``."""
    try:
        function: Any = ctypes.CDLL(None).jrand48
    except (AttributeError, OSError, TypeError) as error:
        raise _cannot("its C library has no jrand48()") from error
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def _cannot(why: str) -> ImportError:
    """Return the error for a platform where calls cannot be counted."""
    return ImportError(
        f"interchange_conformance cannot count deleter calls on {sys.platform}: {why}, which POSIX "
        f"describes; run it on Linux"
    )


def check_counter(deleter: int) -> None:
    """Raise an error if a function does not behave as this module expects."""
    for start in _EXAMPLES:
        words = (ctypes.c_uint64 * 3)()
        place = ctypes.addressof(words) + 8
        ctypes.memmove(place, _Numbers(*(start >> shift & 0xFFFF for shift in (0, 16, 32))), 6)
        around = bytes(words)[:8], bytes(words)[8 + COUNTED :]
        for calls in range(4):
            if calls_between(start, number_at(place)) != calls:
                raise _cannot(f"{calls} calls of jrand48() from {start:#x} were not {calls} steps")
            capsules.deleter_at(deleter)(place)
        if around != (bytes(words)[:8], bytes(words)[8 + COUNTED :]):
            raise _cannot("jrand48() wrote beside its number")


COUNTING_DELETER: Final = _counting_function()
"""Address of the native function that counts its calls in the first bytes of its argument."""

check_counter(COUNTING_DELETER)
