"""What arrays of other libraries have that an exchange would lose: masks, nulls, pending signs.

Source: the libraries' own documentation.  Nothing is imported to find out: what is not imported has
not made the object.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

from interchange.abi._show import module_of

from .asking import attribute, speaks_arrow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

Loss = tuple[str, str, str]
"""What would be lost, the id of the rule that forbids it, and a fix."""

FILLED: Final = "pass `x.filled(0)`, or exchange data and mask as two arrays"
_APART: Final = "fill them first, or exchange data and mask as two arrays"


def may_be_masked(cls: type) -> bool:
    """Whether a type is an array of numpy.ma, whose elements may be masked."""
    known = getattr(sys.modules.get("numpy.ma"), "MaskedArray", None)
    return known is not None and issubclass(cls, known)


def _is_masked_array(x: object) -> bool:
    """Whether `x` is an array of numpy.ma, with a mask or without."""
    known = getattr(sys.modules.get("numpy.ma"), "MaskedArray", None)
    return known is not None and isinstance(x, known)


def is_masked(x: Any) -> bool:
    """Whether `x` is an array of numpy.ma with a masked element, or with a masked field of one."""
    if not _is_masked_array(x):
        return False
    mask = x.mask
    if getattr(mask, "dtype", None) is not None and mask.dtype.fields:
        return bool(mask.tobytes().strip(b"\0"))
    return bool(mask.any()) if hasattr(mask, "any") else bool(mask)


def may_nest(values: Any) -> bool:
    """Whether there is a sequence or an array among values, as far as their types say."""
    try:
        found: Iterable[type] = set(map(type, values))  # each once, since they may be many
    except TypeError:  # a metaclass may take the hash away
        found = map(type, values)
    return any(hasattr(kind, "__len__") for kind in found)


def holds_masked(x: Any) -> bool:
    """Whether `x`, or an array in the nested lists and tuples of `x`, has a masked element."""
    if not isinstance(x, (list, tuple)):
        return is_masked(x)
    return may_nest(x) and any(map(holds_masked, x))


def _numpy(x: Any) -> Loss | None:
    """Return what an array of NumPy would lose: its mask."""
    if not is_masked(x):
        return None
    return "the array has masked elements", "AI-MASK-1", FILLED


def _marray(x: Any) -> Loss | None:
    """Return what an array of marray would lose: its mask, which may be of any library."""
    mask = getattr(x, "mask", None)
    if mask is None:
        return None
    some = mask.any() if hasattr(mask, "any") else mask.__array_namespace__().any(mask)
    return ("the array has masked elements", "AI-MASK-1", _APART) if some else None


def _dask(x: Any) -> Loss | None:
    """Return what an array of Dask would lose: masks of its chunks, which are not computed yet."""
    if not _is_masked_array(getattr(x, "_meta", None)):
        return None
    return "its chunks are masked arrays", "AI-MASK-1", "fill them first, with `da.ma.filled(x, 0)`"


def _torch(x: Any) -> Loss | None:
    """Return what a torch tensor would lose: a sign that is still to be changed."""
    is_neg = getattr(x, "is_neg", None)
    if is_neg is None or not is_neg():
        return None
    return "the tensor has its negative bit set", "DLP-DTYPE-6", "pass `x.resolve_neg()`"


def _polars(x: Any) -> Loss | None:
    """Return what a column of Polars would lose: objects of Python, of which it has addresses."""
    kinds = attribute(x, "dtypes") or [attribute(x, "dtype")]
    if "Object" not in map(str, kinds):
        return None
    return "the elements are objects of Python", "ARROW-TYPE-1", "turn them into numbers first"


ARROW_LOSSES: Final[dict[str, Callable[[Any], Loss | None]]] = {"polars": _polars}
"""Library -> what the capsules of an object do not tell."""


def _pyarrow(x: Any) -> Loss | None:
    """Return what an array of pyarrow would lose: how its tensors lie, where axes go in a circle.

    pyarrow 26 takes such a permutation for its inverse, in some places.
    """
    if type(x).__name__ != "FixedShapeTensorArray":
        return None
    order = x.type.permutation
    if order is None or all(order[place] == axis for axis, place in enumerate(order)):
        return None
    what = f"pyarrow tells wrong strides where the permutation is {order}"
    return what, "ARROW-TENSOR-1", "pass `interchange.from_arrow(x)`"


def record_with_mask(x: Any) -> Loss | None:
    """Return what an object would lose whose CUDA record has a mask, of which DLPack knows none."""
    try:
        raw = getattr(x, "__cuda_array_interface__", None)
    except Exception:  # noqa: BLE001 - a property may raise anything, and is not what was asked for
        return None
    mask = raw.get("mask") if isinstance(raw, dict) else None
    if mask is None:
        return None
    hint = 'call `from_cai(x, mask="separate")`, which gives two arrays'
    return f"the CUDA record of {type(x).__name__} has a mask", "CAI-MASK-1", hint


WITHOUT_MASKED_RECORDS: Final = frozenset(
    {
        *("array_api_strict", "cuda", "cupy", "dask", "interchange", "jaxlib", "marray", "mlx"),
        *("numba", "numpy", "paddle", "pyarrow", "tensorflow", "torch", "tvm_ffi", "warp"),
    }
)
"""Libraries whose arrays have no CUDA record, or one that never has a mask."""

EXPORT_GUARDS: Final[dict[str, Callable[[Any], Loss | None]]] = {
    "dask": _dask,
    "marray": _marray,
    "numpy": _numpy,
    "pyarrow": _pyarrow,
    "torch": _torch,
}
"""Library -> what the export of an object would lose."""


def _torch_bits(x: Any) -> Loss | None:
    """Return what a record of a torch tensor does not tell: a sign that is still to be changed."""
    is_conj = getattr(x, "is_conj", None)
    if is_conj is not None and is_conj():
        return "the tensor has its conjugate bit set", "DLP-DTYPE-6", "pass `x.resolve_conj()`"
    return _torch(x)


RECORD_LOSSES: Final[dict[str, Callable[[Any], Loss | None]]] = {"torch": _torch_bits}
"""Library -> what the ``__cuda_array_interface__`` of an object does not tell."""


# ---------------------------------------------------------------- why they refused


def _torch_refusal(x: Any) -> Loss | None:
    """Return why a tensor is no plain memory: it is of a layout without strides, or has none."""
    if getattr(x, "is_meta", False):
        hint = "make one that has, with `torch.empty_like(x, device='cpu')`"
        return "the tensor is on torch's device meta, and has no memory", "DLP-DEV-1", hint
    if getattr(x, "is_quantized", False):
        what = f"the elements are {x.dtype}, numbers in a scale of the tensor's own"
        return what, "DLP-DTYPE-3", "pass `x.dequantize()`, or `x.int_repr()`"
    layout = getattr(x, "layout", None)
    if getattr(x, "is_nested", False):
        return "the tensor is nested", "DLP-STRIDES-5", "pass `x.to_padded_tensor(0)`, or its parts"
    if layout is not None and str(layout) != "torch.strided":
        return f"the tensor is {layout}", "DLP-STRIDES-5", "pass `x.to_dense()`, or its parts"
    if getattr(x, "requires_grad", False):
        return "the tensor requires a gradient", "IX-GRAD-1", "pass `x.detach()`"
    if layout is None or not x.is_conj():
        return None
    return "the tensor has its conjugate bit set", "DLP-DTYPE-6", "pass `x.resolve_conj()`"


def _arrow_refusal(x: Any) -> Loss | None:
    """Return why an array of Arrow is no plain memory: it has nulls, or bits for elements."""
    nulls = _count_nulls(x)
    if nulls:
        return _told_nulls(nulls, x)
    kind = str(getattr(x, "type", ""))
    if kind == "bool":
        hint = "pass `x.cast('uint8')`, or `copy=True`"
        return "the elements are bits", "DLP-DTYPE-5", hint
    known = next((way for start, way in _OF_ARROW.items() if kind.startswith(start)), None)
    return None if known is None else (f"the elements are {kind}", "DLP-DTYPE-3", known)


_FLAT: Final = "pass `x.flatten()`, and exchange the offsets as a second array"
_OF_ARROW: Final = {
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
"""Beginning of the name of a type of Arrow -> what of such an array can be passed."""


def _numpy_refusal(x: Any) -> Loss | None:
    """Return why an ndarray cannot be exported: by its elements, which are no plain numbers."""
    from .odd_elements import hint_for  # for an error alone

    dtype, hint = getattr(x, "dtype", None), hint_for(x)
    if dtype is None or hint is None:
        return None
    if dtype.kind == "V" and dtype.names is None and dtype.type.__module__ != "numpy":
        return f"NumPy exports no {dtype}", "DLP-DTYPE-4", "pass `asarray(x)`"
    rule = "DLP-DTYPE-1" if dtype.kind in "fc" and dtype.isnative else "DLP-DTYPE-3"
    return f"the elements are {dtype}", "AI-DESCR-1" if dtype.fields else rule, hint


REFUSALS: Final[dict[str, Callable[[Any], Loss | None]]] = {
    "numpy": _numpy_refusal,
    "pyarrow": _arrow_refusal,
    "torch": _torch_refusal,
}
"""Library -> why an object of it could not be exported, where its own error is of another kind."""


_TAKE_COPY: Final = frozenset({"asarray()", "convert()", "like()", "xp.asarray()"})
"""Calls with a keyword ``copy`` by which ``__array__`` is asked for a copy."""
_OF_FROM_ARROW: Final = {
    '`nulls="separate"`': "`interchange.from_arrow(x, nulls='separate')`",
    "`storage=True`": "`interchange.from_arrow(x, storage=True)`",
}
"""Keyword that one function has -> the call of it."""


def fitted(hint: str, call: str) -> str:
    """Return a fix for a call that may have no keyword ``copy``, or none that helps."""
    for keyword, instead in _OF_FROM_ARROW.items():
        hint = hint.replace(keyword, instead)
    if call in _TAKE_COPY:
        return hint
    return hint.replace("`copy=True`", "`asarray(x, copy=True)`")


# ---------------------------------------------------------------- nulls


def _count_nulls(x: Any) -> int:
    """Return how many elements of a column of Arrow or Polars are null, or of its columns."""
    count = getattr(x, "null_count", None)
    if type(count) is int:
        return count
    if callable(count):
        count = count()
        return count if type(count) is int else int(sum(sum(row) for row in count.rows()))
    return sum(map(_count_nulls, getattr(x, "columns", ())))


def _count_missing(x: Any) -> int:
    """Return how many elements of pandas' own types are missing; NaN among floats is a number."""
    columns = getattr(x, "dtypes", None)
    if getattr(x, "ndim", 1) > 1 and columns is not None:
        return sum(_count_missing(x.iloc[:, place]) for place in range(len(columns)))
    dtype = getattr(x, "dtype", None)
    if dtype is None or hasattr(dtype, "newbyteorder"):  # NumPy's, whose elements are all there
        return 0
    return int(x.isna().sum())


