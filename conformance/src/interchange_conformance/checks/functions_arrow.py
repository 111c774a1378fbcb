"""The functions of interchange for columns of Arrow: what they refuse, and what they give.

Source: interchange, its rules ARROW-*; the Arrow C data interface; the canonical extension types.
"""

from __future__ import annotations

import ctypes
import functools
import json
import operator
from typing import TYPE_CHECKING, Any, Final

from interchange.abi.arrow_formats import EXTENSION_METADATA, EXTENSION_NAME, decode_metadata
from interchange_conformance.emucuda.building import CannotBuildError
from interchange_conformance.findings import NotApplicable, expect
from interchange_conformance.probes.opened_arrow import Opened
from interchange_conformance.registry import area
from interchange_conformance.zoo import arrow

from ._refusals import expect_refusal, granted

if TYPE_CHECKING:
    from collections.abc import Callable

    from interchange_conformance.probes.under_test import FunctionsUnderTest
    from interchange_conformance.registry import Decorator

    from ._refusals import Wrong

check: Decorator = area("functions")

_SOURCE: Final = "interchange, its rule book"
_EXTENSIONS: Final = "Arrow, canonical extension types"


def _from(make: Callable[[], arrow.Source], **keywords: Any) -> Any:
    """Return what imports a column."""

    def call(ix: Any) -> Any:
        return ix.from_arrow(made(make), **keywords)

    return call


def made(make: Callable[[], arrow.Source]) -> arrow.Source:
    """Return a column of the zoo.

    Raises
    ------
    NotApplicable
        There is no compiler for its callbacks.
    """
    source = make()
    try:
        arrow.numbers().as_schema().__arrow_c_schema__()
    except CannotBuildError as error:
        raise NotApplicable(str(error)) from error
    return source


def _of_rule(rule: str, *kinds: type[BaseException]) -> dict[str, Wrong]:
    """Return the columns of the zoo that are refused by a rule."""
    return {
        name: (_from(case.make), kinds) for name, case in arrow.zoo().items() if case.rule == rule
    }


def _expect(found: Any, due: Any, what: str) -> None:
    """Raise `Found` unless two things are equal."""
    expect(found == due, f"{what} gave {found!s:.300}, due: {due!s:.300}")


# ---------------------------------------------------------------- nulls

NULLS: Final = _of_rule("ARROW-NULL-2", BufferError)


@check("ARROW-NULL-2", source=_SOURCE, cases=NULLS)
def columns_with_nulls_are_refused(functions: FunctionsUnderTest, case: Wrong) -> None:
    """from_arrow() refuses a column with nulls, also below lists, counted or not.

    Raise ExchangeError with ARROW-NULL-2; make no numbers of nulls.
    """
    expect_refusal(functions, "ARROW-NULL-2", case)


_SEPARATE: Final[dict[str, tuple[Callable[[], arrow.Source], Any, Any]]] = {
    "numbers": (lambda: arrow.numbers("int32", 4, offset=1, nulls=[2]), [1, 2, 3, 4],
                [True, True, False, True]),
    "no-nulls": (lambda: arrow.numbers("int32", 3), [0, 1, 2], [True] * 3),
    "lists": (lambda: arrow.lists("int32", (2, 2), nulls=[1], child_nulls=[0]),
              [[0, 1], [2, 3]], [[False, True], [False, False]]),
    "bools": (lambda: arrow.bools([1, 0, 1], nulls=[2], offset=5), [True, False, True],
              [True, True, False]),
}  # fmt: skip


@check("ARROW-NULL-2", source=_SOURCE, cases=_SEPARATE)
def nulls_are_given_apart(functions: FunctionsUnderTest, case: Any) -> None:
    """from_arrow(nulls="separate") gives the data, and a mask that is True where there is a value.

    Expand the bits of every level, from its offset on, to bools of the shape of the data.
    """
    make, data, mask = case
    source = made(make)
    found = granted(lambda: functions.namespace.from_arrow(source, nulls="separate"), "from_arrow")

    _expect((found[0].tolist(), found[1].tolist()), (data, mask), 'from_arrow(nulls="separate")')


LIES: Final = _of_rule("ARROW-NULL-1", BufferError)


@check("ARROW-NULL-1", source="Arrow C data interface, ArrowArray.null_count", cases=LIES)
def null_counts_that_lie_are_refused(functions: FunctionsUnderTest, case: Wrong) -> None:
    """from_arrow() refuses a null_count that is not the number of nulls.

    Count the bits, raise ExchangeError with ARROW-NULL-1.
    """
    expect_refusal(functions, "ARROW-NULL-1", case)


