"""Batches of tables: views, buffers that are used again, ends, and errors in the middle."""

from __future__ import annotations

import errno
import gc
import threading

import numpy as np
import pytest
from hypothesis import given, strategies as st

import interchange as ix
from interchange_conformance.zoo import arrow

pytestmark = pytest.mark.usefixtures("arrow_zoo")

OPENED = 2  # structs of a stream besides its chunks: its own, and its schema


def stream(*lengths, nulls=None):
    """Return a stream of tables whose rows are numbered, of these lengths; one may have a null."""
    start, parts = 0, []
    for place, length in enumerate(lengths):
        empty = [0] if nulls == place else ()
        x = arrow.numbers("int32", length, offset=start, nulls=empty)
        e = arrow.lists("int32", (length, 2), offset=start)
        parts.append(arrow.table(x=x, e=e))
        start += length
    return arrow.chunked(*parts).as_stream()


class Once:
    """A reader: it exports its stream once."""

    def __init__(self, source):
        self._sources = [source]

    def __arrow_c_stream__(self, requested_schema=None):
        return self._sources.pop().__arrow_c_stream__(requested_schema)


def refused(step):
    """Return the error of a call."""
    with pytest.raises(ix.InterchangeError) as caught:
        step()
    return caught.value


# ---------------------------------------------------------------- which rows


def test_record_batches_are_shared_and_released_with_their_arrays():
    """Each record batch is a dict of views, which keep it alive, and nothing else does."""
    source = stream(3, 2, 4)
    held = []
    for batch, chunk in zip(ix.batches(source), source.chunks, strict=True):
        x, _ = chunk.children
        assert list(batch) == ["x", "e"]
        assert batch["x"].ptr == x.buffers[1] + 4 * x.offset
        assert batch["e"].shape == (chunk.length, 2)
        assert source.alive == OPENED + 1 + len(held)
        if not held:
            held.append(batch["e"][1:])
    del batch
    gc.collect()

    assert source.counts.count(0) == 1
    held.clear()
    assert source.counts == source.due


@given(st.lists(st.integers(0, 7), max_size=6), st.integers(1, 9), st.booleans(), st.booleans())
def test_batches_have_the_size_requested(lengths, size, drop_last, copy):
    """The batches have the rows of the table in order, all of one size but the last."""
    source = stream(*lengths) if lengths else stream(0)
    keywords = {"copy": True} if copy else {}
    found = list(ix.batches(source, size=size, drop_last=drop_last, **keywords))
    rows = sum(lengths)
    kept = rows - rows % size if drop_last else rows

    assert [row for batch in found for row in batch["x"].tolist()] == list(range(kept))
    assert [row for batch in found for row in batch["e"][:, 0].tolist()] == [
        2 * row for row in range(kept)
    ]
    assert all(len(batch["x"]) == size for batch in found[:-1])
    assert all(batch["x"].readonly is not copy for batch in found)
    del found
    assert source.counts == source.due


def test_a_batch_in_one_record_batch_is_a_view():
    """Only batches in several record batches are copied."""
    source = stream(7, 4)
    columns = [chunk.children[0] for chunk in source.chunks]
    starts = [x.buffers[1] + 4 * x.offset for x in columns]
    first, second, third, last = (batch["x"] for batch in ix.batches(source, size=3))

    assert (first.ptr, second.ptr) == (starts[0], starts[0] + 12)
    assert third.tolist() == [6, 7, 8]
    assert last.ptr == starts[1] + 8


@pytest.mark.parametrize("size", [None, 1, 3, 40])
def test_at_most_two_record_batches_are_held(size):
    """However small they are: each is released once its rows are copied."""
    source = stream(*[2] * 60)
    most = 0
    for batch in ix.batches(source, size=size):
        most = max(most, source.alive - OPENED)
        del batch

    assert most <= 2
    assert source.counts == source.due


