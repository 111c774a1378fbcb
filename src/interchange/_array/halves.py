"""The two halves of an Array: what describes memory, and the array of the library that computes.

Source: interchange.  Each half is made from the other when it is first needed, and then kept: an
exchange needs no library, and a chain of computations describes nothing in between.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

from interchange import _core
from interchange._backends.choosing import backend_of
from interchange._terms.errors import CopyNeededError

if TYPE_CHECKING:
    from interchange._backends.backend import Backend

    from .array import Array

T = TypeVar("T", bound="Array")

RECORD: Final = frozenset({"_fields", "_flags", "_keep", "_known", "_owner", "_ptr"})
"""Attributes of an Array that describe memory; unset in what was computed and not looked at."""

_CALL: Final = "Array"
_new_object: Final = object.__new__
_attribute: Final = object.__getattribute__


def wrap(native: Any, backend: Backend, cls: type[T]) -> T:
    """Return an Array of a result; what it describes is found out when somebody asks."""
    self = _new_object(cls)
    self._native = native if type(native) is backend.array_type else backend.as_native(native)
    self._backend = backend
    return self


def is_described(array: Array) -> bool:
    """Whether an Array has the half that describes memory."""
    try:
        _attribute(array, "_flags")
    except AttributeError:
        return False
    return True


def native_or_none(array: Array) -> Any:
    """Return the array of the library that computes, if there is one already."""
    try:
        return _attribute(array, "_native")
    except AttributeError:
        return None


def find_half(array: Array, name: str) -> Any:
    """Return an attribute of the half that is missing, for ``__getattr__``.

    Raises
    ------
    AttributeError
        There is no such attribute.
    """
    if name in RECORD:
        _describe(array)
        return _attribute(array, name)
    if name == "_native":
        return _view(array, array._backend)
    if name == "_backend":
        array._backend = backend_of(array.device, _CALL)
        return array._backend
    what = f"{type(array).__name__!r} object has no attribute {name!r}"
    raise AttributeError(what, name=name, obj=array)


def _describe(array: Array) -> None:
    """Fill in what describes the memory of a result."""
    native: Any = native_or_none(array)
    if native is None:
        raise AttributeError("an Array that was never made describes nothing")
    backend = array._backend
    _core.become(array, backend.describe(native, type(array)))


def _view(array: Array, backend: Backend) -> Any:
    """Return the array of a library over described memory; a copy where it knows no such layout."""
    if not is_described(array):
        raise AttributeError("an Array that was never made has no elements")
    try:
        native = backend.view(array)
    except CopyNeededError:
        return backend.view(array.copy())  # made anew each time: the memory may have changed
    array._native = native
    return native


def view_by(array: Array, backend: Backend) -> Any:
    """Return the array of another library, on the same device, over the memory of an Array."""
    try:
        return backend.view(array)
    except CopyNeededError:
        return backend.view(array.copy())
