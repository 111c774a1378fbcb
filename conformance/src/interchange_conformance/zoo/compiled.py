"""The zoo's C functions: compiled at run time, cached in the user's cache directory, and loaded.

The compiler is found as for the emulated driver.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
from pathlib import Path
from typing import Any, Final

from interchange_conformance.emucuda.building import (
    CannotBuildError,
    cache_folder,
    find_compiler,
    get_or_build,
    run_compiler,
)

_HERE: Final = Path(__file__).parent
_OPTIONS: Final = ("-std=gnu11", "-O1", "-shared", "-fPIC")


@functools.cache
def load(name: str) -> Any:
    """Compile a C source of this folder if necessary, and return its loaded library.

    Parameters
    ----------
    name : str
        File name, such as ``"exchange_table.c"``.

    Raises
    ------
    CannotBuildError
        There is no C compiler, or it fails.
    """
    source = _HERE / name
    compiler = find_compiler()
    made_of = repr((compiler, _OPTIONS)).encode() + source.read_bytes()
    digest = hashlib.sha256(made_of).hexdigest()[:16]
    library = cache_folder() / f"{source.stem}-{digest}.so"
    return ctypes.CDLL(str(get_or_build(library, functools.partial(_compile, compiler, source))))


def _compile(compiler: list[str], source: Path, made: Path) -> None:
    """Compile one source."""
    done = run_compiler([*compiler, *_OPTIONS, "-o", str(made), str(source)])
    if done.returncode:
        raise CannotBuildError(f"{source.name} cannot be built: {done.stderr[:1000]}")


def function_address(source: str, name: str) -> int:
    """Return the address of a function in a C source of this folder.

    Parameters
    ----------
    source, name : str
        File name and function name.

    Raises
    ------
    CannotBuildError
        There is no C compiler, or it fails.
    """
    return ctypes.cast(getattr(load(source), name), ctypes.c_void_p).value or 0
