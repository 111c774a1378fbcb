"""The library of an array or a namespace, according to the array API.

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
    """Return the array API of an array, or None for any other object."""
    cls: type = type(x)
    known = _apis.get(cls)
    if known is None:
        known = _apis[cls] = (_api_of_class(cls),)
    return known[0]


_apis: Final[TypeTable[tuple[ArrayAPI | None]]] = TypeTable(256)


def _api_of_class(cls: type) -> ArrayAPI | None:
    """Return the array API of a class of arrays, or of a subclass of one."""
    for library in imported_libraries():
        api: ArrayAPI | None = library.array_api
        for module, name in () if api is None else api.arrays:
            known = class_at(module, name)
            if known is not None and issubclass(cls, known):
                return api
    return None


@functools.cache
def known_apis() -> dict[str, ArrayAPI]:
    """Return the records of the array APIs of libraries, by name."""
    found: list[ArrayAPI | None] = [library.array_api for library in all_libraries()]
    return {api.name: api for api in found if api is not None}


def api_of_namespace(xp: Any) -> ArrayAPI:
    """Return the array API of the namespace `xp`, with defaults for an unknown library.

    Copies of array-api-compat within other packages count as array-api-compat.
    """
    name: str = xp.__name__
    for api in known_apis().values():
        if name == api.module:
            return api
        if api.wrapped is not None and f".{name}".endswith(f".{api.wrapped}"):
            return api
    return unknown_api(name)


def array_classes(api: ArrayAPI, xp: Any) -> tuple[type, ...]:
    """Return the array classes of a namespace; they are imported with it."""
    found = (class_at(module, name) for module, name in api.arrays)
    return tuple(one for one in found if one is not None) or (type(xp.asarray(0)),)
