"""Streams and capsules that can be read once: the error of a refusal keeps their memory."""

from __future__ import annotations

import errno
import pickle
from functools import partial

import pytest

import interchange as ix
from interchange import _core, xp
from interchange_conformance.zoo import arrow

pytestmark = pytest.mark.usefixtures("arrow_zoo")


class Once:
    """A reader of batches: it exports its stream once."""

    def __init__(self, source):
        self._sources = [source]

    def __arrow_c_stream__(self, requested_schema=None):
        if not self._sources:
            raise ValueError("the stream was read")
        return self._sources.pop().__arrow_c_stream__(requested_schema)


class Table(Once):
    """An object with a length can be read again."""

    def __len__(self):
        return 5


def stream(*lengths):
    """Return a stream of chunks of int32."""
    return arrow.chunked(*(arrow.numbers("int32", length) for length in lengths)).as_stream()


def refused(function, x, **keywords):
    """Return the error by which a call is refused."""
    with pytest.raises(ix.InterchangeError) as caught:
        function(x, **keywords)
    return caught.value


IMPORTERS = {
    "from_arrow": ix.from_arrow,
    "asarray": ix.asarray,
    "xp.asarray": xp.asarray,
    "convert": lambda x, **keywords: ix.asarray(ix.convert(x, "numpy", **keywords)),
}
every_importer = pytest.mark.parametrize("importer", IMPORTERS.values(), ids=IMPORTERS)


@every_importer
def test_all_batches_of_a_refused_stream_are_in_the_copy_that_the_error_advises(importer):
    """The copy that the error advises has the batches read before the refusal, and the rest."""
    source = stream(2, 3, 4)
    error = refused(importer, Once(source))

    assert error.rule == "ARROW-CHUNK-1"
    assert "`copy=True`" in error.hint
    assert "`error.taken`" in error.hint
    assert tuple(importer(error.taken, copy=True).tolist()) == source.values
    del error
    assert source.counts == source.due


def test_a_pair_of_capsules_is_kept_likewise():
    """The error keeps a pair of capsules: no stream, and the chunk is consumed."""
    source = arrow.numbers("int32", 4, nulls=[1])
    error = refused(ix.from_arrow, source.__arrow_c_array__())
    data, mask = ix.from_arrow(error.taken, nulls="separate")

    assert error.rule == "ARROW-NULL-2"
    assert (data.shape, mask.tolist()) == ((4,), [True, False, True, True])


@every_importer
def test_bits_are_kept_for_the_copy(importer):
    """Bools refused with copy=False are kept for a copy."""
    source = arrow.bools().as_stream()
    error = refused(importer, Once(source), copy=False)

    assert error.rule == "ARROW-BOOL-1"
    assert tuple(importer(error.taken, copy=True).tolist()) == source.values


def test_nulls_are_kept_for_the_mask():
    """Nulls are kept for the mask, also if they are found in the second of several batches."""
    chunks = arrow.numbers("int32", 2), arrow.numbers("int32", 2, nulls=[0])
    source = arrow.chunked(*chunks).as_stream()
    error = refused(ix.from_arrow, Once(source), copy=True)
    data, mask = ix.from_arrow(error.taken, copy=True, nulls="separate")

    assert error.rule == "ARROW-NULL-2"
    assert (data.shape, mask.tolist()) == ((4,), [True, True, False, True])


def test_elements_that_stand_for_something_else_are_kept():
    """The type is refused before a batch is read, and the stream is kept."""
    source = stream(1, 2).but(format="tdD")
    error = refused(ix.from_arrow, Once(source))

    assert error.rule == "ARROW-TYPE-2"
    assert ix.from_arrow(error.taken, copy=True, storage=True).shape == (3,)


def test_what_is_refused_twice_is_kept_twice():
    """Of two refusals of one stream, here of its capsule, each error has all batches."""
    source = stream(2, 3)
    first = refused(ix.from_arrow, source.__arrow_c_stream__())
    second = refused(ix.from_arrow, first.taken, copy=False)

    assert tuple(ix.from_arrow(second.taken, copy=True).tolist()) == source.values
    assert refused(ix.from_arrow, second.taken).rule == "ARROW-RELEASE-3"


@pytest.mark.parametrize(
    ("importer", "rule"),
    [
        (partial(ix.asarray, dtype="float32"), "IX-CAST-1"),
        (partial(xp.asarray, dtype="float32", copy=False), "DLP-COPY-1"),
        (lambda x: ix.convert(x, "cupy"), "DLP-RO-3"),
    ],
)
def test_an_array_that_is_refused_afterwards_is_kept(importer, rule):
    """An array that is refused after the import, by a check or a library, is kept."""
    source = stream(3)
    error = refused(importer, Once(source))

    assert error.rule == rule
    assert tuple(ix.asarray(error.taken).tolist()) == source.values


