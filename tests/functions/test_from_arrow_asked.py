"""`from_arrow`: arguments for chunks and storage, and columns imported by `asarray`."""

from __future__ import annotations

import numpy as np
import pytest

import interchange as ix
from interchange_conformance.zoo import arrow

pytestmark = pytest.mark.usefixtures("arrow_zoo")


def tuples(values):
    """Return nested lists as tuples."""
    return tuple(map(tuples, values)) if isinstance(values, list | tuple) else values


def refusal(error, source, **keywords):
    """Return the rule of an import's refusal, with exactly that class; all memory is released."""
    with pytest.raises(error) as caught:
        ix.from_arrow(source, **keywords)
    assert type(caught.value) is error
    assert str(caught.value).startswith("from_arrow(): ")
    caught.value.taken = None  # of a stream
    if isinstance(source, arrow.Source):
        assert source.counts == source.due
    return caught.value.rule


# ---------------------------------------------------------------- arguments


@pytest.mark.parametrize(
    ("keywords", "error", "rule"),
    [
        *(({"nulls": nulls}, ix.ArgumentError, "IX-ARGUMENT-1") for nulls in ("drop", None, [])),
        ({"storage": 1}, ix.ArgumentError, "IX-ARGUMENT-1"),
        ({"copy": "never"}, ix.ArgumentError, "DLP-COPY-3"),
        ({"device": "fridge"}, ix.UnsupportedDeviceError, "DLP-DEV-1"),
        ({"stream": "default"}, ix.StreamError, "DLP-STREAM-4"),
    ],
)
def test_an_invalid_argument_is_refused_before_the_producer_is_called(keywords, error, rule):
    """An invalid argument is refused before the producer is called."""
    source = arrow.numbers()

    assert refusal(error, source, **keywords) == rule
    assert not source.log


def test_the_host_is_where_it_is():
    """Passing the host as device changes nothing."""
    source = arrow.numbers()

    assert ix.from_arrow(source, device="cpu").ptr == source.chunks[0].buffers[1]


@pytest.mark.usefixtures("no_driver")
@pytest.mark.parametrize(
    ("keywords", "error", "rule"),
    [
        ({}, ix.DriverUnavailableError, "IX-DRIVER-1"),
        ({"copy": False}, ix.CopyNeededError, "DLP-COPY-1"),
    ],
    ids=["no driver", "no copy"],
)
def test_a_column_that_cannot_be_copied_to_a_device_is_released(keywords, error, rule):
    """Memory of a column is released while the error about its device is handled."""
    assert refusal(error, arrow.numbers(), device="cuda", **keywords) == rule


# ---------------------------------------------------------------- chunks


def stream(*lengths, **keywords):
    """Return a stream of chunks of these lengths."""
    parts = [arrow.numbers("int32", length, offset=2, **keywords) for length in lengths]
    return arrow.chunked(*parts).as_stream()


@pytest.mark.parametrize("lengths", [(3,), (0, 3), (3, 0), (0, 0, 3, 0), (0,), ()])
def test_chunks_without_elements_do_not_count(lengths):
    """Empty chunks are ignored: one remaining chunk is shared, none gives an empty array."""
    source = stream(*lengths) if lengths else arrow.legal()["stream-without-chunks"].make()

    found = ix.from_arrow(source, copy=False)

    assert tuples(found.tolist()) == source.values
    assert source.streams[0].next_calls == len(lengths) + 1
    del found
    assert source.counts == source.due


@pytest.mark.parametrize("lengths", [(1, 2), (2, 0, 1), (1, 1, 1, 1)])
@pytest.mark.parametrize("copy", [None, False])
def test_several_chunks_are_refused(lengths, copy):
    """Several chunks are refused unless a copy is requested; unread ones are released, too."""
    assert refusal(ix.CopyNeededError, stream(*lengths), copy=copy) == "ARROW-CHUNK-1"


@pytest.mark.parametrize("lengths", [(1, 2), (2, 0, 1), (1, 1, 1, 1), (3,), (0, 0)])
def test_several_chunks_become_one_array(lengths):
    """Several chunks are joined by a writable copy."""
    source = stream(*lengths)

    found = ix.from_arrow(source, copy=True)

    assert tuples(found.tolist()) == source.values
    assert (found.readonly, source.counts) == (False, source.due)


@pytest.mark.parametrize("kind", ["tensors", "bools"])
def test_chunks_of_tensors_and_bools_become_one_array(kind):
    """Chunks are joined in the order of tensors' axes, and whatever the offsets of bits are."""
    if kind == "tensors":
        parts = [arrow.tensors("int8", (length, 2, 3), permutation=(1, 0)) for length in (2, 3)]
        rows = [np.arange(6 * n).reshape(n, 2, 3).transpose(0, 2, 1) for n in (2, 3)]
    else:
        parts = [arrow.bools([1, 0, 1], offset=offset) for offset in (0, 5, 7)]
        rows = [np.array([True, False, True])] * 3

    found = ix.from_arrow(arrow.chunked(*parts).as_stream(), copy=True)

    assert found.tolist() == np.concatenate(rows).tolist()


