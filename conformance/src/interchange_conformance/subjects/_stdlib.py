"""Buffers of the standard library, which are only in the matrix: their types are not subjects.

Source: https://docs.python.org/3/c-api/buffer.html
"""

from __future__ import annotations

import array
import ctypes
import struct
from typing import TYPE_CHECKING, Any, Final

from interchange.abi import buffer_address
from interchange_conformance.findings import CannotMakeError
from interchange_conformance.subject import Kind, Subject, dtype_name

if TYPE_CHECKING:
    from collections.abc import Callable

_CODES: Final = {
    "int8": "b", "uint8": "B", "int16": "h", "uint16": "H", "int32": "i", "uint32": "I",
    "int64": "q", "uint64": "Q", "float16": "e", "float32": "f", "float64": "d", "bool": "?",
}  # fmt: skip
_C_TYPES: Final[dict[str, Any]] = {
    "bool": ctypes.c_bool,
    "float32": ctypes.c_float,
    "float64": ctypes.c_double,
    **{name: getattr(ctypes, f"c_{name}") for name in _CODES if "int" in name},
}
_C_NAMES: Final = {ctype: name for name, ctype in _C_TYPES.items()}


def _known(table: dict[str, Any], dtype: str) -> Any:
    """Return the entry of an element type."""
    if dtype not in table:
        raise CannotMakeError("it has no such type")
    return table[dtype]


def _memoryview(numbers: list[Any], dtype: str) -> Any:
    """Return a memoryview of numbers over a bytearray."""
    code = _known(_CODES, dtype)
    return memoryview(bytearray(struct.pack(f"{len(numbers)}{code}", *numbers))).cast(code)


def _view(x: Any) -> Any:
    """Return a NumPy array of a buffer, because a memoryview cannot read every format."""
    import numpy as np

    return np.asarray(memoryview(x))


def _kind(name: str, module: str, make_from: Callable[[list[Any], str], Any], **more: Any) -> Kind:
    """Return a kind of buffer."""
    return Kind(
        name,
        Subject(name, read=lambda x: list(_view(x).tolist())),
        lambda x: buffer_address(memoryview(x)),
        library="stdlib",
        module=module,
        distribution="",
        readonly=lambda x: memoryview(x).readonly,
        make_from=make_from,
        order=11,
        **{"dtype": lambda x: dtype_name(_view(x)), **more},
    )


kinds: tuple[Kind, ...] = (
    _kind("memoryview", "builtins", _memoryview, target="memoryview", head="memory\nview"),
    _kind("bytes", "builtins", lambda numbers, _: bytes(numbers), picks=lambda _: "uint8"),
    _kind("bytearray", "builtins", lambda numbers, _: bytearray(numbers), picks=lambda _: "uint8"),
    _kind(
        "array.array", "array", lambda numbers, dtype: array.array(_known(_CODES, dtype), numbers)
    ),
    _kind(
        "ctypes array",
        "ctypes",
        lambda numbers, dtype: (_known(_C_TYPES, dtype) * len(numbers))(*numbers),
        dtype=lambda x: _C_NAMES[x._type_],
    ),
)
