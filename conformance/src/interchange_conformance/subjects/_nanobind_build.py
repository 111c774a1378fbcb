"""The extension of the nanobind description: compiled when this module is imported, and cached.

Source: https://nanobind.readthedocs.io/en/latest/building.html; it takes about 20 seconds, once.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.machinery
import importlib.util
import os
import subprocess
import sysconfig
from pathlib import Path
from typing import Any, Final

import nanobind

from interchange_conformance.emucuda.building import cache_folder, get_or_build

_NAME: Final = "nanobind_arrays"
_SOURCE: Final = Path(__file__).with_name(f"{_NAME}.cpp")
_OPTIONS: Final = (
    "-std=c++17", "-O1", "-shared", "-fPIC", "-fvisibility=hidden", "-DNDEBUG",
    "-DNB_COMPACT_ASSERTIONS",
)  # fmt: skip


def _built() -> Path:
    """Return the path of the extension, compiled unless it is up to date in the cache."""
    compiler = os.environ.get("CXX", "c++")
    include = sysconfig.get_path("include")
    made_of = repr((compiler, include, nanobind.__version__, _OPTIONS)).encode()
    digest = hashlib.sha256(made_of + _SOURCE.read_bytes()).hexdigest()[:16]
    library = cache_folder() / f"{_NAME}-{digest}.so"
    return get_or_build(library, functools.partial(_compile, compiler, include))


def _compile(compiler: str, include: str, made: Path) -> None:
    """Compile the extension together with nanobind's own sources."""
    home = Path(nanobind.include_dir()).parent
    folders = (include, home / "include", home / "ext" / "robin_map" / "include")
    command = [
        compiler, *_OPTIONS, *(f"-I{folder}" for folder in folders),
        str(home / "src" / "nb_combined.cpp"), str(_SOURCE), "-o", str(made),
    ]  # fmt: skip
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    except OSError as error:
        raise ImportError(f"{compiler}: {error}; name a C++ compiler in CXX") from error
    if done.returncode:
        raise ImportError(f"{_SOURCE.name} cannot be built: {done.stderr[:1000]}")


def _loaded() -> Any:
    """Return the extension."""
    loader = importlib.machinery.ExtensionFileLoader(_NAME, str(_built()))
    spec = importlib.util.spec_from_loader(_NAME, loader)
    if spec is None:
        raise ImportError(f"{_NAME} has no spec")
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


extension: Final[Any] = _loaded()
"""The functions of ``nanobind_arrays.cpp``."""
