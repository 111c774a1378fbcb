"""Rows of a data set as tensors: columns of Arrow become arrays of the library of a model.

`formatted(table, library)` returns a dict of the columns, whose element types are kept, or are
those that are passed.
"""

import pyarrow as pa

import interchange as ix


def formatted(table, library, *, dtypes=None, **nulls):
    """Return the columns of a table as arrays of a library; text remains text."""
    found = {}
    for name, kind in zip(table.schema.names, table.schema.types, strict=True):
        column = table.column(name)
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            found[name] = column.to_pylist()
            continue
        dtype = (dtypes or {}).get(name)
        if column.num_chunks > 1:
            column = column.combine_chunks()
        try:
            x = ix.from_arrow(column, **nulls)
        except ix.UnsupportedDTypeError:  # lists of several lengths
            x = ix.from_arrow(column, ragged="arrays", **nulls)
        made = [
            ix.convert(
                one if dtype is None else one.astype(dtype),
                library,
                copy=library != "numpy" or None,
            )
            for one in (x if isinstance(x, list) else [x])
        ]
        found[name] = made if isinstance(x, list) else made[0]
    return found
