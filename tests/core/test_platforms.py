"""The native core for other systems: compiled by the compilers that are here, and not run.

Source: platform.h; Windows by mingw-w64, macOS by the clang of ziglang.  Folders in ``platforms``
have headers that these compilers lack.  ``INTERCHANGE_WINDOWS_HEADERS`` names a folder with
CPython's headers for Windows, ``Include`` and ``PC/pyconfig.h``, which are used in place of ours.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

pytestmark = pytest.mark.isolated

ROOT = Path(__file__).parents[2]
NATIVE = ROOT / "src/interchange/_core/_native"
INCLUDE = ROOT / "src/interchange/include"
HERE = Path(__file__).parent / "platforms"
SOURCES = sorted(NATIVE.glob("*.c"))
STRICT = ("-std=c11", "-Wall", "-Wextra", "-Werror")
MSVC = ("-DINTERCHANGE_MSVC", "-Wno-attributes")  # the branch for Microsoft's compiler

MINGW = "x86_64-w64-mingw32"
OF_ONE_COMPILER = re.compile(
    r"dlfcn\.h|__builtin_|__attribute__|__declspec|aligned_alloc|_aligned_|pthread|__atomic_|"
    r"_Interlocked|stdatomic|_Thread_local|__typeof__|\(\{|_MSC_VER|_WIN32|__BYTE_ORDER__|__x86_64__"
)


def run(*command, cwd=None):
    """Return the output of a program that must succeed without a word of complaint."""
    done = subprocess.run(
        [*map(str, command)], cwd=cwd, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr[:3000]
    return done.stdout


def need_mingw():
    """Return the compiler for Windows, or skip."""
    compiler = shutil.which(f"{MINGW}-gcc")
    if compiler is None:
        pytest.skip(f"there is no {MINGW}-gcc here (Debian: gcc-mingw-w64-x86-64)")
    return compiler


def windows_headers():
    """Return the options that name headers of CPython for Windows."""
    folder = os.environ.get("INTERCHANGE_WINDOWS_HEADERS")
    ours = (f"-I{HERE / 'windows'}", f"-I{sysconfig.get_path('include')}")
    return (*((f"-I{folder}",) if folder else ours), f"-I{INCLUDE}")


def test_one_file_depends_on_the_compiler():
    """Extensions of compilers and systems are in platform.h only; public headers have none."""
    files = [*NATIVE.glob("*.[ch]"), *INCLUDE.rglob("*.h*")]
    found = {
        path.name: sorted({*OF_ONE_COMPILER.findall(path.read_text(encoding="utf-8"))})
        for path in files
        if path.name != "platform.h"
    }

    assert {name: words for name, words in found.items() if words} == {}
    assert OF_ONE_COMPILER.search((NATIVE / "platform.h").read_text(encoding="utf-8"))


@pytest.mark.slow
@pytest.mark.parametrize("flags", [(), MSVC], ids=["gcc", "msvc"])
def test_the_core_compiles_for_windows(flags):
    """Without warnings, by mingw-w64; likewise the branch for Microsoft's compiler."""
    compiler = need_mingw()
    run(compiler, *STRICT, *flags, "-O1", "-fsyntax-only", *windows_headers(), *SOURCES)


@pytest.mark.slow
def test_the_core_links_for_windows(tmp_path):
    """It needs functions of Python and of the C library, and exports its module and the C API."""
    compiler = need_mingw()
    run(compiler, *STRICT, "-c", *windows_headers(), *SOURCES, cwd=tmp_path)
    objects = sorted(tmp_path.glob("*.o"))
    listed = run(f"{MINGW}-nm", "-u", "--format=posix", *objects)
    names = sorted({*re.findall(r"^(?:__imp_)?(_?Py\w+)", listed, re.MULTILINE)})
    exports = "\n".join(["LIBRARY python3.dll", "EXPORTS", *names])
    (tmp_path / "python3.def").write_text(exports, encoding="utf-8")
    run(f"{MINGW}-dlltool", "-d", "python3.def", "-l", "libpython3.a", cwd=tmp_path)
    run(compiler, "-shared", "-o", "_extension.pyd", *objects, "libpython3.a", cwd=tmp_path)

    told = run(f"{MINGW}-objdump", "-p", tmp_path / "_extension.pyd")
    exported = {*re.findall(r"^\t\[ *\d+\] (?:\+base\[.*\] +\w+ )?(\w+)$", told, re.MULTILINE)}
    header = (INCLUDE / "interchange/interchange.h").read_text(encoding="utf-8")
    declared = {*re.findall(r"INTERCHANGE_EXPORTED int\s+(interchange_\w+)\(", header)}
    assert exported == declared | {"PyInit__extension"}


