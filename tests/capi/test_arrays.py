"""Arrays over memory of C, and exports to C, have the values of those made in Python."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

import interchange as ix

BLOCK = np.arange(24, dtype="float32").reshape((2, 3, 4))
F4 = (2, 32, 1)


def describe(c_api, x, **fields):
    """Return the description of an ndarray of float32."""
    strides = fields.pop("strides", [step // x.itemsize for step in x.strides])
    return c_api.memory(x.ctypes.data, x.shape, F4, strides=strides, **fields)


@pytest.mark.parametrize(
    "x", [BLOCK, BLOCK.T, BLOCK[:, ::-1, ::2], BLOCK[0, 0, 0:1].reshape(()), BLOCK[:, :0]]
)
def test_memory_is_described_as_from_pointer_describes_it(c_api, x):
    """Shape, strides, type and elements; an address without elements is left out."""
    found = c_api.array_from(describe(c_api, x))

    assert (found.shape, found.dtype, str(found.device)) == (x.shape, "float32", "cpu")
    assert (found.tolist(), found.readonly) == (x.tolist(), False)
    assert found.ptr == (x.ctypes.data if x.size else 0)


def test_strides_that_are_null_are_those_of_c_order(c_api):
    """The shape alone describes contiguous memory."""
    found = c_api.array_from(describe(c_api, BLOCK, strides=None))

    assert found.strides == (12, 4, 1)


def test_read_only_memory_is_exported_as_read_only(c_api):
    """The flag reaches consumers."""
    found = c_api.array_from(describe(c_api, BLOCK, flags=3))

    assert found.readonly
    assert not np.from_dlpack(found).flags.writeable


def test_the_stream_of_device_memory_is_pending(c_api):
    """Consumers wait for it, as for `from_pointer(stream=)`."""
    found = c_api.array_from(c_api.memory(4096, (2,), F4, device=(2, 1), stream=9))

    assert str(found.device) == "cuda:1"
    assert c_api.fields(found)["stream"] == 9
    idle = c_api.array_from(c_api.memory(4096, (2,), F4, device=(2, 1)))
    assert c_api.fields(idle)["stream"] is None


VERSIONS = {(1, 3): "dltensor_versioned", (0, 8): "dltensor", None: "dltensor"}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("make", [lambda: BLOCK, lambda: ix.asarray(BLOCK), lambda: bytearray(4)])
def test_any_array_is_exported_as_a_capsule(c_api, make, version):
    """The generation that is asked for, with the elements."""
    x = make()
    capsule = c_api.export(x, max_version=version)

    assert f'"{VERSIONS[version]}"' in repr(capsule)
    assert ix.from_dlpack(capsule).tolist() == ix.asarray(x).tolist()


@pytest.mark.parametrize(("copy", "is_same"), [(1, False), (0, True), (-1, True)])
def test_an_export_copies_on_request(c_api, copy, is_same):
    """1: always, 0: never, -1: if it is needed."""
    found = ix.from_dlpack(c_api.export(BLOCK, copy=copy, device=(1, 0)))

    assert (found.ptr == BLOCK.ctypes.data) is is_same
    assert found.tolist() == BLOCK.tolist()


def test_an_export_that_dlpack_cannot_express_is_refused(c_api):
    """The errors are those of `__dlpack__`, in the name of the C function."""
    with pytest.raises(ix.ReadOnlyError, match=r"^interchange_array_to_dlpack\(\).*DLP-RO-1"):
        c_api.export(b"abc", max_version=None)
    with pytest.raises(ix.InterchangeError, match=r"^interchange_array_to_dlpack\(\)"):
        c_api.export(BLOCK, device=(99, 0))
    with pytest.raises(TypeError):
        c_api.export(3)


def test_managed_tensors_are_exchanged_without_capsules(c_api):
    """The Array of the tensor shares the memory."""
    found = c_api.array_from_tensor(c_api.tensor_of(BLOCK))

    assert (found.ptr, found.tolist()) == (BLOCK.ctypes.data, BLOCK.tolist())


def test_a_tensor_with_pending_work_needs_a_stream(c_api):
    """Without one, nothing can be ordered."""
    busy = ix.from_pointer(4096, (2,), "float32", device="cuda", stream=9)
    with pytest.raises(ix.ExchangeError, match="DLP-API-1"):
        c_api.tensor_of(busy)
    found = c_api.array_from_tensor(c_api.tensor_of(busy, stream="unordered"))

    assert found.ptr == 4096


@pytest.mark.parametrize("major", [0, 2])
def test_a_tensor_of_another_version_stays_with_the_caller(c_api, major):
    """Its deleter was not called: the caller, which did not lose it, corrects it."""
    address = c_api.tensor_of(BLOCK)
    version = ctypes.c_uint32.from_address(address)
    version.value = major
    with pytest.raises(ix.ExchangeError, match="DLP-VER"):
        c_api.array_from_tensor(address)
    version.value = 1

    assert c_api.array_from_tensor(address).tolist() == BLOCK.tolist()