def test_masks_filled_nulls_and_structs_are_cut_too():
    """All values of a batch have its rows: masks, and the fields of structs."""
    source = stream(2, 3, nulls=1)
    masks = [batch["x"][1].tolist() for batch in ix.batches(source, size=4, nulls="separate")]
    filled = [batch["x"].tolist() for batch in ix.batches(source, size=4, nulls=-1)]
    below = [arrow.table(s=arrow.table(u=arrow.numbers("int8", 2))) for _ in range(2)]
    (batch,) = ix.batches(arrow.chunked(*below).as_stream(), size=4)

    assert masks == [[True, True, False, True], [True]]
    assert filled == [[0, 1, -1, 3], [4]]
    assert batch["s"]["u"].tolist() == [0, 1, 0, 1]


@pytest.mark.parametrize(("size", "rows"), [(None, [2, 2]), (1, [1] * 4), (3, [3, 1])])
def test_lists_of_different_lengths_are_cut_as_rows(size, rows):
    """Values are shared where a batch lies in one record batch, and joined where it does not."""
    parts = [arrow.table(x=arrow.ragged((2, place))) for place in range(2)]
    source = arrow.chunked(*parts).as_stream()
    found = list(ix.batches(source, size=size, ragged=True))

    assert [len(batch["x"][1]) - 1 for batch in found] == rows
    assert [int(batch["x"][1][-1]) - int(batch["x"][1][0]) for batch in found] == {
        None: [2, 3],
        1: [2, 0, 2, 1],
        3: [4, 1],
    }[size]
    del found
    assert source.counts == source.due
    assert refused(lambda: ix.batches(source, ragged=True, pinned=True)).rule == "IX-ARGUMENT-1"


def test_columns_are_selected_in_order():
    """Only the columns requested are imported, in that order."""
    (batch,) = ix.batches(stream(2), columns=["e"])

    assert list(batch) == ["e"]
    assert refused(lambda: ix.batches(stream(2), columns=["y"])).rule == "ARROW-FIELD-1"


def test_an_iterable_of_tables_is_one_table():
    """Tables, also of several record batches, follow each other."""
    tables = (stream(2, 1), stream(0), stream(4))
    found = [batch["x"].shape[0] for batch in ix.batches(iter(tables), size=3)]

    assert found == [3, 3, 1]
    assert list(ix.batches([])) == []
    assert all(one.counts == one.due for one in tables)


def test_record_batches_without_rows_are_left_out():
    """As a filter makes them."""
    source = stream(0, 2, 0, 0, 1, 0)

    assert [batch["x"].shape for batch in ix.batches(source)] == [(2,), (1,)]
    assert list(ix.batches(stream(0))) == []
    assert source.counts == source.due


# ---------------------------------------------------------------- buffers


HOLDERS = {
    "nothing": lambda _: None,
    "an array": lambda batch: batch["x"],
    "a view": lambda batch: batch["e"][1:, 0],
    "numpy": lambda batch: np.asarray(batch["x"]),
    "a memoryview": lambda batch: memoryview(np.from_dlpack(batch["e"])),
    "a capsule": lambda batch: batch["x"].__dlpack__(max_version=(1, 0)),
}


@pytest.mark.parametrize("holder", HOLDERS)
def test_a_buffer_is_used_again_only_when_nothing_refers_to_it(holder):
    """What others made of a batch keeps its memory, as an Array and its views do."""
    held, places, first = [], [], None
    for batch in ix.batches(stream(*[2] * 30), size=3):
        places.append(batch["x"].ptr)
        held.append(HOLDERS[holder](batch))
        first = batch["x"].tolist() if first is None and len(held) == 2 else first
        del batch
    copied = places[::2] if holder == "nothing" else places

    assert first == [3, 4, 5]
    if holder == "nothing":
        assert len(set(copied)) < len(copied)
    else:
        assert len(set(places)) == len(places)


def test_batches_that_are_held_keep_their_rows():
    """All batches at once have the rows that each had."""
    found = list(ix.batches(stream(*[2] * 9), size=5))

    assert [batch["x"].tolist() for batch in found] == [
        list(range(start, min(start + 5, 18))) for start in range(0, 18, 5)
    ]


