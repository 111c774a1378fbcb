"""Which library a type is of, and what is known of it: a file in `interchange._libraries`.

Libraries are found by the names of modules and never imported to find out.  The file of a library
is imported when a type of it is first met.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from interchange.abi._show import module_of

from .library import Library

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import TypeVar

    from .library import Deviation

    T = TypeVar("T")

_FILES: Final = "interchange._libraries"
_MOST_NAMES: Final = 1024
UNKNOWN: Final = Library("")
"""What is assumed of a library without a file."""
_known: Final[dict[str, Library]] = {}


def package_of(cls: type) -> str:
    """Return the top-level module of a type.

    Examples
    --------
    >>> from collections.abc import Mapping
    >>> package_of(int), package_of(Mapping)
    ('builtins', 'collections')
    """
    return module_of(cls).partition(".")[0]


def library_named(name: str) -> Library:
    """Return what is known of the library with that top-level module.

    Examples
    --------
    >>> library_named("torch").name, library_named("no_such_library") is UNKNOWN
    ('torch', True)
    """
    found = _known.get(name)
    if found is None:
        if len(_known) >= _MOST_NAMES:
            _known.clear()
        found = _known[name] = _read_file(name)
    return found


def _read_file(name: str) -> Library:
    """Import the file of a library, if there is one."""
    file = f"{_FILES}.{name}"
    try:
        found = getattr(import_module(file), "LIBRARY", UNKNOWN)
    except ModuleNotFoundError as error:
        if error.name != file:
            raise
        return UNKNOWN
    return found if isinstance(found, Library) else UNKNOWN


def library_of(cls: type) -> Library:
    """Return the library whose module defines a type; bases do not count.

    Examples
    --------
    >>> import numpy as np
    >>> own = type("Own", (np.ndarray,), {"__module__": "mine"})
    >>> library_of(np.ndarray).name, library_of(own).name
    ('numpy', '')
    """
    return library_named(package_of(cls))


def libraries_of(cls: type) -> Iterator[Library]:
    """Yield the known libraries of a type and of its bases, in the order of the bases."""
    for base in cls.__mro__:
        found = library_of(base)
        if found is not UNKNOWN:
            yield found


def inherited(cls: type, fact: Callable[[Library], T | None]) -> T | None:
    """Return a fact of the first library of a type and its bases that has it, or None."""
    return next((found for one in libraries_of(cls) if (found := fact(one)) is not None), None)


def all_names() -> tuple[str, ...]:
    """Return the names of all files, without importing them."""
    if not _names:
        from pkgutil import iter_modules

        found = (file.name for file in iter_modules(import_module(_FILES).__path__))
        _names.append(tuple(sorted(found)))
    return _names[0]


_names: Final[list[tuple[str, ...]]] = []


def all_libraries() -> tuple[Library, ...]:
    """Return every known library once, in alphabetical order of the names of the files."""
    return _without_aliases(all_names())


def imported_libraries() -> tuple[Library, ...]:
    """Return the known libraries whose top-level module is imported."""
    return _without_aliases(name for name in all_names() if name in sys.modules)


def all_deviations() -> tuple[Deviation, ...]:
    """Return every deviation that interchange knows of, library by library."""
    return tuple(row for one in all_libraries() for row in one.deviations)


def _without_aliases(names: Iterable[str]) -> tuple[Library, ...]:
    """Return the libraries with these top-level modules, each once."""
    found = {one.name: one for one in map(library_named, names) if one is not UNKNOWN}
    return tuple(found.values())


def class_at(module: str, name: str) -> Any:
    """Return a class of a module that is imported, or None."""
    found = getattr(sys.modules.get(module), name, None)
    return found if isinstance(found, type) else None
