"""`interchange_view_column`: buffers of Arrow columns of any library, and mistakes of both sides.

Source: The Arrow C data interface; Arrow columnar format; interchange/interchange.h.
"""

from __future__ import annotations

import ctypes
import subprocess
import sys

import numpy as np
import pytest

import interchange as ix
from interchange.abi import capsules
from interchange.abi.arrow import ARROW_ARRAY, ARROW_SCHEMA, ArrowArray, ArrowSchema

from .test_mistakes import START

NUMBERS = np.arange(6.0)
MISTAKES = (
    *("column of NULL", "column into NULL", "column that is filled", "release of NULL"),
    *("release of a column never filled", "release of garbage", "release after a refusal"),
    *("release of garbage that was set up", "size too small", "size too large"),
    *("version too new", "release of a copy", "release twice"),
)


def exported(x, **options):
    """Return the capsules of an exported column, and its structs, which a test may break."""
    pair = ix.to_arrow(x, **options).__arrow_c_array__()
    schema = ArrowSchema.from_address(capsules.capsule_pointer(pair[0], ARROW_SCHEMA))
    return pair, schema, ArrowArray.from_address(capsules.capsule_pointer(pair[1], ARROW_ARRAY))


@pytest.mark.parametrize(
    "dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"]
)
def test_numbers_are_given_by_address(c_api, dtype):
    """Address, element type and length of host memory, which is not copied."""
    x = np.arange(5).astype(dtype)
    with c_api.column(ix.to_arrow(x)) as found:
        assert (found.values, found.layout, found.level_count) == (x.ctypes.data, c_api.NUMBERS, 1)
        assert (found.itemsize, found.device_type, found.device_id) == (x.itemsize, 1, 0)
        kind = {"i": 0, "u": 1, "f": 2}[x.dtype.kind]
        assert (found.dtype.code, found.dtype.bits, found.dtype.lanes) == (kind, 8 * x.itemsize, 1)
        assert (found.flags, found.sync_event) == (0, None)
        level = found.levels[0]
        assert (level.length, level.null_count, level.validity, level.bit_offset) == (5, 0, None, 0)
        assert c_api.elements(found) == x.tolist()


def test_nulls_are_bits(c_api):
    """The bitmap, the place of its first bit, and the number of nulls."""
    x = np.arange(20)
    with c_api.column(ix.to_arrow(x, mask=x % 3 != 0)) as found:
        assert c_api.elements(found) == [None if i % 3 == 0 else i for i in range(20)]
        assert found.levels[0].null_count in {7, -1}


def test_an_offset_of_the_struct_is_applied(c_api):
    """Values begin at the first element, and bits at the bit of it; nulls are not counted again."""
    x = np.arange(20)
    pair, _, array = exported(x, mask=x % 3 != 0)
    array.offset, array.length, array.null_count = 4, 9, -1
    with c_api.column(pair) as found:
        assert found.levels[0].bit_offset == 4
        assert c_api.elements(found) == [None if i % 3 == 0 else i for i in range(4, 13)]


def test_lists_have_offsets_or_a_length(c_api):
    """One level each: lists of one length, lists between offsets, and lists of lists."""
    with c_api.column(ix.asarray(NUMBERS.reshape(3, 2))) as found:
        assert [found.levels[i].list_size for i in range(2)] == [2, -1]
        assert c_api.elements(found) == NUMBERS.reshape(3, 2).tolist()
    for kind, size in (("i4", 4), ("i8", 8)):
        offsets = np.array([0, 1, 1, 6], kind)
        with c_api.column(ix.to_arrow((NUMBERS, offsets))) as found:
            assert found.levels[0].offset_size == size
            assert found.levels[0].offsets == offsets.ctypes.data
            assert c_api.elements(found) == [[0.0], [], [1.0, 2.0, 3.0, 4.0, 5.0]]
    deep = (NUMBERS, np.array([0, 1, 1, 6]))
    with c_api.column(ix.to_arrow((deep, np.array([1, 3])))) as found:
        assert (found.level_count, found.levels[1].length) == (3, 3)
        assert c_api.elements(found) == [[[], [1.0, 2.0, 3.0, 4.0, 5.0]]]


