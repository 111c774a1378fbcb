"""Arrays sent to processes of the same host by pickle: as handles, without a copy.

Source: Python, ``multiprocessing.reduction.ForkingPickler``.  Memory that was sent is kept until it
was opened: pickles of multiprocessing are loaded once.
"""

from __future__ import annotations

from typing import Any, Final

from interchange._array import Array
from interchange._array.pickling import reduce_array
from interchange._protocols.sharing.device_memory import open_device
from interchange._protocols.sharing.exporter import current_exporter, exporter, report_taken
from interchange._protocols.sharing.handles import IN_FILE, ON_DEVICE, rebuild_handle
from interchange._protocols.sharing.host_memory import open_host
from interchange._protocols.sharing.registry import registry
from interchange._types.errors import ArgumentError, ExchangeError, show

from .sharing import share

_LOADS: Final = "pickle.loads()"
_LEAST_COPIED: Final = 1 << 20  # size of memory that is copied into a file to be sent [bytes]
_LAST_WAIT: Final = 30.0  # of a process that ends, for memory that was not opened yet [seconds]
_PROTOCOL: Final = 4  # a pickler may use a lower one than 5, which has buffers, and does not say
_is_on: Final = [True]


def shared_by_default(on: bool, /) -> None:
    """Choose whether arrays are sent to processes of the same host without a copy.

    Parameters
    ----------
    on : bool
        True, the initial state: ``multiprocessing`` (queues, pipes, pools, arguments of processes)
        and Dask's workers of one host send Arrays as `share` does.  False: they send the elements.

    Raises
    ------
    ArgumentError
        `on` is not a bool (IX-ARGUMENT-1).

    Notes
    -----
    It holds for what this process sends.  Arrays in shared memory are sent as handles: both
    processes then see each other's writes.  Other arrays of 1 MiB or more are copied into a shared
    file once, and smaller ones are pickled.  A process keeps what it sent until that was opened; at
    its end it waits for 30 s at most.

    Examples
    --------
    >>> import interchange as ix
    >>> ix.shared_by_default(False)
    >>> ix.shared_by_default(True)
    """
    if not isinstance(on, bool):
        hint = "pass True or False"
        raise ArgumentError("shared_by_default()", f"on={show(on)}", "IX-ARGUMENT-1", hint)
    _is_on[0] = on


def reduce_sent(array: Array) -> Any:
    """Return the pickle data of an Array that is sent to a process of the same host."""
    sent = send(array)
    if sent is None:
        return reduce_array(array, _PROTOCOL)
    return open_sent, sent


def send(array: Array) -> tuple[bytes, str, bytes] | None:
    """Return a handle of an array, and where its opener reports, or None if it is not shared.

    The memory is kept until the opener has reported.
    """
    if not _is_on[0] or not array.size:
        return None
    if not array.device.is_host_accessible:
        return _send_device(array)
    try:
        handle = share(array, copy=array.nbytes >= _LEAST_COPIED)
    except ExchangeError:  # other memory, another platform, no file can be made
        return None
    place = handle._place
    known = registry()
    shared = known.find(place.device, place.inode)
    if place.kind != IN_FILE or shared is None:
        return None
    known.references.hold(shared)
    end = exporter()
    token = end.keep_until_opened(lambda: known.references.release(shared))
    return handle._payload, end.name, token


def _send_device(array: Array) -> tuple[bytes, str, bytes] | None:
    """Return the same for device memory; None if its driver has no handle for it."""
    try:
        handle = share(array)
    except ExchangeError:
        return None
    end = exporter()
    held = [array]
    return handle._payload, end.name, end.keep_until_opened(held.clear)


def open_sent(payload: bytes, name: str, token: bytes) -> Array:
    """Return an Array that was sent as a handle, and tell its exporter."""
    handle = rebuild_handle(payload)
    if handle._place.kind == ON_DEVICE:
        array = open_device(handle, Array, None, None, _LOADS)
    else:
        array = open_host(handle, Array, _LOADS)
    report_taken(name, handle.pid, token)
    return array


open_sent.__module__, open_sent.__qualname__ = "interchange", "_open_sent"


def wait_for_openers() -> None:
    """Wait until what was sent has been opened: at the end of a process."""
    end = current_exporter()
    if end is not None:
        end.wait_until_opened(_LAST_WAIT)
