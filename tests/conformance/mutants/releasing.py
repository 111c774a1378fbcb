"""Mutants of releasing: deleters and destructors with unmet requirements.

Source: `Objects/abstract.c` of CPython for ``PyBuffer_Release``,
which releases the object in the place of ``manager_ctx``, and does not take the GIL.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
import time
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from interchange.abi import capsules
from interchange.abi.dlpack import DLManagedTensorVersioned

from ._honest_producer import (
    Honest,
    asks_version,
    capsule_mutant,
    honest_producer,
    patched,
    producer_mutant,
    vector,
)
from .lifetime import address_of, standing_on, with_destructor
from .model import mutant

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from interchange_conformance.probes.opened_capsule import ConsumedTensor, OpenedCapsule
    from interchange_conformance.subject import Subject

_immortal: Final[list[Any]] = []
_DROP_REFERENCE: Final = address_of(
    capsules.python_function("PyBuffer_Release", None, ctypes.c_void_p)
)
_SET_ERROR: Final = address_of(capsules.python_function("PyErr_NoMemory", ctypes.c_void_p))


# ------------------------------------------------------------------ threads


def _owner(owned: ConsumedTensor) -> Iterator[None]:
    """Own a tensor, and release it when the last reference to this generator is dropped."""
    try:
        yield
    finally:
        owned.release()


def _demanding_owner(
    owned: ConsumedTensor,
    ending: Callable[[], bool] = sys.is_finalizing,
    abort: Callable[[], object] = os.abort,  # globals are cleared by then
) -> Iterator[None]:
    """Do the same, and abort the process if Python is exiting."""
    try:
        yield
    finally:
        if ending():
            abort()
        owned.release()


def _releasing(struct: DLManagedTensorVersioned, owner: object, destructor: Any) -> Any:
    """Return a capsule of a struct whose deleter drops a reference to an owner without the GIL."""
    capsules.increase_reference(owner)
    struct.manager_ctx, struct.deleter = id(owner), _DROP_REFERENCE
    _immortal.append(struct)
    return capsules.new_capsule(ctypes.addressof(struct), capsules.VERSIONED, destructor)


def _owned_by(own: Callable[[ConsumedTensor], Iterator[None]]) -> Subject:
    """Return a producer whose deleter drops its reference to an owner."""

    def patch(opened: OpenedCapsule, _: Honest) -> Any:
        destructor = capsules.capsule_destructor(opened.capsule)
        struct = DLManagedTensorVersioned.from_buffer_copy(opened.managed)
        owner = own(opened.consume())
        next(owner)
        return _releasing(struct, owner, destructor)

    return patched(patch, when=asks_version)


@mutant("deleters_run_without_the_gil", "deleters_run_after_python", counterpart=honest_producer)
def deleters_that_take_no_gil() -> Subject:
    """The deleter drops its reference without taking the GIL, or checking that Python runs."""
    return _owned_by(_owner)


@capsule_mutant("deleters_run_without_the_gil", when=asks_version)
def references_given_back_without_the_gil(opened: OpenedCapsule, x: Honest) -> Any:
    """The deleter does not take the GIL, and drops one of several references: nothing is freed."""
    struct = DLManagedTensorVersioned.from_buffer_copy(opened.managed)
    struct.dl_tensor.shape = vector(opened.shape or ())
    struct.dl_tensor.strides = vector(opened.strides or ())
    return _releasing(struct, x.array, capsules.capsule_destructor(opened.capsule))


@producer_mutant("exports_end_on_other_threads")
class tensors_tied_to_their_thread(Honest):
    """A tensor aborts the process if it is released on another thread than that of its export."""

    on_another: Any = os.abort

    def capsule(self, *, versioned: bool, copy: bool) -> Any:
        """Return a capsule."""
        home = threading.get_ident()

        def leave() -> None:
            if threading.get_ident() != home:
                self.on_another()

        tied = Honest(standing_on(self.array, leave), self.element)
        return tied.capsule(versioned=versioned, copy=copy)


@producer_mutant("exports_end_on_other_threads")
class tensors_that_complain_on_other_threads(tensors_tied_to_their_thread):
    """A tensor raises an unraisable exception when another thread releases it."""

    @staticmethod
    def on_another() -> None:
        """Raise an exception."""
        raise RuntimeError("this is not the thread that made me")


class _Complaining:
    """An object that raises an exception if it is freed on another thread than the main one."""

    def __del__(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            raise RuntimeError("this is not the main thread")


@capsule_mutant("threads_export_one_array_at_once")
def exports_that_complain_on_other_threads(*_: object) -> None:
    """An export on another thread than the main one raises an unraisable exception."""
    _Complaining()


@producer_mutant("threads_export_one_array_at_once", step="__dlpack__")
def capsules_that_meet_others(self: Any, **keywords: Any) -> Any:
    """The capsule of an export in progress is kept where other threads find it."""
    self.making = Honest.__dlpack__(self, **keywords)
    time.sleep(1e-5)
    return self.making


# ------------------------------------------------------------------ exceptions


@mutant("capsules_die_while_an_exception_flies", counterpart=honest_producer)
def destructors_in_python() -> Subject:
    """The destructor of a capsule is a ctypes callback."""
    return with_destructor([*capsules.USED_NAME])


@cache
def _calling(deleter: int) -> int:
    """Return the address of a ctypes callback that calls a deleter."""
    return address_of(capsules.Prototype(None, ctypes.c_void_p)(capsules.deleter_at(deleter)))


@capsule_mutant("deleters_run_while_an_exception_flies")
def deleters_in_python(opened: OpenedCapsule, _: Honest) -> None:
    """The deleter is a ctypes callback."""
    opened.managed.deleter = _calling(opened.deleter or 0)


@capsule_mutant("exceptions_outlive_deleters", when=asks_version)
def deleters_that_set_an_error(opened: OpenedCapsule, _: Honest) -> None:
    """The deleter sets a MemoryError, whether or not an error is set already."""
    capsules.set_capsule_destructor(opened.capsule, None)  # only a consumer calls it
    opened.managed.deleter = _SET_ERROR


# ------------------------------------------------------------------ the end


@mutant("capsules_live_to_the_end_of_python", counterpart=honest_producer)
def owners_that_need_python() -> Subject:
    """The owner of the memory aborts the process if it is released while Python exits."""
    return _owned_by(_demanding_owner)
