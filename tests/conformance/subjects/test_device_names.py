"""A subject can name memory of every kind that dlpack.h has."""

from __future__ import annotations

import pytest

from interchange._types.devices import NAMES
from interchange.abi import DLDeviceType
from interchange_conformance.subject import DEVICES, KINDS

WITH_A_DRIVER = {"cpu": "cpu", "cuda": "cuda", "cuda_host": "pinned", "cuda_managed": "managed"}


def test_every_kind_of_dlpack_has_a_name():
    """That of a device which the kit has a driver for, or that of its kind."""
    named = {DLDeviceType[f"kDL{name}"] for name in ("CPU", "CUDA", "CUDAHost", "CUDAManaged")}

    assert named | set(KINDS.values()) == set(DLDeviceType)


@pytest.mark.parametrize("kind", DLDeviceType)
def test_names_are_those_of_interchange(kind):
    """But for those that the kit had first."""
    name = NAMES[kind]

    assert WITH_A_DRIVER.get(name, name) in DEVICES
    assert KINDS.get(name, kind) is kind
