"""The header, and how it is found: `get_include`, pkg-config, CMake; all compilers accept it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import interchange as ix
from interchange._functions import headers
from interchange.cli import main

INCLUDE = Path(ix.get_include())
ROOT = Path(__file__).parents[2]

CALLER = """
#include <interchange/interchange.h>
int view_of(void *object, InterchangeView *view);
int view_of(void *object, InterchangeView *view)
{
    InterchangeView fresh = INTERCHANGE_VIEW_INIT;
    *view = fresh;
    return interchange_view(object, view);
}
"""
PLAIN = {
    "c99": ("c", ("-std=c99", "-pedantic")),
    "c11": ("c", ("-std=c11", "-pedantic")),
    "gnu89": ("c", ("-std=gnu89",)),
    "c++11": ("c++", ("-std=c++11", "-pedantic")),
    "c++17": ("c++", ("-std=c++17", "-pedantic", "-Wold-style-cast", "-Wconversion")),
    "c++20": ("c++", ("-std=c++20", "-pedantic")),
}


def version():
    """Return the version of the distribution, as pyproject.toml has it."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    return re.search(r'^version = "(.*?)"', text, re.MULTILINE)[1]


def header_without_comments():
    """Return the header after preprocessing."""
    text = (INCLUDE / "interchange" / "interchange.h").read_text(encoding="utf-8")
    return re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)


def test_the_include_folder_has_the_header():
    """The header is in the include folder, under the name by which it is included."""
    assert (INCLUDE / "interchange" / "interchange.h").is_file()


@pytest.mark.parametrize("standard", PLAIN)
@pytest.mark.parametrize("python", [False, True], ids=["alone", "with-Python.h"])
def test_every_standard_takes_the_header(compile_with, tmp_path, standard, python):
    """The header compiles without warnings in every standard, before and after Python.h."""
    language, options = PLAIN[standard]
    if python and "++" in standard:
        options = [word for word in options if word not in {"-pedantic", "-Wold-style-cast"}]
    source = tmp_path / ("caller.cpp" if language == "c++" else "caller.c")
    text = f"#include <Python.h>\n{CALLER}" if python else CALLER
    source.write_text(text.replace("static inline", "static"), encoding="utf-8")
    used = ["-Wno-unused-function"] if python else []

    target = compile_with(
        tmp_path / "caller.o", source, language=language, options=["-c", *options, *used]
    )

    assert target.is_file()


def test_pkg_config_finds_the_header(find_tool, tmp_path):
    """pkg-config finds the header wherever the package was moved."""
    moved = tmp_path / "moved"
    shutil.copytree(INCLUDE, moved)
    told = subprocess.run(
        [find_tool("pkg-config"), "--cflags", "interchange"],
        env={**os.environ, "PKG_CONFIG_PATH": str(moved / "pkgconfig")},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()

    assert [Path(word.removeprefix("-I")).resolve() for word in told] == [moved.resolve()]


def test_cmake_says_the_version_of_the_distribution():
    """CMake reports the version of the distribution, as pkg-config does."""
    text = (INCLUDE / "cmake" / "interchange-config-version.cmake").read_text(encoding="utf-8")

    assert f'set(PACKAGE_VERSION "{version()}")' in text


def test_pkg_config_says_the_version_of_the_distribution():
    """The version is checked also if pkg-config is not installed."""
    text = (INCLUDE / "pkgconfig" / "interchange.pc").read_text(encoding="utf-8")

    assert f"\nVersion: {version()}\n" in text


@pytest.mark.parametrize(("asked", "is_found"), [("0.1", True), ("1.0", False), ("99", False)])
def test_cmake_compares_versions(find_tool, tmp_path, asked, is_found):
    """An older one of the same major version will do."""
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.18)\nproject(one LANGUAGES NONE)\n"
        f"find_package(interchange {asked} QUIET)\nmessage(STATUS found=${{interchange_FOUND}})\n"
        "if(interchange_FOUND)\n  get_target_property(where interchange::headers"
        " INTERFACE_INCLUDE_DIRECTORIES)\n  message(STATUS where=${where})\nendif()\n",
        encoding="utf-8",
    )
    told = subprocess.run(
        [
            find_tool("cmake"),
            "-S",
            str(tmp_path),
            "-B",
            str(tmp_path / "build"),
            f"-Dinterchange_ROOT={INCLUDE}",
        ],
        capture_output=True,
        text=True,
        check=True,
    ).stdout

    assert f"found={int(is_found)}" in told
    assert (f"where={INCLUDE}" in told) == is_found


