"""Import from other libraries to `Array`: one function per protocol, and `asarray` for all.

Source: array API standard 2025.12 (``from_dlpack``, ``asarray``); PEP 3118; NumPy array interface.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from interchange import _core
from interchange._array import Array, transfers
from interchange._array.arguments import check_extents
from interchange._protocols import dlpack, host
from interchange._protocols.array_method import import_array_method
from interchange._protocols.capabilities import fast_path
from interchange._protocols.export_guards import is_column, prefers_array_method
from interchange._protocols.protocol_attributes import has_on_type, is_read_once, supports_arrow
from interchange._streams.driver import device_named
from interchange._streams.handles import stream_handle
from interchange._streams.ordering import make_ready, note_ready, ordinal_for
from interchange._streams.pending import PendingWork
from interchange._streams.rules import (
    NO_SYNC,
    check_stream,
    streams_of,
)
from interchange._types.devices import Device, is_index
from interchange._types.dtypes import DType
from interchange._types.errors import (
    SEVERAL_USED_UP,
    ArgumentError,
    InterchangeError,
    NoProtocolError,
    UnsupportedDTypeError,
    show,
)
from interchange._types.layout import Layout
from interchange.abi import PyCapsule
from interchange.abi.dlpack import DLDataTypeCode

from .producer import Producer, check_described
from .record_importing import by_record, by_record_first

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from typing_extensions import CapsuleType

    from interchange._types.typing import AnyArray, AnyDevice, SupportsDLPack

_DLPACK = "from_dlpack()"
_ASARRAY = "asarray()"
HANDLES = DLDataTypeCode.kDLOpaqueHandle


@_core.fast_import(Array, fast_path, _DLPACK)
def from_dlpack(
    x: SupportsDLPack | CapsuleType,
    /,
    *,
    device: AnyDevice | None = None,
    copy: bool | None = None,
    stream: Any = None,
    assume_writable: bool = False,
) -> Array:
    """Import an object with ``__dlpack__``, or a bare capsule of either generation.

    Parameters
    ----------
    x : object
        The producer, or a ``"dltensor"`` or ``"dltensor_versioned"`` capsule, which is consumed.
    device : Device, str, tuple[int, int] or a library's device, optional
        The requested device, such as ``"cpu"``; by default the current one.
    copy : bool, optional
        True: always copy.  False: never, or an error.  None: only if needed.
    stream : None, int or object with ``__cuda_stream__``, optional
        The stream on which the memory will be used.  It is sent to producers with streams, which
        otherwise get the default stream of the standard, and to no others.
    assume_writable : bool, default False
        Treat memory as writable if its producer cannot say (a legacy capsule).

    Returns
    -------
    Array
        Sharing the memory, unless it was copied.

    Raises
    ------
    NoProtocolError
        `x` has no ``__dlpack__``, or its result is not a capsule (DLP-NEG-1, DLP-CAP-3).
    ConsumedCapsuleError
        The capsule was consumed before (DLP-CAP-2).
    ExchangeError
        The capsule's contents break a rule; the memory was released.
    CopyNeededError
        A copy would be needed, and `copy` is False.
    StreamError
        `stream` is not a stream of the producer's device.

    Notes
    -----
    Source: array API standard 2025.12, ``from_dlpack``.  Errors of the producer are not changed.
    The device in the capsule is not verified.

    Examples
    --------
    >>> import numpy as np
    >>> a = from_dlpack(np.arange(6.0).reshape(2, 3))
    >>> a.shape, a.strides, str(a.dtype), a.readonly
    ((2, 3), (3, 1), 'float64', False)
    """
    dlpack.check_copy(copy, _DLPACK)
    target = None if device is None else device_named(device, _DLPACK)
    array = _negotiate(x, target, copy, stream, assume_writable=assume_writable, call=_DLPACK)
    if array._spec.dtype.code is HANDLES and type(x) is not Array:
        _refuse_handles(x, array, _DLPACK)
    return array


def _refuse_handles(x: Any, array: Array, call: str) -> None:
    """Refuse opaque handles; the error keeps those of a capsule, which is consumed."""
    try:
        dlpack.refuse_handles(array, call)
    except InterchangeError as error:
        keep_array(error, x, array)
        raise


def import_dlpack(x: Any, stream: Any, call: str) -> Array:
    """Return the result of `from_dlpack`, with errors in the name of `call`."""
    array = _negotiate(x, None, None, stream, call=call)
    if type(x) is not Array:
        dlpack.refuse_handles(array, call)
    return array


def _negotiate(
    x: Any,
    target: Device | None,
    copy: bool | None,
    stream: Any,
    *,
    assume_writable: bool = False,
    call: str,
) -> Array:
    """Return an Array of a producer or a capsule; errors are in the name of `call`."""
    handle = stream_handle(stream, call)
    described = _described(x, call)
    if described is not None:
        x = described
    if type(x) is Array:
        array = x.__copy__()
    elif type(x) is PyCapsule:
        dlpack.check_capsule(x, target, copy, handle, call)
        array = _core.consume_capsule(x, None, Array, call)
        dlpack.log_capsule(array, None, call)
        note_ready(array, handle, stream, call)
    else:
        try:
            array = dlpack.import_(
                x, Array, device=target, copy=copy, stream=handle, keep=stream, call=call
            )
        except Exception as error:
            dlpack.explain_refusal(x, error, call)
            raise
    try:
        needs_copy = dlpack.check_result(
            array, copy=copy, assume_writable=assume_writable, call=call
        )
        moves = needs_copy or target not in {None, array.device}
        if type(x) is Array and stream is not None and not moves:  # a move orders the work itself
            make_ready(array, handle, stream, call)
        return transfers.place(
            array, target, copy=copy, needs_copy=needs_copy, stream=stream, call=call
        )
    except InterchangeError as error:
        if type(x) is PyCapsule:
            keep_array(error, x, array)
        raise


def _described(x: Any, call: str) -> Array | None:
    """Return the Array of a `Producer`: a capsule of it would hide the owner."""
    if isinstance(x, Producer) and type(x).__dlpack__ is Producer.__dlpack__:
        return check_described(x.__interchange__(), x, call)
    return None


def on_stream(array: Array, handle: int | None, keep: Any, call: str) -> Array:
    """Return an alias of an Array that is ready on a stream, or as before if none is given."""
    alias = array.__copy__()
    if keep is not None:
        make_ready(alias, handle, keep, call)
    return alias


@_core.fast_asarray
def asarray(
    x: AnyArray,
    /,
    *,
    dtype: Any = None,
    device: AnyDevice | None = None,
    copy: bool | None = None,
    stream: Any = None,
    assume_writable: bool = False,
) -> Array:
    """Import `x` by the first of these protocols that it supports; memory is shared, never cast.

    1. an `Array` itself, and an object with ``__interchange__`` (the `Producer` mixin);
    2. DLPack, or a bare capsule; ``__cuda_array_interface__`` is preferred if it is of version 3,
       which publishes pending work;
    3. ``__cuda_array_interface__``, if DLPack refused or is not supported;
    4. ``__array_interface__``, likewise;
    5. Arrow's PyCapsule interface, likewise, as `from_arrow`: a column of data frames, in one chunk
       unless `copy` is True; not tables with ``__array__``, which are arrays of two axes, and of
       pandas only data in Arrow memory;
    6. the buffer protocol, likewise;
    7. ``__array__``, which may copy and replace nulls by NaN: only to share, unless `copy` is True.

    Parameters
    ----------
    x : object
        An array of any library, a buffer or a capsule.
    dtype : dtype-like, optional
        The required element type; elements are not cast.
    device : Device, str, tuple[int, int] or a library's device, optional
        The requested device.
    copy : bool, optional
        True: always copy.  False: never, or an error.  None: only if needed.
    stream : None, int or object with ``__cuda_stream__``, optional
        The stream on which the memory will be used, ordered as by `from_dlpack`, whichever protocol
        `x` supports.
    assume_writable : bool, default False
        Treat memory as writable if its producer cannot say (a legacy capsule).

    Returns
    -------
    Array
        Sharing the memory, unless it was copied.

    Raises
    ------
    NoProtocolError
        `x` supports none of these (IX-PROTOCOL-1).  Lists and numbers have no memory to share:
        `interchange.xp.asarray` makes arrays of them.
    UnsupportedDTypeError
        The elements are not of type `dtype` (IX-CAST-1), or are opaque handles, which are accepted
        only with that `dtype` (DLP-DTYPE-7).
    CopyNeededError
        Only ``__array__`` is supported, and would copy (AI-ARRAY-1); strides of host memory are not
        multiples of the element size (DLP-STRIDES-3, BUF-SUBOFFSETS-1).
    ExchangeError, StreamError
        As `from_dlpack`.

    Notes
    -----
    ``interchange.xp.asarray`` is the function of that name in the array API standard, which casts
    to its `dtype` and accepts numbers.

    Examples
    --------
    >>> asarray(b"abc").tolist()
    [97, 98, 99]
    """
    return import_any(
        x, dtype, device, copy, stream=stream, assume_writable=assume_writable, call=_ASARRAY
    )


_core.serve_c_callers()


def import_any(
    x: Any,
    dtype: Any = None,
    device: Any = None,
    copy: bool | None = None,
    *,
    stream: Any = None,
    assume_writable: bool = False,
    copies: bool | None = None,
    call: str,
) -> Array:
    """Return the result of `asarray`, with errors in the name of `call`.

    With `copies`, memory that no strides describe is copied, too, as is the default if `copy` is
    True.
    """
    dlpack.check_copy(copy, call)
    target = None if device is None else device_named(device, call)
    wanted = None if dtype is None else DType.of(dtype, call)
    handle = stream_handle(stream, call)
    may_copy = copy is True if copies is None else copies
    array, copied = _first_that_works(x, target, copy, call, stream, copies=may_copy)
    try:
        if assume_writable:
            array = array.__copy__()
            dlpack.check_result(array, copy=None, assume_writable=True, call=call)
        if wanted is not None and array.dtype is not wanted:
            raise _other_elements(x, array.dtype, wanted, call)
        if wanted is None and type(x) is not Array and type(x) is not fast_path.kind:
            dlpack.refuse_handles(array, call)
        needs_copy = copy is True and not copied
        moves = needs_copy or (target is not None and target is not array.device)
        if stream is not None and not moves:  # a move orders the work itself
            array = on_stream(array, handle, stream, call)
        return transfers.place(
            array, target, copy=copy, needs_copy=needs_copy, stream=stream, call=call
        )
    except InterchangeError as error:
        keep_array(error, x, array)
        del array  # which the traceback would keep, and an open buffer with it
        raise


def keep_array(error: InterchangeError, x: Any, array: Array) -> None:
    """Raise an error that keeps the Array of a source that can be read once, if `x` is one."""
    if error.taken is None and is_read_once(x):
        raise error._with(array) from error.__cause__


def keep_arrays(
    error: InterchangeError, given: Mapping[Any, Any], taken: Iterable[tuple[Any, Any]]
) -> None:
    """Raise an error that keeps the Arrays of all sources that can be read once, if there are any.

    `taken` has the sources in the order in which they were imported, with their Arrays.
    """
    known = {id(x): array for x, array in taken if is_read_once(x)}
    if error.taken is not None:  # that of the refused source
        late = next((x for x in given.values() if id(x) not in known and is_read_once(x)), None)
        known[id(late)] = error.taken
    if known:
        kept = {name: known.get(id(x), x) for name, x in given.items()}
        by_name = all(isinstance(name, str) for name in kept)
        found = kept if by_name else tuple(kept.values())
        raise error._with(found, SEVERAL_USED_UP) from error.__cause__


def _other_elements(x: Any, found: DType, wanted: DType, call: str) -> UnsupportedDTypeError:
    """Return the error for elements of another type; the fix casts if a cast exists."""
    what = f"{type(x).__name__} has elements of {found}, wanted {wanted}"
    is_cast = found.typestr is not None and wanted.typestr is not None
    loses_half = found.category == "complex floating" != wanted.category
    hint = f"pass `interchange.asarray(x).astype('{wanted}')`, which copies"
    if isinstance(x, (bytes, bytearray)) and wanted.typestr is not None:  # one element per byte
        code = f"interchange.from_buffer(x, dtype='{wanted}')"
        hint = f"pass `{code}`, which reads its bytes as such elements"
    can_cast = is_cast and not loses_half and type(x) is not PyCapsule  # which is consumed by now
    return UnsupportedDTypeError(call, what, "IX-CAST-1", hint if can_cast else None)


def _first_that_works(
    x: Any,
    target: Device | None,
    copy: bool | None,
    call: str,
    stream: Any = None,
    *,
    copies: bool,
) -> tuple[Array, bool]:
    """Return an Array of `x` by the first protocol that it supports, and whether it is a copy."""
    is_plain = target is None and copy is None and stream is None and _core.log is None
    if type(x) is fast_path.kind and is_plain:
        try:
            return from_dlpack(x), False  # type: ignore[arg-type] # of that kind
        except BufferError:  # of its element type
            return host.import_array_interface(x, Array, call, copies=copies), False
    if isinstance(x, Array):
        return x, False  # the caller orders the stream
    if isinstance(x, type):  # which has the methods of its instances
        return import_array_method(x, Array, copy, call), False
    cls: Any = type(x)
    describe = cls.__interchange__ if has_on_type(cls, "__interchange__") else None
    if describe is not None:
        return check_described(describe(x), x, call), False
    found = by_record_first(x, call)
    if found is not None:
        return found, False
    if type(x) is PyCapsule or dlpack.supports_dlpack(x):
        try:
            return _negotiate(x, target, copy, stream, call=call), copy is True
        except BufferError as error:
            _log_refusal(error, call)
            other = _without_dlpack(x, copy, call, stream, copies=copies)
            if other is None and not (copy and is_column(x)):
                raise
    else:
        other = _without_dlpack(x, copy, call, stream, copies=copies)
    return (import_array_method(x, Array, copy, call), False) if other is None else other


def _log_refusal(error: BufferError, call: str) -> None:
    """Log why DLPack was not used."""
    if (log := _core.log) is not None:
        log(call, f"DLPack refused, {type(error).__name__}: {error}", None)


def _without_dlpack(
    x: Any, copy: bool | None, call: str, stream: Any, *, copies: bool
) -> tuple[Array, bool] | None:
    """Return an Array of `x` by another protocol, and whether it is a copy, or None for none."""
    found = by_record(x, call, copies=copies)
    if found is not None:
        return found, found.owner is not x
    if supports_arrow(x) and not prefers_array_method(x):
        from .arrow_asarray import import_column  # rarely needed

        return import_column(x, copy, call, stream)
    try:
        found = host.import_buffer(x, Array, call, copies=copies)
    except NoProtocolError:
        return None
    return found, found.owner is not x


@_core.fast_description
def from_pointer(
    ptr: int,
    shape: tuple[int, ...] | int,
    dtype: Any,
    /,
    *,
    strides: tuple[int, ...] | int | None = None,
    device: AnyDevice = "cpu",
    owner: Any = None,
    readonly: bool | None = None,
    stream: Any = None,
) -> Array:
    """Describe memory at an address, for producers written in Python.

    Parameters
    ----------
    ptr : int
        Address of the first element; ignored for an array without elements.
    shape : tuple[int, ...] or int
        Extent of each axis [elements]; an int for one axis.
    dtype : dtype-like
        Element type: a name, a DType, a NumPy dtype...
    strides : tuple[int, ...] or int, optional
        Step along each axis [elements]; by default C order.
    device : Device, str, tuple[int, int] or a library's device, default "cpu"
        Device of the memory.
    owner : object, optional
        Kept alive as long as the memory is in use.  Without it the caller keeps the memory alive.
    readonly : bool, optional
        Whether the memory is read-only.  By default the flag of an `owner` that is an Array, else
        False.
    stream : None, int or object with ``__cuda_stream__``, optional
        The stream with pending work on the memory, which consumers are made to wait for; None for
        no pending work, and on host memory.

    Returns
    -------
    Array
        Over that memory.  The address is not dereferenced here.

    Raises
    ------
    ArgumentError
        An argument is of another type (IX-ARGUMENT-1, IX-POINTER-1).
    ExchangeError
        The description is invalid for memory (``DLP-SHAPE-*``, DLP-STRIDES-2, DLP-DATA-1).

    Examples
    --------
    >>> import ctypes
    >>> block = (ctypes.c_float * 6)(*range(6))
    >>> a = from_pointer(ctypes.addressof(block), (2, 3), "float32", owner=block)
    >>> a.tolist()
    [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
    """
    call = "from_pointer()"
    if not is_index(ptr) or ptr < 0:
        from interchange._protocols.conversion_hints import address_hint  # for an error only

        raise ArgumentError(call, f"ptr={show(ptr)}", "IX-POINTER-1", address_hint(ptr))
    extents = check_extents(shape, "shape", call)
    steps = None if strides is None else check_extents(strides, "strides", call)
    if steps is not None and len(steps) != len(extents):
        what = f"strides={show(steps)} for shape={show(extents)}"
        hint = f"pass {len(extents)} strides [elements], one for each axis"
        raise ArgumentError(call, what, "IX-POINTER-1", hint)
    where = Device.of(device, call)
    handle = stream_handle(stream, call)
    consumer = None if stream is None else check_stream(handle, streams_of(where) or where, call)
    is_readonly = readonly
    if readonly is None:
        is_readonly = owner.readonly if isinstance(owner, Array) else False
    array = host.describe_memory(
        int(ptr),
        DType.of(dtype, call),
        Layout(extents, steps),
        readonly=bool(is_readonly),
        owner=owner,
        keep=owner,
        cls=Array,
        call=call,
        device=where,
    )
    if is_readonly is None:  # unknown
        array._flags = None
    if consumer is not None and consumer != NO_SYNC:
        array._pending_work = PendingWork(consumer, ordinal_for(where, consumer, call), stream)
    return array
