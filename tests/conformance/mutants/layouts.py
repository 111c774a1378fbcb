"""Mutants of layouts: wrong axes, extents, strides, and addresses.

Source: the checks of the same name.
"""

from __future__ import annotations

import ctypes
import importlib
from typing import TYPE_CHECKING, Any

from ._honest_producer import (
    Honest,
    HonestConstant,
    asks_version,
    honest_constants,
    honest_producer,
    patched,
    producer_of,
    vector,
)
from .model import mutant

if TYPE_CHECKING:
    from interchange_conformance.probes.opened_capsule import OpenedCapsule
    from interchange_conformance.subject import Subject


# ------------------------------------------------------------------ axes and extents


@mutant("ndim_is_the_number_of_axes", twin=honest_producer)
def scalars_with_an_axis() -> Subject:
    """Scalars are exported as arrays of shape (1,)."""

    class Axis(Honest):
        """An array that is exported with at least one axis."""

        def capsule(self, *, versioned: bool, copy: bool) -> Any:
            """Return a capsule."""
            if self.array.ndim:
                return super().capsule(versioned=versioned, copy=copy)
            return Honest(self.array.reshape(1)).capsule(versioned=versioned, copy=copy)

    return producer_of(Axis)


@mutant("shape_points_to_the_extents", twin=honest_producer)
def shape_null_for_many_axes() -> Subject:
    """Arrays with more than 4 axes have no memory for extents: shape is NULL."""

    def patch(opened: OpenedCapsule, x: Honest) -> None:
        if len(x.shape) > 4:
            opened.tensor.shape = ctypes.POINTER(ctypes.c_int64)()

    return patched(patch)


@mutant("empty_slices_have_extent_0", twin=honest_producer)
def negative_extents() -> Subject:
    """The extent of a slice is its end minus its start."""

    class Slicing(Honest):
        """An array that computes extents without checking the sign."""

        extent: int | None = None

        def __getitem__(self, index: Any) -> Any:
            y = super().__getitem__(index)
            if isinstance(index, slice) and y.shape == (0,) and index.start and index.stop:
                y.extent = index.stop - index.start
            return y

        def capsule(self, *, versioned: bool, copy: bool) -> Any:
            """Return a capsule."""
            from interchange_conformance.probes.opened_capsule import OpenedCapsule

            capsule = super().capsule(versioned=versioned, copy=copy)
            if self.extent is not None:
                OpenedCapsule(capsule).tensor.shape = vector((self.extent,))
            return capsule

    return producer_of(Slicing)


def _cut_extents(opened: OpenedCapsule, x: Honest) -> None:
    """Truncate extents to 32 bits."""
    if max(x.shape, default=0) >= 2**32:
        opened.tensor.shape = vector(tuple(extent % 2**32 for extent in x.shape))


class _Moderate(Honest):
    """An array that repeats its elements at most a million times."""

    def expand(self, shape: Any) -> Any:
        """Return the elements repeated, fewer times than requested."""
        return super().expand(tuple(min(extent, 10**6) for extent in shape))


def _moderate() -> Subject:
    """Return an honest producer whose arrays do not have the requested shape."""
    return producer_of(_Moderate)


@mutant("sizes_of_repeated_elements_fit", twin=_moderate)
def extents_that_are_no_longer_said() -> Subject:
    """Broadcast arrays are exported with the requested extents."""

    class Asked(_Moderate):
        """An array that records the requested shape."""

        asked: Any = None

        def expand(self, shape: Any) -> Any:
            """Return the elements repeated, and record the requested number."""
            y = super().expand(shape)
            y.asked = shape
            return y

    def patch(opened: OpenedCapsule, x: Any) -> None:
        for axis, extent in enumerate(x.asked or ()):
            opened.tensor.shape[axis] = extent

    return patched(patch, kind=Asked)


@mutant("sizes_of_repeated_elements_fit", twin=honest_producer)
def extents_of_32_bits() -> Subject:
    """Extents are truncated to 32 bits."""
    return patched(_cut_extents)


@mutant("sizes_of_repeated_elements_fit", twin=honest_producer)
def extents_of_32_bits_with_a_version() -> Subject:
    """Extents are truncated to 32 bits in the versioned struct."""
    return patched(_cut_extents, when=asks_version)


# ------------------------------------------------------------------ strides


def _without_strides(opened: OpenedCapsule, _: Honest) -> None:
    """Set strides to NULL."""
    opened.tensor.strides = ctypes.POINTER(ctypes.c_int64)()


def _without_strides_in_version_1_3(opened: OpenedCapsule, x: Honest) -> None:
    """Set strides of C-contiguous arrays to NULL, and the version to 1.3."""
    opened.managed.version.minor = 3
    if x.array.flags.c_contiguous:
        _without_strides(opened, x)


@mutant("strides_are_there_since_version_1_2", twin=honest_producer)
def strides_null_in_version_1_3() -> Subject:
    """Strides of C-contiguous arrays are NULL in structs of version 1.3."""
    return patched(_without_strides_in_version_1_3, when=asks_version)


