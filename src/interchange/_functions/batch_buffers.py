"""Buffers for batches that lie in several record batches, used again when nothing refers to them.

Source: The Arrow C data interface, Release callback semantics, for the lifetime of memory; CUDA
driver API, ``cuMemHostAlloc``.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any, Final

from interchange import _core
from interchange._array import Array
from interchange._array.copy_into import copy_into_part
from interchange._array.empty_arrays import empty_array
from interchange._protocols.dlpack import READ_ONLY
from interchange._types.devices import CPU
from interchange._types.errors import UnsupportedDTypeError
from interchange._types.spec import Spec

if TYPE_CHECKING:
    from collections.abc import Callable

    from interchange._types.devices import Device

_MOST_FREE: Final = 2  # buffers that are kept for the next batches


class Buffers:
    """The memory of batches: new, or that of a batch which is no longer referred to.

    `pinned`: the kind of page-locked memory to use, or None.
    `is_writable`: whether batches may be written to.
    """

    __slots__ = ("__weakref__", "_call", "_free", "_is_writable", "_pinned", "_stream")

    def __init__(self, pinned: Device | None, stream: Any, call: str, *, is_writable: bool) -> None:
        self._pinned = pinned
        self._stream = stream
        self._call = call
        self._is_writable = is_writable
        self._free: list[Any] = []

    def begin(self, rows: int, values: Any) -> Filling:
        """Return an empty batch for a number of rows, of values as the given ones."""
        fits = self._free.pop() if self._free else None
        if fits is None or not _all_alike(fits, values, rows):
            fits = map_arrays(values, lambda array: self._empty(rows, array))
        return Filling(self, fits, rows)

    def _empty(self, rows: int, like: Array) -> Array:
        """Return memory for a number of elements, on the device of the given ones."""
        device = like.device
        if device.is_host_accessible:
            device = CPU if self._pinned is None else self._pinned
        return empty_array((rows, *like.shape[1:]), like.dtype, device, Array, self._call)

    def write(self, target: Array, rows: slice, source: Array) -> None:
        """Copy elements into some rows of a buffer."""
        copy_into_part(target, rows, source, self._stream, self._call)

    def lend(self, memory: Any, rows: int) -> Any:
        """Return the values in a buffer, which is used again after the last reference to them.

        Memory of a device is not used again, since streams may read it after that.
        """
        returned = _Returned(memory, self)
        flags = 0 if self._is_writable else READ_ONLY

        def lend(array: Array) -> Array:
            part = array[:rows]
            if not array.device.is_host_accessible:
                return part
            spec = part._spec
            spec = Spec(spec.dtype, CPU, spec.layout)
            return _core.describe(part.ptr, spec, flags, part._owner, returned, Array)

        return map_arrays(memory, lend)

    def give_back(self, memory: Any) -> None:
        """Keep a buffer for one of the next batches."""
        if len(self._free) < _MOST_FREE:
            self._free.append(memory)


class _Returned:
    """The owner of the memory of a batch: returns it to its buffers at the end."""

    __slots__ = ("_buffers", "_memory")

    def __init__(self, memory: Any, buffers: Buffers) -> None:
        self._memory = memory
        self._buffers = weakref.ref(buffers)

    def __del__(self) -> None:
        buffers = self._buffers()
        if buffers is not None:
            buffers.give_back(self._memory)


class Filling:
    """A batch that is filled part by part."""

    __slots__ = ("_buffers", "_memory", "_rows", "filled")

    def __init__(self, buffers: Buffers, memory: Any, rows: int) -> None:
        self._buffers = buffers
        self._memory = memory
        self._rows = rows
        self.filled = 0  # [rows]

    @property
    def room(self) -> int:
        """How many rows are missing."""
        return self._rows - self.filled

    def add(self, values: Any, rows: int) -> None:
        """Copy some rows behind the others."""
        part = slice(self.filled, self.filled + rows)
        for target, source in zip(arrays_in(self._memory), arrays_in(values), strict=True):
            if target.shape[1:] != source.shape[1:]:
                what = f"lists have the lengths {target.shape[1:]} and {source.shape[1:]}"
                raise UnsupportedDTypeError(self._buffers._call, what, "ARROW-TYPE-1", _UNEVEN)
            self._buffers.write(target, part, source)
        self.filled += rows

    def finish(self) -> Any:
        """Return the values of the batch."""
        memory, self._memory = self._memory, None
        return self._buffers.lend(memory, self.filled)


_UNEVEN: Final = "omit `size=`, or pass `ragged=True`"


# ---------------------------------------------------------------- values of several arrays


def map_arrays(values: Any, change: Callable[[Array], Any]) -> Any:
    """Return values with each Array in dicts and tuples replaced."""
    if isinstance(values, Array):
        return change(values)
    if isinstance(values, dict):
        return {name: map_arrays(value, change) for name, value in values.items()}
    if type(values) is tuple:
        return tuple(map_arrays(value, change) for value in values)
    return values  # a `Meaning`


def arrays_in(values: Any) -> list[Array]:
    """Return the Arrays in dicts and tuples, in order."""
    found: list[Array] = []
    map_arrays(values, found.append)
    return found


def _all_alike(memory: Any, values: Any, rows: int) -> bool:
    """Whether memory has room for exactly some rows of values."""
    pairs = list(zip(arrays_in(memory), arrays_in(values), strict=True))
    return all(
        buffer.shape == (rows, *like.shape[1:]) and buffer.dtype is like.dtype
        for buffer, like in pairs
    )
