"""Arrays as columns of Arrow: their types and buffers, in the form that the core exports.

Source: Arrow columnar format; canonical extension types, Fixed shape tensor and 8-bit Boolean.
"""

from __future__ import annotations

import json
from math import prod
from typing import TYPE_CHECKING, Any, Final

from interchange._types.errors import (
    CopyNeededError,
    UnsupportedDeviceError,
    UnsupportedDTypeError,
    ViewError,
)
from interchange._types.layout import Layout
from interchange.abi.arrow import ArrowColumn, ArrowField
from interchange.abi.arrow_formats import (
    EXTENSION_METADATA,
    EXTENSION_NAME,
    NUMBERS,
    encode_metadata,
)

from .elements import BOOL8, FLOAT_PREFIX, FLOATS, TENSOR

if TYPE_CHECKING:
    from interchange._core import Tensor
    from interchange._types.dtypes import DType

_FORMATS: Final = {dtype: text for text, dtype in NUMBERS.items()}
_BYTES_OF_BOOLS: Final = ArrowField(
    "c", metadata=encode_metadata([(EXTENSION_NAME, BOOL8.encode()), (EXTENSION_METADATA, b"")])
)
_MOST: Final = 2**31 - 1  # elements of a fixed-size list


def check_keywords(unknown: dict[str, Any]) -> None:
    """Refuse keywords of a later version of the interface."""
    named = [name for name, value in unknown.items() if value is not None]
    if named:
        raise NotImplementedError(f"unknown keywords {named} [ARROW-METHOD-3]")


def field_of(
    tensor: Tensor, kind: str, name: str, call: str, element: ArrowField | None = None
) -> ArrowField:
    """Return the type of the column for an array.

    `tensor`: the array; its first axis counts the elements of the column.
    `kind`: whether further axes become nested lists, or one tensor.
    `name`: name of the column.
    `element`: the type of one value, if it is not that of the dtype; fixed-size binary consists of
        the bytes along the last axis.

    Raises UnsupportedDTypeError: arrow has no type for the elements (ARROW-OUT-1).
    Raises ViewError: no axis counts the elements, or an axis is too long for a list (ARROW-OUT-1).
    Raises CopyNeededError: the elements are not contiguous (ARROW-OUT-2), or not aligned to their
        size (ARROW-BUFFER-2).
    Raises UnsupportedDeviceError: the memory has no addresses (ARROW-DEVICE-1).
    """
    check_memory(tensor, call)
    spec = tensor._spec
    shape = spec.shape
    if element is None:
        element = _element_of(spec.dtype, call)
    elif element.format.startswith("w:"):
        shape = shape[:-1]
    if not shape:
        raise ViewError(call, "the array has no axes", "ARROW-OUT-1", "pass `x.reshape(1)`")
    if max(shape[1:], default=0) > _MOST:
        what, hint = f"shape {shape}", "reshape the array to shorter axes"
        raise ViewError(call, what, "ARROW-OUT-1", hint)
    if kind == "tensor" and len(shape) == len(spec.shape):
        return _tensor_field(element, spec.layout, name, call)
    if not spec.layout.is_c_contiguous:
        raise not_contiguous_error(spec.layout, call)
    field = element
    for extent in shape[:0:-1]:
        field = ArrowField(f"+w:{extent}", children=(field._replace(name="item"),))
    return field._replace(name=name)


def check_memory(tensor: Tensor, call: str) -> None:
    """Refuse memory that has no addresses, or whose elements are not aligned to their size."""
    spec = tensor._spec
    if spec.device.has_handles:
        what = f"the memory is on {spec.device}, which has handles and no addresses"
        raise UnsupportedDeviceError(call, what, "ARROW-DEVICE-1")
    if tensor.ptr % spec.dtype.itemsize and spec.layout.size:
        what = f"elements of {spec.dtype.itemsize} bytes are at {tensor.ptr:#x}"
        raise CopyNeededError(call, what, "ARROW-BUFFER-2", "pass `x.copy()`")


