"""The libraries of the matrix: one row per kind of array, in the order of the table.

Source: the libraries' own documentation, and what they did when they were run.
"""

from __future__ import annotations

import ctypes
from typing import Any, Final

from interchange.abi import buffer_address

from .subjects import Subject, without_lines

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
_EXTENDED: Final = frozenset({"bfloat16", "float8_e4m3fn", "float8_e5m2"})


# ---------------------------------------------------------------- shared


def _last_word(x: Any) -> str:
    """Return the element type of a library whose dtypes print as ``library.float32``."""
    return str(x.dtype).rpartition(".")[2]


def _silent(_: Any) -> None:
    """Return None: the library cannot say whether memory may be written."""


def _peek(address: int, x: Any) -> list[Any]:
    """Read the elements of an object that only describes them: shape, strides, dtype."""
    import ml_dtypes
    import numpy as np

    dtype = np.dtype(getattr(ml_dtypes, str(x.dtype), str(x.dtype)))
    (length,), (step,) = x.shape, x.strides
    span = (ctypes.c_char * ((length - 1) * step * dtype.itemsize + dtype.itemsize))
    elements = np.ndarray((length,), dtype, span.from_address(address), 0, (step * dtype.itemsize,))
    return list(elements.tolist())


# ---------------------------------------------------------------- NumPy and its kin


def _make_numpy(module: Any, dtype: str, values: list[Any]) -> Any:
    if dtype in _EXTENDED:
        raise TypeError("ml_dtypes has it, see there")
    return module.array(values, dtype)


def _make_numpy_readonly(module: Any, dtype: str, values: list[Any]) -> Any:
    x = _make_numpy(module, dtype, values)
    x.flags.writeable = False
    return x


def _make_ml_dtypes(module: Any, dtype: str, values: list[Any]) -> Any:
    import numpy as np

    return np.array(values, getattr(module, dtype))


def _numpy_address(x: Any) -> int:
    return int(x.ctypes.data)


def _numpy_readonly(x: Any) -> bool:
    return not x.flags.writeable


def _make_strict(module: Any, dtype: str, values: list[Any]) -> Any:
    return module.asarray(values, dtype=getattr(module, dtype))


def _strict_view(x: Any) -> Any:
    import numpy as np

    return np.asarray(x)


# ---------------------------------------------------------------- PyTorch, JAX, MLX, Warp


def _make_torch(module: Any, dtype: str, values: list[Any]) -> Any:
    return module.tensor(values, dtype=getattr(module, dtype), device="cpu")


def _make_jax(module: Any, dtype: str, values: list[Any]) -> Any:
    return module.numpy.array(values, dtype=dtype, device=module.devices("cpu")[0])


def _jax_values(x: Any) -> list[Any]:
    import numpy as np

    return list(np.asarray(x).tolist())


def _make_mlx(module: Any, dtype: str, values: list[Any]) -> Any:
    x = module.array(values, dtype=getattr(module, "bool_" if dtype == "bool" else dtype))
    module.eval(x)
    return x


def _hush_warp(module: Any) -> None:
    if hasattr(module, "LOG_ERROR"):
        module.config.log_level = module.LOG_ERROR
    else:
        module.config.quiet = True
    with without_lines("NVIDIA CUDA driver"):  # native code says so wherever there is no GPU
        module.init()


def _make_warp(module: Any, dtype: str, values: list[Any]) -> Any:
    return module.array(values, dtype=getattr(module, dtype), device="cpu")


# ---------------------------------------------------------------- Arrow, TVM, CUDA


def _make_arrow_array(module: Any, dtype: str, values: list[Any]) -> Any:
    import numpy as np

    if dtype == "bool":
        raise TypeError("Arrow packs bool into bits")
    return module.array(np.array(values, dtype), module.from_numpy_dtype(dtype))


def _arrow_dtype(x: Any) -> str:
    return str(x.type.to_pandas_dtype().__name__)


def _make_tensor(module: Any, dtype: str, values: list[Any]) -> Any:
    import numpy as np

    return module.Tensor.from_numpy(np.array(values, dtype))


def _make_tvm_ffi(module: Any, dtype: str, values: list[Any]) -> Any:
    return module.from_dlpack(_numpy_like(dtype, values))


def _make_strided_view(module: Any, dtype: str, values: list[Any]) -> Any:
    return module.StridedMemoryView.from_dlpack(_numpy_like(dtype, values), stream_ptr=-1)


def _numpy_like(dtype: str, values: list[Any]) -> Any:
    """Return an array of NumPy for libraries that allocate none themselves."""
    import numpy as np

    return np.array(values, dtype)


