"""Words for element types other than their names: NumPy's short codes, and ambiguous words.

Source: NumPy, Data type objects (one-character codes); C, types; PyTorch, ``torch.dtype``.
"""

from __future__ import annotations

from typing import Final

from .dtype_table import FAMILIES

NUMPY_CODES: Final = {
    f"{family.typestr}{bits // 8}": (code, bits)
    for code, family in FAMILIES.items()
    for bits in family.bits
    if family.typestr and bits not in family.no_typestr
}
"""A kind and a size [bytes], such as ``f4`` -> (code, bits): a typestr without its byte order."""

_READINGS: Final = {
    ("float", "f"): ("float64, Python's float", "float32, C's float"),
    ("int", "i"): ("int64, Python's int", "int32, C's int"),
    ("uint", "u"): ("uint64, NumPy's uint", "uint32, C's unsigned int"),
    ("complex", "c"): ("complex128, Python's complex", "complex64, PyTorch's cfloat"),
    ("long", "l"): ("int64, C's long on Linux", "int32, C's long on Windows"),
    ("ulong", "L"): ("uint64, C's unsigned long on Linux", "uint32, that on Windows"),
    ("byte", "b"): ("int8, NumPy's byte", "uint8, PyTorch's byte()"),
    ("char",): ("int8, PyTorch's char()", "uint8, C's character"),
}
READINGS: Final = {word: both for words, both in _READINGS.items() for word in words}
"""Ambiguous word -> its readings, each of which begins with the name of a type."""

LIBRARY_NAMES: Final = {
    "bool_": "bool",  # NumPy 1
    "float4_e2m1fn_x2": "float4_e2m1fnx2",  # PyTorch
}
"""Name of an object of a library -> its name here, if they differ."""
