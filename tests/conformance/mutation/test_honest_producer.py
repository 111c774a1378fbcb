"""The honest producer: its changes to NumPy's capsules, and the mutants made from it."""

from __future__ import annotations

import numpy as np
import pytest

from interchange_conformance.probes.opened_capsule import OpenedCapsule
from mutants._honest_producer import (
    Honest,
    honest_constants,
    honest_producer,
    patched,
)

GENERATIONS = [{}, {"max_version": (1, 3)}]
generations = pytest.mark.parametrize("keywords", GENERATIONS, ids=["legacy", "versioned"])


def make(shape=(2, 3), dtype="float32", *, readonly=False):
    """Return an array of the honest producer."""
    return honest_producer().make(shape, dtype, "cpu", readonly)


@generations
def test_strides_are_there_whatever_numpy_leaves_out(keywords):
    """NumPy before 2.4 leaves strides NULL for C-contiguous arrays."""
    assert OpenedCapsule(make((2, 3, 4)).__dlpack__(**keywords)).strides == (12, 4, 1)


@generations
def test_data_without_elements_is_null(keywords):
    """NumPy exports a non-NULL address."""
    assert OpenedCapsule(make((0, 3)).__dlpack__(**keywords)).data is None


@generations
def test_element_types_that_numpy_has_not_have_their_codes(keywords):
    """Integers of the same size hold their bytes."""
    x = make(dtype="bfloat16")

    assert OpenedCapsule(x.__dlpack__(**keywords)).dtype == (4, 16, 1)
    assert x.dtype == "bfloat16"


@generations
def test_the_memory_is_the_arrays(keywords):
    """A copy is only made if it is requested."""
    x = make()

    assert OpenedCapsule(x.__dlpack__(**keywords)).first == x.array.ctypes.data
    assert OpenedCapsule(x.__dlpack__(copy=True, **keywords)).first != x.array.ctypes.data


def test_repeated_elements_may_be_written():
    """They are elements of the array, which is writable."""
    opened = OpenedCapsule(make((1, 3)).expand((5, 3)).__dlpack__(max_version=(1, 3)))

    assert (opened.readonly, opened.strides) == (False, (0, 1))


def test_constants_are_flagged():
    """The flag does not depend on the request."""
    x = honest_constants().make((2, 3), "float32", "cpu", False)  # noqa: FBT003 - the signature

    assert OpenedCapsule(x.__dlpack__(max_version=(1, 3))).readonly


@pytest.mark.parametrize(
    ("keywords", "error"),
    [
        ({"stream": 1}, ValueError),
        ({"stream": "1"}, TypeError),
        ({"stream": True}, TypeError),
        ({"max_version": [1, 0]}, TypeError),
        ({"max_version": (1.0, 0)}, TypeError),
        ({"dl_device": 1}, TypeError),
        ({"dl_device": (2, 0)}, BufferError),
        ({"copy": 1}, TypeError),
    ],
)
def test_wrong_arguments_are_refused(keywords, error):
    """The error classes are those that the checks expect."""
    with pytest.raises(error):
        make().__dlpack__(**keywords)


# ------------------------------------------------------------------ mutants


def test_a_patch_changes_the_struct_of_a_capsule():
    """The change is made before the capsule is returned."""

    def patch(opened, _):
        opened.tensor.byte_offset = 8

    x = patched(patch).make((2, 3), "float32", "cpu", False)  # noqa: FBT003 - the signature

    assert OpenedCapsule(x.__dlpack__()).tensor.byte_offset == 8


def test_what_a_patch_returns_is_handed_out():
    """It is returned instead of the capsule."""
    x = patched(lambda *_: 5).make((2, 3), "float32", "cpu", False)  # noqa: FBT003

    assert x.__dlpack__() == 5


def test_a_patch_may_be_for_some_calls_only():
    """Other calls get the honest capsule."""
    subject = patched(lambda *_: 5, when=lambda keywords: "copy" in keywords)
    x = subject.make((2, 3), "float32", "cpu", False)  # noqa: FBT003 - the signature

    assert x.__dlpack__(copy=None) == 5
    assert OpenedCapsule(x.__dlpack__()).shape == (2, 3)


def test_views_of_a_mutant_are_mutants():
    """Views have the same error."""
    x = patched(lambda *_: 5).make((2, 3), "float32", "cpu", False)  # noqa: FBT003

    assert x[1:].T.__dlpack__() == 5


def test_an_array_can_be_made_without_a_subject():
    """Mutants that export another array use this."""
    array = np.arange(3.0)

    assert OpenedCapsule(Honest(array).__dlpack__()).read()[2] == array[2].tobytes()
