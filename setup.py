"""Build the native core where it can be built; what is static stands in pyproject.toml.

The README for an index page is made here, too: its links lead to the repository, if that has an
address (``Repository`` of ``[project.urls]``), and are text otherwise.

Source: setuptools, "Building Extension Modules"; CPython's stable ABI, which free-threaded builds
before 3.15 have not: there the extension is for one release of CPython.

``INTERCHANGE_BUILD=require`` makes it an error where it cannot be built, ``skip`` builds none.
``INTERCHANGE_DEBUG_BUILD=1`` builds it for a debugger, with assertions.
"""

from __future__ import annotations

import os
import re
import sys
import sysconfig
from pathlib import Path
from tempfile import TemporaryDirectory

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext
from setuptools.errors import BaseError, CCompilerError, CompileError, LinkError

NAME = "interchange._core._native._extension"
FOLDER = Path("src/interchange/_core/_native")  # from here, where installers run this file
SOURCES = sorted(path.as_posix() for path in FOLDER.glob("*.c"))
INCLUDED = Path("src/interchange/include")  # the public headers
HEADERS = sorted(path.as_posix() for top in (FOLDER, INCLUDED) for path in top.rglob("*.h"))

ALWAYS = ["-std=c11", "-fvisibility=hidden", "-Wall", "-Wextra"]  # of gcc and clang
MICROSOFT = ["/std:c11", "/volatile:ms", "/W3"]  # C11 is its second dialect; see platform.h
FAST = ["-flto=auto", "-flto", "-fno-plt", "-fno-semantic-interposition"]  # where they are known
FAILURES = (BaseError, CCompilerError, CompileError, LinkError)


def chosen(name: str, *choices: str) -> str:
    """Return the value of a variable of the environment: empty, or one of the choices."""
    value = os.environ.get(name, "")
    if value and value not in choices:
        raise SystemExit(f"{name}={value!r} is not a choice; leave it empty, or: {choices}")
    return value


BUILD = chosen("INTERCHANGE_BUILD", "require", "skip")
DEBUG = chosen("INTERCHANGE_DEBUG_BUILD", "0", "1") == "1"
LIMITED = not sysconfig.get_config_var("Py_GIL_DISABLED")  # whether one build is for every CPython
API = ("Py_LIMITED_API", "0x030A0000") if LIMITED else ("Py_GIL_DISABLED", "1")
"""Windows chooses python3.lib by the first, and its pyconfig.h may lack the second."""


def hindrance() -> str:
    """Return why this Python can have no native core, or no words."""
    if sys.implementation.name != "cpython":
        return f"{sys.implementation.name} has no limited API"
    return "" if SOURCES else f"there are no sources in {FOLDER}"


def say(why: str) -> None:
    """Print why there is no native core; it is an error where one was required."""
    if BUILD == "require":
        raise SystemExit(f"INTERCHANGE_BUILD=require: no native core could be built: {why}")
    line = (
        f"interchange: the native core is not built ({why}); without it all works, slower, but"
        " exports to Arrow and what C code calls"
    )
    print(line, file=sys.stderr)  # noqa: T201 - installers show it


