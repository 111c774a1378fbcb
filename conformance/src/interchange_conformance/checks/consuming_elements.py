"""Consumers and element types: known ones are read correctly, unknown ones are not misread.

Source: dlpack.h 1.3, DLDataType, DLDataTypeCode and DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED.
"""

from __future__ import annotations

import struct
import sys
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from interchange.abi.dlpack import DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED
from interchange_conformance.findings import NotApplicable, expect
from interchange_conformance.probes.importing import (
    LINE,
    Attempt,
    attempts,
    expect_right,
    of_rule,
    paired,
    show,
    ways,
)
from interchange_conformance.probes.opened_capsule import OpenedCapsule
from interchange_conformance.registry import area
from interchange_conformance.zoo import ELEMENTS, host, zoo

if TYPE_CHECKING:
    from interchange_conformance.probes.importing import Generation, Pair, Way
    from interchange_conformance.probes.under_test import ConsumerUnderTest
    from interchange_conformance.registry import Decorator
    from interchange_conformance.zoo import Source

check: Decorator = area("capsule")

_ZOO: Final = paired(zoo())
_HEADER: Final = "dlpack.h 1.3, DLDataType"
_UNSETTLED: Final = ("float128", "bool-of-1-bit")


class _Sample(NamedTuple):
    """The bytes of some elements, and their values."""

    data: bytes
    values: list[Any]


def _packed(form: str, *values: Any) -> _Sample:
    """Return elements in a ``struct`` format, the last two of which are the limits of the type."""
    parts = [part for value in values for part in _parts(value)]
    return _Sample(struct.pack(f"={len(parts)}{form}", *parts), list(values))


def _parts(value: Any) -> tuple[Any, ...]:
    """Return the real and the imaginary part of a complex number, or another number alone."""
    return (value.real, value.imag) if isinstance(value, complex) else (value,)


def _integers(form: str, bits: int, *, signed: bool) -> _Sample:
    """Return integers, among them the minimum and the maximum of their type."""
    least, most = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    return _packed(form, 0, 1, least + 2, 100, least, most)


def _little(size: int, *numbers: int) -> bytes:
    """Return integers in native order."""
    form = {1: "B", 2: "H"}[size]
    return struct.pack(f"={len(numbers)}{form}", *numbers)


_SAMPLES: Final[dict[str, _Sample]] = {
    "bool": _packed("?", *map(bool, (1, 0, 1, 1, 0, 1))),
    "int8": _integers("b", 8, signed=True),
    "int16": _integers("h", 16, signed=True),
    "int32": _integers("i", 32, signed=True),
    "int64": _integers("q", 64, signed=True),
    "uint8": _integers("B", 8, signed=False),
    "uint16": _integers("H", 16, signed=False),
    "uint32": _integers("I", 32, signed=False),
    "uint64": _integers("Q", 64, signed=False),
    "float16": _packed("e", 0.0, 1.0, -1.5, 0.25, -65504.0, 65504.0),
    "float32": _packed("f", 0.0, 1.0, -1.5, 2.0**-149, -(2.0**127), 2.0**127),
    "float64": _packed("d", 0.0, 1.0, -1.5, 2.0**-1022, -(2.0**1023), 2.0**1023),
    "complex64": _packed("f", 0j, 1 + 0j, -1j, 1.5 - 2j, -(2.0**127) + 0j, 2.0**127 * 1j),
    "complex128": _packed("d", 0j, 1 + 0j, -1j, 1.5 - 2j, -(2.0**1023) + 0j, 2.0**1023 * 1j),
    "bfloat16": _Sample(
        _little(2, 0x0000, 0x3F80, 0xBFC0, 0x4049, 0xFF00, 0x7F00),
        [0.0, 1.0, -1.5, 3.140625, -(2.0**127), 2.0**127],
    ),
    "float8_e4m3fn": _Sample(
        _little(1, 0x00, 0x38, 0xBC, 0x01, 0xFE, 0x7E), [0.0, 1.0, -1.5, 2.0**-9, -448.0, 448.0]
    ),
    "float8_e5m2": _Sample(
        _little(1, 0x00, 0x3C, 0xBE, 0x01, 0xFB, 0x7B),
        [0.0, 1.0, -1.5, 2.0**-16, -57344.0, 57344.0],
    ),
}


def _holding(dtype: str, way: Way) -> Source:
    """Return a producer of the sample of an element type."""
    source = host(way.shape, dtype).but(generation=way.generation)
    if source.memory is None:
        raise NotApplicable("there is no memory")
    source.memory.view()[:] = _SAMPLES[dtype].data
    return source


