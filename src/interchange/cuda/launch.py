"""Launching a kernel on the CPU: arguments, sizes of grid and block, and threads that run blocks.

Source: CUDA C++ Programming Guide, "Execution Configuration" and "Compute Capabilities" (limits).
"""

from __future__ import annotations

import ctypes
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from math import prod
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from interchange._functions.importing import import_any
from interchange._types.devices import CPU
from interchange._types.errors import (
    ArgumentError,
    ReadOnlyError,
    UnsupportedDeviceError,
    UnsupportedDTypeError,
    show,
)

from .operators import literal_type
from .types import BY_NAME, ArrayType, ScalarType, int64

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interchange import Array

    from .llvm.compiled import HostKernel

MOST_THREADS: Final = 1024
"""In a block."""
MOST_BLOCK: Final = (1024, 1024, 64)
MOST_GRID: Final = (2**31 - 1, 65535, 65535)
_FEW_THREADS: Final = 4096
"""Up to so many threads one worker does all."""
_LINE: Final = 64  # [bytes], of the processor's cache

CTYPES: Final[dict[str, Any]] = {
    "bool": ctypes.c_uint8, "int8": ctypes.c_int8, "int16": ctypes.c_int16,
    "int32": ctypes.c_int32, "int64": ctypes.c_int64, "uint8": ctypes.c_uint8,
    "uint16": ctypes.c_uint16, "uint32": ctypes.c_uint32, "uint64": ctypes.c_uint64,
    "float32": ctypes.c_float, "float64": ctypes.c_double,
    "complex64": ctypes.c_float * 2, "complex128": ctypes.c_double * 2,
}  # fmt: skip
"""Name of a type -> the memory of an argument."""