def test_bools_are_bits(c_api):
    """The bits of Arrow, or, of a column of the extension type, bytes."""
    x = np.array([True, False, True] * 5)
    pair, _, array = exported(x, bools="bits")
    array.offset, array.length = 3, 10
    with c_api.column(pair) as found:
        assert (found.layout, found.dtype.bits, found.itemsize) == (c_api.BITS, 1, 0)
        assert c_api.elements(found) == x.tolist()[3:13]
    with c_api.column(ix.to_arrow(x, bools="bytes")) as found:
        assert (found.layout, found.values) == (c_api.NUMBERS, x.ctypes.data)


def test_a_column_without_elements_has_offsets(c_api):
    """Offsets are there also where the producer has none, or no chunk."""
    pair, _, array = exported((NUMBERS, np.array([0, 6])))
    array.length, array.buffers[1] = 0, None
    with c_api.column(pair) as found:
        assert c_api.elements(found) == []
        assert ctypes.c_int64.from_address(found.levels[0].offsets).value == 0


def test_memory_lives_until_the_release(c_api):
    """The producer's release is called by `column_release`, once."""
    block = bytearray(64)
    x = ix.to_arrow(np.frombuffer(block, "f8"))
    with c_api.column(x) as found:
        del x
        with pytest.raises(BufferError):
            block.append(1)
        assert found.levels[0].length == 8
    block.append(1)


def test_unaligned_numbers_are_flagged(c_api):
    """An address that is no multiple of their size."""
    block = np.zeros(41, "u1")
    pair, _, array = exported(np.zeros(5))
    array.buffers[1] = block.ctypes.data + 1
    with c_api.column(pair) as found:
        assert found.flags == c_api.UNALIGNED_COLUMN


def test_device_memory_is_given_with_its_event(c_api):
    """Address and device; offsets there are not read."""
    x = ix.from_pointer(4096, (3, 2), "float32", device="cuda:1")
    with c_api.column(x) as found:
        assert (found.values, found.device_type, found.device_id) == (4096, 2, 1)
        assert found.levels[0].list_size == 2


# ---------------------------------------------------------------- other libraries


@pytest.mark.interop
@pytest.mark.parametrize("is_known", [False, True], ids=["first", "known"])
def test_columns_of_pyarrow(c_api, need, is_known):
    """Numbers, times, texts, bytes, decimals and lists, whole or in part, first and again."""
    need("pyarrow")
    import pyarrow as pa

    lists = [[1, 2], None, [], [3, None]]
    for x, wanted in (
        (pa.array([1.5, None, 3.0]), [1.5, None, 3.0]),
        (pa.array(["a", None, "", "xyz"])[1:], [None, b"", b"xyz"]),
        (pa.array([b"ab", b"c"], pa.large_binary()), [b"ab", b"c"]),
        (pa.array([b"abc", None], pa.binary(3)), [b"abc", None]),
        (pa.array([7], pa.decimal128(5, 2)), [(700).to_bytes(16, "little")]),
        (pa.array([1, 2], pa.timestamp("us", "UTC")), [1, 2]),
        (pa.array([1, None], pa.date32()), [1, None]),
        (pa.array([1], pa.time64("ns")), [1]),
        (pa.array(lists), lists),
        (pa.array(lists, pa.large_list(pa.int8()))[1:], lists[1:]),
        (pa.array([[1, 2], None, [5, None]], pa.list_(pa.int32(), 2))[1:], [None, [5, None]]),
        (pa.array([[["a"], []], [["b", None]]])[1:], [[[b"b", None]]]),
        (pa.chunked_array([[1, 2]]), [1, 2]),
        (pa.chunked_array([], pa.list_(pa.string())), []),
    ):
        if is_known:
            with c_api.column(x):
                pass
        with c_api.column(x) as found:
            assert c_api.elements(found) == wanted


@pytest.mark.interop
def test_columns_of_polars(c_api, need):
    """A Series with nulls, by its stream of one chunk."""
    need("polars")
    import polars as pl

    with c_api.column(pl.Series([1, None, 3])) as found:
        assert c_api.elements(found) == [1, None, 3]


