"""A second library on a second device, without a GPU: array-api-strict on an extension device."""

from __future__ import annotations

import importlib.util

import array_api_strict as strict
import numpy as np
import pytest

import interchange as ix
from interchange._core import describe
from interchange._types.devices import Device
from interchange._types.spec import Spec

EXT = Device.of("ext_dev")


class StrictBackend(ix.Backend):
    """array-api-strict, whose memory is the host's, under the name of another device."""

    name = "strict"
    keeps_readonly = False

    def __init__(self, device):
        self.array_type = type(strict.asarray(0))
        self.written = []
        super().__init__(device, strict)

    def view(self, tensor):
        elements = ix.from_pointer(
            tensor.ptr, tensor.shape, tensor.dtype, strides=tensor.strides, owner=tensor._keepalive
        )
        return strict.from_dlpack(elements)

    def describe(self, native, cls):
        host = ix.from_dlpack(native)
        spec = Spec(host.dtype, self.device, host._spec.layout)
        return describe(host.ptr, spec, 0, native, native, cls)

    def note_written(self, array):
        self.written.append(array)

    def to_host(self, native):
        return np.array(np.from_dlpack(native))


@pytest.fixture
def ext():
    """Return the device that array-api-strict computes on, until the test is over."""
    ix.set_backend(EXT, StrictBackend)
    yield EXT
    ix.set_backend(EXT, None)


@pytest.fixture
def computing_with():
    """Return what lets a named library compute on the host, until the test is over."""

    def choose(name):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed")
        ix.set_backend("cpu", name)

    yield choose
    ix.set_backend("cpu", None)
