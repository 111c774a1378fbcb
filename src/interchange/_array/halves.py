"""The two halves of an Array: what describes memory, and the array of the library that computes.

Source: interchange.  Each half is made from the other when it is first needed, and then kept: an
exchange needs no library, and a chain of computations describes nothing in between.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

from interchange import _core
from interchange._backends.choosing import backend_of
from interchange._backends.names import FRESH, SPREADING, VIEWS
from interchange._protocols.dlpack import READ_ONLY
from interchange._terms.errors import CopyNeededError

if TYPE_CHECKING:
    from interchange._backends.backend import Backend
    from interchange._terms.spec import Spec

    from .array import Array

T = TypeVar("T", bound="Array")

_CALL: Final = "Array"
_new_object: Final = object.__new__


def wrap(native: Any, backend: Backend, cls: type[T], like: Array | None = None) -> T:
    """Return an Array of a result; what it describes is found out when somebody asks.

    Parameters
    ----------
    native : object
        What the library returned: an array of its own, or a scalar.
    backend : Backend
        The library.
    cls : type
        What to return.
    like : Array, optional
        Whose memory the result may share, if the library does not know what must not be written.
    """
    self = _new_object(cls)
    native = native if type(native) is backend.plain_type else backend.as_native(native)
    self._native = self._owner = self._keep = native
    self._backend = backend
    self._known = self._fields = None
    if backend.keeps_readonly:
        unknown = like is not None and like._flags is None  # nobody could say, of either
        self._flags = 0 if native.flags.writeable else None if unknown else READ_ONLY
    elif not backend.is_mutable:
        self._flags = READ_ONLY
    elif like is None or like.readonly is False or not _shares(native, like, backend):
        self._flags = 0
    else:
        self._flags = like._flags
    return self


def _shares(native: Any, like: Array, backend: Backend) -> bool:
    """Whether a result may share the memory of an Array that it was made of."""
    source = native_or_none(like)
    return source is None or backend.may_share(native, source)


def finish(name: str, result: Any, backend: Backend, like: Array) -> Array:
    """Return an Array of the result of a function of one array, whose memory it shares or not.

    Parameters
    ----------
    name : str
        The function, by its name in the standard.
    result : object
        What the library returned.
    backend : Backend
        The library.
    like : Array
        What the function was given.
    """
    cls = type(like)
    if name in VIEWS:
        found = wrap(result, backend, cls, like)
        if name in SPREADING and not found.readonly and found._spec.layout.may_overlap:
            found._flags = READ_ONLY
        return found
    if name in FRESH and not backend.keeps_readonly and backend.is_mutable:
        result = backend.as_native(result)
        if backend.may_share(result, native_of(like)):
            result = backend.copy(result)
    return wrap(result, backend, cls)


def describe(array: Array) -> Spec:
    """Fill in what describes the memory of a result."""
    backend, said = array._backend, array._flags
    found = backend.describe(array._native, type(array))
    _core.become(array, found)
    if said is None or found._flags is None:
        array._flags = None if not (said or found._flags) else READ_ONLY
    else:
        array._flags = said | found._flags
    return array._spec


def library_of(array: Any) -> Backend:
    """Return who computes with an Array, chosen now if nobody did before."""
    found: Backend | None = getattr(array, "_backend", None)
    if found is None:
        found = array._backend = backend_of(array.device, _CALL)
    return found


def native_or_none(array: Any) -> Any:
    """Return the array of the library that computes, if there is one already."""
    return getattr(array, "_native", None)


def native_of(array: Any) -> Any:
    """Return the array of the library that computes; a copy where it knows no such layout."""
    native = getattr(array, "_native", None)
    if native is not None:
        return native
    backend = library_of(array)
    try:
        native = array._native = backend.view(array)
    except CopyNeededError:
        return backend.view(array.copy())  # made anew each time: the memory may have changed
    return native


def view_by(array: Array, backend: Backend) -> Any:
    """Return the array of another library, on the same device, over the memory of an Array."""
    try:
        return backend.view(array)
    except CopyNeededError:
        return backend.view(array.copy())
