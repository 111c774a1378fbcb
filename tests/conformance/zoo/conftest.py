"""Readers that are independent of the zoo: the fields of a struct, read from its address."""

from __future__ import annotations

import ctypes

import pytest

from interchange.abi import capsules
from interchange.abi.dlpack import DLManagedTensor, DLManagedTensorVersioned


def _said(address, *, versioned):
    """Return every field of the struct at an address; shape and strides as addresses."""
    struct = DLManagedTensorVersioned if versioned else DLManagedTensor
    managed = struct.from_address(address)
    tensor = managed.dl_tensor
    said = {
        "data": tensor.data,
        "device": (tensor.device.device_type, tensor.device.device_id),
        "ndim": tensor.ndim,
        "dtype": (tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes),
        "shape": ctypes.cast(tensor.shape, ctypes.c_void_p).value,
        "strides": ctypes.cast(tensor.strides, ctypes.c_void_p).value,
        "byte_offset": tensor.byte_offset,
        "deleter": managed.deleter,
        "manager_ctx": managed.manager_ctx,
    }
    if versioned:
        said["version"] = (managed.version.major, managed.version.minor)
        said["flags"] = managed.flags
    return said


@pytest.fixture
def read_capsule():
    """Return the fields of the struct in an unconsumed capsule."""

    def read(capsule):
        name = capsules.capsule_name(capsule)
        versioned = b"versioned" in (name or b"versioned")
        return _said(capsules.capsule_pointer(capsule, name), versioned=versioned)

    return read


@pytest.fixture
def read_numbers():
    """Return the numbers at an address that a struct points to."""

    def read(address, count):
        return tuple((ctypes.c_int64 * count).from_address(address))

    return read
