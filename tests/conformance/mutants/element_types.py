"""Mutants of element types: wrong codes and lanes, and elements that ought to have stayed.

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
    """An array that exports what it cannot say as something else."""

    def instead(self) -> tuple[Any, Any]:
        """Return the array to export in its place, and code, bits and lanes or None."""
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
    """Bools are exported as uint8 to those who ask for the versioned struct."""

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
    """There is no legacy struct, and in the versioned one every element is a row of bytes."""

    class Bytes(Honest):
        """An array that forgets what its bytes mean, and that it is conjugated."""

        def conj(self) -> Any:
            """Return an array of the same memory, to be conjugated later."""
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
    """Elements of float16 are said to be vectors of 2."""

    def patch(opened: OpenedCapsule, x: Honest) -> None:
        if x.array.dtype == "float16":
            opened.tensor.dtype.lanes = 2

    return patched(patch)


@mutant("elements_in_foreign_byte_order_stay", twin=honest_producer)
def swapped_bytes() -> Subject:
    """The byte order of elements is forgotten."""

    class Swapped(_Reinterpreting):
        """An array that takes every byte order for its own."""

        def instead(self) -> tuple[Any, Any]:
            """Return what is exported."""
            array = self.array
            return (
                array if array.dtype.isnative else array.view(array.dtype.newbyteorder("="))
            ), None

    return producer_of(Swapped)


@mutant("elements_that_are_no_numbers_stay", twin=honest_producer)
def times_as_ints() -> Subject:
    """Times are exported as the integers that they are made of."""

    class Ticking(_Reinterpreting):
        """An array that takes times for numbers."""

        def instead(self) -> tuple[Any, Any]:
            """Return what is exported."""
            return (self.array.view("int64") if self.array.dtype.kind in "mM" else self.array), None

    return producer_of(Ticking)


@mutant("extended_floats_stay", twin=honest_producer)
def extended_floats_as_quadruple() -> Subject:
    """Long doubles of x86 are exported as floats of 128 bits."""

    class Extended(_Reinterpreting):
        """An array that tells the format of a float by its size."""

        def instead(self) -> tuple[Any, Any]:
            """Return what is exported."""
            if self.array.dtype.char == "g":
                return self.array.view("complex128"), (2, 128, 1)
            return self.array, None

    return producer_of(Extended)


@mutant("lazy_values_are_applied_or_refused", twin=honest_producer)
def conjugation_forgotten() -> Subject:
    """Conjugation is a bit of the array, which the export does not look at."""

    class Conjugating(Honest):
        """An array that conjugates when it is computed with."""

        def conj(self) -> Any:
            """Return an array of the same memory, to be conjugated later."""
            return self._like(self.array)

    return producer_of(Conjugating)
