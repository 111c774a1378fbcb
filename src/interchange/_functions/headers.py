"""Paths of the header and the library of the C API, for compilers and linkers.

Source: NumPy, ``get_include``; interchange/interchange.h.
"""

from __future__ import annotations

from importlib.machinery import PathFinder
from pathlib import Path
from typing import Final

from interchange import _core
from interchange._types.errors import BackendUnavailableError

_EXTENSION: Final = "interchange._core._native._extension"
_PACKAGE: Final = Path(__file__).resolve().parents[1]
_FOLDER: Final = _PACKAGE / "include"


def get_include() -> str:
    """Return the folder of ``interchange/interchange.h``, for C, C++ and Cython.

    Returns
    -------
    str
        Pass it to the compiler as ``-I``, or to setuptools in ``include_dirs``.

    Raises
    ------
    BackendUnavailableError
        The native core is not built here: compiled code would find no C API (IX-CAPI-2).

    Examples
    --------
    >>> from pathlib import Path
    >>> (Path(get_include()) / "interchange" / "interchange.h").is_file()
    True
    """
    check_native("get_include()")
    return str(_FOLDER)


def get_library() -> str:
    """Return the path of the shared library that exports the functions of the C API.

    Returns
    -------
    str
        Pass it to the linker as a file, or to ``ctypes.PyDLL``, which keeps the GIL.  It needs the
        symbols of Python, and its functions work once `interchange` is imported.

    Raises
    ------
    BackendUnavailableError
        The native core is not built here, or another core is in use, as in a subinterpreter: the
        library is not initialised (IX-CAPI-2).

    Examples
    --------
    .. doctest::
        :skipif: core_name != "native"

        >>> import ctypes
        >>> library = ctypes.PyDLL(get_library())
        >>> hasattr(library, "interchange_view")
        True
    """
    call = "get_library()"
    check_native(call)
    if _core.core_name == "ctypes":
        what = "the ctypes core is in use"
        fix = "leave INTERCHANGE_CORE unset, and ask in the main interpreter"
        raise BackendUnavailableError(call, what, "IX-CAPI-2", fix)
    from interchange._core._native import _extension

    return str(_extension.__file__)


def check_native(call: str) -> None:
    """Refuse if the native core is not built: the C API is part of it.

    Raises BackendUnavailableError: it is not built (IX-CAPI-2).
    """
    if _core.core_name != "ctypes":
        return
    folder = str(_PACKAGE / "_core" / "_native")  # its import may fail
    if PathFinder.find_spec(_EXTENSION, [folder]) is None:
        raise BackendUnavailableError(call, "the native core is not built here", "IX-CAPI-2")
