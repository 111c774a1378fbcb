"""``copy``, ``device`` and ``assume_writable`` on import: who copies, who moves, who is trusted."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import interchange as ix
from interchange.testing import producers
from interchange.testing.producers import SIGNATURES

IS_COPIED, READ_ONLY = 2, 1
VALUES = [[0, 1, 2], [3, 4, 5]]


def test_a_flagged_copy_is_not_copied_again():
    """The producer's copy is the copy (DLP-COPY-2)."""
    source = producers.host().but(generation="versioned")
    array = ix.from_dlpack(source, copy=True)

    assert (array.ptr, array.ptr == source.said.data, array.readonly, array.tolist()) == (
        source.loans[0].said.data,
        False,
        False,
        VALUES,
    )


@pytest.mark.parametrize(
    "changes",
    [
        {"deaf": True, "generation": "versioned"},
        {"deaf": True, "generation": "legacy"},
        {"deaf": True, "generation": "versioned", "flags": READ_ONLY},
    ],
)
@pytest.mark.parametrize("kind", SIGNATURES)
def test_what_is_not_flagged_is_copied_here(kind, changes):
    """A capsule without the copied flag may share memory, so we copy."""
    source = producers.host(kind=SIGNATURES[kind]).but(**changes)
    array = ix.from_dlpack(source, copy=True)

    assert (array.ptr == source.said.data, array.readonly, array.tolist(), source.alive) == (
        False,
        False,
        VALUES,
        0,
    )


def test_a_legacy_copy_is_copied_here():
    """A legacy capsule cannot have the copied flag, so we copy."""
    source = producers.host().but(generation="legacy")
    array = ix.from_dlpack(source, copy=True)

    assert (array.ptr == source.loans[0].said.data, array.readonly) == (False, False)


@pytest.mark.parametrize("origin", ["ndarray", "array", "buffer"])
def test_a_copy_is_a_copy(origin):
    """Writing to a copy does not change the original."""
    original = np.arange(6, dtype=np.float32)
    source = {
        "ndarray": original,
        "array": ix.from_dlpack(original),
        "buffer": ix.from_buffer(original),
    }[origin]
    array = ix.from_dlpack(source, copy=True)
    np.from_dlpack(array)[:] = 9

    assert original.tolist() == [0, 1, 2, 3, 4, 5]


def test_a_copy_that_was_not_wanted_is_refused():
    """A copy made by the producer despite ``copy=False`` is detected by its flag (DLP-COPY-1)."""
    source = producers.host().but(generation="versioned", flags=IS_COPIED)
    rules = []
    try:
        ix.from_dlpack(source, copy=False)
    except ix.CopyNeededError as error:
        rules.append(error.rule)

    assert (rules, source.deleter_calls) == (["DLP-COPY-1"], 1)


@pytest.mark.parametrize("error", [BufferError, ValueError, ix.ExchangeError])
def test_a_needed_copy_can_be_caught_both_ways(error):
    """The standard names two classes, and either catches it (P63)."""
    source = producers.host().but(generation="versioned", flags=IS_COPIED)

    with pytest.raises(error):
        ix.from_dlpack(source, copy=False)


@pytest.mark.parametrize("generation", ["legacy", "versioned"])
def test_sharing_is_no_copy(generation):
    """``copy=False`` shares."""
    source = producers.host().but(generation=generation)

    assert ix.from_dlpack(source, copy=False).ptr == source.said.data


def test_a_flagged_copy_may_come_unasked():
    """With ``copy=None`` a producer may copy."""
    source = producers.host().but(generation="versioned", flags=IS_COPIED)

    assert ix.from_dlpack(source).readonly is False


@pytest.mark.parametrize("copy", [0, 1, "yes", "", (), np.True_])
def test_copy_is_none_or_a_bool(copy):
    """Other values are refused before the producer is called (DLP-COPY-3)."""
    source = producers.host()

    with pytest.raises(TypeError) as caught:
        ix.from_dlpack(source, copy=copy)

    assert (caught.value.rule, source.log) == ("DLP-COPY-3", [])


