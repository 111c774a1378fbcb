"""`inspect` reports whether device memory is on the device that its producer states."""

from __future__ import annotations

import pytest

import interchange as ix

pytestmark = [pytest.mark.emulated, pytest.mark.gpu]


@pytest.fixture
def elsewhere(cuda):
    """Return the address of memory on the second device."""
    with cuda.device(1):
        return cuda.memory(16)


@pytest.mark.parametrize("max_version", [None, (1, 0)])
@pytest.mark.parametrize("how", ["an Array", "its capsule"])
def test_memory_of_another_device_is_told(elsewhere, max_version, how):
    """Importers trust the struct; `inspect` queries the driver."""
    for device, rules in (("cuda:0", ["DLP-DEV-9"]), ("cuda:1", [])):
        x = ix.from_pointer(elsewhere, (16,), "uint8", device=device)
        if how == "an Array":
            report = ix.inspect(x).parts[0].parts[0]
        else:
            report = ix.inspect(x.__dlpack__(stream=-1, max_version=max_version))

        assert [finding.rule for finding in report.findings] == rules
        assert report.ok is (not rules)


def test_empty_memory_is_nowhere(cuda):
    """The driver is not queried for its address."""
    x = ix.from_pointer(0, (0,), "uint8", device="cuda:1")

    assert ix.inspect(x.__dlpack__(stream=-1)).ok
    assert cuda
