"""Allocators of other libraries for device memory: one per device, and how memory is taken of it.

Source: cuda.core, ``MemoryResource.allocate(size, *, stream)`` and ``Buffer``.  The memory goes
back to the allocator when the work on the device is done, as memory of the driver does.
"""

from __future__ import annotations

import contextlib
import inspect
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from interchange._types.errors import ArgumentError, ExchangeError, show
from interchange._types.library import all_names, inherited, library_named
from interchange.abi._records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from interchange._streams.device_driver import Driver
    from interchange._types.devices import Device

chosen: Final[dict[tuple[int, int], Source]] = {}
"""Device type and ordinal -> the allocator that `set_allocator` set."""
_HANDLES: Final = ("handle", "ptr")
_SIZES: Final = ("size", "nbytes")


class AllocationStream:
    """The stream of an allocation, as allocators without a stream type of their own get it.

    `handle`, `ptr`: the handle.
    """

    __slots__ = ("handle", "ptr")

    def __init__(self, handle: int) -> None:
        self.handle = self.ptr = handle

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.handle


class Source(NamedTuple):
    """An allocator, and how it is called, which is found out once."""

    allocator: Any
    wrap: Callable[[int], Any]  # makes the stream that it takes of a handle
    is_named: bool  # whether ``allocate`` takes the stream by name
    # ``deallocate(ptr, size, stream)`` for allocators that return addresses, and whether it takes
    # the stream by name
    deallocate: Callable[..., object] | None
    frees_named: bool

    @classmethod
    def of(cls, allocator: Any) -> Source:
        """Return an allocator that `check_allocator` returned."""
        wrap = inherited(type(allocator), lambda library: library.wrap_stream)
        free = getattr(allocator, "deallocate", None)
        free = free if callable(free) else None
        named = free is not None and _takes_stream(free, is_needed=True)
        return cls(
            allocator,
            AllocationStream if wrap is None else wrap,
            _takes_stream(allocator.allocate, is_needed=True),
            free,
            named,
        )

    def allocate(self, nbytes: int, stream: int) -> Any:
        """Return what the allocator returns; errors of the allocator are not changed."""
        given = self.wrap(stream)
        if self.is_named:
            return self.allocator.allocate(nbytes, stream=given)
        return self.allocator.allocate(nbytes, given)


class _Block:
    """Memory of an allocator that returns addresses."""

    __slots__ = ("_source", "handle", "size")

    def __init__(self, source: Source, handle: int, size: int) -> None:
        self._source = source
        self.handle = handle
        self.size = size

    def close(self, stream: Any) -> None:
        """Return the memory to the allocator, on a stream as it takes them."""
        free: Any = self._source.deallocate
        if self._source.frees_named:
            free(self.handle, self.size, stream=stream)
        else:
            free(self.handle, self.size, stream)


class Held:
    """A buffer of an allocator, until it is given back.

    `buffer`: closed if it can be, and dropped.
    """

    __slots__ = ("_wrap", "buffer")

    def __init__(self, source: Source, buffer: Any) -> None:
        self._wrap = source.wrap
        self.buffer = buffer

    def give_back(self, find_stream: Callable[[], int]) -> None:
        """Close the buffer, after the work on its memory.

        `find_stream`: returns a stream that never captures, for the buffers that take one.
        """
        buffer, self.buffer = self.buffer, None
        close = getattr(buffer, "close", None)
        if not callable(close):
            return
        kind: Any = type(buffer)
        takes_stream, wrap = _closing_of(kind)
        if takes_stream:
            close(stream=(wrap or self._wrap)(find_stream()))
        else:
            close()


@lru_cache(maxsize=64)
def _closing_of(kind: Any) -> tuple[bool, Callable[[int], Any] | None]:
    """Return whether buffers of a type are closed on a stream, and what makes one of a handle."""
    takes_stream = _takes_stream(getattr(kind, "close", None), is_needed=False)
    return takes_stream, inherited(kind, lambda library: library.wrap_stream)