# ---------------------------------------------------------------- the standard library

_CODES: Final = {
    "int8": "b",
    "uint8": "B",
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "uint32": "I",
    "int64": "q",
    "uint64": "Q",
    "float16": "e",
    "float32": "f",
    "float64": "d",
    "bool": "?",
}
_NAMES: Final = {code: name for name, code in _CODES.items()}
_C_TYPES: Final = {
    "bool": ctypes.c_bool,
    "int8": ctypes.c_int8,
    "int16": ctypes.c_int16,
    "int32": ctypes.c_int32,
    "int64": ctypes.c_int64,
    "uint8": ctypes.c_uint8,
    "uint16": ctypes.c_uint16,
    "uint32": ctypes.c_uint32,
    "uint64": ctypes.c_uint64,
    "float32": ctypes.c_float,
    "float64": ctypes.c_double,
}
_C_NAMES: Final = {ctype: name for name, ctype in _C_TYPES.items()}


def _uint8(_: str) -> str:
    """Return what bytes are, whatever was asked for."""
    return "uint8"


def _buffer_address(x: Any) -> int:
    return buffer_address(memoryview(x))


def _buffer_dtype(x: Any) -> str:
    return _NAMES[memoryview(x).format]


def _buffer_readonly(x: Any) -> bool:
    return memoryview(x).readonly


def _make_array(module: Any, dtype: str, values: list[Any]) -> Any:
    return module.array(_known(_CODES, dtype), values)


def _make_memoryview(_: Any, dtype: str, values: list[Any]) -> Any:
    import struct

    code = _known(_CODES, dtype)
    return memoryview(bytearray(struct.pack(f"{len(values)}{code}", *values))).cast(code)


def _make_ctypes(_: Any, dtype: str, values: list[Any]) -> Any:
    return (_known(_C_TYPES, dtype) * len(values))(*values)


def _known(table: dict[str, Any], dtype: str) -> Any:
    """Return a type's entry, or say that there is none."""
    if dtype not in table:
        raise TypeError("it has no such type")
    return table[dtype]


def _make_bytes(_: Any, __: str, values: list[Any]) -> bytes:
    return bytes(values)


def _make_bytearray(_: Any, __: str, values: list[Any]) -> bytearray:
    return bytearray(values)


# ---------------------------------------------------------------- interchange itself


def _make_interchange(module: Any, dtype: str, values: list[Any]) -> Any:
    if dtype in _EXTENDED:
        import ml_dtypes

        return module.asarray(_make_ml_dtypes(ml_dtypes, dtype, values)).copy()
    return module.asarray(_numpy_like(dtype, values)).copy()


def _ml_dtypes_or_bfloat16(wanted: str) -> str:
    """Return the wanted type where ml_dtypes has it, else the one that it is mostly used for."""
    return wanted if wanted in _EXTENDED else "bfloat16"


# ---------------------------------------------------------------- the table

_NUMPY: Final = {
    "address": _numpy_address,
    "values": lambda x: x.tolist(),
    "dtype": _last_word,
    "readonly": _numpy_readonly,
}
_BUFFER: Final = {
    "address": _buffer_address,
    "values": list,
    "dtype": _buffer_dtype,
    "readonly": _buffer_readonly,
}

