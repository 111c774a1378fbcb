"""Plain columns that the native core reads: the same Arrays as Python's, and one request each."""

from __future__ import annotations

import functools
import json

import numpy as np
import pytest

import interchange as ix
from interchange_conformance.zoo import arrow

pytestmark = [
    pytest.mark.usefixtures("arrow_zoo"),
    pytest.mark.skipif(ix.core_name != "native", reason="of the native core"),
]
READERS = {"from_arrow": ix.from_arrow, "asarray": ix.asarray}
ON_HOST = arrow.Place(1, -1)
FORMS = {
    "array": lambda source: source,
    "device array": lambda source: source.as_device_array(ON_HOST),
    "stream": lambda source: source.as_stream(),
}
PERMUTED = json.dumps({"shape": [2, 3], "permutation": [1, 0]})
PLAIN = {
    **{
        name: lambda name=name: arrow.numbers(name)
        for name in ("int8", "uint8", "int16", "uint32", "int64", "float16", "float32", "float64")
    },
    "an offset": lambda: arrow.numbers("int16", offset=3),
    "lists": lambda: arrow.lists("int32", (4, 3)),
    "nested lists": lambda: arrow.lists("float64", (2, 3, 5), offset=1, child_offset=2),
    "seven axes": lambda: arrow.lists("int8", (2, 1, 2, 1, 2, 1, 2)),
    "tensors": arrow.tensors,
    "permuted tensors": lambda: arrow.tensors(parameters=PERMUTED),
    "bool8": arrow.bytes_of_bool,
    "other metadata": lambda: arrow.numbers().but(metadata=b"\1\0\0\0\1\0\0\0a\0\0\0\0"),
    "a bitmap without nulls": lambda: arrow.numbers(nulls=[1]).but(null_count=0),
    "nulls that were not counted": lambda: arrow.numbers().but(null_count=-1),
}
OTHERS = {
    "nulls": lambda: arrow.numbers(nulls=[1]),
    "nulls of lists": lambda: arrow.lists(nulls=[1]),
    "a bitmap that was not counted": lambda: arrow.numbers(nulls=[1]).but(null_count=-1),
    "no elements": lambda: arrow.numbers(length=0),
    "lists of none": lambda: arrow.lists(shape=(4, 0)),
    "bits": arrow.bools,
    "other bytes of bool8": lambda: arrow.bytes_of_bool((1, 2)),
    "a dictionary": arrow.dictionary,
    "text": arrow.texts,
    "lists of any length": arrow.ragged,
    "a table": lambda: arrow.table(x=arrow.numbers()),
    "dates": lambda: arrow.numbers("int32").but(format="tdD"),
    "an extension": lambda: arrow.numbers().but(metadata=arrow.columns.extension("mylib.metres")),
    "a wrong tensor": lambda: arrow.tensors(parameters='{"shape": [5]}'),
    "a wrong format": lambda: arrow.numbers().but(format="ff"),
    "a wrong length": lambda: arrow.numbers().but(length=-1),
    "a released array": lambda: arrow.numbers().but(release=False),
}


@pytest.fixture(autouse=True)
def known():
    """Make the classes of the zoo known to the core."""
    for form in FORMS.values():
        for read in READERS.values():
            read(form(arrow.numbers()))


@functools.cache
def unknown(cls):
    """Return a class that the core leaves to Python, since its objects may differ."""

    class Unknown(cls):
        def __getattribute__(self, name):
            return super().__getattribute__(name)

    Unknown.__name__ = cls.__name__
    return Unknown


def in_python(x, read):
    """Return the result of an import that the core leaves to Python."""
    x.__class__ = unknown(type(x))
    return read(x)


def outcome(read, x):
    """Return an Array, or the class, rule and words of the error."""
    try:
        return read(x)
    except ix.InterchangeError as error:
        return type(error), error.rule, str(error)


def aspects(found):
    """Return what is to be equal, of an Array; an error as it is."""
    if not isinstance(found, ix.Array):
        return found
    same = found.shape, found.strides, found.dtype, found.device, found.readonly
    return *same, found.tolist()


def is_read(found):
    """Whether the core has read a column: no Python object has the struct."""
    return type(found._keepalive).__name__ == "ManagedTensorOwner"


EVERY = [(make, read) for make in FORMS.values() for read in READERS.values()]
"""Each kind of producer with each function."""
every_reader = pytest.mark.parametrize("read", READERS)


@pytest.mark.parametrize("name", PLAIN)
def test_a_plain_column_is_read_as_python_imports_it(name):
    """The Array is the same, at the address of the column, and the producer its owner."""
    ix.from_arrow(PLAIN[name]())  # which may be the first of its elements
    for form, read in EVERY:
        source = form(PLAIN[name]())
        found = read(source)

        assert is_read(found)
        assert aspects(found) == aspects(in_python(form(PLAIN[name]()), read))
        assert found.owner is source
        assert len(source.log) == 1
        leaf = source.chunks[0]
        while leaf.children:
            leaf = leaf.children[0]
        assert 0 <= found.ptr - leaf.buffers[1] < 200


@pytest.mark.parametrize("form", FORMS)
def test_the_chunk_is_released_with_the_last_array(form):
    """The schema at once; the chunk once no view is left."""
    source = FORMS[form](arrow.lists())
    view = ix.from_arrow(source)[1:]

    before = source.counts
    del view

    assert before[-1] == source.due[-1] - 1
    assert source.counts == source.due


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_not_plain_is_handed_over(name):
    """Python imports or refuses it as ever, and the producer is asked once."""
    for form, read in EVERY:
        source = form(OTHERS[name]())
        found = outcome(read, source)
        expected = outcome(functools.partial(in_python, read=read), form(OTHERS[name]()))

        assert aspects(found) == aspects(expected)
        assert len(source.log) == 1
        assert not isinstance(found, ix.Array) or not is_read(found)


