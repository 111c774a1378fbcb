"""The matrices of columns: Arrow columns imported as arrays, and arrays exported as columns.

Source: the Arrow columnar format.  Columns are imported by `interchange.from_arrow` and exported by
`interchange.to_arrow`; addresses and elements are compared as in `exchanging`.
"""

from __future__ import annotations

import ctypes
import importlib
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from interchange.abi.arrow_formats import EXTENSION_NAME, decode_metadata
from interchange_conformance.probes.opened_arrow import METHODS, Opened
from interchange_conformance.subject import Kind

from .exchanging import Attempt, Found, elements_of, exchange
from .samples import filled
from .tables import kinds_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from interchange_conformance.subject import Subject

    from .exchanging import Cell
    from .samples import Sample

WIDTH: Final = 4
"""Number of elements of a list."""
NESTED: Final = (2, 5)
"""Shape of a list of lists, and physical shape of a tensor."""
START: Final = 16
"""Offset of slices [elements]: slices are then aligned, as some consumers require."""
EVERY: Final = 10
"""One of this many elements is null."""
_READONLY: Final = "its library cannot mark memory as read-only: the result must not be written"
_NO_ADDRESS: Final = (
    "its library reports no address: it reads what is written to the memory after the exchange"
)
_TYPES: Final = {
    "c": "int8", "C": "uint8", "s": "int16", "S": "uint16", "i": "int32", "I": "uint32",
    "l": "int64", "L": "uint64", "e": "float16", "f": "float32", "g": "float64", "b": "bool",
}  # fmt: skip
_LOW_BYTE: Final = {"float32": 3, "float64": 7, "float16": 1}
"""Byte of an element that is changed: the highest of a float, so that 0 becomes nonzero."""


@dataclass(frozen=True)
class Column(Kind):
    """A row: a kind of column, or of array that is exported as one.

    Attributes
    ----------
    options : tuple of (str, object)
        Keywords of `from_arrow` or of `to_arrow`.
    expected : callable
        The requested elements, in memory order -> those of the array, in C order.
    """

    options: tuple[tuple[str, Any], ...] = ()
    expected: Callable[[list[Any]], list[Any]] = list


@dataclass(frozen=True)
class Consumer(Kind):
    """A column of the table: a library that imports Arrays, or exported columns.

    Attributes
    ----------
    take : callable
        ``take(x, address)`` -> the library's object for an Array or an exported column, whose
        memory starts at an address.
    note : str or None
        The remark in a cell with shared memory.
    takes_tables : bool
        Whether it imports tables only: its column is that of a table of one column.
    """

    take: Callable[[Any, int], Any] = lambda x, _: x
    note: str | None = None
    takes_tables: bool = False


# ---------------------------------------------------------------- one exchange


def hand_in(sample: Sample, consumer: Consumer) -> Cell:
    """Import a column in an array library: shared if possible, else copied, else refused."""
    share, copy = (partial(_import, sample, consumer, copy=copy) for copy in (False, True))
    attempts = [Attempt(share, shares=True, note=consumer.note), Attempt(copy, shares=False)]
    return exchange(sample, consumer, attempts)


def hand_out(sample: Sample, consumer: Consumer) -> Cell:
    """Export an array to a library of columns: shared if possible, else copied, else refused."""
    share, copy = (partial(_export, sample, consumer, copy=copy) for copy in (None, True))
    attempts = [Attempt(share, shares=True, note=consumer.note), Attempt(copy, shares=False)]
    return exchange(sample, consumer, attempts)


def _import(sample: Sample, consumer: Consumer, *, copy: bool) -> Found:
    """Import a column; with nulls, the valid elements and the mask are compared."""
    import interchange

    options, wanted = _row(sample)
    x = interchange.from_arrow(sample.array, **options, copy=copy)
    data, mask = x if isinstance(x, tuple) else (x, None)
    result = consumer.take(data, sample.address)
    values = elements_of(consumer, result)
    if mask is not None:
        valid = [bool(one) for one in mask.tolist()]
        values = [value if one else None for value, one in zip(values, valid, strict=True)]
        wanted = with_nulls(wanted)
    return Found(result, values, wanted)


