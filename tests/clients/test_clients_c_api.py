"""`interchange_view` of arrays of CUDA libraries has the same properties as `asarray`.

Source: interchange/interchange.h.
"""

from __future__ import annotations

import pytest

import interchange as ix

pytestmark = [
    pytest.mark.clients,
    pytest.mark.emulated,
    pytest.mark.skipif(ix.core_name != "native", reason="the C API is the native core's"),
]


def said(array):
    """Return the properties of an Array."""
    return array.ptr, array.shape, array.strides, array.__dlpack_device__()


@pytest.mark.parametrize("make", ["device_array", "managed_array", "mapped_array", "pinned_array"])
def test_arrays_of_numba(c_api, numba, make):
    """The properties are the same for every kind of memory, at the first call and later."""
    x = getattr(numba, make)((2, 3), dtype="float32")
    expected = said(ix.asarray(x))
    found = [c_api.fields(x) for _ in range(3)]

    assert [(f["ptr"], f["shape"], f["strides"], f["device"]) for f in found] == 3 * [expected]


@pytest.mark.parametrize("make", ["device_array", "managed_array"])
def test_the_stream_of_an_array_of_numba(c_api, numba, make):
    """The stream is the one on which the array was made, at every call."""
    stream = numba.stream()
    x = getattr(numba, make)((2, 3), dtype="float32", stream=stream)

    assert {c_api.fields(x)["stream"] for _ in range(3)} == {int(stream.handle)}


def test_views_of_cuda_core(c_api, cuda_core, bindings):
    """Views of device memory with a stream are described."""
    stream = bindings.stream()
    x = ix.from_pointer(bindings.memory(), (2, 3), "float32", device="cuda:0")
    view = cuda_core.View.from_dlpack(x, stream_ptr=int(stream))
    found = [c_api.fields(view) for _ in range(3)]

    assert [(f["ptr"], f["shape"], f["device"]) for f in found] == 3 * [(x.ptr, (2, 3), (2, 0))]
    assert {f["stream"] for f in found} <= {1, int(stream)}
