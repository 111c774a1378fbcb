"""How arrays of each library are made and looked at: what the rows of the table refer to.

Source: the libraries' own documentation, and what they did when they were run.
"""

from __future__ import annotations

import ctypes
import importlib
from typing import Any, Final

import interchange
from interchange.abi import buffer_address

from .subjects import without_lines

EXTENDED: Final = frozenset({"bfloat16", "float8_e4m3fn", "float8_e5m2"})
"""Element types that NumPy has from ml_dtypes."""


# ---------------------------------------------------------------- shared


def last_word(x: Any) -> str:
    """Return the element type of a library whose dtypes print as ``library.float32``."""
    return str(x.dtype).rpartition(".")[2]


def silent(_: Any) -> None:
    """Return None: the library cannot say whether memory may be written."""


def always(_: Any) -> bool:
    """Return True: arrays of the library are never written."""
    return True


def peek(address: int, x: Any) -> list[Any]:
    """Read the elements of an object that only describes them: shape, strides, dtype."""
    import numpy as np

    name = str(x.dtype)
    dtype = np.dtype(
        getattr(importlib.import_module("ml_dtypes"), name) if name in EXTENDED else name
    )
    (length,), (step,) = x.shape, x.strides
    span = ctypes.c_char * ((length - 1) * step * dtype.itemsize + dtype.itemsize)
    elements = np.ndarray((length,), dtype, span.from_address(address), 0, (step * dtype.itemsize,))
    return list(elements.tolist())


# ---------------------------------------------------------------- NumPy and its kin


def make_numpy(module: Any, dtype: str, values: list[Any]) -> Any:
    """Make an array of NumPy's own element types."""
    if dtype in EXTENDED:
        raise TypeError("ml_dtypes has it, see there")
    return module.array(values, dtype)


def make_numpy_readonly(module: Any, dtype: str, values: list[Any]) -> Any:
    """Make an array that refuses writes."""
    x = make_numpy(module, dtype, values)
    x.flags.writeable = False
    return x


def make_ml_dtypes(module: Any, dtype: str, values: list[Any]) -> Any:
    """Make an array of an element type that ml_dtypes adds to NumPy."""
    import numpy as np

    return np.array(values, getattr(module, dtype))


def numpy_address(x: Any) -> int:
    """Return the address of an ndarray."""
    return int(x.ctypes.data)


def numpy_readonly(x: Any) -> bool:
    """Return whether an ndarray refuses writes."""
    return not x.flags.writeable


def make_strict(module: Any, dtype: str, values: list[Any]) -> Any:
    """Make an array of array-api-strict."""
    return module.asarray(values, dtype=getattr(module, dtype))


def strict_view(x: Any) -> Any:
    """Return the ndarray within an array of array-api-strict."""
    import numpy as np

    return np.asarray(x)


# ---------------------------------------------------------------- PyTorch, JAX, MLX, Warp


def make_torch(module: Any, dtype: str, values: list[Any]) -> Any:
    """Make a tensor of PyTorch."""
    return module.tensor(values, dtype=getattr(module, dtype), device="cpu")


def make_jax(module: Any, dtype: str, values: list[Any]) -> Any:
    """Make an array of JAX on the host."""
    return module.numpy.array(values, dtype=dtype, device=module.devices("cpu")[0])


def jax_values(x: Any) -> list[Any]:
    """Return the elements of an array of JAX, which has no exact list of its own."""
    import numpy as np

    return list(np.asarray(x).tolist())


def make_mlx(module: Any, dtype: str, values: list[Any]) -> Any:
    """Make an array of MLX, which computes nothing before it is told to."""
    x = module.array(values, dtype=getattr(module, "bool_" if dtype == "bool" else dtype))
    module.eval(x)
    return x


def hush_warp(module: Any) -> None:
    """Start Warp without its banner."""
    if hasattr(module, "LOG_ERROR"):
        module.config.log_level = module.LOG_ERROR
    else:
        module.config.quiet = True
    # native code speaks of a missing driver, and of each function that one has not
    with without_lines("NVIDIA CUDA driver", "Warp CUDA error"):
        module.init()


def make_warp(module: Any, dtype: str, values: list[Any]) -> Any:
    """Make an array of Warp on the host."""
    return module.array(values, dtype=getattr(module, dtype), device="cpu")


