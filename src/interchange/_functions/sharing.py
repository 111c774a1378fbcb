"""Arrays in several processes of one host, over the same memory: `share` and `open_shared`."""

from __future__ import annotations

import mmap
import os
from typing import TYPE_CHECKING, Any

from interchange import _core
from interchange._array import Array
from interchange._array.host_copies import copy_elements
from interchange._protocols.dlpack import check_copy
from interchange._protocols.sharing.device_memory import open_device, share_device
from interchange._protocols.sharing.files import new_file
from interchange._protocols.sharing.handles import ON_DEVICE, SharedHandle, make_handle
from interchange._protocols.sharing.host_memory import open_host, place_in, share_host
from interchange._protocols.sharing.processes import check_platform
from interchange._protocols.sharing.registry import registry
from interchange._streams.handles import stream_handle
from interchange._streams.ordering import wait_on_host
from interchange._types.devices import CPU
from interchange._types.errors import ArgumentError, ExchangeError, show
from interchange._types.layout import Layout, f_strides
from interchange._types.spec import Spec
from interchange.abi import buffer_address

from .importing import import_any

if TYPE_CHECKING:
    from interchange._types.typing import AnyArray

_COPIED = frozenset({"IX-SHARE-2", "IX-SHARE-7"})
"""Rules for host memory that is shared as a copy."""
_SHARE = "share()"
_OPEN = "open_shared()"


def share(x: AnyArray, /, *, copy: bool | None = None, stream: Any = None) -> SharedHandle:
    """Return a handle of memory, which another process of the host opens with `open_shared`.

    No element is copied, and both processes see each other's writes.

    Parameters
    ----------
    x : object
        An array of any library, or a buffer: whatever `asarray` accepts.  Host memory has to be in
        a file that is mapped as shared memory: an ``mmap``, a ``numpy.memmap``, the buffer of a
        ``multiprocessing.shared_memory.SharedMemory``, a memfd.  Device memory of CUDA has to be an
        allocation of ``cuMemAlloc`` (``cudaMalloc``), or of a pool or virtual memory whose handles
        are file descriptors; or a part of one.
    copy : bool, optional
        True: copy other host memory into a new shared file, once.  By default it is refused.
    stream : None, int or object with ``__cuda_stream__``, optional
        As for `asarray`.  What is pending on device memory now is waited for by openers.

    Returns
    -------
    SharedHandle
        A small object that can be pickled.  It can be opened as long as this process runs and the
        handle, `x`, or an object behind `x` lives, such as the mapping.  The memory of a copy
        belongs to the handle.

    Raises
    ------
    ExchangeError
        The platform is not Linux (IX-SHARE-1); the memory is not in a file that other processes
        can map (IX-SHARE-2), or the file is shorter than its mapping (IX-SHARE-6).
    UnsupportedDeviceError
        The driver has no handle for this memory: page-locked and managed memory, and that of the
        default pools (IX-SHARE-7).
    NoProtocolError
        `x` is not an array, as for `asarray`.

    Notes
    -----
    Memory that another process has opened lives until that process has released it, or ended: it
    does not matter in which order the processes end.  Another user's processes cannot open a
    handle.  A file that is cut while it is mapped ends the processes that read it (SIGBUS), as for
    every mapped file; the size of a copy is fixed.

    Examples
    --------
    >>> import interchange as ix
    >>> from multiprocessing.shared_memory import SharedMemory
    >>> block = SharedMemory(create=True, size=24)
    >>> x = ix.from_buffer(block.buf, dtype="float64", shape=3)
    >>> y = ix.open_shared(ix.share(x))     # usually in another process
    >>> x[1] = 4.0
    >>> y.tolist()
    [0.0, 4.0, 0.0]
    >>> del x, y
    >>> block.close()
    >>> block.unlink()
    """
    check_platform(_SHARE)
    check_copy(copy, _SHARE)
    array = import_any(x, stream=stream, call=_SHARE)
    is_on_host = array.device.is_host_accessible
    try:
        if array.device is not CPU:
            return share_device(array, x, _SHARE)
        return share_host(array, x, _SHARE)
    except ExchangeError as error:
        if copy is not True or not is_on_host or error.rule not in _COPIED:
            raise
    wait_on_host(array, _SHARE)
    return _share_copy(array)


def _share_copy(array: Array) -> SharedHandle:
    """Return a handle of a copy of host memory in a new file, which the handle keeps."""
    order = "F" if array.is_contiguous("F") and not array.is_contiguous("C") else "C"
    layout = Layout(array.shape, f_strides(array.shape) if order == "F" else None)
    spec = Spec(array.dtype, CPU, layout)
    descriptor = new_file(spec.nbytes)
    try:
        block = mmap.mmap(descriptor, spec.nbytes)
        view = memoryview(block)
        target = _core.describe(buffer_address(view), spec, 0, view, view, Array)
        copy_elements(target, array, _SHARE)
    except BaseException:
        os.close(descriptor)
        raise
    known = registry()
    shared = known.add(descriptor, (block,))
    place = place_in(shared, 0, _SHARE)
    handle = make_handle(array.dtype, CPU, layout, place, readonly=array.readonly)
    known.keep(shared.device, shared.inode, (handle,))
    return handle


def open_shared(handle: SharedHandle, /, *, stream: Any = None) -> Array:
    """Return an Array over the memory of a handle, which another process made with `share`.

    Parameters
    ----------
    handle : SharedHandle
        The handle, received from a process of the same user on this host.
    stream : None, int or object with ``__cuda_stream__``, optional
        The stream on which device memory will be used: it waits for what was pending when the
        memory was shared.  Host memory has no streams.

    Returns
    -------
    Array
        Over the same memory, with the shape, strides, element type and read-only flag of the array
        that was shared.  Arrays of one file share one mapping.

    Raises
    ------
    ArgumentError
        `handle` is not a handle (IX-ARGUMENT-1).
    ExchangeError
        The handle is damaged or forged (IX-SHARE-3); its exporter has exited, or does not share the
        memory any more (IX-SHARE-4); it was made on another host or by another user (IX-SHARE-5);
        the file was cut (IX-SHARE-6), or its device is not visible (IX-SHARE-7).

    Notes
    -----
    Device memory is given back when the last Array has gone, after the work on its device.

    Examples
    --------
    >>> import pickle
    >>> import interchange as ix
    >>> handle = ix.share(b"abc", copy=True)
    >>> sent = pickle.dumps(handle)
    >>> ix.open_shared(pickle.loads(sent)).tolist()     # usually in another process
    [97, 98, 99]
    """
    check_platform(_OPEN)
    if not isinstance(handle, SharedHandle):
        hint = "pass the result of `interchange.share(x)`"
        raise ArgumentError(_OPEN, f"handle={show(handle)}", "IX-ARGUMENT-1", hint)
    consumer = stream_handle(stream, _OPEN)
    if handle._place.kind == ON_DEVICE:
        return open_device(handle, Array, consumer, stream, _OPEN)
    return open_host(handle, Array, _OPEN)
