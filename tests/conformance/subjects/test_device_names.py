"""A subject can name memory of every device type in dlpack.h."""

from __future__ import annotations

import pytest

from interchange._types.devices import NAMES
from interchange.abi import DLDeviceType
from interchange_conformance.subject import DEVICES, KINDS

WITH_A_DRIVER = {"cpu": "cpu", "cuda": "cuda", "cuda_host": "pinned", "cuda_managed": "managed"}


def test_every_kind_of_dlpack_has_a_name():
    """The name is that of a device for which the kit has a driver, or that of a kind of memory."""
    named = {DLDeviceType[f"kDL{name}"] for name in ("CPU", "CUDA", "CUDAHost", "CUDAManaged")}

    assert named | set(KINDS.values()) == set(DLDeviceType)


@pytest.mark.parametrize("kind", DLDeviceType)
def test_names_are_those_of_interchange(kind):
    """Names that the kit introduced earlier are exceptions."""
    name = NAMES[kind]

    assert WITH_A_DRIVER.get(name, name) in DEVICES
    assert KINDS.get(name, kind) is kind
