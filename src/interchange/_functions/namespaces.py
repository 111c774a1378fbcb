"""`array_namespace`: the namespace in which ``xp.asarray(a)`` works for every argument.

Source: array API standard 2025.12, ``array.__array_namespace__``; array-api-compat,
``array_namespace`` (the scalars to ignore, and that libraries are not mixed).
"""

from __future__ import annotations

import functools
import importlib
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from interchange._array import Array
from interchange._protocols.conversion_hints import conversion_hint
from interchange._protocols.published_work import ATTRIBUTE
from interchange._types.devices import Device
from interchange._types.errors import (
    ArgumentError,
    BackendUnavailableError,
    NoProtocolError,
    UnsupportedDeviceError,
    show,
)
from interchange.abi import PyCapsule

from .array_apis import api_of, api_of_namespace, known_apis
from .importing import asarray
from .upgrade import OURS, has_buffer, upgrade

if TYPE_CHECKING:
    from interchange._libraries.array_api import ArrayAPI

_CALL: Final = "array_namespace()"
_SCALARS: Final = (bool, int, float, complex, type(None))
_PROTOCOLS: Final = (
    "__dlpack__",
    ATTRIBUTE,
    "__interchange__",
    "__array_interface__",
    "__array__",
)


def array_namespace(*arrays: Any, backend: str | None = None) -> Any:
    """Return a namespace in which ``xp.asarray(a)`` works for every argument.

    Parameters
    ----------
    *arrays : object
        Arrays of a library, and memory of any kind beside them: `Array`, DLPack producers without
        a namespace, objects with ``__cuda_array_interface__``, bare capsules, buffers.  Python
        numbers and None are ignored.
    backend : str, optional
        The library whose namespace is requested, such as ``"torch"``; ``"interchange"`` for
        `interchange.xp`.  Arrays of other libraries are then accepted, and none are required.

    Returns
    -------
    module
        The namespace of the library of the arrays, upgraded (`interchange.compat`) and, if
        array-api-compat is installed, as wrapped by it; `interchange.xp` if no argument belongs to
        a library.

    Raises
    ------
    ArgumentError
        The arrays belong to two libraries, or there is none (IX-NAMESPACE-1).
    NoProtocolError
        An argument holds no memory (IX-PROTOCOL-1).
    UnsupportedDeviceError
        An argument is on a device, and the library has host arrays only (DLP-DEV-6).
    BackendUnavailableError
        `backend` is unknown or not installed (IX-CONVERT-1).

    Notes
    -----
    As in array-api-compat, instances of a subclass of a library's array count as its arrays. Only
    wrappers of libraries that are imported already are imported.

    Examples
    --------
    >>> import numpy as np
    >>> xp = array_namespace(np.arange(3), b"abc", 2.5)
    >>> [xp.asarray(a).dtype.name for a in (np.arange(3.0), b"abc")]
    ['float64', 'uint8']
    >>> array_namespace(b"abc", bytearray(2)).__name__
    'interchange.xp'
    """
    if backend is None and arrays:  # the common case
        first = api_of(arrays[0])
        alone = len(arrays) == 1  # no generator in the usual case
        if first is not None and (alone or all(api_of(x) is first for x in arrays)):
            return upgrade(_namespace_of(first.name))
    named = None if backend is None else _find_backend(backend)
    found: dict[str, tuple[int, Any]] = {}
    others: list[tuple[int, Any]] = []
    for place, x in enumerate(arrays):
        api = api_of(x)
        if api is None and isinstance(x, _SCALARS):
            continue
        xp = None if isinstance(x, Array) else _own_namespace(x, api)
        if xp is None or named is not None:
            others.append((place, x))
        if xp is not None:
            found.setdefault(xp.__name__, (place, xp))
    if named is None and len(found) > 1:
        _refuse_mixture(found, arrays)
    xp = named if named is not None else next((xp for _, xp in found.values()), None)
    if xp is None and not others:
        shown = f": {show(arrays)}" if arrays else ""
        what = f"no array among {len(arrays)} arguments{shown}"
        raise ArgumentError(_CALL, what, "IX-NAMESPACE-1", "pass an array, or `backend='numpy'`")
    _check_others(others, xp)
    return importlib.import_module(OURS) if xp is None else upgrade(xp)


