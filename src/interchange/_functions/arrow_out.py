"""Export of arrays as Arrow columns, for pyarrow, polars, DuckDB, nanoarrow and others.

Source: The Arrow PyCapsule interface; The Arrow C data, stream and device interfaces.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from interchange import _core
from interchange._protocols.arrow.exporting import check_keywords, column_of, field_of
from interchange._protocols.arrow.representations import bits_of, convert, field_in, negotiate
from interchange._protocols.host import check_host
from interchange._streams.events import recorded_event_of
from interchange._streams.ordering import wait_on_host
from interchange._types.devices import CPU
from interchange._types.errors import ArgumentError, ExchangeError, show
from interchange.abi.arrow import ARROW_ARRAY, ARROW_DEVICE_ARRAY
from interchange.abi.arrow_formats import parse_format

from .arrow_building import CALL, Builder, Options, check_name

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Literal, TypeAlias

    from typing_extensions import CapsuleType

    from interchange._array import Array
    from interchange._core import ArrowOwner
    from interchange._types.typing import AnyArray, AnyColumns
    from interchange.abi.arrow import ArrowColumn, ArrowField

    AnyMask: TypeAlias = AnyArray | Mapping[str, Any] | tuple[Any, Any]

_plain_column: Final = _core.plain_column  # found once: a module is slow in `_core.__getattr__`
_export_plain: Final = _core.export_plain
_KINDS: Final = ("column", "tensor")
_BOOLS: Final = (None, "bits", "bytes")
_HOST: Final = (int(CPU.type), -1, 0)
"""Device type and id of plain host memory, as Arrow's libraries write them, and no event."""


class ArrowExport:
    """An array, or a table of arrays, with the methods of Arrow; made by `to_arrow`.

    The consumer of a capsule shares the memory, which is kept alive until the consumer releases it.
    """

    __slots__ = ("_arrays", "_bools", "_field", "_kind", "_memory", "_target", "_type")

    def __init__(
        self,
        arrays: tuple[Array, ...],
        field: ArrowField,
        kind: str,
        type_: ArrowOwner | None = None,
        *,
        memory: ArrowColumn | None = None,
        target: ArrowField | None = None,
        bools: str | None = None,
    ) -> None:
        self._arrays = arrays
        self._field = field
        self._kind = kind
        self._type = type_  # the field as a struct, for a plain column
        self._memory = memory  # None for a plain column
        self._target = target or field  # the type that is exported without a request
        self._bools = bools

    def __repr__(self) -> str:
        """Return a description of the contents."""
        field = self._field
        if field.format == "+s":
            names = ", ".join(repr(child.name) for child in field.children)
            return f"ArrowExport(a table of {names or 'no columns'})"
        if field.format[:2] in _OTHERS:
            names = " of ".join(_names_of(field))
            return f"ArrowExport({names}, {self._described().length} rows)"
        array, stored = self._arrays[0], _names_of(field)[-1]
        elements = stored if "[" in stored and not field.metadata else array.dtype
        return f"ArrowExport({elements} {array.shape}, kind={self._kind!r})"

    # ------------------------------------------------------------ the protocol

    def __arrow_c_schema__(self) -> CapsuleType:
        """Return a capsule of the type that is exported without a request."""
        found: CapsuleType = _core.make_arrow_schema(self._target)
        return found

    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[CapsuleType, CapsuleType]:
        """Return capsules of the type and of host-accessible memory.

        Raises
        ------
        UnsupportedDeviceError
            The memory is on a device (DLP-DEV-6).
        """
        if requested_schema is None and self._type is not None:
            plain = _export_plain(self._arrays[0], self._type, ARROW_ARRAY)
            if plain is not None:
                return plain
        keep = self._ready_on_host("__arrow_c_array__()")
        found: tuple[CapsuleType, CapsuleType] = _core.make_arrow(
            *self._exported(requested_schema, keep), None
        )
        return found

    def __arrow_c_stream__(self, requested_schema: Any = None) -> CapsuleType:
        """Return a capsule of a stream of one chunk, as `__arrow_c_array__`."""
        keep = self._ready_on_host("__arrow_c_stream__()")
        found: CapsuleType = _core.make_arrow_stream(*self._exported(requested_schema, keep), None)
        return found

    def __arrow_c_device_array__(
        self, requested_schema: Any = None, **unknown: Any
    ) -> tuple[CapsuleType, CapsuleType]:
        """Return capsules of the type and of the memory on its device, with an event to wait for.

        Raises
        ------
        NotImplementedError
            A keyword is unknown, and not None (ARROW-METHOD-3).
        """
        if requested_schema is None and not unknown and self._type is not None:
            plain = _export_plain(self._arrays[0], self._type, ARROW_DEVICE_ARRAY)
            if plain is not None:
                return plain
        check_keywords(unknown)
        keep, device = self._ready_on_device("__arrow_c_device_array__()")
        found: tuple[CapsuleType, CapsuleType] = _core.make_arrow(
            *self._exported(requested_schema, keep), device
        )
        return found

    def __arrow_c_device_stream__(
        self, requested_schema: Any = None, **unknown: Any
    ) -> CapsuleType:
        """Return a capsule of a stream of one chunk, as `__arrow_c_device_array__`."""
        check_keywords(unknown)
        keep, device = self._ready_on_device("__arrow_c_device_stream__()")
        exported = self._exported(requested_schema, keep)
        found: CapsuleType = _core.make_arrow_stream(*exported, device)
        return found

    # ------------------------------------------------------------ parts

    def _exported(self, requested: Any, keep: Any) -> tuple[ArrowField, ArrowColumn, Any]:
        """Return type, memory and owner for a consumer, which may request a representation."""
        target = self._target
        if requested is not None:
            wanted = self._read_request(requested)
            if all(array.device is CPU for array in self._arrays):
                target = negotiate(self._field, wanted, self._bools)
        return self._converted(target, keep)

    def _converted(self, target: ArrowField, keep: Any) -> tuple[ArrowField, ArrowColumn, Any]:
        """Return type, memory and owner in a negotiated type."""
        memory = self._described()
        if target is self._field:
            return target, memory, keep
        made: list[Any] = []
        field, memory = convert(self._field, memory, target, made)
        return field, memory, (keep, made)

    def _described(self) -> ArrowColumn:
        """Return the memory."""
        return self._memory or column_of(self._arrays[0], self._field)

    def _ready_on_host(self, call: str) -> Any:
        """Return the owner of the memory, once the host may read it."""
        for array in self._arrays:
            check_host(array, call)
            wait_on_host(array, call)
        self._log(call)
        return tuple(array._keepalive for array in self._arrays)

    def _log(self, call: str) -> None:
        """Log an export."""
        if (log := _core.log) is not None:
            for array in self._arrays:
                log(call, "exported: not copied", array)

    def _ready_on_device(self, call: str) -> tuple[Any, tuple[int, int, int]]:
        """Return the owner of memory and event, and the device of the memory."""
        if not self._arrays:
            return None, _HOST
        self._log(call)
        event = recorded_event_of(self._arrays, call)
        keep = (*(array._keepalive for array in self._arrays), event)
        device = self._arrays[0].device
        place = _HOST[:2] if device is CPU else (int(device.type), device.id)
        return keep, (*place, 0 if event is None else event.address)

    def _read_request(self, requested: Any) -> ArrowField:
        """Return a requested type; refuse one that is incompatible (ARROW-METHOD-2)."""
        wanted = field_in(requested, "requested_schema", CALL)
        count = len(self._field.children)
        if self._field.format == "+s" and len(wanted.children) != count:
            what = f"a schema of {len(wanted.children)} fields was requested"
            raise ExchangeError(CALL, what, "ARROW-METHOD-2", f"request {count}")
        return wanted


