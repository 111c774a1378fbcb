"""Virtual memory and memory of pools for other processes, by file descriptors.

Source: CUDA driver API, Virtual Memory Management and Stream Ordered Memory Allocator:
``cuMemExportToShareableHandle``, ``cuMemPoolExportToShareableHandle`` and their like.  The memory
has to be created for file descriptors; that of the driver's default pools is not.
"""

from __future__ import annotations

import contextlib
import ctypes
from typing import TYPE_CHECKING, Any, Final

from interchange.abi._records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

DATA_BYTES: Final = 64  # of CUmemPoolPtrExportData
BY_IPC: Final = 0
VIRTUAL: Final = 1
POOLED: Final = 2
_READ_AND_WRITE: Final = 3  # CU_MEM_ACCESS_FLAGS_PROT_READWRITE
_NO_DATA: Final = bytes(DATA_BYTES)


class Exported(NamedTuple):
    """What another process needs to open memory."""

    kind: int
    data: bytes  # as long as a handle of the driver
    descriptor: int = -1  # sent to openers; -1 for none


class Opened(NamedTuple):
    """Memory of another process."""

    kind: int
    ptr: int
    size: int  # [bytes]
    pool: int = 0


def export_by_descriptor(api: Any, start: int) -> Exported | None:
    """Return virtual memory or memory of a pool, or None if the driver exports neither.

    `api`: ``cuda.bindings.driver``.
    `start`: the first address of an allocation.
    """
    return _export_virtual(api, start) or _export_pooled(api, start)


def _descriptor_kind(api: Any) -> Any:
    """Return the kind of handle that is a file descriptor."""
    return api.CUmemAllocationHandleType.CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR


def _export_virtual(api: Any, start: int) -> Exported | None:
    """Return memory that was mapped with ``cuMemMap``."""
    error, memory = api.cuMemRetainAllocationHandle(start)
    if error:
        return None
    try:
        error, found = api.cuMemExportToShareableHandle(memory, _descriptor_kind(api), 0)
        return None if error else Exported(VIRTUAL, _NO_DATA, int(found))
    finally:
        api.cuMemRelease(memory)


def _export_pooled(api: Any, start: int) -> Exported | None:
    """Return memory of a pool."""
    attribute = api.CUpointer_attribute.CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE
    error, pool = api.cuPointerGetAttribute(attribute, start)
    if error or not int(pool or 0):
        return None
    error, data = api.cuMemPoolExportPointer(start)
    if error:
        return None
    error, found = api.cuMemPoolExportToShareableHandle(pool, _descriptor_kind(api), 0)
    if error:
        return None
    return Exported(POOLED, ctypes.string_at(data.getPtr(), DATA_BYTES), int(found))


def import_by_descriptor(
    api: Any, call: Callable[..., Any], exported: Exported, size: int, ordinal: int
) -> Opened:
    """Open memory of another process for a device.

    `call`: calls a function of the driver by its name, and returns its result.
    `size`: of the memory [bytes].
    """
    if exported.kind == POOLED:
        return _import_pooled(api, call, exported)
    kind, access = _descriptor_kind(api), api.CUmemAccessDesc()
    access.location.type = api.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
    access.location.id = ordinal
    access.flags = api.CUmemAccess_flags(_READ_AND_WRITE)
    memory = call("cuMemImportFromShareableHandle", exported.descriptor, kind)
    with contextlib.ExitStack() as undo:
        try:
            ptr = int(call("cuMemAddressReserve", size, 0, 0, 0))
            undo.callback(api.cuMemAddressFree, ptr, size)
            call("cuMemMap", ptr, size, 0, memory, 0)
            undo.callback(api.cuMemUnmap, ptr, size)
            call("cuMemSetAccess", ptr, size, [access], 1)
            undo.pop_all()
        finally:
            api.cuMemRelease(memory)  # the mapping keeps it
    return Opened(VIRTUAL, ptr, size)


def _import_pooled(api: Any, call: Callable[..., Any], exported: Exported) -> Opened:
    """Open memory of a pool of another process."""
    kind = _descriptor_kind(api)
    pool = int(call("cuMemPoolImportFromShareableHandle", exported.descriptor, kind, 0))
    try:
        data = api.CUmemPoolPtrExportData()
        ctypes.memmove(data.getPtr(), exported.data, DATA_BYTES)
        ptr = int(call("cuMemPoolImportPointer", pool, data))
    except BaseException:
        api.cuMemPoolDestroy(pool)
        raise
    return Opened(POOLED, ptr, 0, pool)


def close_by_descriptor(api: Any, opened: Opened) -> None:
    """Give back memory of another process, when the work on it is done."""
    if opened.kind == POOLED:
        api.cuMemFree(opened.ptr)
        api.cuMemPoolDestroy(opened.pool)
    else:
        api.cuMemUnmap(opened.ptr, opened.size)
        api.cuMemAddressFree(opened.ptr, opened.size)
