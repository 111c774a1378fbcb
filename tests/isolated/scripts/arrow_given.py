"""Exports a memory block as Arrow with the native core, whichever core is in use."""

from __future__ import annotations

import ctypes
from importlib.util import find_spec

from interchange.abi.arrow import ARROW_RELEASE, ARROW_STRUCTS, ArrowColumn, ArrowField
from interchange.abi.capsules import capsule_name, capsule_pointer

IS_BUILT = find_spec("interchange._core._native._extension") is not None
FIELD = ArrowField("+w:3", "lists", None, 0, (ArrowField("f", "item"),))
NODES = 2
EVENT = ctypes.c_void_p(1)
CUDA = (2, 0, ctypes.addressof(EVENT))


def column(block):
    """Return 2 lists of 3 floats."""
    item = ArrowColumn(6, 0, 0, (0, ctypes.addressof(block)))
    return ArrowColumn(2, 0, 0, (0,), (item,))


def array(block, keep, device=None):
    """Return the capsule of an array."""
    from interchange._core import _native

    return _native.make_arrow(FIELD, column(block), keep, device)[1]


def stream(block, keep, device=None):
    """Return the capsule of a stream."""
    from interchange._core import _native

    return _native.make_arrow_stream(FIELD, column(block), keep, device)


def all_kinds(block, make_keep):
    """Return a capsule of each kind."""
    return [make(block, make_keep(), device) for make in (array, stream) for device in (None, CUDA)]


def taken_by_c(capsule):
    """Move a struct out of a capsule permanently; return its address and its callback."""
    name = capsule_name(capsule)
    struct = ARROW_STRUCTS[name].from_address(capsule_pointer(capsule, name))
    moved = type(struct).from_buffer_copy(struct)
    place = ctypes.c_void_p.from_address(ctypes.addressof(struct) + ARROW_RELEASE[name])
    release, place.value = place.value, None
    kept.append(moved)
    return ctypes.addressof(moved), release


kept = []
