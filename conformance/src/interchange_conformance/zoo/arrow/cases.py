"""Tables of Arrow producers: those that break a rule, and unusual ones that break none.

Source: the Arrow C data, stream, device and PyCapsule interfaces; the rule book
(`interchange.abi.RULES`).  A row has a name, the rule, and the differences from a correct producer.
"""

from __future__ import annotations

import errno
import functools
import struct
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from interchange.abi.arrow_formats import encode_metadata

from . import columns
from .columns import chunked, extension, lists, numbers, table
from .description import Chunk, Field, Place

if TYPE_CHECKING:
    from collections.abc import Callable

    from .source import Source


class ArrowCase(NamedTuple):
    """One kind of producer.

    Attributes
    ----------
    name : str
        Unique within its table.
    rule : str or None
        Id of the rule that it breaks, or that prevents an import as an array; None for legal
        producers.
    make : callable
        Returns a new producer.  After a refusal, or after the imported object was deleted, and with
        no reference to its capsules left, its ``counts`` equal ``due``.
    """

    name: str
    rule: str | None
    make: Callable[[], Source]


_MOST: Final = 2**63 - 1
_LEAST: Final = -(2**63)

Row = tuple[str, str, dict[str, Any]]

_COLUMN_LIES: Final[tuple[Row, ...]] = (
    ("schema-named-array", "ARROW-CAP-1", {"schema_name": b"arrow_array"}),
    ("schema-named-otherwise", "ARROW-CAP-1", {"schema_name": b"arrow_schema_"}),
    ("schema-unnamed", "ARROW-CAP-1", {"schema_name": None}),
    ("array-named-schema", "ARROW-CAP-1", {"array_name": b"arrow_schema"}),
    ("array-named-device-array", "ARROW-CAP-1", {"array_name": b"arrow_device_array"}),
    ("array-named-dltensor", "ARROW-CAP-1", {"array_name": b"dltensor"}),
    ("array-unnamed", "ARROW-CAP-1", {"array_name": None}),
    ("answer-none", "ARROW-METHOD-1", {"answer": lambda _: None}),
    ("answer-schema-alone", "ARROW-METHOD-1", {"answer": lambda pair: pair[0]}),
    ("answer-array-alone", "ARROW-METHOD-1", {"answer": lambda pair: pair[1]}),
    ("answer-one", "ARROW-METHOD-1", {"answer": lambda pair: pair[:1]}),
    ("answer-three", "ARROW-METHOD-1", {"answer": lambda pair: (*pair, None)}),
    ("answer-other-way-round", "ARROW-CAP-1", {"answer": lambda pair: pair[::-1]}),
    ("answer-no-capsules", "ARROW-METHOD-1", {"answer": lambda _: (1, 2)}),
    ("released-schema", "ARROW-RELEASE-3", {"field": {"release": False}}),
    ("released-array", "ARROW-RELEASE-3", {"chunk": {"release": False}}),
    ("released-both", "ARROW-RELEASE-3", {"release": False}),
    ("format-null", "ARROW-FORMAT-1", {"format": None}),
    ("format-empty", "ARROW-FORMAT-1", {"format": ""}),
    ("format-unknown", "ARROW-FORMAT-1", {"format": "x"}),
    ("format-with-more", "ARROW-FORMAT-1", {"format": "ff"}),
    ("format-of-two", "ARROW-FORMAT-1", {"format": "f g"}),
    ("format-no-utf8", "ARROW-FORMAT-1", {"format": b"\xff\xfe"}),
    ("format-list-without-size", "ARROW-FORMAT-1", {"format": "+w:"}),
    ("format-list-of-minus-1", "ARROW-FORMAT-1", {"format": "+w:-1"}),
    ("format-list-of-text", "ARROW-FORMAT-1", {"format": "+w:abc"}),
    ("format-list-of-too-many", "ARROW-FORMAT-1", {"format": "+w:9999999999"}),
    ("format-bytes-of-minus-1", "ARROW-FORMAT-1", {"format": "w:-1"}),
    ("format-long", "ARROW-FORMAT-1", {"format": "+" * 100_000}),
    ("format-of-a-list", "ARROW-FORMAT-2", {"format": "+w:3"}),
    ("format-of-text", "ARROW-FORMAT-2", {"format": "u"}),
    ("children-of-a-number", "ARROW-FORMAT-2", {"n_children": 1}),
    ("children-of-its-schema", "ARROW-FORMAT-2", {"field": {"children": (Field(),)}}),
    ("children-of-its-array", "ARROW-FORMAT-2", {"chunk": {"children": (Chunk(),)}}),
    ("children-negative", "ARROW-FORMAT-2", {"n_children": -1}),
    ("buffers-none", "ARROW-FORMAT-2", {"n_buffers": 0}),
    ("buffers-one", "ARROW-FORMAT-2", {"n_buffers": 1}),
    ("buffers-three", "ARROW-FORMAT-2", {"n_buffers": 3}),
    ("buffers-negative", "ARROW-FORMAT-2", {"n_buffers": -1}),
    ("buffers-of-all-memory", "ARROW-FORMAT-2", {"n_buffers": _MOST}),
    ("dictionary-of-its-schema", "ARROW-FORMAT-2", {"field": {"dictionary": Field("u")}}),
    ("dictionary-of-its-array", "ARROW-FORMAT-2", {"chunk": {"dictionary": Chunk()}}),
    ("metadata-pairs-negative", "ARROW-FORMAT-3", {"metadata": struct.pack("=i", -1)}),
    ("metadata-key-negative", "ARROW-FORMAT-3", {"metadata": struct.pack("=ii", 1, -1)}),
    (
        "metadata-value-negative", "ARROW-FORMAT-3",
        {"metadata": struct.pack("=ii3si", 1, 3, b"key", -1)},
    ),
    ("length-negative", "ARROW-LENGTH-1", {"length": -1}),
    ("length-least", "ARROW-LENGTH-1", {"length": _LEAST}),
    ("offset-negative", "ARROW-LENGTH-1", {"offset": -1}),
    ("offset-least", "ARROW-LENGTH-1", {"offset": _LEAST}),
    ("length-and-offset-overflow", "ARROW-LENGTH-1", {"length": _MOST, "offset": 1}),
    ("offset-and-length-overflow", "ARROW-LENGTH-1", {"length": 1, "offset": _MOST}),
    ("buffers-null", "ARROW-BUFFER-1", {"has_buffers": False}),
    ("data-null", "ARROW-BUFFER-1", {"buffers": (None, None)}),
    ("null-count-of-minus-2", "ARROW-NULL-1", {"null_count": -2}),
    ("null-count-of-more-than-all", "ARROW-NULL-1", {"null_count": 7}),
    ("null-count-without-validity", "ARROW-BUFFER-1", {"null_count": 2}),
)  # fmt: skip
"""Errors that are possible in a column of six float32 elements."""

