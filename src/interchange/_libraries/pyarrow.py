"""pyarrow, Apache Arrow's implementation in Python.

Source: pyarrow, ``pyarrow.Array``, ``pyarrow.Tensor``, data types.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from interchange._protocols.export_guards import count_nulls, describe_nulls
from interchange._types.library import Deviation, Example, Library
from interchange._types.numpy_dtypes import load_numpy

from .target import Target

if TYPE_CHECKING:
    from interchange._types.library import Loss

_FLAT: Final = "pass `x.flatten()`, and exchange the offsets as a second array"
_HINTS: Final = {
    **dict.fromkeys(("timestamp", "duration", "date64", "time64"), "pass `x.cast('int64')`"),
    **dict.fromkeys(("date32", "time32"), "pass `x.cast('int32')`"),
    "fixed_size_list": "pass `x.flatten()`, and reshape it",
    **dict.fromkeys(("list", "large_list"), _FLAT),
    "dictionary": "pass `x.indices`, and keep the dictionary",
    **dict.fromkeys(("string", "large_string", "binary", "large_binary"), "encode it as numbers"),
    "fixed_size_binary": "pass `interchange.from_arrow(x)`, which has an axis of bytes",
    "extension": "pass `x.storage`",
    "struct": "pass one field, `x.field(0)`",
    "decimal": "pass `x.cast('float64')`, which rounds",
}
"""Start of the name of a type -> what can be passed instead of the array."""


def _guard_export(x: Any) -> Loss | None:
    """Return what the export of an array would get wrong: strides of a cyclic permutation.

    pyarrow 26 confuses such a permutation with its inverse, in some places.
    """
    if type(x).__name__ != "FixedShapeTensorArray":
        return None
    order = x.type.permutation
    if order is None or all(order[place] == axis for axis, place in enumerate(order)):
        return None
    what = f"pyarrow exports wrong strides where the permutation is {order}"
    return what, "ARROW-TENSOR-1", "pass `interchange.from_arrow(x)`"


def _explain_refusal(x: Any) -> Loss | None:
    """Return why an array cannot be exported: it has nulls, or elements that are not numbers."""
    nulls = count_nulls(x)
    if nulls:
        return describe_nulls(nulls, x)
    kind = str(getattr(x, "type", ""))
    if kind == "bool":
        as_bytes = "pass `x.cast('uint8')`, or `copy=True`"
        return "the elements are bits", "DLP-DTYPE-5", as_bytes
    hint = next((hint for start, hint in _HINTS.items() if kind.startswith(start)), "")
    return (f"the elements are {kind}", "DLP-DTYPE-3", hint) if hint else None


def _take_tensor(module: Any, array: Any) -> Any:
    """Return a ``pyarrow.Tensor``."""
    if hasattr(module.Tensor, "from_dlpack"):  # since pyarrow 26
        return module.Tensor.from_dlpack(array, copy=False)
    _check_no_bits(array)
    return module.Tensor.from_numpy(array.__array__())


def _take_array(module: Any, array: Any) -> Any:
    """Return a ``pyarrow.Array``, of one axis."""
    if hasattr(module.Array, "from_dlpack"):  # since pyarrow 26
        return module.Array.from_dlpack(array, copy=False)
    _check_no_bits(array)
    if array.ndim != 1 or not array.is_contiguous():
        raise ValueError("pyarrow.Array has one axis, without gaps")
    view = array.__array__()
    buffers = [None, module.py_buffer(view)]
    return module.Array.from_buffers(module.from_numpy_dtype(view.dtype), view.size, buffers)


def _check_no_bits(array: Any) -> None:
    """Refuse bool, which Arrow packs into bits, and whose tensors it treats as uint8."""
    if array.dtype.name == "bool":
        raise TypeError("pyarrow packs bool into bits")


_DEVIATIONS: Final = (
    Deviation(
        "pyarrow",
        "26.0.1",
        "__dlpack__() of an array with nulls, or of bool, raises TypeError, not BufferError",
        "DLP-NEG-2",
        "the reason is told with its rule; asarray(copy=True) goes by __array__",
    ),
    Deviation(
        "pyarrow",
        "25; 26 gives versioned ones",
        "legacy capsules only, of immutable arrays too; that of a read-only Tensor has NULL data",
        "DLP-RO-1",
        "arrays are imported as read-only; asarray() takes such a Tensor by its buffer",
    ),
    Deviation(
        "pyarrow",
        "26.0.1",
        "FixedShapeTensorArray takes a permutation for its inverse, in to_numpy_ndarray(), "
        "from_numpy_ndarray() and __dlpack__(): another one where three axes go in a circle",
        "ARROW-TENSOR-1",
        "such arrays are refused by from_dlpack(); asarray() goes by Arrow",
    ),
    Deviation(
        "pyarrow",
        "25 and 26",
        "Tensor.from_numpy() makes uint8 of bool",
        "IX-CAST-1",
        "convert() refuses",
    ),
)

LIBRARY: Final = Library(
    "pyarrow",
    deviations=_DEVIATIONS,
    export_guard=_guard_export,
    explain_refusal=_explain_refusal,
    count_nulls=count_nulls,
    immutable_types=frozenset({"Array"}),
    may_mask_records=False,
    targets={
        "pyarrow": Target("pyarrow", _take_tensor, keeps_readonly=True, memory="host"),
        "pyarrow.Array": Target("pyarrow", _take_array, keeps_readonly=True, memory="host"),
    },
    one_axis_targets=frozenset({"pyarrow.Array"}),
    result_types=(("pyarrow", "Tensor", "pyarrow"), ("pyarrow", "Array", "pyarrow.Array")),
    examples=(
        Example(
            "pyarrow.Array",
            "pyarrow",
            "pyarrow",
            lambda m: m.array([0.0], m.float32()),
            "Array.from_dlpack",
        ),
        Example(
            "pyarrow.Tensor",
            "pyarrow",
            "pyarrow",
            lambda m: m.Tensor.from_numpy(load_numpy().zeros(3, "f4")),
            "Tensor.from_dlpack",
        ),
    ),
)
