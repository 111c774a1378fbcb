"""Streams are passed explicitly to producers that have streams, and to no others."""

from __future__ import annotations

import pytest

import interchange as ix
from interchange.abi import capsules
from interchange.testing import producers

CUDA, MANAGED, ROCM = (2, 0), (13, 0), (10, 0)
WITHOUT_STREAMS = [
    (number, 0) for number in (1, 3, 4, 7, 8, 9, 11, 12, 14, 15, 16, 17, 18, 19, 20, 21)
]


class Stream:
    """A stream object, as cuda.core has them."""

    def __init__(self, answer) -> None:
        self.answer = answer

    def __cuda_stream__(self):
        return self.answer


def sent(device, **keywords):
    """Return the stream that a producer on a device received, or "nothing"."""
    source = producers.claiming(device)
    ix.from_dlpack(source, **keywords)
    (call,) = (call for call in source.log if call.method == "__dlpack__")
    return call.keywords.get("stream", "nothing")


@pytest.mark.parametrize(
    ("device", "default"),
    [(CUDA, 1), ((2, 3), 1), (MANAGED, 1), (ROCM, 0), ((10, 1), 0)],
)
def test_the_default_is_said(device, default):
    """Producers read a missing stream differently, so it is never missing (DLP-STREAM-5)."""
    assert sent(device) == default


@pytest.mark.parametrize(
    ("device", "stream"),
    [
        *((device, stream) for device in (CUDA, MANAGED) for stream in (-1, 1, 2, 3, 2**63)),
        *((ROCM, stream) for stream in (-1, 0, 3, 2**47)),
    ],
)
def test_the_stream_of_the_caller_is_sent(device, stream):
    """Every valid stream of the device is passed unchanged."""
    assert sent(device, stream=stream) == stream


@pytest.mark.parametrize("device", WITHOUT_STREAMS)
@pytest.mark.parametrize("stream", [None, -1, 0, 1, 7])
def test_where_there_are_no_streams_none_is_sent(device, stream):
    """Host, pinned and unknown producers receive no stream, which they refuse (DLP-STREAM-1)."""
    assert sent(device, stream=stream) == "nothing"


@pytest.mark.parametrize(
    ("device", "stream", "rule"),
    [
        *((device, s, "DLP-STREAM-2") for device in (CUDA, MANAGED) for s in (0, -2, -(2**70))),
        *((ROCM, s, "DLP-STREAM-3") for s in (1, 2, -2)),
        (CUDA, 2**64, "DLP-STREAM-2"),
        (ROCM, 2**64, "DLP-STREAM-3"),
    ],
)
def test_what_is_no_stream_is_refused(device, stream, rule):
    """An invalid stream is refused without requesting a capsule."""
    source = producers.claiming(device)

    with pytest.raises(ix.StreamError) as caught:
        ix.from_dlpack(source, stream=stream)

    assert (caught.value.rule, source.loans) == (rule, [])


@pytest.mark.parametrize("stream", [True, False, "1", 1.0, b"", object(), (0, 1)])
@pytest.mark.parametrize("device", [(1, 0), CUDA, ROCM])
def test_what_is_no_number_is_refused(device, stream):
    """A value that is no number is refused on every device, before any call (DLP-STREAM-4)."""
    source = producers.claiming(device)

    with pytest.raises(ix.StreamError) as caught:
        ix.from_dlpack(source, stream=stream)

    assert (caught.value.rule, source.log) == ("DLP-STREAM-4", [])


@pytest.mark.parametrize("handle", [1, 2, 7, 2**47])
def test_a_stream_object_is_its_handle(handle):
    """Objects with ``__cuda_stream__`` are passed as numbers, which all producers accept."""
    assert sent(CUDA, stream=Stream((0, handle))) == handle


@pytest.mark.parametrize("answer", [None, 7, (0,), (0, "x"), (0, 7, 1), [0, 7], (0, True)])
def test_a_stream_object_that_says_nothing_is_refused(answer):
    """A stream object with an invalid ``__cuda_stream__`` is refused."""
    with pytest.raises(ix.StreamError, match="DLP-STREAM-4"):
        ix.from_dlpack(producers.claiming(CUDA), stream=Stream(answer))


def test_no_stream_goes_with_a_move_to_the_host():
    """For host memory no stream is passed: the producer waits (standard, dl_device)."""
    source = producers.claiming(MANAGED)
    ix.from_dlpack(source, device="cpu", stream=7)
    keywords = source.log[-1].keywords

    assert ("stream" in keywords, keywords["dl_device"]) == (False, (1, 0))


@pytest.mark.parametrize("stream", ["bad", True, 1.5, object()])
def test_a_bad_argument_does_not_cost_a_capsule(stream):
    """An invalid stream is refused before the capsule is consumed."""
    source = producers.host()
    capsule = source.__dlpack__()

    with pytest.raises(ix.StreamError):
        ix.from_dlpack(capsule, stream=stream)

    assert capsules.capsule_name(capsule) == capsules.LEGACY


@pytest.mark.parametrize("stream", [0, -2])
def test_a_capsule_on_a_device_has_its_streams(stream):
    """A stream for a capsule is checked after it is opened; a refused one is released."""
    source = producers.claiming(CUDA)
    capsule = source.__dlpack__()
    try:
        ix.from_dlpack(capsule, stream=stream)
    except ix.StreamError as error:
        rule = error.rule
    del capsule

    assert (rule, source.deleter_calls) == ("DLP-STREAM-2", 1)


@pytest.mark.parametrize("stream", ["bad", True])
def test_an_array_takes_the_same_streams(stream):
    """An Array accepts the same streams as other producers."""
    with pytest.raises(ix.StreamError):
        ix.from_dlpack(ix.from_buffer(b"abc"), stream=stream)