# ---------------------------------------------------------------- types

WIDTHLESS: Final = _of_rule("ARROW-TYPE-1", BufferError)


@check("ARROW-TYPE-1", source=_SOURCE, cases=WIDTHLESS)
def elements_without_one_width_are_refused(functions: FunctionsUnderTest, case: Wrong) -> None:
    """from_arrow() refuses strings, lists of different lengths and tables of several columns.

    Raise UnsupportedDTypeError with ARROW-TYPE-1.
    """
    expect_refusal(functions, "ARROW-TYPE-1", case)


STANDING: Final = _of_rule("ARROW-TYPE-2", BufferError)


@check("ARROW-TYPE-2", source=_SOURCE, cases=STANDING)
def what_stands_for_something_else_is_refused(functions: FunctionsUnderTest, case: Wrong) -> None:
    """from_arrow() refuses dates, times, dictionaries and extensions that it does not know.

    Raise UnsupportedDTypeError with ARROW-TYPE-2: the integers are not what the column holds.
    """
    expect_refusal(functions, "ARROW-TYPE-2", case)


_STORED: Final[dict[str, tuple[Callable[[], arrow.Source], str, Any]]] = {
    "dates": (lambda: arrow.numbers("int32").but(format="tdD"), "int32", [0, 1, 2, 3, 4, 5]),
    "timestamps": (lambda: arrow.numbers("int64").but(format="tsu:UTC"), "int64",
                   [0, 1, 2, 3, 4, 5]),
    "dictionary": (arrow.dictionary, "int32", [0, 1, 1, 0]),
    "extension": (lambda: arrow.numbers("int16").but(metadata=arrow.extension("mylib.metres")),
                  "int16", [0, 1, 2, 3, 4, 5]),
}  # fmt: skip


@check("ARROW-TYPE-2", source=_SOURCE, cases=_STORED)
def what_is_stored_is_given_on_request(functions: FunctionsUnderTest, case: Any) -> None:
    """from_arrow(storage=True) gives the integers of dates and dictionaries, shared.

    Describe the buffer of the array by its format.
    """
    make, dtype, due = case
    source = made(make)
    array = granted(lambda: functions.namespace.from_arrow(source, storage=True), "from_arrow")

    found = (array.dtype.name, array.tolist(), array.ptr)
    _expect(found, (dtype, due, source.chunks[0].buffers[1]), "from_arrow(storage=True)")


# ---------------------------------------------------------------- bools and chunks

BITS: Final[dict[str, Wrong]] = {
    "bits": (_from(arrow.bools, copy=False), (BufferError, ValueError)),
    "bits-with-offset": (_from(lambda: arrow.bools(offset=3), copy=False),
                         (BufferError, ValueError)),
}  # fmt: skip


@check("ARROW-BOOL-1", source=_SOURCE, cases=BITS)
def bits_are_not_shared(functions: FunctionsUnderTest, case: Wrong) -> None:
    """from_arrow(copy=False) refuses bools that are bits.

    Raise CopyNeededError with ARROW-BOOL-1.
    """
    expect_refusal(functions, "ARROW-BOOL-1", case)


_BOOLS: Final[dict[str, tuple[Callable[[], arrow.Source], bool]]] = {
    "bits": (arrow.bools, False),
    "bits-with-offset": (lambda: arrow.bools([1, 0, 1, 1, 0, 0, 1, 0, 1], offset=11), False),
    "bytes": (arrow.bytes_of_bool, True),
}


@check("ARROW-BOOL-1", source=f"{_EXTENSIONS}, 8-bit Boolean", cases=_BOOLS)
def bools_become_bytes(functions: FunctionsUnderTest, case: Any) -> None:
    """from_arrow() gives bools as bytes, by a copy of bits, and shared where they are bytes.

    Read the lowest bit of a byte first, from the offset on; arrow.bool8 is there as it is.
    """
    make, is_shared = case
    source = made(make)
    array = granted(lambda: functions.namespace.from_arrow(source), "from_arrow()")

    found = (array.dtype.name, array.tolist())
    _expect(found, ("bool", list(source.values)), "from_arrow()")
    shares = array.ptr == source.chunks[0].buffers[1]
    expect(shares == is_shared, f"the memory is {'' if shares else 'not '}shared")


def _chunks() -> arrow.Source:
    """Return a stream of several chunks."""
    return arrow.chunked(arrow.numbers("int32", 2), arrow.numbers("int32", 3)).as_stream()


CHUNKS: Final[dict[str, Wrong]] = {
    "any": (_from(_chunks), (BufferError, ValueError)),
    "no-copy": (_from(_chunks, copy=False), (BufferError, ValueError)),
}


