"""The function of the C library that counts deleter calls, and its state."""

from __future__ import annotations

import ctypes
import sys

import pytest
from hypothesis import given, strategies as st

from interchange.abi import capsules
from interchange_conformance.zoo import counting

NUMBERS = st.integers(0, 2**48 - 1)


def stepped(number, calls):
    """Advance a state as POSIX specifies for jrand48."""
    for _ in range(calls):
        number = (0x5DEECE66D * number + 0xB) % 2**48
    return number


@given(start=NUMBERS, calls=st.integers(0, 300))
def test_a_count_is_read_from_two_numbers(start, calls):
    """calls_between returns the number of steps between two states, for all start values."""
    assert counting.calls_between(start, stepped(start, calls)) == calls


@given(start=NUMBERS, end=NUMBERS)
def test_every_number_is_some_steps_from_every_other(start, end):
    """Every pair of states has an answer, since the steps have a full period."""
    calls = counting.calls_between(start, end)
    factor, addend, number = 1, 0, start
    step_factor, step_addend = 0x5DEECE66D, 0xB
    for bit in range(48):  # composed steps, doubled in each iteration
        if calls >> bit & 1:
            factor, addend = factor * step_factor, addend * step_factor + step_addend
        step_factor, step_addend = step_factor**2 % 2**48, step_addend * (step_factor + 1) % 2**48

    assert (factor * number + addend) % 2**48 == end


def test_the_counting_function_needs_no_interpreter():
    """The deleter is in the C library, so a call without the GIL counts as well."""
    number = (ctypes.c_uint64 * 1)(5)
    library = ctypes.CDLL(None)  # whose functions are called without the GIL
    library.jrand48.argtypes = (ctypes.c_void_p,)

    library.jrand48(ctypes.addressof(number))

    assert ctypes.cast(library.jrand48, ctypes.c_void_p).value == counting.COUNTING_DELETER
    assert number[0] == stepped(5, 1)


def test_a_function_that_does_not_count_is_refused():
    """If jrand48 behaves differently, the kit raises an error instead of reporting a leak."""
    nothing = capsules.python_function("PyErr_CheckSignals", None, ctypes.c_void_p)
    address = ctypes.cast(nothing, ctypes.c_void_p).value

    with pytest.raises(ImportError, match="interchange_conformance cannot count deleter calls on"):
        counting.check_counter(address)


WITHOUT = """
import ctypes, sys
class Nothing:
    def __getattr__(self, name):
        raise {missing}(name)
import interchange.abi.capsules
ctypes.CDLL = lambda name: Nothing()
try:
    import interchange.testing
except ImportError as error:
    print(error)
"""


@pytest.mark.isolated
@pytest.mark.parametrize("missing", ["AttributeError", "OSError", "TypeError"])
def test_a_c_library_without_the_function_is_refused(run_isolated, missing):
    """The import error has the missing function and the fix, not only the symbol."""
    assert run_isolated(WITHOUT.format(missing=missing)) == (
        f"interchange_conformance cannot count deleter calls on {sys.platform}: its C library has "
        f"no jrand48(), which POSIX describes; run it on Linux\n"
    )
