"""Mutants of releasing: deleters and destructors with unmet requirements.

Source: the checks of the same name; `Objects/abstract.c` of CPython for ``PyBuffer_Release``,
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
    honest_producer,
    patched,
    producer_of,
    vector,
)
from .lifetime import address_of, standing_on, with_destructor
from .model import mutant

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from interchange_conformance.probes.opened_capsule import ConsumedTensor, OpenedCapsule
    from interchange_conformance.subject import Subject

_immortal: Final[list[Any]] = []


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


def _owned_by(own: Callable[[ConsumedTensor], Iterator[None]]) -> Subject:
    """Return a producer whose deleter drops its reference to an owner."""
    release = address_of(capsules.python_function("PyBuffer_Release", None, ctypes.c_void_p))

    def patch(opened: OpenedCapsule, _: Honest) -> Any:
        destructor = capsules.capsule_destructor(opened.capsule)
        struct = DLManagedTensorVersioned.from_buffer_copy(opened.managed)
        owner = own(opened.consume())
        next(owner)
        capsules.increase_reference(owner)
        struct.manager_ctx, struct.deleter = id(owner), release
        _immortal.append(struct)
        return capsules.new_capsule(ctypes.addressof(struct), capsules.VERSIONED, destructor)

    return patched(patch, when=asks_version)


@mutant("deleters_run_without_the_gil", "deleters_run_after_python", twin=honest_producer)
def deleters_that_take_no_gil() -> Subject:
    """The deleter drops its reference without taking the GIL, or checking that Python runs."""
    return _owned_by(_owner)


@mutant("deleters_run_without_the_gil", twin=honest_producer)
def references_given_back_without_the_gil() -> Subject:
    """The deleter does not take the GIL, and drops one of several references: nothing is freed."""
    release = address_of(capsules.python_function("PyBuffer_Release", None, ctypes.c_void_p))

    def patch(opened: OpenedCapsule, x: Honest) -> Any:
        destructor = capsules.capsule_destructor(opened.capsule)
        struct = DLManagedTensorVersioned.from_buffer_copy(opened.managed)
        struct.dl_tensor.shape = vector(opened.shape or ())
        struct.dl_tensor.strides = vector(opened.strides or ())
        capsules.increase_reference(x.array)
        struct.manager_ctx, struct.deleter = id(x.array), release
        _immortal.append(struct)
        return capsules.new_capsule(ctypes.addressof(struct), capsules.VERSIONED, destructor)

    return patched(patch, when=asks_version)


def _tied(on_another: Callable[[], object]) -> Subject:
    """Return a producer whose tensors call a function when another thread releases them."""

    class Tied(Honest):
        """An array that depends on its thread."""

        def capsule(self, *, versioned: bool, copy: bool) -> Any:
            """Return a capsule."""
            home = threading.get_ident()

            def leave() -> None:
                if threading.get_ident() != home:
                    on_another()

            tied = Honest(standing_on(self.array, leave), self.element)
            return tied.capsule(versioned=versioned, copy=copy)

    return producer_of(Tied)


@mutant("exports_end_on_other_threads", twin=honest_producer)
def tensors_tied_to_their_thread() -> Subject:
    """A tensor aborts the process if it is released on another thread than that of its export."""
    return _tied(os.abort)


@mutant("exports_end_on_other_threads", twin=honest_producer)
def tensors_that_complain_on_other_threads() -> Subject:
    """A tensor raises an unraisable exception when another thread releases it."""

    def complain() -> None:
        raise RuntimeError("this is not the thread that made me")

    return _tied(complain)


@mutant("threads_export_one_array_at_once", twin=honest_producer)
def exports_that_complain_on_other_threads() -> Subject:
    """An export on another thread than the main one raises an unraisable exception."""

    class Complaining:
        """A temporary object."""

        def __del__(self) -> None:
            if threading.current_thread() is not threading.main_thread():
                raise RuntimeError("this is not the main thread")

    def patch(*_: object) -> None:
        Complaining()

    return patched(patch)


@mutant("threads_export_one_array_at_once", twin=honest_producer)
def capsules_that_meet_others() -> Subject:
    """The capsule of an export in progress is kept where other threads find it."""

    class Meeting(Honest):
        """An array with one place for the capsule of an export in progress."""

        def __dlpack__(self, **keywords: Any) -> Any:
            self.making = super().__dlpack__(**keywords)
            time.sleep(1e-5)
            return self.making

    return producer_of(Meeting)


# ------------------------------------------------------------------ exceptions


@mutant("capsules_die_while_an_exception_flies", twin=honest_producer)
def destructors_in_python() -> Subject:
    """The destructor of a capsule is a ctypes callback."""
    return with_destructor([*capsules.USED_NAME])


@mutant("deleters_run_while_an_exception_flies", twin=honest_producer)
def deleters_in_python() -> Subject:
    """The deleter is a ctypes callback."""

    @cache
    def callback(deleter: int) -> int:
        return address_of(capsules.Prototype(None, ctypes.c_void_p)(capsules.deleter_at(deleter)))

    def patch(opened: OpenedCapsule, _: Honest) -> None:
        opened.managed.deleter = callback(opened.deleter or 0)

    return patched(patch)


@mutant("exceptions_outlive_deleters", twin=honest_producer)
def deleters_that_set_an_error() -> Subject:
    """The deleter sets a MemoryError, whether or not an error is set already."""
    deleter = address_of(capsules.python_function("PyErr_NoMemory", ctypes.c_void_p))

    def patch(opened: OpenedCapsule, _: Honest) -> None:
        capsules.set_capsule_destructor(opened.capsule, None)  # only a consumer calls it
        opened.managed.deleter = deleter

    return patched(patch, when=asks_version)


# ------------------------------------------------------------------ the end


@mutant("capsules_live_to_the_end_of_python", twin=honest_producer)
def owners_that_need_python() -> Subject:
    """The owner of the memory aborts the process if it is released while Python exits."""
    return _owned_by(_demanding_owner)
