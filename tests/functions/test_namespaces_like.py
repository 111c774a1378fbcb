"""`like`: results in the array type of the caller's argument."""

from __future__ import annotations

import array

import array_api_strict
import numpy as np
import pytest
from hypothesis import given, strategies as st

import interchange as ix
from interchange._functions.like import like
from interchange._types.library import all_libraries
from interchange.abi.capsules import capsule_name
from interchange.testing import producers, strategies


class Record:
    """An object that supports the CUDA Array Interface only, without elements."""

    def __init__(self):
        data = (0, False)
        record = {"shape": (0,), "typestr": "<f4", "data": data, "version": 3}
        self.__cuda_array_interface__ = record


class Holder(ix.Producer):
    """A class of the user's, made an array by the mixin."""

    def __interchange__(self):
        return ix.asarray(bytearray(2))


def refusal(error, *arguments, **options):
    """Return the error that a call is refused with, exactly of that class."""
    with pytest.raises(error) as caught:
        like(*arguments, **options)
    assert type(caught.value) is error
    assert str(caught.value).startswith("like(): ")
    return caught.value


def kind_of(x):
    """Return the name of a case, the same in every process."""
    return x.__name__ if isinstance(x, type) else type(x).__name__


@pytest.mark.parametrize(
    ("x", "wanted"),
    [
        (np.ones(2), np.ndarray),
        (np.float64(1), np.ndarray),
        (array_api_strict.ones(2), type(array_api_strict.ones(2))),
        (memoryview(b""), memoryview),
        (bytearray(2), memoryview),
        (b"ab", memoryview),
        (array.array("d"), memoryview),
        (ix.asarray(b""), ix.Array),
        (producers.host(), ix.Array),
        (Holder(), ix.Array),
    ],
    ids=lambda x: type(x).__name__ if not isinstance(x, type) else "",
)
def test_the_result_has_the_type_of_the_argument(x, wanted):
    """The result has the type of the argument and shares the computed memory."""
    result = ix.asarray(np.arange(3.0))

    found = like(result, x)

    assert type(found) is wanted
    assert (ix.asarray(found).ptr, ix.asarray(found).tolist()) == (result.ptr, [0.0, 1.0, 2.0])


@pytest.mark.parametrize("name", [b"dltensor", b"dltensor_versioned"])
@pytest.mark.parametrize("is_consumed", [False, True])
def test_a_capsule_is_answered_by_one_of_its_generation(name, is_consumed):
    """Consumed or not, since the function has imported its argument by then."""
    version = (1, 0) if name.endswith(b"versioned") else None
    x = ix.to_capsule(bytearray(2), max_version=version)
    if is_consumed:
        ix.from_dlpack(x)

    found = like(np.arange(3), x)

    assert capsule_name(found) == name
    assert ix.from_dlpack(found).tolist() == [0, 1, 2]


def test_read_only_results_are_copied_for_legacy_capsules():
    """A read-only result is copied for libraries that use legacy capsules."""
    x = ix.to_capsule(bytearray(2))

    found = ix.from_dlpack(like(b"abc", x), assume_writable=True)

    assert (found.tolist(), found.readonly) == ([97, 98, 99], False)
    assert refusal(ix.ReadOnlyError, b"abc", x, copy=False).rule == "DLP-RO-1"


@given(strategies.sources())
def test_what_numpy_gives_is_what_was_computed(source):
    """NumPy's results of every element type and layout are shared."""
    seen = ix.from_dlpack(source)

    found = like(seen, np.zeros(1))

    assert (found.shape, found.dtype.name, found.tolist()) == (
        seen.shape,
        seen.dtype.name,
        seen.tolist(),
    )
    assert not found.size or found.ctypes.data == seen.ptr


@given(st.lists(st.integers(0, 255), max_size=9))
def test_there_and_back(numbers):
    """Through every type that holds bytes."""
    block = bytearray(numbers)
    for x in (np.ones(1), memoryview(b""), ix.asarray(b""), array_api_strict.ones(1)):
        block = like(block, x)

    assert ix.asarray(block).tolist() == numbers


@pytest.mark.parametrize("x", [np.ones(2), memoryview(b"ab"), ix.asarray(b"ab")], ids=kind_of)
def test_a_result_of_the_right_type_is_returned_unless_a_copy_is_requested(x):
    """A result of the right type is returned unchanged; a requested copy is made."""
    found = like(x, x, copy=True)

    assert like(x, x) is x
    assert type(found) is type(x)
    assert ix.asarray(found).ptr != ix.asarray(x).ptr


# ---------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    "x", [None, 3, 2.5, "abc", [1], {}, object(), np.ndarray, ix.Array], ids=kind_of
)
def test_a_type_that_is_not_known_is_refused(x):
    """The caller can name a library."""
    error = refusal(ix.NoProtocolError, np.ones(2), x)

    assert (error.rule, error.hint) == (
        "IX-PROTOCOL-1",
        "name a library, as in `interchange.convert(result, 'numpy')`",
    )


def test_a_result_is_not_moved_between_host_and_device():
    """The way to move it is named; the CUDA Array Interface alone is on a device."""
    error = refusal(ix.UnsupportedDeviceError, producers.claiming((2, 0)), np.ones(2))

    assert (error.rule, "device='cpu'" in str(error)) == ("DLP-DEV-6", True)
    assert refusal(ix.UnsupportedDeviceError, np.ones(2), Record()).rule == "CAI-DEV-1"


def test_a_result_on_a_device_is_answered_in_kind():
    """For an argument with the CUDA Array Interface only, the result supports it, too."""
    result = ix.from_pointer(0, (0, 3), "float32", device="cuda:0")

    found = like(result, Record())

    assert (type(found), found.array.shape) == (ix.CudaArrayView, (0, 3))


def test_each_class_of_a_library_has_one_target():
    """A class is in one row; its target is one of `TARGETS`, or its namespace makes results."""
    rows = [row for library in all_libraries() for row in library.result_types]

    assert len({row[:2] for row in rows}) == len(rows)
    assert {target for *_, target in rows} <= {"", *ix.TARGETS}
