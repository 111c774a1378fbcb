"""Memory by addresses: every address, and structs as C lays them out with pointers of any size."""

from __future__ import annotations

import ctypes
import struct

import pytest

from interchange.abi import DLManagedTensor, DLManagedTensorVersioned, buffer_address
from interchange.abi.memory import (
    ADDRESS_END,
    POINTER,
    SHIFT,
    Windows,
    format_of,
    memory,
    offset_of,
    pointers,
    reader,
    words,
    writer,
)

BITS = 8 * struct.calcsize("P")
SIGNED_END = ADDRESS_END // 2
ADDRESSES = [
    *(0, 1, 4096, ADDRESS_END // 4 - 1, ADDRESS_END // 4, SIGNED_END - 4096, SIGNED_END - 1),
    *(SIGNED_END, SIGNED_END + 1, ADDRESS_END // 4 * 3 - 1, ADDRESS_END // 4 * 3),
    ADDRESS_END - 4096,
]
FIELDS = (
    ("version.major", "I"), ("deleter", "{0}"), ("flags", "Q"), ("dl_tensor.data", "{0}"),
    ("dl_tensor.device", "16s"), ("dl_tensor.shape", "{0}"), ("dl_tensor.strides", "{0}"),
    ("dl_tensor.byte_offset", "Q"),
)  # fmt: skip


@pytest.fixture
def windows():
    """Return how a 32-bit Python reads memory, applied to addresses of this process."""
    return Windows(BITS)


@pytest.mark.parametrize("address", ADDRESSES)
def test_every_address_is_in_a_window(windows, address):
    """Every address is in a window with what follows it, also above the largest index."""
    view, offset = windows.at(address)

    assert buffer_address(view) + offset == address
    assert len(view) - offset >= min(4096, ADDRESS_END - 8 - address)


@pytest.mark.parametrize("by", ["windows", "module"])
def test_what_is_there_is_read_and_written(windows, by):
    """Memory is read and written by address, as bytes and as numbers."""
    read, write = (reader, writer) if by == "module" else (windows.reader, windows.writer)
    block = (ctypes.c_uint64 * 2)(1, 2)
    address = ctypes.addressof(block)

    write("=I4xQ")(memory, address, 7, 8)

    assert list(block) == [7, 8]
    assert read("=I4xQ")(memory, address) == (7, 8)


def test_numbers_have_their_places(windows):
    """Words have 32 bits, and pointers are at multiples of their size."""
    block = (ctypes.c_void_p * 2)(5, 6)
    second = ctypes.addressof(block) + ctypes.sizeof(ctypes.c_void_p)

    for found in (words, windows.numbers("I")):
        assert found[second >> 2] == 6
    for found in (pointers, windows.numbers(POINTER)):
        assert found[second >> SHIFT] == 6


# ---------------------------------------------------------------- structs


def narrow(name, *fields, pack=4):
    """Return a struct as a machine with pointers of 32 bits lays it out."""
    return type(name, (ctypes.Structure,), {"_pack_": pack, "_layout_": "ms", "_fields_": fields})


VERSION = narrow("Version", ("major", ctypes.c_uint32), ("minor", ctypes.c_uint32))
KIND = narrow("Kind", ("words", ctypes.c_uint32 * 2))

WIDE = pytest.mark.skipif(
    ctypes.alignment(ctypes.c_uint64) != 8, reason="no struct of ctypes is aligned so here"
)


def versioned(pack):
    """Return the versioned struct with pointers of 32 bits; `pack` is the alignment of int64."""
    pointer = ctypes.c_uint32
    tensor = narrow(
        "Tensor", ("data", pointer), ("device", KIND), ("ndim", ctypes.c_int32),
        ("dtype", ctypes.c_uint32), ("shape", pointer), ("strides", pointer),
        ("byte_offset", ctypes.c_uint64), pack=pack,
    )  # fmt: skip
    return narrow(
        "Managed", ("version", VERSION), ("manager_ctx", pointer), ("deleter", pointer),
        ("flags", ctypes.c_uint64), ("dl_tensor", tensor), pack=pack,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("pack", "form"),
    [
        pytest.param(4, "=I8xIQI16sIIQ", id="i386"),
        pytest.param(8, "=I8xIQI16sII4xQ", id="arm", marks=WIDE),
    ],
)
def test_structs_of_32_bits_are_read_where_their_fields_are(pack, form):
    """Fields have the right offsets although 64-bit integers are aligned to 4 or 8 bytes."""
    fields = [(path, code.format("I")) for path, code in FIELDS]

    assert format_of(versioned(pack), *fields) == form


def test_structs_are_read_as_ctypes_wrote_them():
    """Each field is read as ctypes wrote it, with the pointer size of this machine."""
    fields = [(path, code.format(POINTER)) for path, code in FIELDS]
    managed = DLManagedTensorVersioned(deleter=SIGNED_END + 3, flags=5)
    managed.version.major = 1
    managed.dl_tensor.data = ADDRESS_END - 1
    managed.dl_tensor.ndim = 2
    managed.dl_tensor.byte_offset = 2**63 + 1

    found = reader(format_of(DLManagedTensorVersioned, *fields))(memory, ctypes.addressof(managed))

    assert found[:4] == (1, SIGNED_END + 3, 5, ADDRESS_END - 1)
    assert struct.unpack("=iiiI", found[4])[2] == 2
    assert found[5:] == (0, 0, 2**63 + 1)


@pytest.mark.parametrize("cls", [DLManagedTensor, DLManagedTensorVersioned])
def test_what_is_read_of_a_struct_is_within_it(cls):
    """The format of the cores ends with the struct's last field, or before it."""
    from interchange._core import _parsing

    is_versioned = cls is DLManagedTensorVersioned
    form = _parsing.VERSIONED_FORMAT if is_versioned else _parsing.LEGACY_FORMAT
    last = "dl_tensor.byte_offset" if is_versioned else "deleter"
    size = 8 if is_versioned else ctypes.sizeof(ctypes.c_void_p)

    assert struct.calcsize(form) == offset_of(cls, last) + size <= ctypes.sizeof(cls)