_LIST_LIES: Final[tuple[tuple[str, str, tuple[int, ...], dict[str, Any]], ...]] = (
    ("list-without-children", "ARROW-FORMAT-2", (), {"n_children": 0}),
    ("list-of-two-children", "ARROW-FORMAT-2", (), {"n_children": 2}),
    ("list-without-child-in-its-schema", "ARROW-FORMAT-2", (), {"field": {"n_children": 0}}),
    ("list-without-child-in-its-array", "ARROW-FORMAT-2", (), {"chunk": {"n_children": 0}}),
    ("list-children-null-in-its-schema", "ARROW-FORMAT-2", (), {"field": {"has_children": False}}),
    ("list-children-null-in-its-array", "ARROW-FORMAT-2", (), {"chunk": {"has_children": False}}),
    ("list-child-null-in-its-schema", "ARROW-FORMAT-2", (), {"field": {"children": (None,)}}),
    ("list-child-null-in-its-array", "ARROW-FORMAT-2", (), {"chunk": {"children": (None,)}}),
    ("list-of-two-buffers", "ARROW-FORMAT-2", (), {"n_buffers": 2}),
    ("list-longer-than-its-child", "ARROW-LENGTH-2", (), {"length": 5}),
    ("list-offset-beyond-its-child", "ARROW-LENGTH-2", (), {"offset": 1}),
    ("list-size-beyond-its-child", "ARROW-LENGTH-2", (), {"format": "+w:4"}),
    ("list-elements-overflow", "ARROW-LENGTH-2", (), {"length": 2**61, "format": "+w:2147483647"}),
    ("child-too-short", "ARROW-LENGTH-2", (0,), {"length": 11}),
    ("child-empty", "ARROW-LENGTH-2", (0,), {"length": 0}),
    ("child-length-negative", "ARROW-LENGTH-1", (0,), {"length": -1}),
    ("child-offset-negative", "ARROW-LENGTH-1", (0,), {"offset": -1}),
    ("child-data-null", "ARROW-BUFFER-1", (0,), {"buffers": (None, None)}),
    ("child-format-null", "ARROW-FORMAT-1", (0,), {"format": None}),
    ("child-format-unknown", "ARROW-FORMAT-1", (0,), {"format": "?"}),
    ("child-schema-released", "ARROW-RELEASE-3", (0,), {"field": {"release": False}}),
    ("child-array-released", "ARROW-RELEASE-3", (0,), {"chunk": {"release": False}}),
)
"""Errors that are possible in a column of four lists of three float32, and the node."""