def _export(sample: Sample, consumer: Consumer, *, copy: bool | None) -> Found:
    """Export an array."""
    import interchange

    options, wanted = _row(sample)
    x = interchange.asarray(sample.array, copy=copy)
    address = x.ptr if copy else sample.address
    export = interchange.to_arrow({"column": x} if consumer.takes_tables else x, **options)
    result = consumer.take(export, address)
    return Found(result, elements_of(consumer, result), wanted)


def _row(sample: Sample) -> tuple[dict[str, Any], list[Any]]:
    """Return the keywords of a sample, and the expected elements."""
    kind = sample.kind
    if not isinstance(kind, Column):
        return {}, sample.values
    return dict(kind.options), kind.expected(sample.values)


# ---------------------------------------------------------------- elements


def with_nulls(values: Sequence[Any]) -> list[Any]:
    """Return elements in which some are replaced by None for null."""
    return [None if place % EVERY == 3 else value for place, value in enumerate(values)]


def flat(values: list[Any]) -> list[Any]:
    """Return the elements of nested lists, in one list."""
    while values and isinstance(values[0], (list, tuple)):
        values = [one for part in values for one in part]
    return values


def _nested(values: list[Any], *sizes: int) -> list[Any]:
    """Return elements in lists of these sizes, the outermost first."""
    for size in reversed(sizes):
        values = [values[place : place + size] for place in range(0, len(values), size)]
    return values


def _permuted(values: list[Any]) -> list[Any]:
    """Return elements of tensors, given in memory order, in the order of the permuted axes."""
    import numpy as np

    stored = np.array(values).reshape(-1, *NESTED)
    return list(stored.transpose(0, 2, 1).ravel().tolist())


# ---------------------------------------------------------------- Arrow columns


def address_of(x: Any) -> int:
    """Return the address of the first element of a column, below all lists, in its first chunk."""
    opened = _opened(x)
    node, kind = opened.nodes[0], opened.type
    offset = node.offset
    while node.children and node.children[0] and kind.children[0]:
        size = int(kind.text.partition(":")[2])
        node, kind = node.children[0], kind.children[0]
        offset = offset * size + node.offset
    bits = 1 if kind.text == "b" else ctypes.sizeof(_C_TYPES[_TYPES[kind.text]]) * 8
    return int(node.buffers[1] or 0) + offset * bits // 8


_C_TYPES: Final[dict[str, Any]] = {
    "float16": ctypes.c_uint16, "float32": ctypes.c_float, "float64": ctypes.c_double,
    **{name: getattr(ctypes, f"c_{name}") for name in _TYPES.values() if "int" in name},
}  # fmt: skip


def dtype_of(x: Any) -> str:
    """Return the element type of a column, below all lists."""
    opened = _opened(x)  # keeps the structs of the type alive
    kind = opened.type
    while kind.children and kind.children[0]:
        kind = kind.children[0]
    extension = decode_metadata(kind.metadata or 0).get(EXTENSION_NAME)
    return "bool" if extension == b"arrow.bool8" else _TYPES[kind.text]


def _opened(x: Any) -> Opened:
    """Return the export of a column."""
    form = "stream" if hasattr(x, "__arrow_c_stream__") else "array"
    return Opened(getattr(x, METHODS[form][0])(), form)


class ColumnKind(NamedTuple):
    """A kind of column.

    Attributes
    ----------
    name : str
        Its name.
    make : callable
        ``make(library, values, dtype)`` -> a column.
    options : tuple of (str, object)
        Keywords of `from_arrow`.
    expected : callable
        Elements in memory -> those of the array.
    is_bool : bool
        Whether its elements are bools, whatever element type was requested.
    """

    name: str
    make: Callable[[_Library, list[Any], str], Any]
    options: tuple[tuple[str, Any], ...] = ()
    expected: Callable[[list[Any]], list[Any]] = list
    is_bool: bool = False


