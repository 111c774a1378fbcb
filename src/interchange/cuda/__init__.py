"""Kernels over any array, written in Python: the CUDA Python dialect.

Source: CUDA Python Specification 0.2.  Kernels are typed by its rules, compiled by LLVM (the extra
``kernels``), and run on any array that `interchange.asarray` accepts, on its device: the CPU, or a
GPU.
"""

from __future__ import annotations

from .arrays import UntypedArray, as_cuda_array, device_array, from_cuda_array_interface, to_device
from .atomics import atomic, threadfence, threadfence_block, threadfence_system
from .bits import brev, clz, ffs, popc
from .cooperative import cg
from .devices import (
    GPU,
    Context,
    MemoryInfo,
    close,
    current_context,
    defer_cleanup,
    detect,
    get_current_device,
    gpus,
    mem_info,
    profile_start,
    profile_stop,
    select_device,
)
from .errors import KernelError, KernelWarning
from .host_arrays import (
    device_array_like,
    managed_array,
    managed_array_like,
    mapped,
    mapped_array,
    mapped_array_like,
    pinned,
    pinned_array,
    pinned_array_like,
)
from .intrinsics import (
    blockDim,
    blockIdx,
    const,
    fma,
    grid,
    gridDim,
    gridsize,
    local,
    nanosleep,
    shared,
    syncthreads,
    threadIdx,
)
from .kernel import Kernel, jit
from .races import RaceError
from .streams import (
    Event,
    Stream,
    default_stream,
    event,
    event_elapsed_time,
    external_stream,
    is_available,
    legacy_default_stream,
    per_thread_default_stream,
    stream,
    synchronize,
)
from .types import (
    ArrayType,
    ScalarType,
    Signature,
    bfloat16,
    bool_,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    intp,
    uint8,
    uint16,
    uint32,
    uint64,
    void,
)
from .warps import (
    activemask,
    all_sync,
    any_sync,
    ballot_sync,
    eq_sync,
    laneid,
    lanemask_lt,
    match_all_sync,
    match_any_sync,
    shfl_down_sync,
    shfl_sync,
    shfl_up_sync,
    shfl_xor_sync,
    syncthreads_and,
    syncthreads_count,
    syncthreads_or,
    syncwarp,
    warpsize,
)

__all__ = [  # noqa: RUF022 - as everywhere
    "GPU", "ArrayType", "Context", "Event", "Kernel", "KernelError", "KernelWarning",
    "MemoryInfo", "RaceError", "ScalarType", "Signature", "Stream", "UntypedArray",
    "activemask", "all_sync", "any_sync", "as_cuda_array", "atomic", "ballot_sync", "bfloat16",
    "blockDim", "blockIdx", "bool_", "brev", "cg", "close", "clz", "complex128", "complex64",
    "const", "current_context", "default_stream", "defer_cleanup", "detect", "device_array",
    "device_array_like", "eq_sync", "event", "event_elapsed_time", "external_stream", "ffs",
    "float16", "float32", "float64", "fma", "from_cuda_array_interface", "get_current_device",
    "gpus", "grid", "gridDim", "gridsize", "int16", "int32", "int64", "int8", "intp",
    "is_available", "jit", "laneid", "lanemask_lt", "legacy_default_stream", "local",
    "managed_array", "managed_array_like", "mapped", "mapped_array", "mapped_array_like",
    "match_all_sync", "match_any_sync", "mem_info", "nanosleep", "per_thread_default_stream",
    "pinned", "pinned_array", "pinned_array_like", "popc", "profile_start", "profile_stop",
    "select_device", "shared", "shfl_down_sync", "shfl_sync", "shfl_up_sync", "shfl_xor_sync",
    "stream", "synchronize", "syncthreads", "syncthreads_and", "syncthreads_count",
    "syncthreads_or", "syncwarp", "threadIdx", "threadfence", "threadfence_block",
    "threadfence_system", "to_device", "uint16", "uint32", "uint64", "uint8", "void",
    "warpsize",
]  # fmt: skip


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)
