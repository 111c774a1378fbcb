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


@pytest.mark.parametrize("flags", [{}, {"flags": READ_ONLY}], ids=str)
@pytest.mark.parametrize("generation", ["versioned", "legacy"])
@pytest.mark.parametrize("kind", SIGNATURES)
def test_what_is_not_flagged_is_copied_here(kind, generation, flags):
    """A capsule without the copied flag, which a legacy one cannot have, may share memory."""
    source = producers.host(kind=SIGNATURES[kind]).but(deaf=True, generation=generation, **flags)
    array = ix.from_dlpack(source, copy=True)

    assert (array.ptr == source.said.data, array.readonly) == (False, False)
    assert (array.tolist(), source.alive) == (VALUES, 0)


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


@pytest.mark.parametrize(
    ("flags", "keywords", "errors", "rule"),
    [
        (
            IS_COPIED,
            {"copy": False},
            (ix.CopyNeededError, ix.ExchangeError, BufferError, ValueError),
            "DLP-COPY-1",
        ),
        (READ_ONLY, {"assume_writable": True}, (ix.ReadOnlyError,), "DLP-RO-3"),
    ],
    ids=["copied", "read-only"],
)
def test_a_flag_is_not_overruled(flags, keywords, errors, rule):
    """A copy despite ``copy=False``, caught as the standard names it (P63); read-only memory."""
    source = producers.host().but(generation="versioned", flags=flags)
    for error in errors:
        with pytest.raises(error, match=rule):
            ix.from_dlpack(source, **keywords)
    gc.collect()

    assert source.deleter_calls == len(errors)


@pytest.mark.parametrize("generation", ["legacy", "versioned"])
def test_sharing_is_no_copy(generation):
    """``copy=False`` shares."""
    source = producers.host().but(generation=generation)

    assert ix.from_dlpack(source, copy=False).ptr == source.said.data


@pytest.mark.parametrize(
    "keywords",
    [
        *({"copy": copy} for copy in (0, 1, "yes", "", (), np.True_)),
        *({"device": device} for device in ("gpu", "cuda:", (99, 0), (2, -1), 7, 1.5, object())),
    ],
    ids=lambda keywords: str(keywords).partition(" at 0x")[0],
)
def test_an_invalid_argument_is_refused_before_the_producer_is_called(keywords):
    """`copy` must be None or a bool (DLP-COPY-3), and `device` a device."""
    source = producers.host()

    with pytest.raises((ix.UnsupportedDeviceError, ix.ArgumentError)) as caught:
        ix.from_dlpack(source, **keywords)

    assert "device" in keywords or caught.value.rule == "DLP-COPY-3"
    assert source.log == []


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
    """Of producers and bare capsules; an Array that is passed keeps its unknown writability."""
    source = producers.host().but(generation="legacy")
    array = ix.from_dlpack(source)
    for x in (source, producers.host().__dlpack__(), array):
        assert ix.from_dlpack(x, assume_writable=True).readonly is False

    assert array.readonly is None
    assert ix.from_dlpack(array, assume_writable=True).ptr == array.ptr


def test_a_read_only_ndarray_cannot_be_promised():
    """NumPy's fast path keeps the read-only flag."""
    array = np.ones(3)
    array.flags.writeable = False

    with pytest.raises(ix.ReadOnlyError):
        ix.from_dlpack(array, assume_writable=True)
