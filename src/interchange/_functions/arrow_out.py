"""Export of arrays as Arrow columns, for pyarrow, polars, DuckDB, nanoarrow and others.

Source: The Arrow PyCapsule interface; The Arrow C data, stream and device interfaces.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from interchange import _core
from interchange._protocols.arrow.exporting import column_of, field_of
from interchange._protocols.arrow.types import read_type
from interchange._protocols.host import check_host
from interchange._protocols.protocol_attributes import is_mapping
from interchange._streams.events import recorded_event_of
from interchange._streams.ordering import wait_on_host
from interchange._types.devices import CPU
from interchange._types.errors import (
    ArgumentError,
    ExchangeError,
    InterchangeError,
    ViewError,
    refuse_record,
    show,
)
from interchange.abi import BrokenRule, PyCapsule, capsule_name, capsule_pointer
from interchange.abi.arrow import (
    ARROW_ARRAY,
    ARROW_DEVICE_ARRAY,
    ARROW_SCHEMA,
    ArrowColumn,
    ArrowField,
    ArrowSchema,
)

from .importing import import_any, keep_array, keep_arrays

if TYPE_CHECKING:
    from collections.abc import Mapping

    from typing_extensions import CapsuleType

    from interchange._array import Array
    from interchange._core import ArrowOwner
    from interchange._types.typing import AnyArray

_CALL: Final = "to_arrow()"
_plain_column: Final = _core.plain_column  # found once: a module is slow in `_core.__getattr__`
_export_plain: Final = _core.export_plain
_KINDS: Final = ("column", "tensor")
_HOST: Final = (int(CPU.type), -1, 0)
"""Device type and id of plain host memory, as Arrow's libraries write them, and no event."""


class ArrowExport:
    """An array, or a table of arrays, with the methods of Arrow; made by `to_arrow`.

    The consumer of a capsule shares the memory, which is kept alive until the consumer releases it.
    """

    __slots__ = ("_arrays", "_field", "_kind", "_type")

    def __init__(
        self,
        arrays: tuple[Array, ...],
        field: ArrowField,
        kind: str,
        type_: ArrowOwner | None = None,
    ) -> None:
        self._arrays = arrays
        self._field = field
        self._kind = kind
        self._type = type_  # the field as a struct, for a plain column

    def __repr__(self) -> str:
        """Return a description of the contents."""
        if self._field.format == "+s":
            names = ", ".join(repr(child.name) for child in self._field.children)
            return f"ArrowExport(a table of {names or 'no columns'})"
        array = self._arrays[0]
        return f"ArrowExport({array.dtype} {array.shape}, kind={self._kind!r})"

    # ------------------------------------------------------------ the protocol

    def __arrow_c_schema__(self) -> CapsuleType:
        """Return a capsule of the type."""
        found: CapsuleType = _core.make_arrow_schema(self._field)
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
        self._check_request(requested_schema)
        keep = self._ready_on_host("__arrow_c_array__()")
        found: tuple[CapsuleType, CapsuleType] = _core.make_arrow(
            self._field, self._column(), keep, None
        )
        return found

    def __arrow_c_stream__(self, requested_schema: Any = None) -> CapsuleType:
        """Return a capsule of a stream of one chunk, as `__arrow_c_array__`."""
        self._check_request(requested_schema)
        keep = self._ready_on_host("__arrow_c_stream__()")
        found: CapsuleType = _core.make_arrow_stream(self._field, self._column(), keep, None)
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
        _check_keywords(unknown)
        self._check_request(requested_schema)
        keep, device = self._ready_on_device("__arrow_c_device_array__()")
        found: tuple[CapsuleType, CapsuleType] = _core.make_arrow(
            self._field, self._column(), keep, device
        )
        return found

    def __arrow_c_device_stream__(
        self, requested_schema: Any = None, **unknown: Any
    ) -> CapsuleType:
        """Return a capsule of a stream of one chunk, as `__arrow_c_device_array__`."""
        _check_keywords(unknown)
        self._check_request(requested_schema)
        keep, device = self._ready_on_device("__arrow_c_device_stream__()")
        found: CapsuleType = _core.make_arrow_stream(self._field, self._column(), keep, device)
        return found

    # ------------------------------------------------------------ parts

    def _column(self) -> ArrowColumn:
        """Return the memory."""
        if self._field.format != "+s":
            return column_of(self._arrays[0], self._field)
        columns = tuple(map(column_of, self._arrays, self._field.children))
        return ArrowColumn(columns[0].length if columns else 0, buffers=(0,), children=columns)

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

    def _check_request(self, requested: Any) -> None:
        """Refuse a requested schema that is incompatible (ARROW-METHOD-2)."""
        if requested is None:
            return
        if type(requested) is not PyCapsule or capsule_name(requested) != ARROW_SCHEMA:
            what = f"requested_schema={show(requested)}"
            raise ArgumentError(_CALL, what, "ARROW-CAP-1", "pass a capsule of a schema")
        address = capsule_pointer(requested, ARROW_SCHEMA)
        try:
            read_type(address)
        except BrokenRule as broken:
            refuse_record(_CALL, broken)
        wanted = ArrowSchema.from_address(address).n_children
        if self._field.format == "+s" and wanted != len(self._field.children):
            what = f"a schema of {wanted} fields was requested"
            hint = f"request {len(self._field.children)}"
            raise ExchangeError(_CALL, what, "ARROW-METHOD-2", hint)


