"""Import of host memory by the buffer protocol and NumPy's array interface.

Source: PEP 3118; NumPy array interface, version 3.
"""

from __future__ import annotations

import sys
from math import prod
from operator import index as as_index
from typing import TYPE_CHECKING, Any, Final

from interchange._array import Array
from interchange._array.arguments import check_extents
from interchange._array.dtype_views import check_aligned, width_of
from interchange._core import fast_description
from interchange._protocols import host
from interchange._protocols.protocol_attributes import attribute, is_mapping
from interchange._types.dtypes import DType
from interchange._types.errors import (
    ArgumentError,
    ExchangeError,
    ReadOnlyError,
    UnsupportedDTypeError,
    ViewError,
    show,
)
from interchange._types.indices import is_bool
from interchange._types.layout import Layout
from interchange.abi import buffer_address

if TYPE_CHECKING:
    from collections.abc import Mapping

    from typing_extensions import Buffer

    from interchange._types.typing import SupportsArrayInterface

_FROM_BUFFER: Final = "from_buffer()"
_FOREIGN: Final = ">" if sys.byteorder == "little" else "<"


@fast_description
def from_buffer(
    x: Buffer,
    /,
    dtype: Any = None,
    *,
    shape: tuple[int, ...] | int | None = None,
    offset: int = 0,
    readonly: bool | None = None,
) -> Array:
    """Import an object with the buffer protocol: bytes, bytearray, array.array, memoryview, mmap...

    Without `dtype`, `shape` and `offset` the elements are those of the buffer, in any layout. With
    any of these its bytes are reinterpreted, in C order: those of a mapped file, of shared memory,
    of an Arrow buffer or of a message.

    Parameters
    ----------
    x : object
        Any object that ``memoryview(x)`` accepts.
    dtype : dtype-like, optional
        The element type to reinterpret the bytes as; by default that of the buffer.
    shape : tuple[int, ...] or int, optional
        Extent of each axis [elements]; one of them may be -1.  By default one axis with as many
        elements as there are.
    offset : int, default 0
        Offset of the first element from the start of the buffer [bytes].
    readonly : bool, optional
        True: read-only, whatever the buffer's flag.  False: writable, or an error.

    Returns
    -------
    Array
        Sharing the memory; read-only if the buffer is.

    Raises
    ------
    NoProtocolError
        `x` exports no buffer (BUF-1).
    ExchangeError
        The buffer has suboffsets, structured or foreign elements, or strides that are not multiples
        of the element size (BUF-SUBOFFSETS-1, BUF-FORMAT-1, DLP-STRIDES-3); it is not contiguous,
        and is to be reinterpreted (IX-BUFFER-2).
    ViewError
        The elements do not fit into the buffer (IX-BUFFER-1), or the reinterpreted bytes are not
        aligned (IX-VIEW-2).
    ReadOnlyError
        `readonly` is False, and the buffer is read-only (DLP-RO-3).

    Notes
    -----
    Source: PEP 3118.

    Examples
    --------
    >>> import array
    >>> from_buffer(array.array("h", [1, 2, 3])).dtype
    DType('int16')
    >>> from_buffer(bytearray(20), dtype="bfloat16", shape=(2, -1), offset=8).shape
    (2, 3)
    """
    call = _FROM_BUFFER
    if readonly is not None and not isinstance(readonly, bool):
        raise ArgumentError(call, f"readonly={show(readonly)}", "IX-ARGUMENT-1", "pass a bool")
    start = _check_offset(offset)
    wanted = None if dtype is None else _element(dtype, start)
    extents = None if shape is None else check_extents(shape, "shape", call)
    view = host.open_buffer(x, call, wanted)
    try:
        is_readonly = _decide_readonly(readonly, is_readonly=view.readonly)
        if wanted is None and extents is None and not start:
            return host.describe_buffer(view, x, Array, call, readonly=is_readonly)
        return _reinterpret(view, x, wanted, extents, start, readonly=is_readonly)
    except BaseException:
        view.release()  # which the traceback would keep open, and its owner with it
        raise


def _reinterpret(
    view: memoryview,
    x: Any,
    wanted: DType | None,
    extents: tuple[int, ...] | None,
    offset: int,
    *,
    readonly: bool,
) -> Array:
    """Return an Array of the bytes of a buffer of `x`, from an offset on [bytes]."""
    call = _FROM_BUFFER
    if not view.c_contiguous:
        what = f"the buffer has shape {view.shape} with strides {view.strides} [bytes]"
        raise ExchangeError(call, what, "IX-BUFFER-2")
    element = host.element_of(view, x, call) if wanted is None else wanted
    try:
        layout = Layout(_extents_within(view.nbytes, offset, element, extents))
    except ViewError as error:
        if not (view.format or "").startswith("&"):
            raise
        from interchange._protocols.element_hints import pointer_hint  # for an error only

        raise error._but(call, pointer_hint(x).replace("pass", "use", 1)) from None
    ptr = buffer_address(view) + offset
    if layout.size:
        part = f"bytearray(x)[{offset}:]" if offset else "bytearray(x)"
        code = f"interchange.from_buffer({part}, dtype={element.name!r}, shape={layout.shape})"
        check_aligned(ptr, element, call, f"use `{code}`, which copies")
    return host.describe_memory(
        ptr, element, layout, readonly=readonly, owner=x, keep=view, cls=Array, call=call
    )


