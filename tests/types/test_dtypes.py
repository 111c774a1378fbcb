"""Element types: the table of codes and sizes, and every name that a type has."""

from __future__ import annotations

import copy
import pickle
import struct
from typing import NamedTuple

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, strategies as st

from interchange import DType, UnsupportedDTypeError
from interchange._core._numpy import numpy_dtype
from interchange._types.dtypes import all_dtypes, from_format, from_typestr
from interchange.abi import DLDataTypeCode, parse_typestr

SIGNED, UNSIGNED = "signed integer", "unsigned integer"
REAL, COMPLEX = "real floating", "complex floating"


class Row(NamedTuple):
    """The expected properties of one type, written by hand from the sources of each column."""

    name: str
    code: int
    bits: int
    category: str | None
    typestr: str | None = None
    format: str | None = None
    numpy: str | None = None  # name in NumPy, or in ml_dtypes


WHOLE = (
    Row("int8", 0, 8, SIGNED, "|i1", "b", "int8"),
    Row("int16", 0, 16, SIGNED, "<i2", "h", "int16"),
    Row("int32", 0, 32, SIGNED, "<i4", "i", "int32"),
    Row("int64", 0, 64, SIGNED, "<i8", "q", "int64"),
    Row("uint8", 1, 8, UNSIGNED, "|u1", "B", "uint8"),
    Row("uint16", 1, 16, UNSIGNED, "<u2", "H", "uint16"),
    Row("uint32", 1, 32, UNSIGNED, "<u4", "I", "uint32"),
    Row("uint64", 1, 64, UNSIGNED, "<u8", "Q", "uint64"),
    Row("float16", 2, 16, REAL, "<f2", "e", "float16"),
    Row("float32", 2, 32, REAL, "<f4", "f", "float32"),
    Row("float64", 2, 64, REAL, "<f8", "d", "float64"),
    Row("opaque8", 3, 8, None),
    Row("opaque16", 3, 16, None),
    Row("opaque32", 3, 32, None),
    Row("opaque64", 3, 64, None),
    Row("bfloat16", 4, 16, REAL, numpy="bfloat16"),
    Row("complex32", 5, 32, COMPLEX, numpy="complex32"),  # ml_dtypes 0.6
    Row("complex64", 5, 64, COMPLEX, "<c8", "Zf", "complex64"),
    Row("complex128", 5, 128, COMPLEX, "<c16", "Zd", "complex128"),
    Row("bool", 6, 8, "bool", "|b1", "?", "bool"),
    Row("float8_e3m4", 7, 8, REAL, numpy="float8_e3m4"),
    Row("float8_e4m3", 8, 8, REAL, numpy="float8_e4m3"),
    Row("float8_e4m3b11fnuz", 9, 8, REAL, numpy="float8_e4m3b11fnuz"),
    Row("float8_e4m3fn", 10, 8, REAL, numpy="float8_e4m3fn"),
    Row("float8_e4m3fnuz", 11, 8, REAL, numpy="float8_e4m3fnuz"),
    Row("float8_e5m2", 12, 8, REAL, numpy="float8_e5m2"),
    Row("float8_e5m2fnuz", 13, 8, REAL, numpy="float8_e5m2fnuz"),
    Row("float8_e8m0fnu", 14, 8, REAL, numpy="float8_e8m0fnu"),
    Row("bcomplex32", 18, 32, COMPLEX, numpy="bcomplex32"),  # ml_dtypes 0.6
)
PARTIAL = (  # below 8 bits: packed by default, and padded
    Row("int2", 0, 2, SIGNED, numpy="int2"),
    Row("int4", 0, 4, SIGNED, numpy="int4"),
    Row("uint1", 1, 1, UNSIGNED, numpy="uint1"),  # ml_dtypes 0.6
    Row("uint2", 1, 2, UNSIGNED, numpy="uint2"),
    Row("uint4", 1, 4, UNSIGNED, numpy="uint4"),
    Row("float6_e2m3fn", 15, 6, REAL, numpy="float6_e2m3fn"),
    Row("float6_e3m2fn", 16, 6, REAL, numpy="float6_e3m2fn"),
    Row("float4_e2m1fn", 17, 4, REAL, numpy="float4_e2m1fn"),
)
ROWS = WHOLE + PARTIAL

