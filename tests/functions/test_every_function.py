"""Properties of every public function that takes an array of host memory, by its signature."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import interchange as ix


def test_read_only_memory_stays_read_only(taking):
    """The result is read-only, a copy, or refused."""
    x = np.arange(3.0)
    x.flags.writeable = False
    try:
        found = taking.memory(x)
    except ix.ReadOnlyError:
        return

    assert found.readonly or found.ptr != x.ctypes.data


def test_the_memory_lives_as_long_as_what_was_returned(taking):
    """The memory lives exactly as long as the result."""
    x = np.arange(3.0)
    alive, address = weakref.ref(x), x.ctypes.data
    found = taking.memory(x)
    is_shared = found.ptr == address
    del x
    gc.collect()
    assert alive() is not None or not is_shared

    assert found.tolist() == [0.0, 1.0, 2.0]
    del found
    gc.collect()
    assert alive() is None


NUMPY = "upgraded asarray"
"""NumPy's function, which accepts any object as an element, and any `copy`."""


def test_an_object_without_a_protocol_is_refused(taking):
    """An object without a protocol is refused by every function."""
    if taking.name.startswith(NUMPY):
        return
    with pytest.raises(ix.NoProtocolError):
        taking(object())


def test_copy_is_none_true_or_false(taking_copy):
    """`copy` must be None or a bool."""
    for copy in () if taking_copy.name == NUMPY else (0, 1, "never"):
        with pytest.raises(ix.ArgumentError, match="DLP-COPY-3"):
            taking_copy(np.arange(3.0), copy=copy)


def test_what_is_no_stream_is_refused(taking_stream):
    """An invalid stream is refused by its rule, and a capsule is unused or kept by the error."""
    capsule = ix.to_capsule(np.arange(3.0), max_version=(1, 0))
    is_used = taking_stream.name.startswith("from_arrow")  # by the test, which exports it first
    with pytest.raises(ix.InterchangeError) as caught:
        taking_stream(capsule, stream="no stream")

    assert caught.value.rule == "DLP-STREAM-4"
    kept = caught.value.taken if caught.value.taken is not None else capsule
    assert is_used or ix.asarray(kept).tolist() == [0.0, 1.0, 2.0]
