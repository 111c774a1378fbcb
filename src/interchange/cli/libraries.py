"""The libraries of the matrix: one row per kind of array, in the order of the table.

Source: `interchange.cli.arrays`, which says how each is made and looked at.
"""

from __future__ import annotations

import ctypes
from typing import Final

from . import arrays
from .subjects import Look, Subject

DTYPES: Final = (
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float8_e4m3fn",
    "float8_e5m2",
    "bfloat16",
    "float16",
    "float32",
    "float64",
    "complex64",
    "complex128",
)
"""Element types that ``--dtype`` takes."""
_NUMPY: Final = Look(
    arrays.numpy_address, lambda x: x.tolist(), arrays.last_word, arrays.numpy_readonly
)
_BUFFER: Final = Look(
    arrays.address_of_buffer, arrays.buffer_values, arrays.buffer_dtype, arrays.buffer_readonly
)

_CTYPES: Final = Look(
    address=ctypes.addressof,
    values=list,
    dtype=lambda x: arrays.C_NAMES[type(x)._type_],
    readonly=arrays.buffer_readonly,
)

SUBJECTS: Final[tuple[Subject, ...]] = (
    Subject(
        "NumPy",
        library="numpy",
        module="numpy",
        distribution="numpy",
        make=arrays.make_numpy,
        look=_NUMPY,
        target="numpy",
        short="NumPy",
        imports_dlpack="from_dlpack",
    ),
    Subject(
        "NumPy read-only",
        library="numpy",
        module="numpy",
        distribution="numpy",
        make=arrays.make_numpy_readonly,
        look=_NUMPY,
        is_variant=True,
    ),
    Subject(
        "NumPy ml_dtypes",
        library="ml_dtypes",
        module="ml_dtypes",
        distribution="ml_dtypes",
        make=arrays.make_ml_dtypes,
        look=_NUMPY,
        picks=arrays.ml_dtypes_or_bfloat16,
    ),
    Subject(
        "array-api-strict",
        library="array_api_strict",
        module="array_api_strict",
        distribution="array-api-strict",
        make=arrays.make_strict,
        look=Look(
            address=lambda x: arrays.numpy_address(arrays.strict_view(x)),
            values=lambda x: arrays.strict_view(x).tolist(),
            dtype=arrays.last_word,
            readonly=lambda x: arrays.numpy_readonly(arrays.strict_view(x)),
        ),
        target="array_api_strict",
        short="strict",
        imports_dlpack="from_dlpack",
    ),
    Subject(
        "PyTorch",
        library="torch",
        module="torch",
        distribution="torch",
        make=arrays.make_torch,
        look=Look(
            address=lambda x: x.data_ptr(),
            values=lambda x: x.tolist(),
            dtype=arrays.last_word,
            readonly=arrays.silent,
        ),
        target="torch",
        short="torch",
        imports_dlpack="from_dlpack",
    ),
    Subject(
        "JAX",
        library="jax",
        module="jax",
        distribution="jax",
        make=arrays.make_jax,
        look=Look(
            address=lambda x: x.unsafe_buffer_pointer(),
            values=arrays.jax_values,
            dtype=arrays.last_word,
            readonly=arrays.always,
        ),
        target="jax",
        short="JAX",
        imports_dlpack="dlpack.from_dlpack",
        environment=(("JAX_PLATFORMS", "cpu"),),
    ),
    Subject(
        "pyarrow.Array",
        library="pyarrow",
        module="pyarrow",
        distribution="pyarrow",
        make=arrays.make_arrow_array,
        look=Look(
            address=lambda x: x.buffers()[1].address,
            values=lambda x: x.to_pylist(),
            dtype=arrays.arrow_dtype,
            readonly=arrays.always,
        ),
        target="pyarrow.Array",
        short="pa.\nArray",
        imports_dlpack="Array.from_dlpack",
    ),
    Subject(
        "pyarrow.Tensor",
        library="pyarrow",
        module="pyarrow",
        distribution="pyarrow",
        make=arrays.make_tensor,
        look=Look(
            address=lambda x: arrays.numpy_address(x.to_numpy()),
            values=lambda x: x.to_numpy().tolist(),
            dtype=arrays.arrow_dtype,
            readonly=lambda x: not x.is_mutable,
        ),
        target="pyarrow",
        short="pa.\nTensor",
        imports_dlpack="Tensor.from_dlpack",
    ),
    Subject(
        "tvm-ffi",
        library="tvm_ffi",
        module="tvm_ffi",
        distribution="apache-tvm-ffi",
        make=arrays.make_tvm_ffi,
        look=Look(
            address=lambda x: x.data_ptr(),
            values=lambda x: arrays.peek(x.data_ptr(), x),
            dtype=arrays.last_word,
            readonly=arrays.silent,
        ),
        target="tvm_ffi",
        short="tvm",
        imports_dlpack="from_dlpack",
    ),
    Subject(
        "cuda.core",
        library="cuda.core",
        module="cuda.core.utils",
        distribution="cuda-core",
        make=arrays.make_strided_view,
        look=Look(
            address=lambda x: x.ptr,
            values=lambda x: arrays.peek(x.ptr, x),
            dtype=arrays.last_word,
            readonly=lambda x: x.readonly,
        ),
        target="cuda.core",
        short="cuda",
        imports_dlpack="StridedMemoryView.from_dlpack",
    ),
    Subject(
        "Warp",
        library="warp",
        module="warp",
        distribution="warp-lang",
        make=arrays.make_warp,
        look=Look(
            address=lambda x: x.ptr,
            values=lambda x: x.numpy().tolist(),
            dtype=lambda x: x.dtype.__name__,
            readonly=lambda x: x.__array_interface__["data"][1],
        ),
        target="warp",
        short="Warp",
        imports_dlpack="from_dlpack",
        hush=arrays.hush_warp,
    ),
    Subject(
        "MLX",
        library="mlx",
        module="mlx.core",
        distribution="mlx",
        make=arrays.make_mlx,
        look=Look(
            arrays.address_of_buffer, lambda x: x.tolist(), arrays.last_word, arrays.buffer_readonly
        ),
        target="mlx",
        short="MLX",
        imports_dlpack="from_dlpack",
    ),
    Subject(
        "memoryview",
        library="stdlib",
        module="builtins",
        distribution=None,
        make=arrays.make_memoryview,
        look=_BUFFER,
        target="memoryview",
        short="memory\nview",
    ),
    Subject(
        "bytes",
        library="stdlib",
        module="builtins",
        distribution=None,
        make=arrays.make_bytes,
        look=_BUFFER,
        picks=arrays.uint8,
    ),
    Subject(
        "bytearray",
        library="stdlib",
        module="builtins",
        distribution=None,
        make=arrays.make_bytearray,
        look=_BUFFER,
        picks=arrays.uint8,
    ),
    Subject(
        "array.array",
        library="stdlib",
        module="array",
        distribution=None,
        make=arrays.make_array,
        look=_BUFFER,
    ),
    Subject(
        "ctypes array",
        library="stdlib",
        module="ctypes",
        distribution=None,
        make=arrays.make_ctypes,
        look=_CTYPES,
    ),
    Subject(
        "interchange",
        library="interchange",
        module="interchange",
        distribution="array-interchange",
        make=arrays.make_interchange,
        look=Look(
            address=lambda x: x.ptr,
            values=lambda x: x.tolist(),
            dtype=lambda x: x.dtype.name,
            readonly=lambda x: x.readonly is not False,  # not known is as good as read-only
        ),
        target="interchange",
        short="inter-\nchange",
        imports_dlpack="from_dlpack",
    ),
)
"""Every kind of array, in the order of the table."""
