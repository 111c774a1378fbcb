"""Which library an array or a namespace is of, by the array API.

Source: array-api-compat, ``common/_helpers.py``: a subclass of a library's array counts as its
array, wherever the subclass is defined.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

from interchange._libraries.array_api import unknown_api
from interchange._types.library import all_libraries, class_at, imported_libraries
from interchange._types.type_table import TypeTable

if TYPE_CHECKING:
    from interchange._libraries.array_api import ArrayAPI


def api_of(x: object) -> ArrayAPI | None:
    """Return the array API that an array is of, or None for any other object."""
    cls: type = type(x)
    known = _apis.get(cls)
    if known is None:
        known = _apis[cls] = (_api_of_class(cls),)
    return known[0]


_apis: Final[TypeTable[tuple[ArrayAPI | None]]] = TypeTable(256)


def _api_of_class(cls: type) -> ArrayAPI | None:
    """Return the array API that a class of arrays, or a subclass of one, is of."""
    for library in imported_libraries():
        api: ArrayAPI | None = library.array_api
        for module, name in () if api is None else api.arrays:
            known = class_at(module, name)
            if known is not None and issubclass(cls, known):
                return api
    return None


@functools.cache
def known_apis() -> dict[str, ArrayAPI]:
    """Return what is known of the array APIs of libraries, by name."""
    found: list[ArrayAPI | None] = [library.array_api for library in all_libraries()]
    return {api.name: api for api in found if api is not None}


def api_of_namespace(xp: Any) -> ArrayAPI:
    """Return the array API whose namespace `xp` is, with defaults for an unknown library.

    Copies of array-api-compat within other packages count as that.
    """
    name: str = xp.__name__
    for api in known_apis().values():
        if name == api.module:
            return api
        if api.wrapped is not None and f".{name}".endswith(f".{api.wrapped}"):
            return api
    return unknown_api(name)


def array_classes(api: ArrayAPI, xp: Any) -> tuple[type, ...]:
    """Return the classes of the arrays of a namespace, which is imported, and so are they."""
    found = (class_at(module, name) for module, name in api.arrays)
    return tuple(one for one in found if one is not None) or (type(xp.asarray(0)),)
