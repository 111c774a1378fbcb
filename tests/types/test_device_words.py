"""Devices of other libraries, as `Device.of` reads them."""

from __future__ import annotations

import sys
import types

import pytest

from interchange import Device, UnsupportedDeviceError


def of_library(module, name, **attributes):
    """Return an object whose type is called so."""
    return type(name, (), {"__module__": module, **attributes})()


@pytest.fixture
def libraries(monkeypatch):
    """Set the attributes of torch and CuPy that describe their build: for CUDA or for ROCm."""

    def build(*, is_rocm: bool) -> None:
        torch, cupy = types.ModuleType("torch"), types.ModuleType("cupy")
        torch.version = types.SimpleNamespace(hip="7.0" if is_rocm else None)
        cupy.cuda = types.SimpleNamespace(runtime=types.SimpleNamespace(is_hip=is_rocm))
        monkeypatch.setitem(sys.modules, "torch", torch)
        monkeypatch.setitem(sys.modules, "cupy", cupy)

    return build


def jax_device(platform, version="cuda 13", **attributes):
    """Return what JAX has for a device."""
    client = types.SimpleNamespace(platform_version=version)
    return of_library("jaxlib._jax", "Device", platform=platform, client=client, **attributes)


WORDS = [
    (of_library("torch", "device", type="cpu", index=None), "cpu"),
    (of_library("torch", "device", type="cuda", index=1), "cuda:1"),
    (of_library("torch", "device", type="mps", index=None), "metal:0"),
    (of_library("torch", "device", type="xpu", index=2), "oneapi:2"),
    (of_library("cuda.core._device", "Device", device_id=3), "cuda:3"),
    (of_library("cupy.cuda.device", "Device", id=1), "cuda:1"),
    (jax_device("cpu", id=0), "cpu"),
    (jax_device("cpu", id=5), "cpu"),
    (jax_device("gpu", id=9, local_hardware_id=1), "cuda:1"),
    (jax_device("gpu", "PJRT, ROCm 7", id=9, local_hardware_id=1), "rocm:1"),
]


@pytest.mark.parametrize(("value", "text"), WORDS, ids=lambda one: type(one).__module__)
def test_a_device_of_a_library_names_ours(libraries, value, text):
    """A library's device with the ordinal of its capsules is equal to ours."""
    libraries(is_rocm=False)

    assert str(Device.of(value)) == text
    assert Device.of(text) == value


@pytest.mark.parametrize(
    "value",
    [
        of_library("torch", "device", type="cuda", index=1),
        of_library("cupy.cuda.device", "Device", id=1),
    ],
    ids=["torch", "cupy"],
)
def test_a_build_for_rocm_has_devices_of_rocm(libraries, value):
    """torch for ROCm names its devices cuda, and they are ROCm devices here."""
    libraries(is_rocm=True)

    assert Device.of(value) is Device("rocm", 1)


@pytest.mark.parametrize("kind", ["cuda", "xpu"])
def test_a_device_of_torch_without_an_ordinal_is_refused_with_both_readings(kind):
    """cuda" without an ordinal is ambiguous, the first or the current GPU, and equals neither."""
    value = of_library("torch", "device", type=kind, index=None)

    with pytest.raises(UnsupportedDeviceError) as caught:
        Device.of(value, "f()")

    assert (caught.value.call, caught.value.rule) == ("f()", "DLP-DEV-1")
    assert f"{kind}:0, or the current device" in caught.value.what
    assert f"`torch.{kind}.current_device`" in caught.value.hint
    assert Device("cuda", 0) != value


def test_gpu_is_refused_with_both_readings():
    """gpu" is ambiguous, since JAX uses it for the GPUs of either vendor."""
    with pytest.raises(UnsupportedDeviceError) as caught:
        Device.of("gpu")

    assert caught.value.hint == "pass `'cuda:0'` or `'rocm:0'`"


@pytest.mark.parametrize(
    "value",
    [of_library("torch", "device", type="meta", index=None), jax_device("tpu", id=0)],
    ids=["torch", "jax"],
)
def test_a_device_without_a_number_in_dlpack_is_refused(value):
    """No capsule can represent it."""
    with pytest.raises(UnsupportedDeviceError, match="has no number in DLPack") as caught:
        Device.of(value)

    assert caught.value.rule == "DLP-DEV-1"
    assert Device("cpu") != value


def test_real_devices_are_read(need):
    """Devices of torch and JAX on the host are read, and a GPU that torch lacks."""
    need("torch")
    need("jax")
    import jax
    import torch

    assert Device("cpu") == torch.device("cpu") == Device("cpu")
    assert Device("cpu") == jax.devices("cpu")[0]
    assert Device("cuda", 1) == torch.device("cuda:1")


def test_a_real_device_of_cuda_core_is_read(need):
    """A device of cuda.core is read by its attribute, without a driver."""
    need("cuda.core")
    from cuda.core import Device as CoreDevice

    class Known(CoreDevice):
        """A device that is parsed without calling a driver."""

        def __new__(cls):
            return object.__new__(cls)

        device_id = 3

    Known.__name__, Known.__module__ = CoreDevice.__name__, CoreDevice.__module__

    assert Device.of(Known()) is Device("cuda", 3)
