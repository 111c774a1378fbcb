"""Allocators of other libraries for device memory: one per device, and how memory is taken of it.

Source: cuda.core, ``MemoryResource.allocate(size, *, stream)`` and ``Buffer``.  The memory goes
back to the allocator when the work on the device is done, as memory of the driver does.
"""

from __future__ import annotations

import contextlib
import inspect
from typing import TYPE_CHECKING, Any, Final

from interchange._streams.device_driver import close_buffer
from interchange._types.errors import ArgumentError, ExchangeError, show
from interchange._types.library import all_names, inherited, library_named

if TYPE_CHECKING:
    from interchange._streams.device_driver import Driver
    from interchange._types.devices import Device

chosen: Final[dict[tuple[int, int], Any]] = {}
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
    allocator: Any, driver: Driver, nbytes: int, device: Device, stream: int, call: str
) -> tuple[int, Any]:
    """Return the address of memory of an allocator, and the buffer that owns it.

    `nbytes`: size, at least 1 [bytes].
    `stream`: the stream on which the memory is used first.

    Errors of the allocator are not changed.

    Raises ExchangeError: its memory is on another device, or too small (IX-ALLOCATOR-1); it is
        returned to the allocator.
    """
    with driver.on_device(device.id, call):
        wrap = inherited(type(allocator), lambda library: library.wrap_stream)
        given = AllocationStream(stream) if wrap is None else wrap(stream)
        if _takes_keyword(allocator.allocate):
            buffer = allocator.allocate(nbytes, stream=given)
        else:
            buffer = allocator.allocate(nbytes, given)
    try:
        return _check_buffer(buffer, driver, nbytes, device, call), buffer
    except BaseException:
        close_buffer(buffer)
        raise


def _takes_keyword(allocate: Any) -> bool:
    """Whether ``allocate`` has a parameter ``stream`` that may be passed by its name."""
    try:
        parameters = inspect.signature(allocate).parameters
    except (TypeError, ValueError):  # of a compiled function: cuda.core's form
        return True
    named = parameters.get("stream")
    if named is not None:
        return named.kind is not named.POSITIONAL_ONLY
    return any(one.kind is one.VAR_KEYWORD for one in parameters.values())


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
        hint = "return an object with `handle` or `ptr`, the address"
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
