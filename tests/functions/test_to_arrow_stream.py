"""`to_arrow_stream`: batches of an iterator, made when a consumer asks for them."""

from __future__ import annotations

import errno
import gc
import threading
import weakref

import numpy as np
import pytest

import interchange as ix
from interchange import _core
from interchange._protocols.arrow.representations import metadata_of, read_field
from interchange.abi.arrow import ARROW_ARRAY, ARROW_ARRAY_STREAM, ARROW_SCHEMA, ArrowArray

pytestmark = pytest.mark.skipif(ix.core_name != "native", reason="the ctypes core refuses")


class Batches:
    """A generator of batches that counts, and says when it is closed."""

    def __init__(self, batches):
        self.made, self.closed, self.threads = 0, 0, set()
        self.batches = batches

    def __iter__(self):
        try:
            for batch in self.batches:
                self.made += 1
                self.threads.add(threading.current_thread())
                if isinstance(batch, BaseException):
                    raise batch
                yield batch
        finally:
            self.closed += 1


class Reader:
    """A consumer of a stream: calls its functions."""

    def __init__(self, exported, requested=None):
        capsule = exported.__arrow_c_stream__(requested)
        self.stream = _core.take_arrow(capsule, ARROW_ARRAY_STREAM)

    def schema(self):
        """Return the type."""
        owner = _core.new_arrow(ARROW_SCHEMA)
        assert _core.call_stream(self.stream, "schema", owner) == 0
        return read_field(owner.address)

    def next(self):
        """Return the errno, and the owner of a chunk, None at the end."""
        owner = _core.new_arrow(ARROW_ARRAY)
        code = _core.call_stream(self.stream, "next", owner)
        return code, owner if ArrowArray.from_address(owner.address).release else None

    def error(self):
        """Return the text of the last error."""
        return _core.stream_error(self.stream)


def tables(count=3):
    """Return some batches of two columns."""
    return [
        {"a": np.arange(2, dtype="i8") + step, "b": np.array([step > 0])[[0, 0]]}
        for step in range(count)
    ]


def test_batches_are_made_one_by_one():
    """The first is made for the type, and others when they are asked for; then it is closed."""
    batches = Batches(tables())
    exported = ix.to_arrow_stream(iter(batches))
    begun = batches.made
    reader = Reader(exported)

    made = [begun, batches.made]
    fields = [(child.name, child.format) for child in reader.schema().children]
    while reader.next()[1] is not None:
        made.append(batches.made)

    assert fields == [("a", "l"), ("b", "b")]
    assert (made, batches.closed) == ([0, 1, 1, 2, 3], 1)
    assert reader.next() == (0, None)
    assert reader.error() is None


def test_a_schema_is_known_without_a_batch():
    """With a schema no batch is made; without one, the first is made once."""
    batches = Batches(tables())
    with_schema = ix.to_arrow_stream(iter(batches), ix.to_arrow(tables()[0], metadata={"k": "v"}))
    without = ix.to_arrow_stream(iter(batches))

    assert metadata_of(Reader(with_schema).schema()) == {b"k": b"v"}
    assert batches.made == 0
    without.__arrow_c_schema__(), without.__arrow_c_schema__()
    assert batches.made == 1
    assert ix.from_arrow(ix.to_arrow_stream([np.ones(2)] * 2), copy=True).shape == (4,)


def test_an_iterator_is_exported_once_and_a_list_again():
    """The second export of an iterator is refused (ARROW-OUT-8)."""
    once, often = ix.to_arrow_stream(iter([np.ones(2)])), ix.to_arrow_stream([np.ones(2)])

    assert [ix.from_arrow(often).shape, ix.from_arrow(often).shape] == [(2,), (2,)]
    assert ix.from_arrow(once).shape == (2,)
    with pytest.raises(ix.NoProtocolError, match="ARROW-OUT-8"):
        once.__arrow_c_stream__()
    assert once.__arrow_c_schema__()


@pytest.mark.parametrize("batches", [{"a": np.ones(2)}, 5, "ab", b"ab"])
def test_what_is_no_iterable_of_batches_is_refused(batches):
    """One batch, numbers and text are refused at the call."""
    with pytest.raises(ix.ArgumentError, match="IX-ARGUMENT-1"):
        ix.to_arrow_stream(batches)


def test_no_batches_have_no_type():
    """Without a schema (ARROW-OUT-9); with one there are no batches."""
    with pytest.raises(ix.ArgumentError, match=r"pass a schema \[ARROW-OUT-9\]"):
        ix.to_arrow_stream([]).__arrow_c_stream__()
    reader = Reader(ix.to_arrow_stream([], ix.to_arrow(np.ones(1))))
    assert (reader.schema().format, reader.next()) == ("g", (0, None))
    with pytest.raises(ix.ArgumentError, match="ARROW-CAP-1"):
        ix.to_arrow_stream([], 5)


