"""Where the header of the C API is, for whoever compiles against it.

Source: NumPy, ``get_include``; interchange/interchange.h.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

_FOLDER: Final = Path(__file__).resolve().parents[1] / "include"


def get_include() -> str:
    """Return the folder that C, C++ and Cython find ``interchange/interchange.h`` in.

    Returns
    -------
    str
        Pass it to the compiler as ``-I``, or to setuptools in ``include_dirs``.

    Examples
    --------
    >>> from pathlib import Path
    >>> (Path(get_include()) / "interchange" / "interchange.h").is_file()
    True
    """
    return str(_FOLDER)
