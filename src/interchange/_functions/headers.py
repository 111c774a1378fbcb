"""Where the header of the C API is, for whoever compiles against it.

Source: NumPy, ``get_include``; interchange/interchange.h.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Final

from interchange import _core
from interchange._types.errors import BackendUnavailableError

_EXTENSION: Final = "interchange._core._native._extension"
_FOLDER: Final = Path(__file__).resolve().parents[1] / "include"


def get_include() -> str:
    """Return the folder that C, C++ and Cython find ``interchange/interchange.h`` in.

    Returns
    -------
    str
        Pass it to the compiler as ``-I``, or to setuptools in ``include_dirs``.

    Raises
    ------
    BackendUnavailableError
        The native core is not built here: what is compiled would find no C API (IX-CAPI-2).

    Examples
    --------
    >>> from pathlib import Path
    >>> (Path(get_include()) / "interchange" / "interchange.h").is_file()
    True
    """
    check_native("get_include()")
    return str(_FOLDER)


def check_native(call: str) -> None:
    """Refuse where the native core is not built: the C API is a part of it.

    Raises
    ------
    BackendUnavailableError
        It is not (IX-CAPI-2).
    """
    if _core.core_name == "ctypes" and find_spec(_EXTENSION) is None:
        raise BackendUnavailableError(call, "the native core is not built here", "IX-CAPI-2")