class _Library(NamedTuple):
    """A library of columns.

    Attributes
    ----------
    name : str
        First part of the names of its rows.
    subject : Subject
        Its description.
    of_pyarrow : callable
        pyarrow column -> column of the library.
    lacks : tuple of str
        Kinds of columns that it does not support.
    by_pyarrow : tuple of str
        Kinds of columns that it makes only from pyarrow columns.
    finish : callable
        Result of `Subject.make_arrow` -> the column.
    """

    name: str
    subject: Subject
    of_pyarrow: Callable[[Any], Any]
    lacks: tuple[str, ...] = ()
    by_pyarrow: tuple[str, ...] = ()
    finish: Callable[[Any], Any] = lambda x: x

    def make(self, values: list[Any], dtype: str, start: int = 0, chunks: int = 1) -> Any:
        """Return a column, as `Subject.make_arrow` does."""
        make = self.subject.make_arrow
        if make is None:
            raise TypeError("it makes no columns")
        return self.finish(make(values, dtype, start, chunks))

    def lists(self, values: list[Any], dtype: str, *sizes: int) -> Any:
        """Return a column of lists of these sizes, the outermost first."""
        dtype += "".join(f"[{size}]" for size in sizes)
        nested = _nested(values, *sizes)
        if len(sizes) > 0 and "lists" in self.by_pyarrow:
            return self.of_pyarrow(_pyarrow().make_arrow(nested, dtype, 0, 1))
        return self.make(nested, dtype)

    def tensors(self, values: list[Any], dtype: str) -> Any:
        """Return a column of tensors with permuted axes."""
        import pyarrow as pa

        stored = _pyarrow().make_arrow(_nested(values, NESTED[0] * NESTED[1]), f"{dtype}[10]", 0, 1)
        of_type = pa.fixed_shape_tensor(stored.type.value_type, list(NESTED), permutation=[1, 0])
        return self.of_pyarrow(pa.ExtensionArray.from_storage(of_type, stored))

    def bytes_of_bools(self, values: list[Any]) -> Any:
        """Return a column of bools stored as bytes."""
        import pyarrow as pa

        stored = pa.array([int(value) for value in values], pa.int8())
        return self.of_pyarrow(pa.ExtensionArray.from_storage(pa.bool8(), stored))


_SEPARATE: Final = (("nulls", "separate"),)
COLUMN_KINDS: Final = (
    ColumnKind("numbers", lambda of, values, dtype: of.make(values, dtype)),
    ColumnKind(
        "a slice",
        lambda of, values, dtype: of.make(values, dtype, START),
        expected=lambda values: values[START:],
    ),
    ColumnKind("lists", lambda of, values, dtype: of.lists(values, dtype, WIDTH)),
    ColumnKind("lists of lists", lambda of, values, dtype: of.lists(values, dtype, *NESTED)),
    ColumnKind("tensors", lambda of, values, dtype: of.tensors(values, dtype), expected=_permuted),
    ColumnKind("bool8", lambda of, values, _: of.bytes_of_bools(values), is_bool=True),
    ColumnKind(
        "nulls, separate",
        lambda of, values, dtype: of.make(with_nulls(values), dtype),
        options=_SEPARATE,
    ),
    ColumnKind(
        "nulls",
        lambda of, values, dtype: of.make(with_nulls(values), dtype),
        expected=with_nulls,
    ),
    ColumnKind("bools", lambda of, values, _: of.make(values, "bool"), is_bool=True),
    ColumnKind("two chunks", lambda of, values, dtype: of.make(values, dtype, 0, 2)),
)


def _subject(name: str) -> Any:
    """Return a subject that ships with the kit."""
    return importlib.import_module(f"interchange_conformance.subjects.{name}").subject


def _pyarrow() -> Any:
    """Return the subject of pyarrow's arrays."""
    return _subject("pyarrow_array")


def _pandas_of(x: Any) -> Any:
    """Return a pandas series of a pyarrow column."""
    pandas = importlib.import_module("pandas")
    return pandas.Series(pandas.arrays.ArrowExtensionArray(x))