@pytest.mark.interop
def test_other_layouts_of_pyarrow_are_refused(c_api, need):
    """Dictionaries, run ends, views, structs, nulls, tables, and several chunks."""
    need("pyarrow")
    import pyarrow as pa

    deep = pa.array([1])
    for _ in range(8):
        deep = pa.ListArray.from_arrays([0, 1], deep)
    ends = pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int32()), pa.array([1, 2]))
    with c_api.column(deep.flatten()) as found:
        assert found.level_count == 8
    for x in (
        *(pa.array(["a"]).dictionary_encode(), ends, pa.array(["a"], pa.string_view())),
        *(pa.array([{"a": 1}]), pa.nulls(3), pa.table({"a": [1]}), deep),
        *(pa.array([[1]], pa.list_view(pa.int8())), pa.chunked_array([[1], [2]])),
        pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int8())),
    ):
        with pytest.raises(ix.UnsupportedDTypeError, match="IX-CAPI-5"):
            c_api.column(x).__enter__()


def test_what_is_no_column_is_refused(c_api):
    """Arrays of other libraries, which are no columns, and all else."""
    for x in (3, None, np.arange(3), "text"):
        with pytest.raises(ix.NoProtocolError, match="IX-PROTOCOL-1"):
            c_api.column(x).__enter__()


def test_the_error_of_a_producer_is_raised(c_api):
    """Its own exception."""

    class Failing:
        def __arrow_c_array__(self, requested_schema=None):
            raise RuntimeError("no memory of mine")

    for _ in range(2):
        with pytest.raises(RuntimeError, match="of mine"):
            c_api.column(Failing()).__enter__()


# ---------------------------------------------------------------- broken structs


def _set(**fields):
    """Return a function that changes fields of an array."""

    def change(_, array):
        for name, value in fields.items():
            setattr(array, name, value)

    return change


def _child(**fields):
    """Return a function that changes fields of the array of elements."""

    def change(_, array):
        for name, value in fields.items():
            setattr(array.children[0].contents, name, value)

    return change


def _no_buffer(place):
    """Return a function that removes a buffer."""

    def change(_, array):
        array.buffers[place] = None

    return change


def _format(text):
    """Return a function that changes the format, whose text it keeps."""
    kept = None if text is None else ctypes.create_string_buffer(text)

    def change(schema, _):
        schema.format = None if kept is None else ctypes.addressof(kept)

    return change


LISTS = (NUMBERS, np.array([0, 1, 6]))


@pytest.mark.parametrize(
    ("x", "change", "rule"),
    [
        (NUMBERS, _set(length=-1), "ARROW-LENGTH-1"),
        (NUMBERS, _set(offset=-1), "ARROW-LENGTH-1"),
        (NUMBERS, _set(offset=2**63 - 1), "ARROW-LENGTH-1"),
        (NUMBERS, _set(offset=2**62), "ARROW-LENGTH-1"),
        (NUMBERS, _set(null_count=7), "ARROW-NULL-1"),
        (NUMBERS, _set(null_count=-2), "ARROW-NULL-1"),
        (NUMBERS, _set(null_count=2), "ARROW-BUFFER-1"),
        (NUMBERS, _set(n_buffers=1), "ARROW-FORMAT-2"),
        (NUMBERS, _set(n_children=1), "ARROW-FORMAT-2"),
        (NUMBERS, _no_buffer(1), "ARROW-BUFFER-1"),
        (NUMBERS, _format(None), "ARROW-FORMAT-1"),
        (NUMBERS, _format(b""), "IX-CAPI-5"),
        (NUMBERS, _format(b"w:0"), "IX-CAPI-5"),
        (NUMBERS, _format(b"w:99999999999999999999"), "IX-CAPI-5"),
        (NUMBERS, _format(b"d:1"), "IX-CAPI-5"),
        (NUMBERS, _format(b"tdX"), "IX-CAPI-5"),
        (NUMBERS, _format(b"+l"), "ARROW-FORMAT-2"),
        (NUMBERS, _format(b"u"), "ARROW-FORMAT-2"),
        (NUMBERS.reshape(3, 2), _child(length=5), "ARROW-LENGTH-2"),
        (NUMBERS.reshape(3, 2), _set(offset=2**62), "ARROW-LENGTH-2"),
        (NUMBERS.reshape(3, 2), _set(offset=1), "ARROW-LENGTH-2"),
        (NUMBERS.reshape(3, 2), _set(n_children=0), "ARROW-FORMAT-2"),
        (LISTS, _no_buffer(1), "ARROW-BUFFER-1"),
        (LISTS, _child(length=-1), "ARROW-LENGTH-1"),
        (LISTS, _child(length=5), "ARROW-LENGTH-2"),
    ],
)
def test_a_broken_struct_is_refused(c_api, x, change, rule):
    """Each by its rule, and the structs are released."""
    pair, schema, array = exported(x)
    change(schema, array)
    with pytest.raises(ix.InterchangeError, match=rule):
        c_api.column(pair).__enter__()