_NULLS: Final[dict[str, Callable[[Any], int]]] = {
    "pandas": _count_missing,
    "polars": _count_nulls,
    "pyarrow": _count_nulls,
}


def is_column(x: object) -> bool:
    """Whether `x` is of a library whose ``__array__`` copies what plain memory has no word for."""
    return any(name in _NULLS for name in libraries_of(type(x)))


def is_by_array_method(x: Any) -> bool:
    """Whether ``__array__`` of what speaks Arrow is what it is as an array, and Arrow is not.

    So are arrays of any number of axes, tables, which have two, and what pandas would convert, with
    its NaN to nulls.
    """
    if attribute(x, "__array__") is None:
        return False
    names = libraries_of(type(x))
    if "narwhals" in names:
        return is_by_array_method(x.to_native())
    if "pandas" in names:
        return not hasattr(getattr(x, "dtype", None), "pyarrow_dtype")
    from .strangers import names_of  # few need it

    return attribute(x, "ndim") is not None or bool(names_of(x))


def _told_nulls(count: int, x: Any) -> Loss:
    """Return what is told of nulls."""
    fill = next((word for word in ("fill_null", "fillna") if hasattr(x, word)), None)
    filled = "fill them first" if fill is None else f"fill them first, with `x.{fill}(0)`"
    if speaks_arrow(x):
        filled += ", or take data and mask with `interchange.from_arrow(x, nulls='separate')`"
    hint = f"{filled}, or pass `copy=True` for what its __array__ makes of them"
    return f"{count} of the elements are null", "AI-MASK-1", hint


