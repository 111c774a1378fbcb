"""Mutants of releasing: deleters and destructors that need more than they may count on.

Source: the checks of the same name; `Objects/abstract.c` of CPython for ``PyBuffer_Release``, which
lets go of the object that its struct names in the place of ``manager_ctx``, and takes no GIL.
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
    """Own a tensor, and release it when the last reference to this generator goes."""
    try:
        yield
    finally:
        owned.release()


def _demanding_owner(
    owned: ConsumedTensor,
    ending: Callable[[], bool] = sys.is_finalizing,
    abort: Callable[[], object] = os.abort,  # globals are gone by then
) -> Iterator[None]:
    """Do the same, and abort the process if that is while Python ends."""
    try:
        yield
    finally:
        if ending():
            abort()
        owned.release()


def _owned_by(own: Callable[[ConsumedTensor], Iterator[None]]) -> Subject:
    """Return a producer whose deleter gives back its reference to an owner, and no more."""
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
    """The deleter gives back its reference without taking the GIL, Python there or not."""
    return _owned_by(_owner)


@mutant("deleters_run_without_the_gil", twin=honest_producer)
def references_given_back_without_the_gil() -> Subject:
    """The deleter takes no GIL, and gives back one of several references: nothing dies of it."""
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
    """Return a producer whose tensors do something when another thread releases them."""

    class Tied(Honest):
        """An array that insists on its thread."""

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
    """A tensor aborts the process when it is released on another thread than it was made on."""
    return _tied(os.abort)


@mutant("exports_end_on_other_threads", twin=honest_producer)
def tensors_that_complain_on_other_threads() -> Subject:
    """A tensor raises, where nobody catches it, when another thread releases it."""

    def complain() -> None:
        raise RuntimeError("this is not the thread that made me")

    return _tied(complain)


@mutant("threads_export_one_array_at_once", twin=honest_producer)
def exports_that_complain_on_other_threads() -> Subject:
    """What an export leaves on another thread than the main one raises where nobody catches it."""

    class Complaining:
        """Something temporary."""

        def __del__(self) -> None:
            if threading.current_thread() is not threading.main_thread():
                raise RuntimeError("this is not the main thread")

    def patch(*_: object) -> None:
        Complaining()

    return patched(patch)


@mutant("threads_export_one_array_at_once", twin=honest_producer)
def capsules_that_meet_others() -> Subject:
    """The capsule in the making is kept where other threads find it."""

    class Meeting(Honest):
        """An array with one place for a capsule in the making."""

        def __dlpack__(self, **keywords: Any) -> Any:
            self.making = super().__dlpack__(**keywords)
            time.sleep(1e-5)
            return self.making

    return producer_of(Meeting)


# ------------------------------------------------------------------ exceptions


@mutant("capsules_die_while_an_exception_flies", twin=honest_producer)
def destructors_in_python() -> Subject:
    """The destructor of a capsule is a callback of ctypes."""
    return with_destructor([*capsules.USED_NAME])


@mutant("deleters_run_while_an_exception_flies", twin=honest_producer)
def deleters_in_python() -> Subject:
    """The deleter is a callback of ctypes."""

    @cache
    def callback(deleter: int) -> int:
        return address_of(capsules.Prototype(None, ctypes.c_void_p)(capsules.deleter_at(deleter)))

    def patch(opened: OpenedCapsule, _: Honest) -> None:
        opened.managed.deleter = callback(opened.deleter or 0)

    return patched(patch)


@mutant("exceptions_outlive_deleters", twin=honest_producer)
def deleters_that_set_an_error() -> Subject:
    """The deleter sets a MemoryError, whether or not there is another error already."""
    deleter = address_of(capsules.python_function("PyErr_NoMemory", ctypes.c_void_p))

    def patch(opened: OpenedCapsule, _: Honest) -> None:
        capsules.set_capsule_destructor(opened.capsule, None)  # nobody but a consumer calls it
        opened.managed.deleter = deleter

    return patched(patch, when=asks_version)


# ------------------------------------------------------------------ the end


@mutant("capsules_live_to_the_end_of_python", twin=honest_producer)
def owners_that_need_python() -> Subject:
    """What owns the memory aborts the process when it is released while Python ends."""
    return _owned_by(_demanding_owner)