every_row = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
every_whole = pytest.mark.parametrize("row", WHOLE, ids=lambda row: row.name)
every_partial = pytest.mark.parametrize("row", PARTIAL, ids=lambda row: row.name)
every_dtype = pytest.mark.parametrize("dtype", all_dtypes(), ids=str)


def in_numpy(row):
    """Return the name of a row's dtype in NumPy, if NumPy or the installed ml_dtypes have it."""
    return (
        row.numpy if hasattr(np, row.numpy or "") or hasattr(ml_dtypes, row.numpy or "") else None
    )


def refusal(function, *arguments, **keywords):
    """Return the rule that a call is refused by."""
    with pytest.raises(UnsupportedDTypeError) as caught:
        function(*arguments, **keywords)
    return caught.value.rule


def made(function, *arguments):
    """Return the result of a call, or the rule by which it is refused."""
    try:
        return function(*arguments)
    except UnsupportedDTypeError as error:
        return error.rule


# ---------------------------------------------------------------- the table


def test_the_registry_is_the_table():
    """Every code of the header has a type; those of one lane, and the padded ones below 8 bits."""
    padded = {f"{row.name}_padded" for row in PARTIAL}

    assert {row.code for row in ROWS} == {int(code) for code in DLDataTypeCode}
    assert {dtype.name for dtype in all_dtypes()} == {row.name for row in ROWS} | padded


@every_row
def test_numbers_name_and_protocol_give_the_same_object(row):
    """A type made of its numbers has its name; name and ``__dlpack_data_type__`` lead back."""
    dtype = DType(row.code, row.bits)

    assert (dtype.name, str(dtype), dtype.category) == (row.name, row.name, row.category)
    assert (dtype.code, dtype.bits, dtype.lanes, dtype.padded) == (row.code, row.bits, 1, False)
    assert dtype.__dlpack_data_type__() == (row.code, row.bits, 1)
    assert DType.of(row.name) is DType.of(dtype.__dlpack_data_type__()) is dtype


@pytest.mark.parametrize("code", range(256))
def test_sizes_outside_the_table_do_not_exist(code):
    """Of the 256 sizes of a code, those in the table are accepted and all others are refused."""
    legal = {row.bits for row in ROWS if row.code == code}

    found = {bits: made(DType, code, bits) for bits in range(1, 256)}

    assert {bits for bits, one in found.items() if isinstance(one, DType)} == legal
    assert all(found[bits] == "DLP-DTYPE-1" for bits in found if bits not in legal)


@pytest.mark.parametrize(
    "numbers", [(2, 32, 0), (2, 32, -1), (2, 32, 2**16), (2, 32, 2**40), (2, 0), (2, -8)]
)
def test_impossible_lanes_and_bits_have_no_size(numbers):
    """The struct has 16 bits for the lanes, and an element at least one lane of one bit."""
    assert refusal(DType, *numbers) == "DLP-DTYPE-2"


# ---------------------------------------------------------------- sizes


