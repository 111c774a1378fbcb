"""`compat.upgrade` with real libraries, bare and as array-api-compat wraps them."""

from __future__ import annotations

import importlib
import pickle

import numpy as np
import pytest

import interchange as ix
from interchange.compat import upgrade
from interchange.testing import producers

pytestmark = pytest.mark.interop

NAMESPACES = (
    "numpy",
    "array_api_strict",
    "array_api_compat.numpy",
    "array_api_compat.torch",
    "array_api_compat.dask.array",
    "torch",
    "jax.numpy",
)
SHARE = tuple(name for name in NAMESPACES if "dask" not in name)
MEMORY = {
    "bytes": lambda: b"abcdefgh" * 32,
    "bytearray": lambda: bytearray(b"abcdefgh" * 32),
    "memoryview": lambda: memoryview(bytearray(b"abcdefgh" * 32)),
    "Array": lambda: ix.asarray(bytearray(b"abcdefgh" * 32)),
    "legacy capsule": lambda: ix.to_capsule(bytearray(b"abcdefgh" * 32)),
    "capsule": lambda: ix.to_capsule(bytearray(b"abcdefgh" * 32), max_version=(1, 0)),
    "ndarray": lambda: np.frombuffer(bytearray(b"abcdefgh" * 32), "u1"),
    "backwards": lambda: np.frombuffer(bytearray(b"hgfedcba" * 32), "u1")[::-1],
}

every_memory = pytest.mark.parametrize("kind", MEMORY)
every_kind = pytest.mark.parametrize(
    "kind", producers.SIGNATURES.values(), ids=producers.SIGNATURES
)


def load(name, need):
    """Return a namespace, upgraded; skip where its library, or what wraps it, is missing."""
    parts = name.split(".")
    for library in sorted({*parts} - {"array"}):
        need(library)
    return upgrade(importlib.import_module(name))


@pytest.fixture(params=NAMESPACES)
def xp(request, need):
    """Every namespace in turn, upgraded."""
    return load(request.param, need)


@pytest.fixture
def torch(need):
    """torch, as array-api-compat wraps it, upgraded."""
    return load("array_api_compat.torch", need)


@pytest.fixture
def jnp(need):
    """JAX, upgraded."""
    return load("jax.numpy", need)


def values(x):
    """Return the elements of an array of a namespace."""
    return np.asarray(x).tolist() if hasattr(x, "compute") else ix.asarray(x).tolist()


@every_memory
def test_memory_of_any_kind_becomes_an_array_of_the_library(xp, kind):
    """The array has the same elements, in the library's own type, on its reported device."""
    found = xp.asarray(MEMORY[kind]())

    assert type(found) is type(xp.asarray([1]))
    assert values(found) == list(b"abcdefgh" * 32)
    assert xp.device(found) == xp.device(xp.asarray([1]))


@every_kind
@pytest.mark.parametrize("copy", [None, True])
def test_producers_of_any_age_become_arrays_of_the_library(xp, kind, copy):
    """The producers' keywords may be older or newer than those of the library's function."""
    source = producers.host((2, 3), "float32", kind=kind)

    found = xp.from_dlpack(source, device=xp.device(xp.asarray([1])), copy=copy)

    assert type(found) is type(xp.asarray([1]))
    assert values(found) == ix.from_dlpack(source).tolist()


def test_one_object_stands_for_the_namespace(xp):
    """There is one object per namespace, which is pickled by name."""
    assert upgrade(xp) is xp
    assert pickle.loads(pickle.dumps(xp)) is xp


def test_a_copy_that_is_asked_for_is_made(xp):
    """A write to the original is not visible in the copy."""
    x = ix.asarray(np.zeros(16, "f4")).copy()

    found = xp.from_dlpack(x, copy=True)
    np.asarray(x)[...] = 1

    assert values(found) == [0.0] * 16


