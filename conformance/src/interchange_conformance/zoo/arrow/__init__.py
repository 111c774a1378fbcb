"""Producers of Arrow capsules to test consumers with: honest ones, odd ones, and lying ones.

Source: the Arrow C data, C stream, C device data and PyCapsule interfaces.  `numbers`, `lists`,
`bools` and their like give honest columns of host memory in which element number n is the number n;
``but`` and ``at`` variants of them that say or do something else; `zoo` and `legal` the tables of
what a reader of arrays should refuse, and of what it should take.  Needs no library of Arrow, and a
C compiler: without one, the first request raises
`interchange_conformance.emucuda.building.CannotBuildError`.

A producer has one method of the protocol, so that nothing but the protocol can be at work:
``__arrow_c_array__`` unless ``as_stream()``, ``as_schema()``, ``as_device_array(Place(...))``,
``as_device_stream()`` or ``as_everything()`` was asked for.  It logs every request (``log``), and
keeps a ledger for every struct that it hands out (``loans``), and for those that its streams give
(``given``): how often each was released (``counts``), and how often it ought to be (``due``).
A `Loan` also knows whether it was moved, whether the destructor of its capsule has run, and whether
it was released without the GIL or with an exception in flight; a `StreamLoan` what was called, and
what must not have been (``stray_calls``).

Callbacks and destructors are C, safe with an exception in flight.  Structs and memory are never
freed unless ``forget()`` says so: count in thousands, or forget.

Examples
--------
>>> source = numbers("int32", 4, offset=2)
>>> source.values
(2, 3, 4, 5)
>>> schema, array = source.__arrow_c_array__()
>>> source.counts
(0, 0)
>>> del schema, array
>>> source.counts == source.due == (1, 1)
True
>>> lying = lists(shape=(4, 3)).at((0,), length=11)  # the child is too short
>>> lying.chunks[0].children[0].length
11
>>> failing = chunked(numbers(), numbers()).as_stream().but(next_error=5, fails_at=1)
>>> zoo()["format-null"].rule
'ARROW-FORMAT-1'
"""

from .building import Loan, StreamLoan, make_array, make_schema
from .cases import ArrowCase, legal, zoo
from .columns import (
    bools,
    bytes_of_bool,
    chunked,
    dictionary,
    extension,
    lists,
    numbers,
    ragged,
    table,
    tensors,
    texts,
)
from .description import Chunk, Field, Flow, Place
from .source import (
    Answers,
    ArraySource,
    DeviceArraySource,
    DeviceStreamSource,
    EverySource,
    SchemaSource,
    Source,
    StreamSource,
)

__all__ = [
    "Answers",
    "ArraySource",
    "ArrowCase",
    "Chunk",
    "DeviceArraySource",
    "DeviceStreamSource",
    "EverySource",
    "Field",
    "Flow",
    "Loan",
    "Place",
    "SchemaSource",
    "Source",
    "StreamLoan",
    "StreamSource",
    "bools",
    "bytes_of_bool",
    "chunked",
    "dictionary",
    "extension",
    "legal",
    "lists",
    "make_array",
    "make_schema",
    "numbers",
    "ragged",
    "table",
    "tensors",
    "texts",
    "zoo",
]
