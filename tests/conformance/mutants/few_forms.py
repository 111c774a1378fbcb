"""Mutants of libraries with a single element type, number of axes or shape.

Each breaks a rule for these arrays; requests for other arrays are
refused.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from interchange.abi import capsules
from interchange_conformance.findings import CannotMakeError

from . import lifetime
from ._honest_producer import HonestConstant, honest_constants, honest_producer, patched
from .model import mutant

if TYPE_CHECKING:
    from collections.abc import Callable

    from interchange_conformance.probes.opened_capsule import OpenedCapsule
    from interchange_conformance.subject import Subject

    Shape = tuple[int, ...]

_ODD: Final = (7, 11)


def _with_few(has: Callable[[Shape, Any], bool], subject: Subject, **more: Any) -> Subject:
    """Return a subject with some of its arrays only."""

    def make(shape: Shape, dtype: Any, device: str, readonly: bool) -> Any:
        if not has(shape, dtype):
            raise CannotMakeError("the library has no such arrays")
        return subject.make and subject.make(shape, dtype, device, readonly)

    def make_from(numbers: list[Any], shape: Shape, dtype: str) -> Any:
        if not has(shape, dtype):
            raise CannotMakeError("the library has no such arrays")
        return subject.make_from and subject.make_from(numbers, shape, dtype)

    return replace(subject, make=make, make_from=subject.make_from and make_from, **more)


_of_doubles = partial(_with_few, lambda _, dtype: dtype == "float64")
_of_matrices = partial(_with_few, lambda shape, _: len(shape) == len(_ODD))
_of_one_shape = partial(
    _with_few, lambda shape, dtype: (shape, dtype) == (_ODD, "uint8"), shapes=(_ODD,)
)


def honest_doubles() -> Subject:
    """Return a producer that keeps every rule, with float64 only."""
    return _of_doubles(honest_producer())


def honest_constant_doubles() -> Subject:
    """Return a producer that keeps every rule, with read-only float64 only."""
    return _of_doubles(honest_constants())


def honest_matrices() -> Subject:
    """Return a producer that keeps every rule, with arrays of two axes only."""
    return _of_matrices(honest_producer())


def honest_shape() -> Subject:
    """Return a producer that keeps every rule, with bytes of one shape only."""
    return _of_one_shape(honest_producer())


@mutant("owners_get_their_references_back", twin=honest_doubles)
def doubles_that_are_freed_twice() -> Subject:
    """The deleter of arrays of float64, the only type, frees all memory twice."""

    def patch(opened: OpenedCapsule, _: object) -> None:
        honest = opened.deleter or 0

        def free_twice(address: int) -> None:
            for _ in range(2):
                capsules.deleter_at(honest)(address)

        opened.managed.deleter = lifetime.address_of(capsules.Deleter(free_twice))

    return _of_doubles(patched(patch))


@mutant("destructors_leave_consumed_tensors_alone", twin=honest_doubles)
def doubles_whose_destructor_ignores_the_name() -> Subject:
    """The destructor of a capsule of float64 runs the deleter even if the capsule is consumed."""
    return _of_doubles(lifetime.destructors_that_ignore_the_name())


@mutant("memory_stays_while_it_is_held", twin=honest_matrices)
def matrices_that_die_with_the_array() -> Subject:
    """The capsule of a matrix does not own the memory, which is freed with the array."""
    return _of_matrices(lifetime.memory_that_dies_with_the_array())


@mutant("strides_count_elements", twin=honest_doubles)
def doubles_with_strides_in_bytes() -> Subject:
    """The strides of float64 are in bytes."""

    def patch(opened: OpenedCapsule, _: object) -> None:
        for axis in range(opened.ndim):
            opened.tensor.strides[axis] *= opened.itemsize

    return _of_doubles(patched(patch))


def _one_further(opened: OpenedCapsule, _: object) -> None:
    """Make a capsule start at the second element."""
    if opened.data:
        opened.tensor.byte_offset += opened.itemsize


@mutant("exported_elements_are_those_it_was_made_of", twin=honest_constant_doubles)
def constant_doubles_from_the_second_on() -> Subject:
    """The capsules of read-only arrays of float64 start at the second element."""
    return _of_doubles(patched(_one_further, kind=HonestConstant, immutable=True))


@mutant("owners_get_their_references_back", twin=honest_shape)
def one_shape_whose_references_are_kept() -> Subject:
    """An export of the only shape takes a reference that is never dropped."""
    return _of_one_shape(lifetime.references_that_are_kept())


@mutant("shape_points_to_the_extents", twin=honest_matrices)
def matrices_with_an_extent_too_many() -> Subject:
    """Matrices are exported with one row too many."""

    def patch(opened: OpenedCapsule, _: object) -> None:
        opened.tensor.shape[0] += 1

    return _of_matrices(patched(patch))
