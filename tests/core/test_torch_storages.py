"""Memory of a torch tensor lives as long as its Array, even if the tensor gets another storage."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import interchange as ix

pytestmark = pytest.mark.interop

DTYPES = ("float64", "uint16", "complex64")


@pytest.fixture
def torch(need):
    """Return torch."""
    need("torch")
    import torch

    return torch


def swap(torch, x, other):
    """Give two tensors the implementation of each other."""
    torch.utils.swap_tensors(x, other)


def set_data(_, x, other):
    """Give a tensor the storage of another by its attribute."""
    x.data = other


def set_storage(_, x, other):
    """Give a tensor the storage of another by its method."""
    x.set_(other)


EXCHANGES = (swap, set_data, set_storage)
IMPORTS = {
    "from_dlpack": ix.from_dlpack,
    "asarray": ix.asarray,
    "without a copy": lambda x: ix.from_dlpack(x, copy=False),
    "a view": lambda x: ix.from_dlpack(x)[::2],
    "an Array of it": lambda x: ix.from_dlpack(ix.from_dlpack(x)),
    "a capsule of it": lambda x: ix.from_dlpack(x).__dlpack__(max_version=(1, 0)),
}


def tensor_of(torch, dtype, cls=None):
    """Return a tensor over an ndarray's memory, and a function that tells if it still exists."""
    block = np.arange(6).astype(dtype)
    x = torch.from_numpy(block)
    return x if cls is None else cls(x), weakref.ref(block)


def is_kept(torch, imported, x, alive, exchange):
    """Whether memory exists after an exchange, and is freed after the last import."""
    held = [imported(x)]
    exchange(torch, x, torch.zeros(4, dtype=x.dtype))
    gc.collect()
    kept = alive() is not None
    held.clear()
    gc.collect()
    return kept, alive() is None


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("exchange", EXCHANGES)
@pytest.mark.parametrize("way", IMPORTS)
def test_a_tensor_may_get_another_storage(torch, way, exchange, dtype):
    """The Array keeps the storage of its import, at the first import and at the third."""
    if ix.core_name != "native":
        pytest.skip("the ctypes core holds what torch's own capsules hold")
    results = set()
    for _ in range(3):
        x, alive = tensor_of(torch, dtype)
        results.add(is_kept(torch, IMPORTS[way], x, alive, exchange))

    assert results == {(True, True)}


@pytest.mark.parametrize("kind", ["Tensor", "Parameter", "subclass"])
@pytest.mark.parametrize("way", IMPORTS)
def test_a_swap_frees_no_memory_that_is_imported(torch, way, kind):
    """A swap frees no imported memory: torch refuses it, or the memory is kept.

    This holds for tensors of any class, with both cores.
    """
    makers = {
        "Tensor": None,
        "Parameter": lambda x: torch.nn.Parameter(x, requires_grad=False),
        "subclass": lambda x: x.as_subclass(type("Named", (torch.Tensor,), {})),
    }
    for _ in range(3):
        x, alive = tensor_of(torch, "float32", makers[kind])
        held = IMPORTS[way](x)
        other = torch.zeros(4) if makers[kind] is None else makers[kind](torch.zeros(4))
        try:
            swap(torch, x, other)
        except RuntimeError:  # others hold its implementation
            assert type(x) is not torch.Tensor or ix.core_name == "ctypes"
        del x, other
        gc.collect()

        assert alive() is not None
        del held


def test_the_storage_is_given_back(torch):
    """The storage is released as often as it was retained, even if its Python object changed."""
    x = torch.zeros(8)
    ix.from_dlpack(x)
    ix.from_dlpack(x)
    implementation = x.untyped_storage()._cdata
    count = torch._C._storage_Use_Count
    before = count(implementation)
    arrays = [ix.from_dlpack(x) for _ in range(5)]
    x.untyped_storage()
    during = count(implementation)
    del arrays

    assert (during - before, count(implementation)) in {(5, before), (0, before)}


def test_a_storage_that_only_an_array_holds_is_freed_with_an_exception_in_flight(torch):
    """What torch runs then does not touch the exception."""
    x, alive = tensor_of(torch, "float64")
    ix.from_dlpack(x)
    arrays = [ix.from_dlpack(x)]
    arrays[0]._owner = None
    del x
    with pytest.raises(ValueError, match="nope"):
        arrays.pop()[int("nope")]
    gc.collect()

    assert alive() is None


IN_A_MODE = """
import gc, weakref
import numpy as np
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
import interchange as ix

class Refusing(TorchDispatchMode):
    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        raise RuntimeError(f"no {function}")

first = torch.zeros(3)
def import_first(*_):
    ix.from_dlpack(first)
    return torch.zeros(())

if MODE == "grad":
    torch.func.grad(lambda x: import_first() + x)(torch.ones(()))
else:
    modes = {"refusing": Refusing, "fake": lambda: FakeTensorMode(allow_non_fake_inputs=True)}
    with modes[MODE]():
        ix.from_dlpack(first)
block = np.arange(6.0)
x, alive = torch.from_numpy(block), weakref.ref(block)
del block
array = ix.from_dlpack(x)
x.data = torch.zeros(2)
gc.collect()
print(alive() is not None)
"""


@pytest.mark.isolated
@pytest.mark.usefixtures("torch")
@pytest.mark.parametrize("mode", ["grad", "refusing", "fake"])
def test_a_first_import_in_a_mode_of_torch_spoils_no_later_one(run_isolated, mode):
    """Tensors of a self-test are others there; the process would do without it from then on."""
    if ix.core_name != "native":
        pytest.skip("the ctypes core holds what torch's own capsules hold")
    assert run_isolated(f"MODE = {mode!r}\n{IN_A_MODE}", warnings="ignore").split() == ["True"]