@check(
    "DLP-DTYPE-1",
    source=f"{_HEADER}Code",
    cases={name.replace("_", "-"): name for name in _SAMPLES},
)
def elements_are_read_as_their_type_says(consumer: ConsumerUnderTest, case: str) -> None:
    """Elements are read as the type that code, bits and lanes describe.

    Map each code and size to the type of the same values, and refuse unsupported types. Bits count
    the whole of a complex number; bfloat16 is not float16, and a bool is a byte.
    """
    for way in ways(consumer):
        attempt = Attempt(way.take, _holding(case, way))
        if _is_kept(consumer, attempt, case):
            continue
        read = expect_right(consumer, way, attempt, _SAMPLES[case].values)
        if read and case == "bool":
            _expect_bools(consumer, way, attempt)


def _is_kept(consumer: ConsumerUnderTest, attempt: Attempt, dtype: str) -> bool:
    """Return whether elements without a Python number are read as bytes, and keep their type.

    The array reports the type itself, so that the bytes are not taken for another number.
    """
    if dtype not in _NO_NUMBERS or not attempt.taken:
        return False
    y = attempt.array
    said = _handed_on(y) == ELEMENTS[dtype] or _named(y) == dtype
    data = _SAMPLES[dtype].data
    size = ELEMENTS[dtype][1] // 8
    raw = [data[at : at + size] for at in range(0, len(data), size)]
    found = attempt.values(consumer) if said else None
    return found is not None and [_as_bytes(one, size) for one in found] == raw


_NO_NUMBERS: Final = frozenset({"bfloat16", "float8_e4m3fn", "float8_e5m2"})


def _as_bytes(value: Any, size: int) -> Any:
    """Return the bytes of an element that is read as bytes or int; another object is unchanged."""
    if isinstance(value, int) and 0 <= value < 1 << 8 * size:
        return value.to_bytes(size, sys.byteorder)
    return bytes(value) if isinstance(value, (bytes, bytearray)) else value


def _named(y: Any) -> str:
    """Return the name of an array's element type, without the module; empty if it has none."""
    try:
        return str(y.dtype).rpartition(".")[2]
    except Exception:  # noqa: BLE001 - not all arrays have one
        return ""


def _expect_bools(consumer: ConsumerUnderTest, way: Way, attempt: Attempt) -> None:
    """Raise an error if bools are read as numbers: 1 == True in Python, but is not a bool."""
    found = attempt.values(consumer) or []
    if all(type(value) is bool or repr(value) in _BOOLS for value in found):
        return
    said = _handed_on(attempt.array)
    words = f"{way}: bools are read as {found!s:.100}, and handed on as {said}"
    expect(said in (None, _BOOL), f"{words}, due was {_BOOL}")


_BOOL: Final = ELEMENTS["bool"]
_BOOLS: Final = frozenset({"True", "False", "np.True_", "np.False_"})
"""Texts of bools, also of libraries whose scalars are not of type bool."""


# ------------------------------------------------------------------ unknown types


def _expect_not_read(consumer: ConsumerUnderTest, case: Pair) -> None:
    """Raise an error if elements of an unknown type are read, or exported as another type."""
    for way, attempt in attempts(consumer, case):
        words = f"{way}: {show(attempt.source)} {attempt}"
        try:
            found = attempt.values(consumer)
        except NotApplicable:
            found = None
        expect(found is None, f"{words}, and read as {found!s:.100}")
        if attempt.taken:
            said = _handed_on(attempt.array)
            expect(said in (None, attempt.source.said.dtype), f"{words}, and handed on as {said}")


def _handed_on(y: Any) -> tuple[int, int, int] | None:
    """Return the element type with which an array is exported; None if it is refused."""
    try:
        return OpenedCapsule(y.__dlpack__()).dtype
    except Exception:  # noqa: BLE001 - the export is refused
        return None


@check(
    "DLP-DTYPE-1",
    source=f"{_HEADER}Code",
    cases=of_rule(_ZOO, "DLP-DTYPE-1", *_UNSETTLED),
)
def unknown_element_types_are_not_read_as_others(consumer: ConsumerUnderTest, case: Pair) -> None:
    """An unknown element type is refused, or kept as it is.

    Refuse unknown codes, and known codes with other bits than theirs. A newer minor version may
    define either.
    """
    _expect_not_read(consumer, case)


@check(
    "DLP-DTYPE-1",
    source=f"{_HEADER}: bool has 8 bits; what has 128 is not said",
    severity="QUIRK",
    cases={name: _ZOO[name] for name in _UNSETTLED},
)
def unsettled_element_types_are_not_read(consumer: ConsumerUnderTest, case: Pair) -> None:
    """An element type that libraries interpret differently is refused, or kept as it is.

    Refuse floats of 128 bits, which are padded or not and of two kinds, and bools of one bit, whose
    bit order is undefined.
    """
    _expect_not_read(consumer, case)


