"""Exports of memory: capsules that are made from a template of their struct.

Source: dlpack.h 1.3.  Strides are never NULL (DLP-STRIDES-1), data of an empty array is NULL
(DLP-DATA-3), an array of shape (1,) has stride 1, and the byte offset is 0, except on devices whose
data is a handle.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, cast

from interchange.abi.dlpack import (
    DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED,
    DLPACK_FLAG_BITMASK_READ_ONLY,
    DLPACK_VERSION,
    DLManagedTensor,
    DLManagedTensorVersioned,
    DLPackVersion,
    DLTensor,
)

from ._numpy import is_ndarray, ndarray_over, numpy_can_export
from ._numpy_deleters import capsule_of, numpy_functions, reference_to
from ._owners import ManagedTensorOwner, check_interpreter

if TYPE_CHECKING:
    from collections.abc import Callable

    from interchange._types.spec import Spec

    from ._tensor import Tensor

_INT64_POINTER = ctypes.POINTER(ctypes.c_int64)


class Exporter:
    """The owner of exported structs: it keeps the memory, and the shape and strides, alive.

    `ptr`: address of the first element, or a handle.
    `spec`: layout, element type and device.
    `flags`: the read-only and copied bits of DLPack.
    `keep`: keeps the memory alive; referenced by each struct.
    """

    __slots__ = (
        "_dims",
        "_keepalive",
        "_legacy",
        "_references",
        "_self",
        "_templates",
        "_versioned",
    )

    def __init__(self, ptr: int, spec: Spec, flags: int, keep: object) -> None:
        ndim = len(spec.shape)
        strides = (1,) if spec.shape == (1,) else spec.strides
        self._keepalive = keep
        self._self, self._references = reference_to(self)
        self._dims = (ctypes.c_int64 * (2 * ndim))(*spec.shape, *strides)
        legacy, versioned = numpy_functions()
        self._legacy, self._versioned = legacy, versioned
        tensor = self._tensor(ptr, spec)
        if spec.dtype.padded:
            flags |= DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED
        self._templates = (
            bytes(DLManagedTensor(tensor, id(self), legacy.deleter)),
            bytes(
                DLManagedTensorVersioned(
                    DLPackVersion(*DLPACK_VERSION),
                    id(self),
                    versioned.deleter,
                    flags,
                    tensor,
                )
            ),
        )

    def _tensor(self, ptr: int, spec: Spec) -> DLTensor:
        """Return the struct, pointing into this object."""
        ndim = len(spec.shape)
        dims = ctypes.addressof(self._dims)
        tensor = DLTensor(
            data=ptr if spec.layout.size else None,
            device=spec.device.__dlpack_device__(),
            ndim=ndim,
            dtype=spec.dtype.__dlpack_data_type__(),
            byte_offset=spec.byte_offset,
        )
        if ndim:
            tensor.shape = ctypes.cast(dims, _INT64_POINTER)
            tensor.strides = ctypes.cast(dims + 8 * ndim, _INT64_POINTER)
        return tensor

    def make_capsule(self, *, max_version: tuple[int, int] | None = None) -> Any:
        """Return a new capsule of the generation that a consumer of `max_version` supports."""
        if max_version is None:
            return capsule_of(self._legacy, self._templates[0], self._self, self._references)
        if max_version[0] < 1:
            return capsule_of(self._legacy, self._templates[0], self._self, self._references)
        return capsule_of(self._versioned, self._templates[1], self._self, self._references)


def _capsule_maker(tensor: Tensor, flags: int) -> Callable[..., Any]:
    """Return a function that makes capsules of the memory of `tensor`, by NumPy where possible.

    It refers to the object that keeps the memory alive, and not to `tensor`.  NumPy is used only
    where that object cannot refer back to the tensor, since the garbage collector does not see
    references of an ndarray.
    """
    check_interpreter("Array.__dlpack__()")
    spec = tensor._spec
    opaque = isinstance(tensor._keepalive, ManagedTensorOwner) or is_ndarray(tensor._keepalive)
    if flags == tensor._flags and opaque and numpy_can_export(spec):
        readonly = bool(flags & DLPACK_FLAG_BITMASK_READ_ONLY)
        view = ndarray_over(tensor.ptr, spec, tensor._keepalive, readonly=readonly)
        return cast("Callable[..., Any]", view.__dlpack__)
    return Exporter(tensor.ptr, spec, flags, tensor._keepalive).make_capsule


def make_capsule(tensor: Tensor, flags: int, *, versioned: bool) -> Any:
    """Return a new capsule of the memory; its maker is cached if the flags are the tensor's own."""
    version = DLPACK_VERSION if versioned else None
    if flags != tensor._flags:
        return _capsule_maker(tensor, flags)(max_version=version)
    if not hasattr(tensor, "_make_capsule"):
        tensor._make_capsule = _capsule_maker(tensor, flags)
    return tensor._make_capsule(max_version=version)
