"""Mutants of element types: wrong codes and lanes, and exports that should be refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._honest_producer import (
    Honest,
    asks_version,
    capsule_mutant,
    producer_mutant,
)

if TYPE_CHECKING:
    from interchange_conformance.probes.opened_capsule import OpenedCapsule


class _Reinterpreting(Honest):
    """An array that exports unsupported elements as another type."""

    def instead(self) -> tuple[Any, Any]:
        """Return the array to export instead, and code, bits and lanes or None."""
        raise NotImplementedError

    def capsule(self, *, versioned: bool, copy: bool) -> Any:
        """Return a capsule."""
        array, element = self.instead()
        if array is self.array:
            return super().capsule(versioned=versioned, copy=copy)
        return Honest(array, element).capsule(versioned=versioned, copy=copy)


@capsule_mutant("element_types_have_their_codes_and_bits")
def bools_as_bytes(opened: OpenedCapsule, x: Honest) -> None:
    """Bools are exported as uint8."""
    if x.array.dtype.kind == "b":
        opened.tensor.dtype.code = 1


@capsule_mutant("element_types_have_their_codes_and_bits")
def complex_numbers_as_floats(opened: OpenedCapsule, x: Honest) -> None:
    """Complex numbers are exported as floats of twice the size."""
    if x.array.dtype.kind == "c":
        opened.tensor.dtype.code = 2


@capsule_mutant("element_types_have_their_codes_and_bits", when=asks_version)
def bools_as_bytes_with_a_version(opened: OpenedCapsule, x: Honest) -> None:
    """Bools are exported as uint8 if the versioned struct is requested."""
    if x.array.dtype.kind == "b":
        opened.tensor.dtype.code = 1


@producer_mutant(
    "elements_in_foreign_byte_order_stay",
    "elements_that_are_no_numbers_stay",
    "extended_floats_stay",
    "lazy_values_are_applied_or_refused",
)
class everything_as_bytes_without_legacy(Honest):
    """There is no legacy struct, and the versioned one has every element as a row of bytes."""

    def conj(self) -> Any:
        """Return an array of the same memory, with a lazy conjugation."""
        return self._like(self.array)

    def capsule(self, *, versioned: bool, copy: bool) -> Any:
        """Return a capsule."""
        if not versioned:
            raise BufferError("ask with max_version")
        array = self.array
        plain = array.dtype.isnative and array.dtype.kind in "biufc"
        if plain and array.dtype.char not in "gG":
            return super().capsule(versioned=versioned, copy=copy)
        import numpy as np

        bytes_of = np.zeros(array.shape, "uint8")
        return Honest(bytes_of).capsule(versioned=versioned, copy=copy)


@capsule_mutant("plain_elements_have_one_lane")
def float16_in_pairs(opened: OpenedCapsule, x: Honest) -> None:
    """Elements of float16 are exported as vectors of 2."""
    if x.array.dtype == "float16":
        opened.tensor.dtype.lanes = 2


@producer_mutant("elements_in_foreign_byte_order_stay")
class swapped_bytes(_Reinterpreting):
    """The byte order of elements is ignored."""

    def instead(self) -> tuple[Any, Any]:
        """Return the array to export."""
        array = self.array
        return (array if array.dtype.isnative else array.view(array.dtype.newbyteorder("="))), None


@producer_mutant("elements_that_are_no_numbers_stay")
class times_as_ints(_Reinterpreting):
    """Times are exported as the integers in their memory."""

    def instead(self) -> tuple[Any, Any]:
        """Return the array to export."""
        return (self.array.view("int64") if self.array.dtype.kind in "mM" else self.array), None


@producer_mutant("extended_floats_stay")
class extended_floats_as_quadruple(_Reinterpreting):
    """Long doubles of x86 are exported as floats of 128 bits."""

    def instead(self) -> tuple[Any, Any]:
        """Return the array to export."""
        if self.array.dtype.char == "g":
            return self.array.view("complex128"), (2, 128, 1)
        return self.array, None


@producer_mutant("lazy_values_are_applied_or_refused", step="conj")
def conjugation_forgotten(self: Honest) -> Any:
    """Conjugation is a bit of the array, which the export ignores."""
    return self._like(self.array)
