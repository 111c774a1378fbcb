"""Conversion between an Array and the array of the library that computes with it.

Source: CPython, the collector of cyclic garbage.  Each of the two is made from the other when it is
first needed: an exchange needs no library, and a chain of computations describes no intermediate
result.  The library and its array are one attribute, set once both are known, since other threads
read it.

The collector does not see the references of a library's array.  So an Array keeps none over memory
whose owner may refer back to it, which would be an uncollectable cycle: the library's array is made
again for each use.  The same holds if streams work on the memory, since a library waits for them
whenever it takes an array.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from interchange import _core
from interchange._core._cycles import may_refer_back
from interchange._libraries.selection import backend_of, loaded_backend_of_host
from interchange._libraries.standard_names import FRESH, SPREADING, VIEWS
from interchange._protocols.dlpack import READ_ONLY
from interchange._streams.pending import pending_work_of
from interchange._types.devices import CPU
from interchange._types.errors import CopyNeededError

from .copies import copy_array

if TYPE_CHECKING:
    from typing import TypeVar

    from interchange._libraries.backend import Backend
    from interchange._types.spec import Spec

    from .array_base import ArrayBase

    T = TypeVar("T", bound="ArrayBase")

LibraryArray = tuple["Backend", Any, Any]
"""The library that computes; its array; and a function that makes the array if that is None.
"""

_CALL: Final = "Array"


def wrap(native: Any, backend: Backend, cls: type[T], like: ArrayBase | None = None) -> T:
    """Return an Array of a result; its attributes are computed on first access.

    `native`: the result of the library: an array of its own, or a scalar.
    `like`: the Array whose memory the result may share, if the library does not track read-only
        memory.
    """
    if backend._uses_streams:
        backend._note_used()
    native = native if type(native) is backend.plain_type else backend.as_native(native)
    flags: int | None = 0
    if backend.keeps_readonly:
        unknown = like is not None and like._flags is None  # unknown for both
        flags = 0 if native.flags.writeable else None if unknown else READ_ONLY
    elif not backend.is_mutable:
        flags = READ_ONLY
    elif (
        like is not None
        and like.readonly is not False
        and backend.may_share(native, native_of(like))
    ):
        flags = like._flags
    return _core.computed(native, (backend, native, None), flags, cls)


def wrap_new(native: Any, backend: Backend, cls: type[T]) -> T:
    """Return an Array of a result that shares no memory, as `wrap` does."""
    if backend._uses_streams:
        backend._note_used()
    native = native if type(native) is backend.plain_type else backend.as_native(native)
    flags = 0 if backend.is_mutable else READ_ONLY
    return _core.computed(native, (backend, native, None), flags, cls)


def finish(name: str, result: Any, backend: Backend, like: T) -> T:
    """Return an Array of the result of a function of one array, whose memory it may share.

    `name`: the function, by its name in the standard.
    `like`: the argument of the function.
    """
    cls = type(like)
    if name in VIEWS:
        found = _owned(wrap(result, backend, cls, like), like)
        if backend.keeps_readonly:
            return found
        knows = name not in SPREADING
        if not knows and not found.readonly and found._spec.layout.may_overlap:
            found._flags = READ_ONLY
        return found
    if name in FRESH and backend.is_mutable:
        result = backend.as_native(result)
        if backend.may_share(result, native_of(like)):
            result = backend.copy(result)
    return wrap(result, backend, cls)


def _owned(found: T, like: T) -> T:
    """Return a result whose owner the collector can see, if it is a view that needs it.

    The same holds for memory with pending work: earlier users wait for each use of the view.
    """
    work = pending_work_of(like)
    if work is None and not may_refer_back(like._keepalive):
        return found
    spec = found._spec
    if not spec.layout.size:
        keep = None
    elif like._spec.has_element_at(found.ptr - like.ptr):  # no new memory has this address
        keep = like._keepalive
    else:
        return found
    view = _core.describe(found.ptr, spec, found._flags, like._owner, keep, type(found))
    work = work or pending_work_of(found)
    if work is not None:
        view._pending_work = work
    return view


def describe(array: ArrayBase) -> Spec:
    """Set the attributes of the memory of a result; several threads set the same values."""
    backend, native, _ = array._library
    said = array._flags
    found = backend.describe(native, type(array))
    if said is None or found._flags is None:
        flags = None if not (said or found._flags) else READ_ONLY
    else:
        flags = said | found._flags
    _core.redescribe(array, found, flags)
    return array._spec


def backend_of_array(array: Any) -> Backend:
    """Return the library that computes with an Array: the previous one, if any."""
    found: LibraryArray | None = getattr(array, "_library", None)
    return backend_of(array.device, _CALL) if found is None else found[0]


def library_array_of(array: Any) -> LibraryArray:
    """Return the library and the array that an Array keeps, found at the first use."""
    found: LibraryArray | None = getattr(array, "_library", None)
    if found is None:
        found = array._library = _find_library_array(array)
    return found


def _find_library_array(array: ArrayBase) -> LibraryArray:
    """Return the library that computes on the device of an Array, with its array."""
    backend = backend_of(array.device, _CALL)
    if pending_work_of(array) is not None:  # more work may be pending by the next use
        return backend, None, None
    if may_refer_back(array._keepalive):
        return backend, None, backend._maker(array)
    try:
        return backend, backend.view(array), None
    except CopyNeededError:
        return backend, None, None


def ndarray_of(array: Any) -> Any:
    """Return the ndarray with which NumPy computes on host memory; None if there is none.

    It is made at the first use, if NumPy is loaded, so that reads of elements cost what NumPy's do.
    """
    library: LibraryArray | None = getattr(array, "_library", None)
    if library is None:
        if array.device is not CPU or array.dtype.typestr is None:
            return None
        backend = loaded_backend_of_host()
        if backend is None or not backend.keeps_readonly:
            return None
        library = library_array_of(array)
    backend, native, _ = library
    known = array._known
    is_plain = known is None or known.device is CPU
    if native is None or not backend.keeps_readonly or not is_plain:
        return None
    return native if getattr(array, "_pending_work", None) is None else None


def computing_with(array: Any) -> tuple[Backend, Any]:
    """Return the library and its array; a copy if it does not support the layout."""
    backend, native, again = library_array_of(array)
    if native is None:
        native = view_by(array, backend) if again is None else again()
    return backend, native


def sharing_with(array: Any) -> tuple[Backend, Any]:
    """Return the library and its array; None if it does not support the layout."""
    try:
        backend, native, again = library_array_of(array)
        if native is None:
            native = backend.view(array) if again is None else again()
    except CopyNeededError:
        return backend_of_array(array), None
    return backend, native


def native_of(array: Any) -> Any:
    """Return the array of the library that computes; a copy if it does not support the layout."""
    return computing_with(array)[1]


def view_by(array: ArrayBase, backend: Backend) -> Any:
    """Return the array of a library, on the same device, over the memory of an Array or a copy."""
    try:
        return backend.view(array)
    except CopyNeededError:
        if (log := _core.log) is not None:
            what = f"copied, since {backend.name} does not support the layout {array.strides}"
            log(_CALL, what, array)
        copied = copy_array(array, type(array), "C", _CALL)  # each time: memory may have changed
        return backend.view(copied)
