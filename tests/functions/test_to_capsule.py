"""`to_capsule`: capsules for libraries that accept nothing else."""

from __future__ import annotations

import numpy as np
import pytest

import interchange as ix
from interchange.abi import LEGACY, USED_VERSIONED, VERSIONED, PyCapsule, capsule_name
from interchange.testing import producers


@pytest.mark.parametrize(
    ("max_version", "name"),
    [
        (None, LEGACY),
        ((0, 8), LEGACY),
        ((1, 0), VERSIONED),
        ((1, 3), VERSIONED),
        ((2, 0), VERSIONED),
        ((1, 99), VERSIONED),
    ],
)
def test_the_generation_is_the_newest_that_the_consumer_knows(max_version, name):
    """The capsule is a legacy one by default, and the newest version that the consumer supports."""
    capsule = ix.to_capsule(bytearray(4), max_version=max_version)

    assert (type(capsule), capsule_name(capsule)) == (PyCapsule, name)


@pytest.mark.parametrize("max_version", [None, (1, 3)])
@pytest.mark.parametrize(
    "make",
    [
        *(bytearray, lambda text: memoryview(bytearray(text))),
        lambda text: np.frombuffer(bytearray(text), "u1"),
        lambda text: ix.from_buffer(bytearray(text)),
        lambda text: np.frombuffer(bytearray(text), "u1").__dlpack__(),
    ],
    ids=["bytearray", "memoryview", "ndarray", "Array", "capsule"],
)
def test_whatever_asarray_takes_becomes_a_new_capsule_at_each_call(make, max_version):
    """Objects of every protocol, capsules among them; consuming a capsule leaves the next."""
    x = ix.asarray(make(b"abc")) if max_version else make(b"abc")
    first = ix.to_capsule(x, max_version=max_version)
    second = ix.to_capsule(x, max_version=max_version) if max_version else first

    assert ix.from_dlpack(first).tolist() == [97, 98, 99]
    assert second is first or ix.from_dlpack(second).tolist() == [97, 98, 99]


def test_a_legacy_capsule_of_read_only_memory_is_refused():
    """A legacy capsule of read-only memory cannot represent the flag; a versioned one can."""
    with pytest.raises(ix.ReadOnlyError) as caught:
        ix.to_capsule(b"abc")

    assert caught.value.rule == "DLP-RO-1"
    assert "max_version" in caught.value.hint
    assert ix.from_dlpack(ix.to_capsule(b"abc", max_version=(1, 0))).readonly is True


@pytest.mark.parametrize(("max_version", "expected"), [(None, None), ((1, 3), True)])
def test_unknown_goes_out_as_unknown_or_as_read_only(max_version, expected):
    """Unknown writability is kept by a legacy capsule, and becomes read-only in a versioned one."""
    array = ix.from_dlpack(producers.host().but(generation="legacy"))

    assert ix.from_dlpack(ix.to_capsule(array, max_version=max_version)).readonly is expected


def test_errors_are_those_of_the_call_of_the_user():
    """Not those of the method that makes the capsule."""
    with pytest.raises(ix.StreamError, match=r"^to_capsule\(\): stream=1 on cpu"):
        ix.to_capsule(bytearray(4), stream=1)


def test_a_consumed_capsule_is_refused():
    """A consumed capsule is refused, since it belongs to its consumer."""
    capsule = ix.to_capsule(bytearray(3), max_version=(1, 3))
    ix.from_dlpack(capsule)

    with pytest.raises(ix.ConsumedCapsuleError) as caught:
        ix.to_capsule(capsule)

    assert (caught.value.rule, capsule_name(capsule)) == ("DLP-CAP-2", USED_VERSIONED)


@pytest.mark.parametrize(
    ("keywords", "error", "rule"),
    [
        *(
            ({"max_version": version}, ix.ArgumentError, "DLP-VER-2")
            for version in (1, 1.3, (1,), (1, 3, 0), "1.3", (1.0, 3), [1, 3])
        ),
        *(({"stream": stream}, ix.StreamError, "DLP-STREAM-1") for stream in (-1, 0, 7)),
    ],
    ids=repr,
)
def test_a_version_is_two_ints_and_host_memory_has_no_stream(keywords, error, rule):
    """Other types are wrong arguments, and so is any stream for host memory."""
    with pytest.raises(error, match=rule):
        ix.to_capsule(bytearray(3), **keywords)


@pytest.mark.usefixtures("no_driver")
def test_idle_device_memory_needs_no_driver():
    """Idle memory needs no ordering on any stream."""
    array = ix.from_pointer(0xDEAD000, (3,), "float32", device="cuda:1")

    assert str(ix.from_dlpack(ix.to_capsule(array, stream=-1)).device) == "cuda:1"
    assert str(ix.from_dlpack(ix.to_capsule(array, stream=7), stream=7).device) == "cuda:1"


@pytest.mark.usefixtures("no_driver")
def test_memory_that_is_busy_goes_to_its_own_stream_alone():
    """Without a driver busy memory is exported for its own stream only; the error says so."""
    array = ix.from_pointer(0xDEAD000, (3,), "float32", device="cuda:1", stream=9)

    assert str(ix.from_dlpack(ix.to_capsule(array, stream=9), stream=9).device) == "cuda:1"
    with pytest.raises(ix.ExchangeError, match="stream=7 has to wait for stream=9") as caught:
        ix.to_capsule(array, stream=7)
    assert caught.value.rule == "DLP-STREAM-6"


# ---------------------------------------------------------------- refused exports of capsules


def _capsule(dtype="uint8", device="cpu"):
    """Return a capsule of three read-only elements, or of none on a device."""
    if device == "cpu":
        return ix.asarray(bytes(3)).view(dtype).__dlpack__(max_version=(1, 0))
    x = ix.from_pointer(0, (0,), dtype, device=device)
    return x.__dlpack__(stream=-1, max_version=(1, 0))


@pytest.mark.parametrize(
    ("dtype", "device", "rule"),
    [("uint8", "cpu", "CAI-DEV-1"), ("float8_e4m3fn", "cuda", "CAI-TYPESTR-2")],
)
def test_to_cai_does_not_consume_what_it_refuses(dtype, device, rule):
    """`to_cai` refuses a capsule before it consumes it."""
    capsule = _capsule(dtype, device)
    with pytest.raises(ix.ExchangeError) as caught:
        ix.to_cai(capsule)

    assert (caught.value.rule, caught.value.taken) == (rule, None)
    assert str(ix.from_dlpack(capsule, stream=-1).dtype) == dtype


REFUSING = {
    "from_dlpack(assume_writable)": lambda c: ix.from_dlpack(c, assume_writable=True),
    "from_dlpack(device)": lambda c: ix.from_dlpack(c, device="cuda_managed"),
    "asarray(dtype)": lambda c: ix.asarray(c, dtype="float32"),
    "to_capsule": ix.to_capsule,
    "borrow": lambda c: ix.borrow(c, stream=1, writable=True).__enter__(),
    "convert": lambda c: ix.convert(c, "cupy"),
}


@pytest.mark.parametrize("refuse", REFUSING)
def test_what_came_out_of_a_capsule_is_kept_by_the_error(refuse):
    """The capsule is used up; the elements are not lost."""
    with pytest.raises(ix.InterchangeError, match=r"error\.taken") as caught:
        REFUSING[refuse](_capsule())

    assert ix.asarray(caught.value.taken).tolist() == [0, 0, 0]
