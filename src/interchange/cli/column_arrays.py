"""How columns of each library are made and looked at: what rows of the tables of columns refer to.

Source: the libraries' own documentation, and what they did when they were run; the Arrow columnar
format.
"""

from __future__ import annotations

import importlib
import json
from typing import TYPE_CHECKING, Any, Final

from .columns import NESTED, START, WIDTH, scanned, without_some

if TYPE_CHECKING:
    from collections.abc import Callable

    from .columns import Scan

TENSOR: Final = json.dumps({"shape": list(NESTED), "permutation": [1, 0]})
"""The metadata of tensors whose axes are permuted."""
_SIZE: Final = NESTED[0] * NESTED[1]
_NAMES: Final = {"halffloat": "float16", "half_float": "float16", "float": "float32"}
_ARROW: Final = {**_NAMES, "double": "float64", "extension<arrow.bool8>": "bool"}
"""What Arrow calls an element type -> its name here, where these differ."""
_SQL: Final = {"float32": "float", "float64": "double", "int64": "bigint", "bool": "boolean"}
_SQL_ARRAYS: Final = {"FLOAT": "float32", "DOUBLE": "float64", "BIGINT": "int64", "BOOLEAN": "bool"}


def permuted(values: list[Any]) -> list[Any]:
    """Return elements of tensors, as they are in memory, in the order of the permuted axes."""
    import numpy as np

    stored = np.array(values).reshape(-1, *NESTED)
    return list(stored.transpose(0, 2, 1).ravel().tolist())


def beheaded(values: list[Any]) -> list[Any]:
    """Return the elements of a slice."""
    return values[START:]


# ---------------------------------------------------------------- pyarrow


def arrow_numbers(module: Any, dtype: str, values: list[Any]) -> Any:
    """Make a column of numbers."""
    import numpy as np

    return module.array(np.array(values, dtype), module.from_numpy_dtype(dtype))


def arrow_slice(module: Any, dtype: str, values: list[Any]) -> Any:
    """Make a slice of a column."""
    return arrow_numbers(module, dtype, values)[START:]


def arrow_nulls(module: Any, dtype: str, values: list[Any]) -> Any:
    """Make a column with nulls."""
    return module.array(without_some(values), module.from_numpy_dtype(dtype))


def arrow_lists(module: Any, dtype: str, values: list[Any]) -> Any:
    """Make a column of lists of one length."""
    flat = arrow_numbers(module, dtype, values)
    return module.FixedSizeListArray.from_arrays(flat, WIDTH)


def arrow_nested(module: Any, dtype: str, values: list[Any]) -> Any:
    """Make a column of lists of lists."""
    inner = module.FixedSizeListArray.from_arrays(arrow_numbers(module, dtype, values), NESTED[1])
    return module.FixedSizeListArray.from_arrays(inner, NESTED[0])


def arrow_tensors(module: Any, dtype: str, values: list[Any]) -> Any:
    """Make a column of tensors."""
    flat = arrow_numbers(module, dtype, values)
    stored = module.FixedSizeListArray.from_arrays(flat, _SIZE)
    of_type = module.fixed_shape_tensor(flat.type, list(NESTED), permutation=[1, 0])
    return module.ExtensionArray.from_storage(of_type, stored)


def arrow_bits(module: Any, _dtype: str, values: list[Any]) -> Any:
    """Make a column of bools."""
    return module.array(values, module.bool_())


def arrow_bytes(module: Any, _dtype: str, values: list[Any]) -> Any:
    """Make a column of bools that are bytes."""
    stored = module.array([int(value) for value in values], module.int8())
    return module.ExtensionArray.from_storage(module.bool8(), stored)


def arrow_chunks(module: Any, dtype: str, values: list[Any]) -> Any:
    """Make a column in two chunks."""
    half = len(values) // 2
    parts = [arrow_numbers(module, dtype, part) for part in (values[:half], values[half:])]
    return module.chunked_array(parts)


def arrow_elements(x: Any) -> tuple[Any, int]:
    """Return the array of pyarrow below all lists, and where its elements begin [elements]."""
    x = x.chunk(0) if hasattr(x, "chunk") else x
    offset = x.offset
    while True:
        x = getattr(x, "storage", x)
        if not hasattr(x.type, "list_size"):
            return x, offset
        offset = offset * x.type.list_size + x.values.offset
        x = x.values


