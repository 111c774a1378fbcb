"""Element types of the standard, and float16; `interchange.DType` names all others.

Source: array API standard 2025.12, Data Types.
"""

from __future__ import annotations

from typing import Final

from interchange._types.dtypes import DType

bool_: Final = DType.of("bool")
int8: Final = DType.of("int8")
int16: Final = DType.of("int16")
int32: Final = DType.of("int32")
int64: Final = DType.of("int64")
uint8: Final = DType.of("uint8")
uint16: Final = DType.of("uint16")
uint32: Final = DType.of("uint32")
uint64: Final = DType.of("uint64")
float16: Final = DType.of("float16")  # an extension: the standard has no half precision
float32: Final = DType.of("float32")
float64: Final = DType.of("float64")
complex64: Final = DType.of("complex64")
complex128: Final = DType.of("complex128")