SUBJECTS: Final[tuple[Subject, ...]] = (
    Subject(
        "NumPy",
        "numpy",
        "NumPy",
        "numpy",
        "numpy",
        make=_make_numpy,
        target="numpy",
        imports_dlpack="from_dlpack",
        **_NUMPY,
    ),
    Subject(
        "NumPy, read-only",
        "numpy",
        "",
        "numpy",
        "numpy",
        make=_make_numpy_readonly,
        imports_dlpack="from_dlpack",
        **_NUMPY,
    ),
    Subject(
        "NumPy, ml_dtypes",
        "ml_dtypes",
        "",
        "ml_dtypes",
        "ml_dtypes",
        make=_make_ml_dtypes,
        picks=_ml_dtypes_or_bfloat16,
        **_NUMPY,
    ),
    Subject(
        "array-api-strict",
        "array_api_strict",
        "strict",
        "array_api_strict",
        "array-api-strict",
        make=_make_strict,
        address=lambda x: _numpy_address(_strict_view(x)),
        values=lambda x: _strict_view(x).tolist(),
        dtype=_last_word,
        readonly=lambda x: _numpy_readonly(_strict_view(x)),
        target="array_api_strict",
        imports_dlpack="from_dlpack",
    ),
    Subject(
        "PyTorch",
        "torch",
        "torch",
        "torch",
        "torch",
        make=_make_torch,
        address=lambda x: x.data_ptr(),
        values=lambda x: x.tolist(),
        dtype=_last_word,
        readonly=_silent,
        target="torch",
        imports_dlpack="from_dlpack",
    ),
    Subject(
        "JAX",
        "jax",
        "JAX",
        "jax",
        "jax",
        make=_make_jax,
        address=lambda x: x.unsafe_buffer_pointer(),
        values=_jax_values,
        dtype=_last_word,
        readonly=lambda _: True,
        target="jax",
        imports_dlpack="dlpack.from_dlpack",
        environment=(("JAX_PLATFORMS", "cpu"),),
    ),
    Subject(
        "pyarrow.Array",
        "pyarrow",
        "pa.\nArray",
        "pyarrow",
        "pyarrow",
        make=_make_arrow_array,
        address=lambda x: x.buffers()[1].address,
        values=lambda x: x.to_pylist(),
        dtype=_arrow_dtype,
        readonly=lambda _: True,
        target="pyarrow.Array",
        imports_dlpack="Array.from_dlpack",
    ),
    Subject(
        "pyarrow.Tensor",
        "pyarrow",
        "pa.\nTensor",
        "pyarrow",
        "pyarrow",
        make=_make_tensor,
        address=lambda x: _numpy_address(x.to_numpy()),
        values=lambda x: x.to_numpy().tolist(),
        dtype=_arrow_dtype,
        readonly=lambda x: not x.is_mutable,
        target="pyarrow",
        imports_dlpack="Tensor.from_dlpack",
    ),
    Subject(
        "tvm-ffi",
        "tvm_ffi",
        "tvm",
        "tvm_ffi",
        "apache-tvm-ffi",
        make=_make_tvm_ffi,
        address=lambda x: x.data_ptr(),
        values=lambda x: _peek(x.data_ptr(), x),
        dtype=_last_word,
        readonly=_silent,
        target="tvm_ffi",
        imports_dlpack="from_dlpack",
    ),
    Subject(
        "cuda.core",
        "cuda.core",
        "cuda",
        "cuda.core.utils",
        "cuda-core",
        make=_make_strided_view,
        address=lambda x: x.ptr,
        values=lambda x: _peek(x.ptr, x),
        dtype=_last_word,
        readonly=lambda x: x.readonly,
        target="cuda.core",
        imports_dlpack="StridedMemoryView.from_dlpack",
    ),
    Subject(
        "Warp",
        "warp",
        "Warp",
        "warp",
        "warp-lang",
        make=_make_warp,
        address=lambda x: x.ptr,
        values=lambda x: x.numpy().tolist(),
        dtype=lambda x: x.dtype.__name__,
        readonly=lambda x: x.__array_interface__["data"][1],
        target="warp",
        imports_dlpack="from_dlpack",
        hush=_hush_warp,
    ),
    Subject(
        "MLX",
        "mlx",
        "MLX",
        "mlx.core",
        "mlx",
        make=_make_mlx,
        address=_buffer_address,
        values=lambda x: x.tolist(),
        dtype=_last_word,
        readonly=_buffer_readonly,
        target="mlx",
        imports_dlpack="from_dlpack",
    ),
    Subject(
        "memoryview",
        "stdlib",
        "memory\nview",
        "builtins",
        None,
        make=_make_memoryview,
        target="memoryview",
        **_BUFFER,
    ),
    Subject(
        "bytes", "stdlib", "", "builtins", None, make=_make_bytes, picks=_uint8, **_BUFFER
    ),
    Subject(
        "bytearray", "stdlib", "", "builtins", None, make=_make_bytearray, picks=_uint8, **_BUFFER
    ),
    Subject("array.array", "stdlib", "", "array", None, make=_make_array, **_BUFFER),
    Subject(
        "ctypes array",
        "stdlib",
        "",
        "ctypes",
        None,
        make=_make_ctypes,
        address=ctypes.addressof,
        values=list,
        dtype=lambda x: _C_NAMES[type(x)._type_],
        readonly=_buffer_readonly,
    ),
    Subject(
        "interchange",
        "interchange",
        "inter-\nchange",
        "interchange",
        "array-interchange",
        make=_make_interchange,
        address=lambda x: x.ptr,
        values=lambda x: x.tolist(),
        dtype=lambda x: x.dtype.name,
        readonly=lambda x: x.readonly,
        target="interchange",
        imports_dlpack="from_dlpack",
    ),
)
"""Every kind of array, in the order of the table."""


def libraries() -> list[str]:
    """Return what ``--only`` takes."""
    return list(dict.fromkeys(subject.library for subject in SUBJECTS))