def _element_of(dtype: DType, call: str) -> ArrowField:
    """Return the type of one value."""
    if str(dtype) == "bool":
        return _BYTES_OF_BOOLS
    text = _FORMATS.get(str(dtype))
    if text is not None:
        return ArrowField(text)
    if str(dtype) in FLOATS:
        pairs = [(EXTENSION_NAME, f"{FLOAT_PREFIX}{dtype}".encode()), (EXTENSION_METADATA, b"")]
        return ArrowField(f"w:{dtype.itemsize}", metadata=encode_metadata(pairs))
    raise UnsupportedDTypeError(call, f"elements are {dtype}", "ARROW-OUT-1", _instead_of(dtype))


def _instead_of(dtype: DType) -> str | None:
    """Return the hint for elements without an Arrow type, or None."""
    if dtype.category == "complex floating" and dtype.bits in {64, 128}:
        return f"pass `x.view('float{dtype.bits // 2}')`, which has both parts along the last axis"
    if dtype.bits in {8, 16} and dtype.lanes == 1 and not dtype.is_packed:
        return f"pass `x.view('uint{dtype.bits}')`"
    return None


def not_contiguous_error(layout: Layout, call: str) -> CopyNeededError:
    """Return the error for elements that are not contiguous in the order of their axes."""
    what = f"shape {layout.shape} has strides {layout.strides}"
    return CopyNeededError(call, what, "ARROW-OUT-2")


# ---------------------------------------------------------------- arrow.fixed_shape_tensor


def _tensor_field(element: ArrowField, layout: Layout, name: str, call: str) -> ArrowField:
    """Return the type of a column of tensors, whose axes may be in another order in memory."""
    if len(layout.shape) < 2:
        what = f"shape {layout.shape} has no axes for tensors"
        raise ViewError(call, what, "ARROW-OUT-1", "pass `kind='column'`")
    inner = layout.shape[1:]
    order = order_in_memory(layout)
    shape = [inner[axis] for axis in order]
    if not is_dense(layout, order):
        raise not_contiguous_error(layout, call)
    said: dict[str, list[int]] = {"shape": shape}
    if order != sorted(order):
        said["permutation"] = [order.index(axis) for axis in range(len(order))]
    size = prod(shape)
    if size > _MOST:
        what, hint = f"shape {layout.shape}", "reshape the array to smaller tensors"
        raise ViewError(call, what, "ARROW-OUT-1", hint)
    pairs = [(EXTENSION_NAME, TENSOR.encode()), (EXTENSION_METADATA, json.dumps(said).encode())]
    child = element._replace(name="item")
    return ArrowField(f"+w:{size}", name, encode_metadata(pairs), children=(child,))


def order_in_memory(layout: Layout) -> list[int]:
    """Return the axes after the first, in descending order of their strides."""
    if layout.is_c_contiguous:
        return list(range(len(layout.shape) - 1))
    steps = layout.strides[1:]
    return sorted(range(len(steps)), key=lambda axis: (-abs(steps[axis]), axis))


def is_dense(layout: Layout, order: list[int]) -> bool:
    """Whether the array is contiguous if the axes after the first are in this order."""
    axes = [0, *(axis + 1 for axis in order)]
    shape = tuple(layout.shape[axis] for axis in axes)
    return Layout(shape, tuple(layout.strides[axis] for axis in axes)).is_c_contiguous


# ---------------------------------------------------------------- memory


def column_of(tensor: Tensor, field: ArrowField) -> ArrowColumn:
    """Return the buffers of an array, whose type is `field`."""
    return _below(tensor.ptr, field, tensor._spec.shape[0])


def _below(ptr: int, field: ArrowField, length: int) -> ArrowColumn:
    """Return the memory of one level and of those below."""
    if not field.children:
        return ArrowColumn(length, buffers=(0, ptr))
    size = int(field.format.partition(":")[2])
    items = _below(ptr, field.children[0], length * size)
    return ArrowColumn(length, buffers=(0,), children=(items,))
