"""`DType.of`: everything that names an element type, and everything that does not."""

from __future__ import annotations

import datetime as dt
import decimal
import pathlib

import array_api_strict
import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, strategies as st

from interchange import ArgumentError, DType, InterchangeError, UnsupportedDTypeError
from interchange._types.dtypes import all_dtypes
from interchange.abi import RULES

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
STANDARD = ("bool", *INTEGERS, "float32", "float64", "complex64", "complex128")
PLAIN = (*STANDARD, "float16")
ML_DTYPES = [
    name
    for name in ml_dtypes.__all__
    if name.startswith(("bfloat", "float8", "float6", "float4", "int4", "uint4", "int2", "uint2"))
]

plain = pytest.mark.parametrize("name", PLAIN)
ml_names = pytest.mark.parametrize("name", ML_DTYPES)


def with_padding(name):
    """Return the name of the type whose elements have a byte each."""
    return f"{name}_padded" if DType.of(name).bits < 8 else name


def refusal(value):
    """Return the class and the rule that a value is refused with."""
    with pytest.raises(InterchangeError) as caught:
        DType.of(value, "f()")
    assert str(caught.value).startswith("f(): ")
    return type(caught.value), caught.value.rule


def made(value):
    """Return the type that a value names, or the rule that it is refused by."""
    try:
        return DType.of(value)
    except UnsupportedDTypeError as error:
        return error.rule


UNKNOWN = (UnsupportedDTypeError, "DLP-DTYPE-1")
NO_SIZE = (UnsupportedDTypeError, "DLP-DTYPE-2")
NOT_PLAIN = (UnsupportedDTypeError, "DLP-DTYPE-3")
AMBIGUOUS = (UnsupportedDTypeError, "CAI-TYPESTR-2")
NO_TYPESTR = (UnsupportedDTypeError, "CAI-TYPESTR-1")
NO_TYPE = (ArgumentError, "IX-ARGUMENT-1")


# ---------------------------------------------------------------- what names a type


def test_a_type_names_itself():
    """`DType.of` returns a DType unchanged."""
    dtype = DType(2, 32)

    assert DType.of(dtype) is dtype


@plain
def test_a_numpy_dtype_names_its_type(name):
    """NumPy's dtypes have the names of the standard."""
    assert DType.of(np.dtype(name)).name == name


@plain
def test_a_numpy_scalar_type_names_its_type(name):
    """NumPy's scalar types are accepted for their dtypes."""
    assert DType.of(np.dtype(name).type).name == name


@plain
def test_a_typestr_names_its_type(name):
    """A typestr of the array interface is accepted, with "=" for native order as in NumPy."""
    text = np.dtype(name).str

    assert DType.of(text).name == name
    assert DType.of(text.replace("<", "=").replace("|", "=")).name == name


@pytest.mark.parametrize("name", STANDARD)
def test_an_array_api_dtype_names_its_type(name):
    """The dtype objects of a strict array-API library are known by their names."""
    assert DType.of(getattr(array_api_strict, name)).name == name


@ml_names
def test_an_ml_dtypes_scalar_type_names_its_type(name):
    """Types of ml_dtypes are known by their names; below 8 bits they are padded."""
    assert DType.of(getattr(ml_dtypes, name)).name == with_padding(name)


@ml_names
def test_an_ml_dtypes_dtype_names_its_type(name):
    """NumPy dtypes of ml_dtypes are accepted, whatever their typestr is."""
    assert DType.of(np.dtype(getattr(ml_dtypes, name))).name == with_padding(name)


@pytest.mark.parametrize(
    ("value", "name"),
    [(bool, "bool"), (int, "int64"), (float, "float64"), (complex, "complex128")],
)
def test_the_builtin_types_name_what_numpy_makes_of_them(value, name):
    """Python's own numbers are 64-bit numbers, and complex two of them."""
    assert DType.of(value).name == name
    assert np.dtype(value) in {np.dtype(name), np.dtype(np.int_)}


@pytest.mark.parametrize(
    ("value", "name"),
    [((2, 32), "float32"), ((2, 32, 4), "float32x4"), ((17, 4, 2), "float4_e2m1fnx2")],
)
def test_a_tuple_names_code_bits_and_lanes(value, name):
    """A tuple of the struct's numbers is accepted."""
    assert DType.of(value).name == name


@pytest.mark.parametrize("dtype", all_dtypes(), ids=str)
def test_every_name_is_found(dtype):
    """Every type is found by its own name."""
    assert DType.of(dtype.name) is dtype
    assert DType.of(str(dtype)) is dtype


def test_what_describes_itself_is_believed():
    """Any object with ``__dlpack_data_type__`` names a type."""

    class Foreign:
        def __dlpack_data_type__(self):
            return (4, 16, 1)

    assert DType.of(Foreign()).name == "bfloat16"


def test_native_order_is_what_counts_for_one_byte():
    """Byte order is ignored for one-byte elements."""
    assert DType.of(np.dtype(">u1")).name == "uint8"
    assert DType.of(">i1").name == "int8"


