"""The ABI for compiled callers equals the checked-in list: sizes, offsets, symbols.

Source: interchange/interchange.h; ``abi.c``, which prints the sizes and the offsets.
"""

from __future__ import annotations

import ctypes
import subprocess
import sys
from pathlib import Path

import pytest

from interchange import _core

LIST = Path(__file__).parent / "abi.txt"

pytestmark = pytest.mark.skipif(
    ctypes.sizeof(ctypes.c_void_p) != 8, reason="the list is of 64 bits"
)


def rows():
    """Return the lines of the list."""
    text = LIST.read_text(encoding="utf-8")
    return [row for row in text.splitlines() if not row.startswith("#")]


def lines(kind):
    """Return the lines that begin so."""
    return [row for row in rows() if row.startswith(kind)]


def every_line_but_symbols():
    """Return what does not depend on how the library was built."""
    return [row for row in rows() if not row.startswith("symbol ")]


def described(name, struct):
    """Return the lines of a struct of ctypes."""
    return [
        f"{name}.{field}: {getattr(struct, field).offset}, {getattr(struct, field).size} bytes"
        for field, *_ in struct._fields_
    ]


def test_the_header_is_as_listed(compile_with, tmp_path):
    """Printed by a program that was compiled with it."""
    program = compile_with(tmp_path / "abi", Path(__file__).parent / "abi.c")
    told = subprocess.run([str(program)], capture_output=True, text=True, check=True).stdout

    assert told.splitlines() == every_line_but_symbols()


def test_the_mirror_is_as_listed(c_api):
    """The ctypes mirror has the listed sizes and offsets, as the C structs have."""
    structs = c_api.STRUCTS
    fields = [line for name, struct in structs.items() for line in described(name, struct)]

    assert fields == lines(tuple(f"{name}." for name in structs))
    sizes = [f"{name}: {ctypes.sizeof(struct)} bytes" for name, struct in structs.items()]
    assert [size for size in sizes if size not in rows()] == sizes[-1:]  # the table grows


def test_the_table_says_its_version_and_its_size(c_api):
    """Version and size of the table are those of the header."""
    table = c_api.table()

    assert (table.abi_version, table.struct_size) == (1, ctypes.sizeof(c_api.Table))


def test_every_function_of_the_table_is_there(c_api):
    """No function of the table is NULL, and all are distinct."""
    table = c_api.table()
    addresses = [getattr(table, name) for name, _ in c_api.FUNCTIONS]

    assert all(addresses)
    assert len(set(addresses)) == len(addresses)


@pytest.mark.skipif(sys.platform != "linux", reason="nm lists the symbols of ELF files")
@pytest.mark.usefixtures("native_core")
def test_the_shared_library_exports_these_symbols_alone(find_tool):
    """All other symbols are hidden, so that no consumer depends on them."""
    path = _core.chosen._extension.__file__
    command = [find_tool("nm"), "-D", "--defined-only", path]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = sorted(
        row.split()[-1] for row in told.splitlines() if row.split()[-2] in {"T", "D", "B"}
    )

    assert [f"symbol {name}" for name in found if not name.startswith("_")] == lines("symbol ")