def test_the_declarations_for_cython_are_those_of_the_header():
    """Cython's declarations have every function, public field and constant of the header."""
    header = header_without_comments()
    declared = (INCLUDE.parent / "__init__.pxd").read_text(encoding="utf-8")
    table = re.search(r"typedef struct InterchangeAPI \{(.*?)\n\}", header, re.DOTALL)[1]
    view = re.search(r"typedef struct InterchangeView \{(.*?)\n\}", header, re.DOTALL)[1]
    functions = re.findall(r"\(\*(\w+)\)", table)
    fields = re.findall(r"(\w+)(?:\[.*?\])?;", view)

    table_of_cython = declared.partition("ctypedef struct InterchangeAPI:")[2]
    assert re.findall(r"\(\*(\w+)\)", table_of_cython) == functions
    assert [field for field in fields if not re.search(rf"\b{field}\b", declared)] == [
        "owner",
        "dims",
    ]
    for struct in ("DType", "Stream", "Request", "Memory", "ColumnLevel", "Column"):
        body = re.search(rf"typedef struct Interchange{struct} \{{(.*?)\n\}}", header, re.DOTALL)[1]
        same = declared.partition(f"ctypedef struct Interchange{struct}:")[2].partition("\n\n")[0]
        known = re.findall(r"(\w+)\)?(?:\(void \*context\))?;", body)
        known = [field for field in known if field not in {"owner", "reserved"}]  # private
        assert [field for field in known if not re.search(rf"\b{field}\b", same)] == []
    of = "VIEW|REQUEST|STREAM|MEMORY|COLUMN"
    bits = re.findall(rf"#define (INTERCHANGE_(?:{of})_\w+) \d", header)
    assert [bit for bit in bits if f" {bit}\n" not in declared] == []


def test_every_function_of_the_table_is_declared_by_its_own_name():
    """The declared arguments are those of the table, for lookups in the shared library."""
    header = header_without_comments()
    flat = re.sub(r"\s+", " ", header)
    table = re.findall(r"int \(\*(\w+)\)\((.*?)\);", flat)
    declared = dict(re.findall(r"INTERCHANGE_EXPORTED int interchange_(\w+)\((.*?)\);", flat))

    assert dict(table) == declared


@pytest.mark.parametrize("option", ["--includes", "--cflags"])
def test_the_command_prints_the_option_of_the_folder(capsys, option):
    """``python -m interchange --cflags``, for build systems without Python."""
    assert main([option]) == 0
    assert capsys.readouterr().out == f"-I{INCLUDE}\n"


@pytest.mark.parametrize("option", ["--includes", "--cflags"])
def test_the_command_says_what_is_missing(capsys, monkeypatch, option):
    """Without the native core the command fails with the rule, and prints no folder."""
    monkeypatch.setattr("interchange.cli.commands.get_include", headers.get_include)
    monkeypatch.setattr(headers, "check_native", refuse_native)

    assert main([option]) != 0
    said = capsys.readouterr()
    assert (said.out, "IX-CAPI-2" in said.err) == ("", True)


def refuse_native(call):
    """Refuse as where the native core is not built."""
    raise ix.BackendUnavailableError(call, "the native core is not built here", "IX-CAPI-2")
