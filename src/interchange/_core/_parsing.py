"""Fields of DLPack structs, read and validated; valid layouts are cached.

Source: dlpack.h 1.3.  The 16 bytes of device, ndim and element type, and the bytes of shape and
strides, are the keys of the cached `Spec`.  Pointers are followed only where the rules require
them to be valid.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, Final

from interchange._types.devices import CPU, Device
from interchange._types.dtypes import DType
from interchange._types.errors import (
    ConsumedCapsuleError,
    ExchangeError,
    NoProtocolError,
    UnsupportedDeviceError,
    UnsupportedDTypeError,
    VersionError,
    error_for,
    show,
)
from interchange._types.layout import INT64_MAX, MOST_AXES, Layout, problem
from interchange._types.spec import Spec
from interchange.abi import capsules
from interchange.abi.dlpack import (
    DLPACK_FLAG_BITMASK_IS_COPIED,
    DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED,
    DLPACK_FLAG_BITMASK_READ_ONLY,
    DLPACK_MAJOR_VERSION,
    DLDataTypeCode,
    DLManagedTensor,
    DLManagedTensorVersioned,
)
from interchange.abi.memory import (
    ADDRESS_END,
    POINTER,
    READABLE_END,
    format_of,
    memory,
    reader,
    words,
)

if TYPE_CHECKING:
    from interchange._types.errors import (
        InterchangeError,
    )

KNOWN_FLAGS: Final = DLPACK_FLAG_BITMASK_READ_ONLY | DLPACK_FLAG_BITMASK_IS_COPIED
"""Flags of a tensor; padded is part of its element type, others are ignored."""
_PADDED: Final = DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED
_DIMS_END: Final = READABLE_END - 16 * MOST_AXES  # of addresses of shape and strides

_TENSOR: Final = (
    ("dl_tensor.data", POINTER),
    ("dl_tensor.device", "16s"),
    ("dl_tensor.shape", POINTER),
    ("dl_tensor.strides", POINTER),
    ("dl_tensor.byte_offset", "Q"),
)
VERSIONED_FORMAT: Final = format_of(
    DLManagedTensorVersioned,
    ("version.major", "I"),
    ("deleter", POINTER),
    ("flags", "Q"),
    *_TENSOR,
)
LEGACY_FORMAT: Final = format_of(DLManagedTensor, *_TENSOR, ("deleter", POINTER))
unpack_versioned: Final = reader(VERSIONED_FORMAT)
"""Memory, address -> major, deleter, flags, data, kind, shape, strides, byte_offset."""
unpack_legacy: Final = reader(LEGACY_FORMAT)
"""Memory, address -> data, kind, shape, strides, byte_offset, deleter."""
_unpack_kind: Final = struct.Struct("=iiiBBH").unpack


Placed = tuple[int, int, Spec]
"""The lowest and the highest address that the first element may have, and the Spec."""
Kind = tuple[int, Any, Any, dict[bytes, Placed], Device, DType]
"""Size of a shape [bytes], two readers, the cached specs, device and element type.