@pytest.mark.parametrize("name", SHARE)
def test_memory_is_shared_where_it_may_be(name, need):
    """Memory is aligned to 64 bytes, so that JAX shares it, too."""
    xp = load(name, need)
    x = ix.asarray(np.arange(16, dtype="f4")).copy()

    found = xp.from_dlpack(x, copy=False)

    assert ix.asarray(found).ptr == x.ptr


# ---------------------------------------------------------------- torch


def test_torch_gets_a_copy_of_read_only_memory(torch):
    """torch receives a copy of read-only memory, since its tensors are always writable."""
    x = np.arange(4.0)
    x.flags.writeable = False

    found = [torch.asarray(x), torch.from_dlpack(x), torch.asarray(b"abc")]

    assert all(ix.asarray(one).ptr != x.ctypes.data for one in found)
    for function in (torch.asarray, torch.from_dlpack):
        with pytest.raises(ix.ReadOnlyError):
            function(x, copy=False)


def test_torch_shares_writable_memory(torch):
    """A write by torch is visible."""
    x = np.zeros(3)

    torch.asarray(x)[0] = 7

    assert x.tolist() == [7, 0, 0]


def test_torch_gets_a_copy_of_what_runs_backwards(torch):
    """torch receives a copy of reversed memory, since it lacks negative strides."""
    x = np.arange(4.0)[::-1]

    assert torch.from_dlpack(x).tolist() == [3, 2, 1, 0]
    with pytest.raises(ix.ExchangeError, match="no negative strides"):
        torch.from_dlpack(x, copy=False)


def test_buffers_are_bytes_to_torch(torch):
    """torch's own function would read the bytes as float32."""
    assert torch.asarray(bytearray(b"abcd")).tolist() == [97, 98, 99, 100]


def test_the_class_of_torch_s_devices_is_still_a_class(torch):
    """The class also recognises the devices of arrays."""
    import torch as bare

    cpu = torch.device("cpu")

    assert (type(cpu), cpu) == (bare.device, bare.device("cpu"))
    assert torch.device(type="cuda", index=1) == bare.device("cuda:1")
    assert isinstance(cpu, torch.device)
    assert not isinstance("cpu", torch.device)
    assert torch.device.index is bare.device.index
    assert not hasattr(torch.device, "_no_such_name")
    assert torch.device(bare.ones(1)) == torch.device(np.ones(1)) == cpu
    assert pickle.loads(pickle.dumps(torch.device)) is torch.device


def test_torch_s_devices_are_named_in_either_words(torch):
    """Devices are accepted in torch's and in interchange's names."""
    import torch as bare

    x = np.zeros(2)
    for device in ("cpu", bare.device("cpu"), ix.Device(1), (1, 0)):
        assert torch.from_dlpack(x, device=device).data_ptr() == x.ctypes.data


def test_torch_moves_to_devices_of_its_own(torch):
    """Devices that interchange does not know are left to torch."""
    found = torch.asarray(np.ones(3), device="meta")

    assert (found.device.type, found.shape) == ("meta", (3,))
    assert torch.to_device(torch.ones(2), "meta").device.type == "meta"


def test_a_stream_is_none_where_torch_has_host_arrays(torch):
    """A stream for torch's host arrays is refused, not ignored."""
    with pytest.raises(ix.StreamError):
        torch.to_device(torch.ones(2), "cpu", stream=5)


# ---------------------------------------------------------------- JAX


def test_jax_copies_what_is_not_aligned(jnp):
    """JAX can share aligned memory only, and copies other memory."""
    x = ix.asarray(np.arange(17, dtype="f4")).copy()[1:]

    assert jnp.from_dlpack(x).tolist() == [float(n) for n in range(1, 17)]
    with pytest.raises(ix.CopyNeededError):
        jnp.from_dlpack(x, copy=False)


def test_jax_makes_of_host_arrays_what_it_always_did(jnp):
    """Host arrays give the same JAX arrays as before, with JAX's own rules for 64 bits."""
    import jax.numpy

    x = np.arange(3.0)
    wanted = jax.numpy.asarray(x).dtype

    assert [jnp.asarray(one).dtype for one in (x, ix.asarray(x), memoryview(x))] == [wanted] * 3


