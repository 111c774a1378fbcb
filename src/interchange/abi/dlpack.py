"""The DLPack C structs, enums and flags, as ctypes.  No pointer is dereferenced here.

Source: dlpack.h of DLPack 1.3, with the device and dtype numbers already on its main branch. Names
and field order are those of the header, so that a search for ``byte_offset`` finds the C and the
Python code.  ``tests/abi/test_dlpack_h.py`` compiles the header, if a header and a compiler are
present, and compares every size, offset and constant with the ones below.
"""

from __future__ import annotations

import ctypes
from enum import IntEnum
from typing import Final

DLPACK_MAJOR_VERSION: Final = 1
DLPACK_MINOR_VERSION: Final = 3
DLPACK_VERSION: Final = (DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION)

DLPACK_FLAG_BITMASK_READ_ONLY: Final = 1 << 0
"""The memory is read-only (since 1.0)."""
DLPACK_FLAG_BITMASK_IS_COPIED: Final = 1 << 1
"""The producer made this copy for the consumer only (since 1.0)."""
DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED: Final = 1 << 2
"""Elements below 8 bits occupy a whole byte each (since 1.1)."""


class DLDeviceType(IntEnum):
    """Type of a device.  5 and 6 were never assigned.

    A member is equal to its number and to its name in `DEVICE_NAMES`, such as ``"cuda"``.
    """

    kDLCPU = 1
    kDLCUDA = 2
    kDLCUDAHost = 3
    kDLOpenCL = 4
    kDLVulkan = 7
    kDLMetal = 8
    kDLVPI = 9
    kDLROCM = 10
    kDLROCMHost = 11
    kDLExtDev = 12
    kDLCUDAManaged = 13
    kDLOneAPI = 14
    kDLWebGPU = 15
    kDLHexagon = 16
    kDLMAIA = 17
    kDLTrn = 18
    kDLTPU = 19  # main branch, after 1.3
    kDLTPUHost = 20  # main branch, after 1.3
    kDLAscend = 21  # main branch, after 1.3

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str):
            return DEVICE_NAMES[self] == other
        return int.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        if isinstance(other, str):
            return DEVICE_NAMES[self] != other
        return int.__ne__(self, other)

    __hash__ = int.__hash__


DEVICE_NAMES: Final = {
    DLDeviceType.kDLCPU: "cpu",
    DLDeviceType.kDLCUDA: "cuda",
    DLDeviceType.kDLCUDAHost: "cuda_host",
    DLDeviceType.kDLOpenCL: "opencl",
    DLDeviceType.kDLVulkan: "vulkan",
    DLDeviceType.kDLMetal: "metal",
    DLDeviceType.kDLVPI: "vpi",
    DLDeviceType.kDLROCM: "rocm",
    DLDeviceType.kDLROCMHost: "rocm_host",
    DLDeviceType.kDLExtDev: "ext_dev",
    DLDeviceType.kDLCUDAManaged: "cuda_managed",
    DLDeviceType.kDLOneAPI: "oneapi",
    DLDeviceType.kDLWebGPU: "webgpu",
    DLDeviceType.kDLHexagon: "hexagon",
    DLDeviceType.kDLMAIA: "maia",
    DLDeviceType.kDLTrn: "trn",
    DLDeviceType.kDLTPU: "tpu",
    DLDeviceType.kDLTPUHost: "tpu_host",
    DLDeviceType.kDLAscend: "ascend",
}
"""Device type -> its name in `interchange.Device`."""


class DLDataTypeCode(IntEnum):
    """Meaning of the bits of one element."""

    kDLInt = 0
    kDLUInt = 1
    kDLFloat = 2
    kDLOpaqueHandle = 3
    kDLBfloat = 4
    kDLComplex = 5
    kDLBool = 6
    kDLFloat8_e3m4 = 7
    kDLFloat8_e4m3 = 8
    kDLFloat8_e4m3b11fnuz = 9
    kDLFloat8_e4m3fn = 10
    kDLFloat8_e4m3fnuz = 11
    kDLFloat8_e5m2 = 12
    kDLFloat8_e5m2fnuz = 13
    kDLFloat8_e8m0fnu = 14
    kDLFloat6_e2m3fn = 15
    kDLFloat6_e3m2fn = 16
    kDLFloat4_e2m1fn = 17
    kDLBcomplex = 18  # main branch, after 1.3


AFTER_LATEST_RELEASE: Final = frozenset(
    {"kDLTPU", "kDLTPUHost", "kDLAscend", "kDLBcomplex"},
)
"""Enum members of the main branch that the 1.3 header lacks."""


class DLPackVersion(ctypes.Structure):
    """DLPack version of a struct."""

    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
    )


class DLDevice(ctypes.Structure):
    """A device: its type and its ordinal among that type."""

    _fields_ = (
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
    )


class DLDataType(ctypes.Structure):
    """An element type: its code, its size [bits], its vector length [lanes]."""

    _fields_ = (
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
    )


class DLTensor(ctypes.Structure):
    """A described block of memory.  Owns nothing; never outlives its managed tensor."""

    _fields_ = (
        ("data", ctypes.c_void_p),  # NULL when the array has no elements
        ("device", DLDevice),
        ("ndim", ctypes.c_int32),
        ("dtype", DLDataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),  # [elements]
        ("strides", ctypes.POINTER(ctypes.c_int64)),  # [elements]; NULL: C order, before 1.2
        ("byte_offset", ctypes.c_uint64),  # [bytes], added to data
    )


class DLManagedTensor(ctypes.Structure):
    """The struct of a ``"dltensor"`` capsule, of DLPack before 1.0."""

    _fields_ = (
        ("dl_tensor", DLTensor),
        ("manager_ctx", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),  # an address, never a Python callback: DLP-LIFE-4
    )


class DLManagedTensorVersioned(ctypes.Structure):
    """The struct of a ``"dltensor_versioned"`` capsule.

    The layout up to and including ``flags`` is the same in all major versions: of a foreign major
    version, read ``version``, call ``deleter``, and access nothing else (DLP-VER-1).
    """

    _fields_ = (
        ("version", DLPackVersion),
        ("manager_ctx", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),  # an address, never a Python callback: DLP-LIFE-4
        ("flags", ctypes.c_uint64),
        ("dl_tensor", DLTensor),
    )


class DLPackExchangeAPIHeader(ctypes.Structure):
    """Head of an exchange table; ``prev_api`` links to a table of an older major."""

    _fields_ = (
        ("version", DLPackVersion),
        ("prev_api", ctypes.c_void_p),
    )


class DLPackExchangeAPI(ctypes.Structure):
    """The table of C functions behind ``__dlpack_c_exchange_api__``.  None of them synchronizes."""

    _fields_ = (
        ("header", DLPackExchangeAPIHeader),
        ("managed_tensor_allocator", ctypes.c_void_p),
        ("managed_tensor_from_py_object_no_sync", ctypes.c_void_p),
        ("managed_tensor_to_py_object_no_sync", ctypes.c_void_p),
        ("dltensor_from_py_object_no_sync", ctypes.c_void_p),  # may be NULL
        ("current_work_stream", ctypes.c_void_p),
    )
