"""Every invalid Arrow producer: prints the outcome, one JSON line per case and way to import it.

A line: the case, the way, class, rule and message of the error; how many of its structs had been
released while the error was handled, how many in the end, how many were due, and how many callbacks
of streams were called that must not be.
"""

from __future__ import annotations

import ctypes
import errno
import json
import struct
import sys
from functools import partial

import interchange as ix
from interchange_conformance.zoo import arrow
from interchange_conformance.zoo.arrow.columns import extension

MOST = 2**63 - 1
LARGEST_LIST = 2**31 - 1


def nested(levels):
    """Lists of one list of one list..."""
    return arrow.lists(shape=(2, *[1] * levels))


def ragged_nested(levels):
    """Lists of one list of one list..., of types without a length."""
    found = arrow.numbers(length=1)
    for _ in range(levels):
        found = arrow.ragged((1,), found)
    return found


def failing(**flow):
    """A stream of three chunks that fails."""
    flow = {"next_error": errno.EIO, **flow}
    return arrow.chunked(*[arrow.numbers()] * 3).as_stream().but(**flow)


def nulls_of(null_count, **changes):
    return arrow.numbers(nulls=[1, 4]).but(null_count=null_count, **changes)


def of_table(**changes):
    return arrow.table(x=arrow.numbers()).but(chunk=changes)


def offsets(*numbers, sizes=(), kind="+l", **changes):
    """Lists of up to 9 numbers with these offsets, and with sizes if they are views."""
    source = arrow.ragged(
        (1,) * (len(sizes) or len(numbers) - 1), arrow.numbers(length=9), kind=kind
    )
    letter = "q" if kind.endswith("L") else "i"
    for memory, given in zip(source.chunks[0].memory, (numbers, sizes), strict=False):
        memory.view()[: struct.calcsize(letter) * len(given)] = struct.pack(
            f"={len(given)}{letter}", *given
        )
    return source.but(**changes)


def text(*numbers):
    """Text with these offsets, and without bytes."""
    source = arrow.texts(["a"] * (len(numbers) - 1))
    data = struct.pack(f"={len(numbers)}i", *numbers)
    source.chunks[0].memory[0].view()[: len(data)] = data
    return source.but(buffers=(*source.chunks[0].buffers[:2], None))


