"""Views of the same bytes as elements of another type.

Source: NumPy, ``ndarray.view``; C11, 6.3.2.3 (alignment).  Strides count elements here, so that
NumPy layouts whose byte strides are not multiples of the element size are refused.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

from interchange._types.errors import UnsupportedDTypeError, ViewError, error_for
from interchange._types.layout import Layout, strides_in_elements

if TYPE_CHECKING:
    from interchange._types.dtypes import DType

_RULE = "IX-VIEW-1"
_OF_INT64 = ctypes.alignment(ctypes.c_int64)  # [bytes]; 4 on i386, as of all larger numbers
_COPY = "copy it first, with `x.contiguous()`"
_COPY_ANYWAY = "copy it first, with `x.copy()`"


def width_of(dtype: DType) -> int:
    """Return the distance from one element to the next [bits]."""
    return dtype.bits * dtype.lanes if dtype.is_packed else 8 * dtype.itemsize


def alignment_of(dtype: DType) -> int:
    """Return the alignment of an element in C [bytes].

    Examples
    --------
    >>> from interchange import DType
    >>> [alignment_of(DType.of(name)) for name in ("float32", "complex64", "float32x4", "int4")]
    [4, 4, 4, 1]
    """
    parts = 2 if dtype.category == "complex floating" else 1
    size = max(1, dtype.bits // (8 * parts))
    return size if _OF_INT64 == 8 else min(size, _OF_INT64)


def check_aligned(address: int, dtype: DType, call: str, hint: str | None = None) -> None:
    """Refuse an address that is not aligned for the element type in C [bytes]."""
    alignment = alignment_of(dtype)
    if address % alignment:
        what = f"{dtype} at address {address:#x}, which is not a multiple of {alignment} bytes"
        raise ViewError(call, what, "IX-VIEW-2", hint or _COPY_ANYWAY)


def reinterpret(layout: Layout, old: DType, new: DType, call: str) -> Layout:
    """Return the layout of the same bytes as elements of another type.

    `layout`: the current layout.
    `old`, `new`: the current element type, and the new one.

    Raises ViewError: sizes differ, and the layout has no last axis, its last axis is not
        contiguous, or its length is not a multiple of the new size (IX-VIEW-1).
    Raises ExchangeError: the stride of another axis is not a multiple of the new size
        (DLP-STRIDES-3).
    Raises UnsupportedDTypeError: elements are packed, and not contiguous (DLP-DTYPE-5).

    Examples
    --------
    >>> from interchange import DType
    >>> reinterpret(Layout((2, 6), (8, 1)), DType.of("int16"), DType.of("int32"), "f()")
    Layout(shape=(2, 3), strides=(4, 1))
    """
    have, want = width_of(old), width_of(new)
    if have == want:
        return layout
    what = f"shape {layout.shape} of {old} as {new}"
    if not layout.shape:
        raise ViewError(call, what, _RULE, "give it an axis first, with `x.reshape(1)`")
    is_packed = old.is_packed or new.is_packed
    if is_packed and not layout.is_c_contiguous:
        raise UnsupportedDTypeError(call, f"{what}, with gaps", "DLP-DTYPE-5")
    *lead, last = layout.shape
    if last != 1 and layout.size and layout.strides[-1] != 1:
        raise ViewError(call, f"{what}, with strides {layout.strides}", _RULE, _COPY)
    # NumPy's errors differ for splitting and joining elements; bits describe both.
    whole = have if want < have and not is_packed else last * have
    if whole % want:
        hint = "take a type whose size divides that of the last axis"
        raise ViewError(call, f"{what}, {whole} bits in parts of {want}", _RULE, hint)
    shape = (*lead, last * have // want)
    if is_packed:
        return Layout(shape)
    steps = (*layout.strides_in_bytes(old.itemsize)[:-1], new.itemsize)
    strides = strides_in_elements(shape, steps, new.itemsize)
    if strides is None:
        raise error_for(call, f"{what}, with strides {layout.strides}", "DLP-STRIDES-3", _COPY)
    return Layout(shape, strides)
