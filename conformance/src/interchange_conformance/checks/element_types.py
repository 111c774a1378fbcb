"""Element types: codes, bits and lanes, and elements that DLPack cannot represent.

Source: dlpack.h 1.3, DLDataType and DLDataTypeCode; array API standard 2025.12.
"""

from __future__ import annotations

import ctypes
import platform
import struct
import sys
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from interchange.abi.dlpack import DLDataTypeCode
from interchange_conformance.findings import BrokenSubjectError, NotApplicable, expect
from interchange_conformance.probes.forms import forms_of
from interchange_conformance.registry import area
from interchange_conformance.zoo.memory import ELEMENTS

from ._exports import (
    answer,
    asking,
    call,
    holding,
    in_each,
    require_generation,
    require_host,
    some_array,
    words,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from interchange_conformance.probes.under_test import ProducerUnderTest
    from interchange_conformance.registry import Decorator
    from interchange_conformance.zoo.memory import Element

check: Decorator = area("capsule")

ELEMENT_TYPES: Final[dict[str, Element]] = {
    **{
        name: element
        for name, element in ELEMENTS.items()
        if element[1] >= 8 and not name.startswith("float8")
    },
    "float8_e3m4": (7, 8, 1),
    "float8_e4m3": (8, 8, 1),
    "float8_e4m3b11fnuz": (9, 8, 1),
    "float8_e4m3fn": (10, 8, 1),
    "float8_e4m3fnuz": (11, 8, 1),
    "float8_e5m2": (12, 8, 1),
    "float8_e5m2fnuz": (13, 8, 1),
    "float8_e8m0fnu": (14, 8, 1),
}
"""Name -> code, bits and lanes, for the types that fill whole bytes."""
_NAMES: Final = {name.replace("_", "-"): name for name in ELEMENT_TYPES}
_SOME: Final = {
    name: name
    for name in ("bool", "int8", "uint64", "float16", "complex64", "complex128", "bfloat16")
}

FOREIGN_ORDER: Final = ">" if sys.byteorder == "little" else "<"
"""The byte order other than this machine's, in NumPy's notation."""

_SWAPPED: Final = {
    name: FOREIGN_ORDER + code for name, code in (("int32", "i4"), ("float64", "f8"))
}
UNSPEAKABLE: Final[dict[str, Any]] = {
    "objects": "object",
    "text": "U4",
    "bytes": "S4",
    "times": "datetime64[s]",
    "spans": "timedelta64[s]",
    "records": [("a", "float32"), ("b", "int32")],
}
"""Case -> argument of ``make``; in NumPy's notation, which other libraries may not support."""
_PADDED: Final = {"longdouble": "longdouble", "clongdouble": "clongdouble"}
_X86: Final = frozenset({"x86_64", "AMD64", "i386", "i686"})


def array_of(producer: ProducerUnderTest, dtype: Any) -> Any:
    """Return an array of a type that few libraries support; any exception means that it does not.

    Raises `NotApplicable`: there is none, or the array reports another type.
    """
    try:
        x = some_array(producer, dtype)
    except BrokenSubjectError as error:
        raise NotApplicable(str(error)) from error
    name = _dtype_text(x)
    if name in ELEMENT_TYPES and name != dtype:
        raise NotApplicable(f"make() was asked for {dtype!r}, and made {name}")
    return x


def _dtype_text(x: Any) -> str:
    """Return the element type that an array reports, such as ``"float32"``; empty if none."""
    try:
        return f"{getattr(x, 'dtype', None) or getattr(x, 'type', None)}".rpartition(".")[2]
    except Exception:  # noqa: BLE001 - some cannot name the type of their elements
        return ""


@check("DLP-DTYPE-1", source="dlpack.h 1.3, DLDataTypeCode", cases=in_each(_NAMES))
def element_types_have_their_codes_and_bits(
    producer: ProducerUnderTest, case: tuple[str, str]
) -> None:
    """An element type is exported with the code and bits of dlpack.h.

    Look the code up in DLDataTypeCode: bool is (6, 8) and not an integer, complex numbers have code
    5 and the bits of both parts. Refuse types without a code with BufferError.
    """
    generation, name = case
    found = answer(producer, array_of(producer, name), **asking(generation))
    if isinstance(found, Exception):
        raise NotApplicable(f"{name}: {words(found)}")

    due = ELEMENT_TYPES[name][:2]
    expect(
        found.dtype[:2] == due,
        f"{name} is exported with (code, bits) = {found.dtype[:2]}; {due} is due",
    )


@check("DLP-DTYPE-2", source="dlpack.h 1.3, DLDataType.lanes", cases=in_each(_SOME))
def plain_elements_have_one_lane(producer: ProducerUnderTest, case: tuple[str, str]) -> None:
    """Numbers have lanes = 1.

    Write lanes = 1, for complex numbers too: lanes count the numbers of a short vector such as
    float4, and most consumers refuse other values.
    """
    generation, name = case
    found = answer(producer, array_of(producer, name), **asking(generation))
    if isinstance(found, Exception):
        raise NotApplicable(f"{name}: {words(found)}")

    _, bits, lanes = found.dtype
    expect(bits > 0 and lanes == 1, f"{name} is exported with bits = {bits} and lanes = {lanes}")


@check("DLP-DTYPE-3", source="dlpack.h 1.3, DLDataType: native endian-ness",
       cases=in_each(_SWAPPED))  # fmt: skip
def elements_in_foreign_byte_order_stay(producer: ProducerUnderTest, case: tuple[str, str]) -> None:
    """Elements in foreign byte order are not exported as native ones.

    Raise BufferError: the struct has no field for the byte order, and consumers would read wrong
    numbers.
    """
    generation, order = case
    x = array_of(producer, order)
    if not _dtype_text(x).startswith(FOREIGN_ORDER):
        raise NotApplicable(f"make() was asked for {order!r}, and made native elements")

    _expect_it_stays(producer, x, generation, repr(order))


@check(
    "DLP-DTYPE-3",
    source="interchange; dlpack.h 1.3, DLDataTypeCode: none of the codes is for these",
    severity="SHOULD",
    cases=in_each(UNSPEAKABLE),
)
def elements_that_are_no_numbers_stay(producer: ProducerUnderTest, case: tuple[str, Any]) -> None:
    """Objects, text, times and records are not exported as numbers.

    Raise BufferError, and let users view or cast the array: addresses and ticks have no meaning for
    the consumer. Handles may be exchanged as kDLOpaqueHandle by agreement.
    """
    generation, dtype = case
    _expect_it_stays(producer, array_of(producer, dtype), generation, repr(dtype))


@check(
    "DLP-DTYPE-4",
    source="dlpack.h 1.3, DLDataTypeCode.kDLFloat: IEEE floating point",
    cases=in_each(_PADDED),
)
def extended_floats_stay(producer: ProducerUnderTest, case: tuple[str, str]) -> None:
    """x86 long doubles, 10 bytes padded to 16, are not exported as 128-bit floats.

    Raise BufferError: code 2 means IEEE floating point, and this is not one of its formats.
    """
    size = ctypes.sizeof(ctypes.c_longdouble)
    if platform.machine() not in _X86 or size not in {12, 16}:
        raise NotApplicable(f"long doubles of {size} bytes on {platform.machine()}")
    generation, name = case
    _expect_it_stays(producer, array_of(producer, name), generation, name)


def _expect_it_stays(producer: ProducerUnderTest, x: Any, generation: str, what: str) -> None:
    """Raise an error unless an array is refused to a consumer that can get plain ones."""
    require_generation(producer, generation)

    found = answer(producer, x, **asking(generation))

    said = getattr(found, "dtype", None)
    expect(
        isinstance(found, Exception) or found.dtype[0] == DLDataTypeCode.kDLOpaqueHandle,
        f"{what} was exported by {call(asking(generation))} as (code, bits, lanes) = {said}",
    )


# ------------------------------------------------------------------ lazy values


class _Lazy(NamedTuple):
    """A lazy operation of a library, and the expected elements."""

    apply: Callable[[Any], Any]
    due: bytes


_LAZY: Final = {
    "conjugated": _Lazy(lambda x: x.conj(), struct.pack("=ff", 1, -2)),
    "imaginary-part": _Lazy(lambda x: x.imag, struct.pack("=f", 2)),
    "imaginary-part-of-conjugated": _Lazy(lambda x: x.conj().imag, struct.pack("=f", -2)),
    "real-part-of-conjugated": _Lazy(lambda x: x.conj().real, struct.pack("=f", 1)),
    "negated": _Lazy(lambda x: -x, struct.pack("=ff", -1, -2)),
}


@check("DLP-DTYPE-6", source="array API standard 2025.12, array.__dlpack__, Raises",
       cases=in_each(_LAZY))  # fmt: skip
def lazy_values_are_applied_or_refused(
    producer: ProducerUnderTest, case: tuple[str, _Lazy]
) -> None:
    """Lazy operations on the elements are applied before the export, or it is refused.

    Materialize conjugation and negation, or raise BufferError: consumers read the memory as the
    values of the array.
    """
    generation, lazy = case
    keywords = asking(generation)
    require_generation(producer, generation)
    x, *_ = holding(producer, [1 + 2j], forms_of([(6,), (2, 3)], ["complex64"]))
    try:
        y = lazy.apply(x)
    except Exception as error:
        raise NotApplicable(f"{type(x).__name__}: {words(error)}") from error

    found = answer(producer, y, **keywords)
    if isinstance(found, BufferError):
        return
    if isinstance(found, Exception):
        raise NotApplicable(words(found)) from found
    elements = set(require_host(found).read())
    expect(
        elements == {lazy.due},
        f"all elements were set to 1+2j; in memory that {call(keywords)} then exported there are "
        f"{sorted(map(_numbers, elements))}, and {_numbers(lazy.due)} is due",
    )


def _numbers(element: bytes) -> tuple[float, ...]:
    """Return the floats in an element."""
    return struct.unpack(f"={len(element) // 4}f", element)