@every_reader
def test_chunks_and_ends_of_streams_are_handed_over(read):
    """Several chunks are refused, those that follow an empty one are not, and errors are told."""
    two = [arrow.numbers("int32"), arrow.numbers("int32")]
    for source in (
        arrow.chunked(*two).as_stream(),
        arrow.chunked(arrow.numbers("int32", 0), two[0]).as_stream(),
        arrow.chunked(*two).as_stream().but(next_error=5),
        arrow.numbers().as_stream().but(schema_error=5),
    ):
        other = source.but()
        found = outcome(READERS[read], source)
        expected = outcome(lambda x: in_python(x, READERS[read]), other)

        assert aspects(found) == aspects(expected)
        assert len(source.log) == 1


def test_what_a_stream_gave_is_kept_by_the_error():
    """What the core took from a stream that is read once is imported again with a copy."""
    source = arrow.chunked(*[arrow.numbers("int32")] * 3).as_stream()
    with pytest.raises(ix.CopyNeededError) as caught:
        ix.from_arrow(source)

    assert ix.from_arrow(caught.value.taken, copy=True).shape == (18,)
    caught.value.taken = None
    assert source.counts == source.due


@every_reader
@pytest.mark.parametrize("answer", [lambda _: None, lambda what: what[0], lambda what: (*what, 1)])
def test_another_result_is_refused_as_ever(read, answer):
    """What the method returned is handed over, and the method is called once."""
    source = arrow.numbers().but(answer=answer)
    found = outcome(READERS[read], source)

    assert found[:2] == (ix.ExchangeError, "ARROW-METHOD-1")
    assert len(source.log) == 1


@every_reader
@pytest.mark.parametrize("error", [ValueError, BufferError, KeyboardInterrupt, ix.StreamError])
def test_an_error_of_the_producer_is_not_changed(read, error):
    """It is raised as it is, and the method is not called again."""
    raised = error("no") if error is not ix.StreamError else error("call", "what", "DLP-STREAM-4")
    source = arrow.numbers().but(raises=raised)
    with pytest.raises(error) as caught:
        READERS[read](source)

    assert caught.value is raised
    assert len(source.log) == 1


class Both:
    """A column of several chunks: it refuses to export an array, and exports a stream."""

    def __init__(self, chunks):
        self._asked, self._chunks = [], chunks

    def __arrow_c_array__(self, requested_schema=None):
        self._asked.append("array")
        if len(self._chunks.chunks) > 1:
            raise ValueError("several chunks")
        return arrow.numbers().__arrow_c_array__()

    def __arrow_c_stream__(self, requested_schema=None):
        self._asked.append("stream")
        return self._chunks.as_stream().__arrow_c_stream__()


@every_reader
def test_a_refused_array_becomes_a_stream(read):
    """As nanoarrow's arrays of several chunks: each method is called once."""
    READERS[read](Both(arrow.numbers()))
    refused = Both(arrow.chunked(arrow.numbers(), arrow.numbers()))
    with pytest.raises(ix.CopyNeededError):
        READERS[read](refused)

    assert refused._asked == ["array", "stream"]


class Plain:
    """A column without a list of what was asked of it."""

    def __arrow_c_array__(self, requested_schema=None):
        return arrow.numbers("int8").__arrow_c_array__()


@every_reader
def test_an_attribute_of_one_object_comes_first(read):
    """A method that is set on an object is called in place of that of its type."""
    READERS[read](Plain())
    column = Plain()
    column.__arrow_c_device_array__ = (
        arrow.lists().as_device_array(ON_HOST).__arrow_c_device_array__
    )
    other = Plain()
    other.__arrow_c_array__ = arrow.numbers("int64").__arrow_c_array__

    assert READERS[read](column).shape == (4, 3)
    assert READERS[read](other).dtype == "int64"
    assert READERS[read](Plain()).dtype == "int8"


class Converted(Plain):
    """A column that exports its elements as an array, too, which asarray uses second."""

    def __array__(self, dtype=None, copy=None):
        return np.arange(3.0)


def test_asarray_uses_the_second_protocol_where_arrow_refuses():
    """And where an object says that it is an array of several axes."""
    known = Converted()
    axes = Converted()
    axes.ndim = 2

    assert ix.asarray(known).dtype == "int8"
    assert ix.asarray(Converted()).dtype == "int8"
    assert ix.asarray(axes).dtype == "float64"


def test_a_class_is_known_until_it_is_destroyed():
    """A class at the address of another one that was destroyed is not taken for it."""
    for place in range(40):
        source = arrow.numbers("int16") if place % 2 else arrow.numbers("int32").as_stream()
        method = "__arrow_c_array__" if place % 2 else "__arrow_c_stream__"
        answer = getattr(source, method)
        made = type("Made", (), {method: lambda _, answer=answer: answer()})()
        names = [str(ix.from_arrow(made).dtype) for _ in range(2)]

        assert names == (["int16"] * 2 if place % 2 else ["int32"] * 2)


def test_other_calls_are_left_to_python():
    """Keywords, and wrong arguments, are those of the Python function."""
    source = arrow.numbers()

    assert ix.from_arrow(source, copy=None).shape == (6,)
    assert ix.from_arrow.__name__ == "from_arrow"
    with pytest.raises(TypeError, match="from_arrow"):
        ix.from_arrow()
    with pytest.raises(TypeError, match="unexpected keyword"):
        ix.from_arrow(source, size=1)
    with pytest.raises(ix.NoProtocolError):
        ix.from_arrow(1.5)