@check(
    "DLP-DTYPE-2",
    source=f"{_HEADER}: bits and lanes",
    severity="SHOULD",
    cases=of_rule(_ZOO, "DLP-DTYPE-2"),
)
def elements_of_no_size_are_not_read(consumer: ConsumerUnderTest, case: Pair) -> None:
    """An element type with 0 bits or 0 lanes is refused, or kept as it is.

    Check both numbers: sizes and strides are multiples of them.
    """
    _expect_not_read(consumer, case)


# ------------------------------------------------------------------ vectors and packed elements

_VECTOR: Final = (2, 32, 2)
_NUMBERS: Final = [float(number) for number in range(2 * LINE[0])]


@check("DLP-DTYPE-1", source=f"{_HEADER}.lanes")
def lanes_are_not_dropped(consumer: ConsumerUnderTest) -> None:
    """Elements with two lanes are refused, or all lanes are read.

    Refuse lanes other than 1 unless you have vector types; read as single numbers half the elements
    are missing, and the strides are wrong.
    """
    for way in ways(consumer):
        source = host(way.shape, _VECTOR).but(generation=way.generation)
        if source.memory is not None:
            source.memory.view()[:] = struct.pack(f"={len(_NUMBERS)}f", *_NUMBERS)
        attempt = Attempt(way.take, source)

        found = attempt.values(consumer)

        if found is not None:
            flat = [part for value in found for part in _parts(value)]
            words = f"{way}: an array with two float32 in each element, {_NUMBERS}, was read as"
            expect(flat == _NUMBERS, f"{words} {found!s:.200}")


class _Small(NamedTuple):
    """An array of elements below 8 bits."""

    dtype: str
    flags: int
    data: bytes
    values: list[Any]


_PACKED: Final = bytes([0x10, 0x32, 0x54, 0x06, 0x01, 0x02])  # and the bytes after the last one
_APART: Final = bytes([0, 1, 2, 3, 4, 5])
_PADDED: Final = DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED
_FLOAT4: Final = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0]
_SMALL: Final = {
    "packed-uint4": _Small("uint4", 0, _PACKED, [0, 1, 2, 3, 4, 5]),
    "padded-uint4": _Small("uint4", _PADDED, _APART, [0, 1, 2, 3, 4, 5]),
    "packed-float4": _Small("float4_e2m1fn", 0, _PACKED, _FLOAT4),
    "padded-float4": _Small("float4_e2m1fn", _PADDED, _APART, _FLOAT4),
}


_SUBBYTE: Final = "dlpack.h 1.3, DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED"


@check("DLP-DTYPE-5", source=_SUBBYTE, cases=_SMALL)
def elements_below_8_bits_are_read_as_the_flag_says(
    consumer: ConsumerUnderTest, case: _Small
) -> None:
    """Elements below 8 bits are read as packed, or as padded if the flag is set, or refused.

    Without the flag two elements of 4 bits share a byte, the first in its low half. Refuse them if
    you cannot read them: one element per byte reads past the end of the memory.
    """
    _expect_small(consumer, case, "versioned")


@check(
    "DLP-DTYPE-5",
    source=f"{_SUBBYTE}: packed by default; the legacy struct has no flags",
    severity="QUIRK",
    cases={name: small for name, small in _SMALL.items() if not small.flags},
)
def elements_below_8_bits_of_the_legacy_struct_are_packed(
    consumer: ConsumerUnderTest, case: _Small
) -> None:
    """Elements below 8 bits in a legacy struct are read as packed, or refused.

    Refuse them: the struct has no flag for padding, and is older than the flag.
    """
    _expect_small(consumer, case, "legacy")


def _expect_small(consumer: ConsumerUnderTest, case: _Small, generation: Generation) -> None:
    """Raise an error if elements below 8 bits are misread."""
    for way in ways(consumer, generation):
        source = host(LINE, case.dtype).but(generation=generation, flags=case.flags)
        if source.memory is not None:
            source.memory.view()[:] = case.data
        attempt = Attempt(way.take, source)

        found = attempt.values(consumer)

        if found is not None:
            values = [_as_number(value) for value in found]
            words = f"{way}: {show(source)}, in bytes {case.data.hex(' ')}, was read as"
            expect(values == case.values, f"{words} {values}, due was {case.values}")


def _as_number(value: Any) -> Any:
    """Return a library's number as a Python number; another object is unchanged."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return value