def arrow_address(x: Any) -> int:
    """Return the address of the first element of a column of pyarrow, or of its first chunk."""
    found, offset = arrow_elements(x)
    return int(found.buffers()[1].address + offset * found.type.bit_width // 8)


def arrow_dtype(x: Any) -> str:
    """Return the element type of a column of pyarrow."""
    if str(x.type) == "extension<arrow.bool8>":
        return "bool"
    name = str(arrow_elements(x)[0].type)
    return _ARROW.get(name, name)


def arrow_values(x: Any) -> list[Any]:
    """Return the elements of a column of pyarrow, in the order of memory."""
    return flat(x.to_pylist())


def flat(values: list[Any]) -> list[Any]:
    """Return what is in lists of lists, in one list."""
    while values and isinstance(values[0], (list, tuple)):
        values = [one for part in values for one in part]
    return values


def in_arrow(look: Callable[[Any], Any], convert: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return how to look at what a library makes into a column of pyarrow."""
    return lambda x: look(convert(x))


# ---------------------------------------------------------------- libraries over such columns


def made_by(make: Callable[[Any, str, list[Any]], Any], convert: str) -> Callable[..., Any]:
    """Return what makes a column of pyarrow, and one of another library of it, by its name."""

    def make_other(module: Any, dtype: str, values: list[Any]) -> Any:
        column = make(importlib.import_module("pyarrow"), dtype, values)
        return CONVERTERS[convert](module, column)

    return make_other


def of_polars(module: Any, column: Any) -> Any:
    """Return a column of Polars, which puts the chunks of others together."""
    parts = [module.Series("column", part) for part in getattr(column, "chunks", [column])]
    return module.concat(parts, rechunk=False)


def of_pandas(module: Any, column: Any) -> Any:
    """Return a column of pandas over memory of Arrow."""
    return module.Series(module.arrays.ArrowExtensionArray(column))


def pandas_of(module: Any, export: Any, _address: int) -> Any:
    """Return a column of pandas over an export: pandas takes columns of pyarrow."""
    return of_pandas(module, importlib.import_module("pyarrow").array(export))


CONVERTERS: Final = {"polars": of_polars, "pandas": of_pandas}
"""Name of a library -> what makes a column of its own of one of pyarrow."""


def polars_column(x: Any) -> Any:
    """Return a column of Polars as one of pyarrow: Polars tells no addresses of lists itself.

    Not by its ``to_arrow()``, which puts the chunks of the column together in place.
    """
    return importlib.import_module("pyarrow").chunked_array(x)


def pandas_column(x: Any) -> Any:
    """Return the column of pyarrow that one of pandas is made of."""
    return x.array.__arrow_array__()


# ---------------------------------------------------------------- DuckDB


def result_of(expression: str, size: int = 1) -> Callable[..., Any]:
    """Return what makes a column of a query's result.

    Parameters
    ----------
    expression : str
        Of SQL; ``{e}`` are the elements, ``{t}`` their type, and ``i`` is the number of the row.
    size : int, optional
        Elements of a row.
    """

    def make(module: Any, dtype: str, values: list[Any]) -> Any:
        row = expression.format(e="$1", t=_SQL[dtype])
        query = f"select {row} from range(len($1) // {size}) as rows(i)"  # noqa: S608 - ours
        with module.connect() as connection:
            return connection.sql(query, params=[values]).to_arrow_table().column(0)

    return make


def sql_list(first: str, size: int) -> str:
    """Return the expression for a list of elements, without its type."""
    return f"list_slice({{e}}, {first} + 1, {first} + {size})"


def scan(module: Any, export: Any, address: int) -> Scan:
    """Return what DuckDB reads of a table."""
    with module.connect() as connection:
        connection.register("handed_over", export)
        name = str(connection.table("handed_over").types[0]).partition("[")[0]
        query = "select * from handed_over"
        return scanned(
            lambda: flat([row[0] for row in connection.execute(query).fetchall()]),
            address,
            _SQL_ARRAYS.get(name, name),
        )


# ---------------------------------------------------------------- nanoarrow


def nano_numbers(module: Any, dtype: str, values: list[Any]) -> Any:
    """Make a column of numbers, over memory of NumPy's."""
    return module.Array(_nano(module, dtype, values))


def _nano(module: Any, dtype: str, values: list[Any]) -> Any:
    """Return numbers as nanoarrow's C array."""
    import numpy as np

    elements = np.array(values, dtype)
    return module.c_array_from_buffers(getattr(module, dtype)(), len(values), [None, elements])


def _nano_list(module: Any, of_type: Any, size: int, child: Any) -> Any:
    """Return lists of one length."""
    count = child.length // size
    return module.c_array_from_buffers(of_type, count, [None], children=[child])


def nano_slice(module: Any, dtype: str, values: list[Any]) -> Any:
    """Make a slice of a column."""
    return module.Array(_nano(module, dtype, values)[START:])


def nano_nulls(module: Any, dtype: str, values: list[Any]) -> Any:
    """Make a column with nulls."""
    import numpy as np

    there = [value is not None for value in without_some(values)]
    bits = np.packbits(there, bitorder="little")
    of_type = getattr(module, dtype)()
    elements = np.array(values, dtype)
    return module.Array(module.c_array_from_buffers(of_type, len(values), [bits, elements]))


def nano_lists(module: Any, dtype: str, values: list[Any]) -> Any:
    """Make a column of lists of one length."""
    of_type = module.fixed_size_list(getattr(module, dtype)(), WIDTH)
    return module.Array(_nano_list(module, of_type, WIDTH, _nano(module, dtype, values)))


def nano_nested(module: Any, dtype: str, values: list[Any]) -> Any:
    """Make a column of lists of lists."""
    inner_type = module.fixed_size_list(getattr(module, dtype)(), NESTED[1])
    inner = _nano_list(module, inner_type, NESTED[1], _nano(module, dtype, values))
    outer_type = module.fixed_size_list(inner_type, NESTED[0])
    return module.Array(_nano_list(module, outer_type, NESTED[0], inner))


def nano_tensors(module: Any, dtype: str, values: list[Any]) -> Any:
    """Make a column of tensors."""
    storage = module.fixed_size_list(getattr(module, dtype)(), _SIZE)
    of_type = module.extension_type(storage, "arrow.fixed_shape_tensor", TENSOR.encode())
    return module.Array(_nano_list(module, of_type, _SIZE, _nano(module, dtype, values)))


def nano_bits(module: Any, _dtype: str, values: list[Any]) -> Any:
    """Make a column of bools."""
    import numpy as np

    bits = np.packbits(values, bitorder="little")
    return module.Array(module.c_array_from_buffers(module.bool_(), len(values), [None, bits]))


def nano_bytes(module: Any, _dtype: str, values: list[Any]) -> Any:
    """Make a column of bools that are bytes."""
    import numpy as np

    elements = np.array(values, "i1")
    return module.Array(module.c_array_from_buffers(module.bool8(), len(values), [None, elements]))


def nano_chunks(module: Any, dtype: str, values: list[Any]) -> Any:
    """Make a column in two chunks."""
    half = len(values) // 2
    parts = [_nano(module, dtype, part) for part in (values[:half], values[half:])]
    return module.Array.from_chunks(parts)


def _nano_elements(x: Any) -> tuple[Any, int]:
    """Return the C array below all lists, and where its elements begin [elements]."""
    nanoarrow = importlib.import_module("nanoarrow")
    found = nanoarrow.c_array(next(iter(x.iter_chunks())) if hasattr(x, "iter_chunks") else x)
    offset = found.offset
    while found.n_children:
        size = int(found.schema.format.partition(":")[2])
        found = found.child(0)
        offset = offset * size + found.offset
    return found, offset


def nano_address(x: Any) -> int:
    """Return the address of the first element of a column of nanoarrow, or of its first chunk."""
    found, offset = _nano_elements(x)
    return int(found.buffers[1] + offset * found.view().buffer(1).element_size_bits // 8)


def nano_dtype(x: Any) -> str:
    """Return the element type of a column of nanoarrow."""
    schema = importlib.import_module("nanoarrow.c_schema").c_schema_view(
        _nano_elements(x)[0].schema
    )
    if schema.extension_name == "arrow.bool8":
        return "bool"
    return _ARROW.get(schema.storage_type, str(schema.storage_type))


def nano_values(x: Any) -> list[Any]:
    """Return the elements of a column of nanoarrow, in the order of memory."""
    return flat(x.to_pylist())
