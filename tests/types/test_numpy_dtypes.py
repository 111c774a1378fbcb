"""Attributes of an element type for NumPy and NumPy code: letter, scalar type, hash, functions."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from interchange import ArgumentError, DType, xp
from interchange._types.dtypes import all_dtypes
from interchange._types.numpy_dtypes import _computed_hash, numpy_dtype

PLAIN = [dtype for dtype in all_dtypes() if dtype.typestr is not None]
SHARED = [dtype for dtype in all_dtypes() if numpy_dtype(dtype) is not None]
LONELY = [
    dtype
    for dtype in (*all_dtypes(), DType(2, 32, 4))
    if dtype.typestr is dtype.ml_dtypes_name is None
]
CATEGORIES = [
    *("bool", "signed integer", "unsigned integer", "integral", "real floating"),
    *("complex floating", "numeric"),
]
every_plain = pytest.mark.parametrize("dtype", PLAIN, ids=str)
every_shared = pytest.mark.parametrize("dtype", SHARED, ids=str)


@every_shared
def test_the_letter_and_the_scalar_type_are_those_of_the_dtype(dtype):
    """Letter and scalar type are those of the NumPy dtype."""
    assert (dtype.kind, dtype.type) == (np.dtype(dtype).kind, np.dtype(dtype).type)


@pytest.mark.parametrize("dtype", LONELY, ids=str)
def test_what_numpy_has_no_dtype_for_is_void(dtype):
    """A type without a NumPy dtype has the letter of void, and no scalar type."""
    assert (dtype.kind, hasattr(dtype, "type")) == ("V", False)


@every_shared
def test_what_is_equal_to_a_dtype_hashes_as_it_does(dtype):
    """A DType and its equal NumPy dtype find each other in sets and dicts."""
    theirs = np.dtype(dtype)

    assert (dtype == theirs, theirs == dtype, hash(dtype) == hash(theirs)) == (True, True, True)
    assert {theirs: 1}[dtype] == {dtype: 1}[theirs] == 1


@every_plain
def test_the_computed_hash_is_that_of_numpy(dtype):
    """The hash is NumPy's in every release, so that keys stay valid when NumPy is imported."""
    assert _computed_hash(dtype) == hash(np.dtype(dtype))


@pytest.mark.skipif(
    np.dtype(ml_dtypes.bfloat16).flags != 0x40, reason="ml_dtypes before 0.5.2 has other flags"
)
@every_shared
def test_the_computed_hash_is_that_of_ml_dtypes(dtype):
    """The hash is that of ml_dtypes, also while it is not imported."""
    assert _computed_hash(dtype) == hash(np.dtype(dtype))


@pytest.mark.isolated
def test_a_hash_imports_no_library_and_holds_once_it_is_imported(run_isolated):
    """A dict that was filled before NumPy is imported has a place for its dtypes."""
    done = run_isolated("""
import sys
from interchange import DType
known = {DType.of("float32"): "f", DType.of("bool"): "b", DType.of("bfloat16"): "bf"}
assert not {"numpy", "ml_dtypes"} & set(sys.modules), sorted(sys.modules)
import numpy as np
print(known[np.dtype("f4")], known[np.dtype("?")], np.dtype("f4") in known)
""")

    assert done.split() == ["f", "b", "True"]


@pytest.mark.parametrize("dtype", all_dtypes(), ids=str)
@pytest.mark.parametrize("kind", CATEGORIES)
def test_isdtype_takes_the_category(dtype, kind):
    """Kinds of `isdtype` are unions of categories, and handles are in none."""
    assert dtype.category is None or xp.isdtype(dtype, dtype.category)
    if dtype in PLAIN:
        assert xp.isdtype(dtype, kind) is np.isdtype(np.dtype(dtype), kind)


@every_plain
@pytest.mark.parametrize("kind", ["real floating", "integral", ("bool", "numeric"), np.float64])
def test_numpys_isdtype_refuses_what_is_no_dtype_of_its_own(dtype, kind):
    """NumPy's `isdtype` refuses a DType: it looks its hash up among those of scalar types."""
    with pytest.raises(ArgumentError, match=r"np\.dtype\(x\).*xp\.isdtype"):
        np.isdtype(dtype, kind)
    if dtype == "bool":  # one of the names of a kind
        assert np.isdtype(np.bool_, dtype) is not np.isdtype(np.float64, dtype)
        return
    with pytest.raises(ArgumentError):
        np.isdtype(np.float64, dtype)


QUESTIONS = {
    **{
        f"issubdtype {kind.__name__}": lambda dtype, kind=kind: np.issubdtype(dtype, kind)
        for kind in (np.floating, np.integer, np.number, np.complexfloating, np.bool_, np.float64)
    },
    "can_cast from": lambda dtype: np.can_cast(dtype, "c8"),
    "can_cast to": lambda dtype: np.can_cast("i2", dtype),
    "promote_types": lambda dtype: np.promote_types(dtype, "f4"),
    "result_type": lambda dtype: np.result_type(dtype, np.int16),
    "iinfo": lambda dtype: np.iinfo(dtype).max,
    "finfo": lambda dtype: np.finfo(dtype).max,
    "zeros": lambda dtype: np.zeros(2, dtype).dtype,
    "astype": lambda dtype: np.ones(2).astype(dtype).dtype,
    "a list": lambda dtype: dtype in [np.dtype("f4"), np.int64],
    "a set": lambda dtype: dtype in {np.dtype("f4"), np.dtype("i8")},
    "a letter": lambda dtype: dtype.kind in "fc",
}


@every_plain
@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_of_numpy_is_answered_as_of_its_dtype(dtype, question):
    """NumPy's functions return the same value as for its dtype, or raise for both."""

    def answer(of):
        try:
            return QUESTIONS[question](of)
        except (TypeError, ValueError) as error:
            return type(error)

    with np.errstate(all="ignore"):
        assert answer(dtype) == answer(np.dtype(dtype))