The readers take memory and an address: one reads shape and strides as bytes, one only the shape.
"""

# Bounded, so that arrays of ever new layouts cannot fill the memory.
_MOST_KINDS: Final = 1024
_MOST_SPECS: Final = 256
kinds: Final[dict[bytes, Kind]] = {}
"""Kind of arrays whose elements fill their bytes, by the 16 bytes of the struct."""
_padded_kinds: Final[dict[bytes, Kind]] = {}


def _learn_kind(raw: bytes, padded: int, call: str) -> Kind:
    """Check device, ndim and element type of a struct."""
    device_type, device_id, ndim, code, bits, lanes = _unpack_kind(raw)
    try:
        device = Device(device_type, device_id)
        device = CPU if device.type is CPU.type else device  # dlpack.h has one CPU
        dtype = DType(code, bits, lanes, padded=padded != 0)
    except (UnsupportedDeviceError, UnsupportedDTypeError) as error:
        raise error._for_call(call) from None
    if not 0 <= ndim <= MOST_AXES:
        raise ExchangeError(call, f"ndim is {ndim}", "DLP-SHAPE-1")
    known = _padded_kinds if padded else kinds
    if len(known) >= _MOST_KINDS:
        known.clear()
    both = reader(f"{16 * ndim}s")
    one = reader(f"{8 * ndim}s")
    kind = known[raw] = (8 * ndim, both, one, {}, device, dtype)
    return kind


def _learn_spec(kind: Kind, dims: bytes, *, has_strides: bool, call: str) -> Placed:
    """Check shape and strides of a struct; `dims` holds both, or only the shape."""
    width, _, _, specs, device, dtype = kind
    numbers = struct.unpack(f"={len(dims) // 8}q", dims)
    ndim = width // 8
    shape, strides = numbers[:ndim], numbers[ndim:] if has_strides else None
    found = problem(shape, strides, dtype.itemsize)
    if found is not None:
        raise error_for(call, *found)
    placed = place(Spec(dtype, device, Layout(shape, strides)))
    if len(specs) >= _MOST_SPECS:
        specs.clear()
    specs[dims] = placed
    return placed


def place(spec: Spec) -> Placed:
    """Return `spec` with the addresses that its first element may have, 0 for an empty array."""
    if not spec.layout.size:
        return 0, 0, spec
    low, high = spec.layout.byte_bounds(spec.dtype.itemsize)
    return max(-low, 1), ADDRESS_END - high, spec


def _find_spec(kind: Kind, shape: int, strides: int, call: str) -> Placed:
    """Return the spec of a struct whose shape and strides are at these addresses."""
    width, both, one, specs, _, _ = kind
    if width == 0:
        dims = b""  # the pointers may dangle
    elif not shape:
        raise ExchangeError(call, f"shape is NULL with ndim {width // 8}", "DLP-SHAPE-2")
    elif shape >= _DIMS_END:
        raise ExchangeError(call, f"shape is at {shape:#x}", "DLP-SHAPE-2")
    elif strides >= _DIMS_END:
        raise ExchangeError(call, f"strides are at {strides:#x}", "DLP-STRIDES-1")
    elif strides == shape + width:
        (dims,) = both(memory, shape)
    else:
        (dims,) = one(memory, shape)
        if strides:
            dims += one(memory, strides)[0]
    placed = specs.get(dims)
    if placed is None:
        has_strides = len(dims) > width or width == 0
        placed = _learn_spec(kind, dims, has_strides=has_strides, call=call)
    return placed


def find(
    kind_key: bytes, padded: int, where: tuple[int, int, int, int], call: str
) -> tuple[int, Spec]:
    """Return the address of the first element, and the Spec.

    `kind_key`: the 16 bytes of device, ndim and element type.
    `padded`: not 0 if elements below 8 bits occupy a whole byte each.
    `where`: the fields data, shape, strides and byte_offset.

    Raises ExchangeError or a subclass: the struct breaks a rule.
    """
    data, shape, strides, offset = where
    kind = (_padded_kinds if padded else kinds).get(kind_key)
    if kind is None:
        kind = _learn_kind(kind_key, padded, call)
    first, last, spec = _find_spec(kind, shape, strides, call)
    if offset > INT64_MAX:
        raise ExchangeError(call, f"byte_offset is {offset}", "DLP-DATA-2")
    if not spec.layout.size:
        return 0, spec  # data is ignored: DLP-DATA-3
    if not data:
        raise ExchangeError(call, f"data is NULL for shape {spec.shape}", "DLP-DATA-1")
    if spec.device.has_handles:
        low, _ = spec.layout.byte_bounds(spec.dtype.itemsize)
        if offset + low < 0:
            what = f"byte_offset {offset} with shape {spec.shape} and strides {spec.strides}"
            raise ExchangeError(call, what, "DLP-STRIDES-2")
        return data, Spec(spec.dtype, spec.device, spec.layout, offset)
    if data + offset >= ADDRESS_END:
        raise ExchangeError(call, f"data {data:#x} + byte_offset {offset}", "DLP-DATA-2")
    if not first <= data + offset <= last:
        what = f"data {data:#x} + byte_offset {offset} with shape {spec.shape}"
        raise ExchangeError(call, f"{what} and strides {spec.strides}", "DLP-STRIDES-2")
    return data + offset, spec


def refuse_handles(spec: Spec, call: str, taken: Any = None) -> None:
    """Refuse opaque handles, which keep nothing alive, unless they were requested.

    The error keeps `taken`, the Array of a capsule, since that is consumed.
    """
    if spec.dtype.code is DLDataTypeCode.kDLOpaqueHandle:
        hint = f"pass `interchange.asarray(x, dtype='{spec.dtype}')` if the handles are yours"
        error = UnsupportedDTypeError(call, f"elements are {spec.dtype}", "DLP-DTYPE-7", hint)
        raise error if taken is None else error._with(taken)


def foreign_major(address: int, call: str) -> VersionError:
    """Return the error for another major version, of which only the version is read (DLP-VER-1)."""
    return VersionError(call, f"the struct has major version {words[address >> 2]}", "DLP-VER-1")


def read_versioned(fields: tuple[Any, ...], call: str) -> tuple[int, Spec, int]:
    """Return address, spec and flags of an unpacked struct, whose major version was checked."""
    _, _, flags, data, kind_key, shape, strides, offset = fields
    if flags <= KNOWN_FLAGS and not offset:  # the common case: cached
        kind = kinds.get(kind_key)
        if kind is not None and 0 < shape < _DIMS_END:
            width, both, _, specs, _, _ = kind
            placed = specs.get(both(memory, shape)[0]) if strides == shape + width else None
            if placed is not None and placed[0] <= data <= placed[1]:
                return data, placed[2], flags
    ptr, spec = find(kind_key, flags & _PADDED, (data, shape, strides, offset), call)
    return ptr, spec, flags & KNOWN_FLAGS


def read_legacy(fields: tuple[Any, ...], call: str) -> tuple[int, Spec]:
    """Return address and Spec of an unpacked legacy struct, which has no flags."""
    data, kind_key, shape, strides, offset, _ = fields
    return find(kind_key, 0, (data, shape, strides, offset), call)


# ---------------------------------------------------------------- for the native core


def check_struct(address: int, versioned: int, call: str) -> tuple[int, Spec, int | None]:
    """Return address, Spec and flags of the managed tensor at an address.

    Raises ExchangeError or a subclass: the struct breaks a rule.
    """
    if not versioned:
        return *read_legacy(unpack_legacy(memory, address), call), None
    if words[address >> 2] != DLPACK_MAJOR_VERSION:
        raise foreign_major(address, call)
    return read_versioned(unpack_versioned(memory, address), call)


def spec_of(kind_key: bytes, dims: bytes) -> Spec:
    """Return the Spec of a kind with a shape and strides, which are valid."""
    kind = kinds.get(kind_key)
    if kind is None:
        kind = _learn_kind(kind_key, 0, "from_dlpack()")
    placed = kind[3].get(dims)
    if placed is None:
        placed = _learn_spec(kind, dims, has_strides=True, call="from_dlpack()")
    return placed[2]


def refuse_capsule(capsule: object, call: str) -> InterchangeError:
    """Return why a capsule could not be claimed."""
    if type(capsule) is not capsules.PyCapsule:
        return NoProtocolError(call, f"{show(capsule)} is no capsule", "DLP-CAP-3")
    found = capsules.capsule_name(capsule)
    what = f"the capsule is named {None if found is None else found.decode('latin-1')!r}"
    if found in capsules.USED_NAME.values():
        return ConsumedCapsuleError(call, what, "DLP-CAP-2")
    return ExchangeError(call, what, "DLP-CAP-1")
