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


@pytest.mark.parametrize("dtype", all_dtypes(), ids=str)
def test_every_type_and_its_name_are_found(dtype):
    """Every type is returned unchanged, and found by its own name."""
    assert DType.of(dtype) is DType.of(dtype.name) is DType.of(str(dtype)) is dtype


@plain
def test_dtypes_and_typestrs_of_numpy_name_their_type(name):
    """Dtypes, scalar types and typestrs, with "=" for native order as in NumPy."""
    dtype = np.dtype(name)

    for value in (dtype, dtype.type, dtype.str, dtype.str.replace("<", "=").replace("|", "=")):
        assert DType.of(value).name == name


@pytest.mark.parametrize("name", STANDARD)
def test_an_array_api_dtype_names_its_type(name):
    """The dtype objects of a strict array-API library are known by their names."""
    assert DType.of(getattr(array_api_strict, name)).name == name


@ml_names
def test_scalar_types_and_dtypes_of_ml_dtypes_name_their_type(name):
    """They are known by their names, whatever their typestr is; below 8 bits they are padded."""
    kind = getattr(ml_dtypes, name)

    assert DType.of(kind).name == DType.of(np.dtype(kind)).name == with_padding(name)


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


class Foreign:
    """An object with ``__dlpack_data_type__``, and without a repr."""

    def __init__(self, answer):
        self.__dlpack_data_type__ = lambda: answer

    def __repr__(self):
        raise RuntimeError("no")


@pytest.mark.parametrize("answer", [None, 5, (2,), (2, "32"), "float32", (2, 32, 1, 1)])
def test_an_invalid_answer_of_a_foreign_type_is_refused(answer):
    """An object with ``__dlpack_data_type__`` names a type, or is refused with our error."""
    assert DType.of(Foreign((4, 16, 1))).name == "bfloat16"
    with pytest.raises(InterchangeError):
        DType.of(Foreign(answer))


def test_native_order_is_what_counts_for_one_byte():
    """Byte order is ignored for one-byte elements."""
    assert DType.of(np.dtype(">u1")).name == "uint8"
    assert DType.of(">i1").name == "int8"


# ---------------------------------------------------------------- what names none


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["", "f3", "f32", "float", "Float32", "float32 ", "float32\n", "float33"], UNKNOWN),
        (["x4", "float32x", "float32x-1", "float32_padded_padded", "<f16"], UNKNOWN),
        (["float32x0", "float32x65536"], NO_SIZE),
        (["<", "=", "<f", "<f4 "], NO_TYPESTR),
        ([">f4", "|O8"], NOT_PLAIN),
        (["|V2", "<f1"], AMBIGUOUS),
    ],
    ids=["unknown", "no lanes", "no size", "no typestr", "not plain", "ambiguous"],
)
def test_a_text_that_is_no_type_is_refused(values, expected):
    """The error for a misspelt name says if it is unknown, foreign, ambiguous or without size."""
    assert {value: refusal(value) for value in values} == dict.fromkeys(values, expected)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        *((np.dtype(text), NOT_PLAIN) for text in (">f4", "O", "U3", "S3", "M8[ns]", "m8[s]")),
        (np.dtype([("a", "f4"), ("b", "i2")]), NOT_PLAIN),
        (np.dtype(("f4", (2, 3))), NOT_PLAIN),
        (np.dtype("V4"), AMBIGUOUS),
        (np.dtype("longdouble"), UNKNOWN),
        (np.dtype("clongdouble"), UNKNOWN),
        *((kind, NOT_PLAIN) for kind in (np.object_, np.str_, np.bytes_, np.datetime64)),
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
        *(None, 32, 2.5, b"float32", ["float32"], {"float32": 1}, (), (2,), (2, 32, 1, 0)),
        *(frozenset(), object, str, list, type(None), decimal.Decimal, dt.datetime),
        *(pathlib.PurePosixPath("a/b.txt"), len, print, ...),
    ],
    ids=repr,
)
def test_an_object_that_names_no_type_is_a_wrong_argument(value):
    """An object that names no type is an argument error."""
    assert refusal(value) == NO_TYPE


@pytest.mark.parametrize(
    ("value", "rule"),
    [
        ((99, 8), "DLP-DTYPE-1"),
        ((2, 0), "DLP-DTYPE-2"),
        *(
            (value, "IX-ARGUMENT-1|DLP-DTYPE-1|DLP-DTYPE-2")
            for value in [(2, "32"), ("f4", (2,)), (2, None), ([], 32), (2, 32, "1"), (None, None)]
        ),
        ((2.5, 32), "IX-ARGUMENT-1|DLP-DTYPE-1|DLP-DTYPE-2"),
    ],
)
def test_a_tuple_of_other_things_is_refused(value, rule):
    """Code, bits and lanes must be ints of a type; other tuples are refused with our error."""
    assert refusal(value)[1] in rule.split("|")


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
