"""Producers of device memory that free it too early, or never.

Source: dlpack.h 1.3, deleter; `checks.device_lifetime`.
"""

from __future__ import annotations

import ctypes
import weakref
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from interchange_conformance.zoo.on_device import OnDevice

from ._honest_device_producer import subject_of
from .model import mutant

if TYPE_CHECKING:
    from collections.abc import Callable

    from interchange_conformance.driver.cuda import Cuda
    from interchange_conformance.subject import Subject
    from interchange_conformance.zoo import Loan
    from interchange_conformance.zoo.on_device import Block

_CUDA: Final = 2


class _Made(NamedTuple):
    """Device memory of an array, and its users: the array, and unreleased structs."""

    array: weakref.ref[OnDevice]
    loans: list[Loan]
    block: Block
    cuda: Cuda


def _freeing(is_held: Callable[[bool, list[Loan]], bool]) -> Subject:
    """Return a subject that frees unused memory, unless ``is_held(array_is_there, loans)``."""
    made: list[_Made] = []

    class Freed(OnDevice):
        """Device memory that is freed explicitly."""

        def __init__(self, block: Block, *arguments: Any, **keywords: Any) -> None:
            super().__init__(block, *arguments, **keywords)
            if self.cuda is not None and block.device[0] == _CUDA:
                made.append(_Made(weakref.ref(self), self.loans, block, self.cuda))

    def release() -> None:
        for one in list(made):
            if not is_held(one.array() is not None, one.loans):
                made.remove(one)
                _free(one.cuda, one.block)

    return replace(subject_of(Freed), release=release)


def _free(cuda: Cuda, block: Block) -> None:
    """Free device memory."""
    with cuda.on_device(block.device[1]):
        cuda("cuMemFree_v2", ctypes.c_uint64(block.address))


def honest_freeing_producer() -> Subject:
    """Return the honest counterpart: memory is freed when no array and no struct uses it."""
    return _freeing(lambda is_there, loans: is_there or any(loan.alive for loan in loans))


@mutant("device_memory_stays_while_it_is_held", counterpart=honest_freeing_producer)
def frees_memory_with_the_array() -> Subject:
    """Frees device memory with the array, even if structs use it."""
    return _freeing(lambda is_there, _: is_there)


@mutant("device_memory_stays_while_it_is_held", counterpart=honest_freeing_producer)
def frees_memory_with_the_capsule() -> Subject:
    """Frees device memory with its capsules, even if consumers use it."""

    def is_held(is_there: bool, loans: list[Loan]) -> bool:
        return is_there or any(loan.alive and loan.name is not None for loan in loans)

    return _freeing(is_held)


@mutant("device_memory_is_given_back", counterpart=honest_freeing_producer)
def never_frees_what_was_exported() -> Subject:
    """Never frees device memory that was exported."""
    return _freeing(lambda is_there, loans: is_there or bool(loans))
