"""The recorder passes everything on, and logs it."""

from __future__ import annotations

import pytest

from interchange.abi import capsules
from interchange.testing import Recorder, host


def test_keywords_are_forwarded_and_logged():
    """The array receives the arguments of the recorder."""
    source = host()
    recorder = Recorder(source)

    recorder.__dlpack_device__()
    recorder.__dlpack__(copy=None, max_version=(1, 3))

    assert recorder.log == source.log
    assert recorder.log == [
        ("__dlpack_device__", {}),
        ("__dlpack__", {"copy": None, "max_version": (1, 3)}),
    ]


def test_answers_come_back_unchanged():
    """Device and capsule are those of the array."""
    source = host().but(repeat=True, advertises=(2, 7))
    recorder = Recorder(source)

    assert recorder.__dlpack_device__() == (2, 7)
    assert recorder.__dlpack__() is source.__dlpack__()


def test_errors_come_back_unchanged_and_are_logged():
    """The error is that of the array, and the request stays in the log."""
    error = BufferError("own")
    recorder = Recorder(host().but(raises=error))

    with pytest.raises(BufferError) as caught:
        recorder.__dlpack__(stream=1)

    assert caught.value is error
    assert recorder.log == [("__dlpack__", {"stream": 1})]


def test_a_recorded_numpy_array_is_imported_by_numpy():
    """NumPy sends the keywords of its version, and shares the memory."""
    np = pytest.importorskip("numpy")
    x = np.arange(6.0)
    recorder = Recorder(x)

    y = np.from_dlpack(recorder)

    assert np.shares_memory(x, y)
    assert [call.method for call in recorder.log].count("__dlpack__") == 1
    assert recorder.log[-1].keywords["max_version"][0] == 1


def test_the_recorder_keeps_no_capsule():
    """The consumer of a recorded array has the only reference to its capsule."""
    source = host()
    recorder = Recorder(source)

    name = capsules.capsule_name(recorder.__dlpack__())

    assert name == capsules.LEGACY
    assert source.deleter_calls == 1