ArrowExport.__module__ = "interchange"


def _check_keywords(unknown: dict[str, Any]) -> None:
    """Refuse keywords of a later version of the interface."""
    named = [name for name, value in unknown.items() if value is not None]
    if named:
        raise NotImplementedError(f"unknown keywords {named} [ARROW-METHOD-3]")


def to_arrow(x: AnyArray | Mapping[str, AnyArray], /, *, kind: str = "column") -> ArrowExport:
    """Export an array as a column of Arrow, or several by name as a table; nothing is copied.

    The first axis counts the elements of the column.  Bools are exported as ``arrow.bool8``.

    Parameters
    ----------
    x : object or mapping of str to object
        An array of any library, on the host or a device; for a table, one array per column, all
        with the same number of elements and on the same device.
    kind : {"column", "tensor"}
        How further axes are exported: as fixed-size lists, nested for several axes; or as tensors
        of ``arrow.fixed_shape_tensor``, whose axes may have any order in memory.

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
        Arrow has no type for the elements (ARROW-OUT-1).
    ViewError
        No axis counts the elements (ARROW-OUT-1), or columns differ in length (ARROW-OUT-3).
    CopyNeededError
        The elements are not contiguous (ARROW-OUT-2), or not aligned to their size
        (ARROW-BUFFER-2).

    Notes
    -----
    Source: The Arrow PyCapsule interface.  Consumers treat Arrow's memory as immutable: do not
    write to an array after it was exported (ARROW-RO-1).  Capsules are made by the native core.

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
    """
    if _core.core_name == "ctypes":
        from interchange._core._arrow import refuse_exports

        raise refuse_exports()
    if kind not in _KINDS:
        what, hint = f"kind={show(kind)}", "pass 'column' or 'tensor'"
        raise ArgumentError(_CALL, what, "IX-ARGUMENT-1", hint)
    is_column = kind == "column"
    if is_column and (plain := _plain_export(x)) is not None:
        return plain
    if is_mapping(x):
        return _table(x, kind)
    array = import_any(x, call=_CALL)
    if is_column and (plain := _plain_export(array)) is not None:
        return plain
    try:
        field = field_of(array, kind, "", _CALL)
    except InterchangeError as error:
        keep_array(error, x, array)
        raise
    return ArrowExport((array,), field, kind)


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
        field = field_of(array, "column", "", _CALL)
        if len(_plain) >= _MOST_TYPES:
            _plain.clear()
        known = _plain[key] = (field, "column", _core.arrow_type(field))
    return ArrowExport((array,), *known)


def _is_text(name: str) -> bool:
    """Whether a name can be a C string: no NUL, and valid UTF-8."""
    try:
        return b"\0" not in name.encode()
    except UnicodeEncodeError:  # half a surrogate pair
        return False


def _table(columns: Mapping[Any, Any], kind: str) -> ArrowExport:
    """Return the export of several arrays, each as a column."""
    for name in columns:
        if not isinstance(name, str) or not _is_text(name):
            what, hint = f"a column is called {show(name)}", "name columns by text without NUL"
            raise ArgumentError(_CALL, what, "IX-ARGUMENT-1", hint)
    arrays: dict[str, Array] = {}
    try:
        for name, x in columns.items():
            arrays[name] = import_any(x, call=_CALL)
        return ArrowExport(tuple(arrays.values()), _field_of_table(arrays, kind), kind)
    except InterchangeError as error:
        keep_arrays(error, columns, [(columns[name], array) for name, array in arrays.items()])
        raise


def _field_of_table(arrays: Mapping[str, Array], kind: str) -> ArrowField:
    """Return the type of a table of several arrays."""
    fields = tuple(
        field_of(array, kind if array.ndim > 1 else "column", name, _CALL)
        for name, array in arrays.items()
    )
    for what, said in (
        ("lengths", [array.shape[0] for array in arrays.values()]),
        ("devices", [array.device for array in arrays.values()]),
    ):
        if len(set(said)) > 1:
            differ = f"the columns have the {what} {', '.join(map(str, said))}"
            raise ViewError(_CALL, differ, "ARROW-OUT-3")
    return ArrowField("+s", children=fields)
