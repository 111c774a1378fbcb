"""Borrowing: NumPy's native functions are checked before anything is lent with them."""

from __future__ import annotations

import ctypes
import itertools
import sys

import numpy as np
import pytest

import interchange as ix
from interchange._core import _numpy_deleters
from interchange.testing import producers
from interchange_conformance.zoo.counting import COUNTING_DELETER

pytestmark = pytest.mark.readable

NEWEST = {"max_version": (1, 3)}
BLOCK = np.zeros(64, np.uint8)


@pytest.fixture(autouse=True)
def _untested():
    """Forget the self-test, before and after."""
    _numpy_deleters.numpy_functions.cache_clear()
    yield
    _numpy_deleters.numpy_functions.cache_clear()


class Dummy:
    """Return the exports of a NumPy whose capsules differ from today's."""

    def __init__(self, export) -> None:
        self.export = export

    def __dlpack__(self, *, max_version=None):
        return self.export(max_version)


def own():
    """Return an Array that only borrowed deleters can lend."""
    return ix.from_pointer(BLOCK.ctypes.data, (2, 3), "bfloat16", owner=BLOCK)


def refusal(array, **keywords):
    """Return the error that an export ends in; its traceback is dropped."""
    try:
        array.__dlpack__(**keywords)
    except ix.ExchangeError as error:
        return error.with_traceback(None)
    return None


DUMMIES: list[Dummy] = []
KEPT: list[Dummy] = []


def of_another_array(max_version):
    return np.ones((2, 3)).__dlpack__(max_version=max_version)


def of_another_array_but_kept(max_version):
    KEPT.append(DUMMIES[-1])
    return np.ones((2, 3)).__dlpack__(max_version=max_version)


def without_a_reference(max_version):
    source = producers.host().but(manager_ctx=id(DUMMIES[-1]))
    return source.__dlpack__(max_version=max_version)


def in_two_blocks(max_version):
    KEPT.append(DUMMIES[-1])
    return without_a_reference(max_version)


def always_legacy(_):
    return np.ones((2, 3)).__dlpack__()


def always_versioned(_):
    return np.ones((2, 3)).__dlpack__(max_version=(1, 0))


ODD = [
    *(of_another_array, of_another_array_but_kept, without_a_reference, in_two_blocks),
    *(always_legacy, always_versioned),
]


@pytest.fixture(params=ODD)
def _odd_numpy(request, monkeypatch):
    """Let NumPy's arrays be something else, for as long as a test runs."""

    def zeros(*_):
        DUMMIES.append(Dummy(request.param))
        return DUMMIES[-1]

    own().__dlpack__()  # whatever else asks NumPy once has asked
    _numpy_deleters.numpy_functions.cache_clear()
    monkeypatch.setattr(np, "zeros", zeros)
    yield
    DUMMIES.clear()
    KEPT.clear()


@pytest.mark.usefixtures("_odd_numpy")
@pytest.mark.parametrize("keywords", [{}, NEWEST])
def test_an_odd_numpy_lends_nothing(keywords):
    """If a struct differs from the known layout, exports are refused."""
    error = refusal(own(), **keywords)

    assert (type(error), error.rule, np.__version__ in str(error)) == (
        ix.ExchangeError,
        "DLP-LIFE-6",
        True,
    )


@pytest.mark.usefixtures("_odd_numpy")
def test_an_odd_numpy_costs_no_reference():
    """A refused export takes no reference to the owner."""
    before = sys.getrefcount(BLOCK)
    array = own()
    refusal(array)
    refusal(array, **NEWEST)
    del array

    assert sys.getrefcount(BLOCK) == before


@pytest.mark.usefixtures("_odd_numpy")
def test_a_refusal_is_not_for_ever(monkeypatch):
    """The check is repeated at the next export."""
    first = refusal(own())
    monkeypatch.undo()

    assert (first.rule, refusal(own())) == ("DLP-LIFE-6", None)


@pytest.mark.parametrize("keywords", [{}, NEWEST])
def test_a_deleter_that_keeps_its_owner_is_found_out(monkeypatch, keywords):
    """The self-test exports an object of its own first and requires that it is released."""
    honest = _numpy_deleters._read_functions

    def functions(*arguments):
        return honest(*arguments)._replace(deleter=COUNTING_DELETER)

    monkeypatch.setattr(_numpy_deleters, "_read_functions", functions)
    before = sys.getrefcount(BLOCK)
    error = refusal(own(), **keywords)

    assert (error.rule, sys.getrefcount(BLOCK)) == ("DLP-LIFE-6", before)


def test_a_capsule_without_destructor_is_found_out(monkeypatch):
    """A NumPy whose capsules have no destructor is not used for exports."""
    monkeypatch.setattr(_numpy_deleters.capsules, "capsule_destructor", lambda _: None)

    assert refusal(own()).rule == "DLP-LIFE-6"


def test_the_check_is_made_once(monkeypatch):
    """Exports after the first do not ask NumPy again."""
    own().__dlpack__()
    monkeypatch.setattr(np, "zeros", None)

    assert [refusal(own()), refusal(own(), **NEWEST)] == [None, None]


def test_no_memory_no_reference(monkeypatch):
    """If the allocation fails, the reference count of the owner is unchanged (P8)."""
    array = own()
    array.__dlpack__()
    before = sys.getrefcount(BLOCK)
    functions = _numpy_deleters.numpy_functions()[0]._replace(
        blocks=itertools.repeat(ctypes.c_void_p(None))
    )
    monkeypatch.setattr(array._make_capsule.__self__, "_legacy", tuple(functions))

    with pytest.raises(MemoryError):
        array.__dlpack__()

    assert sys.getrefcount(BLOCK) == before


def test_the_lent_functions_are_of_numpy():
    """Each generation has its own NumPy functions (DLP-LIFE-4)."""
    legacy, versioned = _numpy_deleters.numpy_functions()

    assert len({legacy.deleter, versioned.deleter, 0, COUNTING_DELETER}) == 4