# ---------------------------------------------------------------- storage

STORED = {
    "dates": lambda: arrow.numbers("int32").but(format="tdD"),
    "timestamps": lambda: arrow.numbers("int64", 5, offset=1).but(format="tsn:Europe/Berlin"),
    "durations": lambda: arrow.numbers("int64").but(format="tDs"),
    "months": lambda: arrow.numbers("int32").but(format="tiM"),
    "an extension": lambda: arrow.numbers().but(metadata=arrow.columns.extension("my.metres")),
}


@pytest.mark.parametrize("name", STORED)
def test_storage_is_given_out_on_request(name):
    """The storage is shared on request; without it the error says how."""
    source = STORED[name]()

    found = ix.from_arrow(source, storage=True)

    assert tuples(found.tolist()) == source.values
    with pytest.raises(ix.UnsupportedDTypeError, match=r"pass `storage=True`") as caught:
        ix.from_arrow(STORED[name]())
    assert caught.value.rule == "ARROW-TYPE-2"


def test_storage_of_a_dictionary_are_its_indices():
    """The values are left where they are, and released with them."""
    source = arrow.dictionary(("red", "green"), (0, 1, 1, 0))

    found = ix.from_arrow(source, storage=True)

    assert (found.tolist(), str(found.dtype)) == ([0, 1, 1, 0], "int32")
    del found
    assert source.counts == source.due


@pytest.mark.parametrize(
    ("make", "shape"),
    [
        (lambda: arrow.lists().but(metadata=arrow.columns.extension("my.points")), (4, 3)),
        (lambda: arrow.lists("int32").at((0,), field={"format": "tdD"}), (4, 3)),
        (lambda: arrow.table(x=arrow.numbers()).but(metadata=arrow.extension("m.metres")), (6,)),
    ],
    ids=["extension of lists", "lists of dates", "extension of one field"],
)
def test_storage_of_several_levels(make, shape):
    """Extensions, of a table's form too, and lists of dates need `storage`, which has the axes."""
    source = make()

    assert refusal(ix.UnsupportedDTypeError, source) == "ARROW-TYPE-2"
    assert ix.from_arrow(source, storage=True).shape == shape


def test_storage_of_bytes_of_bools():
    """The storage of bool bytes is int8, whatever the values are."""
    found = ix.from_arrow(arrow.bytes_of_bool((0, 1, 2)), storage=True)

    assert (found.tolist(), str(found.dtype)) == ([0, 1, 2], "int8")


@pytest.mark.parametrize("storage", [False, True])
@pytest.mark.parametrize("make", [arrow.texts, arrow.ragged])
def test_elements_of_several_widths_are_refused(make, storage):
    """Elements of several widths are refused, whatever keywords are passed."""
    assert refusal(ix.UnsupportedDTypeError, make(), storage=storage) == "ARROW-TYPE-1"


# ---------------------------------------------------------------- asarray


@pytest.mark.parametrize("method", ["array", "stream", "device_array", "device_stream"])
def test_asarray_takes_columns(method):
    """`asarray` imports columns as `from_arrow` does."""
    source = getattr(arrow.lists(), f"as_{method}")()

    found = ix.asarray(source)

    assert tuples(found.tolist()) == source.values
    assert found.readonly


@pytest.mark.parametrize(
    ("make", "rule"),
    [
        (lambda: arrow.numbers(nulls=[0]), "ARROW-NULL-2"),
        (lambda: stream(1, 2), "ARROW-CHUNK-1"),
        (arrow.texts, "ARROW-TYPE-1"),
        (lambda: arrow.numbers("int32").but(format="tdD"), "ARROW-TYPE-2"),
    ],
)
def test_asarray_is_as_strict(make, rule):
    """The error of `asarray` names it, and nothing is kept."""
    source = make()

    with pytest.raises(ix.ExchangeError) as caught:
        ix.asarray(source)

    caught.value.taken = caught.value.__context__.taken = None  # of a stream
    assert (caught.value.rule, source.counts) == (rule, source.due)
    assert str(caught.value).startswith("asarray(): ")


def test_asarray_copies_no_bits_if_a_copy_is_forbidden():
    """`asarray` refuses to copy bits with copy=False, and joins chunks with copy=True."""
    with pytest.raises(ix.CopyNeededError):
        ix.asarray(arrow.bools(), copy=False)
    assert ix.asarray(stream(1, 2), copy=True).shape == (3,)