@mutant("strides_are_there_in_every_version", twin=honest_producer)
def strides_null_without_elements() -> Subject:
    """Strides of arrays without elements are NULL in the legacy struct."""

    def patch(opened: OpenedCapsule, x: Honest) -> None:
        if 0 in x.shape:
            _without_strides(opened, x)

    return patched(patch, when=lambda keywords: not asks_version(keywords))


@mutant("elements_lie_in_the_address_range", twin=honest_producer)
def strides_divided_as_unsigned() -> Subject:
    """The first stride of arrays of 3 axes is negative, and is divided as an unsigned number."""

    def patch(opened: OpenedCapsule, x: Honest) -> None:
        if x.shape == (2, 3, 4):
            opened.tensor.strides = vector((2**62 - 12, 4, 1))

    return patched(patch)


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


@mutant("strides_count_elements", twin=_apart)
def strides_in_bytes() -> Subject:
    """Strides of float64 are in bytes."""

    def patch(opened: OpenedCapsule, x: Honest) -> None:
        if x.array.dtype == "float64":
            opened.tensor.strides = vector(tuple(x.array.strides))

    return patched(patch)


@mutant("steps_of_half_elements_stay", twin=honest_producer)
def strides_cut_to_whole_elements() -> Subject:
    """Byte strides are divided by the element size, and the remainder is ignored."""

    class Cutting(Honest):
        """An array whose strides are always whole numbers of elements."""

        def capsule(self, *, versioned: bool, copy: bool) -> Any:
            """Return a capsule."""
            import numpy as np

            size = self.array.itemsize
            strides = tuple(step // size * size for step in self.array.strides)
            if strides == self.array.strides:
                return super().capsule(versioned=versioned, copy=copy)
            cut = np.lib.stride_tricks.as_strided(self.array, strides=strides)
            return Honest(cut).capsule(versioned=versioned, copy=copy)

    return producer_of(Cutting)


# ------------------------------------------------------------------ addresses of elements


@mutant("data_of_elements_is_not_null", twin=honest_producer)
def scalars_without_data() -> Subject:
    """The data of scalars are NULL."""

    def patch(opened: OpenedCapsule, x: Honest) -> None:
        if not x.shape:
            opened.tensor.data = None

    return patched(patch)


class _Unfamiliar(Honest):
    """An array with a different meaning of some attributes."""

    @property
    def T(self) -> Any:  # noqa: N802 - the standard's name
        """The elements in one axis, last column first."""
        return self._like(self.array.T.reshape(-1))


def _unfamiliar() -> Subject:
    """Return an honest producer whose T is not the transpose."""
    return producer_of(_Unfamiliar)


@mutant("views_lead_to_their_own_elements", twin=_unfamiliar)
def first_elements_of_reversed_views() -> Subject:
    """For negative strides, data is the lowest address, which is that of the last element."""

    def patch(opened: OpenedCapsule, x: Honest) -> None:
        if not x.array.size:
            return
        steps = zip(x.shape, x.array.strides, strict=True)
        opened.tensor.data += sum(min(0, (extent - 1) * step) for extent, step in steps)

    return patched(patch, when=lambda keywords: not keywords.get("copy"))


def _beginning(kind: type[Honest], **described: Any) -> Subject:
    """Return a producer whose views are exported from the start of the base's memory."""

    class Beginning(kind):  # type: ignore[misc, valid-type]
        """An array that knows the start of its base's memory."""

        begin: int | None = None

        def __getitem__(self, index: Any) -> Any:
            y = super().__getitem__(index)
            y.begin = self.array.ctypes.data
            return y

        def capsule(self, *, versioned: bool, copy: bool) -> Any:
            """Return a capsule."""
            from interchange_conformance.probes.opened_capsule import OpenedCapsule

            capsule = super().capsule(versioned=versioned, copy=copy)
            if self.begin is not None and self.array.size and not copy:
                OpenedCapsule(capsule).tensor.data = self.begin
            return capsule

    return producer_of(Beginning, **described)


@mutant("views_lead_to_their_own_elements", twin=honest_producer)
def offsets_that_are_forgotten() -> Subject:
    """The data of views is the start of the base's memory, and byte_offset is 0."""
    return _beginning(Honest)


@mutant("views_lead_to_their_own_elements", twin=honest_constants)
def offsets_of_constants_that_are_forgotten() -> Subject:
    """The data of views of read-only arrays is the start of the base's memory."""
    return _beginning(HonestConstant, immutable=True)


@mutant("host_memory_needs_no_offset", twin=honest_producer)
def data_before_the_first_element() -> Subject:
    """The data of views is 64 bytes before the first element, and byte_offset is 64."""

    def patch(opened: OpenedCapsule, x: Honest) -> None:
        if x.array.base is not None and x.array.size:
            opened.tensor.data -= 64
            opened.tensor.byte_offset = 64

    return patched(patch)


@mutant("data_of_empty_arrays_is_null", twin=honest_producer)
def data_without_elements() -> Subject:
    """The data of arrays without elements is not NULL."""

    def patch(opened: OpenedCapsule, x: Honest) -> None:
        if not x.array.size:
            opened.tensor.data = x.array.ctypes.data

    return patched(patch)