@cache
def _libraries() -> tuple[_Library, ...]:
    """Return the libraries of columns, in the order of the table."""
    polars, nanoarrow = _subject("polars"), _subject("nanoarrow")
    of_duckdb = ("a slice", "tensors", "bool8", "two chunks")  # it chooses the chunks itself
    return (
        _Library("pyarrow", _pyarrow(), lambda x: x),
        _Library("Polars", polars, polars.take_arrow),
        _Library("pandas", _subject("pandas"), _pandas_of),
        _Library(
            "DuckDB", _subject("duckdb"), lambda x: x, of_duckdb,
            finish=lambda x: x.to_arrow_table().column(0),
        ),
        _Library("nanoarrow", nanoarrow, nanoarrow.take_arrow, by_pyarrow=("lists",)),
    )  # fmt: skip


def _column_rows() -> list[Column]:
    """Return every column of every library."""
    return [
        Column(
            f"{library.name}: {kind.name}",
            library.subject,
            address_of,
            library=library.name.lower(),
            module=library.name.lower(),
            distribution=library.name.lower(),
            dtype=dtype_of,
            readonly=lambda _: True,
            make_from=partial(kind.make, library),
            picks=(lambda _: "bool") if kind.is_bool else str,
            options=kind.options,
            expected=kind.expected,
        )
        for library in _libraries()
        for kind in COLUMN_KINDS
        if kind.name not in library.lacks
    ]


def _consumer(
    kind: Kind, name: str, head: str, take: Callable[[Any, int], Any], **more: Any
) -> Consumer:
    """Return a column of the table of arrays."""
    given = {one: getattr(kind, one) for one in ("address", "library", "module", "dtype", "target")}
    return Consumer(
        name, kind.subject, head=head, take=take, is_sample=False, readonly=kind.readonly,
        **{**given, **more},
    )  # fmt: skip


def _array_consumers() -> list[Consumer]:
    """Return the libraries that import Arrays of columns."""
    numpy, torch, jax = (_host(name) for name in ("NumPy", "PyTorch", "JAX"))

    def converted(target: str) -> Callable[[Any, int], Any]:
        import interchange

        return lambda x, _: interchange.convert(x, target, copy=None if x.readonly else True)

    def by(take: Any) -> Callable[[Any, int], Any]:
        return lambda x, _: take(x)

    return [
        _consumer(numpy, "np.from_dlpack", "np.\nfrom_dlpack", by(numpy.subject.take)),
        _consumer(numpy, "np.asarray", "np.\nasarray", by(numpy.subject.take_array_interface)),
        _consumer(
            torch, "torch.from_dlpack", "torch.\nfrom_dlpack", by(torch.subject.take),
            note=_READONLY,
        ),
        _consumer(torch, 'convert(x, "torch")', "convert:\ntorch", converted("torch")),
        _consumer(jax, "jax.dlpack.from_dlpack", "jax.dlpack.\nfrom_dlpack", by(jax.subject.take)),
        _consumer(jax, 'convert(x, "jax")', "convert:\njax", converted("jax")),
    ]  # fmt: skip


def _host(name: str) -> Kind:
    """Return a kind of array on the host."""
    return next(kind for kind in kinds_of("cpu") if kind.name == name)


# ---------------------------------------------------------------- arrays exported as columns


class Shape(NamedTuple):
    """A change of an array before its export, and the keywords of `to_arrow`."""

    name: str
    change: Callable[[Any], Any] = lambda x: x
    options: tuple[tuple[str, Any], ...] = ()
    expected: Callable[[list[Any]], list[Any]] = list


_TENSOR: Final = (("kind", "tensor"),)
_SHAPES: Final = (
    Shape("numbers"),
    Shape("rows", lambda x: x.reshape(-1, WIDTH)),
    Shape("rows of rows", lambda x: x.reshape(-1, *NESTED)),
    Shape("tensors", lambda x: x.reshape(-1, *NESTED), _TENSOR),
    Shape("bools", options=(("bools", "bytes"),)),
)
_STRIDED: Final = (
    Shape("permuted tensors", lambda x: x.reshape(-1, *NESTED).swapaxes(1, 2), _TENSOR),
    Shape("every second", lambda x: x[::2], expected=lambda values: values[::2]),
)


