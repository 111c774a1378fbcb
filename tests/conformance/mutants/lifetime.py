"""Mutants of lifetime: memory that is freed too early, and memory that is never freed.

Actions at the release of a tensor are done by the base of
the ndarray that NumPy's native deleter releases: no callback is involved.
"""

from __future__ import annotations

import ctypes
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from interchange.abi import capsules
from interchange.abi.dlpack import DLManagedTensor, DLManagedTensorVersioned

from ._honest_producer import (
    Honest,
    capsule_mutant,
    honest_producer,
    patched,
    producer_mutant,
)
from .model import mutant

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from interchange_conformance.probes.opened_capsule import OpenedCapsule
    from interchange_conformance.subject import Subject

_LARGE: Final = 2**20
"""Minimum size of the arrays for the memory mutants [bytes], so that few checks are affected."""
_immortal: Final[list[Any]] = []


def address_of(function: Any) -> int:
    """Return the address of a C function or of a callback, which is never freed."""
    _immortal.append(function)
    return ctypes.cast(function, ctypes.c_void_p).value or 0


class _Base:
    """The base of an exported ndarray: memory, and an action when it is no longer used."""

    def __init__(self, array: Any, leave: Callable[[], object]) -> None:
        self.__array_interface__ = array.__array_interface__
        self.array, self.leave = array, leave

    def __del__(self) -> None:
        self.leave()


def standing_on(array: Any, leave: Callable[[], object]) -> Any:
    """Return an ndarray of the same memory that calls `leave` with the GIL when it is freed."""
    import numpy as np

    return np.asarray(_Base(array, leave))


# ------------------------------------------------------------------ memory that is freed too early


@capsule_mutant("memory_stays_while_it_is_held")
def memory_that_dies_with_the_array(opened: OpenedCapsule, x: Any) -> None:
    """The capsule does not own the memory, which is freed with the array."""
    if x.array.nbytes < _LARGE:
        return
    if "shadow" not in vars(x):
        x.shadow = x.array.copy()
    opened.tensor.data = x.shadow.ctypes.data


@mutant("destructors_leave_consumed_tensors_alone", counterpart=honest_producer)
def destructors_that_ignore_the_name() -> Subject:
    """The destructor of a capsule runs the deleter even if the capsule is consumed."""
    return with_destructor([*capsules.USED_NAME, *capsules.USED_NAME.values()])


def with_destructor(names: Collection[bytes]) -> Subject:
    """Return a producer with a ctypes destructor that runs the deleters of some capsules."""
    destructor = address_of(
        capsules.Prototype(None, ctypes.c_void_p)(partial(_release_dying, names=names))
    )
    return patched(
        lambda opened, _: capsules.set_capsule_destructor(opened.capsule, destructor) or None
    )


_name = capsules.python_function("PyCapsule_GetName", ctypes.c_char_p, ctypes.c_void_p)
_pointer = capsules.python_function(
    "PyCapsule_GetPointer", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p
)


def _release_dying(capsule: int, *, names: Collection[bytes]) -> None:
    """Run the deleter of the dying capsule at an address, if its name is one of some names."""
    name = _name(capsule)
    if name not in names:
        return
    struct = DLManagedTensorVersioned if name.endswith(b"_versioned") else DLManagedTensor
    address = _pointer(capsule, name)
    capsules.deleter_at(struct.from_address(address).deleter)(address)


@producer_mutant("exports_are_released_in_any_order", step="capsule")
def memory_that_goes_with_the_first_release(self: Honest, *, versioned: bool, copy: bool) -> Any:
    """The first released export frees the memory, even if others use it."""
    array = self.array
    if not array.flags.owndata or array.nbytes < _LARGE or copy:
        return Honest.capsule(self, versioned=versioned, copy=copy)
    lent = standing_on(array, lambda: array.fill(0xFF))
    return Honest(lent).capsule(versioned=versioned, copy=False)


# ------------------------------------------------------------------ memory that is never freed


@capsule_mutant("memory_is_freed_when_nobody_holds_it", "structs_are_freed")
def capsules_without_destructor(opened: Any, _: Any) -> Any:
    """Capsules have no destructor: unconsumed ones are never freed."""
    return capsules.set_capsule_destructor(opened.capsule, None) or None


@capsule_mutant("memory_is_freed_when_nobody_holds_it")
def memory_that_is_taken_twice(_: Any, x: Any) -> Any:
    """An export takes two references to the memory, and drops one."""
    return capsules.increase_reference(x.array)


@capsule_mutant("owners_get_their_references_back")
def references_that_are_kept(_: Any, x: Any) -> Any:
    """An export takes a reference to the array that is never dropped."""
    return capsules.increase_reference(x)


@capsule_mutant("structs_are_freed")
def vectors_that_are_kept(opened: OpenedCapsule, x: Honest) -> None:
    """The strides are allocated for every export, and never freed."""
    axes = len(x.shape)
    strides = (ctypes.c_int64 * axes)(*(opened.strides or ()))
    allocate = ctypes.CDLL(None).malloc
    allocate.restype = ctypes.c_void_p
    place = allocate(ctypes.c_size_t(max(1, ctypes.sizeof(strides))))
    ctypes.memmove(place, strides, ctypes.sizeof(strides))
    opened.tensor.strides = ctypes.cast(place, ctypes.POINTER(ctypes.c_int64))


@capsule_mutant("structs_are_freed")
def structs_that_are_kept(*_: object) -> None:
    """A block of malloc as large as the struct is never freed."""
    ctypes.CDLL(None).malloc(ctypes.c_size_t(ctypes.sizeof(DLManagedTensorVersioned)))


@capsule_mutant("structs_are_freed")
def small_blocks_that_are_kept(*_: object) -> Any:
    """A block of CPython's own allocator, which does not use malloc, is never freed."""
    return _immortal.append(bytes(bytearray(64)))


@producer_mutant("refused_exports_keep_nothing", step="__dlpack__")
def refusals_that_keep_a_small_block(self: Honest, **keywords: Any) -> Any:
    """The message of a refused stream is never freed."""
    try:
        return Honest.__dlpack__(self, **keywords)
    except ValueError as error:
        _immortal.append(f"{error}, which is kept")
        raise


@producer_mutant("refused_exports_keep_nothing", step="__dlpack__")
def refusals_that_keep_a_reference(self: Honest, **keywords: Any) -> Any:
    """A reference to the array is taken before the arguments are checked."""
    try:
        return Honest.__dlpack__(self, **keywords)
    except Exception:
        capsules.increase_reference(self)
        raise


@producer_mutant("refused_exports_keep_nothing", step="__dlpack__")
def refusals_that_keep_a_struct(self: Honest, **keywords: Any) -> Any:
    """The struct is allocated before the arguments are checked."""
    try:
        return Honest.__dlpack__(self, **keywords)
    except Exception:
        ctypes.CDLL(None).malloc(ctypes.c_size_t(80 + 16 * len(self.shape)))
        raise
