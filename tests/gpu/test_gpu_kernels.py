"""Kernels on a GPU over arrays of other libraries, on non-default streams.

A gate holds one stream, so that a missing wait is detected whatever the timing.
"""

from __future__ import annotations

import numpy as np
import pytest

import interchange as ix

pytest.importorskip("llvmlite")

from interchange import cuda
from interchange_conformance.emucuda.gates import Gate

from .test_gpu_libraries import COUNT, LIBRARIES, _warm_up

pytestmark = pytest.mark.gpu

GRID, BLOCK = COUNT // 256, 256


@cuda.jit
def copy_into(x, out):
    i = cuda.grid(1)
    if i < x.shape[0]:
        out[i] = x[i]


@cuda.jit
def put(x, value):
    i = cuda.grid(1)
    if i < x.shape[0]:
        x[i] = value


@pytest.fixture(params=LIBRARIES)
def library(request, cuda_driver):
    """Return a library that is loaded and warmed up, or skip the test with the reason."""
    assert cuda_driver == "real"
    found = LIBRARIES[request.param]()
    _warm_up(found)
    x = found.zeros()
    put[GRID, BLOCK](x, 1.0)
    copy_into[GRID, BLOCK](x, cuda.device_array(COUNT, "f4"))
    cuda.synchronize()
    return found


def test_a_kernel_waits_for_the_stream_of_a_library(library):
    """The kernel runs after the library's write."""
    producer, handle = library.stream()
    x, stream = library.zeros(), cuda.stream()
    out = cuda.device_array(COUNT, "f4", stream=stream)
    with Gate(handle), library.on(producer):
        library.fill(x, 7)
        copy_into[GRID, BLOCK, stream](x, out)

    assert set(np.asarray(out.to_device("cpu")).tolist()) == {7.0}


def test_the_stream_of_a_library_waits_for_a_kernel(library):
    """The library's read runs after the kernel, and the host does not wait for either."""
    producer, _ = library.stream()
    x, stream = library.zeros(), cuda.stream()
    with Gate(stream), library.on(producer):
        put[GRID, BLOCK, stream](x, 9.0)
        copied = library.copy(x)

    assert library.values(copied) == {9.0}


def test_on_one_stream_nothing_waits(library):
    """The kernel runs between a library's write and its read."""
    producer, handle = library.stream()
    x, out = library.zeros(), library.zeros()
    with Gate(handle), library.on(producer):
        library.fill(x, 5)
        copy_into[GRID, BLOCK, producer](x, out)
        library.fill(x, 6)
        copied = library.copy(out)

    assert library.values(copied) == {5.0}


def test_a_tensor_that_is_lazily_conjugated_is_not_read_as_it_is():
    """The exchange table does not have this bit; the tensor is refused, or resolved."""
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("this PyTorch finds no CUDA device")
    x = torch.full((4,), 1 + 2j, dtype=torch.complex64, device="cuda")
    out = cuda.device_array(4, "complex64")
    for _ in range(2):
        with pytest.raises((BufferError, RuntimeError)):
            copy_into[1, 4](x.conj(), out)
        copy_into[1, 4](x, out)

    assert np.asarray(out.to_device("cpu")).tolist() == [1 + 2j] * 4


def test_a_tensor_with_a_gradient_is_refused_as_torch_refuses_it():
    """A kernel does not record gradients."""
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("this PyTorch finds no CUDA device")
    with pytest.raises((BufferError, RuntimeError)):
        put[1, 4](torch.zeros(4, device="cuda", requires_grad=True), 1.0)


def test_arrays_of_jax_are_read():
    """Arrays of JAX are never written."""
    jax = pytest.importorskip("jax")
    try:
        device = jax.devices("gpu")[0]
    except RuntimeError as error:
        pytest.skip(f"JAX finds no CUDA device: {str(error).splitlines()[0]}")
    x = jax.device_put(jax.numpy.full((64,), 7.0, "float32"), device)
    out = cuda.device_array(64, "f4")
    copy_into[1, 64](x, out)

    assert set(np.asarray(out.to_device("cpu")).tolist()) == {7.0}
    with pytest.raises(ix.ReadOnlyError):
        put[1, 64](x, 1.0)