def _array_rows() -> list[Column]:
    """Return every kind of array that is exported as a column."""
    shapes = {
        "NumPy": (*_SHAPES, *_STRIDED),
        "NumPy read-only": _SHAPES[:1],
        "PyTorch": (*_SHAPES, *_STRIDED),
        "JAX": _SHAPES,
    }
    return [
        Column(
            f"{name}: {shape.name}",
            kind.subject,
            kind.address,
            library=kind.library,
            module=kind.module,
            dtype=kind.dtype,
            readonly=kind.readonly,
            make_from=partial(_reshaped, kind, shape.change),
            picks=(lambda _: "bool") if shape.name == "bools" else str,
            options=shape.options,
            expected=shape.expected,
        )
        for name, few in shapes.items()
        for kind in [_host(name)]
        for shape in few
    ]


def _reshaped(kind: Kind, change: Callable[[Any], Any], values: list[Any], dtype: str) -> Any:
    """Return an array of elements, with a change applied."""
    return change(filled(kind, values, dtype))


def _column_consumers() -> list[Consumer]:
    """Return the libraries that import exported columns."""
    pyarrow, polars, pandas, duckdb, nanoarrow = _libraries()

    def of(
        library: _Library, name: str, head: str, take: Callable[..., Any], **more: Any
    ) -> Consumer:
        low = library.name.lower()
        return Consumer(
            name,
            **{
                "subject": library.subject, "address": address_of, "dtype": dtype_of,
                "read": lambda x: flat(library.subject.read_arrow(x)),  # type: ignore[misc]
                **more,
            },
            library=low, module=low, distribution=low, target=low, head=head, take=take,
            is_sample=False,
        )  # fmt: skip

    def of_pyarrow(x: Any) -> Any:
        return importlib.import_module("pyarrow").array(x)

    return [
        of(pyarrow, "pyarrow.array", "pa.\narray", lambda x, _: of_pyarrow(x)),
        of(polars, "polars.Series", "pl.\nSeries", lambda x, _: polars.of_pyarrow(x)),
        of(pandas, "pandas, over Arrow", "pandas", lambda x, _: _pandas_of(of_pyarrow(x))),
        of(
            duckdb, "DuckDB", "DuckDB", _scan_by_duckdb, address=lambda x: x.address,
            dtype=lambda x: x.dtype, read=lambda x: x.rows, note=_NO_ADDRESS, takes_tables=True,
        ),
        of(nanoarrow, "nanoarrow.Array", "na.\nArray", lambda x, _: nanoarrow.of_pyarrow(x)),
    ]  # fmt: skip


class Scan(NamedTuple):
    """The elements read by a library that reports no address: where it was seen to read, or 0."""

    rows: list[Any]
    address: int
    dtype: str


_SQL: Final = {"FLOAT": "float32", "DOUBLE": "float64", "BIGINT": "int64", "BOOLEAN": "bool"}


def _scan_by_duckdb(export: Any, address: int) -> Scan:
    """Return the elements that DuckDB reads from a table."""
    with importlib.import_module("duckdb").connect() as connection:
        connection.register("handed_over", export)
        name = str(connection.table("handed_over").types[0]).partition("[")[0]
        query = "select * from handed_over"
        return scanned(
            lambda: flat([row[0] for row in connection.execute(query).fetchall()]),
            address,
            _SQL.get(name, name),
        )


def scanned(read: Callable[[], list[Any]], address: int, dtype: str) -> Scan:
    """Return the elements that a library reads, and whether it sees later writes to the memory."""
    first = ctypes.c_ubyte.from_address(address + _LOW_BYTE.get(dtype, 0))
    before = read()
    kept = first.value
    first.value ^= 1
    try:
        after = read()
    finally:
        first.value = kept
    return Scan(before, address if before != after else 0, dtype)


# ---------------------------------------------------------------- both tables

HANDS: Final[dict[str, Callable[[Sample, Any], Cell]]] = {"in": hand_in, "out": hand_out}
"""Direction -> function that runs an exchange."""


@cache
def kinds_of_columns(direction: str) -> tuple[Kind, ...]:
    """Return the kinds of the table of columns that are imported ("in") or exported ("out")."""
    if direction == "in":
        return (*_column_rows(), *_array_consumers())
    return (*_array_rows(), *_column_consumers())