def views(*numbers, sizes=(4,), buffers=3):
    """Text whose views have these numbers: length, prefix, buffer and offset of each."""
    blocks = [struct.pack(f"={len(numbers)}i", *numbers), struct.pack(f"={len(sizes)}q", *sizes)]
    at, ends = (ctypes.create_string_buffer(block) for block in blocks)
    KEPT.extend([at, ends])
    source = arrow.texts(["a"] * (len(numbers) // 4))
    data = source.chunks[0].buffers[2]
    found = (None, ctypes.addressof(at), data, ctypes.addressof(ends))
    return source.but(format="vu", buffers=found, n_buffers=buffers + 1)


KEPT = []


def tensor(parameters):
    return arrow.tensors(parameters=parameters)


TENSORS = {
    "of-a-shape-that-is-none": '{"shape": null}',
    "of-a-number-for-a-shape": '{"shape": 6}',
    "of-truths": '{"shape": [true, 6]}',
    "of-fractions": '{"shape": [2.0, 3.0]}',
    "of-a-huge-number": '{"shape": [' + "9" * 5000 + "]}",
    "of-lists": '{"shape": [[2], [3]]}',
    "too-deep": "[" * 100_000,
    "axis-that-is-none": '{"shape": [2, 3], "permutation": [0, 2]}',
    "axes-as-words": '{"shape": [2, 3], "permutation": ["0", "1"]}',
    "axes-that-are-no-list": '{"shape": [2, 3], "permutation": 5}',
}
"""Parameters of a tensor that are refused."""

ABSURD = {
    "children-2**62": ("ARROW-FORMAT-2", lambda: arrow.numbers().but(n_children=2**62)),
    "children-of-a-list-2**62": ("ARROW-FORMAT-2", lambda: arrow.lists().but(n_children=2**62)),
    "children-of-a-list-in-its-array-2**62": (
        "ARROW-FORMAT-2", lambda: arrow.lists().but(chunk={"n_children": 2**62})
    ),
    "children-of-a-table-least": (
        "ARROW-FORMAT-2", lambda: arrow.table(x=arrow.numbers()).but(field={"n_children": -(2**63)})
    ),
    "children-of-a-table-none": ("ARROW-FORMAT-2", lambda: of_table(n_children=0)),
    "children-of-a-table-two": ("ARROW-FORMAT-2", lambda: of_table(n_children=2)),
    "children-of-a-table-2**62": ("ARROW-FORMAT-2", lambda: of_table(n_children=2**62)),
    "table-longer-than-its-column": ("ARROW-LENGTH-2", lambda: of_table(length=7)),
    "table-offset-beyond-its-column": ("ARROW-LENGTH-2", lambda: of_table(offset=1)),
    "levels-64": ("DLP-SHAPE-1", lambda: nested(64)),
    "levels-200": ("DLP-SHAPE-1", lambda: nested(200)),
    "lists-of-the-largest-size": (
        "ARROW-LENGTH-2", lambda: arrow.lists().but(format=f"+w:{LARGEST_LIST}")
    ),
    "lists-one-larger": (
        "ARROW-FORMAT-1", lambda: arrow.lists().but(format=f"+w:{LARGEST_LIST + 1}")
    ),
    "no-lists-of-the-largest-sizes": (
        "DLP-SHAPE-4",
        lambda: (
            arrow.lists(shape=(0, 1, 1, 1))
            .but(format=f"+w:{LARGEST_LIST}")
            .at((0,), format=f"+w:{LARGEST_LIST}")
            .at((0, 0), format=f"+w:{LARGEST_LIST}")
        ),
    ),
    "length-2**63-1": ("DLP-SHAPE-4", lambda: arrow.numbers().but(length=MOST)),
    "length-2**62-with-nulls": ("DLP-SHAPE-4", lambda: nulls_of(-1, length=2**62)),
    "length-2**62-of-bytes": (
        "ARROW-LENGTH-1", lambda: arrow.numbers().but(format="w:16", length=2**62)
    ),
    "offset-2**62": ("DLP-SHAPE-4", lambda: arrow.numbers().but(offset=2**62)),
    "offset-of-bytes-beyond-memory": (
        "DLP-SHAPE-4", lambda: arrow.numbers("float64").but(offset=2**60 + 2**59)
    ),
    "data-beyond-memory": (
        "DLP-STRIDES-2", lambda: arrow.numbers().but(buffers=(None, 2**64 - 8))
    ),
    "null-count-least": ("ARROW-NULL-1", lambda: nulls_of(-(2**63))),
    "null-count-most": ("ARROW-NULL-1", lambda: nulls_of(MOST)),
    "metadata-pairs-least": (
        "ARROW-FORMAT-3", lambda: arrow.numbers().but(metadata=struct.pack("=i", -(2**31)))
    ),
    "bool8-of-two": ("ARROW-BOOL-1", lambda: arrow.bytes_of_bool((0, 1, 2))),
    "bool8-of-floats": (
        "ARROW-BOOL-1", lambda: arrow.numbers().but(metadata=extension("arrow.bool8"))
    ),
    "tensor-without-parameters": (
        "ARROW-TENSOR-1",
        lambda: arrow.lists().but(metadata=extension("arrow.fixed_shape_tensor")),
    ),
    **{
        f"tensor-{name}": ("ARROW-TENSOR-1", partial(tensor, parameters))
        for name, parameters in TENSORS.items()
    },
    "tensor-no-utf8": (
        "ARROW-TENSOR-1",
        lambda: arrow.lists().but(metadata=extension("arrow.fixed_shape_tensor", "\ud800".encode(
            "utf-8", "surrogatepass").decode("latin-1"))),
    ),
    "tensor-of-65-axes": (
        "DLP-SHAPE-1", lambda: tensor(json.dumps({"shape": [2, 3, *[1] * 63]}))
    ),
    "offsets-decrease": ("ARROW-OFFSET-2", lambda: offsets(0, 3, 2, 5)),
    "offsets-of-64-bits-decrease": ("ARROW-OFFSET-2", lambda: offsets(2**40, 5, kind="+L")),
    "offsets-negative": ("ARROW-OFFSET-1", lambda: offsets(-1, 1, 3)),
    "offsets-least": ("ARROW-OFFSET-1", lambda: offsets(0, -(2**63), 3, kind="+L")),
    "offsets-beyond-their-child": ("ARROW-LENGTH-2", lambda: offsets(0, 5, 10)),
    "offsets-of-64-bits-beyond-their-child": (
        "ARROW-LENGTH-2", lambda: offsets(2**62, 2**63 - 1, kind="+L")
    ),
    "offsets-null": ("ARROW-BUFFER-1", lambda: offsets(0, 1).but(buffers=(None, None))),
    "offsets-of-2**62-lists": ("DLP-SHAPE-4", lambda: offsets(0, 1, length=2**62)),
    "offsets-behind-2**62-lists": ("DLP-SHAPE-4", lambda: offsets(0, 1, offset=2**62)),
    "offsets-of-lists-in-lists-decrease": (
        "ARROW-OFFSET-2", lambda: arrow.ragged((1, 1), offsets(0, 3, 2))
    ),
    "views-negative": ("ARROW-OFFSET-1", lambda: offsets(0, -3, sizes=(1, 1), kind="+vl")),
    "views-of-negative-size": ("ARROW-OFFSET-1", lambda: offsets(0, 1, sizes=(1, -1), kind="+vL")),
    "views-overflow": ("ARROW-OFFSET-3", lambda: offsets(0, 9, sizes=(1, 2**31 - 1), kind="+vl")),
    "views-of-64-bits-overflow": (
        "ARROW-OFFSET-3", lambda: offsets(1, 0, sizes=(2**63 - 1, 0), kind="+vL")
    ),
    "views-beyond-their-child": ("ARROW-LENGTH-2", lambda: offsets(8, sizes=(2,), kind="+vl")),
    "views-without-sizes": (
        "ARROW-BUFFER-1",
        lambda: offsets(0, 0, sizes=(1, 1), kind="+vl").but(buffers=(None, 8, None)),
    ),
    "ragged-levels-64": ("DLP-SHAPE-1", lambda: ragged_nested(64)),
    "ragged-levels-200": ("DLP-SHAPE-1", lambda: ragged_nested(200)),
    "text-offsets-decrease": ("ARROW-OFFSET-2", lambda: text(0, 3, 2)),
    "text-offsets-negative": ("ARROW-OFFSET-1", lambda: text(-1, 3, 4)),
    "text-views-of-no-buffer": ("ARROW-OFFSET-4", lambda: views(13, 0, 1, 0, sizes=(20,))),
    "text-views-before-their-buffer": ("ARROW-OFFSET-4", lambda: views(13, 0, 0, -1, sizes=(20,))),
    "text-views-beyond-their-buffer": ("ARROW-OFFSET-4", lambda: views(13, 0, 0, 8, sizes=(20,))),
    "text-views-overflow": ("ARROW-OFFSET-4", lambda: views(2**31 - 1, 0, 0, 2**31 - 1)),
    "text-views-of-negative-length": ("ARROW-OFFSET-4", lambda: views(-1, 0, 0, 0)),
    "text-views-of-negative-sizes": ("ARROW-OFFSET-4", lambda: views(1, 97, 0, 0, sizes=(-4,))),
    "text-views-of-two-buffers": ("ARROW-FORMAT-2", lambda: views(1, 97, 0, 0, buffers=1)),
    "text-without-bytes": ("ARROW-BUFFER-1", lambda: text(0, 3, 4)),
    "device-of-bool": (
        "ARROW-DEVICE-1", lambda: arrow.bools().as_device_array(arrow.Place(-(2**31)))
    ),
    **{
        f"device-id-{name}": (
            "ARROW-DEVICE-1",
            lambda number=number: arrow.numbers().as_device_array(arrow.Place(2, number)),
        )
        for name, number in {"2**40": 2**40, "least": -(2**63), "none-of-cuda": -1}.items()
    },
    **{
        f"event-of-no-address-on-{name}": (
            "ARROW-DEVICE-2",
            lambda kind=kind: arrow.numbers().as_device_array(arrow.Place(kind, 0, 8)),
        )
        for name, kind in {"the-host": 1, "opencl": 4, "webgpu": 15}.items()
    },
    "event-of-no-address-of-bools": (
        "ARROW-DEVICE-2", lambda: arrow.bools().as_device_array(arrow.Place(1, 0, 8))
    ),
    "stream-of-an-unknown-device": (
        "ARROW-DEVICE-1", lambda: arrow.numbers().as_device_stream(arrow.Place(99))
    ),
    "stream-of-three-fails-at-its-schema": (
        "ARROW-STREAM-1", lambda: failing(next_error=0, schema_error=errno.ENOSYS)
    ),
    "stream-of-three-fails-at-its-schema-without-words": (
        "ARROW-STREAM-1", lambda: failing(next_error=0, schema_error=errno.EIO, message=None)
    ),
    **{
        f"stream-of-three-fails-at-its-{place}{words}": (
            "ARROW-STREAM-1", partial(failing, fails_at=number, **said)
        )
        for number, place in enumerate(("first", "second", "third", "end"))
        for words, said in {
            "": {},
            "-without-words": {"message": None},
            "-with-odd-words": {"message": b"\xff\xfe" * 5000},
            "-without-last-error": {"has_get_last_error": False},
            "-by-the-least-number": {"next_error": -(2**31)},
        }.items()
    },
}  # fmt: skip
"""Cases besides those of the kit: the rule, and what makes the producer."""


def cases():
    """Yield name and maker of all that is wrong."""
    yield from ((case.name, case.make) for case in arrow.zoo().values())
    yield from ((name, make) for name, (_, make) in ABSURD.items())


METHODS = ("array", "stream", "device_array", "device_stream")


def bare(source):
    """Return the capsules that a producer gives."""
    name = next(one for one in METHODS if hasattr(source, f"__arrow_c_{one}__"))
    return getattr(source, f"__arrow_c_{name}__")()


def tabular(source):
    """Return a producer of tables whose only column is that of a producer."""
    top = arrow.Field("+s", children=(source.field,), flags=0)
    chunks = tuple(
        arrow.Chunk(max(1, min(one.length, 6)), buffers=(None,), children=(one,))
        for one in source.chunks
    )
    return type(source)(top, chunks, (), source.place, source.flow, source.answers)


def read_batches(source):
    """Read all batches; they are copied, since record batches have another number of rows."""
    for batch in ix.batches(source, size=4):
        del batch


WAYS = {
    "object": ix.from_arrow,
    "with-storage": partial(ix.from_arrow, storage=True),
    "with-copy": partial(ix.from_arrow, copy=True),
    "ragged": partial(ix.from_arrow, ragged=True),
    "with-mask": partial(ix.from_arrow, nulls="separate"),
    "with-all": partial(ix.from_arrow, nulls="separate", copy=True, storage=True),
    "never-copied": partial(ix.from_arrow, copy=False),
    "asarray": ix.asarray,
    "batches": read_batches,
    "capsules": lambda source: ix.from_arrow(bare(source)),
}


def attempt(way, source):
    """Return class, rule and message of the error, and what was released meanwhile."""
    try:
        WAYS[way](source)
    except Exception as error:  # noqa: BLE001 - any error is recorded
        if source.answers.repeat:  # whose first capsules are kept to be given again
            source._first = None
        said = [type(error).__name__, getattr(error, "rule", None), str(error)]
        forget_taken(error)
        return [*said, source.counts]  # while the error is there
    return ["taken", None, "", source.counts]


def forget_taken(error):
    """Release the part of a stream that an error keeps; nothing else keeps a reference."""
    while error is not None:
        if getattr(error, "taken", None) is not None:
            error.taken = None
        error = error.__context__


def outcome(way, make):
    """Return the fields of a line."""
    source = tabular(make()) if way == "batches" else make()
    if source.answers.repeat:
        ix.from_arrow(source)
    found = attempt(way, source)
    stray = sum(stream.stray_calls for stream in source.streams)
    said = [*found, source.counts, source.due, stray]
    source.forget()
    return said


def learn():
    """Import correct producers, so that the native core reads those that follow."""
    plain = arrow.numbers()
    for source in (plain, plain.as_stream(), plain.as_device_array(arrow.Place(1, -1))):
        for read in (ix.from_arrow, ix.asarray):
            read(source)


def table(*ways):
    learn()
    for name, make in cases():
        for way in ways:
            print(json.dumps([name, way, *outcome(way, make)]), flush=True)


if __name__ == "__main__":
    table(*(sys.argv[1:] or WAYS))
