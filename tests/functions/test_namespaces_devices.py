"""Device names of libraries, and conversions from and to ours, for GPUs that are not present."""

from __future__ import annotations

import sys
import types

import pytest

import interchange as ix
from interchange._functions.array_apis import known_apis

ROWS = known_apis()
CUDA, ROCM = ix.Device(2, 1), ix.Device(10, 1)

every_vendor = pytest.mark.parametrize("gpu", [CUDA, ROCM], ids=["CUDA", "ROCm"])


class Place(types.SimpleNamespace):
    """A device of a stand-in for a library."""


@pytest.fixture
def torch(monkeypatch):
    """A stand-in for torch on a machine with GPUs."""

    def device(name, index=None):
        if isinstance(name, Place):
            return name
        kind, _, number = str(name).partition(":")
        return Place(type=kind, index=int(number) if number else index)

    module = types.ModuleType("torch")
    module.device = device
    module.version = types.SimpleNamespace(hip=None)
    module.cuda = types.SimpleNamespace(
        current_device=lambda: 3, device_count=lambda: 8, is_available=lambda: True
    )
    monkeypatch.setitem(sys.modules, "torch", module)
    return module


@pytest.fixture
def cupy(monkeypatch):
    """A stand-in for CuPy."""
    module = types.ModuleType("cupy")
    runtime = types.SimpleNamespace(is_hip=False)
    module.cuda = types.SimpleNamespace(Device=lambda n: Place(id=n), runtime=runtime)
    monkeypatch.setitem(sys.modules, "cupy", module)
    return module


def jax_device(platform, ordinal, version="cuda 12"):
    """Return a device of a stand-in for JAX."""
    client = types.SimpleNamespace(platform_version=version)
    return Place(platform=platform, id=ordinal + 10, local_hardware_id=ordinal, client=client)


@pytest.fixture
def jax(monkeypatch):
    """A stand-in for JAX with two GPUs."""
    module = types.ModuleType("jax")
    module.cpu = Place(platform="cpu", id=0)
    module.gpus = [jax_device("gpu", n) for n in range(2)]
    module.local_devices = lambda backend: [module.cpu] if backend == "cpu" else module.gpus
    monkeypatch.setitem(sys.modules, "jax", module)
    return module


@every_vendor
def test_torch_calls_every_gpu_cuda(torch, gpu):
    """torch names every GPU "cuda"; the vendor is that of its build."""
    torch.version.hip = None if gpu is CUDA else "6.0"
    row = ROWS["torch"]

    assert row.read_device("cuda:1") is gpu
    assert (row.write_device(gpu).type, row.write_device(gpu).index) == ("cuda", 1)


@pytest.mark.usefixtures("torch")
def test_torch_has_a_current_gpu():
    """cuda" without a number is torch's current GPU."""
    assert ROWS["torch"].read_device("cuda") is ix.Device(2, 3)


@pytest.mark.usefixtures("torch")
def test_torch_has_devices_of_its_own():
    """torch devices without a counterpart are unknown here; torch has no managed memory."""
    assert ROWS["torch"].read_device("meta") is None
    assert ROWS["torch"].write_device(ix.Device(13)) is None


@every_vendor
def test_cupy_has_gpus_alone(cupy, gpu):
    """CuPy's devices are GPUs, as a number or an object with one."""
    cupy.cuda.runtime.is_hip = gpu is ROCM
    row = ROWS["cupy"]

    assert row.read_device(1) is row.read_device(Place(id=1)) is gpu
    assert row.write_device(gpu).id == 1
    assert row.write_device(ix.Device(1)) is None
    assert row.read_device("elsewhere") is None


@pytest.mark.usefixtures("jax")
@pytest.mark.parametrize(
    ("place", "device"),
    [
        (Place(platform="cpu", id=0), ix.Device(1)),
        (Place(platform="cpu", id=1), None),
        (jax_device("gpu", 1), CUDA),
        (jax_device("cuda", 1), CUDA),
        (jax_device("gpu", 1, "rocm 6"), ROCM),
        (jax_device("rocm", 1, "rocm 6"), ROCM),
        (jax_device("tpu", 0), None),
        (Place(), None),
    ],
    ids=["cpu", "second cpu", "gpu", "cuda", "gpu rocm", "rocm", "tpu", "sharding"],
)
def test_jax_counts_devices_by_their_hardware(place, device):
    """JAX devices are numbered by hardware, not by ids; further host devices are the host."""
    assert ROWS["jax"].read_device(place) is device


def test_jax_finds_its_device_again(jax):
    """Among those of this host."""
    row = ROWS["jax"]

    assert row.write_device(CUDA) is jax.gpus[1]
    assert row.write_device(ix.Device(1)) is jax.cpu
    assert row.write_device(ix.Device(2, 7)) is None
    assert row.write_device(ix.Device(13)) is None


@pytest.mark.parametrize("name", ["numpy", "dask"])
def test_libraries_of_the_host_have_one_device(name):
    """Libraries of the host have one device, with the same name as here."""
    row = ROWS[name]

    assert (row.read_device("cpu"), row.write_device(ix.Device(1))) == (ix.Device(1), "cpu")
    assert (row.read_device("gpu"), row.write_device(CUDA)) == (None, None)


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.usefixtures("torch", "cupy", "jax")
def test_words_of_interchange_name_a_device_or_none(name):
    """A place where the library has no arrays is refused in the name of the call."""
    with pytest.raises(ix.UnsupportedDeviceError, match=rf"^f\(\): {name} has no arrays on vpi:0"):
        ROWS[name].find_device(ix.Device(9), "f()")
