"""The table of element types, with their names in the interfaces of host memory.

Source: dlpack.h, ``DLDataTypeCode``; NumPy array interface (typestr); PEP 3118 (format). One table,
`FAMILIES`, lists the codes and sizes that exist; everything else is derived from it.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Final

from interchange.abi._records import NamedTuple
from interchange.abi.dlpack import DLDataTypeCode as Code

NATIVE: Final = "<" if sys.byteorder == "little" else ">"


class Family(NamedTuple):
    """Facts shared by the types of one code."""

    name: str  # with {} for the bits if there are several sizes
    bits: tuple[int, ...]  # legal sizes [bits]
    category: str | None  # the kind that the standard's ``isdtype`` takes for it
    typestr: str = ""  # letter of the array interface, empty: none
    no_typestr: frozenset[int] = frozenset()  # sizes that the letter does not cover [bits]
    ml_dtypes: bool = False  # the NumPy dtype is that of ml_dtypes with the same name
    ml_kind: str = "V"  # `numpy.dtype.kind` of the types of ml_dtypes


_F8: Final = (8,)
FAMILIES: Final = {
    Code.kDLInt: Family("int{}", (2, 4, 8, 16, 32, 64), "signed integer", "i", frozenset({2, 4})),
    Code.kDLUInt: Family(
        "uint{}", (1, 2, 4, 8, 16, 32, 64), "unsigned integer", "u", frozenset({1, 2, 4})
    ),
    Code.kDLFloat: Family("float{}", (16, 32, 64), "real floating", "f"),
    Code.kDLOpaqueHandle: Family("opaque{}", (8, 16, 32, 64), None),
    Code.kDLBfloat: Family("bfloat{}", (16,), "real floating", ml_dtypes=True),
    Code.kDLComplex: Family(
        "complex{}", (32, 64, 128), "complex floating", "c", frozenset({32}), ml_kind="W"
    ),
    Code.kDLBool: Family("bool", (8,), "bool", "b"),
    Code.kDLFloat8_e3m4: Family("float8_e3m4", _F8, "real floating", ml_dtypes=True),
    Code.kDLFloat8_e4m3: Family("float8_e4m3", _F8, "real floating", ml_dtypes=True),
    Code.kDLFloat8_e4m3b11fnuz: Family("float8_e4m3b11fnuz", _F8, "real floating", ml_dtypes=True),
    Code.kDLFloat8_e4m3fn: Family("float8_e4m3fn", _F8, "real floating", ml_dtypes=True),
    Code.kDLFloat8_e4m3fnuz: Family("float8_e4m3fnuz", _F8, "real floating", ml_dtypes=True),
    Code.kDLFloat8_e5m2: Family("float8_e5m2", _F8, "real floating", ml_dtypes=True, ml_kind="f"),
    Code.kDLFloat8_e5m2fnuz: Family("float8_e5m2fnuz", _F8, "real floating", ml_dtypes=True),
    Code.kDLFloat8_e8m0fnu: Family("float8_e8m0fnu", _F8, "real floating", ml_dtypes=True),
    Code.kDLFloat6_e2m3fn: Family("float6_e2m3fn", (6,), "real floating", ml_dtypes=True),
    Code.kDLFloat6_e3m2fn: Family("float6_e3m2fn", (6,), "real floating", ml_dtypes=True),
    Code.kDLFloat4_e2m1fn: Family("float4_e2m1fn", (4,), "real floating", ml_dtypes=True),
    Code.kDLBcomplex: Family("bcomplex{}", (32,), "complex floating", ml_dtypes=True, ml_kind="W"),
}

_REAL: Final = ("signed integer", "unsigned integer", "real floating")
KINDS: Final = {
    "bool": ("bool",),
    "signed integer": ("signed integer",),
    "unsigned integer": ("unsigned integer",),
    "integral": ("signed integer", "unsigned integer"),
    "real floating": ("real floating",),
    "complex floating": ("complex floating",),
    "numeric": (*_REAL, "complex floating"),
}
"""Kind, as the array API standard's ``isdtype`` takes it -> the categories in it."""

FORMATS: Final = {
    (Code.kDLBool, 8): "?",
    (Code.kDLInt, 8): "b",
    (Code.kDLInt, 16): "h",
    (Code.kDLInt, 32): "i",
    (Code.kDLInt, 64): "q",
    (Code.kDLUInt, 8): "B",
    (Code.kDLUInt, 16): "H",
    (Code.kDLUInt, 32): "I",
    (Code.kDLUInt, 64): "Q",
    (Code.kDLFloat, 16): "e",
    (Code.kDLFloat, 32): "f",
    (Code.kDLFloat, 64): "d",
    (Code.kDLComplex, 64): "Zf",  # NumPy's extension of the struct formats
    (Code.kDLComplex, 128): "Zd",
}
"""(code, bits) -> PEP 3118 format with standard sizes."""

_LONG: Final = 8 * ctypes.sizeof(ctypes.c_long)
_SSIZE: Final = 8 * ctypes.sizeof(ctypes.c_ssize_t)
_READ_FORMATS: Final = {
    **{text: key for key, text in FORMATS.items()},
    "c": (Code.kDLUInt, 8),
    "F": (Code.kDLComplex, 64),  # of the complex numbers that ctypes has from CPython 3.14 on,
    "D": (Code.kDLComplex, 128),  # which 3.15 calls Zf and Zd
}
NATIVE_FORMATS: Final = {
    **_READ_FORMATS,
    "l": (Code.kDLInt, _LONG),
    "L": (Code.kDLUInt, _LONG),
    "n": (Code.kDLInt, _SSIZE),
    "N": (Code.kDLUInt, _SSIZE),
}
STANDARD_FORMATS: Final = {
    **_READ_FORMATS,
    "l": (Code.kDLInt, 32),
    "L": (Code.kDLUInt, 32),
}

BY_NAME: Final = {
    family.name.format(bits): (code, bits)
    for code, family in FAMILIES.items()
    for bits in family.bits
}
"""Name of one lane -> (code, bits)."""
