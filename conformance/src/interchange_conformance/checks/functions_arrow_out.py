"""The function of interchange that hands arrays out as columns of Arrow, and what is in those.

Source: the rules ARROW-OUT-* and ARROW-CORE-1; the Arrow C data interface; Arrow
canonical extension types.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from interchange.abi.arrow_formats import (
    EXTENSION_METADATA,
    EXTENSION_NAME,
    NUMBERS,
)
from interchange_conformance.findings import NotApplicable, expect
from interchange_conformance.probes.opened_arrow import METHODS
from interchange_conformance.registry import area

from ._columns import tensor_of
from ._refusals import described, expect_refusal, granted
from ._sent_columns import array_of, expect_shared, need_native, sent

if TYPE_CHECKING:
    from collections.abc import Callable

    from interchange_conformance.probes.under_test import FunctionsUnderTest
    from interchange_conformance.registry import Decorator

    from ._refusals import Wrong

check: Decorator = area("functions")

_SOURCE: Final = "interchange, its rule book"
_TENSOR: Final = "Arrow canonical extension types, Fixed shape tensor"

# ---------------------------------------------------------------- the core


CALLS: Final[dict[str, Wrong]] = {
    "array": (lambda ix: ix.to_arrow(bytearray(2)), (NotImplementedError,)),
    "table": (lambda ix: ix.to_arrow({"x": bytearray(2)}), (NotImplementedError,)),
}


@check("ARROW-CORE-1", source=_SOURCE, cases=CALLS)
def columns_go_out_by_the_native_core(functions: FunctionsUnderTest, case: Wrong) -> None:
    """Where the core in use is the readable one, to_arrow() is a NotImplementedError.

    Raise BackendUnavailableError with ARROW-CORE-1.
    """
    if functions.namespace.core_name == "native":
        raise NotApplicable("this core has callbacks of its own")
    expect_refusal(functions, "ARROW-CORE-1", case)


# ---------------------------------------------------------------- numbers


def _elements(dtype: str) -> Callable[[Any], Any]:
    """Return what makes an array of a type and hands it out."""
    return lambda ix: ix.to_arrow(array_of(ix, (4,), dtype))


def _described(shape: tuple[int, ...], **keywords: Any) -> Callable[[Any], Any]:
    """Return what hands out an array without elements, of a shape."""
    return lambda ix: ix.to_arrow(ix.from_pointer(0, shape, "int8"), **keywords)


NO_COLUMNS: Final[dict[str, Wrong]] = {
    **{
        name.replace("_", "-"): (_elements(name), (BufferError,))
        for name in ("complex64", "complex128", "bfloat16", "float8_e4m3fn", "float8_e5m2")
    },
    "no-axes": (lambda ix: ix.to_arrow(array_of(ix, (4,))[0, ...]), (ValueError,)),
    "no-axes-for-tensors": (
        lambda ix: ix.to_arrow(array_of(ix, (4,)), kind="tensor"), (ValueError,)
    ),
    "lists-too-long": (_described((0, 2**31)), (ValueError,)),
    "tensors-too-large": (_described((0, 2**16, 2**16), kind="tensor"), (ValueError,)),
    "in-a-table": (lambda ix: ix.to_arrow({"x": array_of(ix, (4,), "complex64")}), (BufferError,)),
}  # fmt: skip


@check("ARROW-OUT-1", source=_SOURCE, cases=NO_COLUMNS)
def arrays_that_are_no_columns_are_refused(functions: FunctionsUnderTest, case: Wrong) -> None:
    """to_arrow() refuses elements that Arrow has no type for, and arrays without an axis for them.

    Raise UnsupportedDTypeError, and ViewError for the shape, with ARROW-OUT-1.
    """
    need_native(functions.namespace)
    expect_refusal(functions, "ARROW-OUT-1", case)


FORMATS: Final[dict[str, tuple[str, str, str]]] = {
    **{name: (name, text, "array") for text, name in NUMBERS.items()},
    "bool": ("bool", "c", "array"),
    **{kind: ("float32", "f", kind) for kind in METHODS if kind != "array"},
    "bool-in-a-stream": ("bool", "c", "stream"),
}  # fmt: skip
"""Name -> element type, format string, and the method that is asked."""


@check("ARROW-OUT-1", source=f"{_SOURCE}; Arrow C data interface", cases=FORMATS)
def numbers_go_out_where_they_are(
    functions: FunctionsUnderTest, case: tuple[str, str, str]
) -> None:
    """to_arrow() gives a column of the array's numbers, at their address; bools as arrow.bool8.

    Let the buffer be the array's memory, with no nulls in it.
    """
    dtype, text, by = case
    array = array_of(functions.namespace, (4,), dtype)
    column = sent(functions, array, by)
    said = column.extension.get(EXTENSION_NAME)
    due = [int(one) if dtype == "bool" else one for one in array.tolist()]

    expect(column.type.text == text, f"{dtype} has the format {column.type.text!r}, due: {text!r}")
    is_named = said == (b"arrow.bool8" if dtype == "bool" else None)
    expect(is_named, f"{dtype} is of the extension {said!r}")
    expect(column.values == due, f"{dtype} holds {column.values}, due: {due}")
    expect_shared(array, column.node)


# ---------------------------------------------------------------- lists

_COPY: Final = (BufferError, ValueError)

APART: Final[dict[str, Wrong]] = {
    "every-other": (lambda ix: ix.to_arrow(array_of(ix, (6,))[::2]), _COPY),
    "backwards": (lambda ix: ix.to_arrow(array_of(ix, (6,))[::-1]), _COPY),
    "transposed": (lambda ix: ix.to_arrow(array_of(ix, (2, 3)).T), _COPY),
    "part-of-rows": (lambda ix: ix.to_arrow(array_of(ix, (2, 3))[:, 1:]), _COPY),
    "tensors-apart": (
        lambda ix: ix.to_arrow(array_of(ix, (2, 3, 4))[:, :, ::2], kind="tensor"), _COPY
    ),
    "tensors-along-the-last": (
        lambda ix: ix.to_arrow(array_of(ix, (2, 3, 4)).permute_dims((2, 0, 1)), kind="tensor"),
        _COPY,
    ),
    "in-a-table": (lambda ix: ix.to_arrow({"x": array_of(ix, (2, 3))[:, 0]}), _COPY),
}  # fmt: skip


@check("ARROW-OUT-2", source=_SOURCE, cases=APART)
def elements_that_lie_apart_are_refused(functions: FunctionsUnderTest, case: Wrong) -> None:
    """to_arrow() refuses arrays whose elements are not in the order of their axes, side by side.

    Raise CopyNeededError with ARROW-OUT-2; copy nothing.
    """
    need_native(functions.namespace)
    expect_refusal(functions, "ARROW-OUT-2", case)


ROWS: Final[dict[str, tuple[tuple[int, ...], int]]] = {
    "rows": ((4, 3), 0),
    "last-rows": ((4, 3), 2),
    "tables": ((3, 2, 4), 1),
    "rows-of-one": ((4, 1), 0),
    "no-rows": ((0, 3), 0),
    "rows-of-none": ((2, 0), 0),
}
"""Name -> shape of the array, and from which row on it goes out."""


@check(
    "ARROW-OUT-2", source=f"{_SOURCE}; Arrow columnar format, Fixed-Size List Layout", cases=ROWS
)
def further_axes_go_out_as_lists(
    functions: FunctionsUnderTest, case: tuple[tuple[int, ...], int]
) -> None:
    """to_arrow() gives fixed-size lists for the axes after the first, nested, at their address.

    Let the first axis count the elements of the column, and each further one be a level of lists.
    """
    shape, start = case
    array = array_of(functions.namespace, shape)[start:]
    column = sent(functions, array)
    formats = list(_formats(column.type))
    due = [*(f"+w:{extent}" for extent in shape[1:]), "f"]

    expect(formats == due, f"shape {shape} has the formats {formats}, due: {due}")
    expect(column.values == array.tolist(), f"it holds {column.values}, due: {array.tolist()}")
    if array.size:
        expect_shared(array, column.node)


def _formats(one: Any) -> Any:
    """Yield the formats of all levels of lists."""
    yield one.text
    for child in one.children[:1]:
        yield from _formats(child)


# ---------------------------------------------------------------- tables

UNEVEN: Final[dict[str, Wrong]] = {
    "lengths": (
        lambda ix: ix.to_arrow({"x": array_of(ix, (4,)), "y": array_of(ix, (3,))}), (ValueError,)
    ),
    "rows": (
        lambda ix: ix.to_arrow({"x": array_of(ix, (4,)), "y": array_of(ix, (3, 4))}), (ValueError,)
    ),
    "devices": (
        lambda ix: ix.to_arrow({"x": described(ix), "y": described(ix, device="cuda:0")}),
        (ValueError,),
    ),
}  # fmt: skip


@check("ARROW-OUT-3", source=_SOURCE, cases=UNEVEN)
def tables_of_uneven_columns_are_refused(functions: FunctionsUnderTest, case: Wrong) -> None:
    """to_arrow() refuses tables whose columns differ in length, or in device.

    Raise ViewError with ARROW-OUT-3.
    """
    need_native(functions.namespace)
    expect_refusal(functions, "ARROW-OUT-3", case)


@check("ARROW-OUT-3", source=f"{_SOURCE}; Arrow C data interface, Record batches",
       cases={kind: kind for kind in METHODS})  # fmt: skip
def tables_have_their_columns_by_name(functions: FunctionsUnderTest, case: str) -> None:
    """to_arrow() of several arrays by name gives a struct that has each as a column.

    Keep the order and the names.
    """
    ix = functions.namespace
    arrays = {"rows": array_of(ix, (4, 3)), "label": array_of(ix, (4,), "int64")}
    column = sent(functions, arrays, case)
    names = [child.name for child in column.type.children if child is not None]
    rows = zip(*(array.tolist() for array in arrays.values()), strict=True)
    due = [dict(zip(arrays, row, strict=True)) for row in rows]

    expect(column.type.text == "+s", f"a table has the format {column.type.text!r}")
    expect(names == [b"rows", b"label"], f"the columns are {names}, due: {list(arrays)}")
    expect(column.values == due, f"the table holds {column.values}, due: {due}")
    for array, child in zip(arrays.values(), column.node.children, strict=True):
        expect_shared(array, child)  # type: ignore[arg-type]


# ---------------------------------------------------------------- tensors

AXES: Final = {
    "plain": (0, 1, 2, 3),
    "swapped": (0, 1, 3, 2),
    "turned": (0, 2, 3, 1),
    "turned-back": (0, 3, 1, 2),
}
"""Name -> the axes of an array, in the order in which it goes out."""


@check("ARROW-TENSOR-1", source=_TENSOR, cases=AXES)
def tensors_go_out_with_their_permutation(
    functions: FunctionsUnderTest, case: tuple[int, ...]
) -> None:
    """to_arrow(kind="tensor") gives tensors of the array's elements, whose axes it says in order.

    Write the shape as it lies in memory; axis i of a tensor is axis permutation[i] of that.
    """
    array = array_of(functions.namespace, (2, 2, 3, 4)).permute_dims(case)
    column = sent(functions, array, kind="tensor")
    said = column.extension
    name, metadata = said.get(EXTENSION_NAME), said.get(EXTENSION_METADATA, b"")
    expect(name == b"arrow.fixed_shape_tensor", f"tensors are of the extension {name!r}")
    form = granted(lambda: json.loads(metadata), f"reading {metadata!r} as JSON")
    shape = tuple(form["shape"])
    order = form.get("permutation", range(len(shape)))
    expect(sorted(order) == list(range(len(shape))), f"no permutation is in {metadata!r}")
    rows = [tensor_of(row, shape, order)[1] for row in column.values]

    expect(rows == array.tolist(), f"by {metadata!r} it holds {rows}, due: {array.tolist()}")
    expect_shared(array, column.node)