def test_buffers_end_with_the_iterator():
    """Batches that outlive it keep their memory, which is freed with them."""
    found = ix.batches(stream(2, 2, 2), size=3)
    batch = next(found)
    found.close()
    del found
    gc.collect()

    assert batch["x"].tolist() == [0, 1, 2]


# ---------------------------------------------------------------- ends


ENDS = {
    "close": lambda found: found.close(),
    "a with statement": lambda found: found.__exit__(None, None, None),
    "the last reference": lambda _: None,
}


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("size", [None, 1, 3])
def test_it_stops_in_the_middle(end, size):
    """The stream is released at once; batches that were returned remain valid."""
    source = stream(2, 2, 2)
    with_statement = ix.batches(source, size=size).__enter__()
    batch = next(with_statement)
    expected = batch["x"].tolist()
    ENDS[end](with_statement)
    del with_statement
    gc.collect()

    assert [one.releases for one in source.streams] == [1]
    assert source.alive <= 1
    assert batch["x"].tolist() == expected
    del batch
    assert source.counts == source.due


@pytest.mark.parametrize("close", [False, True])
def test_a_second_loop_is_refused(close):
    """Instead of having no batches; `next` ends as iterators do, and `close` may be repeated."""
    found = ix.batches(stream(2))
    if close:
        found.close()
        found.close()
    else:
        assert len(list(found)) == 1
    error = refused(lambda: list(found))

    assert (error.rule, next(found, None)) == ("ARROW-BATCH-2", None)


def test_a_loop_may_continue_another():
    """The first batch is read by `next`, and the others by a loop."""
    found = ix.batches(stream(2, 2))
    next(found)

    assert [batch["x"].tolist() for batch in found] == [[2, 3]]


def test_two_threads_do_not_read_one_batch():
    """The second call is refused, and the first one goes on."""
    source, seen = stream(2, 2), []

    class Slow:
        """Tables whose iterator asks for a batch itself, from another thread."""

        def __iter__(self):
            thread = threading.Thread(target=lambda: seen.append(refused(lambda: next(found))))
            thread.start()
            thread.join()
            yield source

    found = ix.batches(Slow())

    assert len(list(found)) == 2
    assert seen[0].rule == "ARROW-BATCH-2"


# ---------------------------------------------------------------- errors


@pytest.mark.parametrize("size", [None, 3])
@pytest.mark.parametrize("once", [False, True])
def test_a_stream_that_fails_raises_where_it_fails(size, once):
    """The batches before it are returned, and everything is released."""
    source = stream(4, 2, 2).but(next_error=errno.EIO, fails_at=2)
    found, seen = ix.batches(Once(source) if once else source, size=size), []
    error = refused(lambda: [seen.append(batch["x"].tolist()) for batch in found])

    assert seen == ([[0, 1, 2, 3], [4, 5]] if size is None else [[0, 1, 2], [3, 4, 5]])
    assert (error.rule, error.taken) == ("ARROW-STREAM-1", None)
    del error  # its traceback has the last batch
    gc.collect()
    assert source.counts == source.due
    assert next(found, None) is None


def test_a_batch_that_is_refused_is_kept_with_those_that_follow():
    """A stream that can be read once goes on behind the batches that were returned."""
    source = stream(2, 2, 2, nulls=1)
    found, seen = ix.batches(Once(source)), []
    error = refused(lambda: [seen.append(batch["x"].tolist()) for batch in found])
    rest = [batch["x"].tolist() for batch in ix.batches(error.taken, nulls=-1)]

    assert (error.rule, "column 'x'" in error.what) == ("ARROW-NULL-2", True)
    assert (seen, rest) == ([[0, 1]], [[-1, 3], [4, 5]])
    del error
    gc.collect()
    assert source.counts == source.due


@pytest.mark.parametrize("copy", [None, True])
def test_no_row_is_lost_where_a_record_batch_is_refused(copy):
    """The rows before it are returned first, as a batch of fewer rows."""
    source = stream(2, 2, 2, nulls=1)
    found, seen = ix.batches(Once(source), size=3, copy=copy), []
    error = refused(lambda: [seen.append(batch["x"].tolist()) for batch in found])
    rest = [batch["x"].tolist() for batch in ix.batches(error.taken, nulls=-1, size=3)]

    assert (seen, rest) == ([[0, 1]], [[-1, 3, 4], [5]])
    del error
    gc.collect()
    assert source.counts == source.due


