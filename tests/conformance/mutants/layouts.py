"""Mutants of layouts: wrong axes, extents, strides, and addresses."""

from __future__ import annotations

import ctypes
import importlib
from typing import TYPE_CHECKING, Any

from interchange_conformance.probes.opened_capsule import OpenedCapsule

from ._honest_producer import (
    Honest,
    HonestConstant,
    asks_version,
    capsule_mutant,
    changed,
    honest_constants,
    honest_producer,
    patched,
    producer_mutant,
    producer_of,
    vector,
)
from .model import mutant

if TYPE_CHECKING:
    from interchange_conformance.subject import Subject


# ------------------------------------------------------------------ axes and extents


@producer_mutant("ndim_is_the_number_of_axes", step="capsule")
def scalars_with_an_axis(self: Honest, *, versioned: bool, copy: bool) -> Any:
    """Scalars are exported as arrays of shape (1,)."""
    if self.array.ndim:
        return Honest.capsule(self, versioned=versioned, copy=copy)
    return Honest(self.array.reshape(1)).capsule(versioned=versioned, copy=copy)


@capsule_mutant("shape_points_to_the_extents")
def shape_null_for_many_axes(opened: OpenedCapsule, x: Honest) -> None:
    """Arrays with more than 4 axes have no memory for extents: shape is NULL."""
    if len(x.shape) > 4:
        opened.tensor.shape = ctypes.POINTER(ctypes.c_int64)()


@producer_mutant("empty_slices_have_extent_0")
class negative_extents(Honest):
    """The extent of a slice is its end minus its start."""

    extent: int | None = None

    def __getitem__(self, index: Any) -> Any:
        y = super().__getitem__(index)
        if isinstance(index, slice) and y.shape == (0,) and index.start and index.stop:
            y.extent = index.stop - index.start
        return y

    def capsule(self, *, versioned: bool, copy: bool) -> Any:
        """Return a capsule."""
        capsule = super().capsule(versioned=versioned, copy=copy)
        if self.extent is not None:
            OpenedCapsule(capsule).tensor.shape = vector((self.extent,))
        return capsule


def _cut_extents(opened: OpenedCapsule, x: Honest) -> None:
    """Truncate extents to 32 bits."""
    if max(x.shape, default=0) >= 2**32:
        opened.tensor.shape = vector(tuple(extent % 2**32 for extent in x.shape))


class _Moderate(Honest):
    """An array that repeats its elements at most a million times, and records the request."""

    asked: Any = ()

    def expand(self, shape: Any) -> Any:
        """Return the elements repeated, fewer times than requested."""
        y = super().expand(tuple(min(extent, 10**6) for extent in shape))
        y.asked = shape
        return y


def _moderate() -> Subject:
    """Return an honest producer whose arrays do not have the requested shape."""
    return producer_of(_Moderate)


@capsule_mutant("sizes_of_repeated_elements_fit", kind=_Moderate, counterpart=_moderate)
def extents_that_are_no_longer_said(opened: OpenedCapsule, x: Any) -> None:
    """Broadcast arrays are exported with the requested extents."""
    for axis, extent in enumerate(x.asked):
        opened.tensor.shape[axis] = extent


@mutant("sizes_of_repeated_elements_fit", counterpart=honest_producer)
def extents_of_32_bits() -> Subject:
    """Extents are truncated to 32 bits."""
    return patched(_cut_extents)


@mutant("sizes_of_repeated_elements_fit", counterpart=honest_producer)
def extents_of_32_bits_with_a_version() -> Subject:
    """Extents are truncated to 32 bits in the versioned struct."""
    return patched(_cut_extents, when=asks_version)


# ------------------------------------------------------------------ strides


def _without_strides(opened: OpenedCapsule, _: Honest) -> None:
    """Set strides to NULL."""
    opened.tensor.strides = ctypes.POINTER(ctypes.c_int64)()


@capsule_mutant("strides_are_there_since_version_1_2", when=asks_version)
def strides_null_in_version_1_3(opened: OpenedCapsule, x: Honest) -> None:
    """Strides of C-contiguous arrays are NULL in structs of version 1.3."""
    opened.managed.version.minor = 3
    if x.array.flags.c_contiguous:
        _without_strides(opened, x)


@capsule_mutant(
    "strides_are_there_in_every_version", when=lambda keywords: not asks_version(keywords)
)
def strides_null_without_elements(opened: OpenedCapsule, x: Honest) -> None:
    """Strides of arrays without elements are NULL in the legacy struct."""
    if 0 in x.shape:
        _without_strides(opened, x)


