"""The function of interchange that takes columns of Arrow: numbers, bools and tensors.

Source: the rules ARROW-TYPE-* and ARROW-BOOL-1; Arrow canonical extension types.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from interchange_conformance.findings import expect
from interchange_conformance.registry import area
from interchange_conformance.zoo import arrow

from ._columns import (
    cases_of,
    expect_refused,
    first_address,
    listed,
    need_columns,
    taken,
    taking,
    tensor_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from interchange_conformance.probes.under_test import FunctionsUnderTest
    from interchange_conformance.registry import Decorator

    from ._refusals import Wrong

    Make = Callable[[], arrow.Source]

check: Decorator = area("functions")

_SOURCE: Final = "interchange, its rule book"


# ---------------------------------------------------------------- numbers

WIDTHS: Final = {
    **cases_of("ARROW-TYPE-1"),
    "texts-in-lists": taking(
        lambda: arrow.ArraySource(
            arrow.Field("+w:2", children=(arrow.texts().field,)),
            (arrow.Chunk(2, 0, 0, (None,), arrow.texts().chunks),),
        )
    ),
    "stream": taking(lambda: arrow.texts().as_stream()),
    "with-storage": taking(arrow.ragged, storage=True),
}


@check("ARROW-TYPE-1", source=_SOURCE, cases=WIDTHS)
def elements_of_no_one_width_are_refused(functions: FunctionsUnderTest, case: Wrong) -> None:
    """from_arrow() refuses strings, lists of any length, tables of several columns.

    Raise UnsupportedDTypeError with ARROW-TYPE-1.
    """
    expect_refused(functions, "ARROW-TYPE-1", case)


_BYTES: Final = ([2, 3], [4, 5], [6, 7])

SHARED: Final[dict[str, tuple[Make, str]]] = {
    **{
        name: (partial(arrow.numbers, name, 5, offset=2), name)
        for name in arrow.columns.FORMATS
    },
    "lists": (lambda: arrow.lists("int16", (4, 3), offset=2, child_offset=1), "int16"),
    "lists-in-lists": (lambda: arrow.lists("float64", (3, 2, 4), offset=1), "float64"),
    "lists-of-one": (lambda: arrow.lists(shape=(4, 1)), "float32"),
    "bytes": (
        lambda: arrow.numbers("uint8", 8).but(
            format="w:2", chunk={"length": 3, "offset": 1}, values=_BYTES
        ),
        "uint8",
    ),
    "empty": (lambda: arrow.numbers(length=0), "float32"),
    "stream": (lambda: arrow.numbers(offset=1).as_stream(), "float32"),
    "on-the-host": (lambda: arrow.numbers(offset=1).as_device_array(), "float32"),
}  # fmt: skip
"""Name -> what makes a column of numbers, and their type."""


@check("ARROW-TYPE-1", source=_SOURCE, cases=SHARED)
def columns_of_numbers_are_shared(functions: FunctionsUnderTest, case: tuple[Make, str]) -> None:
    """from_arrow() gives the numbers of a column where they are, with lists as axes.

    Add the offsets of all levels to the address of the buffer; copy nothing.
    """
    need_columns()
    make, dtype = case
    source = make()
    array = taken(functions, source)
    due = listed(source.values)

    expect(array.dtype.name == dtype, f"{source} came in as {array.dtype.name}, due: {dtype}")
    expect(array.tolist() == due, f"{source} came in as {array.tolist()}, due: {due}")
    first = first_address(source, array.itemsize)
    expect(not due or array.ptr == first, f"{source} begins at {first:#x}, not {array.ptr:#x}")


@check("ARROW-RO-1", source="Arrow C data interface, Mutability")
def columns_come_in_read_only(functions: FunctionsUnderTest) -> None:
    """from_arrow() gives an array that says that it is read-only, unless it was copied.

    Memory of Arrow is immutable: others read it.
    """
    need_columns()
    source = arrow.numbers()
    found = taken(functions, source).readonly, taken(functions, source, copy=True).readonly

    expect(found == (True, False), f"shared and copied columns are read-only: {found}")


STANDING: Final = {
    **cases_of("ARROW-TYPE-2"),
    "times": taking(lambda: arrow.numbers("int32").but(format="tts")),
    "dates-in-lists": taking(lambda: arrow.lists("int32").at((0,), format="tdD")),
    "stream": taking(lambda: arrow.dictionary().as_stream()),
}


@check("ARROW-TYPE-2", source=_SOURCE, cases=STANDING)
def what_stands_for_something_else_is_refused(functions: FunctionsUnderTest, case: Wrong) -> None:
    """from_arrow() gives no integers for times, values of a dictionary or unknown extensions.

    Raise UnsupportedDTypeError with ARROW-TYPE-2, unless storage=True.
    """
    expect_refused(functions, "ARROW-TYPE-2", case)


_SIX: Final = [0, 1, 2, 3, 4, 5]

STORED: Final[dict[str, tuple[Make, str, list[int]]]] = {
    "dates": (lambda: arrow.numbers("int32").but(format="tdD"), "int32", _SIX),
    "timestamps": (lambda: arrow.numbers("int64").but(format="tsu:UTC"), "int64", _SIX),
    "durations": (lambda: arrow.numbers("int64").but(format="tDn"), "int64", _SIX),
    "dictionary": (arrow.dictionary, "int32", [0, 1, 1, 0]),
    "extension": (
        lambda: arrow.numbers("uint16").but(metadata=arrow.extension("mylib.metres")),
        "uint16",
        _SIX,
    ),
    "bytes-of-bool": (arrow.bytes_of_bool, "int8", [1, 0, 1, 1]),
    "numbers": (lambda: arrow.numbers("int8"), "int8", _SIX),
}
"""Name -> what makes a column, the type of what is stored, and that."""


@check("ARROW-TYPE-2", source=_SOURCE, cases=STORED)
def what_is_stored_comes_in_on_request(
    functions: FunctionsUnderTest, case: tuple[Make, str, list[int]]
) -> None:
    """With storage=True, from_arrow() shares what is stored, whatever it stands for.

    Take the numbers as they are.
    """
    need_columns()
    make, dtype, due = case
    source = make()
    array = taken(functions, source, storage=True)
    found = (array.dtype.name, array.tolist())
    first = first_address(source, array.itemsize)

    expect(found == (dtype, due), f"{source} came in as {found}, due: {(dtype, due)}")
    expect(array.ptr == first, f"{source} begins at {first:#x}, not {array.ptr:#x}")


# ---------------------------------------------------------------- bools

_ODD: Final = (0, 1, 77, 255)

BITS: Final = {
    "bits": taking(arrow.bools, BufferError, ValueError, copy=False),
    "bits-of-a-stream": taking(
        lambda: arrow.bools().as_stream(), BufferError, ValueError, copy=False
    ),
    "bytes-not-0-or-1": taking(partial(arrow.bytes_of_bool, _ODD)),
    "bytes-not-to-be-copied": taking(partial(arrow.bytes_of_bool, _ODD), copy=False),
}


@check("ARROW-BOOL-1", source=f"{_SOURCE}; Arrow columnar format", cases=BITS)
def bools_that_need_a_copy_are_refused(functions: FunctionsUnderTest, case: Wrong) -> None:
    """from_arrow() refuses bits with copy=False, and bytes other than 0 and 1 without copy=True.

    Raise CopyNeededError, and ExchangeError for such bytes, with ARROW-BOOL-1.
    """
    expect_refused(functions, "ARROW-BOOL-1", case)


_NINETEEN: Final = [place % 3 == 0 for place in range(19)]

BOOLS: Final[dict[str, tuple[Make, dict[str, Any], bool]]] = {
    "bits": (partial(arrow.bools, _NINETEEN), {}, False),
    "bits-behind-an-offset": (partial(arrow.bools, _NINETEEN, offset=5), {}, False),
    "bytes": (arrow.bytes_of_bool, {}, True),
    "bytes-not-to-be-copied": (arrow.bytes_of_bool, {"copy": False}, True),
    "bytes-not-0-or-1": (partial(arrow.bytes_of_bool, _ODD), {"copy": True}, False),
}
"""Name -> what makes bools, keywords, and whether the memory is shared."""


@check("ARROW-BOOL-1", source=f"{_SOURCE}; Arrow canonical extension types, 8-bit Boolean",
       cases=BOOLS)  # fmt: skip
def bools_come_in_as_bytes_of_0_and_1(
    functions: FunctionsUnderTest, case: tuple[Make, dict[str, Any], bool]
) -> None:
    """from_arrow() gives bools of a byte each, and shares those of arrow.bool8.

    Spread bits, the lowest of a byte first; make 1 of each byte that is not 0.
    """
    need_columns()
    make, keywords, shared = case
    source = make()
    array = taken(functions, source, **keywords)
    expect(array.dtype.name == "bool", f"{source} came in as {array.dtype.name}, due: bool")
    found, due = array.view("uint8").tolist(), list(map(int, source.values))

    expect(found == due, f"{source} came in as the bytes {found}, due: {due}")
    is_there = array.ptr == source.chunks[0].buffers[1]
    expect(is_there == shared, f"{source} was {'' if is_there else 'not '}shared")


# ---------------------------------------------------------------- tensors


@check("ARROW-TENSOR-1", source="Arrow canonical extension types, Fixed shape tensor",
       cases=cases_of("ARROW-TENSOR-1"))  # fmt: skip
def tensors_that_are_none_are_refused(functions: FunctionsUnderTest, case: Wrong) -> None:
    """from_arrow() refuses metadata of arrow.fixed_shape_tensor that describe no tensor.

    Raise ExchangeError with ARROW-TENSOR-1: read the JSON, and hold it against the list.
    """
    expect_refused(functions, "ARROW-TENSOR-1", case)


TENSORS: Final[dict[str, tuple[int, ...] | None]] = {
    "plain": None,
    "in-order": (0, 1, 2),
    "swapped": (0, 2, 1),
    "turned": (2, 0, 1),
    "turned-back": (1, 2, 0),
}


@check("ARROW-TENSOR-1", source="Arrow canonical extension types, Fixed shape tensor",
       cases=TENSORS)  # fmt: skip
def tensors_have_the_axes_that_they_say(
    functions: FunctionsUnderTest, case: tuple[int, ...] | None
) -> None:
    """from_arrow() gives tensors the axes of their shape, in the order of their permutation.

    Axis i is axis permutation[i] of the memory, which is shared.
    """
    need_columns()
    shape = (4, 2, 3)
    source = arrow.tensors("int16", (2, *shape), permutation=case)
    array = taken(functions, source)
    rows = [tensor_of(row, shape, case or (0, 1, 2)) for row in source.values]
    found, due = (array.shape, array.tolist()), ((2, *rows[0][0]), [row for _, row in rows])
    first = first_address(source, array.itemsize)

    expect(found == due, f"the permutation {case} gave {found}, due: {due}")
    expect(array.ptr == first, f"{source} begins at {first:#x}, not {array.ptr:#x}")