@pytest.mark.parametrize(
    ("offsets", "rule"),
    [
        ([0, 5, 2], "ARROW-OFFSET-2"),
        ([-2, 1, 6], "ARROW-OFFSET-1"),
        ([0, 1, 7], "ARROW-LENGTH-2"),
    ],
)
def test_broken_offsets_are_refused(c_api, offsets, rule):
    """Offsets that decrease, are negative, or end after the elements."""
    pair, _, array = exported(LISTS)
    wrong = np.array(offsets)
    array.buffers[1] = wrong.ctypes.data
    with pytest.raises(ix.InterchangeError, match=rule):
        c_api.column(pair).__enter__()


def test_capsules_that_were_used_are_refused(c_api):
    """A second column of one pair of capsules."""
    pair, *_ = exported(NUMBERS)
    with (
        c_api.column(pair),
        pytest.raises(ix.InterchangeError, match="ARROW-RELEASE-3"),
    ):
        c_api.column(pair).__enter__()


# ---------------------------------------------------------------- C and Cython


@pytest.mark.isolated
@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_refused(run_isolated, probe, mistake):
    """An error is interchange's own, and cites the rule."""
    make = "ix.to_arrow(np.arange(3.0))"
    script = f"{START}\nprint(probe.mistaken_column(sys.argv[2], {make}))"
    told = run_isolated(script, probe.parent, mistake)

    assert told.startswith("ArgumentError: interchange_")
    assert told.endswith("[IX-CAPI-1]\n")


@pytest.mark.isolated
def test_columns_leave_memory_where_it_was(run_isolated, probe):
    """20,000 columns that are filled and released, and refused."""
    script = f"""{START}
import os
from pathlib import Path

x = ix.to_arrow((np.arange(6.0), np.array([0, 1, 6])))

def pages():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

def work(count):
    probe.columns(x, count)
    for _ in range(count // 20):
        try:
            probe.columns(bytes, 1)
        except ix.NoProtocolError:
            pass

work(2000)
before = pages()
work(20_000)
print(pages() - before < 400_000)
"""
    if sys.platform != "linux":
        pytest.skip("/proc is Linux's")
    assert run_isolated(script, probe.parent) == "True\n"


CYTHON = """# cython: language_level=3
from libc.stdint cimport int64_t
from interchange cimport (
    INTERCHANGE_COLUMN_NUMBERS, InterchangeAPI, InterchangeColumn, interchange_column_init,
    interchange_import,
)

cdef const InterchangeAPI *api = interchange_import()

def total(x):
    cdef InterchangeColumn column
    cdef double found = 0
    cdef int64_t i, place
    interchange_column_init(&column)
    api.view_column(x, &column)
    try:
        if column.layout != INTERCHANGE_COLUMN_NUMBERS or column.dtype.bits != 64:
            raise TypeError("doubles")
        for i in range(column.levels[0].length):
            place = column.levels[0].bit_offset + i
            if column.levels[0].validity == NULL or (
                column.levels[0].validity[place // 8] >> (place % 8) & 1
            ):
                found += (<const double *>column.values)[i]
        return found
    finally:
        api.column_release(&column)
"""


@pytest.mark.interop
def test_cython_reads_columns(build_extension, load, need, tmp_path):
    """The declarations for Cython suffice for a column with nulls."""
    need("Cython")
    source = tmp_path / "total_column.pyx"
    source.write_text(CYTHON, encoding="utf-8")
    command = [sys.executable, "-m", "cython", "-Werror", str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    path = build_extension(tmp_path, "total_column", source.with_suffix(".c"), strict=False)
    total = load(path).total

    assert total(ix.to_arrow(NUMBERS, mask=NUMBERS != 2)) == 13.0
    with pytest.raises(TypeError):
        total(ix.to_arrow(np.zeros(2, "i4")))
    with pytest.raises(ix.NoProtocolError):
        total(3)