@every_whole
def test_whole_types_fill_their_bytes(row):
    """An element of 8 bits or more has whole bytes, is never packed, and the same if padded."""
    dtype = DType(row.code, row.bits)

    assert (dtype.itemsize, dtype.is_packed) == (row.bits // 8, False)
    assert dtype.nbytes(7) == 7 * row.bits // 8
    assert DType(row.code, row.bits, padded=True) is dtype


@every_partial
def test_packed_types_share_bytes_and_padded_types_have_one_each(row):
    """Below 8 bits a run of elements is the sum of their bits, rounded up, or a byte each."""
    dtype, padded = DType(row.code, row.bits), DType(row.code, row.bits, padded=True)

    assert (dtype.itemsize, dtype.is_packed) == (1, True)
    assert [dtype.nbytes(n) for n in range(9)] == [(n * row.bits + 7) // 8 for n in range(9)]
    assert (padded.name, padded.itemsize, padded.is_packed) == (f"{row.name}_padded", 1, False)
    assert padded.nbytes(5) == 5


@pytest.mark.parametrize(
    ("code", "bits", "lanes", "itemsize", "packed"),
    [(2, 32, 4, 16, False), (17, 4, 2, 1, False), (0, 4, 3, 2, True), (1, 1, 8, 1, False)],
)
def test_lanes_make_one_element(code, bits, lanes, itemsize, packed):
    """A short vector is one element; it is packed when it does not end on a byte."""
    dtype = DType(code, bits, lanes)

    assert (dtype.itemsize, dtype.is_packed) == (itemsize, packed)
    assert dtype.nbytes(2) == 2 * bits * lanes // 8  # two elements of 12 bits fit into 3 bytes


@given(st.sampled_from(all_dtypes()), st.integers(0, 2**40), st.integers(1, 7))
def test_nbytes_never_shrinks_and_never_wraps(dtype, count, more):
    """More elements are at least as many bytes, beyond 32 bits as well."""
    assert dtype.nbytes(count + more) >= dtype.nbytes(count) >= count * dtype.bits // 8


# ---------------------------------------------------------------- names in the protocols


@every_row
def test_typestr_and_format_are_those_of_the_host_protocols(row):
    """Types that the array interface or PEP 3118 can name have these names, the others None."""
    dtype = DType(row.code, row.bits)

    assert (None if dtype.typestr is None else str(dtype.typestr)) == row.typestr
    assert dtype.format == row.format


@every_whole
def test_numpy_has_the_same_type(row):
    """NumPy or ml_dtypes have the type under that name, or it has no NumPy dtype."""
    found = numpy_dtype(DType(row.code, row.bits))

    assert (None if found is None else found.name) == in_numpy(row)


@every_partial
def test_packed_types_have_no_numpy_dtype(row):
    """NumPy's elements have addresses, so that only the padded type has a dtype there."""
    padded = numpy_dtype(DType(row.code, row.bits, padded=True))

    assert numpy_dtype(DType(row.code, row.bits)) is None
    assert (None if padded is None else padded.name) == in_numpy(row)


@every_dtype
def test_the_names_in_other_protocols_lead_back(dtype):
    """A type and its NumPy dtype, of the same size, its typestr and its format name each other."""
    found = numpy_dtype(dtype)

    assert found is None or (found.itemsize, DType.of(found)) == (dtype.itemsize, dtype)
    assert dtype.typestr is None or from_typestr(dtype.typestr) is dtype
    assert dtype.format is None or from_format(dtype.format, dtype.itemsize) is dtype


@pytest.mark.parametrize("lanes", [2, 4])
def test_short_vectors_have_no_name_in_the_host_protocols(lanes):
    """No host protocol has lanes, so that a vector type has no name in any of them."""
    dtype = DType(2, 32, lanes)

    assert (dtype.typestr, dtype.format, dtype.ml_dtypes_name) == (None, None, None)
    assert numpy_dtype(dtype) is None


@pytest.mark.parametrize("name", [row.name for row in ROWS if hasattr(ml_dtypes, row.name)])
def test_every_type_that_ml_dtypes_shares_is_used(name):
    """What ml_dtypes stores as NumPy elements is named both ways."""
    found = DType.of(np.dtype(getattr(ml_dtypes, name)))

    assert (found.name.removesuffix("_padded"), found.ml_dtypes_name) == (name, name)


# ---------------------------------------------------------------- values


@every_dtype
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickles_travel_by_name(dtype, protocol):
    """A pickle has the name and is loaded as the same object."""
    pickled = pickle.dumps(dtype, protocol)

    assert dtype.name.encode() in pickled
    assert pickle.loads(pickled) is dtype


@pytest.mark.parametrize("text", ["float32x4", "int4x3", "int4x3_padded", "complex64x2"])
def test_names_with_lanes_go_round(text):
    """Lanes and padding are part of the name."""
    dtype = DType.of(text)

    assert (dtype.name, pickle.loads(pickle.dumps(dtype))) == (text, dtype)


@every_dtype
def test_copies_are_the_object_itself(dtype):
    """Equal types are one object, also after a copy or a pickle."""
    assert copy.copy(dtype) is dtype
    assert copy.deepcopy([dtype])[0] is dtype


@given(st.sampled_from([(row.code, row.bits) for row in ROWS]), st.integers(1, 2**16 - 1))
def test_equal_numbers_are_one_object(numbers, lanes):
    """Types are singletons, so that ``is`` compares them."""
    code, bits = numbers

    dtype = DType(code, bits, lanes)

    assert DType(DLDataTypeCode(code), bits, lanes) is dtype
    assert DType.of(dtype.name) is dtype


def test_types_are_distinct_keys_without_further_attributes():
    """Types serve as keys; the repr names the type; attributes of shared objects cannot be set."""
    assert len(set(all_dtypes())) == len(all_dtypes())
    assert repr(DType(2, 32)) == "DType('float32')"
    with pytest.raises(AttributeError):
        DType(2, 32).colour = "red"


# ---------------------------------------------------------------- typestr and format grammar


@given(st.sampled_from("<>|"), st.sampled_from("tbiufcmMOSUV"), st.integers(0, 300))
def test_every_typestr_is_a_type_or_refused_with_its_rule(order, kind, size):
    """Every typestr of the grammar is a type, as NumPy agrees, or is refused by its rule."""
    text = f"{order}{kind}{size}"

    found = made(from_typestr, parse_typestr(text))

    if isinstance(found, DType):
        assert np.dtype(text) == numpy_dtype(found)
    else:
        assert found in {"DLP-DTYPE-1", "DLP-DTYPE-3", "CAI-TYPESTR-2"}


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        *((text, "DLP-DTYPE-3") for text in (">f4", "|O8", "<U3", "|S3", "<M8[ns]", "<m8[D]")),
        *(("|t8", "DLP-DTYPE-3"), ("|V2", "CAI-TYPESTR-2"), ("<f1", "CAI-TYPESTR-2")),
        *((text, "DLP-DTYPE-1") for text in ("<f16", "<c4", "<i3", "<b2", "<i0")),
    ],
)
def test_a_typestr_without_a_type_says_why(text, rule):
    """Foreign order, no plain number, ambiguous and unknown are four different things."""
    assert refusal(from_typestr, parse_typestr(text)) == rule


