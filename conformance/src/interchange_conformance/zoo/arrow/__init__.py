"""Producers of Arrow capsules to test consumers with: correct, unusual, and malformed ones.

Source: the Arrow C data, C stream, C device data and PyCapsule interfaces.  `numbers`, `lists`,
`bools` and similar functions return correct columns of host memory in which element number n is the
number n; ``but`` and ``at`` return variants with changed fields or behaviour; `zoo` and `legal` are
the tables of producers that a reader of arrays should refuse and import.  No Arrow library is
needed, but a C compiler: without one, the first request raises
`interchange_conformance.emucuda.building.CannotBuildError`.

A producer has one method of the protocol, so that a consumer cannot use another:
``__arrow_c_array__`` unless ``as_stream()``, ``as_schema()``, ``as_device_array(Place(...))``,
``as_device_stream()`` or ``as_everything()`` was called.  It logs every request (``log``), and
records every struct that it exports (``loans``) or that its streams return (``given``): how often
each was released (``counts``), and how often it should be (``due``).  A `Loan` also records whether
it was moved, whether the destructor of its capsule has run, and whether it was released without the
GIL or with an exception in flight; a `StreamLoan` the calls of its callbacks, and the calls that
are forbidden (``stray_calls``).

Callbacks and destructors are C, safe with an exception in flight.  Structs and memory are only
freed by ``forget()``: create thousands, or forget.

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
    lists_at,
    numbers,
    ragged,
    table,
    tensors,
    texts,
    times,
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
    "lists_at",
    "make_array",
    "make_schema",
    "numbers",
    "ragged",
    "table",
    "tensors",
    "texts",
    "times",
    "zoo",
]
