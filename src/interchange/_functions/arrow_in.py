"""Import of Arrow columns as `Array`: data frames, their columns, and tensors in them.

Source: The Arrow PyCapsule interface; The Arrow C data, stream and device interfaces.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, overload

from interchange import _core
from interchange._array.copyto import check_target
from interchange._types.errors import ArgumentError

from . import arrow_asarray  # noqa: F401 - it provides what the core calls
from .arrow_importing import import_arrow
from .arrow_ragged import ARRAYS
from .arrow_tables import check_columns
from .borrow import import_published

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interchange._array import Array
    from interchange._protocols.arrow.meaning import Meaning
    from interchange._types.typing import AnyArray, AnyColumn, AnyDevice

_CALL: Final = "from_arrow()"


@overload
def from_arrow(
    x: AnyColumn,
    /,
    *,
    nulls: Literal["refuse"] | float = ...,
    storage: bool = ...,
    meaning: Literal[False] = ...,
    device: AnyDevice | None = ...,
    copy: Literal["if_needed"] | bool | None = ...,
    out: AnyArray | None = ...,
    stream: Any = ...,
) -> Array: ...
@overload
def from_arrow(
    x: AnyColumn,
    /,
    *,
    nulls: Literal["separate", "mask"],
    storage: bool = ...,
    meaning: Literal[False] = ...,
    device: AnyDevice | None = ...,
    copy: Literal["if_needed"] | bool | None = ...,
    out: AnyArray | None = ...,
    stream: Any = ...,
) -> tuple[Array, Array]: ...
@overload
def from_arrow(
    x: AnyColumn,
    /,
    *,
    nulls: Literal["refuse"] | float = ...,
    storage: bool = ...,
    meaning: Literal[True],
    device: AnyDevice | None = ...,
    copy: Literal["if_needed"] | bool | None = ...,
    out: AnyArray | None = ...,
    stream: Any = ...,
) -> tuple[Array, Meaning]: ...
@overload
def from_arrow(
    x: AnyColumn,
    /,
    *,
    nulls: Literal["separate", "mask"],
    storage: bool = ...,
    meaning: Literal[True],
    device: AnyDevice | None = ...,
    copy: Literal["if_needed"] | bool | None = ...,
    out: AnyArray | None = ...,
    stream: Any = ...,
) -> tuple[Array, Array, Meaning]: ...
@overload
def from_arrow(
    x: AnyColumn,
    /,
    *,
    columns: Sequence[str] | Literal[True],
    nulls: Literal["refuse", "separate", "mask"] | float = ...,
    storage: bool = ...,
    meaning: bool = ...,
    device: AnyDevice | None = ...,
    copy: Literal["if_needed"] | bool | None = ...,
    stream: Any = ...,
) -> dict[str, Any]: ...
@overload
def from_arrow(
    x: AnyColumn,
    /,
    *,
    columns: Sequence[str] | Literal[True] | None = ...,
    column: str | None = ...,
    axis: Literal[0, 1] | None = ...,
    nulls: Literal["refuse", "separate", "mask"] | float = ...,
    ragged: bool | Literal["arrays"] = ...,
    storage: bool = ...,
    meaning: bool = ...,
    device: AnyDevice | None = ...,
    copy: Literal["if_needed"] | bool | None = ...,
    out: AnyArray | None = ...,
    stream: Any = ...,
) -> Any: ...
@_core.fast_columns
def from_arrow(  # noqa: PLR0913 - the options of an import
    x: AnyColumn,
    /,
    *,
    columns: Sequence[str] | Literal[True] | None = None,
    column: str | None = None,
    axis: Literal[0, 1] | None = None,
    nulls: str | float = "refuse",
    ragged: bool | Literal["arrays"] = False,
    storage: bool = False,
    meaning: bool = False,
    device: AnyDevice | None = None,
    copy: Literal["if_needed"] | bool | None = None,
    out: AnyArray | None = None,
    stream: Any = None,
) -> Any:
    """Import a column of Arrow: of polars, pyarrow, pandas, DuckDB, nanoarrow, cuDF...

    Numbers are shared.  Lists of one length, also nested, become further axes: a column of n lists
    of 768 floats is an array of shape (n, 768).  So do tensors of ``arrow.fixed_shape_tensor``.
    Lists of different lengths are imported with `ragged`.

    Parameters
    ----------
    x : object
        An object with ``__arrow_c_device_array__``, ``__arrow_c_array__``,
        ``__arrow_c_device_stream__`` or ``__arrow_c_stream__``; or capsules: that of a stream, or a
        tuple of those of a schema and an array, which are consumed.  A table of one column is
        treated as that column.
    columns : list of str or True, optional
        The names of the fields to import from a table or a struct column, or True for all.
    column : str, optional
        The name of the only field to import.
    axis : {0, 1}, optional
        With `columns`: stack the fields along this axis of one array, by one copy.  They have equal
        dtypes.  1: an array of rows, (rows, columns), as models take them; 0: (columns, rows),
        where each column is contiguous, and which takes less time, above all on devices.
    nulls : {"refuse", "separate", "mask"} or number
        Whether a column with nulls is refused, or returned as two Arrays, data and mask
        (``"separate"`` or ``"mask"``).  A number replaces nulls, at all levels, in a copy: one that
        the dtype represents; NaN in floats only; True or False in bools.
    ragged : bool or "arrays", default False
        Return lists whose type has no length, and text, as a tuple (values, offsets): list number i
        is ``values[offsets[i]:offsets[i + 1]]``.  A list of lists is ((values, offsets), offsets),
        a list view (values, offsets, sizes), and text its bytes as uint8.  Tensors of
        ``arrow.variable_shape_tensor`` are (values, shapes, offsets), with the shapes in memory.
        ``"arrays"``: a list of an Array for each list or tensor, None for a null one.
    storage : bool, default False
        Import the storage of elements with another meaning: the integers of dates, times and
        durations and decimals, the indices of a dictionary, the storage of an extension type.
        Decimals of 128 and 256 bits have a further axis of int64, the least significant first.
    meaning : bool, default False
        Import the storage, and return what it stands for as the last item: a `Meaning` with unit,
        time zone, categories, scale..., which `to_arrow` accepts.
    device : Device, str, tuple[int, int] or a library's device, optional
        The requested device; by default the current one.
    copy : bool or "if_needed", optional
        True: always copy; several chunks become one array.  False: never, or an error.  None: only
        to convert elements: bools, whose bits become bytes, and nulls that a number replaces.
        ``"if_needed"``: also to join several chunks, or to align elements.
    out : array, optional
        A writable array with the shape and dtype of the data, of any library and in any memory,
        to which they are written, those of several chunks too.
    stream : None, int or object with ``__cuda_stream__``, optional
        The stream on which GPU memory will be used; it waits for the producer's event.

    Returns
    -------
    Array, tuple of Arrays and a Meaning, or dict
        With `columns` a dict of the values by name, in the order requested; a struct below a table
        is such a dict, too.  Else one value, or one of stacked columns; with `ragged` a tuple for
        each list.

        Read-only, since Arrow's memory is immutable, unless it was copied; with `out` an Array of
        its memory.  With ``nulls="separate"`` the data and the mask: bools of the same shape, True
        where there is a value; the data at nulls are unspecified.  A mask may be written to, unless
        it repeats a byte with a stride of 0.

    Raises
    ------
    NoProtocolError
        `x` does not export Arrow data (IX-PROTOCOL-1).
    UnsupportedDTypeError
        The elements have no fixed width, or have another meaning (ARROW-TYPE-1, ARROW-TYPE-2).
    CopyNeededError
        A copy would be needed: of several chunks (ARROW-CHUNK-1), or with `copy` False of bools
        (ARROW-BOOL-1) or of nulls to be filled (ARROW-NULL-3).
    ArgumentError
        The dtype does not represent the number for nulls (ARROW-NULL-3), or `out` has another shape
        or dtype (IX-OUT-1).
    ReadOnlyError
        `out` is read-only, or not known to be writable (DLP-RO-3).
    ExchangeError
        Elements are null (ARROW-NULL-2), a field does not exist, or more than once (ARROW-FIELD-1),
        or fields that are stacked differ (ARROW-FIELD-2), or chunks to be joined have different
        dictionaries (ARROW-TYPE-3); or the data break another rule (``ARROW-*``); the memory was
        released.
    StreamError
        `stream` is not a stream of the producer's device.

    Notes
    -----
    Source: The Arrow PyCapsule interface.  Errors of the producer are not changed.  Lengths of
    buffers are not part of the interface, and are not verified.  Data taken from a stream or a
    capsule, which can be read once, and then refused, is kept by the error as ``taken``: pass it in
    place of `x`.

    Examples
    --------
    .. doctest::
        :skipif: core_name != "native"

        >>> from interchange import asarray, to_arrow
        >>> column = to_arrow(asarray(memoryview(bytes(12)).cast("B", (4, 3))))
        >>> from_arrow(column).shape
        (4, 3)
    """
    if meaning is True and axis is not None:
        what = f"meaning=True and axis={axis}, and each column has a meaning of its own"
        raise ArgumentError(_CALL, what, "IX-ARGUMENT-1", "omit `axis=`, for a dict")
    if (ragged is True or ragged == ARRAYS) and (out is not None or axis is not None):
        word = "out" if out is not None else "axis"
        what = f"ragged={ragged!r} and {word}=, which is for one array"
        raise ArgumentError(_CALL, what, "IX-ARGUMENT-1", f"omit `{word}=`")
    names = check_columns(columns, column, axis, _CALL)
    return import_arrow(
        x,
        columns=names,
        is_single=column is not None,
        axis=axis,
        nulls=nulls,
        ragged=ragged,
        storage=storage,
        meaning=meaning,
        device=device,
        copy=copy,
        out=None if out is None else read_out(out, stream, _CALL),
        stream=stream,
        call=_CALL,
    )


def read_out(out: Any, stream: Any, call: str) -> tuple[Array, bool]:
    """Return the Array of the argument `out`, and whether that is `out` itself.

    Raises ReadOnlyError: it is read-only, or not known to be writable (DLP-RO-3).
    Raises ArgumentError: several of its elements may share memory (IX-OUT-1).
    """
    found = import_published(out, stream, call)
    check_target(found, call, "out", "IX-OUT-1")
    return found, found is out
