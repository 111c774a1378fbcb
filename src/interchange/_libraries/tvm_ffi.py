"""Apache TVM FFI, with its C exchange table.

Source: tvm-ffi, ``tvm_ffi.Tensor``, ``tvm_ffi.from_dlpack``.
"""

from __future__ import annotations

from typing import Any, Final

from interchange._types.library import Deviation, Example, Library
from interchange._types.numpy_dtypes import load_numpy

from .target import Target


def _allow_table(_: Any) -> bool:
    """Return True: the device is checked in the result."""
    return True


def _take(module: Any, array: Any) -> Any:
    """Return a tensor of an Array."""
    tensor = module.from_dlpack(array)
    _ = tensor.dtype  # raises if tvm-ffi has no dtype for the elements
    return tensor


_DEVIATIONS: Final = (
    Deviation(
        "tvm_ffi",
        "0.1.15",
        "from_dlpack() asks for legacy capsules first and forgets that memory is read-only",
        "DLP-RO-2",
        "convert() refuses read-only memory unless a copy is allowed",
    ),
    Deviation(
        "tvm_ffi",
        "0.1.15",
        "__dlpack__(copy=True) without max_version shares the memory",
        "DLP-COPY-2",
        "what is not flagged as a copy is copied here",
    ),
    Deviation(
        "tvm_ffi",
        "0.1.15",
        "copy=True with max_version is refused",
        "DLP-COPY-2",
        "the copy is made here",
    ),
    Deviation(
        "tvm_ffi",
        "0.1.15",
        "from_dlpack() takes complex elements, and reading their dtype then raises",
        "DLP-DTYPE-1",
        "convert() reads the dtype, and refuses",
    ),
    Deviation(
        "tvm_ffi",
        "0.1.15",
        "__dlpack__(stream=) inserts no wait, though from_dlpack() made another stream wait",
        "DLP-STREAM-6",
        "none can: pass tensors on in the stream that they were taken for",
    ),
)

LIBRARY: Final = Library(
    "tvm_ffi",
    deviations=_DEVIATIONS,
    exchange_guard=_allow_table,
    types_asked_without_device=frozenset({"Tensor"}),
    has_record_on_host=False,
    may_mask_records=False,
    targets={"tvm_ffi": Target("tvm_ffi", _take, keeps_readonly=False)},
    result_types=(("tvm_ffi", "Tensor", "tvm_ffi"),),
    examples=(
        Example(
            "tvm-ffi",
            "tvm_ffi",
            "apache-tvm-ffi",
            lambda m: m.from_dlpack(load_numpy().zeros(3, "f4")),
            "from_dlpack",
        ),
    ),
)
