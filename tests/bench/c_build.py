"""Builds the small extension modules that benchmarks need, once per source and Python.

Source: Python, "sysconfig".  They are kept in ``build/``, which git does not see.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shlex
import subprocess
import sys
import sysconfig
from importlib.metadata import version
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
INCLUDE = ROOT / "src" / "interchange" / "include"


class CannotBuildError(Exception):
    """There is no compiler, or it failed; the message has the reason."""


def c_loops() -> Any:
    """Return the module of ``c_loops.c``; without ``interchange.h`` it lacks some functions."""
    headers = b"".join(path.read_bytes() for path in sorted(INCLUDE.rglob("*.h")))
    flags = [f"-I{INCLUDE}"] if headers else []
    return build(HERE / "c_loops.c", [compiler("CC"), "-std=c11", "-O2", *flags], salt=headers)


def nanobind_argument() -> Any:
    """Return a module of nanobind whose ``take`` only converts an argument."""
    return nanobind_module(HERE / "nanobind_argument.cpp")


def nanobind_module(source: Path) -> Any:
    """Return the module of nanobind of a source, which may include ``interchange.hpp``."""
    root = _folder_of("nanobind")
    flags = ["-O3", "-DNDEBUG", "-fno-strict-aliasing", f"-I{root / 'ext/robin_map/include'}"]
    return _cpp_module(source, root, [*flags, str(root / "src/nb_combined.cpp")])


def pybind11_module(source: Path) -> Any:
    """Return the module of pybind11 of a source, as above."""
    return _cpp_module(source, _folder_of("pybind11"), ["-O3", "-DNDEBUG"])


def _cpp_module(source: Path, root: Path, flags: list[str]) -> Any:
    """Return the module of a source in C++, with the headers of a library of bindings."""
    command = [
        compiler("CXX"), "-std=c++17", "-fvisibility=hidden", f"-I{root / 'include'}",
        f"-I{INCLUDE}", *flags,
    ]  # fmt: skip
    headers = b"".join(path.read_bytes() for path in sorted(INCLUDE.rglob("*.h*")))
    return build(source, command, salt=headers + version(root.name).encode())


def _folder_of(library: str) -> Path:
    """Return the folder of a library of bindings."""
    spec = importlib.util.find_spec(library)
    if spec is None or spec.origin is None:
        raise CannotBuildError(f"{library} is not installed")
    return Path(spec.origin).parent


def build(source: Path, command: list[str], *, salt: bytes = b"") -> Any:
    """Compile a file where that was not done before, and return the module."""
    text = source.read_bytes() + salt + repr([command, sys.version]).encode()
    folder = ROOT / "build" / "bench" / hashlib.sha256(text).hexdigest()[:16]
    folder.mkdir(parents=True, exist_ok=True)
    built = folder / f"{source.stem}{sysconfig.get_config_var('EXT_SUFFIX')}"
    if not built.exists():
        fresh = built.with_suffix(f".{os.getpid()}")
        include = f"-I{sysconfig.get_path('include')}"
        full = [*command, include, "-shared", "-fPIC", str(source), "-o", str(fresh)]
        try:
            done = subprocess.run(full, capture_output=True, text=True, check=False)
        except OSError as error:
            raise CannotBuildError(f"{full[0]} cannot be run: {error}") from error
        if done.returncode:
            raise CannotBuildError(f"{source.name} does not compile:\n{done.stderr[-2000:]}")
        fresh.replace(built)
    spec = importlib.util.spec_from_file_location(source.stem, built)
    if spec is None or spec.loader is None:
        raise CannotBuildError(f"{built} is no module")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def compiler(variable: str) -> str:
    """Return the compiler that the environment names, or gcc's."""
    default = {"CC": "gcc", "CXX": "g++"}[variable]
    return shlex.split(os.environ.get(variable) or default)[0]