def test_a_batch_that_is_refused_is_released_if_it_can_be_had_again():
    """Batches that were returned before remain valid."""
    source = arrow.chunked(*(stream(2).as_array(), stream(2).as_array().at((0,), length=1)))
    source = source.as_stream()
    found = ix.batches(source)
    first = next(found)

    assert refused(lambda: next(found)).rule == "ARROW-LENGTH-2"
    assert source.alive == 1
    assert first["x"].tolist() == [0, 1]
    del first
    assert source.counts == source.due


def test_a_batch_in_several_record_batches_needs_a_copy():
    """`copy=False` refuses it, after the batches that are shared."""
    found = ix.batches(stream(4, 2), size=3, copy=False)

    assert next(found)["x"].tolist() == [0, 1, 2]
    assert refused(lambda: next(found)).rule == "ARROW-CHUNK-1"


OTHERS = {
    "another dtype": ("ARROW-BATCH-1", arrow.table, {"x": ("int64", 2)}),
    "no such column": ("ARROW-FIELD-1", arrow.table, {"y": ("int32", 2)}),
}


@pytest.mark.parametrize("other", OTHERS)
def test_tables_with_another_schema_are_refused(other):
    """The error names the column, and the rule: ARROW-BATCH-1 for tables one by one."""
    rule, make, columns = OTHERS[other]
    second = make(**{name: arrow.numbers(*given) for name, given in columns.items()})
    first = arrow.table(x=arrow.numbers("int32", 2))
    found = ix.batches([first, second])
    next(found)
    error = refused(lambda: next(found))

    assert error.rule == rule
    assert "'x'" in error.what
    assert first.counts == first.due
    assert second.counts == second.due


def test_a_chunk_of_another_type_is_refused():
    """A stream has one schema; a batch that does not match it breaks the rules of the interface."""
    parts = stream(2).as_array(), arrow.table(x=arrow.numbers("int32", 2))
    source = arrow.chunked(*parts).as_stream()
    found = ix.batches(source)
    next(found)

    assert refused(lambda: next(found)).rule == "ARROW-FORMAT-2"
    assert source.counts == source.due


WRONG = {
    "size 0": {"size": 0},
    "a negative size": {"size": -1},
    "a bool size": {"size": True},
    "a float size": {"size": 2.0},
    "drop_last": {"drop_last": 1},
    "pinned": {"pinned": "yes"},
    "pinned without a copy": {"pinned": True, "copy": False},
    "copy": {"copy": "always"},
    "nulls": {"nulls": "drop"},
    "columns": {"columns": "x"},
    "storage": {"storage": 1},
}


@pytest.mark.parametrize("keywords", WRONG.values(), ids=WRONG)
def test_wrong_arguments_are_refused_before_anything_is_taken(keywords):
    """Nothing is requested from the producer."""
    source = stream(2)

    assert isinstance(refused(lambda: ix.batches(source, **keywords)), TypeError)
    assert source.log == []


@pytest.mark.parametrize("x", [3, "text", {"x": 1}, [3], ix.Array, None])
def test_what_is_no_table_is_refused(x):
    """Also in an iterable."""
    assert refused(lambda: list(ix.batches(x))).rule == "IX-PROTOCOL-1"


def test_a_column_is_no_table():
    """Batches have names; the error says what to pass instead."""
    source = arrow.numbers()
    error = refused(lambda: ix.batches(source))

    assert error.rule == "ARROW-FIELD-1"
    assert "pass a table, or use `from_arrow(x)` for a column" in str(error)
    assert source.counts == source.due


def test_capsules_of_a_stream_are_taken():
    """As `from_arrow` takes them."""
    source = stream(2, 1)

    assert len(list(ix.batches(source.__arrow_c_stream__()))) == 2
