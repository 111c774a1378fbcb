"""`empty` and `set_allocator`: new memory on any device, of the driver or of a memory pool.

Source: array API standard 2025.12, ``empty``; cuda.core, ``MemoryResource``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from interchange._array import Array
from interchange._array.allocators import Source, check_allocator, chosen
from interchange._array.arguments import check_extents
from interchange._array.copies import COPIED_BY_DRIVERS, HOST_KINDS
from interchange._array.copy_into import check_copy_stream
from interchange._array.empty_arrays import empty_array
from interchange._array.host_copies import check_named
from interchange._streams.driver import device_named
from interchange._streams.pending import PendingWork
from interchange._types.devices import CPU, Device
from interchange._types.dtypes import DType
from interchange._types.errors import (
    ArgumentError,
    UnsupportedDeviceError,
    UnsupportedDTypeError,
    error_for,
    show,
)
from interchange._types.layout import problem

if TYPE_CHECKING:
    from interchange._types.typing import AnyDevice

_EMPTY = "empty()"
_SET = "set_allocator()"


def empty(
    shape: int | tuple[int, ...],
    dtype: Any,
    *,
    device: AnyDevice = "cpu",
    allocator: Any = None,
    stream: Any = None,
) -> Array:
    """Return a writable Array in C order whose elements are not set.

    Parameters
    ----------
    shape : int or tuple[int, ...]
        The extents [elements].
    dtype : dtype-like
        The element type.
    device : Device, str, tuple[int, int] or a library's device, default "cpu"
        ``"cuda:1"``, a device; ``"cuda"``, the current one; ``"cuda_host"``, page-locked memory
        that every device maps; ``"cuda_managed"``, managed memory; and likewise for ROCm.
    allocator : object or str, optional
        As for `set_allocator`, for this memory only.
    stream : None, int or stream object, optional
        The stream on which the memory of a device is used first.  The Array is ready on it.

    Raises
    ------
    ArgumentError
        The shape has negative extents, or `allocator` is none (IX-ARGUMENT-1).
    UnsupportedDTypeError
        Elements are packed or handles (DLP-DTYPE-5).
    UnsupportedDeviceError
        No driver allocates memory on the device (DLP-DEV-6).
    DriverUnavailableError
        The driver of the device is not installed (IX-DRIVER-1).
    ExchangeError
        There is no device of that number (IX-DRIVER-2), or the allocator returned other memory
        (IX-ALLOCATOR-1).
    OutOfDeviceMemoryError
        The device has too little free memory (IX-DRIVER-4).

    Notes
    -----
    Errors of an allocator are not changed.  ``interchange.xp.empty`` is the function of that name
    in the array API standard, whose arrays a library makes.

    Examples
    --------
    >>> x = empty((2, 3), "float32")
    >>> x.shape, x.device, x.readonly
    ((2, 3), Device('cpu'), False)
    """
    sizes, elements = check_extents(shape, "shape", _EMPTY), DType.of(dtype, _EMPTY)
    if elements.is_packed or elements.category is None:
        raise UnsupportedDTypeError(_EMPTY, f"dtype={elements}", "DLP-DTYPE-5")
    found = problem(sizes, None, elements.itemsize)
    if found is not None:
        raise error_for(_EMPTY, *found)
    place = device_named(device, _EMPTY)
    is_device = place.type in COPIED_BY_DRIVERS
    if place is not CPU and not is_device and place.type not in HOST_KINDS:
        raise UnsupportedDeviceError(_EMPTY, f"memory on {place}", "DLP-DEV-6")
    if allocator is not None and not is_device:
        what = f"allocator={show(allocator)} on {place}"
        raise ArgumentError(_EMPTY, what, "IX-ARGUMENT-1", "omit it, or pass a device with a pool")
    if allocator is not None:
        allocator = check_allocator(allocator, place, _EMPTY)
    handle = (check_copy_stream if is_device else check_named)(stream, place, _EMPTY)
    array = empty_array(sizes, elements, place, Array, _EMPTY, allocator=allocator, stream=handle)
    if is_device and handle is not None and array.size:
        array._pending_work = PendingWork(handle, place.id, stream)
    return array


def set_allocator(device: AnyDevice, allocator: Any, /) -> Any:
    """Set what allocates the memory of copies and of `empty` on a device.

    Parameters
    ----------
    device : Device, str or tuple[int, int]
        The device, such as ``"cuda:0"``.
    allocator : object, str or None
        An object with ``allocate(size, *, stream)``, or with the stream by position, which returns
        a buffer with its address as ``handle`` or ``ptr``, such as a ``MemoryResource`` of
        cuda.core, or the address itself, if it has ``deallocate(ptr, size, *, stream)``, such as
        a memory resource of RMM; ``"torch"`` or ``"cupy"``, the memory pool of that library;
        ``"rmm"``, the current memory resource of RMM.  None: the driver.

    Returns
    -------
    object or None
        The allocator before.

    Raises
    ------
    ArgumentError
        `allocator` is none of these (IX-ARGUMENT-1).
    UnsupportedDeviceError
        The memory of the device is not copied by a driver (DLP-DEV-6).

    Notes
    -----
    A buffer is closed with its ``close()``, if it has one, and dropped when no Array refers to it
    and the work on the device is done, for which the host waits.  ``deallocate``, and a ``close``
    that takes ``stream``, get a stream that never captures.  Errors of ``allocate`` are not
    changed.

    Examples
    --------
    >>> class Pool:
    ...     def allocate(self, size, *, stream): ...
    >>> set_allocator("cuda:0", Pool())
    >>> type(set_allocator("cuda:0", None)).__name__
    'Pool'
    """
    place = Device.of(device, _SET)
    if place.type not in COPIED_BY_DRIVERS:
        raise UnsupportedDeviceError(_SET, f"device={place}", "DLP-DEV-6", "pass 'cuda:0'")
    key = place.type, place.id
    if allocator is None:
        before = chosen.pop(key, None)
    else:
        found = Source.of(check_allocator(allocator, place, _SET))
        before, chosen[key] = chosen.get(key), found
    return None if before is None else before.allocator