def test_a_stream_that_fails_half_way_leaves_what_came_before():
    """If a stream fails half way, the error keeps earlier batches and says it is incomplete."""
    source = stream(2, 3, 4).but(next_error=errno.EIO, fails_at=2)
    error = refused(ix.from_arrow, Once(source), copy=True)

    assert error.rule == "ARROW-STREAM-1"
    assert "and no others" in error.hint
    assert ix.from_arrow(error.taken, copy=True).shape == (5,)


@pytest.mark.parametrize(
    ("kind", "source", "rule"),
    [
        (Once, lambda: stream(2).but(next_error=errno.EIO, fails_at=0), "ARROW-STREAM-1"),
        (Table, lambda: stream(2, 3), "ARROW-CHUNK-1"),
        (Once, lambda: stream(2).but(chunk={"length": -1}), "ARROW-LENGTH-1"),
    ],
    ids=["fails at once", "has a length", "invalid batch"],
)
def test_what_another_call_cannot_use_is_released_at_once(kind, source, rule):
    """Nothing was read; the object gives another stream; another call would refuse it again."""
    source = source()
    error = refused(ix.from_arrow, kind(source))

    assert (error.rule, error.taken) == (rule, None)
    assert "error.taken" not in str(error)
    assert source.counts == source.due


def test_what_an_error_keeps_is_read_by_one_call_alone(monkeypatch):
    """While a call reads the kept stream, another one reads no batch and does not see its end."""
    source = stream(2, 3, 4)
    error = refused(ix.from_arrow, Once(source))
    take_chunks, others = _core.take_chunks, []

    def meanwhile(*args):
        if not others:
            others.append(None)
            others.append(refused(ix.from_arrow, error.taken, copy=True))
        return take_chunks(*args)

    monkeypatch.setattr(_core, "take_chunks", meanwhile)
    assert tuple(ix.from_arrow(error.taken, copy=True).tolist()) == source.values
    assert others[1].rule == "ARROW-RELEASE-3"


@every_importer
def test_what_was_taken_of_an_error_is_not_kept_by_the_next(importer):
    """The next error does not keep batches of the previous one, and does not advise it."""
    error = refused(importer, Once(stream(2, 3)))
    importer(error.taken, copy=True)
    again = refused(importer, error.taken, copy=True)

    assert (again.rule, again.taken) == ("ARROW-RELEASE-3", None)
    assert "error.taken" not in str(again)


def test_an_argument_that_is_refused_is_kept():
    """An argument of a function without `copy` is kept; the error names a call for the copy."""

    @ix.accepts_arrays("x")
    def total(x):
        return sum(x.tolist())

    source = stream(2, 3)
    error = refused(total, Once(source))

    assert "`interchange.asarray(x, copy=True)`" in error.hint
    assert total(ix.asarray(error.taken, copy=True)) == sum(source.values)


@pytest.mark.parametrize("borrow", [False, True])
def test_an_argument_that_does_not_meet_its_contract_is_kept(borrow):
    """An argument that violates its contract is kept, so that `asarray(x)` can be retried."""

    @ix.accepts_arrays("other", borrow=borrow, stream="on", x=ix.Contract(dtype="float64"))
    def total(x, other=None, on=None):
        return sum(x.tolist()), other, on

    source = stream(3)
    error = refused(total, Once(source))

    assert error.rule == "IX-REQUIRE-1"
    assert "`error.taken`" in error.hint
    assert total(ix.asarray(error.taken).astype("float64"))[0] == sum(source.values)
    assert refused(total, Table(stream(3))).taken is None


def test_a_stream_is_kept_beside_the_capsule_of_another_argument():
    """A stream is kept next to another argument's capsule, which was read before."""
    source = stream(2, 3)
    capsule = ix.asarray(bytes(3)).__dlpack__(max_version=(1, 0))
    error = refused(ix.accepts_arrays("x", "y")(lambda x, y: (x, y)), capsule, y=Once(source))

    assert error.taken["x"].tolist() == [0, 0, 0]
    assert tuple(ix.asarray(error.taken["y"], copy=True).tolist()) == source.values
    assert error.hint.count("error.taken") == 1


def test_an_error_of_another_process_advises_nothing_that_it_lacks():
    """An unpickled error keeps no memory, and does not advise to use it."""
    error = refused(ix.asarray, Once(stream(2, 3)))
    there = pickle.loads(pickle.dumps(error))

    assert (there.rule, there.taken) == ("ARROW-CHUNK-1", None)
    assert "`copy=True`" in there.hint
    assert "taken" not in str(there)
