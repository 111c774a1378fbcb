"""Python capsules, and calls of C function pointers.  The only user of ``PYFUNCTYPE``.

Source: CPython C API (PyCapsule), DLPack Python specification (names and life of a capsule).

Every prototype belongs to a private ``PyDLL``: attributes set on the ``ctypes`` handle that all
libraries share would change the calls of the whole process (HOST-CTYPES-1).
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any, Final

if sys.platform == "win32":
    _python: Final = ctypes.PyDLL("python", handle=sys.dllhandle)
else:
    _python: Final = ctypes.PyDLL(None)

Prototype: Final[Any] = ctypes.PYFUNCTYPE


def python_function(name: str, result: Any, *arguments: Any) -> Any:
    """Return a C API function with its prototype, the GIL held during calls."""
    return Prototype(result, *arguments)((name, _python))


def address_of(name: str) -> int:
    """Return the address of a function of the running interpreter, 0 where it has none."""
    from ._loaded import address_in  # the ctypes core needs none

    return address_in(_python, name)


increase_reference: Final = python_function("Py_IncRef", None, ctypes.py_object)
decrease_reference: Final = python_function("Py_DecRef", None, ctypes.py_object)


def static_name(name: bytes) -> bytes:
    """Return `name` kept for ever: a capsule stores the pointer, not the string (DLP-CAP-4)."""
    increase_reference(name)
    return name


LEGACY: Final = static_name(b"dltensor")
VERSIONED: Final = static_name(b"dltensor_versioned")
USED_LEGACY: Final = static_name(b"used_dltensor")
USED_VERSIONED: Final = static_name(b"used_dltensor_versioned")
EXCHANGE_API: Final = static_name(b"dlpack_exchange_api")

USED_NAME: Final = {LEGACY: USED_LEGACY, VERSIONED: USED_VERSIONED}
"""Name of an unused capsule -> its name once consumed."""

new_capsule: Final = python_function(
    "PyCapsule_New", ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p
)
"""``new_capsule(address, name, destructor address or None)``."""
capsule_name: Final = python_function("PyCapsule_GetName", ctypes.c_char_p, ctypes.py_object)
"""The name of a capsule, or None; ValueError for other objects."""
capsule_pointer: Final = python_function(
    "PyCapsule_GetPointer", ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p
)
"""The address in a capsule of that name; ValueError otherwise."""
rename_capsule: Final = python_function(
    "PyCapsule_SetName", ctypes.c_int, ctypes.py_object, ctypes.c_char_p
)
"""``rename_capsule(capsule, name)``; `name` must be static."""
capsule_destructor: Final = python_function(
    "PyCapsule_GetDestructor", ctypes.c_void_p, ctypes.py_object
)
"""The address of the destructor, or None."""
set_capsule_destructor: Final = python_function(
    "PyCapsule_SetDestructor", ctypes.c_int, ctypes.py_object, ctypes.c_void_p
)

free: Final = python_function("PyMem_Free", None, ctypes.c_void_p)

anchor: Final = ctypes.create_string_buffer(1)
"""A static byte, for addresses that are never dereferenced."""
PyCapsule: Final[type[Any]] = type(new_capsule(ctypes.addressof(anchor), None, None))
"""The type of every capsule."""


# Variants for the hot path.  Without declared argument types a call accepts only ctypes instances,
# results of `from_param`, bytes and None, and does not convert them: pass no ints, whose upper bits
# would be lost.
class Address(ctypes.c_void_p):
    """A result that stays a ctypes instance, so that it can be passed on unchanged."""


fast_pointer: Final = Prototype(ctypes.c_size_t)(("PyCapsule_GetPointer", _python))
"""``f(py_object(capsule), name)`` -> address."""
fast_rename: Final = Prototype(ctypes.c_int)(("PyCapsule_SetName", _python))
"""``f(py_object(capsule), static name)``."""
fast_set_destructor: Final = Prototype(ctypes.c_int)(("PyCapsule_SetDestructor", _python))
"""``f(py_object(capsule), None)``."""
fast_new: Final = Prototype(ctypes.py_object)(("PyCapsule_New", _python))
"""``f(Address, Address of a static name, Address of a destructor)``."""
fast_allocate: Final = Prototype(Address)(("PyMem_Malloc", _python))
"""``f(c_size_t)`` -> Address."""
_untrack: Final = Prototype(None)(("PyObject_GC_UnTrack", _python))
fast_increase_reference: Final = Prototype(None)(("Py_IncRef", _python))
"""``f(py_object)``, or ``f(c_void_p.from_param(id(object)))``."""
fast_decrease_reference: Final = Prototype(None)(("Py_DecRef", _python))
"""As `fast_increase_reference`, for an object that has another reference, too."""


def hide_from_collector(x: object) -> None:
    """Let the garbage collector no longer track an object, which is in no cycle."""
    _untrack(ctypes.py_object(x))


Deleter: Final = Prototype(None, ctypes.c_void_p)
"""Prototype of a deleter, called with the GIL held."""
fast_deleter: Final = Prototype(None)
"""As `Deleter`, whose functions take ``c_void_p.from_param(address)``."""
deleters: Final[dict[int, Any]] = {}
"""Cache of deleters, by address."""


def deleter_at(
    address: int, _known: dict[int, Any] = deleters, _make: Any = Deleter, _most: int = 1024
) -> Any:
    """Return the deleter at `address` as a callable that takes the address of its struct.

    Its globals are bound as defaults, since a finaliser may call it when globals are gone.
    """
    function = _known.get(address)
    if function is None:
        if len(_known) >= _most:  # some producers make one per array
            _known.clear()
        function = _known[address] = _make(address)
    return function
