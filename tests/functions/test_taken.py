"""`error.taken`: the imported arguments of a call of which one is refused."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import interchange as ix
from interchange import cuda


def _capsule():
    """Return a capsule of three elements."""
    return ix.asarray(bytes(3)).__dlpack__(max_version=(1, 0))


@cuda.jit
def _first(a, b):
    a[0] = b[0]


@ix.accepts_arrays("x", y=ix.Contract(dtype="uint8"))
def _both(x, y):
    return x, y


@ix.accepts_arrays("y", "x", "rest", stream="stream")
def _on_stream(x, y, *rest, stream=1):
    return x, y, rest, stream


@ix.accepts_arrays("x", "y", stream="stream", borrow=True, writable=["y"])
def _lent(x, y, stream=1):
    return x, y, stream


SEVERAL = {
    "borrow": (lambda x, y: ix.borrow(x, y, stream=1).__enter__(), object()),
    "borrow(writable)": (lambda x, y: ix.borrow(x, y, stream=1, writable=True).__enter__(), b"a"),
    "kernel, what is no array": (_first[1, 1], object()),
    "kernel, elements": (_first[1, 1], np.zeros(1, ml_dtypes.float8_e4m3fn)),
    "kernel, read-only": (_first[1, 1], np.zeros(1)),
    "kernel, count": (lambda x, y: _first[1, 1](x, y, y), np.zeros(1)),
    "accepts_arrays, what is no array": (_both, object()),
    "accepts_arrays, contract": (_both, np.zeros(2)),
    "accepts_arrays, stream": (_on_stream, object()),
    "accepts_arrays, star": (lambda x, y: _on_stream(x, np.zeros(1), y), object()),
    "accepts_arrays, borrow": (_lent, b"abc"),
}


COMPILED = {"kernel, read-only", "kernel, count"}  # by llvmlite, before they are refused


@pytest.mark.parametrize(
    "call",
    [pytest.param(call, marks=[pytest.mark.interop] * (call in COMPILED)) for call in SEVERAL],
)
def test_errors_of_several_arguments_keep_those_of_capsules(call):
    """The error keeps the first argument's capsule, whatever is wrong with the second."""
    refuse, bad = SEVERAL[call]
    with pytest.raises(ix.InterchangeError, match=r"what `error\.taken` has") as caught:
        refuse(_capsule(), bad)

    taken = caught.value.taken
    taken = list(taken.values()) if isinstance(taken, dict) else taken
    assert taken[0].tolist() == [0, 0, 0]
    assert taken[-1] is bad


def test_one_argument_is_kept_as_it_is():
    """A single argument is kept without a name."""
    with pytest.raises(ix.ContractError) as caught:
        _both(None, np.zeros(2).__dlpack__())

    assert caught.value.taken.tolist() == [0, 0]


def test_errors_keep_nothing_of_what_can_be_asked_again():
    """The error keeps no copy of an object that can be read again."""
    with pytest.raises(ix.ContractError) as caught:
        _both(bytes(3), np.zeros(2))

    assert caught.value.taken is None


@pytest.mark.interop  # llvmlite compiles kernels
def test_an_error_of_a_kernel_keeps_its_line_beside_what_was_taken():
    """The attribute of `KernelError` stays."""
    with pytest.raises(ix.InterchangeError) as caught:
        _first[1, 1](_capsule())

    assert caught.value.line == _first.__wrapped_kernel__.__code__.co_firstlineno + 1
    assert caught.value.taken[0].tolist() == [0, 0, 0]