# ---------------------------------------------------------------- devices


@pytest.mark.parametrize("device", [(3, 0), (11, 0)])
def test_page_locked_memory_is_on_the_host(device):
    """Page-locked memory is shared if the host is requested."""
    source = producers.claiming(device).but(deaf=True)
    array = ix.from_dlpack(source, device="cpu")

    assert (array.ptr, array.device.is_host_accessible) == (source.said.data, True)


def test_a_producer_that_moves_is_believed():
    """A producer's capsule on the requested device is accepted, with its copied flag."""
    source = producers.claiming((2, 0))
    array = ix.from_dlpack(source, device="cpu")

    assert (str(array.device), array.tolist()) == ("cpu", VALUES)


@pytest.mark.usefixtures("no_driver")
@pytest.mark.parametrize("deaf", [False, True], ids=["refuses", "ignores"])
def test_a_producer_that_cannot_move_is_asked_to_share(deaf):
    """If the producer cannot move, we do; without a driver the capsule is released."""
    source = producers.host().but(deaf=deaf)
    rules = []
    try:
        ix.from_dlpack(source, device="cuda:1")
    except BufferError as error:
        rules.append(error.rule)

    assert (rules, source.deleter_calls) == (["IX-DRIVER-1"], 1)


@pytest.mark.parametrize("device", ["gpu", "cuda:", (99, 0), (2, -1), 7, 1.5, object()])
def test_a_device_that_is_none_is_refused(device):
    """An invalid device is refused before the producer is called."""
    source = producers.host()

    with pytest.raises((ix.UnsupportedDeviceError, ix.ArgumentError)):
        ix.from_dlpack(source, device=device)

    assert source.log == []


# ---------------------------------------------------------------- read-only


@pytest.mark.parametrize(
    ("changes", "readonly"),
    [
        ({"generation": "legacy"}, None),
        ({"generation": "versioned"}, False),
        ({"generation": "versioned", "flags": READ_ONLY}, True),
        ({"generation": "versioned", "flags": READ_ONLY | IS_COPIED}, True),
        ({"generation": "versioned", "flags": IS_COPIED}, False),
        ({"generation": "versioned", "flags": 1 << 33}, False),
    ],
)
def test_whether_it_may_be_written(changes, readonly):
    """Writability follows the flag; for a legacy capsule it is unknown."""
    assert ix.from_dlpack(producers.host().but(**changes)).readonly is readonly


def test_a_promise_makes_unknown_memory_writable():
    """``assume_writable=True`` makes memory of unknown writability writable."""
    source = producers.host().but(generation="legacy")

    assert ix.from_dlpack(source, assume_writable=True).readonly is False


def test_a_promise_on_a_capsule():
    """Bare capsules, too."""
    capsule = producers.host().__dlpack__()

    assert ix.from_dlpack(capsule, assume_writable=True).readonly is False


def test_a_promise_on_an_array_leaves_the_array():
    """The original Array keeps its unknown writability."""
    array = ix.from_dlpack(producers.host().but(generation="legacy"))
    promised = ix.from_dlpack(array, assume_writable=True)

    assert (array.readonly, promised.readonly, promised.ptr) == (None, False, array.ptr)


def test_a_promise_does_not_overrule_the_producer():
    """Read-only memory stays read-only (DLP-RO-3), and the capsule is released."""
    source = producers.host().but(generation="versioned", flags=READ_ONLY)
    rules = []
    try:
        ix.from_dlpack(source, assume_writable=True)
    except ix.ReadOnlyError as error:
        rules.append(error.rule)
    gc.collect()

    assert (rules, source.deleter_calls) == (["DLP-RO-3"], 1)


def test_a_read_only_ndarray_cannot_be_promised():
    """NumPy's fast path keeps the read-only flag."""
    array = np.ones(3)
    array.flags.writeable = False

    with pytest.raises(ix.ReadOnlyError):
        ix.from_dlpack(array, assume_writable=True)
