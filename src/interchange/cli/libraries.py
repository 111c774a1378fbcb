"""The arrays that ``python -m interchange`` describes: the examples of every known library.

The release of a library is found without importing it; an array shows which protocols the library
supports.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import sys
import warnings
from importlib import metadata
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from interchange._types.library import Example, all_libraries

if TYPE_CHECKING:
    from collections.abc import Iterator


class AbsentError(Exception):
    """A library is not installed, or does not work here; the text says why."""


EXAMPLES: Final = (
    *(example for library in all_libraries() for example in library.examples),
    Example(
        "memoryview", "builtins", None, lambda _: memoryview(bytearray(12)).cast("f"), None,
        "stdlib",
    ),
    Example("bytes", "builtins", None, lambda _: bytes(3), None, "stdlib"),
    Example("bytearray", "builtins", None, lambda _: bytearray(3), None, "stdlib"),
    Example("array.array", "array", None, lambda m: m.array("f", [0.0]), None, "stdlib"),
    Example("ctypes array", "ctypes", None, lambda m: (m.c_float * 3)(), None, "stdlib"),
)  # fmt: skip
"""Every kind of array, in the order of the table."""


def release_of(library: Example) -> str | None:
    """Return the release that is installed, or None; the library is not imported."""
    if library.distribution is None:
        return "{}.{}.{}".format(*sys.version_info)
    top = library.module.partition(".")[0]
    if top not in sys.modules and find_spec(top) is None:
        return None
    try:
        return metadata.version(library.distribution)
    except metadata.PackageNotFoundError:
        found = getattr(sys.modules.get(top), "__version__", None)
        return str(found) if found else "unknown"


def array_of(library: Example) -> tuple[Any, Any]:
    """Import a library, and return its module and an array of it.

    Raises AbsentError: it is not installed, does not import, or makes no array.
    """
    if release_of(library) is None:
        raise AbsentError("not installed")
    for name, value in library.environment.items():
        os.environ.setdefault(name, value)
    with silenced():
        try:
            module = importlib.import_module(library.module)
        except Exception as error:
            raise AbsentError(f"does not import: {first_line(error)}") from error
        try:
            return module, library.make(module)
        except Exception as error:
            raise AbsentError(f"makes no array: {first_line(error)}") from error


@contextlib.contextmanager
def silenced() -> Iterator[None]:
    """Drop the warnings of libraries and what they print; errors go through."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        yield


def first_line(error: BaseException) -> str:
    """Return the first line of an error's text, or the name of its type."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