@check("ARROW-CHUNK-1", source=_SOURCE, cases=CHUNKS)
def several_chunks_are_refused(functions: FunctionsUnderTest, case: Wrong) -> None:
    """from_arrow() refuses several chunks, unless copy=True.

    Raise CopyNeededError with ARROW-CHUNK-1.
    """
    expect_refusal(functions, "ARROW-CHUNK-1", case)


@check("ARROW-CHUNK-1", source=_SOURCE)
def several_chunks_are_joined_by_a_copy(functions: FunctionsUnderTest) -> None:
    """from_arrow(copy=True) gives all chunks as one array, and releases them.

    Copy one after the other.
    """
    source = made(_chunks)
    array = granted(lambda: functions.namespace.from_arrow(source, copy=True), "from_arrow()")

    _expect(array.tolist(), [0, 1, 0, 1, 2], "from_arrow(copy=True)")
    _expect(source.counts, source.due, "the number of releases")


@check("ARROW-RO-1", source="Arrow C data interface, Mutability")
def columns_come_in_read_only(functions: FunctionsUnderTest) -> None:
    """from_arrow() gives an array that says that it is read-only, unless it was copied.

    Memory of Arrow is immutable: others read it.
    """
    ix, source = functions.namespace, made(arrow.numbers)
    shared = granted(lambda: ix.from_arrow(source), "from_arrow()")
    copied = granted(lambda: ix.from_arrow(source, copy=True), "from_arrow(copy=True)")

    _expect((shared.readonly, copied.readonly), (True, False), "read-only")
    _expect(shared.ptr, source.chunks[0].buffers[1], "the address")


# ---------------------------------------------------------------- tensors

TENSORS: Final = _of_rule("ARROW-TENSOR-1", BufferError)


@check("ARROW-TENSOR-1", source=f"{_EXTENSIONS}, Fixed shape tensor", cases=TENSORS)
def tensors_that_are_none_are_refused(functions: FunctionsUnderTest, case: Wrong) -> None:
    """from_arrow() refuses tensors whose parameters do not fit the lists.

    Raise ExchangeError with ARROW-TENSOR-1.
    """
    expect_refusal(functions, "ARROW-TENSOR-1", case)


_SHAPES: Final[dict[str, tuple[Any, Any]]] = {
    "plain": (None, [[[0, 1, 2], [3, 4, 5]], [[6, 7, 8], [9, 10, 11]]]),
    "permuted": ((1, 0), [[[0, 3], [1, 4], [2, 5]], [[6, 9], [7, 10], [8, 11]]]),
}


@check("ARROW-TENSOR-1", source=f"{_EXTENSIONS}, Fixed shape tensor", cases=_SHAPES)
def tensors_have_their_shape(functions: FunctionsUnderTest, case: Any) -> None:
    """from_arrow() gives tensors the shape of their parameters, with the axes permuted.

    Axis i of the tensor is axis permutation[i] of what lies in memory.
    """
    permutation, due = case
    source = made(lambda: arrow.tensors("int32", (2, 2, 3), permutation=permutation))
    array = granted(lambda: functions.namespace.from_arrow(source), "from_arrow()")

    _expect(array.tolist(), due, "from_arrow()")


@check("ARROW-TENSOR-1", source=f"{_EXTENSIONS}, Fixed shape tensor")
def arrays_go_out_as_tensors(functions: FunctionsUnderTest) -> None:
    """to_arrow(kind="tensor") gives lists whose metadata say the shape of the axes after the first.

    Write ARROW:extension:name, and the shape as JSON.
    """
    ix = functions.namespace
    need_native(ix)
    array = ix.from_buffer(bytearray(range(24)), dtype="uint8", shape=(4, 2, 3))
    column = granted(lambda: ix.to_arrow(array, kind="tensor"), 'to_arrow(kind="tensor")')
    opened = Opened(column.__arrow_c_array__(), "array")

    pairs = decode_metadata(opened.type.metadata or 0)
    said = json.loads(pairs.get(EXTENSION_METADATA, b"{}"))
    found = (pairs.get(EXTENSION_NAME), said.get("shape"), opened.type.text)
    _expect(found, (b"arrow.fixed_shape_tensor", [2, 3], "+w:6"), "the schema")
    _expect(functools.reduce(operator.iadd, opened.column(), []), list(range(24)), "the elements")


# ---------------------------------------------------------------- out


def need_native(ix: Any) -> None:
    """Raise `NotApplicable` where the core in use exports nothing."""
    if ix.core_name != "native":
        raise NotApplicable("this core exports no Arrow")


