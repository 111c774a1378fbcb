"""Properties that a plain array cannot represent: masks, nulls, layouts, handles."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from numpy.ma import mrecords

import interchange as ix
from interchange import xp
from interchange._protocols.array_method import ask_for_array

PLAIN = np.arange(3.0)
FIELDS = [("a", "f4"), ("b", "i4")]


def masked():
    return np.ma.masked_array([1.0, 2.0, 3.0], [False, True, False])


def in_fields():
    return np.ma.masked_array(np.zeros(2, FIELDS), mask=[(False, True), (False, False)])


MASKED = {
    "masked array": masked,
    "structured": in_fields,
    "masked scalar": lambda: np.ma.masked,
    "records": lambda: in_fields().view(mrecords.MaskedRecords),
    "of bool": lambda: np.ma.masked_array([True, False], [True, False]),
}


@pytest.mark.parametrize("make", MASKED.values(), ids=MASKED)
def test_no_mask_is_lost(make, taking):
    """A masked array is refused by its rule, whichever function is called (AI-MASK-1)."""
    with pytest.raises(ix.ExchangeError) as caught:
        taking(make())

    assert caught.value.rule == "AI-MASK-1"
    assert "fill" in caught.value.hint


def test_a_masked_array_without_a_masked_element_is_taken(taking):
    """A masked array without masked elements is imported, since nothing would be lost."""
    found = taking.memory(np.ma.masked_array(PLAIN, mask=False))

    assert np.asarray(found).astype(float).tolist() == [0.0, 1.0, 2.0]


def test_a_class_of_that_name_is_no_masked_array():
    """Masked arrays are recognised by their type, not by the name of a class."""
    impostor = type("MaskedArray", (np.ndarray,), {"__module__": "numpy.main", "mask": True})

    assert ix.asarray(PLAIN.view(impostor)).tolist() == [0.0, 1.0, 2.0]


# ---------------------------------------------------------------- __array__


class Column:
    """Supports ``__array__`` only, and shares or makes its elements."""

    def __init__(self, *, shares=True) -> None:
        self.shares, self.asked = shares, []

    def __array__(self, dtype=None, copy=None):
        self.asked.append(copy)
        if copy is False and not self.shares:
            raise ValueError("Unable to avoid copy")
        return PLAIN if self.shares else PLAIN * 1.0


class Computing(Column):
    """Computes at each call, whatever the arguments."""

    def __array__(self, dtype=None, copy=None):
        self.asked.append(copy)
        return PLAIN * 1.0


class Old(Column):
    """Has no `copy` parameter."""

    def __array__(self, dtype=None):
        self.asked.append("nothing")
        return PLAIN


@pytest.mark.parametrize("copy", [None, False])
def test_elements_that_are_shared_are_taken(copy):
    """Shared elements are accepted, as ``__array__(copy=False)`` confirms."""
    column = Column()

    assert ix.asarray(column, copy=copy).ptr == PLAIN.ctypes.data
    assert column.asked == [False]


@pytest.mark.parametrize("error", [ValueError, RuntimeError, TypeError, KeyError])
@pytest.mark.parametrize(("copy", "rule"), [(None, "AI-ARRAY-1"), (False, "DLP-COPY-1")])
def test_elements_are_not_made_without_a_word(error, copy, rule):
    """Elements are not made without `copy`, however ``__array__`` refuses to share."""

    class Other(Column):
        def __array__(self, dtype=None, copy=None):
            raise error("no")

    with pytest.raises(ix.CopyNeededError) as caught:
        ix.asarray(Other(), copy=copy)

    assert caught.value.rule == rule
    assert "copy=True" in caught.value.hint or copy is False


@pytest.mark.parametrize("kind", [Column, Old, Computing])
def test_elements_are_made_where_the_caller_says_so(kind):
    """With ``copy=True`` the result of ``__array__`` is copied, since its owner is unknown."""
    found = ix.asarray(kind(), copy=True)

    assert found.tolist() == [0.0, 1.0, 2.0]
    assert (found.ptr != PLAIN.ctypes.data, found.readonly) == (True, False)


@pytest.mark.parametrize(
    "make", [Old, type("Array", (Computing,), {"__module__": "dask.array"})], ids=["old", "dask"]
)
def test_what_does_not_promise_to_share_is_called_for_copies_alone(make):
    """An ``__array__`` without `copy`, and Dask, which computes at each call."""
    column = make()

    with pytest.raises(ix.CopyNeededError):
        ix.asarray(column)
    assert column.asked == []
    ix.asarray(column, copy=True)
    assert len(column.asked) == 1


@pytest.mark.parametrize("library", ["pandas", "pandas.core"])
def test_an_answer_that_moves_is_a_copy(library):
    """pandas before 3 warns and copies, detected by a second result at another address."""
    moving = type("Series", (Computing,), {"__module__": library})()
    staying = type("Series", (Column,), {"__module__": library})()

    with pytest.raises(ix.CopyNeededError):
        ix.asarray(moving)
    assert ix.asarray(staying).ptr == PLAIN.ctypes.data


@pytest.mark.parametrize("error", [MemoryError, RecursionError])
def test_no_room_is_no_answer(error):
    """A MemoryError says nothing about copies."""

    class Full:
        def __array__(self, dtype=None, copy=None):
            raise error

    with pytest.raises(error):
        ask_for_array(Full(), None, "f()")


# ---------------------------------------------------------------- opaque handles


def handles(*, capsule, max_version=(1, 3)):
    """Return a producer, or a capsule, of opaque handles."""
    array = ix.from_pointer(PLAIN.ctypes.data, (3,), "opaque64", owner=PLAIN)
    if capsule:
        return array.__dlpack__(max_version=max_version)
    body = {
        "__dlpack__": lambda _, **keywords: array.__dlpack__(**keywords),
        "__dlpack_device__": lambda _: (1, 0),
    }
    return type("Handles", (), body)()


@pytest.mark.parametrize("capsule", [True, False])
@pytest.mark.parametrize(
    "take",
    [
        ix.from_dlpack,
        ix.asarray,
        xp.asarray,
        ix.to_capsule,
        lambda x: ix.accepts_arrays("x", stream="stream")(lambda x, stream: (x, stream))(x, 7),
        lambda x: ix.from_dlpack(x, copy=True),
    ],
    ids=["from_dlpack", "asarray", "xp.asarray", "to_capsule", "accepts_arrays", "copy"],
)
def test_opaque_handles_are_refused_unless_asked_for(take, capsule):
    """Opaque handles are refused: no consumer keeps the objects they refer to (DLP-DTYPE-7)."""
    with pytest.raises(ix.UnsupportedDTypeError, match="DLP-DTYPE-7"):
        take(handles(capsule=capsule))


@pytest.mark.parametrize("max_version", [None, (1, 3)])
def test_a_refused_capsule_of_handles_is_given_back(max_version):
    """The memory of a refused capsule of handles is released."""
    block = np.arange(3.0)
    gone = []
    owner = type("Owner", (), {"__del__": lambda _: gone.append(1), "block": block})()
    array = ix.from_pointer(block.ctypes.data, (3,), "opaque64", owner=owner)
    capsule = array.__dlpack__(max_version=max_version)
    del array, owner

    with pytest.raises(ix.UnsupportedDTypeError):
        ix.from_dlpack(capsule)
    gc.collect()

    assert gone == [1]


@pytest.mark.parametrize("capsule", [True, False])
def test_opaque_handles_are_taken_where_the_caller_names_them(capsule):
    """Opaque handles are accepted if the caller names their type."""
    found = ix.asarray(handles(capsule=capsule), dtype="opaque64")

    assert (found.dtype.name, found.ptr) == ("opaque64", PLAIN.ctypes.data)


@pytest.mark.parametrize("nest", [lambda x: [x], lambda x: ((x,),), lambda x: [[[0.0]], [[x]]]])
@pytest.mark.parametrize("make", [masked, lambda: np.ma.masked])
def test_a_list_of_masked_arrays_is_refused_wherever_they_stand_in_it(make, nest):
    """A list of masked arrays is refused: NumPy would convert them to data or NaN."""
    with pytest.raises(ix.ExchangeError, match="AI-MASK-1"):
        xp.asarray(nest(make()))


@pytest.mark.parametrize("nest", [lambda x: [x], lambda x: [[x], [x]]])
def test_an_index_of_masked_arrays_in_a_list_is_refused(nest):
    """A list with masked indices is refused: it would select masked elements."""
    places = np.ma.masked_array([0, 1], [False, True])
    with pytest.raises(ix.ExchangeError, match="AI-MASK-1"):
        ix.from_dlpack(np.arange(3.0))[nest(places)]


def test_a_list_of_masked_arrays_without_a_masked_element_is_taken():
    """A list of masked arrays without masked elements is accepted."""
    whole = np.ma.masked_array([1.0, 2.0], mask=False)

    assert xp.asarray([whole, whole]).tolist() == [[1.0, 2.0], [1.0, 2.0]]