def _with_bits_of(null_count: int) -> Source:
    """Return a column with two nulls and another null count."""
    return numbers(nulls=[1, 4]).but(null_count=null_count)


def _tensor(parameters: str) -> Callable[[], Source]:
    """Return a function that makes tensors with wrong parameters."""
    return lambda: columns.tensors(parameters=parameters)


def _failing(**flow: Any) -> Callable[[], Source]:
    """Return a function that makes a stream of two chunks that fails."""
    return lambda: chunked(numbers(), numbers()).as_stream().but(**flow)


def _changing() -> Source:
    """Return a stream whose second chunk is of another type than its schema."""
    made = chunked(numbers(), numbers()).as_stream()
    made.chunks = (made.chunks[0], made.chunks[1].at((), n_buffers=3))
    return made


def _on(kind: int, number: int = 0) -> Callable[[], Source]:
    """Return a function that makes a column that claims to be on a device."""
    return lambda: numbers().as_device_array(Place(kind, number))


_OTHERS: Final[tuple[tuple[str, str, Callable[[], Source]], ...]] = (
    ("null-count-too-small", "ARROW-NULL-1", lambda: _with_bits_of(1)),
    ("null-count-too-large", "ARROW-NULL-1", lambda: _with_bits_of(3)),
    ("nulls", "ARROW-NULL-2", lambda: numbers(nulls=[1, 4])),
    ("nulls-not-counted", "ARROW-NULL-2", lambda: _with_bits_of(-1)),
    ("null-lists", "ARROW-NULL-2", lambda: lists(nulls=[2])),
    ("nulls-in-lists", "ARROW-NULL-2", lambda: lists(child_nulls=[5])),
    ("all-null", "ARROW-TYPE-1",
     lambda: numbers().but(format="n", buffers=(), null_count=6)),
    ("texts", "ARROW-TYPE-1", columns.texts),
    ("ragged", "ARROW-TYPE-1", columns.ragged),
    ("offsets-decreasing", "ARROW-OFFSET-2", lambda: columns.lists_at((0, 3, 1, 5), 5)),
    ("offsets-decreasing-of-64-bits", "ARROW-OFFSET-2",
     lambda: columns.lists_at((0, 3, 1, 5), 5, kind="+L")),
    ("offsets-negative", "ARROW-OFFSET-1", lambda: columns.lists_at((-1, 2, 5), 5)),
    ("offsets-beyond-their-child", "ARROW-LENGTH-2", lambda: columns.lists_at((0, 3, 6), 5)),
    ("offsets-null", "ARROW-BUFFER-1", lambda: columns.ragged().but(buffers=(None, None))),
    ("view-sizes-negative", "ARROW-OFFSET-1",
     lambda: columns.lists_at((0, 2), 5, kind="+vl", sizes=(2, -1))),
    ("views-beyond-their-child", "ARROW-LENGTH-2",
     lambda: columns.lists_at((0, 3), 5, kind="+vl", sizes=(3, 3))),
    ("table", "ARROW-TYPE-1", lambda: table(x=numbers(), y=numbers("int64"))),
    ("dates", "ARROW-TYPE-2", lambda: numbers("int32").but(format="tdD")),
    ("timestamps", "ARROW-TYPE-2", lambda: numbers("int64").but(format="tsu:UTC")),
    ("durations", "ARROW-TYPE-2", lambda: numbers("int64").but(format="tDn")),
    ("dictionary", "ARROW-TYPE-2", columns.dictionary),
    ("extension", "ARROW-TYPE-2", lambda: numbers().but(metadata=extension("mylib.metres"))),
    ("tensor-no-json", "ARROW-TENSOR-1", _tensor("shape")),
    ("tensor-no-object", "ARROW-TENSOR-1", _tensor("[2, 3]")),
    ("tensor-without-shape", "ARROW-TENSOR-1", _tensor("{}")),
    ("tensor-of-another-size", "ARROW-TENSOR-1", _tensor('{"shape": [2, 4]}')),
    ("tensor-negative", "ARROW-TENSOR-1", _tensor('{"shape": [-2, -3]}')),
    ("tensor-of-text", "ARROW-TENSOR-1", _tensor('{"shape": ["2", "3"]}')),
    ("tensor-axis-twice", "ARROW-TENSOR-1", _tensor('{"shape": [2, 3], "permutation": [0, 0]}')),
    ("tensor-axis-missing", "ARROW-TENSOR-1", _tensor('{"shape": [2, 3], "permutation": [0]}')),
    ("tensor-of-a-number", "ARROW-TENSOR-1",
     lambda: numbers().but(metadata=extension("arrow.fixed_shape_tensor", '{"shape": [2]}'))),
    ("dictionary-without-its-array", "ARROW-FORMAT-2",
     lambda: columns.dictionary().but(chunk={"dictionary": None})),
    ("dictionary-without-its-schema", "ARROW-FORMAT-2",
     lambda: columns.dictionary().but(field={"dictionary": None})),
    ("taken-before", "ARROW-RELEASE-3", lambda: numbers().but(repeat=True)),
    ("chunks", "ARROW-CHUNK-1", lambda: chunked(numbers(), numbers()).as_stream()),
    ("stream-named-array", "ARROW-CAP-1",
     lambda: numbers().as_stream().but(stream_name=b"arrow_array")),
    ("stream-unnamed", "ARROW-CAP-1", lambda: numbers().as_stream().but(stream_name=None)),
    ("stream-in-a-pair", "ARROW-METHOD-1",
     lambda: numbers().as_stream().but(answer=lambda one: (one, one))),
    ("stream-none", "ARROW-METHOD-1", lambda: numbers().as_stream().but(answer=lambda _: None)),
    ("stream-released", "ARROW-RELEASE-3",
     lambda: numbers().as_stream().but(flow={"release": False})),
    ("stream-without-get-schema", "ARROW-STREAM-1",
     lambda: numbers().as_stream().but(has_get_schema=False)),
    ("stream-without-get-next", "ARROW-STREAM-1",
     lambda: numbers().as_stream().but(has_get_next=False)),
    ("stream-fails-for-its-schema", "ARROW-STREAM-1", _failing(schema_error=errno.EINVAL)),
    ("stream-fails-at-once", "ARROW-STREAM-1", _failing(next_error=errno.EIO)),
    ("stream-fails-in-the-middle", "ARROW-STREAM-1", _failing(next_error=errno.EIO, fails_at=1)),
    ("stream-fails-at-its-end", "ARROW-STREAM-1", _failing(next_error=errno.EIO, fails_at=2)),
    ("stream-fails-without-words", "ARROW-STREAM-1",
     _failing(next_error=errno.ENOMEM, message=None)),
    ("stream-fails-with-odd-words", "ARROW-STREAM-1",
     _failing(next_error=errno.EIO, message=b"\xff\xfe no UTF-8 " * 100)),
    ("stream-fails-by-a-negative-number", "ARROW-STREAM-1", _failing(next_error=-1)),
    ("stream-gives-a-released-schema", "ARROW-RELEASE-3",
     lambda: numbers().as_stream().but(field={"release": False})),
    ("stream-chunk-of-another-type", "ARROW-FORMAT-2", _changing),
    ("stream-chunk-too-short", "ARROW-LENGTH-2", lambda: lists().as_stream().at((0,), length=1)),
    ("device-0", "ARROW-DEVICE-1", _on(0)),
    ("device-99", "ARROW-DEVICE-1", _on(99)),
    ("device-negative", "ARROW-DEVICE-1", _on(-1)),
    ("device-id-negative", "ARROW-DEVICE-1", _on(2, -2)),
    ("device-array-named-array", "ARROW-CAP-1",
     lambda: numbers().as_device_array().but(array_name=b"arrow_array")),
    ("device-array-released", "ARROW-RELEASE-3",
     lambda: numbers().as_device_array().but(chunk={"release": False})),
    ("device-stream-fails", "ARROW-STREAM-1",
     lambda: numbers().as_device_stream().but(next_error=errno.EIO)),
)  # fmt: skip


