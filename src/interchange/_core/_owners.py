"""Owners of managed tensors, and the claim of a struct, which cannot be lost in between.

Source: dlpack.h 1.3; the Python specification of DLPack; CPython, where signal handlers run.
"""

from __future__ import annotations

import ctypes
import functools
import sys
import threading
from functools import partial
from operator import length_hint
from typing import TYPE_CHECKING, Any, Final

from interchange._types.errors import ExchangeError
from interchange.abi import capsules
from interchange.abi.dlpack import DLManagedTensor, DLManagedTensorVersioned
from interchange.abi.memory import SHIFT, pointers

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    F = TypeVar("F", bound=Callable[..., Any])


class ManagedTensorOwner:
    """Owns one managed tensor: calls its deleter once, on request or when it is destroyed.

    The finaliser is a slot that holds C code, ``partial(deleter, address)``.  So no signal handler
    runs between an owner and its deleter, a chain of any length is released without Python's
    recursion, and no global is looked up while the interpreter is finalizing.

    It is hidden from the garbage collector, which would call the finaliser before those of other
    objects in the same garbage, which may still read the memory or be resurrected.
    """

    __slots__ = ("__del__",)

    __del__: Callable[[], object]  # `NOTHING` while nothing is owned


as_pointer: Final = ctypes.c_void_p.from_param  # the finaliser allocates nothing
NOTHING: Final = int
"""A finaliser in C that does nothing."""


def empty_owner() -> tuple[ManagedTensorOwner, Any]:
    """Return an owner that owns nothing yet, and a ``py_object`` that can be reused."""
    owner = ManagedTensorOwner()
    owner.__del__ = NOTHING
    capsules.hide_from_collector(owner)
    return owner, ctypes.py_object(owner)


def release_owner(owner: ManagedTensorOwner) -> None:
    """Call the deleter now, even if there are other references to the owner."""
    owner.__del__, release = NOTHING, owner.__del__
    release()


# A signal handler may run after a call has returned and before its result is stored.  So a call
# whose result must not be lost is made by an iterator, and the result is unpacked: it is stored
# before a handler, another thread or a library that claims in C can run.  From there to the
# assignment of the owner (or, on failure, to the deleter) nothing is called outside of the `try`.
_call_function: Final = type(capsules.fast_pointer).__call__
_CLAIM: Final = (
    capsules.fast_pointer,  # fails if the capsule was consumed before
    capsules.fast_rename,
    capsules.fast_set_destructor,
)
"""Steps of a claim: get the pointer, rename the capsule, clear its destructor (DLP-CAP-5)."""

_Generation = tuple[int, tuple[Any, ...]]
"""Offset of the deleter in the struct [bytes], and the second arguments of `_CLAIM`."""
VERSIONED_DELETER: Final = DLManagedTensorVersioned.deleter.offset
VERSIONED_CLAIM: Final[_Generation] = (
    VERSIONED_DELETER,
    (capsules.VERSIONED, capsules.USED_VERSIONED, None),
)
LEGACY_CLAIM: Final[_Generation] = (
    DLManagedTensor.deleter.offset,
    (capsules.LEGACY, capsules.USED_LEGACY, None),
)


deleters: Final[dict[int, Any]] = {}
"""Deleters as ctypes functions, by address.

A plain dict, since the lookup in a subclass needs one more level of recursion than the claim did.
"""
_MOST_DELETERS: Final = 1024  # some producers create one per array


def keep_deleter(address: int) -> Any:
    """Return the function of a new deleter, and cache it."""
    if len(deleters) >= _MOST_DELETERS:
        deleters.clear()
    function = deleters[address] = capsules.fast_deleter(address)
    return function


def claim(owner: ManagedTensorOwner, cell: Any, generation: _Generation) -> int:
    """Make an owner own the struct of an unused capsule, and return its address.

    Raises ValueError: the capsule in the cell has another name.
    """
    at, names = generation
    address: int = 0
    steps = iter(_CLAIM)
    try:
        address, _, _ = map(_call_function, steps, (cell, cell, cell), names)
        deleter = pointers[address + at >> SHIFT]
        if deleter:  # NULL: there is nothing to release (DLP-LIFE-5)
            try:
                function = deleters[deleter]
            except KeyError:
                function = keep_deleter(deleter)
            owner.__del__ = partial(function, as_pointer(address))
    except BaseException:
        if not address and not length_hint(steps):  # out of memory in the last step
            address = capsules.fast_pointer(cell, names[1])
        if address and owner.__del__ is NOTHING and pointers[address + at >> SHIFT]:
            deleter = pointers[address + at >> SHIFT]
            # called here, since a function would need one more level of recursion than the claim
            try:
                function = deleters[deleter]
            except KeyError:
                function = capsules.fast_deleter(deleter)
            function(as_pointer(address))
        raise
    return address


def _is_main() -> bool:
    """Whether this is the main interpreter of its process."""
    state = capsules.python_function("PyInterpreterState_Get", ctypes.c_void_p)()
    number = capsules.python_function("PyInterpreterState_GetID", ctypes.c_int64, ctypes.c_void_p)
    return bool(number(state) == 0)


CAN_RELEASE: Final = sys.version_info >= (3, 12) or _is_main()
"""Whether deleters, which take the GIL, can be called in this interpreter.

Before CPython 3.12 they take the GIL of the main interpreter, and deadlock in another one.
"""


def check_interpreter(call: str) -> None:
    """Refuse to exchange memory where deleters of other libraries deadlock."""
    if not CAN_RELEASE:
        what = "NumPy's deleter deadlocks in a subinterpreter on this CPython"
        fix = "exchange memory in the main interpreter, or run on CPython 3.12 or newer"
        raise ExchangeError(call, what, "DLP-LIFE-6", fix)


HAS_GIL: Final = getattr(sys, "_is_gil_enabled", lambda: True)()
"""Whether one thread at a time runs Python code."""


def one_at_a_time(function: F) -> F:
    """Return `function` under a reentrant lock, which a finaliser or signal handler may take."""
    lock = threading.RLock()

    @functools.wraps(function)
    def locked(*args: Any) -> Any:
        with lock:
            return function(*args)

    return locked  # type: ignore[return-value]