def test_jax_casts_before_it_narrows(jnp):
    """An integer of 64 bits does not pass through 32."""
    x = np.asarray([2**40])

    found = [jnp.asarray(one, dtype=jnp.float32) for one in (x, ix.asarray(x), memoryview(x))]

    assert [float(one[0]) for one in found] == [2.0**40] * 3


def test_jax_shares_host_memory_where_nothing_else_will_do(jnp):
    """JAX shares host memory only if copy=False requires it."""
    x = ix.asarray(np.zeros(16, "f4")).copy()

    found = [jnp.asarray(one, copy=False) for one in (x, np.asarray(x), memoryview(np.asarray(x)))]

    assert [ix.asarray(one).ptr for one in found] == [x.ptr] * 3


def test_an_exchange_with_jax_casts_nothing(jnp):
    """Without 64-bit types JAX refuses them instead of casting."""
    import jax

    if jax.config.jax_enable_x64:
        pytest.skip("64 bits are enabled here")
    with pytest.raises(ix.UnsupportedDTypeError, match="jax has no float64 by default"):
        jnp.from_dlpack(np.arange(16.0))


def test_arrays_under_transformation_are_jax_s_own(jnp):
    """Traced arrays have no memory, and are passed to JAX unchanged."""
    import jax

    found = jax.jit(lambda x: jnp.sum(jnp.asarray(x)))(jnp.ones(3))

    assert found == 3


def test_what_jax_lent_to_torch_is_not_written(jnp, torch):
    """JAX's arrays are immutable, which its capsules do not record."""
    x = jnp.zeros(16)

    found = torch.from_dlpack(x)
    found[0] = 1

    assert x[0] == 0


# ---------------------------------------------------------------- Dask


@pytest.fixture
def dask(need):
    """Dask, as array-api-compat wraps it, upgraded."""
    return load("array_api_compat.dask.array", need)


def test_dask_s_own_arrays_pass_through(dask):
    """Although it has no function for it."""
    x = dask.ones(3)

    assert dask.from_dlpack(x) is x
    assert dask.to_device(x, "cpu") is x
    assert dask.device(x) == "cpu"


def test_nothing_is_taken_away_from_dask(dask):
    """Dask accepts ndarrays that only NumPy's own protocols describe."""
    x = np.asarray(["2020-01-01"], dtype="M8[D]")

    assert dask.asarray(x).compute().tolist() == x.tolist()


def test_a_graph_shares_no_memory(dask):
    """``copy=False`` is refused."""
    with pytest.raises(ix.CopyNeededError):
        dask.asarray(ix.asarray(bytearray(2)), copy=False)


# ---------------------------------------------------------------- those who take a namespace


@pytest.mark.parametrize("name", ["array_api_compat.numpy", "array_api_compat.torch", "jax.numpy"])
def test_array_api_extra_computes_with_it(name, need):
    """Functions with a parameter for the namespace accept the upgraded one."""
    xp = load(name, need)
    need("array_api_extra")
    import array_api_extra as xpx

    x = xp.asarray(bytearray([1, 2, 3]))

    assert xpx.atleast_nd(x, ndim=2, xp=xp).shape == (1, 3)
    assert values(xpx.pad(x, 1, xp=xp)) == [0, 1, 2, 3, 0]
    assert values(xpx.kron(x, x, xp=xp)) == [1, 2, 3, 2, 4, 6, 3, 6, 9]


def test_array_api_compat_takes_it_for_no_other(need):
    """array-api-compat's helpers, which go by names and hashes, do not misidentify it."""
    need("array_api_compat")
    import array_api_compat as compat

    xp = load("array_api_compat.numpy", need)

    assert not compat.is_numpy_namespace(xp)
    assert not compat.is_torch_namespace(xp)
    assert compat.is_numpy_namespace(compat.array_namespace(xp.ones(2)))
    assert compat.device(xp.ones(2)) == xp.device(np.ones(2))
