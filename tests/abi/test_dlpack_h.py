"""The ctypes structs match the standard's table, and a real dlpack.h if one is found."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from importlib import metadata
from pathlib import Path

import pytest

from interchange.abi import dlpack

STRUCTS = (
    dlpack.DLPackVersion,
    dlpack.DLDevice,
    dlpack.DLDataType,
    dlpack.DLTensor,
    dlpack.DLManagedTensor,
    dlpack.DLManagedTensorVersioned,
    dlpack.DLPackExchangeAPIHeader,
    dlpack.DLPackExchangeAPI,
)
ENUMS = (dlpack.DLDeviceType, dlpack.DLDataTypeCode)
MACROS = (
    "DLPACK_MAJOR_VERSION",
    "DLPACK_MINOR_VERSION",
    "DLPACK_FLAG_BITMASK_READ_ONLY",
    "DLPACK_FLAG_BITMASK_IS_COPIED",
    "DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED",
)

# Size, alignment and offsets [bytes] on every 64-bit platform, in the order of the fields.
EXPECTED = {
    "DLPackVersion": (8, 4, (0, 4)),
    "DLDevice": (8, 4, (0, 4)),
    "DLDataType": (4, 2, (0, 1, 2)),
    "DLTensor": (48, 8, (0, 8, 16, 20, 24, 32, 40)),
    "DLManagedTensor": (64, 8, (0, 48, 56)),
    "DLManagedTensorVersioned": (80, 8, (0, 8, 16, 24, 32)),
    "DLPackExchangeAPIHeader": (16, 8, (0, 8)),
    "DLPackExchangeAPI": (56, 8, (0, 16, 24, 32, 40, 48)),
}


@pytest.mark.skipif(ctypes.sizeof(ctypes.c_void_p) != 8, reason="the table is of 64 bits")
@pytest.mark.parametrize("struct", STRUCTS, ids=lambda struct: struct.__name__)
def test_layout_is_that_of_the_standard(struct):
    """Size, alignment and offsets are those of the 64-bit C ABI."""
    offsets = tuple(getattr(struct, name).offset for name, _ in struct._fields_)

    assert (ctypes.sizeof(struct), ctypes.alignment(struct), offsets) == EXPECTED[struct.__name__]


def test_version_is_the_newest_release():
    """The version tuple repeats the two macros."""
    assert dlpack.DLPACK_VERSION == (dlpack.DLPACK_MAJOR_VERSION, dlpack.DLPACK_MINOR_VERSION)


@pytest.mark.parametrize(
    ("name", "value"),
    [("kDLTPU", 19), ("kDLTPUHost", 20), ("kDLAscend", 21), ("kDLBcomplex", 18)],
)
def test_numbers_that_no_released_header_has(name, value):
    """Members newer than the release have the numbers of the main branch."""
    assert name in dlpack.AFTER_LATEST_RELEASE
    assert [enum[name] for enum in ENUMS if name in enum.__members__] == [value]


# ---------------------------------------------------------------- a real header


def _header() -> Path | None:
    """Return a dlpack.h that an installed distribution ships."""
    for distribution in ("apache-tvm-ffi", "cuda-core", "torch"):
        try:
            files = metadata.files(distribution) or ()
        except metadata.PackageNotFoundError:
            continue
        for file in files:
            if file.name == "dlpack.h" and "arrow" not in file.parts:
                return Path(str(file.locate()))
    return None


def _expected() -> dict[str, int]:
    """Return everything the C program prints, as ctypes has it."""
    facts = {name: getattr(dlpack, name) for name in MACROS}
    for enum in ENUMS:
        facts |= {member.name: member.value for member in enum}
    for struct in STRUCTS:
        facts[f"sizeof({struct.__name__})"] = ctypes.sizeof(struct)
        facts[f"alignof({struct.__name__})"] = ctypes.alignment(struct)
        for name, kind in struct._fields_:
            facts[f"offsetof({struct.__name__}, {name})"] = getattr(struct, name).offset
            facts[f"sizeof((({struct.__name__} *)0)->{name})"] = ctypes.sizeof(kind)
    return facts


@pytest.fixture(scope="module")
def header():
    """The text of a real header."""
    found = _header()
    if found is None:
        pytest.skip("no installed distribution ships dlpack.h (apache-tvm-ffi does)")
    return found


@pytest.fixture(scope="module")
def facts_in_c(header, tmp_path_factory):
    """Values of C expressions over the header, by expression."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("no C compiler")
    text = header.read_text()
    known = [
        fact
        for fact in _expected()
        if fact not in dlpack.AFTER_LATEST_RELEASE or re.search(rf"\b{fact}\b", text)
    ]
    lines = [f'  printf("%s=%lld\\n", "{fact}", (long long)({fact}));' for fact in known]
    folder = tmp_path_factory.mktemp("dlpack_h")
    source = folder / "facts.c"
    source.write_text(
        f'#include "{header}"\n#include <stdalign.h>\n#include <stddef.h>\n#include <stdio.h>\n'
        "int main(void) {\n" + "\n".join(lines) + "\n  return 0;\n}\n"
    )
    program = folder / "facts"
    subprocess.run(
        [compiler, "-std=c11", f"-I{header.parent.parent}", str(source), "-o", str(program)],
        check=True,
    )
    printed = subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout
    pairs = (line.rpartition("=") for line in printed.splitlines())
    return {fact: int(value) for fact, _, value in pairs}


@pytest.mark.interop
def test_every_size_offset_and_number_is_the_compilers(facts_in_c):
    """Sizes, alignments, offsets, enumerators, flags and versions equal those of the C header."""
    assert {fact: _expected()[fact] for fact in facts_in_c} == facts_in_c


@pytest.mark.interop
def test_only_members_of_the_main_branch_were_left_out(facts_in_c):
    """Every member of the released header is compared."""
    assert set(_expected()) - set(facts_in_c) <= dlpack.AFTER_LATEST_RELEASE


@pytest.mark.interop
def test_the_header_has_no_enumerator_that_is_unknown_here(header):
    """Every enumerator of the header has a member of the same name."""
    code = re.sub(r"/\*.*?\*/|//[^\n]*", "", header.read_text(), flags=re.DOTALL)
    enumerators = set(re.findall(r"\b(kDL\w+)\s*=", code))

    assert enumerators
    assert enumerators <= {name for enum in ENUMS for name in enum.__members__}


@pytest.mark.interop
def test_the_header_has_no_struct_that_is_unknown_here(header):
    """Every struct of the header has a ctypes struct of the same name."""
    code = re.sub(r"/\*.*?\*/|//[^\n]*", "", header.read_text(), flags=re.DOTALL)
    structs = set(re.findall(r"^\s*typedef struct (\w+)", code, flags=re.MULTILINE))
    structs |= set(re.findall(r"^}\s*(DL\w+);", code, flags=re.MULTILINE))

    assert structs >= {"DLTensor", "DLManagedTensor"}
    assert structs <= {kind.__name__ for kind in (*STRUCTS, *ENUMS)}