OUT: Final[dict[str, Wrong]] = {
    "complex": (lambda ix: ix.to_arrow(ix.from_buffer(bytearray(16), dtype="complex64")),
                (BufferError,)),
    "bfloat16": (lambda ix: ix.to_arrow(ix.from_pointer(0, (0,), "bfloat16")), (BufferError,)),
    "float8": (lambda ix: ix.to_arrow(ix.from_pointer(0, (0,), "float8_e4m3fn")),
               (BufferError,)),
    "no-axes": (lambda ix: ix.to_arrow(ix.from_buffer(bytearray(4), dtype="float32", shape=())),
                (ValueError,)),
}  # fmt: skip


@check("ARROW-OUT-1", source=_SOURCE, cases=OUT)
def arrays_without_a_column_are_refused(functions: FunctionsUnderTest, case: Wrong) -> None:
    """to_arrow() refuses elements that Arrow has not, and arrays without an axis to count along.

    Raise an error with ARROW-OUT-1, and the view to pass.
    """
    expect_refusal(functions, "ARROW-OUT-1", case)


_NUMBERS: Final = {name: name for name in ("int8", "uint16", "float16", "float32", "int64")}


@check("ARROW-OUT-1", source=_SOURCE, cases=_NUMBERS)
def arrays_go_out_as_columns(functions: FunctionsUnderTest, case: str) -> None:
    """to_arrow() gives a column on the memory of the array, with lists for further axes.

    Copy nothing; hold the array until release.
    """
    ix = functions.namespace
    need_native(ix)
    array = ix.from_buffer(bytearray(48 * 8), dtype=case, shape=(-1, 2, 3))
    opened = Opened(granted(lambda: ix.to_arrow(array), "to_arrow()").__arrow_c_array__(), "array")
    node: Any = opened.nodes[0]
    while node.children:
        node = node.children[0]

    _expect(opened.column(), array.tolist(), "to_arrow()")
    _expect(node.buffers[1], array.ptr, "the address")


APART: Final[dict[str, Wrong]] = {
    "backwards": (lambda ix: ix.to_arrow(ix.from_buffer(bytearray(8), dtype="float32")[::-1]),
                  (BufferError, ValueError)),
    "columns": (
        lambda ix: ix.to_arrow(ix.from_buffer(bytearray(6), shape=(2, 3))[:, :2]),
        (BufferError, ValueError),
    ),
}  # fmt: skip


@check("ARROW-OUT-2", source=_SOURCE, cases=APART)
def arrays_that_lie_apart_are_refused(functions: FunctionsUnderTest, case: Wrong) -> None:
    """to_arrow() refuses arrays whose elements do not lie one after the other.

    Raise CopyNeededError with ARROW-OUT-2.
    """
    expect_refusal(functions, "ARROW-OUT-2", case)


UNLIKE: Final[dict[str, Wrong]] = {
    "lengths": (
        lambda ix: ix.to_arrow({"x": bytearray(2), "y": bytearray(3)}), (ValueError,)
    ),
    "devices": (
        lambda ix: ix.to_arrow({
            "x": bytearray(2),
            "y": ix.from_pointer(4096, (2,), "uint8", device="cuda:0"),
        }),
        (ValueError,),
    ),
}  # fmt: skip


@check("ARROW-OUT-3", source="Arrow C data interface, Record batches", cases=UNLIKE)
def columns_that_make_no_table_are_refused(functions: FunctionsUnderTest, case: Wrong) -> None:
    """to_arrow() refuses a table whose columns have different lengths, or are on different devices.

    Raise ViewError with ARROW-OUT-3.
    """
    expect_refusal(functions, "ARROW-OUT-3", case)


@check("ARROW-CORE-1", source=_SOURCE,
       cases={name: name for name in ("__arrow_c_schema__", "__arrow_c_array__",
                                      "__arrow_c_stream__", "__arrow_c_device_array__")}
       )  # fmt: skip
def exports_need_the_native_core(functions: FunctionsUnderTest, case: str) -> None:
    """The methods of to_arrow() raise a NotImplementedError on the readable core.

    Raise BackendUnavailableError with ARROW-CORE-1, which says what to install.
    """
    if functions.namespace.core_name != "ctypes":
        raise NotApplicable("this core exports Arrow")
    block = (ctypes.c_float * 4)()

    def call(ix: Any) -> Any:
        array = ix.from_pointer(ctypes.addressof(block), (4,), "float32", owner=block)
        return getattr(ix.to_arrow(array), case)()

    expect_refusal(functions, "ARROW-CORE-1", (call, (NotImplementedError,)))
