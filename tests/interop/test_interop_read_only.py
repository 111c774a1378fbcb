"""Read-only memory through real libraries: the flag survives every chain, or an error is raised.

A chain is three libraries, each of which imports the memory from the one before.
"""

from __future__ import annotations

import warnings
from itertools import product

import numpy as np
import pytest

import interchange as ix

pytestmark = pytest.mark.interop

EXPRESS = {  # library -> whether one of its arrays reports that it is read-only
    "array_api_strict": lambda x: not np.asarray(x).flags.writeable,
    "cuda.core": lambda x: x.readonly,
    "interchange": lambda x: x.readonly,
    "jax": lambda x: not np.asarray(x).flags.writeable,  # no array of JAX is ever written
    "memoryview": lambda x: x.readonly,
    "numpy": lambda x: not x.flags.writeable,
    "pyarrow": lambda x: not x.is_mutable,
    "pyarrow.Array": lambda x: ix.asarray(x).readonly,  # no array of Arrow is ever written
}
FORGET = [name for name, row in ix.TARGETS.items() if not row.keeps_readonly]
MODULES = {"cuda.core": "cuda.core", "memoryview": "numpy", "pyarrow.Array": "pyarrow"}

CHAINS = [*product(EXPRESS, repeat=3)]
DEAD_ENDS = [*product(EXPRESS, EXPRESS, FORGET)]


@pytest.fixture
def demand(need):
    """Skip where one of these libraries is missing."""

    def demand_all(*libraries):
        for library in libraries:
            need(MODULES.get(library, library))

    return demand_all


def read_only():
    """Return read-only memory that every library can share, and its bytes."""
    memory = ix.asarray(np.arange(16, dtype="f4")).copy()  # aligned to 64 bytes
    array = ix.from_pointer(memory.ptr, (16,), "float32", owner=memory, readonly=True)
    return array, np.asarray(memory).tobytes()


def test_every_target_either_expresses_or_forgets():
    """Every target is in the chains below, and its row agrees with their result."""
    assert set(ix.TARGETS) - set(FORGET) == set(EXPRESS)


@pytest.mark.parametrize("chain", CHAINS, ids="-".join)
def test_read_only_survives_every_chain_that_can_express_it(demand, chain):
    """Each of three libraries reports read-only, and the memory is the same."""
    demand(*chain)
    array, before = read_only()
    current = array

    for library in chain:
        current = ix.convert(current, library)
        assert EXPRESS[library](current), f"{library} forgot it"

    again = ix.asarray(current)
    assert (again.readonly, again.ptr) == (True, array.ptr)
    assert bytes(memoryview(np.asarray(array))) == before


@pytest.mark.parametrize("chain", DEAD_ENDS, ids="-".join)
def test_where_read_only_cannot_be_expressed_the_error_says_so(demand, chain):
    """A library that would drop the flag receives no memory, whatever its origin."""
    *hops, last = chain
    demand(*hops)
    current, _ = read_only()
    for library in hops:
        current = ix.convert(current, library)

    with pytest.raises(ix.ReadOnlyError) as caught:
        ix.convert(current, last)

    assert caught.value.rule == "DLP-RO-3"
    assert f"{last} arrays cannot be marked read-only" in caught.value.what
    assert "copy=True" in caught.value.hint


@pytest.mark.parametrize("library", ["torch", "tvm_ffi", "warp"])
@pytest.mark.parametrize("first", EXPRESS)
def test_a_copy_of_read_only_memory_reaches_them(demand, first, library):
    """The fix that the error names works: other memory, same elements."""
    demand(first, library)
    array, before = read_only()

    found = ix.convert(ix.convert(array, first), library, copy=True)

    again = ix.asarray(found, assume_writable=library == "warp")
    assert again.ptr != array.ptr
    assert again.tolist() == array.tolist()
    np.asarray(again)[...] = 0
    assert np.asarray(array).tobytes() == before


# ---------------------------------------------------------------- their own from_dlpack


@pytest.mark.parametrize("library", ["numpy", "array_api_strict"])
def test_their_own_import_keeps_it(need, library):
    """Libraries that send max_version see the flag."""
    need(library)
    module = pytest.importorskip(library)
    array, _ = read_only()

    found = module.from_dlpack(array)

    assert EXPRESS[library](found)
    assert ix.asarray(found).ptr == array.ptr


def test_the_import_of_cuda_core_keeps_it(need):
    """A StridedMemoryView reports read-only."""
    need("cuda.core")
    from cuda.core.utils import StridedMemoryView

    array, _ = read_only()

    view = StridedMemoryView.from_dlpack(array, stream_ptr=-1)

    assert (view.readonly, view.ptr) == (True, array.ptr)


def test_a_library_that_requests_legacy_capsules_gets_an_error(need):
    """JAX passes no max_version: a legacy capsule cannot represent read-only, so it is refused."""
    need("jax")
    import jax

    array, _ = read_only()

    with pytest.raises(ix.ReadOnlyError) as caught:
        jax.dlpack.from_dlpack(array)

    assert caught.value.rule == "DLP-RO-1"
    assert 'convert(x, "jax")' in caught.value.hint or "max_version" in caught.value.hint


# ---------------------------------------------------------------- JAX and donation

DONATIONS = {
    "add": lambda x: x + 1,
    "set": lambda x: x.at[0].set(99.0),
    "same": lambda x: x,
    "reverse": lambda x: x[::-1],
    "fill": lambda x: 0 * x + 7,
}


@pytest.mark.parametrize("name", DONATIONS)
@pytest.mark.parametrize("size", [16, 1024, 2**18])
def test_donated_memory_is_not_written(need, name, size):
    """JAX may reuse donated memory, but not memory that it did not allocate."""
    need("jax")
    import jax

    owner = ix.asarray(np.arange(size, dtype="f4")).copy()
    before = np.asarray(owner).tobytes()
    array = ix.from_pointer(owner.ptr, (size,), "float32", owner=owner, readonly=True)
    shared = ix.convert(array, "jax")
    assert shared.unsafe_buffer_pointer() == array.ptr

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Some donated buffers were not usable")
        result = jax.jit(DONATIONS[name], donate_argnums=0)(shared)
    result.block_until_ready()
    more = jax.jit(lambda x: x * 2, donate_argnums=0)(result)
    more.block_until_ready()

    assert np.asarray(owner).tobytes() == before


def test_deleting_a_jax_array_leaves_the_memory(need):
    """Deleting a JAX array does not free imported memory."""
    need("jax")
    array, before = read_only()
    shared = ix.convert(array, "jax")

    shared.delete()

    assert np.asarray(array).tobytes() == before