# ---------------------------------------------------------------- Arrow, TVM, CUDA


def make_arrow_array(module: Any, dtype: str, values: list[Any]) -> Any:
    """Make an array of Arrow."""
    import numpy as np

    if dtype == "bool":
        raise TypeError("Arrow packs bool into bits")
    return module.array(np.array(values, dtype), module.from_numpy_dtype(dtype))


_ARROW_NAMES: Final = {"halffloat": "float16", "float": "float32", "double": "float64"}


def arrow_dtype(x: Any) -> str:
    """Return the element type of an array or tensor of Arrow."""
    return _ARROW_NAMES.get(str(x.type), str(x.type))


def make_tensor(module: Any, dtype: str, values: list[Any]) -> Any:
    """Make a tensor of Arrow over memory of NumPy's."""
    import numpy as np

    return module.Tensor.from_numpy(np.array(values, dtype))


def make_tvm_ffi(module: Any, dtype: str, values: list[Any]) -> Any:
    """Make a tensor of tvm-ffi over memory of NumPy's."""
    return module.from_dlpack(_numpy_like(dtype, values))


def make_strided_view(module: Any, dtype: str, values: list[Any]) -> Any:
    """Make a view of cuda.core over memory of NumPy's."""
    return module.StridedMemoryView.from_dlpack(_numpy_like(dtype, values), stream_ptr=-1)


def _numpy_like(dtype: str, values: list[Any]) -> Any:
    """Return an array of NumPy's for libraries that allocate none, able to say any type."""
    import numpy as np

    if dtype not in EXTENDED:
        return np.array(values, dtype)
    return interchange.asarray(make_ml_dtypes(importlib.import_module("ml_dtypes"), dtype, values))


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
C_NAMES: Final[dict[type[Any], str]] = {ctype: name for name, ctype in _C_TYPES.items()}


def uint8(_: str) -> str:
    """Return what bytes are, whatever was asked for."""
    return "uint8"


def bool_only(_: str) -> str:
    """Return what bools are, whatever was asked for."""
    return "bool"


def address_of_buffer(x: Any) -> int:
    """Return the address of a buffer."""
    return buffer_address(memoryview(x))


def buffer_dtype(x: Any) -> str:
    """Return the element type of a buffer."""
    return last_word(_buffer_view(x))


def buffer_values(x: Any) -> list[Any]:
    """Return the elements of a buffer."""
    return list(_buffer_view(x).tolist())


def _buffer_view(x: Any) -> Any:
    """Return what NumPy makes of a buffer, since a memoryview reads not every format."""
    import numpy as np

    return np.asarray(memoryview(x))


def buffer_readonly(x: Any) -> bool:
    """Return whether a buffer refuses writes."""
    return memoryview(x).readonly


def make_array(module: Any, dtype: str, values: list[Any]) -> Any:
    """Make an array.array."""
    return module.array(_known(_CODES, dtype), values)


def make_memoryview(_: Any, dtype: str, values: list[Any]) -> Any:
    """Make a memoryview of numbers over a bytearray."""
    import struct

    code = _known(_CODES, dtype)
    return memoryview(bytearray(struct.pack(f"{len(values)}{code}", *values))).cast(code)


def make_ctypes(_: Any, dtype: str, values: list[Any]) -> Any:
    """Make a ctypes array."""
    return (_known(_C_TYPES, dtype) * len(values))(*values)


def _known(table: dict[str, Any], dtype: str) -> Any:
    """Return a type's entry, or say that there is none."""
    if dtype not in table:
        raise TypeError("it has no such type")
    return table[dtype]


def make_bytes(_: Any, __: str, values: list[Any]) -> bytes:
    """Make bytes."""
    return bytes(values)


def make_bytearray(_: Any, __: str, values: list[Any]) -> bytearray:
    """Make a bytearray."""
    return bytearray(values)


# ---------------------------------------------------------------- interchange itself


def make_interchange(module: Any, dtype: str, values: list[Any]) -> Any:
    """Make an Array over fresh memory."""
    return module.asarray(_numpy_like(dtype, values)).copy()


def ml_dtypes_or_bfloat16(wanted: str) -> str:
    """Return the wanted type where ml_dtypes has it, else the one that it is mostly used for."""
    return wanted if wanted in EXTENDED else "bfloat16"
