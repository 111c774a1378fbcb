"""How device arrays of each library are made and looked at: what the rows of the table refer to.

Source: the libraries' own documentation, and what they did when they were run.  Samples are filled
on one stream and taken for another; what a library cannot say of its stream is waited for here.
"""

from __future__ import annotations

import ctypes
import importlib
from typing import TYPE_CHECKING, Any

import interchange

from .arrays import EXTENDED
from .cuda_driver import open_cuda

if TYPE_CHECKING:
    from .cuda_driver import Block


def numpy_dtype(name: str) -> Any:
    """Return the dtype of NumPy or ml_dtypes with a name."""
    import numpy as np

    if name in EXTENDED:
        return np.dtype(getattr(importlib.import_module("ml_dtypes"), name))
    return np.dtype(name)


def host_array(dtype: str, values: list[Any]) -> Any:
    """Return an array of NumPy's with the elements of a sample."""
    import numpy as np

    return np.array(values, numpy_dtype(dtype))


def upload(dtype: str, values: list[Any]) -> Block:
    """Return device memory that is being filled with the elements of a sample."""
    return open_cuda().upload(host_array(dtype, values).tobytes())


def read(address: int, x: Any) -> list[Any]:
    """Return the elements of an object that only describes them: shape, strides, dtype."""
    import numpy as np

    dtype = numpy_dtype(str(x.dtype).rpartition(".")[2])
    (length,), (step,) = x.shape, x.strides or (1,)
    span = open_cuda().download(address, ((length - 1) * step + 1) * dtype.itemsize)
    elements = np.ndarray((length,), dtype, span, 0, (step * dtype.itemsize,))
    return list(elements.tolist())


# ---------------------------------------------------------------- interchange, cuda.bindings


def make_interchange(module: Any, dtype: str, values: list[Any]) -> Any:
    """Make an Array over memory of interchange's own."""
    return module.asarray(host_array(dtype, values)).to_device("cuda:0")


def make_pointer(_: Any, dtype: str, values: list[Any]) -> Any:
    """Describe raw memory on which a copy is pending on a raw stream."""
    block = upload(dtype, values)
    return interchange.from_pointer(
        block.ptr,
        (len(values),),
        dtype,
        device="cuda:0",
        owner=block,
        stream=open_cuda().producer,
    )


# ---------------------------------------------------------------- cuda.core


def make_buffer(module: Any, _: str, values: list[Any]) -> Any:
    """Make a buffer of cuda.core, which knows of bytes, and of no stream."""
    data = host_array("int8", values).tobytes()
    device = module.Device(0)
    device.set_current()
    stream = device.create_stream()
    buffer = device.allocate(len(data), stream=stream)
    staging = module.LegacyPinnedMemoryResource().allocate(len(data), stream=stream)
    ctypes.memmove(int(staging.handle), data, len(data))
    buffer.copy_from(staging, stream=stream)
    stream.sync()
    return buffer


def make_view(module: Any, dtype: str, values: list[Any], *, readonly: bool = False) -> Any:
    """Make a view of cuda.core over a buffer, which knows of no stream."""
    block = upload(dtype, values)
    driver, elements = open_cuda(), numpy_dtype(dtype)
    driver.call("cuStreamSynchronize", driver.producer)
    buffer = module.Buffer.from_handle(block.ptr, len(values) * elements.itemsize, owner=block)
    utils = importlib.import_module("cuda.core.utils")
    return utils.StridedMemoryView.from_buffer(
        buffer, (len(values),), dtype=elements, is_readonly=readonly
    )


def make_view_readonly(module: Any, dtype: str, values: list[Any]) -> Any:
    """Make a view of cuda.core that says that it must not be written."""
    return make_view(module, dtype, values, readonly=True)


def int8(_: object) -> str:
    """Return what a buffer's bytes are, whatever was asked for."""
    return "int8"


# ---------------------------------------------------------------- Numba, tvm-ffi


def make_numba(module: Any, dtype: str, values: list[Any]) -> Any:
    """Make an array of Numba that publishes the stream that it is filled on."""
    stream, host = module.external_stream(open_cuda().producer), host_array(dtype, values)
    if dtype not in EXTENDED:
        return module.to_device(host, stream=stream)
    bits = host.view(f"u{host.itemsize}")  # since Numba uploads no other elements
    return module.to_device(bits, stream=stream).view(host.dtype)


def numba_values(x: Any) -> list[Any]:
    """Return the elements of an array of Numba, copied on its own stream."""
    found = x.copy_to_host()
    if x.stream:
        x.stream.synchronize()
    return list(found.tolist())


def make_tvm_ffi(module: Any, dtype: str, values: list[Any]) -> Any:
    """Make a tensor of tvm-ffi over raw memory."""
    array = make_pointer(module, dtype, values)
    driver = open_cuda()
    driver.call("cuStreamSynchronize", driver.producer)
    return module.from_dlpack(array)


# ---------------------------------------------------------------- CuPy, PyTorch, JAX


def make_cupy(module: Any, dtype: str, values: list[Any]) -> Any:
    """Make an array of CuPy."""
    return module.array(values, dtype=numpy_dtype(dtype))


def make_torch(module: Any, dtype: str, values: list[Any]) -> Any:
    """Make a tensor of PyTorch."""
    return module.tensor(values, dtype=getattr(module, dtype), device="cuda")


def make_jax(module: Any, dtype: str, values: list[Any]) -> Any:
    """Make an array of JAX."""
    return module.numpy.array(values, dtype=dtype, device=module.devices("gpu")[0])


def cupy_lacks(module: Any) -> str | None:
    """Return why CuPy is of no use here, or None."""
    return None if module.cuda.is_available() else "finds no GPU"


def torch_lacks(module: Any) -> str | None:
    """Return why PyTorch is of no use here, or None."""
    if not module.backends.cuda.is_built():
        return "built without CUDA"
    return None if module.cuda.is_available() else "finds no GPU"


def jax_lacks(module: Any) -> str | None:
    """Return why JAX is of no use here, or None."""
    try:
        module.devices("gpu")
    except RuntimeError:
        return "finds no GPU"
    return None