@capsule_mutant("elements_lie_in_the_address_range")
def strides_divided_as_unsigned(opened: OpenedCapsule, x: Honest) -> None:
    """The first stride of arrays of 3 axes is negative, and is divided as an unsigned number."""
    if x.shape == (2, 3, 4):
        opened.tensor.strides = vector((2**62 - 12, 4, 1))


class _Apart(Honest):
    """An array that uses one element in 8."""

    def __init__(self, array: Any, element: Any = None) -> None:
        if array.base is None and array.ndim < 3:
            wide = importlib.import_module("numpy").zeros((*array.shape, 8), array.dtype)
            wide[..., 0] = array
            wide.flags.writeable = array.flags.writeable
            array = wide[..., 0]
        super().__init__(array, element)


def _apart() -> Subject:
    """Return an honest producer whose float64 strides in elements are as large as in bytes."""
    return producer_of(_Apart)


@capsule_mutant("strides_count_elements", counterpart=_apart)
def strides_in_bytes(opened: OpenedCapsule, x: Honest) -> None:
    """Strides of float64 are in bytes."""
    if x.array.dtype == "float64":
        opened.tensor.strides = vector(tuple(x.array.strides))


@producer_mutant("steps_of_half_elements_stay", step="capsule")
def strides_cut_to_whole_elements(self: Honest, *, versioned: bool, copy: bool) -> Any:
    """Byte strides are divided by the element size, and the remainder is ignored."""
    import numpy as np

    size = self.array.itemsize
    strides = tuple(step // size * size for step in self.array.strides)
    if strides == self.array.strides:
        return Honest.capsule(self, versioned=versioned, copy=copy)
    cut = np.lib.stride_tricks.as_strided(self.array, strides=strides)
    return Honest(cut).capsule(versioned=versioned, copy=copy)


# ------------------------------------------------------------------ addresses of elements


@capsule_mutant("data_of_elements_is_not_null")
def scalars_without_data(opened: OpenedCapsule, x: Honest) -> None:
    """The data of scalars are NULL."""
    if not x.shape:
        opened.tensor.data = None


def _unfamiliar() -> Subject:
    """Return an honest producer whose T is a vector of the elements, last column first."""
    return changed(T=property(lambda x: x._like(x.array.T.reshape(-1))))


@capsule_mutant(
    "views_lead_to_their_own_elements",
    when=lambda keywords: not keywords.get("copy"),
    counterpart=_unfamiliar,
)
def first_elements_of_reversed_views(opened: OpenedCapsule, x: Honest) -> None:
    """For negative strides, data is the lowest address, which is that of the last element."""
    if not x.array.size:
        return
    steps = zip(x.shape, x.array.strides, strict=True)
    opened.tensor.data += sum(min(0, (extent - 1) * step) for extent, step in steps)


@producer_mutant("views_lead_to_their_own_elements")
class offsets_that_are_forgotten(Honest):
    """The data of views is the start of the base's memory, and byte_offset is 0."""

    begin: int | None = None

    def __getitem__(self, index: Any) -> Any:
        y = super().__getitem__(index)
        y.begin = self.array.ctypes.data
        return y

    def capsule(self, *, versioned: bool, copy: bool) -> Any:
        """Return a capsule."""
        capsule = super().capsule(versioned=versioned, copy=copy)
        if self.begin is not None and self.array.size and not copy:
            OpenedCapsule(capsule).tensor.data = self.begin
        return capsule


@producer_mutant("views_lead_to_their_own_elements", counterpart=honest_constants, immutable=True)
class offsets_of_constants_that_are_forgotten(offsets_that_are_forgotten, HonestConstant):
    """The data of views of read-only arrays is the start of the base's memory."""


@capsule_mutant("host_memory_needs_no_offset")
def data_before_the_first_element(opened: OpenedCapsule, x: Honest) -> None:
    """The data of views is 64 bytes before the first element, and byte_offset is 64."""
    if x.array.base is not None and x.array.size:
        opened.tensor.data -= 64
        opened.tensor.byte_offset = 64


@capsule_mutant("data_of_empty_arrays_is_null")
def data_without_elements(opened: OpenedCapsule, x: Honest) -> None:
    """The data of arrays without elements is not NULL."""
    if not x.array.size:
        opened.tensor.data = x.array.ctypes.data
