"""Races of a launch on the CPU: its shadow memory, and the error.

Source: Compute Sanitizer, "Racecheck"; CUDA C++ Programming Guide, "Memory Fence Functions",
"Synchronization Functions".  The code that finds races is `interchange.cuda.llvm.races`.
"""

from __future__ import annotations

import ast
import ctypes
import mmap
from typing import TYPE_CHECKING, Any, Final

from .errors import KernelError, error_at

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from interchange import Array

    from .ir import Place, Program

WRITE, READ, ATOMIC = range(3)
"""Kinds of accesses."""
ENTRY: Final = 96
"""Size of the entry of a granule in shadow memory [bytes]."""
REGION: Final = ("offset", "shadow", "shift")
"""Of an array: its distance from the start of its region [bytes], the address of the shadow memory
of the region, and the binary logarithm of the size of a granule [bytes].  One for each argument of
the kernel, and one for shared memory; after them follows the address of two numbers for each block:
the epoch up to which it released what it did, plus 1, and whether it acquired what others did."""
RACE_WORD: Final = 7
"""First word of a report about the other access: place, thread, block, both kinds, and indices."""
MOST_AXES: Final = 9
_LINE: Final = 64  # [bytes]: regions start at multiples of it
_DONE: Final = ("written", "read", "changed by an atomic operation")


class RaceError(KernelError):
    """Two threads access one element, one of them writes, and nothing orders the two accesses.

    Attributes
    ----------
    array : str
        The array, as the line writes it.
    index : tuple of int
        The index of the element.
    other_line : int
        The line of the earlier access.
    other_thread, other_block : tuple of int
        The thread of the earlier access, and its block.
    """

    array: str = ""
    index: tuple[int, ...] = ()
    other_line: int = 0
    other_thread: tuple[int, ...] = ()
    other_block: tuple[int, ...] = ()


class Shadow:
    """The shadow memory of a launch.

    Parameters
    ----------
    arrays : sequence
        The array of each argument, None for a number.
    granules : mapping
        Argument, or -1 for shared memory -> its smallest access [bytes].
    shared_bytes : int
        Size of shared memory [bytes].
    blocks : int
        Number of blocks.
    table : ctypes array, optional
        Of `table_for`, which is filled.
    """

    def __init__(
        self,
        arrays: Sequence[Array | None],
        granules: Mapping[int, int],
        shared_bytes: int,
        blocks: int,
        table: Any = None,
    ) -> None:
        table = table or table_for(len(arrays))
        released = (ctypes.c_int32 * (2 * blocks))()
        table[-1] = ctypes.addressof(released)
        self._kept: list[Any] = [table, released]
        self.address: int = ctypes.addressof(table)
        spans = sorted(
            (*_span(array), number)
            for number, array in enumerate(arrays)
            if array is not None and number in granules
        )
        groups: list[tuple[int, int, list[int]]] = []
        for first, last, number in spans:
            if groups and first < groups[-1][1]:
                low, high, numbers = groups.pop()
                groups.append((low, max(high, last), [*numbers, number]))
            else:
                groups.append((first // _LINE * _LINE, last, [number]))
        for low, high, numbers in groups:
            size = min(granules[number] for number in numbers)
            shadow, shift = self._entries(high - low, size)
            for number in numbers:
                array: Any = arrays[number]
                _set(table, number, array.ptr - low, shadow, shift)
        if shared_bytes:
            shadow, shift = self._entries(shared_bytes, granules.get(-1, 1))
            _set(table, len(arrays), 0, shadow, shift)

    def clear(self) -> None:
        """Forget the accesses so far: a barrier of the grid orders them before all others."""
        for memory in self._kept:
            if isinstance(memory, ctypes.Array) and memory._type_ is ctypes.c_char:
                ctypes.memset(memory, 0, len(memory))

    def _entries(self, size: int, granule: int) -> tuple[int, int]:
        """Return the address of the shadow memory of a region, and the shift of its granules."""
        shift = (granule & -granule).bit_length() - 1
        length = ((size >> shift) + 2) * ENTRY
        memory = mmap.mmap(-1, length)
        seen = (ctypes.c_char * length).from_buffer(memory)
        self._kept += [memory, seen]
        return ctypes.addressof(seen), shift


def table_for(count: int) -> Any:
    """Return a table of regions for a number of arguments."""
    return (ctypes.c_int64 * (len(REGION) * (count + 1) + 1))()


def _set(table: Any, number: int, *region: int) -> None:
    """Set a region in the table."""
    table[len(REGION) * number : len(REGION) * (number + 1)] = region


def _span(array: Array) -> tuple[int, int]:
    """Return the addresses of the first byte of an array, and of the one after its last."""
    itemsize = array.dtype.itemsize
    reach = [(n - 1) * step * itemsize for n, step in zip(array.shape, array.strides, strict=True)]
    first = array.ptr + sum(each for each in reach if each < 0)
    last = array.ptr + sum(each for each in reach if each > 0) + itemsize
    return (first, last) if 0 not in array.shape else (array.ptr, array.ptr)


def race_error(
    program: Program, words: Sequence[int], block: Sequence[int], grid: Sequence[int]
) -> RaceError:
    """Return the error of a race that a thread reported, in a launch of a block and a grid."""
    place = program.places[words[0] - 1]
    thread, within = tuple(words[1:4]), tuple(words[4:7])
    number, its_thread, its_block, access, its_access, axes, *indices = words[RACE_WORD:]
    other = program.places[number - 1]
    other_thread, other_block = _axes(its_thread, block), _axes(its_block, grid)
    index = tuple((indices[2 * k] & 0xFFFFFFFF) | indices[2 * k + 1] << 32 for k in range(axes))
    array = _array(place)
    line = other.source.first_line + getattr(other.node, "lineno", 1) - 1
    code = " ".join(other.source.line(getattr(other.node, "lineno", 1)).split())
    is_near = other_block == within
    where = "" if is_near else f" of block {other_block}"
    what = (
        f"{array}[{', '.join(map(str, index))}] is {_DONE[access]} here by thread {thread} of block"
        f" {within} of kernel {program.name}, and was {_DONE[its_access]} by thread {other_thread}"
        f"{where or ' of the same block'} in line {line}, `{code}`; nothing orders the two"
    )
    error = error_at(place.source, place.node, what, "CPY-RACE-1", _hint(is_near=is_near))
    found = RaceError(error.call, error.what, error.rule, error.hint)
    found.line, found.thread, found.block = error.line, thread, within
    found.array, found.index, found.other_line = array, index, line
    found.other_thread, found.other_block = other_thread, other_block
    return found


def _hint(*, is_near: bool) -> str:
    """Return the fix of a race."""
    if is_near:
        return (
            "call cuda.syncthreads() between the two lines, in the path of all threads, or make"
            " each access atomic, as in cuda.atomic.add()"
        )
    return (
        "make each access atomic, as in cuda.atomic.add(), let each block write elements of its"
        " own, or write two kernels: no barrier orders the blocks of a launch"
    )


def _axes(number: int, extents: Sequence[int]) -> tuple[int, int, int]:
    """Return the indices of a thread or block from its number."""
    x, y, _ = extents
    return number % x, number // x % y, number // (x * y)


def _array(place: Place) -> str:
    """Return the array of an access, as the line writes it."""
    node = place.node
    if isinstance(node, ast.Subscript):
        return ast.unparse(node.value)
    if isinstance(node, ast.Call) and node.args:
        return ast.unparse(node.args[0])
    return "an element"
