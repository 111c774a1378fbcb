"""Hints for ndarrays whose elements are not plain numbers, by their kind.

Source: NumPy, data types and structured arrays; NumPy array interface, typestr.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

from interchange._types.dtype_table import STANDARD_FORMATS
from interchange._types.dtypes import DType, from_format
from interchange._types.errors import UnsupportedDTypeError, error_for

from .conversion_hints import is_pointer

if TYPE_CHECKING:
    from interchange._types.errors import InterchangeError

_NATIVE: Final = "x.astype(x.dtype.newbyteorder('='))"
_UNSIGNED: Final = (1, 2, 4, 8)
"""Sizes of unsigned integers [bytes]."""
_WIDE: Final = {"f": ("float64", 8), "c": ("complex128", 16)}
"""Kind of a number -> the widest type that can be exchanged, and its size [bytes]."""


def element_hint(x: Any) -> str | None:
    """Return what can be passed instead of an ndarray; None for other objects, or if unknown."""
    dtype: Any = getattr(x, "dtype", None)
    kind = getattr(dtype, "kind", None)
    if not isinstance(kind, str) or not hasattr(type(x), "astype") or not hasattr(type(x), "view"):
        return None
    if getattr(dtype, "fields", None):
        return _of_fields(x)
    foreign = getattr(dtype, "byteorder", "=") not in {"=", "|"} and not dtype.isnative
    native = _NATIVE if foreign else "x"
    if kind in "mM":
        return f"pass the counts of the unit, `{native}.view('int64')`"
    if kind == "O":
        return "if they are numbers, pass `x.astype('float64')`"
    if kind in "SUT":
        return _of_text(x, kind)
    if kind == "V":
        return _of_bits(x)
    if foreign:
        return f"pass `{_NATIVE}`"
    name, size = _WIDE.get(kind, ("", x.dtype.itemsize))
    return f"pass `x.astype({name!r})`, which rounds" if x.dtype.itemsize > size else None


def format_hint(view: memoryview, x: Any, call: str) -> str | None:
    """Return what can be passed instead of `x`, whose buffer has no format of plain elements."""
    if is_pointer(x):
        hint = pointer_hint(x)
        return hint.replace("pass", "use", 1) if call == "from_buffer()" else hint
    text, size = view.format, view.itemsize
    found = STANDARD_FORMATS.get(text[1:])
    if found is not None and found[1] == 8 * size and text[0] in "<>!":
        return f"swap the bytes with NumPy, `np.asarray(x).astype('{DType(*found)}')`"
    if text[:1] == "T":
        return _field_of(x)
    if view.c_contiguous:
        said = f"dtype='uint{8 * size if size in _UNSIGNED else 8}'"
        code = said if call == "from_buffer()" else f"interchange.from_buffer(x, {said})"
        return f"pass its bits, `{code}`"
    return None


def pointer_hint(x: Any) -> str:
    """Return how to import the memory that a pointer of ctypes points to."""
    if not x:
        return "pass the memory: this pointer is NULL"
    target = memoryview(x.contents)
    try:
        name = str(from_format(target.format, target.itemsize))
    except UnsupportedDTypeError:
        return "pass what it points to, `x.contents`"
    code = f"interchange.from_pointer(ctypes.addressof(x.contents), (1,), {name!r})"
    return f"pass the memory that it points to, with the number of its elements, `{code}`"


def _field_of(x: Any) -> str | None:
    """Return which field of a buffer of structs can be passed; None if NumPy does not read it."""
    np = sys.modules.get("numpy")
    try:
        records = None if np is None else np.asarray(x)
    except (NotImplementedError, TypeError, ValueError):
        return None
    if getattr(getattr(records, "dtype", None), "fields", None):
        return _of_fields(records).replace("x[", "np.asarray(x)[")
    return None


def _of_fields(x: Any) -> str:
    """Return which field of structured elements can be passed: the first of plain numbers."""
    for name, (field, *_) in x.dtype.fields.items():
        dtype = field
        while dtype.subdtype is not None:  # a field with a shape
            dtype = dtype.base
        if dtype.kind in "biufc" and dtype.isnative:
            is_strided = x.dtype.itemsize % max(dtype.itemsize, 1) == 0
            part = f"x[{name!r}]" if is_strided else f"x[{name!r}].copy()"
            return f"pass one field, `{part}`"
    return "pass one field, as plain numbers"


def _of_text(x: Any, kind: str) -> str:
    """Return how text can be passed: as its characters."""
    size = x.dtype.itemsize
    if kind == "T" or not x.ndim or not size or x.strides[-1] != size or not x.dtype.isnative:
        return "encode it as numbers first"
    if kind == "S":
        return "pass its bytes, `x.view('uint8')`"
    return "pass its code points, `x.view('uint32')`"


def _of_bits(x: Any) -> str | None:
    """Return how elements of type void can be passed: as their bits."""
    dtype = x.dtype
    is_plain = getattr(dtype, "names", None) is None and not getattr(dtype, "is_packed", False)
    if is_plain and dtype.itemsize in _UNSIGNED:
        return f"pass its bits, `x.view('uint{8 * x.dtype.itemsize}')`"
    return None


def with_element_hint(error: InterchangeError, x: Any) -> InterchangeError:
    """Return an error of element types with the fix for `x`, if one is known."""
    hint = element_hint(x)
    return error if hint is None else error_for(error.call, error.what, error.rule, hint)


def with_dtype_hint(error: InterchangeError, size: int) -> InterchangeError:
    """Return an error of a record with a hint to pass the dtype."""
    if error.rule != "CAI-TYPESTR-2" or size not in _UNSIGNED:
        return error
    said = f"dtype='uint{8 * size}'"
    code = said if error.call == "from_cai()" else f"from_cai(x, {said})"
    hint = f"pass `{code}`, or the type that the elements are of"
    return error_for(error.call, error.what, error.rule, hint)