@pytest.mark.parametrize(
    ("text", "size", "name"),
    [
        *((text, 4, "int32") for text in ("i", "<l")),
        *((text, 8, "int64") for text in ("@q", "<q")),
        *((text, struct.calcsize(text), f"int{8 * struct.calcsize(text)}") for text in ("@l", "n")),
        *((text, struct.calcsize(text), f"uint{8 * struct.calcsize(text)}") for text in "LN"),
        ("=L", 4, "uint32"),
        *((text, 1, "uint8") for text in (">B", "c", "<c")),
        *(("!?", 1, "bool"), ("e", 2, "float16")),
        *((text, 16, "complex128") for text in ("Zd", "D")),
        *((text, 8, "complex64") for text in ("<Zf", "<F")),
    ],
)
def test_formats_follow_native_and_standard_sizes(text, size, name):
    """``l`` is a long without a prefix and four bytes with one, as struct has it."""
    assert from_format(text, size).name == name


@pytest.mark.parametrize(
    ("text", "size"),
    [
        *((text, 1) for text in ("", "<", "x")),
        *((text, 4) for text in (">i", "T{i:a:}", "w", "@@i")),
        *((text, 8) for text in ("!d", "2i", "O", "P", "i", "<n", "&<i")),
        *(("g", 16), ("3s", 3)),
    ],
)
def test_other_formats_are_refused(text, size):
    """Structs, repeats, foreign order, pointers and contradictory sizes are refused."""
    assert refusal(from_format, text, size) == "BUF-FORMAT-1"


@given(st.text(max_size=6), st.integers(0, 32))
def test_no_format_text_gets_past_the_table(text, size):
    """Any format of a foreign buffer is a type of its size or refused by its rule."""
    found = made(from_format, text, size)

    assert found == "BUF-FORMAT-1" or found.itemsize == size