def check_allocator(allocator: Any, device: Device, call: str) -> Any:
    """Return an allocator: the object itself, or the one that its library has.

    Raises ArgumentError: it has no ``allocate``, or no library of that name has an allocator
        (IX-ARGUMENT-1).
    """
    if isinstance(allocator, str):
        names = [name for name in sorted(all_names()) if library_named(name).allocator is not None]
        if allocator not in names:
            hint = f"pass one of {', '.join(map(repr, names))}, or an object with `allocate`"
            raise ArgumentError(call, f"allocator={show(allocator)}", "IX-ARGUMENT-1", hint)
        make = library_named(allocator).allocator
        return make(device) if make is not None else None
    if isinstance(allocator, type) or not callable(getattr(allocator, "allocate", None)):
        hint = "pass an object with a method `allocate`, such as a memory resource of cuda.core"
        raise ArgumentError(call, f"allocator={show(allocator)}", "IX-ARGUMENT-1", hint)
    return allocator


def take_buffer(
    source: Source, driver: Driver, nbytes: int, device: Device, stream: int, call: str
) -> tuple[int, Held]:
    """Return the address of memory of an allocator, and what gives it back.

    `nbytes`: size, at least 1 [bytes].
    `stream`: the stream on which the memory is used first.

    Errors of the allocator are not changed.

    Raises ExchangeError: its memory is on another device, or too small (IX-ALLOCATOR-1); it is
        returned to the allocator.
    """
    with driver.on_device(device.id, call):
        buffer = source.allocate(nbytes, stream)
    if type(buffer) is int and buffer and source.deallocate is not None:
        buffer = _Block(source, buffer, nbytes)
    held = Held(source, buffer)
    try:
        return _check_buffer(buffer, driver, nbytes, device, call), held
    except BaseException:
        with contextlib.suppress(Exception):
            held.give_back(lambda: driver.lasting_stream(device.id, call))
        raise


def _takes_stream(function: Any, *, is_needed: bool) -> bool:
    """Whether a function has a parameter ``stream`` that may be passed by its name.

    `is_needed`: what holds for functions whose parameters are not known.
    """
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):  # of a compiled function: cuda.core's form
        return is_needed
    named = parameters.get("stream")
    if named is not None:
        return named.kind is not named.POSITIONAL_ONLY
    return is_needed and any(one.kind is one.VAR_KEYWORD for one in parameters.values())


def _number(buffer: Any, names: tuple[str, ...]) -> int | None:
    """Return the first of these attributes that is a number."""
    for name in names:
        with contextlib.suppress(AttributeError, TypeError, ValueError):
            return int(getattr(buffer, name))
    return None


def _check_buffer(buffer: Any, driver: Driver, nbytes: int, device: Device, call: str) -> int:
    """Return the address of a buffer, or refuse it (IX-ALLOCATOR-1)."""
    ptr, size = _number(buffer, _HANDLES), _number(buffer, _SIZES)
    if not ptr:
        what = f"the allocator of {device} returned {show(buffer)}"
        hint = "return an object with `handle` or `ptr`, the address, or that as an int if the "
        hint += "allocator has `deallocate`"
        raise ExchangeError(call, what, "IX-ALLOCATOR-1", hint)
    if size is not None and size < nbytes:
        what = f"the allocator of {device} returned {size} bytes for {nbytes}"
        raise ExchangeError(call, what, "IX-ALLOCATOR-1")
    place = driver.pointer_attributes(ptr, call)
    if place is None or (place.type, place.ordinal) != (device.type, device.id):
        where = "an unknown address" if place is None else f"{place.type.name}, {place.ordinal}"
        what = f"the allocator of {device} returned memory at {ptr:#x}: {where}"
        raise ExchangeError(call, what, "IX-ALLOCATOR-1")
    if ptr + nbytes > place.end:
        what = f"the allocator of {device} returned {place.end - ptr} bytes for {nbytes}"
        raise ExchangeError(call, what, "IX-ALLOCATOR-1")
    return ptr