def _element(dtype: Any, offset: int) -> DType:
    """Return a type to read bytes at an offset as [bytes]; NumPy is the fix for swapped bytes."""
    try:
        return DType.of(dtype, _FROM_BUFFER)
    except UnsupportedDTypeError as error:
        text = dtype if isinstance(dtype, str) else getattr(dtype, "str", "")
        if text[:1] != _FOREIGN or not _is_known(f"={text[1:]}"):
            raise
        start = f", offset={offset}" if offset else ""
        swapped = f"np.frombuffer(x, {text!r}{start}).astype({'=' + text[1:]!r})"
        hint = f"swap the bytes with NumPy, `{swapped}`, which copies them"
        raise UnsupportedDTypeError(_FROM_BUFFER, error.what, error.rule, hint) from None


def _is_known(typestr: str) -> bool:
    """Return whether a typestr names a known type."""
    try:
        DType.of(typestr)
    except UnsupportedDTypeError:
        return False
    return True


def _check_offset(offset: Any) -> int:
    """Return an offset that is an int [bytes]."""
    if is_bool(offset) or not hasattr(type(offset), "__index__"):
        what = f"offset={show(offset)} is no int"
        raise ArgumentError(_FROM_BUFFER, what, "IX-ARGUMENT-1", "pass a number of bytes")
    return as_index(offset)


def _decide_readonly(said: bool | None, *, is_readonly: bool) -> bool:
    """Return whether the memory is read-only, or refuse to mark it writable."""
    if said is False and is_readonly:
        hint = "leave readonly out, or pass a copy, `bytearray(x)`"
        raise ReadOnlyError(_FROM_BUFFER, "readonly=False of read-only memory", "DLP-RO-3", hint)
    return is_readonly if said is None else said


def _extents_within(
    nbytes: int, offset: int, element: DType, shape: tuple[int, ...] | None
) -> tuple[int, ...]:
    """Return the extents of elements that fit into a buffer, with -1 replaced.

    `offset`: offset of the first element [bytes].
    `shape`: the requested extents [elements]; None for one axis of all elements.
    """
    wanted = (-1,) if shape is None else shape
    known = prod(extent for extent in wanted if extent != -1)
    size, room = width_of(element), 8 * (nbytes - offset)  # [bits]
    shown = "" if shape is None else f"shape={show(shape)} of "
    what = f"{shown}{element} at offset={show(offset)} in {nbytes} bytes"
    is_shape = min(wanted, default=0) >= -1 and wanted.count(-1) <= 1
    if is_shape and 0 <= offset <= nbytes:
        if -1 not in wanted and known * size <= room:
            return wanted
        if -1 in wanted and known and not room % (known * size):
            return tuple(room // (known * size) if extent == -1 else extent for extent in wanted)
        what += f", which are {nbytes - offset} from there on" if offset else ""
    raise ViewError(_FROM_BUFFER, what, "IX-BUFFER-1", _way_to_fit(nbytes, offset, size, wanted))


def _way_to_fit(nbytes: int, offset: int, size: int, shape: tuple[int, ...]) -> str:
    """Return the fix for an offset and a shape that do not fit a buffer.

    `offset`: offset of the first element [bytes].
    `size`: distance from one element to the next [bits].
    """
    if not 0 <= offset <= nbytes:
        return f"pass an offset from 0 to {nbytes}, counted in bytes"
    if min(shape, default=0) < -1 or shape.count(-1) > 1:
        return "pass extents of 0 or more, and -1 for one of them at most"
    whole = 8 * (nbytes - offset) // size
    if not whole:
        return "begin earlier, or take elements of fewer bytes"
    known = prod(extent for extent in shape if extent != -1)
    if not known:
        return "pass the extent instead of -1"
    if -1 not in shape or known > whole:
        return f"pass `shape={whole}`, or another shape of as many elements at most"
    fitting = tuple(whole // known if extent == -1 else extent for extent in shape)
    return f"pass `shape={fitting}`, which ignores the bytes at the end"


def from_array_interface(
    x: SupportsArrayInterface | Mapping[str, Any], /, *, owner: Any = None
) -> Array:
    """Import an object with NumPy's ``__array_interface__``, or the dict itself.

    Parameters
    ----------
    x : object or dict
        Its record may refer to memory by address, or hold an object with a buffer.
    owner : object, optional
        The owner of the memory; by default `x` itself.  A dict with an address owns nothing: name
        the owner, or keep it alive yourself.

    Returns
    -------
    Array
        Sharing the memory; `x` and `owner` are kept alive.

    Raises
    ------
    NoProtocolError
        `x` has no such attribute (AI-1).
    ExchangeError
        The record is malformed, masked, structured or of foreign byte order (``CAI-*``,
        AI-MASK-1, AI-DESCR-1, DLP-DTYPE-3).

    Notes
    -----
    Source: NumPy array interface, version 3.

    Examples
    --------
    >>> import numpy as np
    >>> from_array_interface(np.zeros((2, 3), "f4")).shape
    (2, 3)
    >>> memory = np.arange(6, dtype="i2")
    >>> record = {**memory.__array_interface__, "shape": (2, 3)}
    >>> from_array_interface(record, owner=memory).tolist()
    [[0, 1, 2], [3, 4, 5]]
    """
    call = "from_array_interface()"
    if not is_mapping(x) or attribute(x, "__array_interface__") is not None:
        return host.import_array_interface(x, Array, call, owner=owner)
    record = dict(x)
    return host.import_array_interface(None, Array, call, raw=record, owner=owner)