@pytest.mark.slow
@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_the_core_compiles_and_links_for_macos(machine, tmp_path):
    """Without warnings, by clang, with the headers of macOS that ziglang has."""
    if importlib.util.find_spec("ziglang") is None:
        pytest.skip("ziglang is not installed here (pip install ziglang: 100 MB)")
    clang = (sys.executable, "-m", "ziglang", "cc", "-target", f"{machine}-macos")
    folders = (f"-I{sysconfig.get_path('include')}", f"-I{INCLUDE}")
    made = tmp_path / "_extension.so"
    linked = ("-shared", "-undefined", "dynamic_lookup", "-o", made)
    run(*clang, *STRICT, "-O1", *folders, *linked, *SOURCES, cwd=tmp_path)

    assert made.read_bytes()[:4] == b"\xcf\xfa\xed\xfe"  # Mach-O, 64 bits


@pytest.mark.skipif(sys.platform != "linux", reason="its headers stand in for others on Linux")
def test_both_branches_compute_the_same(tmp_path):
    """Products, sums and addresses that overflow, and bits, without the compiler's extensions."""
    compiler = (sysconfig.get_config_var("CC") or "cc").split()
    if shutil.which(compiler[0]) is None:
        pytest.skip(f"there is no {compiler[0]} here")
    told = []
    for number, flags in enumerate(((), (*MSVC, f"-I{HERE / 'msvc'}"))):
        made = tmp_path / f"arithmetic{number}"
        folders = (f"-I{NATIVE}", f"-I{sysconfig.get_path('include')}")
        run(*compiler, *STRICT, *flags, *folders, HERE / "arithmetic.c", "-o", made)
        told.append(run(made).splitlines())

    assert len(told[0]) == 3 * 22 * 22 + 64
    assert told[0] == told[1]


@pytest.mark.parametrize("core", ["native", "ctypes"])
@pytest.mark.parametrize("platform", ["win32", "darwin"])
def test_every_module_can_be_imported_elsewhere(platform, core):
    """By ``sys.platform``, and without what Linux has and the other system lacks.

    Modules that compile kernels are imported where llvmlite is installed.  On Windows
    `interchange.testing` says why it cannot be.
    """
    environment = {**os.environ, "INTERCHANGE_CORE": core}
    done = subprocess.run(
        [sys.executable, HERE / "imports.py", platform],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )

    told = done.stdout.splitlines()
    if platform == "win32":  # deleters are counted by a function of POSIX
        assert "interchange_conformance cannot count deleter calls on win32" in told.pop()
    assert (told, done.returncode) == ([core], 0), done.stderr


def test_libraries_are_named_as_on_each_system():
    """The names of torch's libraries, and of what they export by the C++ ABI of Microsoft."""
    from interchange._core._native import _torch_bits, _torch_fields
    from interchange.abi._loaded import file_name

    names = [file_name("torch_cpu", platform) for platform in ("linux", "darwin", "win32")]
    functions = [*_torch_bits._FUNCTIONS, _torch_fields._RELEASE]
    assert names == ["libtorch_cpu.so", "libtorch_cpu.dylib", "torch_cpu.dll"]
    assert all(unix.startswith("_Z") and other[0] == "?" for _, unix, other in functions)
