"""Producers that refuse ``dl_device`` or ``copy`` with any error: we move or copy instead."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import interchange as ix
from interchange import xp
from interchange.abi import capsule_name
from interchange.testing import producers


class OwnError(Exception):
    """An unknown error class."""


class OwnBufferError(BufferError):
    """An error required by the standard, in the library's own class."""


ERRORS = [
    *(BufferError, OwnBufferError, TypeError, NotImplementedError, RuntimeError),
    *(ValueError, AssertionError, KeyError, OSError, OwnError),
]


every_error = pytest.mark.parametrize("error", ERRORS)


class Refusing:
    """Refuses some keywords with an error, and shares its memory otherwise."""

    def __init__(self, error, refused, device=(1, 0)) -> None:
        self.error, self.refused, self.device, self.asked = error, refused, device, []
        self.source = producers.host()

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        given = {"dl_device": dl_device, "copy": copy}
        self.asked.append({key: value for key, value in given.items() if value is not None})
        if self.asked[-1].keys() & self.refused:
            raise self.error
        return self.source.__dlpack__(max_version=max_version)


class Broken(Refusing):
    """Refuses every keyword."""

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        self.asked.append(dl_device)
        raise self.error


PINNED = (3, 0)  # a host device type, so that no driver is needed for the move
CUDA = (2, 0)


@every_error
@pytest.mark.parametrize("take", [ix.from_dlpack, ix.asarray, xp.asarray])
@pytest.mark.parametrize(
    ("keywords", "asked"),
    [({"device": "cpu"}, {"dl_device": (1, 0)}), ({"copy": True}, {"copy": True})],
    ids=["device", "copy"],
)
def test_what_the_producer_refuses_is_done_here(error, take, keywords, asked):
    """If a producer refuses a move or copy with any error, it is asked to share; we do it."""
    producer = Refusing(error("no"), {*asked}, PINNED if "device" in keywords else (1, 0))

    found = take(producer, **keywords)

    assert found.device == ix.Device("cpu")
    assert (found.ptr == producer.source.said.data) is ("device" in keywords)
    assert found.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
    assert producer.asked == [asked, {}]


@every_error
@pytest.mark.parametrize("take", [ix.from_dlpack, ix.asarray, xp.asarray])
def test_no_copy_to_another_device_is_one_error_for_all(error, take):
    """All refusals of a move without a copy are one error class for the caller."""
    producer = Refusing(error("would copy"), {"dl_device"}, CUDA)

    with pytest.raises(ix.CopyNeededError) as caught:
        take(producer, device="cpu", copy=False)
    arguments = caught.value.rule, caught.value.__context__ is producer.error
    del caught
    gc.collect()

    assert arguments == ("DLP-COPY-1", True)
    assert producer.source.deleter_calls == len(producer.source.loans) == 0


@every_error
def test_an_error_that_stays_is_the_producers_own(error):
    """A producer that refuses to share, too, is not called a third time."""
    producer = Broken(error("broken"), {"dl_device"}, PINNED)

    with pytest.raises(error) as caught:
        ix.from_dlpack(producer, device="cpu")

    assert caught.value is producer.error
    assert len(producer.asked) == 2


@pytest.mark.parametrize("error", [MemoryError, RecursionError, KeyboardInterrupt])
@pytest.mark.parametrize("keyword", ["dl_device", "copy"])
def test_what_is_no_refusal_is_not_asked_again(error, keyword):
    """MemoryError and interrupts are raised without another call."""
    producer = Refusing(error(), {keyword}, PINNED)
    wanted = {"device": "cpu"} if keyword == "dl_device" else {"copy": True}

    with pytest.raises(error):
        ix.from_dlpack(producer, **wanted)

    assert len(producer.asked) == 1


# ---------------------------------------------------------------- copy=False, for every owner


class Described:
    """Has a record of host memory."""

    def __init__(self) -> None:
        self.block = np.ones(3)
        self.__array_interface__ = self.block.__array_interface__


class Older:
    """Supports no keywords."""

    def __dlpack__(self, stream=None):
        raise AssertionError("asked for nothing")

    def __dlpack_device__(self):
        return (1, 0)


HOLDERS = {
    "ndarray": lambda: np.ones(3),
    "scalar": lambda: np.float64(1),
    "Array": lambda: ix.asarray(np.ones(3)),
    "described": lambda: ix.from_buffer(bytes(3)),
    "buffer": lambda: bytearray(3),
    "record": Described,
    "legacy capsule": lambda: np.ones(3).__dlpack__(),
    "capsule": lambda: np.ones(3).__dlpack__(max_version=(1, 0)),
    "modern": producers.host,
    "older": Older,
}


@pytest.mark.usefixtures("no_driver")
@pytest.mark.parametrize("device", ["cuda:0", "rocm:1", "metal:0"])
@pytest.mark.parametrize("make", HOLDERS.values(), ids=HOLDERS)
@pytest.mark.parametrize("take", [ix.asarray, ix.from_dlpack, xp.asarray, xp.from_dlpack])
def test_no_copy_to_another_device_is_refused_for_all_memory(take, make, device):
    """copy=False to another device is one error class, with and without a driver.

    No capsule is consumed.
    """
    x = make()
    name = capsule_name(x) if type(x).__name__ == "PyCapsule" else None
    if take in {ix.from_dlpack, xp.from_dlpack} and not hasattr(x, "__dlpack__") and name is None:
        return  # which does not support the request

    with pytest.raises(ix.CopyNeededError, match="DLP-COPY-1"):
        take(x, device=device, copy=False)
    assert name is None or capsule_name(x) == name


@pytest.mark.usefixtures("no_driver")
@pytest.mark.parametrize("target", [(2, 0), (10, 1), (8, 0)])
def test_no_copy_to_another_device_is_refused_on_the_way_out(target):
    """An export refuses with the same class."""
    array = ix.asarray(np.ones(3))

    with pytest.raises(ix.CopyNeededError):
        array.__dlpack__(max_version=(1, 3), dl_device=target, copy=False)


@pytest.mark.interop
@pytest.mark.usefixtures("no_driver")
@pytest.mark.parametrize("library", ["torch", "jax"])
@pytest.mark.parametrize("copy", [None, False, True])
def test_a_library_for_the_host_alone_refuses_in_our_words(need, library, copy):
    """CPU-only torch and JAX cannot move: after their error we move."""
    need(library)
    x = ix.convert(np.ones(16, "f4"), library, copy=True)
    wanted = ix.CopyNeededError if copy is False else ix.InterchangeError

    with pytest.raises(wanted) as caught:
        ix.from_dlpack(x, device="cuda:0", copy=copy)

    assert isinstance(caught.value, BufferError)
