"""Streams are passed explicitly to producers that have streams, and to no others."""

from __future__ import annotations

import pytest

import interchange as ix
from interchange.abi import DLDeviceType, capsules
from interchange.testing import producers

CUDA, MANAGED, ROCM = (2, 0), (13, 0), (10, 0)
WITHOUT_STREAMS = [
    (int(kind), 0) for kind in DLDeviceType if (int(kind), 0) not in {CUDA, MANAGED, ROCM}
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
    ("device", "keywords", "expected"),
    [
        *((device, {}, 1) for device in (CUDA, (2, 3), MANAGED)),
        *((device, {}, 0) for device in (ROCM, (10, 1))),
        *((device, {"stream": s}, s) for device in (CUDA, MANAGED) for s in (-1, 1, 2, 3, 2**63)),
        *((ROCM, {"stream": s}, s) for s in (-1, 0, 3, 2**47)),
    ],
)
def test_the_stream_of_the_caller_or_the_default_is_sent(device, keywords, expected):
    """Every valid stream is passed unchanged, and the default explicitly (DLP-STREAM-5)."""
    assert sent(device, **keywords) == expected


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
        *(
            (CUDA, Stream(answer), "DLP-STREAM-4")
            for answer in (None, 7, (0,), (0, "x"), (0, 7, 1), [0, 7], (0, True))
        ),
    ],
)
def test_what_is_no_stream_is_refused(device, stream, rule):
    """An invalid stream, or ``__cuda_stream__``, is refused without requesting a capsule."""
    source = producers.claiming(device)

    with pytest.raises(ix.StreamError) as caught:
        ix.from_dlpack(source, stream=stream)

    assert (caught.value.rule, source.loans) == (rule, [])


@pytest.mark.parametrize("stream", [True, False, "1", 1.0, b"", object(), (0, 1)])
@pytest.mark.parametrize("device", [(1, 0), CUDA, ROCM])
def test_what_is_no_number_is_refused(device, stream):
    """On every device, before any call (DLP-STREAM-4), and before a capsule is consumed."""
    source, capsule = producers.claiming(device), producers.host().__dlpack__()

    for x in (source, capsule, ix.from_buffer(b"abc")):
        with pytest.raises(ix.StreamError, match="DLP-STREAM-4"):
            ix.from_dlpack(x, stream=stream)

    assert source.log == []
    assert capsules.capsule_name(capsule) == capsules.LEGACY


@pytest.mark.parametrize("handle", [1, 2, 7, 2**47])
def test_a_stream_object_is_its_handle(handle):
    """Objects with ``__cuda_stream__`` are passed as numbers, which all producers accept."""
    assert sent(CUDA, stream=Stream((0, handle))) == handle


def test_no_stream_goes_with_a_move_to_the_host():
    """For host memory no stream is passed: the producer waits (standard, dl_device)."""
    source = producers.claiming(MANAGED)
    ix.from_dlpack(source, device="cpu", stream=7)
    keywords = source.log[-1].keywords

    assert ("stream" in keywords, keywords["dl_device"]) == (False, (1, 0))


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
