"""The function of the C library that counts deleter calls, and how its number is read."""

from __future__ import annotations

import ctypes
import subprocess
import sys

import pytest
from hypothesis import given, strategies as st

from interchange.abi import capsules
from interchange_conformance.zoo import counting

NUMBERS = st.integers(0, 2**48 - 1)


def stepped(number, calls):
    """Step a number as POSIX says that jrand48 does."""
    for _ in range(calls):
        number = (0x5DEECE66D * number + 0xB) % 2**48
    return number


@given(start=NUMBERS, calls=st.integers(0, 300))
def test_a_count_is_read_from_two_numbers(start, calls):
    """calls_between says how many steps of POSIX's formula lie between, wherever they begin."""
    assert counting.calls_between(start, stepped(start, calls)) == calls


@given(start=NUMBERS, end=NUMBERS)
def test_every_number_is_some_steps_from_every_other(start, end):
    """No pair of numbers is left without an answer: the steps go through all of them."""
    calls = counting.calls_between(start, end)
    factor, addend, number = 1, 0, start
    step_factor, step_addend = 0x5DEECE66D, 0xB
    for bit in range(48):  # the steps done at once: composed, and doubled
        if calls >> bit & 1:
            factor, addend = factor * step_factor, addend * step_factor + step_addend
        step_factor, step_addend = step_factor**2 % 2**48, step_addend * (step_factor + 1) % 2**48

    assert (factor * number + addend) % 2**48 == end


def test_the_counting_function_needs_no_interpreter():
    """The deleter is of the C library: a call that gives up the GIL counts as any other does."""
    number = (ctypes.c_uint64 * 1)(5)
    library = ctypes.CDLL(None)  # whose functions are called without the GIL
    library.jrand48.argtypes = (ctypes.c_void_p,)

    library.jrand48(ctypes.addressof(number))

    assert ctypes.cast(library.jrand48, ctypes.c_void_p).value == counting.COUNTING_DELETER
    assert number[0] == stepped(5, 1)


def test_a_function_that_does_not_count_is_refused():
    """Where jrand48 is something else, the kit says so before it accuses anybody of a leak."""
    nothing = capsules.python_function("PyErr_CheckSignals", None, ctypes.c_void_p)
    address = ctypes.cast(nothing, ctypes.c_void_p).value

    with pytest.raises(ImportError, match="interchange_conformance cannot count deleter calls on"):
        counting.check_counter(address)


@pytest.mark.isolated
@pytest.mark.parametrize("missing", ["AttributeError", "OSError", "TypeError"])
def test_a_c_library_without_the_function_is_refused(missing):
    """The import says what is missing and what to do, not that a symbol was not found."""
    script = f"""
import ctypes
real = ctypes.CDLL
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
    child = [sys.executable, "-c", script]
    done = subprocess.run(child, check=True, capture_output=True, text=True)

    assert done.stdout == (
        f"interchange_conformance cannot count deleter calls on {sys.platform}: its C library has "
        f"no jrand48(), which POSIX describes; run it on Linux\n"
    )