# ---------------------------------------------------------------- what names none


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("", UNKNOWN),
        ("f3", UNKNOWN),
        ("f32", UNKNOWN),
        ("float", UNKNOWN),
        ("Float32", UNKNOWN),
        ("float32 ", UNKNOWN),
        ("float32\n", UNKNOWN),
        ("float33", UNKNOWN),
        ("x4", UNKNOWN),
        ("float32x", UNKNOWN),
        ("float32x-1", UNKNOWN),
        ("float32x0", NO_SIZE),
        ("float32x65536", NO_SIZE),
        ("float32_padded_padded", UNKNOWN),
        ("<", NO_TYPESTR),
        ("=", NO_TYPESTR),
        ("<f", NO_TYPESTR),
        ("<f4 ", NO_TYPESTR),
        (">f4", NOT_PLAIN),
        ("|O8", NOT_PLAIN),
        ("|V2", AMBIGUOUS),
        ("<f1", AMBIGUOUS),
        ("<f16", UNKNOWN),
    ],
)
def test_a_text_that_is_no_type_is_refused(value, expected):
    """The error for a misspelt name says if it is unknown, foreign, ambiguous or without size."""
    assert refusal(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.dtype(">f4"), NOT_PLAIN),
        (np.dtype("O"), NOT_PLAIN),
        (np.dtype("U3"), NOT_PLAIN),
        (np.dtype("S3"), NOT_PLAIN),
        (np.dtype("M8[ns]"), NOT_PLAIN),
        (np.dtype("m8[s]"), NOT_PLAIN),
        (np.dtype([("a", "f4"), ("b", "i2")]), NOT_PLAIN),
        (np.dtype(("f4", (2, 3))), NOT_PLAIN),
        (np.dtype("V4"), AMBIGUOUS),
        (np.dtype("longdouble"), UNKNOWN),
        (np.dtype("clongdouble"), UNKNOWN),
        (np.object_, NOT_PLAIN),
        (np.str_, NOT_PLAIN),
        (np.bytes_, NOT_PLAIN),
        (np.datetime64, NOT_PLAIN),
        (np.longdouble, UNKNOWN),
    ],
)
def test_a_numpy_dtype_without_a_counterpart_is_refused(value, expected):
    """NumPy dtypes of structs, objects, text, times and foreign order are refused."""
    assert refusal(value) == expected


@pytest.mark.parametrize(
    "value", [np.floating, np.integer, np.number, np.generic, np.inexact, np.ndarray, np.ufunc]
)
def test_a_numpy_class_that_is_no_element_is_refused(value):
    """Abstract scalar types and other classes of NumPy name no element type."""
    assert refusal(value)[1] in {"IX-ARGUMENT-1", "DLP-DTYPE-3"}


@pytest.mark.parametrize(
    "value",
    [
        None,
        32,
        2.5,
        b"float32",
        ["float32"],
        {"float32": 1},
        (),
        (2,),
        (2, 32, 1, 0),
        frozenset(),
        object,
        str,
        list,
        type(None),
        decimal.Decimal,
        dt.datetime,
        pathlib.PurePosixPath("a/b.txt"),
        len,
        print,
        ...,
    ],
    ids=repr,
)
def test_garbage_is_no_type(value):
    """An object that names no type is an argument error."""
    assert refusal(value) == NO_TYPE


@pytest.mark.parametrize(
    "value", [(2, "32"), ("f4", (2,)), (2, None), ([], 32), (2, 32, "1"), (None, None), (2.5, 32)]
)
def test_a_tuple_of_other_things_is_refused(value):
    """Code, bits and lanes must be ints; other tuples are refused with our error."""
    assert refusal(value)[1] in {"IX-ARGUMENT-1", "DLP-DTYPE-1", "DLP-DTYPE-2"}


@pytest.mark.parametrize(("numbers", "rule"), [((99, 8), "DLP-DTYPE-1"), ((2, 0), "DLP-DTYPE-2")])
def test_a_tuple_of_unknown_numbers_is_refused(numbers, rule):
    """Numbers of no type are an unsupported type."""
    with pytest.raises(UnsupportedDTypeError, match=rule):
        DType.of(numbers)


@pytest.mark.parametrize("answer", [None, 5, (2,), (2, "32"), "float32", (2, 32, 1, 1)])
def test_nonsense_from_a_foreign_type_is_refused(answer):
    """An invalid ``__dlpack_data_type__`` of a foreign object is refused with our error."""

    class Foreign:
        def __dlpack_data_type__(self):
            return answer

    with pytest.raises(InterchangeError):
        DType.of(Foreign())


def test_a_strangers_repr_may_fail():
    """The error about a value does not depend on the value's own repr."""

    class Unprintable:
        def __repr__(self):
            raise RuntimeError("no")

    assert refusal(Unprintable()) == NO_TYPE


@given(st.text(max_size=12))
def test_any_text_is_a_type_or_a_refusal(text):
    """`DType.of` of any text returns a type or raises its own error."""
    found = made(text)

    assert found in RULES or DType.of(found.name) is found


@given(st.tuples(*[st.integers(-(2**40), 2**40)] * 3))
def test_any_three_ints_are_a_type_or_a_refusal(numbers):
    """Three ints are a type of the table or are refused."""
    found = made(numbers)

    assert found in {"DLP-DTYPE-1", "DLP-DTYPE-2"} or found.__dlpack_data_type__() == numbers