def nulls_in(x: Any) -> Loss | None:
    """Return what a column would lose on its way through ``__array__``: that elements are null."""
    count = next((_NULLS[name] for name in libraries_of(type(x)) if name in _NULLS), None)
    found = 0 if count is None else count(x)
    return _told_nulls(found, x) if found else None


# ---------------------------------------------------------------- whose rules apply


def libraries_of(cls: type) -> list[str]:
    """Return the top-level modules of a type and of its bases."""
    return [module_of(base).partition(".")[0] for base in cls.__mro__]


def lost_by(
    x: Any, guards: Mapping[str, Callable[[Any], Loss | None]] = EXPORT_GUARDS
) -> Loss | None:
    """Return what an export of `x` would lose, by what is known of its library."""
    names = libraries_of(type(x))
    guard = next((guards[name] for name in names if name in guards), None)
    return None if guard is None else guard(x)


_of_records: Final[WeakKeyDictionary[type, Callable[[Any], Loss | None] | None]] = (
    WeakKeyDictionary()
)


def record_guard_of(cls: type) -> Callable[[Any], Loss | None] | None:
    """Return what tells what the CUDA records of a type's objects leave out, or None."""
    try:
        return _of_records[cls]
    except KeyError:
        names = libraries_of(cls)
        found = next((RECORD_LOSSES[name] for name in names if name in RECORD_LOSSES), None)
        _of_records[cls] = found
        return found


def why_refused(x: Any) -> Loss | None:
    """Return why `x` could not be exported, by what is known of its library."""
    names = libraries_of(type(x))
    reason = next((REFUSALS[name] for name in names if name in REFUSALS), None)
    return None if reason is None else reason(x)
