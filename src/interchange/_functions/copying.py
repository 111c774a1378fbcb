"""`copyto`: copy elements into memory that the caller has.

Source: NumPy, ``numpy.copyto``; CUDA Array Interface, version 3, Synchronization.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from interchange import _core
from interchange._array import Array
from interchange._array.copyto import check_casting, check_target, copy_to
from interchange._streams.handles import stream_handle
from interchange._streams.ordering import pending_streams_of
from interchange._streams.rules import STREAM_RULES
from interchange._types.errors import InterchangeError

from .borrow import import_published, order_use
from .importing import import_any, keep_arrays

if TYPE_CHECKING:
    from interchange._types.typing import AnyArray

_CALL = "copyto()"


@_core.fast_copies
def copyto(dst: AnyArray, src: AnyArray, *, casting: str = "no", stream: Any = None) -> None:
    """Copy the elements of `src` into the memory of `dst`, as if `src` were copied first.

    Parameters
    ----------
    dst : object
        A writable array of any library, on the host or on a device.
    src : object
        Any object that `asarray` accepts, whose shape broadcasts to that of `dst`.
    casting : {"no", "safe", "same_kind", "unsafe"}
        Which element types of `src` are cast, on the host.  "no": that of `dst` only.  "safe":
        those that the array API standard promotes to that of `dst`.  "same_kind": bools, integers,
        real and complex numbers into the same kind or a later one; values may wrap or be rounded.
        "unsafe": all numbers, but no complex ones into real ones.
    stream : None, int or stream object, optional
        The stream of a copy to or from a device; by default one that work on `src`, or else on
        `dst`, is pending on.

    Raises
    ------
    ReadOnlyError
        `dst` is read-only, or not known to be writable (DLP-RO-3).
    ArgumentError
        The element types differ, and `casting` or the device does not allow the cast (IX-COPY-1);
        the shape of `src` does not broadcast (IX-COPY-2); elements of `dst` share memory
        (IX-COPY-3).
    UnsupportedDeviceError
        Neither the host nor a driver can access both arrays (DLP-DEV-6).
    StreamError
        `stream` is not a stream of the device, or is -1 (``DLP-STREAM-*``).
    ExchangeError
        As `asarray`.

    Notes
    -----
    The core copies host memory, and the driver of the device other memory: no array library is
    used, except that NumPy casts.  A copy on or to a device waits for the work pending on both
    arrays, and the streams on which they were used before wait for the copy; the host does not
    wait, unless it could change or read one of the arrays, or `dst` belongs to a library that named
    no stream.  A copy to the host is complete when the call returns.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.arange(6)
    >>> copyto(x[1:], x[:-1])
    >>> x
    array([0, 0, 1, 2, 3, 4])
    >>> copyto(x[:3], np.array([7], dtype="i2"), casting="safe")
    >>> x
    array([7, 7, 7, 2, 3, 4])
    """
    if casting != "no":
        check_casting(casting, _CALL)
    target = dst if type(dst) is Array else import_published(dst, stream, _CALL)
    taken: list[tuple[Any, Array]] = [(dst, target)]
    try:
        check_target(target, _CALL)
        source = src if type(src) is Array else import_any(src, stream=stream, call=_CALL)
        taken.append((src, source))
        if type(dst) is Array or target.device.type not in STREAM_RULES:
            copy_to(target, source, casting, stream, _CALL)
        else:
            _copy_to_foreign(target, source, casting, stream)
    except InterchangeError as error:
        keep_arrays(error, {"dst": dst, "src": src}, taken)
        raise
    finally:
        taken.clear()  # a traceback keeps this frame


def _copy_to_foreign(target: Array, source: Array, casting: str, stream: Any) -> None:
    """Copy into device memory of a library, whose next use waits for the copy.

    The host waits if the library named no stream.
    """
    if stream is None:
        pending = pending_streams_of(target, _CALL)
        default = STREAM_RULES[target.device.type].default
        stream = pending.streams[-1] if pending.streams else default
    else:
        stream_handle(stream, _CALL)
    with contextlib.ExitStack() as debts:
        view = target.__copy__()
        order_use(target, view, stream, None, debts, _CALL)
        copy_to(view, source, casting, stream, _CALL)
