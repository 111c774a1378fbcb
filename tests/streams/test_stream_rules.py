"""Valid stream values for each device, and the meaning of None."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

import interchange as ix
from interchange._streams.rules import STREAM_RULES, check_stream
from interchange.abi import DLDeviceType

WITH_STREAMS = {2: "DLP-STREAM-2", 13: "DLP-STREAM-2", 10: "DLP-STREAM-3"}
CUDA = ["cuda:0", "cuda:1", "cuda_managed:0"]
WITHOUT = [str(ix.Device(kind)) for kind in DLDeviceType if int(kind) not in WITH_STREAMS]


def refusal(stream, device):
    """Return the rule id of the error for a stream."""
    with pytest.raises(ix.StreamError) as caught:
        check_stream(stream, ix.Device.of(device), "f()")
    assert str(caught.value).startswith(f"f(): stream={stream!r} ")
    return caught.value.rule


def test_the_constants_are_those_of_the_standard():
    """The public constants have the values of the standard."""
    assert (ix.LEGACY_DEFAULT_STREAM, ix.PER_THREAD_DEFAULT_STREAM, ix.NO_SYNC) == (1, 2, -1)


def test_cuda_managed_and_rocm_memory_have_streams():
    """No other device type supports streams."""
    assert {int(kind): row.rule for kind, row in STREAM_RULES.items()} == WITH_STREAMS


# ---------------------------------------------------------------- legal cases


@pytest.mark.parametrize(
    ("device", "expected"),
    [("cuda:0", 1), ("cuda_managed:0", 1), ("rocm:0", 0), ("cpu", None), ("cuda_host:0", None)],
)
def test_none_stands_for_the_default_stream(device, expected):
    """None is the legacy default stream on CUDA, stream 0 on ROCm, and None on other devices."""
    assert check_stream(None, ix.Device.of(device), "f()") == expected


@pytest.mark.parametrize("device", [*CUDA, "rocm:0"])
def test_minus_1_asks_for_no_order(device):
    """-1 is valid on all devices with streams."""
    assert check_stream(-1, ix.Device.of(device), "f()") == -1


@pytest.mark.parametrize("device", CUDA)
@given(stream=st.one_of(st.integers(1, 3), st.integers(3, 2**64 - 1)))
def test_handles_are_taken_on_cuda(device, stream):
    """1, 2 and all larger handles are returned unchanged."""
    assert check_stream(stream, ix.Device.of(device), "f()") == stream


@given(stream=st.one_of(st.just(0), st.integers(3, 2**64 - 1)))
def test_handles_are_taken_on_rocm(stream):
    """0 and all handles above 2 are returned unchanged."""
    assert check_stream(stream, ix.Device.of("rocm:0"), "f()") == stream


# ---------------------------------------------------------------- rejected input


@pytest.mark.parametrize("device", CUDA)
def test_0_is_ambiguous_on_cuda(device):
    """CUDA has two default streams, and 0 does not select one."""
    assert refusal(0, device) == "DLP-STREAM-2"


@pytest.mark.parametrize("stream", [1, 2])
def test_1_and_2_mean_nothing_on_rocm(stream):
    """The numbers of CUDA's default streams are not valid on ROCm."""
    assert refusal(stream, "rocm:0") == "DLP-STREAM-3"


@pytest.mark.parametrize("device", [*CUDA, "rocm:0"])
@given(stream=st.integers(max_value=-2) | st.integers(min_value=2**64))
def test_numbers_out_of_range_are_no_streams(device, stream):
    """-1 is the only valid negative number; a consumer would truncate one above a pointer."""
    assert refusal(stream, device) == WITH_STREAMS[int(ix.Device.of(device).type)]


@pytest.mark.parametrize("device", WITHOUT)
@pytest.mark.parametrize("stream", [-1, 0, 1, 2, 7, 2**40])
def test_devices_without_streams_take_none_only(device, stream):
    """A stream for host memory means that the caller expected device memory."""
    assert refusal(stream, device) == "DLP-STREAM-1"


@pytest.mark.parametrize("device", ["cpu", "cuda:0", "rocm:0"])
@pytest.mark.parametrize("stream", [True, False, 1.0, "1", b"1", (1,), object], ids=repr)
def test_a_stream_is_an_int(device, stream):
    """Other types, including bools, are refused before the value is checked."""
    assert refusal(stream, device) == "DLP-STREAM-4"