def _without_chunks() -> Source:
    """Return a stream without chunks."""
    made = numbers(length=0).as_stream()
    made.chunks = ()
    return made


_LEGAL: Final[tuple[tuple[str, Callable[[], Source]], ...]] = (
    *((name, functools.partial(numbers, name)) for name in columns.FORMATS),
    ("bools", columns.bools),
    ("bools-with-offset", lambda: columns.bools(offset=3)),
    ("bytes-of-bool", columns.bytes_of_bool),
    ("one", lambda: numbers(length=1)),
    ("empty", lambda: numbers(length=0)),
    ("empty-without-memory", lambda: numbers(length=0).but(buffers=(None, None))),
    ("offset", lambda: numbers(offset=3)),
    ("no-nulls-not-counted", lambda: numbers().but(null_count=-1)),
    ("no-nulls-by-bits", lambda: numbers(nulls=[1]).but(null_count=-1, offset=2, length=4,
                                                        values=(2.0, 3.0, 4.0, 5.0))),
    ("not-nullable", lambda: numbers().but(flags=0)),
    ("unknown-flags", lambda: numbers().but(flags=2**40)),
    ("name-null", lambda: numbers().but(name=None)),
    ("named", lambda: numbers().but(name="x" * 1000)),
    ("metadata", lambda: numbers().but(metadata=encode_metadata([(b"unit", b"metre")]))),
    ("metadata-empty", lambda: numbers().but(metadata=encode_metadata([]))),
    ("unaligned", lambda: numbers("float64", lead=1)),
    ("lists", lists),
    ("lists-with-offset", lambda: lists(offset=2)),
    ("lists-in-lists", lambda: lists("int16", (3, 2, 4))),
    ("lists-in-lists-with-offsets", lambda: lists("int16", (3, 2, 4), offset=1, child_offset=5)),
    ("lists-of-one", lambda: lists(shape=(4, 1))),
    ("lists-of-none", lambda: lists(shape=(4, 0))),
    ("no-lists", lambda: lists(shape=(0, 3))),
    ("lists-of-one-length", lambda: columns.ragged((3, 3))),
    ("lists-of-one-length-with-offset", lambda: columns.ragged((1, 2, 2), offset=1, first=1)),
    ("large-lists-of-one-length", lambda: columns.ragged((2, 2), kind="+L")),
    ("views-of-one-length", lambda: columns.ragged((2, 2), kind="+vl")),
    ("tensors", columns.tensors),
    ("tensors-permuted", lambda: columns.tensors(permutation=(1, 0))),
    ("stream", lambda: numbers().as_stream()),
    ("stream-of-lists", lambda: lists().as_stream()),
    ("stream-of-one-and-none", lambda: chunked(numbers(), numbers(length=0)).as_stream()),
    ("stream-without-chunks", _without_chunks),
    ("on-the-host", lambda: numbers().as_device_array()),
    ("on-the-host-without-number", lambda: numbers().as_device_array(Place(1, -1))),
    ("stream-on-the-host", lambda: numbers().as_device_stream()),
    ("everything", lambda: numbers().as_everything()),
)  # fmt: skip


@functools.cache
def zoo() -> dict[str, ArrowCase]:
    """Return the producers that a reader of arrays should refuse, by name.

    Examples
    --------
    >>> zoo()["child-too-short"].rule
    'ARROW-LENGTH-2'
    """
    cases = [
        ArrowCase(name, rule, functools.partial(_changed, numbers, (), changes))
        for name, rule, changes in _COLUMN_LIES
    ]
    cases += [
        ArrowCase(name, rule, functools.partial(_changed, lists, path, changes))
        for name, rule, path, changes in _LIST_LIES
    ]
    cases += [ArrowCase(*row) for row in _OTHERS]
    return {case.name: case for case in cases}


def _changed(make: Callable[[], Source], path: tuple[int, ...], changes: dict[str, Any]) -> Source:
    """Return a correct producer with changes."""
    return make().at(path, **changes)


@functools.cache
def legal() -> dict[str, ArrowCase]:
    """Return the producers that a reader of arrays should import, by name; it reads ``values``.

    Examples
    --------
    >>> legal()["offset"].make().values
    (3, 4, 5, 6, 7, 8)
    """
    return {name: ArrowCase(name, None, make) for name, make in _LEGAL}