def _own_namespace(x: Any, api: ArrayAPI | None) -> Any:
    """Return the namespace of an array's library, or None for memory of no library."""
    if api is not None:
        return _namespace_of(api.name)
    if not callable(getattr(type(x), "__array_namespace__", None)) or isinstance(x, type):
        return None
    found = x.__array_namespace__(api_version=None)
    if not isinstance(getattr(found, "__name__", None), str):
        what = f"__array_namespace__() of {type(x).__name__} returned {show(found)}"
        raise NoProtocolError(_CALL, what, "IX-NAMESPACE-2", "return a namespace")
    return found


@functools.cache
def _namespace_of(name: str) -> Any:
    """Return the namespace of a library, as wrapped by array-api-compat if that is installed."""
    api = known_apis()[name]
    if api.wrapped is not None and find_spec(api.wrapped.partition(".")[0]) is not None:
        return importlib.import_module(api.wrapped)
    return importlib.import_module(api.module)


def _find_backend(backend: object) -> Any:
    """Return the namespace of a library that was named."""
    if not isinstance(backend, str):
        raise ArgumentError(_CALL, f"backend={show(backend)}", "IX-ARGUMENT-1", "pass its name")
    if backend == "interchange":
        return importlib.import_module(OURS)
    if backend not in known_apis():
        what = f"backend={backend!r} is not known"
        hint = f"choose one of {', '.join(known_apis())} or interchange"
        raise BackendUnavailableError(_CALL, what, "IX-CONVERT-1", hint)
    try:
        return _namespace_of(backend)
    except ImportError as error:
        what = f"{backend} cannot be imported ({error})"
        raise BackendUnavailableError(_CALL, what, "IX-CONVERT-1", f"install {backend}") from error


def _refuse_mixture(found: dict[str, tuple[int, Any]], arrays: tuple[Any, ...]) -> None:
    """Raise: arrays of several libraries are not mixed unless the caller names one.

    The error has the positions and types of the first array of each.
    """
    met = [(name, place, type(arrays[place]).__name__) for name, (place, _) in found.items()]
    said = " and ".join(f"{kind} of {name} (argument {place})" for name, place, kind in met)
    names = " or ".join(f"`backend={api_of_namespace(xp).name!r}`" for _, xp in found.values())
    hint = f"pass {names}, or bring one over with `convert`"
    raise ArgumentError(_CALL, f"arrays of several libraries: {said}", "IX-NAMESPACE-1", hint)


def _check_others(others: list[tuple[int, Any]], xp: Any) -> None:
    """Refuse objects without memory, and device memory if the library has host arrays only."""
    on_host = xp is not None and api_of_namespace(xp).memory == "host"
    for place, x in others:
        if isinstance(x, (type, str)) or not _holds_memory(x):
            what = f"argument {place} is {show(x)} of type {type(x).__name__}"
            raise NoProtocolError(_CALL, what, "IX-PROTOCOL-1", conversion_hint(x))
        if on_host and not is_host_accessible(x):
            what = f"{xp.__name__} has arrays on the host only, and argument {place} is on a device"
            move = "move it with `interchange.asarray(x, device='cpu')`"
            hint = f"{move}, or pass `backend='interchange'`"
            raise UnsupportedDeviceError(_CALL, what, "DLP-DEV-6", hint)


def _holds_memory(x: Any) -> bool:
    """Whether `asarray` may find memory in an object."""
    if type(x) is PyCapsule:
        return True
    return any(hasattr(x, word) for word in _PROTOCOLS) or has_buffer(x)


def is_host_accessible(x: Any) -> bool:
    """Whether the host can read the memory of `x`, as far as known without an export."""
    if getattr(x, "__dlpack_device__", None) is not None:
        return Device.of(x, _CALL).is_host_accessible
    if getattr(x, ATTRIBUTE, None) is None:
        return True
    return asarray(x).device.is_host_accessible
