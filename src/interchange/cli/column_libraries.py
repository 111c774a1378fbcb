"""The libraries of the tables of columns: rows and columns of both directions.

Source: `interchange.cli.column_arrays`, which says how each column is made and looked at.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import interchange

from . import arrays, column_arrays as columns
from .columns import EVERY, NESTED, WIDTH, Column, Taker, hand_in, hand_out, without_some
from .subjects import Look

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .matrix import Cell
    from .subjects import Sample, Subject

_READONLY: Final = "its library has no word for read-only memory: nobody may write there"
_UNTOLD: Final = (
    "its library tells no address: what is written to the memory after it was handed over, it reads"
)


class Kind(NamedTuple):
    """A kind of column.

    Attributes
    ----------
    name : str
        What it is called.
    options : tuple of (str, object)
        Keywords of `from_arrow`.
    expected : callable
        Elements in memory -> those of the array.
    is_bool : bool
        Whether its elements are bools, whatever was asked for.
    """

    name: str
    options: tuple[tuple[str, Any], ...] = ()
    expected: Callable[[list[Any]], list[Any]] = list
    is_bool: bool = False


_SEPARATE: Final = (("nulls", "separate"),)
KINDS: Final = {
    kind.name: kind
    for kind in (
        Kind("numbers"),
        Kind("a slice", expected=columns.beheaded),
        Kind("lists"),
        Kind("lists of lists"),
        Kind("tensors", expected=columns.permuted),
        Kind("bool8", is_bool=True),
        Kind("nulls, separate", _SEPARATE),
        Kind("nulls", expected=without_some),
        Kind("bools", is_bool=True),
        Kind("two chunks"),
    )
}
"""Every kind of column, by name."""

_ARROW_LOOK: Final = Look(
    columns.arrow_address, columns.arrow_values, columns.arrow_dtype, arrays.always
)
_NANO_LOOK: Final = Look(
    columns.nano_address, columns.nano_values, columns.nano_dtype, arrays.always
)


def _looked(convert: Callable[[Any], Any]) -> Look:
    """Return how columns are looked at that a library gives out as ones of pyarrow."""
    return Look(*(columns.in_arrow(one, convert) for one in _ARROW_LOOK))


_LOOKS: Final = {
    "pyarrow": _ARROW_LOOK,
    "polars": _looked(columns.polars_column),
    "pandas": _looked(columns.pandas_column),
    "duckdb": _ARROW_LOOK,
    "nanoarrow": _NANO_LOOK,
}
_BY_PYARROW: Final = {
    "numbers": columns.arrow_numbers,
    "a slice": columns.arrow_slice,
    "lists": columns.arrow_lists,
    "lists of lists": columns.arrow_nested,
    "tensors": columns.arrow_tensors,
    "bool8": columns.arrow_bytes,
    "nulls, separate": columns.arrow_nulls,
    "nulls": columns.arrow_nulls,
    "bools": columns.arrow_bits,
    "two chunks": columns.arrow_chunks,
}
_INNER, _SIZE = NESTED[1], NESTED[0] * NESTED[1]
_LIST: Final = f"{columns.sql_list(f'{WIDTH} * i', WIDTH)}::{{t}}[{WIDTH}]"
_PARTS: Final = ", ".join(
    columns.sql_list(f"{_SIZE} * i + {_INNER * place}", _INNER) for place in range(NESTED[0])
)
_NULLS: Final = f"case when i % {EVERY} = 3 then null else {{e}}[i + 1]::{{t}} end"
_BY_DUCKDB: Final = {
    "numbers": columns.result_of("{e}[i + 1]::{t}"),
    "lists": columns.result_of(_LIST, WIDTH),
    "lists of lists": columns.result_of(f"[{_PARTS}]::{{t}}[{_INNER}][{NESTED[0]}]", _SIZE),
    "nulls, separate": columns.result_of(_NULLS),
    "nulls": columns.result_of(_NULLS),
    "bools": columns.result_of("{e}[i + 1]"),
}
_BY_NANOARROW: Final = {
    "numbers": columns.nano_numbers,
    "a slice": columns.nano_slice,
    "lists": columns.nano_lists,
    "lists of lists": columns.nano_nested,
    "tensors": columns.nano_tensors,
    "bool8": columns.nano_bytes,
    "nulls, separate": columns.nano_nulls,
    "nulls": columns.nano_nulls,
    "bools": columns.nano_bits,
    "two chunks": columns.nano_chunks,
}
_MAKERS: Final[dict[str, tuple[str, dict[str, Callable[..., Any]]]]] = {
    "pyarrow": ("pyarrow", _BY_PYARROW),
    "polars": ("Polars", {k: columns.made_by(m, "polars") for k, m in _BY_PYARROW.items()}),
    "pandas": ("pandas", {k: columns.made_by(m, "pandas") for k, m in _BY_PYARROW.items()}),
    "duckdb": ("DuckDB", _BY_DUCKDB),
    "nanoarrow": ("nanoarrow", _BY_NANOARROW),
}
"""Library -> what people call it, and what makes each kind of column that it has."""


def _rows_in() -> list[Column]:
    """Return every column of every library."""
    return [
        Column(
            f"{called}: {name}",
            library=library,
            module=library,
            distribution=library,
            make=make,
            look=_LOOKS[library],
            picks=arrays.bool_only if KINDS[name].is_bool else str,
            is_variant=name != "numbers",
            options=KINDS[name].options,
            expected=KINDS[name].expected,
        )
        for library, (called, makers) in _MAKERS.items()
        for name, make in makers.items()
    ]


# ---------------------------------------------------------------- arrays


def _converted(target: str) -> Callable[[Any, Any, int], Any]:
    """Return what hands an Array to a library by `convert`: shared memory, or a copy of a copy."""

    def take(_module: Any, x: Any, _address: int) -> Any:
        return interchange.convert(x, target, copy=None if x.readonly else True)

    return take


_NUMPY_LOOK: Final = Look(
    arrays.numpy_address, lambda x: x.ravel().tolist(), arrays.last_word, arrays.numpy_readonly
)
_TORCH_LOOK: Final = Look(
    lambda x: x.data_ptr(), lambda x: x.flatten().tolist(), arrays.last_word, arrays.silent
)
_JAX_LOOK: Final = Look(
    lambda x: x.unsafe_buffer_pointer(),
    lambda x: columns.flat(arrays.jax_values(x)),
    arrays.last_word,
    arrays.always,
)
_JAX_ON_HOST: Final = (("JAX_PLATFORMS", "cpu"), ("JAX_ENABLE_X64", "1"))
_NUMPY: Final = Taker(
    "np.asarray",
    library="numpy",
    module="numpy",
    distribution="numpy",
    make=None,
    look=_NUMPY_LOOK,
    target="numpy",
    short="np.\nasarray",
    take=lambda module, x, _: module.asarray(x),
)
_TORCH: Final = Taker(
    "torch.from_dlpack",
    library="torch",
    module="torch",
    distribution="torch",
    make=None,
    look=_TORCH_LOOK,
    target="torch",
    short="torch.\nfrom_dlpack",
    take=lambda module, x, _: module.from_dlpack(x),
    note=_READONLY,
)
_JAX: Final = Taker(
    "jax.dlpack.from_dlpack",
    library="jax",
    module="jax",
    distribution="jax",
    make=None,
    look=_JAX_LOOK,
    target="jax",
    short="jax.dlpack.\nfrom_dlpack",
    environment=_JAX_ON_HOST,
    take=lambda module, x, _: module.dlpack.from_dlpack(x),
)
_ARRAYS: Final = (
    replace(
        _NUMPY,
        name="np.from_dlpack",
        short="np.\nfrom_dlpack",
        take=lambda module, x, _: module.from_dlpack(x),
    ),
    _NUMPY,
    _TORCH,
    replace(
        _TORCH,
        name='convert(x, "torch")',
        short="convert:\ntorch",
        take=_converted("torch"),
        note=None,
    ),
    _JAX,
    replace(
        _JAX,
        name='convert(x, "jax")',
        short="convert:\njax",
        take=_converted("jax"),
    ),
)
"""What takes Arrays of columns."""


class Shape(NamedTuple):
    """What is made of an array before it goes out: how, and by which keywords."""

    name: str
    change: Callable[[Any], Any]
    options: tuple[tuple[str, Any], ...] = ()
    expected: Callable[[list[Any]], list[Any]] = list
    is_bool: bool = False


_SHAPES: Final = (
    Shape("numbers", lambda x: x),
    Shape("rows", lambda x: x.reshape(-1, WIDTH)),
    Shape("rows of rows", lambda x: x.reshape(-1, *NESTED)),
    Shape("tensors", lambda x: x.reshape(-1, *NESTED), (("kind", "tensor"),)),
    Shape("bools", lambda x: x, is_bool=True),
)
_STRIDED: Final = Shape("every second", lambda x: x[::2], expected=lambda values: values[::2])
_PERMUTED: Final = Shape(
    "permuted tensors",
    lambda x: x.reshape(-1, *NESTED).swapaxes(1, 2),
    (("kind", "tensor"),),
)


def _changed(
    make: Callable[..., Any], change: Callable[[Any], Any]
) -> Callable[[Any, str, list[Any]], Any]:
    """Return what makes an array, and changes its shape."""
    return lambda module, dtype, values: change(make(module, dtype, values))


def _rows_out() -> list[Column]:
    """Return every array that goes out."""
    numpy = (
        "NumPy", _NUMPY, arrays.make_numpy, (*_SHAPES, _PERMUTED, _STRIDED),
    )  # fmt: skip
    readonly = ("NumPy read-only", _NUMPY, arrays.make_numpy_readonly, _SHAPES[:1])
    torch = ("PyTorch", _TORCH, arrays.make_torch, (*_SHAPES, _PERMUTED, _STRIDED))
    jax = ("JAX", _JAX, arrays.make_jax, _SHAPES)
    return [
        Column(
            f"{called}: {shape.name}",
            library=taker.library,
            module=taker.module,
            distribution=taker.distribution,
            make=_changed(make, shape.change),
            look=taker.look,
            picks=arrays.bool_only if shape.is_bool else str,
            environment=taker.environment,
            is_variant=shape.name != "numbers",
            options=shape.options,
            expected=shape.expected,
        )
        for called, taker, make, shapes in (numpy, readonly, torch, jax)
        for shape in shapes
    ]


def _columns_out() -> list[Taker]:
    """Return what takes exports."""

    def of(name: str, library: str, short: str, take: Callable[..., Any], **more: Any) -> Taker:
        return Taker(
            name,
            library=library,
            module=library,
            distribution=library,
            make=None,
            look=more.pop("look", _LOOKS[library]),
            target=library,
            short=short,
            take=take,
            **more,
        )

    read = Look(lambda x: x.address, lambda x: x.rows, lambda x: x.dtype, arrays.always)
    return [
        of("pyarrow.array", "pyarrow", "pa.\narray", lambda m, x, _: m.array(x)),
        of("polars.Series", "polars", "pl.\nSeries", lambda m, x, _: m.Series("column", x)),
        of("pandas, over Arrow", "pandas", "pandas", columns.pandas_of),
        of("DuckDB", "duckdb", "DuckDB", columns.scan, look=read, note=_UNTOLD, takes_tables=True),
        of("nanoarrow.Array", "nanoarrow", "na.\nArray", lambda m, x, _: m.Array(x)),
    ]


SUBJECTS_IN: Final[tuple[Subject, ...]] = (*_rows_in(), *_ARRAYS)
"""Rows and columns of the table of columns that become arrays."""
SUBJECTS_OUT: Final[tuple[Subject, ...]] = (*_rows_out(), *_columns_out())
"""Rows and columns of the table of arrays that become columns."""
DIRECTIONS: Final[
    dict[str, tuple[Sequence[Subject], Callable[[Sample, Subject, int | None], Cell]]]
] = {"in": (SUBJECTS_IN, hand_in), "out": (SUBJECTS_OUT, hand_out)}
"""Direction -> rows and columns, and what hands over."""