def test_columns_are_found_by_name_and_representations_follow_the_type():
    """Batches may have another order of columns, lists and bools."""
    lists = (np.arange(4.0), np.array([0, 2, 4], "i4"))
    batches = [
        ix.to_arrow({"a": np.array([True, False]), "b": np.ones((2, 2))}, bools="bytes"),
        {"b": lists, "a": np.array([True, True])},
    ]
    reader = Reader(ix.to_arrow_stream(batches))

    names = [(child.name, child.format) for child in reader.schema().children]
    chunks = [reader.next(), reader.next()]
    assert names == [("a", "c"), ("b", "+w:2")]
    assert [code for code, _ in chunks] == [0, 0]
    values = ArrowArray.from_address(chunks[1][1].address).children[1].contents.children[0]
    assert (values.contents.length, values.contents.buffers[1]) == (4, lists[0].ctypes.data)


@pytest.mark.parametrize(
    ("batch", "said"),
    [
        ({"a": np.arange(2), "b": np.ones(2)}, "batch 1 has double"),
        ({"a": np.arange(2)}, "batch 1 has the columns 'a', and the stream has 'a', 'b'"),
        (np.arange(2, dtype="i8"), "batch 1 has int64, and the stream has struct"),
        (
            ix.to_arrow({"a": np.arange(2), "b": np.ones(2, bool)}, mask={"a": np.zeros(2, bool)})
            if ix.core_name == "native"
            else None,
            "batch 1 has nulls in 'a', and the stream has a field that is not nullable",
        ),
    ],
)
def test_batches_of_another_type_are_errors_of_the_stream(batch, said):
    """The error is the number EINVAL and the text; the iterator is closed."""
    first = ix.to_arrow({"a": np.arange(2), "b": np.ones(2, bool)}, nullable={"a": False})
    batches = Batches([first, batch])
    reader = Reader(ix.to_arrow_stream(iter(batches)))

    assert reader.next()[0] == 0
    assert reader.next() == (errno.EINVAL, None)
    assert said.replace("double", "float64") in reader.error()
    assert "ARROW-OUT-9" in reader.error()
    assert batches.closed == 1


class OddError(Exception):
    """An error whose text cannot be made."""

    def __str__(self):
        raise ValueError("none")


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (KeyError("a\N{SNOWMAN}"), errno.EIO, "KeyError: 'a\N{SNOWMAN}'"),
        (ValueError("b"), errno.EINVAL, "ValueError: b"),
        (FileNotFoundError(errno.ENOENT, "c"), errno.ENOENT, "FileNotFoundError: [Errno 2] c"),
        (OSError("d"), errno.EIO, "OSError: d"),
        (MemoryError(), errno.ENOMEM, "MemoryError: "),
        (NotImplementedError("e"), errno.ENOSYS, "NotImplementedError: e"),
        (KeyboardInterrupt(), errno.EIO, "KeyboardInterrupt: "),
        (OddError(), errno.EIO, "OddError"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
def test_errors_of_the_iterator_are_errors_of_the_stream(error, code, said):
    """Their text and a number are returned, now and later."""
    batches = Batches([*tables(1), error])
    reader = Reader(ix.to_arrow_stream(iter(batches)))

    assert reader.next()[0] == 0
    assert [reader.next(), reader.next()] == [(code, None)] * 2
    assert (reader.error(), batches.closed, batches.made) == (said, 1, 2)


def test_errors_of_the_first_batch_are_raised():
    """They are not changed, and the iterator is closed."""
    batches = Batches([LookupError("a")])
    with pytest.raises(LookupError, match="a"):
        ix.to_arrow_stream(iter(batches)).__arrow_c_stream__()
    assert batches.closed == 1


@pytest.mark.parametrize("taken", [0, 1, 2])
def test_a_stream_that_is_released_early_closes_the_iterator(taken):
    """All batches die but those that were taken; capsules that were not consumed do the same."""
    batches = Batches([ix.asarray(bytearray(8)) for _ in range(3)])
    watched = [weakref.ref(batch) for batch in batches.batches]
    capsule = ix.to_arrow_stream(iter(batches)).__arrow_c_stream__()
    stream = _core.take_arrow(capsule, ARROW_ARRAY_STREAM) if taken else None
    chunks = []
    for _ in range(taken):
        chunks.append(_core.new_arrow(ARROW_ARRAY))
        assert _core.call_stream(stream, "next", chunks[-1]) == 0

    del stream, capsule
    gc.collect()
    assert batches.closed == 1
    batches.batches.clear()
    gc.collect()
    assert [ref() is not None for ref in watched] == [False] * 3  # chunks keep memory, not Arrays


def test_batches_are_made_on_the_thread_of_the_consumer():
    """The native core takes the GIL there."""
    batches = Batches(tables())
    reader = Reader(ix.to_arrow_stream(iter(batches)))
    found = []
    worker = threading.Thread(target=lambda: found.extend(reader.next()[0] for _ in range(4)))
    worker.start()
    worker.join()

    assert found == [0] * 4
    assert batches.threads == {threading.main_thread(), worker}


def test_an_iterator_may_release_its_own_stream():
    """It is closed, and the stream ends with the batch that it makes."""
    readers = []

    def batches():
        yield np.ones(2)
        readers.pop().stream.release()
        try:
            yield np.ones(3)
        finally:
            closed.append(True)

    closed = []
    reader = Reader(ix.to_arrow_stream(batches()))
    readers.append(reader)
    assert reader.next()[0] == 0
    assert reader.next()[1] is not None
    assert closed == [True]