ArrowExport.__module__ = "interchange"


def _names_of(field: ArrowField) -> list[str]:
    """Return the names of the types of all levels of lists."""
    name = parse_format(field.format).name
    return [name, *_names_of(field.children[0])] if len(field.children) == 1 else [name]


def refuse_without_native() -> None:
    """Refuse exports in the ctypes core (ARROW-CORE-1)."""
    if _core.core_name == "ctypes":
        from interchange._core._arrow import refuse_exports

        raise refuse_exports()


def to_arrow(
    x: AnyColumns,
    /,
    *,
    kind: str = "column",
    name: str | None = None,
    mask: AnyMask | None = None,
    nullable: bool | Mapping[str, bool] | None = None,
    metadata: Mapping[Any, Any] | None = None,
    bools: Literal["bits", "bytes"] | None = None,
    meaning: Any = None,
) -> ArrowExport:
    """Export an array as a column of Arrow, or several by name as a table.

    The first axis counts the elements of the column.  Memory is shared, except bools, of which
    Arrow stores eight in a byte.

    Parameters
    ----------
    x : object, mapping, tuple or list
        An array of any library, on the host or a device.  A dict by name for a table, whose columns
        have the same number of elements and are on the same device; it may have dicts as columns.
        ``(values, offsets)`` for lists of any length, and ``(values, offsets, sizes)`` for views of
        lists, as `from_arrow` returns them; values may be such a tuple again.  A list of arrays,
        which are copied into one column of lists, or of tensors of any shape.
    kind : {"column", "tensor"}
        How further axes are exported: as fixed-size lists, nested for several axes; or as tensors
        of ``arrow.fixed_shape_tensor``, whose axes may have any order in memory; a list of arrays
        as ``arrow.variable_shape_tensor``.
    name : str, optional
        Name of the column, which consumers such as Polars keep.
    mask : object, optional
        Bools of any library, True where there is a value, as `from_arrow` returns them; the mask of
        ``pyarrow.array`` has the opposite meaning.  One for each row; or one for each element,
        which makes nulls in lists, unless it repeats that of a row with strides of 0.  A dict by
        column for a table; ``(mask of values, mask of rows)`` for lists of any length.
    nullable : bool or dict of bools, optional
        Whether the field may have nulls, True by default; False refuses nulls.  A bool for a table
        holds for all its columns.
    metadata : dict, optional
        Metadata of the field, with keys and values of str or bytes; for a table, values that are
        dicts belong to the column of that name.
    bools : {"bits", "bytes"}, optional
        How bools are exported: as bits, which is a copy; or as bytes of ``arrow.bool8``, which are
        shared, and which few operations of other libraries accept.  By default as bits, unless the
        consumer requests bytes, or the memory is on a device.
    meaning : Meaning, type or dict, optional
        What the numbers stand for: the `Meaning` that `from_arrow` returned, or a type or a field
        of Arrow.  The column has this type, and by default its name, flags and metadata; lists of
        one length are exported as the type states.  For values and offsets, the meaning of the
        values.  A dict by column for a table.

    Returns
    -------
    ArrowExport
        An object with the five methods of Arrow's PyCapsule interface: pass it to
        ``pyarrow.array``, ``polars.Series``, ``nanoarrow.Array``...; tables to ``pyarrow.table``,
        ``polars.DataFrame``, DuckDB...

    Raises
    ------
    BackendUnavailableError
        The ctypes core is in use, whose capsules no consumer could release (ARROW-CORE-1).
    UnsupportedDTypeError
        Arrow has no type for the elements (ARROW-OUT-1), or masks or offsets have another dtype
        (ARROW-OUT-4, ARROW-OUT-6).
    ViewError
        No axis counts the elements (ARROW-OUT-1), columns differ in length (ARROW-OUT-3), a mask
        has another shape (ARROW-OUT-4), or the arrays of a list differ in type (ARROW-OUT-7).
    ExchangeError
        There are nulls, and `nullable` is False (ARROW-OUT-5), or offsets are invalid
        (ARROW-OFFSET-1, ARROW-OFFSET-2, ARROW-LENGTH-2).
    CopyNeededError
        The elements are not contiguous (ARROW-OUT-2), or not aligned to their size
        (ARROW-BUFFER-2).

    Notes
    -----
    Source: The Arrow PyCapsule interface.  Consumers treat Arrow's memory as immutable: do not
    write to an array after it was exported (ARROW-RO-1).  Capsules are made by the native core.  A
    consumer may request another representation of the same data: bits or bytes of bools, lists of
    one length or with offsets of 32 or 64 bits, a name, a flag.

    Of NumPy, ``datetime64`` and ``timedelta64`` become timestamps and durations, NaT a null; days
    are copied to ``date32``.  Bytes of fixed width ("S") become fixed-size binary, with their
    padding.  Records become structs, each field of which is copied.  bfloat16 and the types of
    float8 become fixed-size binary in an extension type of their name.

    Examples
    --------
    .. doctest::
        :skipif: core_name != "native"

        >>> from interchange import asarray
        >>> rows = asarray(memoryview(bytes(12)).cast("B", (4, 3)))
        >>> to_arrow(rows)
        ArrowExport(uint8 (4, 3), kind='column')
        >>> to_arrow({"label": rows[:, 0].copy(), "embedding": rows})
        ArrowExport(a table of 'label', 'embedding')
        >>> to_arrow((rows, asarray(memoryview(bytes(12)).cast("i"))))
        ArrowExport(list of fixed_size_list[3] of uint8, 2 rows)
    """
    refuse_without_native()
    if kind not in _KINDS:
        what, hint = f"kind={show(kind)}", "pass 'column' or 'tensor'"
        raise ArgumentError(CALL, what, "IX-ARGUMENT-1", hint)
    if bools not in _BOOLS:
        what, hint = f"bools={show(bools)}", "pass 'bits' or 'bytes'"
        raise ArgumentError(CALL, what, "IX-ARGUMENT-1", hint)
    is_named = name is not None or metadata is not None
    simple = kind == "column" and mask is nullable is meaning is None and not is_named
    if simple and (plain := _plain_export(x)) is not None:
        return plain
    if name is not None:
        check_name(name, "the name is")
    part = Builder(kind, bools).build(x, Options(name or "", mask, nullable, metadata, meaning))
    if simple and part.field.format[:2] not in _OTHERS:
        plain = _plain_export(part.arrays[0])
        if plain is not None and plain._field == part.field:
            return plain
    on_host = all(array.device is CPU for array in part.arrays)
    target = bits_of(part.field) if bools != "bytes" and on_host else None
    return ArrowExport(
        part.arrays, part.field, kind, memory=part.memory, target=target, bools=bools
    )


_OTHERS: Final = frozenset({"+s", "+l", "+L", "+v"})
"""Formats of columns with other memory than that of one array."""
_MOST_TYPES: Final = 256
_plain: Final[dict[bytes, tuple[ArrowField, str, ArrowOwner]]] = {}
"""Element type and extents of a plain column -> its field, kind, and the field as a struct."""


def _plain_export(x: Any) -> ArrowExport | None:
    """Return the export of an array that is a column as it is; None for all else."""
    found = _plain_column(x)
    if found is None:
        return None
    array, key = found
    known = _plain.get(key)
    if known is None:
        field = field_of(array, "column", "", CALL)
        if len(_plain) >= _MOST_TYPES:
            _plain.clear()
        known = _plain[key] = (field, "column", _core.arrow_type(field))
    return ArrowExport((array,), *known)
