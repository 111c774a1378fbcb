"""Functions in C that the zoo has: compiled on the spot, kept in the user's cache, and loaded.

Source: interchange.  A compiler is looked for where the emulated driver looks for its own.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Final

from interchange_conformance.emucuda.building import CannotBuildError, cache_folder, find_compiler

_HERE: Final = Path(__file__).parent
_OPTIONS: Final = ("-std=gnu11", "-O1", "-shared", "-fPIC")


@functools.cache
def load(name: str) -> Any:
    """Return the functions of a source of this folder, loaded.

    Parameters
    ----------
    name : str
        Such as ``"exchange_table.c"``.

    Raises
    ------
    CannotBuildError
        There is no C compiler, or it refuses the source.
    """
    source = _HERE / name
    compiler = find_compiler()
    made_of = repr((compiler, _OPTIONS)).encode() + source.read_bytes()
    digest = hashlib.sha256(made_of).hexdigest()[:16]
    library = cache_folder() / f"{source.stem}-{digest}.so"
    if not library.is_file():
        handle, made = tempfile.mkstemp(dir=library.parent, prefix=f".{source.stem}.")
        os.close(handle)
        done = subprocess.run(  # noqa: S603 - the compiler that this user named
            [*compiler, *_OPTIONS, "-o", made, str(source)],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            Path(made).unlink()
            raise CannotBuildError(f"{name} cannot be built: {done.stderr[:1000]}")
        Path(made).replace(library)
    return ctypes.CDLL(str(library))


def function_address(source: str, name: str) -> int:
    """Return the address of a function of a source of this folder.

    Parameters
    ----------
    source, name : str
        File and function.

    Raises
    ------
    CannotBuildError
        There is no C compiler, or it refuses the source.
    """
    return ctypes.cast(getattr(load(source), name), ctypes.c_void_p).value or 0
