"""What owns one managed tensor, and how it comes to own it: nothing is lost in between.

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

_new_object: Final = object.__new__


class ManagedTensorOwner:
    """Owns one managed tensor: calls its deleter once, when asked or when it dies.

    The finaliser is a slot, and what is in it is C code, ``partial(deleter, address)``.  So no
    signal handler comes between an owner and its deleter, a chain of any length is released without
    Python's recursion, and nothing is looked up when globals may be gone.

    The collector must not see it.  It would call the finaliser of an owner in garbage before those
    of other objects there, which may still read the memory, or bring it back to life.
    """

    __slots__ = ("__del__",)

    __del__: Callable[[], object]  # unset, or `NOTHING`, while nothing is owned


as_pointer: Final = ctypes.c_void_p.from_param  # so that the finaliser needs no memory
NOTHING: Final = int
"""A finaliser in C that does nothing."""


def empty_owner(
    _cell: Any = ctypes.py_object, _hide: Any = capsules.fast_hide_from_collector
) -> tuple[ManagedTensorOwner, Any]:
    """Return an owner that owns nothing yet, and a cell to be used again."""
    owner = _new_object(ManagedTensorOwner)
    owner.__del__ = NOTHING
    cell = _cell(owner)
    _hide(cell)
    return owner, cell


def release_owner(owner: ManagedTensorOwner) -> None:
    """Call the deleter now, whoever else refers to the owner."""
    owner.__del__, release = NOTHING, owner.__del__
    release()


# A signal handler runs when a call has returned, before anybody has what it gave.  So a call that
# gives what must not be lost is made by an iterator, and its result unpacked: it is stored before
# anything else can happen.  Other threads do not come between either, nor does a library that
# claims in C itself.  From there to the object that owns it, and where it fails, to the deleter,
# nothing is called but what is tried: a subscript is no call.
_call_function: Final = type(capsules.fast_pointer).__call__
_CLAIM: Final = (
    capsules.fast_pointer,  # or fail: somebody else was first
    capsules.fast_rename,
    capsules.fast_set_destructor,
)
"""How a capsule is claimed: take its pointer, mark it used, clear its destructor (DLP-CAP-5)."""

_Generation = tuple[int, tuple[Any, ...]]
"""Where a struct has its deleter [bytes], and the second arguments of `_CLAIM`."""
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
"""The deleters met so far, by address.

A plain dict: looking into a subclass of one takes a level more of recursion than the claim did.
"""
_MOST_DELETERS: Final = 1024  # some producers make one per array


def keep_deleter(address: int) -> Any:
    """Return a deleter that is met for the first time, and remember it, which is faster."""
    if len(deleters) >= _MOST_DELETERS:
        deleters.clear()
    function = deleters[address] = capsules.fast_deleter(address)
    return function


def claim(owner: ManagedTensorOwner, cell: Any, generation: _Generation) -> int:
    """Let an owner have the struct of an unused capsule, and return its address.

    Raises
    ------
    ValueError
        The capsule in the cell has another name.
    """
    at, names = generation
    address: int = 0
    steps = iter(_CLAIM)
    try:
        address, _, _ = map(_call_function, steps, (cell, cell, cell), names)
        deleter = pointers[address + at >> SHIFT]
        if deleter:  # NULL means that there is nothing to release: DLP-LIFE-5
            try:
                function = deleters[deleter]
            except KeyError:
                function = keep_deleter(deleter)
            owner.__del__ = partial(function, as_pointer(address))
    except BaseException:
        if not address and not length_hint(steps):  # there was no memory for the last step
            address = capsules.fast_pointer(cell, names[1])
        if address and owner.__del__ is NOTHING and pointers[address + at >> SHIFT]:
            deleter = pointers[
                address + at >> SHIFT
            ]  # called here, at a depth that the claim had, too
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
"""Whether native code that asks for the GIL, as deleters do, gets it while this code has it.

Before CPython 3.12 it asks for that of the main interpreter, and waits for ever in another one.
"""


def check_interpreter(call: str) -> None:
    """Refuse to exchange memory where the deleters of other libraries would never return."""
    if not CAN_RELEASE:
        what = "NumPy's deleter waits for ever in an interpreter that is not the main one"
        fix = "exchange memory in the main interpreter, or run on CPython 3.12 or newer"
        raise ExchangeError(call, what, "DLP-LIFE-6", fix)


HAS_GIL: Final = getattr(sys, "_is_gil_enabled", lambda: True)()
"""Whether one thread at a time runs Python code."""


def one_at_a_time(function: F) -> F:
    """Return `function` under a lock that a finaliser or a handler may take again."""
    lock = threading.RLock()

    @functools.wraps(function)
    def locked(*args: Any) -> Any:
        with lock:
            return function(*args)

    return locked  # type: ignore[return-value]
