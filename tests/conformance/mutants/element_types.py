"""Mutants of element types: wrong codes and lanes, and exports that should be refused.

Source: the checks of the same name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._honest_producer import Honest, asks_version, honest_producer, patched, producer_of
from .model import mutant

if TYPE_CHECKING:
    from interchange_conformance.probes.opened_capsule import OpenedCapsule
    from interchange_conformance.subject import Subject


class _Reinterpreting(Honest):
    """An array that exports unsupported elements as another type."""

    def instead(self) -> tuple[Any, Any]:
        """Return the array to export instead, and code, bits and lanes or None."""
        return self.array, None

    def capsule(self, *, versioned: bool, copy: bool) -> Any:
        """Return a capsule."""
        array, element = self.instead()
        if array is self.array:
            return super().capsule(versioned=versioned, copy=copy)
        return Honest(array, element).capsule(versioned=versioned, copy=copy)


@mutant("element_types_have_their_codes_and_bits", twin=honest_producer)
def bools_as_bytes() -> Subject:
    """Bools are exported as uint8."""

    def patch(opened: OpenedCapsule, x: Honest) -> None:
        if x.array.dtype.kind == "b":
            opened.tensor.dtype.code = 1

    return patched(patch)


@mutant("element_types_have_their_codes_and_bits", twin=honest_producer)
def complex_numbers_as_floats() -> Subject:
    """Complex numbers are exported as floats of twice the size."""

    def patch(opened: OpenedCapsule, x: Honest) -> None:
        if x.array.dtype.kind == "c":
            opened.tensor.dtype.code = 2

    return patched(patch)


@mutant("element_types_have_their_codes_and_bits", twin=honest_producer)
def bools_as_bytes_with_a_version() -> Subject:
    """Bools are exported as uint8 if the versioned struct is requested."""

    def patch(opened: OpenedCapsule, x: Honest) -> None:
        if x.array.dtype.kind == "b":
            opened.tensor.dtype.code = 1

    return patched(patch, when=asks_version)


@mutant(
    "elements_in_foreign_byte_order_stay",
    "elements_that_are_no_numbers_stay",
    "extended_floats_stay",
    "lazy_values_are_applied_or_refused",
    twin=honest_producer,
)
def everything_as_bytes_without_legacy() -> Subject:
    """There is no legacy struct, and the versioned one has every element as a row of bytes."""

    class Bytes(Honest):
        """An array that ignores its element type and the conjugate bit."""

        def conj(self) -> Any:
            """Return an array of the same memory, with a lazy conjugation."""
            return self._like(self.array)

        def capsule(self, *, versioned: bool, copy: bool) -> Any:
            """Return a capsule."""
            if not versioned:
                raise BufferError("ask with max_version")
            array, plain = (
                self.array,
                self.array.dtype.isnative and self.array.dtype.kind in "biufc",
            )
            if plain and array.dtype.char not in "gG":
                return super().capsule(versioned=versioned, copy=copy)
            import numpy as np

            bytes_of = np.zeros(array.shape, "uint8")
            return Honest(bytes_of).capsule(versioned=versioned, copy=copy)

    return producer_of(Bytes)


@mutant("plain_elements_have_one_lane", twin=honest_producer)
def float16_in_pairs() -> Subject:
    """Elements of float16 are exported as vectors of 2."""

    def patch(opened: OpenedCapsule, x: Honest) -> None:
        if x.array.dtype == "float16":
            opened.tensor.dtype.lanes = 2

    return patched(patch)


@mutant("elements_in_foreign_byte_order_stay", twin=honest_producer)
def swapped_bytes() -> Subject:
    """The byte order of elements is ignored."""

    class Swapped(_Reinterpreting):
        """An array that treats every byte order as native."""

        def instead(self) -> tuple[Any, Any]:
            """Return the array to export."""
            array = self.array
            return (
                array if array.dtype.isnative else array.view(array.dtype.newbyteorder("="))
            ), None

    return producer_of(Swapped)


@mutant("elements_that_are_no_numbers_stay", twin=honest_producer)
def times_as_ints() -> Subject:
    """Times are exported as the integers in their memory."""

    class Ticking(_Reinterpreting):
        """An array that treats times as numbers."""

        def instead(self) -> tuple[Any, Any]:
            """Return the array to export."""
            return (self.array.view("int64") if self.array.dtype.kind in "mM" else self.array), None

    return producer_of(Ticking)


@mutant("extended_floats_stay", twin=honest_producer)
def extended_floats_as_quadruple() -> Subject:
    """Long doubles of x86 are exported as floats of 128 bits."""

    class Extended(_Reinterpreting):
        """An array that determines the format of a float from its size."""

        def instead(self) -> tuple[Any, Any]:
            """Return the array to export."""
            if self.array.dtype.char == "g":
                return self.array.view("complex128"), (2, 128, 1)
            return self.array, None

    return producer_of(Extended)


@mutant("lazy_values_are_applied_or_refused", twin=honest_producer)
def conjugation_forgotten() -> Subject:
    """Conjugation is a bit of the array, which the export ignores."""

    class Conjugating(Honest):
        """An array with lazy conjugation."""

        def conj(self) -> Any:
            """Return an array of the same memory, with a lazy conjugation."""
            return self._like(self.array)

    return producer_of(Conjugating)
