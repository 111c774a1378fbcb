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


_double_mutant = partial(
    mutant,
    counterpart=honest_doubles,
    build=lambda patch, **described: _of_doubles(patched(patch, **described)),
)
_matrix_mutant = partial(
    mutant, counterpart=honest_matrices, build=lambda patch: _of_matrices(patched(patch))
)


@_double_mutant("owners_get_their_references_back")
def doubles_that_are_freed_twice(opened: OpenedCapsule, _: object) -> None:
    """The deleter of arrays of float64, the only type, frees all memory twice."""
    honest = opened.deleter or 0

    def free_twice(address: int) -> None:
        for _ in range(2):
            capsules.deleter_at(honest)(address)

    opened.managed.deleter = lifetime.address_of(capsules.Deleter(free_twice))


@mutant("destructors_leave_consumed_tensors_alone", counterpart=honest_doubles)
def doubles_whose_destructor_ignores_the_name() -> Subject:
    """The destructor of a capsule of float64 runs the deleter even if the capsule is consumed."""
    return _of_doubles(lifetime.destructors_that_ignore_the_name())


@mutant("memory_stays_while_it_is_held", counterpart=honest_matrices)
def matrices_that_die_with_the_array() -> Subject:
    """The capsule of a matrix does not own the memory, which is freed with the array."""
    return _of_matrices(patched(lifetime.memory_that_dies_with_the_array))


@_double_mutant("strides_count_elements")
def doubles_with_strides_in_bytes(opened: OpenedCapsule, _: object) -> None:
    """The strides of float64 are in bytes."""
    for axis in range(opened.ndim):
        opened.tensor.strides[axis] *= opened.itemsize


@_double_mutant(
    "exported_elements_are_those_it_was_made_of",
    kind=HonestConstant,
    immutable=True,
    counterpart=honest_constant_doubles,
)
def constant_doubles_from_the_second_on(opened: OpenedCapsule, _: object) -> None:
    """The capsules of read-only arrays of float64 start at the second element."""
    if opened.data:
        opened.tensor.byte_offset += opened.itemsize


@mutant("owners_get_their_references_back", counterpart=honest_shape)
def one_shape_whose_references_are_kept() -> Subject:
    """An export of the only shape takes a reference that is never dropped."""
    return _of_one_shape(patched(lifetime.references_that_are_kept))


@_matrix_mutant("shape_points_to_the_extents")
def matrices_with_an_extent_too_many(opened: OpenedCapsule, _: object) -> None:
    """Matrices are exported with one row too many."""
    opened.tensor.shape[0] += 1