class BuildNative(build_ext):
    """Build the extension, or tell why there is none."""

    def finalize_options(self) -> None:
        """Build in any case: no record says with which flags an older file was built."""
        super().finalize_options()
        self.force = True

    def get_ext_filename(self, fullname: str) -> str:
        """Return the name that every CPython finds; newer ones would name the system in it."""
        if not LIMITED:
            return super().get_ext_filename(fullname)
        suffix = ".pyd" if os.name == "nt" else ".abi3.so"
        return f"{Path(*fullname.split('.'))}{suffix}"

    def build_extension(self, ext: Extension) -> None:
        """Build it with the flags that the compiler knows; without it, this is a pure package."""
        if self.compiler.compiler_type in {"unix", "mingw32"}:
            flags = self._flags()
            ext.extra_compile_args = flags
            ext.extra_link_args = flags
        elif self.compiler.compiler_type == "msvc":
            ext.extra_compile_args = MICROSOFT
        try:
            super().build_extension(ext)
        except FAILURES as error:
            Path(self.get_ext_fullpath(ext.name)).unlink(missing_ok=True)  # of an earlier build
            self.distribution.ext_modules = []
            self.warn(str(error))
            say("the compiler failed, as is said above")

    def copy_extensions_to_source(self) -> None:
        """Put the file beside its sources; an older one is of other sources, and goes first."""
        for ext in self.extensions:
            Path("src", self.get_ext_filename(ext.name)).unlink(missing_ok=True)
        super().copy_extensions_to_source()

    def _flags(self) -> list[str]:
        """Return the flags of gcc and clang; link time optimisation in one form that works."""
        if DEBUG:
            return [*ALWAYS, "-O0", "-g"]
        flags = [*ALWAYS, "-O3", "-g0"]  # whatever Python itself was built with
        for flag in FAST:
            if not (flag == "-flto" and "-flto=auto" in flags) and self._accepts(flag):
                flags.append(flag)
        return flags

    def _accepts(self, flag: str) -> bool:
        """Whether a shared library can be compiled and linked with a flag."""
        with TemporaryDirectory() as folder:
            source = Path(folder, "probe.c")
            source.write_text("int probe(void) { return 0; }\n", encoding="utf-8")
            flags = ["-Werror", flag]
            try:
                objects = self.compiler.compile([str(source)], folder, extra_postargs=flags)
                self.compiler.link_shared_object(
                    objects, str(Path(folder, "probe.so")), extra_postargs=flags
                )
            except FAILURES:
                return False
        return True


class Wheel(bdist_wheel):
    """Name a wheel by what is in it: one for all CPythons, or for all Pythons."""

    def run_command(self, command: str) -> None:
        """Run another command; a wheel without the extension, which may fail, is a pure one."""
        super().run_command(command)
        if command == "build":
            self.root_is_pure = not self.distribution.has_ext_modules()

    def write_wheelfile(self, *arguments: str, **keywords: str) -> None:
        """Give all files the same permissions: equal sources make equal wheels, bit by bit."""
        super().write_wheelfile(*arguments, **keywords)
        for path in Path(self.bdist_dir).rglob("*"):
            if path.is_file():
                path.chmod(0o755 if path.suffix in {".so", ".pyd"} else 0o644)


def readme() -> str:
    """Return the README with links that work on an index page, which has no files beside it."""
    text = Path("README.md").read_text(encoding="utf-8")
    project = Path("pyproject.toml").read_text(encoding="utf-8")
    address = re.search(r'^Repository = "(.+?)/?"$', project, re.MULTILINE)
    version = re.search(r'^version = "(.+)"$', project, re.MULTILINE)
    if address and version:
        kinds = (r"(!\[[^]]*\]\()", "raw"), (r"((?<!!)\[[^]]*\]\()", "blob")
        for link, kind in kinds:
            there = rf"\1{address[1]}/{kind}/v{version[1]}/"
            text = re.sub(rf"{link}(?!https?:)", there, text)
        return text
    text = re.sub(r"^!\[[^]]*\]\((?!https?:).*\)\n\n", "", text, flags=re.MULTILINE)
    return re.sub(r"\[(?:[^]]*)\]\((?!https?:)([^)]+)\)", r"`\1`", text)


why_none = hindrance()
if why_none and BUILD != "skip" and {"bdist_wheel", "editable_wheel"} & set(sys.argv):
    say(why_none)
native = not why_none and BUILD != "skip"
extension = Extension(
    NAME,
    sources=SOURCES,
    depends=HEADERS,
    include_dirs=[INCLUDED.as_posix()],
    define_macros=[API],
    py_limited_api=LIMITED,
    optional=True,  # BuildNative says what is an error
    undef_macros=["NDEBUG", "_FORTIFY_SOURCE"] if DEBUG else [],  # -O0 cannot fortify
)
setup(
    ext_modules=[extension] if native else [],
    cmdclass={"build_ext": BuildNative, "bdist_wheel": Wheel},
    long_description=readme(),
    long_description_content_type="text/markdown",
    options={"bdist_wheel": {"py_limited_api": "cp310"}} if native and LIMITED else {},
)
