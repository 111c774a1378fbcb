"""Build the emulated driver: find a compiler and ``cuda.h``, and cache the result.

Source: the options of gcc(1); the folders of NVIDIA's wheels; the XDG base directory specification.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from interchange.abi._owned import is_own_file, is_own_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

LIBRARY: Final = "libcuda.so.1"
"""File name of the driver, which is also its SONAME: programs load it by that name."""
SOURCES: Final = Path(__file__).parent
"""Folder of the C sources."""
RUNTIME_SOURCES: Final = SOURCES / "runtime"
"""Folder of the C sources of the runtime library."""
_OPTIONS: Final = (
    *("-std=gnu11", "-O2", "-g", "-Wall", "-Wextra"),
    *("-shared", "-fPIC", "-fvisibility=hidden", "-pthread"),
)
_FORMAT: Final = 2
"""Version of the folders: since 2, no umask lets other users write there."""
_LONGEST: Final = 300.0  # time limit of a compiler [seconds]
_MOST_LINES: Final = 20  # of compiler output in an error


class CannotBuildError(RuntimeError):
    """A compiler or header is missing; the message explains how to install it."""


class BrokenSourcesError(CannotBuildError):
    """The compiler refuses the sources."""


def build() -> Path:
    """Build the emulated driver, unless it is in the cache.

    Returns
    -------
    Path
        The file ``libcuda.so.1``, alone in its folder, which can be added to ``LD_LIBRARY_PATH``.

    Raises
    ------
    CannotBuildError
        There is no compiler or no ``cuda.h``; `BrokenSourcesError` if the compiler refuses.
    """
    if not sys.platform.startswith("linux"):
        raise CannotBuildError(f"the emulated driver runs on Linux only, not on {sys.platform}")
    compiler, header = find_compiler(), find_header()
    library = cache_folder() / _key(compiler, header) / LIBRARY
    library.parent.mkdir(mode=0o700, exist_ok=True)
    return get_or_build(library, lambda made: _compile(compiler, header, made))


def build_runtime() -> Path:
    """Build the emulated CUDA runtime library, unless it is in the cache.

    It implements the common calls of the runtime API (memory, copies, streams, events, pools, IPC)
    on the emulated driver, which it loads if the process has not.

    Returns
    -------
    Path
        The file ``libcudart.so.N``, where N is the major version of ``cuda.h``, alone in its
        folder, which can be added to ``LD_LIBRARY_PATH``.

    Raises
    ------
    CannotBuildError
        As `build`.
    """
    driver, compiler, header = build(), find_compiler(), find_header()
    name = f"libcudart.so.{_version(header).partition('.')[0]}"
    library = driver.parent.with_name(f"{driver.parent.name}-runtime") / name
    library.parent.mkdir(mode=0o700, exist_ok=True)
    options = (str(driver), f"-Wl,-rpath,{driver.parent}")

    def make(made: Path) -> None:
        words = command(compiler, header, made, RUNTIME_SOURCES, name)
        _run(compiler, header, [*words, *options])

    return get_or_build(library, make)


def find_compiler() -> list[str]:
    """Return the command of a C compiler: what ``CC`` names, else gcc, else cc."""
    asked = shlex.split(os.environ.get("CC", ""))
    for name, *options in [asked] if asked else [["gcc"], ["cc"]]:
        if found := shutil.which(name):
            return [found, *options]
    what = f"CC={asked[0]} is not a command" if asked else "there is no C compiler (gcc, cc)"
    raise CannotBuildError(
        f"the emulated driver cannot be built: {what}; install gcc, or name a compiler in CC"
    )


def find_header() -> Path:
    """Return the path of ``cuda.h``: a wheel's, a named toolkit's, or that in the usual place."""
    folders = list(_header_folders())
    for folder in folders:
        if (folder / "cuda.h").is_file():
            return folder / "cuda.h"
    raise CannotBuildError(
        "the emulated driver cannot be built: there is no cuda.h in "
        f"{', '.join(map(str, folders))}; pip install nvidia-cuda-runtime, or name a CUDA toolkit "
        "in CUDA_HOME"
    )


def command(
    compiler: Sequence[str],
    header: Path,
    library: Path,
    folder: Path | None = None,
    soname: str = LIBRARY,
) -> list[str]:
    """Return the one command that compiles all sources of a folder to `library`."""
    folder = SOURCES if folder is None else folder
    sources = sorted(map(str, folder.glob("*.c")))
    if not sources:
        raise CannotBuildError(
            f"the emulated driver cannot be built: {folder} holds no C sources; install "
            "the conformance kit again, from a clone or a source distribution"
        )
    options = (*_OPTIONS, f"-Wl,-soname,{soname}", f"-I{header.parent}")
    return [*compiler, *options, "-o", str(library), *sources, "-ldl"]


def cache_folder() -> Path:
    """Return a folder for built libraries that only this user can write, and create it.

    Raises
    ------
    CannotBuildError
        No folder is writable by this user and protected from others.
    """
    refused = []
    for folder in _cache_folders():
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError:
            continue
        if not is_own_folder(folder):
            refused.append(folder)
        elif os.access(folder, os.W_OK):
            return folder
    raise CannotBuildError(f"C sources cannot be built: {_not_own(refused)}")


def get_or_build(library: Path, make: Callable[[Path], object]) -> Path:
    """Return a library of the cache, if this user owns it; else build it.

    It is built under another name and moved, so that other processes never load a partial file.

    Parameters
    ----------
    library : Path
        Its path, in `cache_folder` or a folder of it.
    make : callable
        Compiles it to a path.

    Raises
    ------
    CannotBuildError
        Another user can write to its folder.
    """
    if not is_own_folder(library.parent):
        raise CannotBuildError(f"{library.name} cannot be built: {_not_own([library.parent])}")
    if is_own_file(library):
        return library
    handle, name = tempfile.mkstemp(dir=library.parent, prefix=f".{library.stem}.")
    os.close(handle)
    made = Path(name)
    try:
        make(made)
        made.chmod(0o700)  # linkers create a new file by the umask
        made.replace(library)
    finally:
        made.unlink(missing_ok=True)
    return library


def run_compiler(words: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run a compiler, and return its output, in English.

    Raises
    ------
    CannotBuildError
        It cannot be run, or takes too long.
    """
    try:
        return subprocess.run(  # noqa: S603 - the compiler that this user named
            words,
            env={**os.environ, "LC_ALL": "C"},
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_LONGEST,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CannotBuildError(f"C sources cannot be built: {error}") from error


def _not_own(folders: Sequence[Path]) -> str:
    """Return why folders are not used, and the fix."""
    if not folders:
        return "no folder to keep libraries in can be written; name one in XDG_CACHE_HOME"
    return (
        f"{', '.join(map(str, folders))}: what is loaded from there runs as this user, so that it "
        "has to be a folder of this user's (no symbolic link) that no other user can write; chmod "
        "go-w FOLDER, remove it, or name another in XDG_CACHE_HOME"
    )


# ---------------------------------------------------------------- paths


def _header_folders() -> Iterator[Path]:
    """Yield the folders that may contain ``cuda.h``, the best first."""
    for place in map(Path, _wheel_folders()):
        # 13 and later: one folder per major version; before: one folder per component
        toolkits = place.glob("cu[0-9]*")
        yield from (toolkit / "include" for toolkit in sorted(toolkits, key=_number, reverse=True))
        yield place / "cuda_runtime" / "include"
    for name in ("CUDA_HOME", "CUDA_PATH"):
        if toolkit := os.environ.get(name):
            yield Path(toolkit) / "include"
    yield Path("/usr/local/cuda/include")


def _wheel_folders() -> list[str]:
    """Return the folders of the namespace package that NVIDIA's wheels share."""
    spec = importlib.util.find_spec("nvidia")
    return list(spec.submodule_search_locations or ()) if spec else []


def _number(folder: Path) -> int:
    """Return the number in a folder's name."""
    return int("".join(filter(str.isdigit, folder.name)))


def _cache_folders() -> Iterator[Path]:
    """Yield the folders that may contain built libraries, the best first."""
    shared = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if shared.is_absolute():  # the specification: other paths are to be ignored
        yield shared / "interchange" / "emucuda"
    home = Path(os.path.expanduser("~"))  # noqa: PTH111 - Path.home() raises if there is none
    if home.is_absolute():
        yield home / ".cache" / "interchange" / "emucuda"
    yield Path(tempfile.gettempdir()) / f"interchange-emucuda-{os.getuid()}"


# ---------------------------------------------------------------- compiling


def _key(compiler: Sequence[str], header: Path) -> str:
    """Return a hash of the sources, the header and the compiler."""
    digest = hashlib.sha256()
    version = run_compiler([*compiler, "--version"]).stdout
    digest.update(repr((_FORMAT, compiler, version, _OPTIONS)).encode())
    found = (*SOURCES.iterdir(), *RUNTIME_SOURCES.glob("*"))
    files = (path for path in found if path.suffix in {".c", ".h"})
    for path in (header, *sorted(files)):
        digest.update(f"{path.name} {path.stat().st_size}\n".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _compile(compiler: Sequence[str], header: Path, made: Path) -> None:
    """Compile all sources of the driver."""
    _run(compiler, header, command(compiler, header, made))


def _run(compiler: Sequence[str], header: Path, words: Sequence[str]) -> None:
    """Run a command of the compiler, or raise its errors."""
    done = run_compiler(words)
    if done.returncode:
        raise BrokenSourcesError(
            f"the emulated driver cannot be built: {compiler[0]} with {header} (CUDA "
            f"{_version(header)}) ended with code {done.returncode}:\n{_shorten(done.stderr)}"
        )


def _version(header: Path) -> str:
    """Return the version of a ``cuda.h``, such as 13.0."""
    text = header.read_text(encoding="utf-8", errors="replace")
    found = re.search(r"#define\s+CUDA_VERSION\s+(\d+)", text)
    number = int(found[1]) if found else 0
    return f"{number // 1000}.{number % 1000 // 10}" if found else "unknown"


def _shorten(text: str) -> str:
    """Return the first lines of a text."""
    lines = text.strip().splitlines()
    more = len(lines) - _MOST_LINES
    return "\n".join([*lines[:_MOST_LINES], *([f"... and {more} lines"] if more > 0 else [])])
