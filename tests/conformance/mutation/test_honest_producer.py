"""What the honest producer does that no check of producers looks at; they check the rest."""

from __future__ import annotations

from interchange_conformance.probes.opened_capsule import OpenedCapsule
from mutants._honest_producer import honest_producer, patched


def make(subject, shape=(2, 3), dtype="float32"):
    """Return an array of a producer."""
    return subject.make(shape, dtype, "cpu", False)  # noqa: FBT003 - the signature


def test_element_types_that_numpy_does_not_have_keep_their_names():
    """Integers of the same size hold their bytes."""
    assert make(honest_producer(), dtype="bfloat16").dtype == "bfloat16"


def test_repeated_elements_may_be_written():
    """They are elements of the array, which is writable."""
    x = make(honest_producer(), (1, 3)).expand((5, 3))
    opened = OpenedCapsule(x.__dlpack__(max_version=(1, 3)))

    assert (opened.readonly, opened.strides) == (False, (0, 1))


def test_a_patch_may_be_for_some_calls_only():
    """Other calls get the honest capsule."""
    x = make(patched(lambda *_: 5, when=lambda keywords: "copy" in keywords))

    assert x.__dlpack__(copy=None) == 5
    assert OpenedCapsule(x.__dlpack__()).shape == (2, 3)
