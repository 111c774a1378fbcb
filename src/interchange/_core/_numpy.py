"""ndarrays over host memory, with which it is copied, printed and exported.

Source: NumPy array interface, version 3.  The ndarray keeps the owner of the memory alive.
"""

from __future__ import annotations

import sys
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from interchange._types.devices import CPU
from interchange._types.errors import UnsupportedDTypeError
from interchange._types.numpy_dtypes import load_numpy, numpy_dtype
from interchange.abi import capsules
from interchange.abi.dlpack import DLManagedTensorVersioned

if TYPE_CHECKING:
    from interchange._types.dtypes import DType
    from interchange._types.spec import Spec


class _InterfaceRecord:
    """Memory with an array interface; NumPy keeps it as the base of the view."""

    __slots__ = ("__array_interface__", "keep")

    def __init__(self, record: dict[str, Any], keep: object) -> None:
        self.__array_interface__ = record
        self.keep = keep


def is_ndarray(x: object) -> bool:
    """Whether `x` is exactly an ndarray, without importing NumPy."""
    numpy = sys.modules.get("numpy")
    return type(x) is getattr(numpy, "ndarray", None)  # it is missing while NumPy is being imported


def require_numpy_dtype(dtype: DType, call: str) -> Any:
    """Return the NumPy dtype of `dtype`, or raise."""
    found = numpy_dtype(dtype)
    if found is not None:
        return found
    name = dtype.ml_dtypes_name
    hint = f"install ml_dtypes, which has {name}" if name else lanes_of(dtype)
    what = f"NumPy has no dtype for {dtype}"
    raise UnsupportedDTypeError(call, what, "DLP-DTYPE-4", hint)


def lanes_of(dtype: DType) -> str | None:
    """Return the hint for vector elements: pass their lanes, if these are whole bytes."""
    if dtype.lanes == 1 or dtype.bits % 8:
        return None
    lane = dtype.name.rpartition("x")[0]
    return f"pass their lanes, `x.view('{lane}')`"


@lru_cache(maxsize=1)
def fills_strides() -> bool:
    """Whether this NumPy exports strides for C-contiguous arrays."""
    np = load_numpy()
    capsule = np.zeros(2, np.int8).__dlpack__(max_version=(1, 0))
    address = capsules.capsule_pointer(capsule, capsules.VERSIONED)
    return bool(DLManagedTensorVersioned.from_address(address).dl_tensor.strides)


def numpy_can_export(spec: Spec) -> bool:
    """Whether NumPy's own ``__dlpack__`` exports this memory correctly.

    It does for its own element types on the host, except that data of empty arrays is not NULL
    (DLP-DATA-3), that an array of shape (1,) keeps any stride, and that strides of C-contiguous
    arrays are NULL in NumPy before 2.4 (DLP-STRIDES-1).
    """
    return (
        fills_strides()
        and spec.dtype.typestr is not None
        and spec.device is CPU
        and spec.layout.size > 0
        and (spec.shape != (1,) or spec.strides == (1,))
    )


def ndarray_over(
    ptr: int,
    spec: Spec,
    keep: object,
    *,
    readonly: bool,
    carrier: bool = False,
    tracked: bool = False,
) -> Any:
    """Return an ndarray that shares described host memory.

    `ptr`: address of the first element.
    `spec`: layout and element type; not packed.
    `keep`: kept alive by the ndarray.
    `readonly`: whether the ndarray is read-only.
    `carrier`: use void elements of the same size instead of the element type, to copy elements.
    `tracked`: return a `TrackedArray`, whose `keep` the garbage collector sees.
    """
    np = load_numpy()
    from ._tracked import track

    size = spec.dtype.itemsize
    plain = spec.dtype.typestr is not None and not carrier
    true_dtype = None if carrier else numpy_dtype(spec.dtype)
    dtype = np.dtype(f"V{size}") if true_dtype is None else true_dtype
    if spec.layout.size == 0:
        empty = np.empty(spec.shape, dtype)
        empty.flags.writeable = not readonly
        return track(empty, None) if tracked else empty
    record = {
        "version": 3,
        "shape": spec.shape,
        "strides": spec.layout.strides_in_bytes(size),
        "typestr": dtype.str if plain else f"|V{size}",
        "data": (ptr, readonly),
    }
    view = np.asarray(_InterfaceRecord(record, None if tracked else keep))
    view = view if view.dtype == dtype else view.view(dtype)
    return track(view, keep) if tracked else view