class Sizes(NamedTuple):
    """How many blocks, and how many threads in each, along x, y and z."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]


def read_sizes(given: Any, call: str) -> Sizes:
    """Return the sizes in ``kernel[grid, block, stream, shared_bytes]``."""
    parts = given if isinstance(given, tuple) else (given,)
    if not 2 <= len(parts) <= 4:
        raise ArgumentError(call, f"{show(given)} of {len(parts)} parts", "CPY-LAUNCH-1")
    grid = _read_axes(parts[0], "grid", MOST_GRID, call)
    block = _read_axes(parts[1], "block", MOST_BLOCK, call)
    if prod(block) > MOST_THREADS:
        what = f"a block of {prod(block)} threads"
        raise ArgumentError(call, what, "CPY-LAUNCH-1", f"take at most {MOST_THREADS}")
    return Sizes(grid, block)


def _read_axes(given: Any, name: str, most: Sequence[int], call: str) -> tuple[int, int, int]:
    """Return three sizes, 1 where none is given."""
    axes = tuple(given) if isinstance(given, (tuple, list)) else (given,)
    right = all(hasattr(n, "__index__") and not isinstance(n, bool) for n in axes)
    if not right or not 1 <= len(axes) <= 3:
        raise ArgumentError(call, f"{name}={show(given)}", "CPY-LAUNCH-1")
    sizes = [*(int(n) for n in axes), 1, 1][:3]
    for size, limit in zip(sizes, most, strict=True):
        if not 1 <= size <= limit:
            what = f"{name}={show(given)}, where 1 to {limit} is possible"
            raise ArgumentError(call, what, "CPY-LAUNCH-1")
    return sizes[0], sizes[1], sizes[2]


# ---------------------------------------------------------------- arguments


class Passed(NamedTuple):
    """An argument: its type, what is passed in memory, and the array, if it is one."""

    type: ScalarType | ArrayType
    memory: tuple[Any, ...]
    array: Array | None = None


def pass_argument(value: Any, wanted: ScalarType | ArrayType | None, call: str) -> Passed:
    """Return an argument as a kernel takes it; `wanted` is its type in a signature."""
    scalar = _scalar_type(value)
    if scalar is not None:
        if isinstance(wanted, ArrayType):
            raise ArgumentError(call, f"a number where {wanted} is wanted", "CPY-ARG-1")
        return _pass_number(value, wanted or scalar, call)
    array = import_any(value, call=call)
    if isinstance(wanted, ScalarType):
        raise ArgumentError(call, f"an array where {wanted} is wanted", "CPY-ARG-1")
    return _pass_array(array, wanted, call)


def _scalar_type(value: Any) -> ScalarType | None:
    """Return the type of a number of Python or NumPy, None of anything else."""
    if type(value) is int:
        return int64 if -(1 << 63) <= value < 1 << 63 else literal_type(value)
    if isinstance(value, (bool, float, complex)) and type(value).__module__ == "builtins":
        return literal_type(value)
    numpy = sys.modules.get("numpy")
    is_numpys = numpy is not None and isinstance(value, numpy.generic)
    return BY_NAME.get(str(value.dtype)) if is_numpys else None


def _pass_number(value: Any, type_: ScalarType, call: str) -> Passed:
    """Return a number as a kernel takes it."""
    number = value.item() if hasattr(value, "item") else value
    if isinstance(number, complex) and type_.kind != "complex":
        raise ArgumentError(call, f"{show(value)} where {type_} is wanted", "CPY-TYPE-1")
    if type_.kind == "complex":
        memory = CTYPES[type_.name](complex(number).real, complex(number).imag)
    elif type_.kind == "float":
        memory = CTYPES[type_.name](float(number))
    else:
        memory = CTYPES[type_.name](_checked_integer(number, type_, call))
    return Passed(type_, (memory,))


def _checked_integer(number: Any, type_: ScalarType, call: str) -> int:
    """Return an int that fits a type."""
    if type_.kind == "bool":
        return int(bool(number))
    low = -(1 << type_.bits - 1) if type_.kind == "int" else 0
    high = (1 << type_.bits - (type_.kind == "int")) - 1
    if number != int(number) or not low <= number <= high:
        raise ArgumentError(call, f"{show(number)} where {type_} is wanted", "CPY-ARG-1")
    return int(number)


def _pass_array(array: Array, wanted: ArrayType | None, call: str) -> Passed:
    """Return an array as a kernel takes it."""
    element = BY_NAME.get(str(array.dtype))
    if element is None:
        raise UnsupportedDTypeError(call, f"an array of {array.dtype}", "CPY-NPM-1")
    if array.device is not CPU:
        what = f"an array on {array.device}"
        raise UnsupportedDeviceError(call, what, "CPY-ARG-3", 'copy it with .to_device("cpu")')
    part = element.itemsize // (2 if element.kind == "complex" else 1)
    if array.ptr % part:
        what = f"an array of {element} at {array.ptr:#x}, which is not aligned"
        raise ArgumentError(call, what, "CPY-ARG-1", "pass .copy()")
    found = ArrayType(element, array.ndim, in_c_order=array.is_contiguous())
    if wanted is not None:
        fits = (found.element, found.ndim) == (wanted.element, wanted.ndim)
        if not fits or (wanted.in_c_order and not found.in_c_order):
            raise ArgumentError(call, f"an array {found} where {wanted} is wanted", "CPY-ARG-1")
        found = wanted
    sizes = (*array.shape, *(step * element.itemsize for step in array.strides))
    return Passed(found, (ctypes.c_void_p(array.ptr), *map(ctypes.c_int64, sizes)), array)


def check_writable(passed: Sequence[Passed], writes: set[int], call: str) -> None:
    """Refuse to store where nobody may."""
    for place in sorted(writes):
        array = passed[place].array
        if array is not None and array.readonly is not False:
            unknown = array.readonly is None
            what = f"argument {place} is {'not known to be writable' if unknown else 'read-only'}"
            way_out = "pass asarray(x, assume_writable=True)" if unknown else "pass a copy"
            raise ReadOnlyError(call, what, "CPY-ARG-2", way_out)


# ---------------------------------------------------------------- running


class _Pool:
    """Threads that run blocks, begun when they are first needed."""

    def __init__(self) -> None:
        self._threads: ThreadPoolExecutor | None = None
        self.count = max(1, os.cpu_count() or 1)
        os.register_at_fork(after_in_child=self._forget)

    def _forget(self) -> None:
        """Begin anew: threads do not come along to a child process."""
        self._threads = None

    def run(self, parts: list[Any]) -> list[int]:
        """Return what each part returned."""
        if len(parts) == 1:
            return [parts[0]()]
        if self._threads is None:
            self._threads = ThreadPoolExecutor(self.count, "interchange.cuda")
        return [done.result() for done in [self._threads.submit(part) for part in parts]]


_pool: Final = _Pool()


def _aligned(size: int) -> tuple[Any, int]:
    """Return memory, and an address in it that begins a line of the cache."""
    memory = (ctypes.c_char * (size + _LINE)).from_buffer(bytearray(size + _LINE))
    return memory, -(-ctypes.addressof(memory) // _LINE) * _LINE


def run(kernel: HostKernel, sizes: Sizes, passed: Sequence[Passed]) -> tuple[int, int]:
    """Run a kernel; return 0, or 1 where threads left others waiting, and a place out of bounds."""
    memory = [value for each in passed for value in each.memory]
    params = (ctypes.c_void_p * max(1, len(memory)))(*map(ctypes.addressof, memory))
    blocks, threads = prod(sizes.grid), prod(sizes.block)
    workers = 1 if blocks * threads <= _FEW_THREADS else min(_pool.count, blocks)
    states = []

    def part(worker: int) -> int:
        dims = (ctypes.c_int32 * 9)(*sizes.block, *sizes.grid, 0, 0, 0)
        states.append(dims)
        kept, shared = _aligned(kernel.program.shared_bytes)
        frames, first_frame = _aligned(kernel.frame_size * threads)
        handles = (ctypes.c_void_p * (threads if kernel.frame_size else 1))()
        first, last = (blocks * (worker + k) // workers for k in (0, 1))
        code = kernel.run(
            ctypes.addressof(params), ctypes.addressof(dims), first, last, shared, first_frame,
            ctypes.addressof(handles),
        )  # fmt: skip
        del kept, frames
        return int(code)

    codes = _pool.run([lambda worker=worker: part(worker) for worker in range(workers)])
    return max(codes), max(dims[6] for dims in states)
