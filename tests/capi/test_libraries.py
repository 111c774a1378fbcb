"""`interchange_view` of other libraries' arrays has the values that they report in Python."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import interchange as ix

pytestmark = pytest.mark.interop

CODES = {"b": 6, "i": 0, "u": 1, "f": 2, "c": 5}


@pytest.fixture
def torch(need):
    """Return torch."""
    need("torch")
    import torch

    return torch


LAYOUTS = {
    "block": lambda x: x,
    "transposed": lambda x: x.mT,
    "sliced": lambda x: x[1:, :, ::2],
    "scalar": lambda x: x[0, 0, 0],
    "expanded": lambda x: x[:1].expand(5, 3, 4),
    "empty": lambda x: x[:, :0],
    "9-axes": lambda x: x.reshape(1, 2, 1, 3, 1, 4, 1, 1, 1),
    "unsqueezed": lambda x: x[:, None],
}
DTYPES = (
    *("bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
)


def told_by_torch(x):
    """Return the fields of a view, from a tensor's attributes in Python."""
    plain = x.numpy().dtype
    return {
        "ptr": x.data_ptr(),
        "shape": tuple(x.shape),
        "strides": x.stride(),
        "itemsize": x.element_size(),
        "dtype": (CODES[plain.kind], 8 * plain.itemsize, 1),
        "device": (1, 0),
        "byte_offset": 0,
        "flags": 0,
        "stream": None,
    }


def without_free_strides(fields):
    """Return fields without the strides of axes that have one element, or of no elements."""
    shape = fields["shape"]
    steps = zip(shape, fields["strides"], strict=True)
    kept = tuple(step if extent > 1 and 0 not in shape else None for extent, step in steps)
    return {**fields, "strides": kept}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_tensors_of_torch(c_api, torch, dtype, layout):
    """Tensors of every element type that NumPy has, in every layout, have the right view."""
    x = LAYOUTS[layout](torch.zeros(2, 3, 4, dtype=getattr(torch, dtype)))
    expected = without_free_strides(told_by_torch(x))

    assert [without_free_strides(c_api.fields(x)) for _ in range(3)] == 3 * [expected]


def test_bfloat16_of_torch(c_api, torch):
    """A type that NumPy has not."""
    found = c_api.fields(torch.zeros(3, dtype=torch.bfloat16))

    assert (found["dtype"], found["itemsize"]) == ((4, 16, 1), 2)


def test_tensors_are_read_by_torchs_own_functions(c_api, torch):
    """torch's C getters are used on this tested release, without calling Python."""
    from interchange._core._native import _extension, _torch_fields

    x = torch.arange(6.0).reshape(2, 3)
    c_api.fields(x)

    assert _torch_fields.functions_are_right(_extension)
    assert _extension.fields_of_tensor(x) == (x.data_ptr(), (2, 3), (3, 1), (2, 32, 1), (1, 0))


REFUSED = {
    "leaf": (lambda torch: torch.ones(3, requires_grad=True), BufferError),
    "computed": (lambda torch: torch.ones(3, requires_grad=True) * 2, BufferError),
    "conjugate": (lambda torch: torch.ones(3, dtype=torch.complex64).conj(), BufferError),
    "negative": (lambda torch: torch.ones(3, dtype=torch.complex64).conj().imag, BufferError),
    "sparse": (lambda torch: torch.ones(3).to_sparse(), BufferError),
    "meta": (lambda torch: torch.ones(3, device="meta"), Exception),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_tensors_that_mean_something_else_are_refused(c_api, torch, kind):
    """Lazy tensors are refused, at the first call and after the type is known."""
    make, error = REFUSED[kind]
    c_api.fields(torch.ones(3))
    x = make(torch)
    for _ in range(2):
        with pytest.raises(error):
            c_api.fill(x)


def test_a_detached_tensor_is_taken(c_api, torch):
    """A detached tensor shares the memory, and has no gradient."""
    x = torch.ones(3, requires_grad=True)

    assert c_api.fields(x.detach())["ptr"] == x.data_ptr()


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("axes", [1, 9])
def test_the_memory_of_a_tensor_lives_as_long_as_its_view(c_api, torch, axes, swapped):
    """The view keeps a tensor's memory, also if the tensor gets another implementation."""
    block = np.ones((3,) * axes)
    x, other = torch.from_numpy(block), torch.zeros(2)
    alive = weakref.ref(block)
    view = c_api.fill(x)
    if swapped:
        torch.utils.swap_tensors(x, other)
    del x, other, block
    gc.collect()
    was_kept = alive() is not None
    c_api.release(view)

    assert (was_kept, alive()) == (True, None)


@pytest.mark.parametrize("axes", [1, 9])
def test_a_view_of_a_tensor_of_another_class_keeps_its_memory(c_api, torch, axes):
    """A view of a subclass keeps the implementation, by the struct of torch's table."""
    block = np.ones((3,) * axes)
    x = torch.from_numpy(block).as_subclass(type("Named", (torch.Tensor,), {}))
    alive = weakref.ref(block)
    c_api.fields(x)
    view = c_api.fill(x)
    del x, block
    gc.collect()
    was_kept = alive() is not None
    c_api.release(view)

    assert (was_kept, alive()) == (True, None)


def test_a_subclass_of_a_tensor_goes_the_ordinary_way(c_api, torch):
    """A subclass may override methods, so Python is called."""
    x = torch.nn.Parameter(torch.ones(3), requires_grad=False)

    assert c_api.fields(x)["shape"] == (3,)


def make_jax():
    """Return an array of JAX."""
    import jax

    return jax.numpy.arange(6, dtype="int32").reshape(2, 3)


def make_tvm_ffi():
    """Return a tensor of tvm-ffi."""
    import tvm_ffi

    return tvm_ffi.from_dlpack(np.arange(6, dtype="int32").reshape(2, 3))


def make_cuda_core():
    """Return a view of cuda.core over memory of the host."""
    from cuda.core.utils import StridedMemoryView

    return StridedMemoryView.from_dlpack(np.arange(6, dtype="int32").reshape(2, 3), stream_ptr=-1)


def make_pyarrow():
    """Return an array of Arrow."""
    import pyarrow as pa

    return pa.array(np.arange(6, dtype="int32"))


MAKERS = {
    "jax": (make_jax, True),
    "tvm_ffi": (make_tvm_ffi, None),
    "cuda.core": (make_cuda_core, None),
    "pyarrow": (make_pyarrow, True),
}


@pytest.mark.parametrize("library", MAKERS)
def test_arrays_of_others_have_the_values_of_asarray(c_api, need, library):
    """Other arrays give the view of `asarray`, at the first call and after the type is known."""
    need(library)
    make, readonly = MAKERS[library]
    x = make()
    array = ix.asarray(x)
    found = [c_api.fields(x) for _ in range(3)]

    assert {(each["ptr"], each["shape"], each["strides"], each["dtype"]) for each in found} == {
        (array.ptr, array.shape, array.strides, (0, 32, 1))
    }
    told = {True: 1, False: 0, None: 2}[array.readonly]
    assert {each["flags"] & 3 for each in found} == {told}
    assert readonly in {None, array.readonly}


def test_ml_dtypes_are_reported(c_api, need):
    """ml_dtypes are reported by DLPack's codes."""
    need("ml_dtypes")
    import ml_dtypes

    found = [c_api.fields(np.zeros(3, ml_dtypes.bfloat16)) for _ in range(2)]

    assert {each["dtype"] for each in found} == {(4, 16, 1)}
