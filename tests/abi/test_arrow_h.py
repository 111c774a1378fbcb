"""The ctypes structs of Arrow match the standard's table and a C compiler's layout."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest

import interchange
from interchange.abi import arrow
from interchange.abi.dlpack import DLDeviceType

STRUCTS = tuple(arrow.ARROW_STRUCTS.values())
FLAGS = ("ARROW_FLAG_DICTIONARY_ORDERED", "ARROW_FLAG_NULLABLE", "ARROW_FLAG_MAP_KEYS_SORTED")

# Size, alignment and offsets [bytes] on every 64-bit platform, in the order of the fields.
EXPECTED = {
    "ArrowSchema": (72, 8, tuple(range(0, 72, 8))),
    "ArrowArray": (80, 8, tuple(range(0, 80, 8))),
    "ArrowDeviceArray": (128, 8, (0, 80, 88, 96, 104)),
    "ArrowArrayStream": (40, 8, tuple(range(0, 40, 8))),
    "ArrowDeviceArrayStream": (48, 8, tuple(range(0, 48, 8))),
}


@pytest.mark.skipif(ctypes.sizeof(ctypes.c_void_p) != 8, reason="the table is of 64 bits")
@pytest.mark.parametrize("struct", STRUCTS, ids=lambda struct: struct.__name__)
def test_layout_is_that_of_the_standard(struct):
    """Size, alignment and offsets are those of the 64-bit C ABI."""
    offsets = tuple(getattr(struct, name).offset for name, _ in struct._fields_)

    assert (ctypes.sizeof(struct), ctypes.alignment(struct), offsets) == EXPECTED[struct.__name__]


def test_every_struct_has_a_capsule_of_its_name():
    """Every struct has the capsule name that the PyCapsule interface defines."""
    names = {name.decode(): struct.__name__ for name, struct in arrow.ARROW_STRUCTS.items()}

    assert names == {re.sub(r"(?<!^)([A-Z])", r"_\1", name).lower(): name for name in EXPECTED}


@pytest.mark.parametrize("name", arrow.ARROW_STRUCTS)
def test_release_is_where_the_table_has_it(name):
    """The offset of the release callback in the struct is the one in the table."""
    struct = arrow.ARROW_STRUCTS[name]()

    ctypes.c_void_p.from_buffer(struct, arrow.ARROW_RELEASE[name]).value = 4096

    owner = struct.array if name == arrow.ARROW_DEVICE_ARRAY else struct
    assert owner.release == 4096


# ---------------------------------------------------------------- in C


def _headers() -> dict[str, Path]:
    """Return the headers that describe the structs: of the native core, and one of pyarrow."""
    core = Path(interchange.__file__).parent / "_core" / "_native" / "arrow_abi.h"
    found = {"core": core} if core.is_file() else {}
    spec = find_spec("pyarrow")
    if spec is not None and spec.origin is not None:
        path = Path(spec.origin).parent / "include" / "arrow" / "c" / "abi.h"
        found |= {"pyarrow": path} if path.is_file() else {}
    return found


HEADERS = [
    pytest.param("core"),
    pytest.param("pyarrow", marks=pytest.mark.interop),
]


def _facts() -> dict[str, int]:
    """Return everything the C program prints, as ctypes has it."""
    facts = {}
    for struct in STRUCTS:
        tag = f"struct {struct.__name__}"
        facts[f"sizeof({tag})"] = ctypes.sizeof(struct)
        facts[f"alignof({tag})"] = ctypes.alignment(struct)
        for name, kind in struct._fields_:
            facts[f"offsetof({tag}, {name})"] = getattr(struct, name).offset
            facts[f"sizeof((({tag} *)0)->{name})"] = ctypes.sizeof(kind)
    return facts


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """Return a function that evaluates C expressions over a header with a C compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("no C compiler")

    def values(which, expressions):
        header = _headers().get(which)
        if header is None:
            pytest.skip(f"the header of {which} is not here")
        folder = tmp_path_factory.mktemp("arrow_h")
        source, program = folder / "facts.c", folder / "facts"
        prints = [f'printf("%s=%lld\\n", "{one}", (long long)({one}));' for one in expressions]
        includes = ["stdalign.h", "stddef.h", "stdio.h"]
        lines = [f'#include "{header}"', *(f"#include <{name}>" for name in includes)]
        source.write_text("\n".join([*lines, "int main(void) {", *prints, "return 0; }", ""]))
        command = [compiler, "-std=c11", str(source), "-o", str(program)]
        subprocess.run(command, check=True)
        printed = subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout
        pairs = (line.rpartition("=") for line in printed.splitlines())
        return {expression: int(value) for expression, _, value in pairs}

    return values


@pytest.mark.parametrize("which", HEADERS)
def test_every_size_and_offset_is_the_compilers(compiled, which):
    """Sizes, alignments and offsets equal those of the C header."""
    assert compiled(which, _facts()) == _facts()


@pytest.mark.interop
def test_flags_are_those_of_the_header(compiled):
    """The flags have the values of the header."""
    assert compiled("pyarrow", FLAGS) == {name: getattr(arrow, name) for name in FLAGS}


@pytest.mark.interop
def test_device_types_are_those_of_dlpack(compiled):
    """Each macro of the header is a member of DLPack's enumeration (ARROW-DEVICE-1)."""
    header = _headers().get("pyarrow")
    if header is None:
        pytest.skip("pyarrow is not here")
    macros = re.findall(r"#\s*define (ARROW_DEVICE_\w+) \d+", header.read_text())
    values = compiled("pyarrow", macros)

    def plain(name):
        return re.sub("^ARROW_DEVICE_|^KDL|_", "", name.upper())

    assert len(values) >= 14
    assert {plain(name): value for name, value in values.items()}.items() <= {
        plain(name): member.value for name, member in DLDeviceType.__members__.items()
    }.items()
